/* fit_search_bench.c: `fit_search [--problems N] [--large N] [--seed S]`: searches of Fit against brute force, and what
 * they take for many blocks, as a page of Markdown.
 *
 * Brute force is every recipe of the kind that searches look at (the first chunks stay), without bounds. Not here:
 * whether schedules are right (tests); whether times are those of a machine.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fit_draw.h"
#include "fit_guess.h"
#include "meta.h"

#define BLOCKS_MOST 6u
#define LARGE_WORK 40u /* times the default: what a search is held against where brute force cannot be */

static struct fit_draw drawn;

static double processor_seconds(void)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "fit_search: %s\n", what);
	exit(1);
}

/* The answer's time; UINT64_MAX: nothing fits. */
static uint64_t search(uint64_t work_limit, uint32_t exact, double *ret_seconds, uint64_t *ret_work)
{
	struct seam_fit_options options = {sizeof(options), work_limit, exact};
	struct seam_fit_front *front;
	double began = processor_seconds();
	if (seam_fit_search(&drawn.problem, &options, &front) != SEAM_OK)
		fail("a search failed");
	*ret_seconds = processor_seconds() - began;
	*ret_work = front->work;
	uint64_t ns = front->count == 0 ? UINT64_MAX : front->points[front->count - 1].prediction.ns;
	seam_fit_front_free(front);
	return ns;
}

/* The chunks that come: all but the first ones, or any. */
struct every {
	struct seam_fit_maker maker;
	struct seam_fit_timer timer;
	uint8_t treatments[BLOCKS_MOST], comes[BLOCKS_MOST + 2];
	uint32_t ahead_most;
	uint64_t best_ns, count;
};

static void try_recipe(struct every *every, const struct seam_fit_recipe *recipe)
{
	struct seam_fit_schedule schedule;
	struct seam_fit_prediction prediction;
	uint64_t work = 0;
	every->count++;
	seam__fit_make(&every->maker, recipe, &schedule);
	if (schedule.peak_bytes > drawn.problem.budget_bytes)
		return;
	if (!seam__fit_time(&every->timer, &drawn.problem, &schedule, NULL, &work, &prediction))
		fail("a schedule waits for itself");
	if (prediction.ns < every->best_ns)
		every->best_ns = prediction.ns;
}

static void try_numbers(struct every *every)
{
	uint32_t coming = 0;
	for (uint32_t i = 0; i < drawn.problem.chunk_count; i++)
		coming += every->comes[i];
	for (uint32_t buffers = 1; buffers <= (coming > 0 ? coming : 1); buffers++)
		for (uint32_t ahead = 1; ahead <= every->ahead_most; ahead++)
			try_recipe(every, &(struct seam_fit_recipe){every->treatments, every->comes, buffers, ahead});
}

static void try_chunks(struct every *every, bool any)
{
	const struct seam_fit_problem *problem = &drawn.problem;
	for (uint32_t set = 0; set < 1u << problem->chunk_count; set++) {
		bool is_good = true, comes_before = false;
		for (uint32_t i = 0; i < problem->chunk_count; i++) {
			every->comes[i] = set >> i & 1;
			if (problem->chunks[i].must_stay)
				is_good = is_good && !every->comes[i];
			else if (!any)
				is_good = is_good && (every->comes[i] || !comes_before);
			comes_before = comes_before || every->comes[i];
		}
		if (is_good)
			try_numbers(every);
	}
}

/* The best of all recipes, with any chunks that stay or with the first ones. */
static uint64_t brute_force(bool any, uint32_t ahead_most, uint64_t *ret_count)
{
	const struct seam_fit_problem *problem = &drawn.problem;
	struct every every = {.best_ns = UINT64_MAX, .ahead_most = ahead_most};
	struct seam_region *region = seam__region_create(seam__meta_process());
	if (region == NULL || seam__fit_maker_init(&every.maker, problem, region) != SEAM_OK ||
		seam__fit_timer_init(&every.timer, every.maker.most_ops, region) != SEAM_OK)
		fail("out of memory");
	for (uint32_t number = 0; number < 1u << 2 * problem->block_count; number++) {
		bool is_allowed = true;
		for (uint32_t i = 0; i < problem->block_count; i++) {
			every.treatments[i] = (uint8_t)(number >> 2 * i & 3);
			is_allowed = is_allowed && (problem->blocks[i].allowed >> every.treatments[i] & 1);
		}
		if (is_allowed)
			try_chunks(&every, any);
	}
	seam__region_destroy(region);
	*ret_count += every.count;
	return every.best_ns;
}

struct tally {
	uint64_t problems, fit, optimal, missed, recipes;
	double worst, seconds, most_seconds, sum;
};

/* By how many per cent a time is above the best one. */
static double above(uint64_t ns, uint64_t best_ns)
{
	return ns == best_ns ? 0 : 100 * ((double)ns / (double)best_ns - 1);
}

static void count(struct tally *tally, uint64_t found_ns, uint64_t best_ns, double seconds)
{
	tally->problems++;
	tally->seconds += seconds;
	tally->most_seconds = seconds > tally->most_seconds ? seconds : tally->most_seconds;
	if (best_ns == UINT64_MAX)
		return;
	tally->fit++;
	if (found_ns == UINT64_MAX) {
		tally->missed++;
		return;
	}
	double gap = above(found_ns, best_ns);
	tally->optimal += found_ns == best_ns;
	tally->sum += gap;
	tally->worst = gap > tally->worst ? gap : tally->worst;
}

static void print_row(const char *name, const struct tally *tally)
{
	printf("| %s | %zu | %zu | %zu | %zu | %.2f %% | %zu | %.4f | %.4f |\n", name, (size_t)tally->problems,
		(size_t)tally->fit, (size_t)tally->optimal, (size_t)tally->missed, tally->worst, (size_t)tally->recipes,
		tally->problems > 0 ? tally->seconds / (double)tally->problems : 0, tally->most_seconds);
}

static void print_small(uint64_t problems, uint64_t seed)
{
	struct tally all = {0};
	uint64_t wrong = 0;
	printf("## Against brute force\n\n%zu problems, seeds from %zu on. Brute force times every recipe in which the first "
	       "chunks stay, with every number of buffers and up to %u visits for copies. missed: brute force finds a recipe that "
	       "fits, the search none. Seconds: processor time of the search.\n\n",
		(size_t)problems, (size_t)seed, SEAM_FIT_AHEAD_MOST);
	printf("| blocks | problems | some recipe fits | optimal | missed | worst | recipes | seconds, mean | most |\n"
	       "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
	for (uint32_t blocks = 1; blocks <= BLOCKS_MOST; blocks++) {
		struct tally tally = {0};
		char name[16];
		for (uint64_t i = blocks - 1; i < problems; i += BLOCKS_MOST) {
			double seconds, exact_seconds;
			uint64_t work;
			fit_draw(seed + i, blocks, &drawn);
			uint64_t best_ns = brute_force(false, SEAM_FIT_AHEAD_MOST, &tally.recipes);
			uint64_t found_ns = search(0, 0, &seconds, &work);
			count(&tally, found_ns, best_ns, seconds);
			wrong += search(UINT64_MAX, 1, &exact_seconds, &work) != best_ns;
		}
		(void)snprintf(name, sizeof(name), "%u", blocks);
		print_row(name, &tally);
		(void)fflush(stdout);
		all = (struct tally){all.problems + tally.problems, all.fit + tally.fit, all.optimal + tally.optimal,
			all.missed + tally.missed, all.recipes + tally.recipes,
			all.worst > tally.worst ? all.worst : tally.worst, all.seconds + tally.seconds,
			all.most_seconds > tally.most_seconds ? all.most_seconds : tally.most_seconds,
			all.sum + tally.sum};
	}
	print_row("all", &all);
	printf("\nOptimal: %.1f %% of those that fit. Branch and bound (`exact`) differs from brute force in %zu problems.\n\n",
		all.fit > 0 ? 100 * (double)all.optimal / (double)all.fit : 0, (size_t)wrong);
}

/* The cost of the rules of the search's recipes. */
static void print_rules(uint64_t problems, uint64_t seed)
{
	struct tally first = {0}, one = {0}, two = {0}, more = {0};
	for (uint64_t i = 0; i < problems; i++) {
		uint64_t unused = 0;
		fit_draw(seed + i, 1 + (uint32_t)(i % 4), &drawn);
		uint64_t best_ns = brute_force(true, 2 * SEAM_FIT_AHEAD_MOST, &unused);
		count(&first, brute_force(false, 2 * SEAM_FIT_AHEAD_MOST, &unused), best_ns, 0);
		count(&more, brute_force(true, SEAM_FIT_AHEAD_MOST, &unused), best_ns, 0);
		count(&one, brute_force(true, 1, &unused), best_ns, 0);
		count(&two, brute_force(true, 2, &unused), best_ns, 0);
	}
	printf("## What the rules cost\n\n%zu problems of up to 4 blocks: the best recipe under a rule against the best of all, "
	       "with any chunks that stay and up to %u visits for copies, by brute force.\n\n"
	       "| rule | as good | of | nothing fits | worst | mean |\n| --- | ---: | ---: | ---: | ---: | ---: |\n",
		(size_t)problems, 2 * SEAM_FIT_AHEAD_MOST);
	const struct {
		const char *name;
		const struct tally *tally;
	} rows[] = {{"the first chunks stay", &first}, {"copies have up to 4 visits", &more}, {"up to 2", &two},
		{"1", &one}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct tally *tally = rows[i].tally;
		uint64_t found = tally->fit - tally->missed;
		printf("| %s | %zu | %zu | %zu | %.2f %% | %.3f %% |\n", rows[i].name, (size_t)tally->optimal,
			(size_t)tally->fit, (size_t)tally->missed, tally->worst,
			found > 0 ? tally->sum / (double)found : 0);
	}
	printf("\n");
}

static void print_large(uint64_t problems, uint64_t seed)
{
	printf("## Many blocks\n\n%zu problems each, seeds from %zu on, against a search of %u times the work. Seconds: processor "
	       "time.\n\n| blocks | problems | some recipe fits | as good | missed | worst | mean | seconds, mean | most |\n"
	       "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
		(size_t)problems, (size_t)seed, LARGE_WORK);
	for (uint32_t blocks = 50; blocks <= 100 && problems > 0; blocks += 50) {
		struct tally tally = {0};
		for (uint64_t i = 0; i < problems; i++) {
			double seconds, more_seconds;
			uint64_t work, more_work;
			fit_draw(seed + i, blocks, &drawn);
			uint64_t found_ns = search(0, 0, &seconds, &work);
			uint64_t best_ns = search(LARGE_WORK * work, 0, &more_seconds, &more_work);
			count(&tally, found_ns, best_ns, seconds);
		}
		uint64_t found = tally.fit - tally.missed;
		printf("| %u | %zu | %zu | %zu | %zu | %.2f %% | %.2f %% | %.3f | %.3f |\n", blocks,
			(size_t)tally.problems, (size_t)tally.fit, (size_t)tally.optimal, (size_t)tally.missed,
			tally.worst, found > 0 ? tally.sum / (double)found : 0, tally.seconds / (double)tally.problems,
			tally.most_seconds);
		(void)fflush(stdout);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	uint64_t problems = 500, large = 20, seed = 1;
	for (int i = 1; i + 1 < argc; i += 2) {
		uint64_t value = strtoull(argv[i + 1], NULL, 10);
		if (strcmp(argv[i], "--problems") == 0)
			problems = value;
		else if (strcmp(argv[i], "--large") == 0)
			large = value;
		else if (strcmp(argv[i], "--seed") == 0)
			seed = value;
		else
			fail("--problems N, --large N, --seed S");
	}
	printf("# Searches of Fit\n\nWhat `fit_search --problems %zu --large %zu --seed %zu` printed. The problems are drawn "
	       "(`bench/fit/fit_draw.c`): equal and unequal blocks, some that may not be treated in every way, machines from 4 "
	       "to 64 GB/s, budgets from 12 to 105 %% of what the program needs as it is.\n\n",
		(size_t)problems, (size_t)large, (size_t)seed);
	print_small(problems, seed);
	print_rules(problems / 5, seed + problems);
	print_large(large, seed + 2 * problems);
	return 0;
}
