/* test_loaded_cursors.c: the runs of sizes by which a place is found again, and which plans are of one kind; compared
 * with what a list of requests says.
 */
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "meta_fixture.h"
#include "random_problem.h"
#include "loaded_plan.h"
#include "planned.h"

#define SEEDS 40u

TestSuite(loaded_cursors, .init = set_up, .fini = tear_down);

#define WORDS 48u /* most requests of a drawn program */

/* Requests that are freed at once, by size and by who asks. */
struct drawn {
	uint32_t count;
	uint32_t sizes[WORDS], threads[WORDS], streams[WORDS];
};

static struct seam_loaded_plan *load(const struct drawn *drawn)
{
	char words[WORDS * 32] = "";
	struct seam_loaded_plan *loaded;
	for (uint32_t i = 0; i < drawn->count; i++)
		(void)snprintf(words + strlen(words), sizeof(words) - strlen(words), "a%u@%u^%u -a ",
			512 * drawn->sizes[i], drawn->streams[i], drawn->threads[i]);
	struct match_program program = match_program_of(words);
	cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
	match_program_fini(&program);
	return loaded;
}

/* The size that the n-th request behind request `from` of the same thread and stream has, around the period. */
static uint32_t size_behind(const struct drawn *drawn, uint32_t from, uint32_t n)
{
	uint32_t i = from;
	while (n > 0) {
		i = (i + 1) % drawn->count;
		n -= drawn->threads[i] == drawn->threads[from] && drawn->streams[i] == drawn->streams[from];
	}
	return drawn->sizes[i];
}

static bool are_equal_runs(const struct drawn *a, uint32_t i, const struct drawn *b, uint32_t k)
{
	if (a->threads[i] != b->threads[k] || a->streams[i] != b->streams[k])
		return false;
	for (uint32_t n = 0; n < SEAM_RUN; n++)
		if (size_behind(a, i, n) != size_behind(b, k, n))
			return false;
	return true;
}

static uint32_t count_cursors(const struct drawn *drawn)
{
	bool seen[4] = {false};
	uint32_t count = 0;
	for (uint32_t i = 0; i < drawn->count; i++) {
		bool *at = &seen[2 * drawn->threads[i] + drawn->streams[i]];
		count += !*at;
		*at = true;
	}
	return count;
}

/* Each run has at most one equal one of its own in the other: seven in eight of them are enough. */
static bool resemble(const struct drawn *a, const struct drawn *b)
{
	bool used[WORDS] = {false};
	uint32_t shared = 0;
	for (uint32_t i = 0; i < a->count; i++) {
		uint32_t k = 0;
		while (k < b->count && (used[k] || !are_equal_runs(a, i, b, k)))
			k++;
		shared += k < b->count;
		used[k % WORDS] |= k < b->count;
	}
	const uint32_t most = a->count > b->count ? a->count : b->count;
	return count_cursors(a) == count_cursors(b) && shared >= most - most / 8;
}

/* The same with up to three changes. */
static struct drawn vary(const struct drawn *drawn, uint64_t *state)
{
	struct drawn other = *drawn;
	for (uint64_t changes = random_below(state, 4); changes > 0; changes--) {
		const uint32_t at = (uint32_t)random_below(state, other.count);
		switch (random_below(state, 4)) {
		case 0:
			other.threads[at] = 1;
			break;
		case 1:
			other.streams[at] = 1;
			break;
		case 2:
			other.count -= other.count > 16;
			break;
		default:
			other.sizes[at] = 1 + (uint32_t)random_below(state, 4);
			break;
		}
	}
	return other;
}

Test(loaded_cursors, plans_resemble_that_share_most_runs_of_the_same_cursors)
{
	uint32_t alike = 0;
	for (uint64_t seed = 1; seed <= 10 * SEEDS; seed++) {
		uint64_t state = seed;
		struct drawn a = {.count = 16 + (uint32_t)random_below(&state, WORDS - 16)};
		const bool threads = random_below(&state, 2) != 0, streams = random_below(&state, 2) != 0;
		for (uint32_t i = 0; i < a.count; i++) {
			a.sizes[i] = 1 + (uint32_t)random_below(&state, 4);
			a.threads[i] = threads ? (uint32_t)random_below(&state, 2) : 0;
			a.streams[i] = streams ? (uint32_t)random_below(&state, 2) : 0;
		}
		const struct drawn b = vary(&a, &state);
		struct seam_loaded_plan *left = load(&a), *right = load(&b);
		const bool wanted = resemble(&a, &b);
		cr_assert_eq(seam__loaded_resembles(left, right), wanted, "seed %llu", (unsigned long long)seed);
		cr_assert_eq(seam__loaded_resembles(right, left), wanted, "seed %llu", (unsigned long long)seed);
		alike += wanted;
		seam__loaded_destroy(meta, left);
		seam__loaded_destroy(meta, right);
	}
	cr_assert(alike > SEEDS && alike < 9 * SEEDS, "%u", alike);
}

/* How many of the last sizes agree with those that end at request `at`. */
static uint32_t agree(const struct drawn *drawn, uint32_t at, const struct seam_history *history)
{
	uint32_t length = 0;
	while (length < history->heard && length < SEAM_HEARD &&
		512 * drawn->sizes[(at + (length + 1) * (drawn->count - 1) + 1) % drawn->count] ==
			history->sizes[(history->heard - 1 - length) % SEAM_HEARD])
		length++;
	return length;
}

static uint32_t distance_of(const struct drawn *drawn, uint32_t a, uint32_t b)
{
	const uint32_t ahead = (a + drawn->count - b) % drawn->count;
	return ahead < drawn->count - ahead ? ahead : drawn->count - ahead;
}

/* Whether the place is among those of its run that are looked at: the last ones before `near`, the first ones from
 * there on. */
static bool is_looked_at(const struct drawn *drawn, const struct seam_history *history, uint32_t near, uint32_t at)
{
	uint32_t between = 0;
	for (uint32_t i = 0; i < drawn->count; i++)
		between +=
			(at < near ? i > at && i < near : i >= near && i < at) && agree(drawn, i, history) >= SEAM_RUN;
	return agree(drawn, at, history) >= SEAM_RUN && between < SEAM_HITS;
}

/* The longest agreement, of equal ones the nearest, and of those the first as it goes down from `near`, then up; where
 * several are equal, all that is known must agree. */
static struct seam_guess guess_of(const struct drawn *drawn, const struct seam_history *history, uint32_t near)
{
	struct seam_guess best = {0, 0};
	uint32_t equals = 0;
	for (uint32_t i = 0; i < drawn->count; i++) {
		const uint32_t at = i < near ? near - 1 - i : i;
		const uint32_t length = agree(drawn, at, history);
		if (!is_looked_at(drawn, history, near, at) || length < best.length)
			continue;
		equals = length > best.length ? 1 : equals + 1;
		if (equals == 1 || distance_of(drawn, at, near) < distance_of(drawn, best.expected, near))
			best = (struct seam_guess){at, length};
	}
	const uint32_t enough = drawn->count < SEAM_HEARD ? drawn->count : SEAM_HEARD;
	return equals > 1 && best.length < enough ? (struct seam_guess){0, 0} : best;
}

Test(loaded_cursors, a_place_is_guessed_by_the_longest_agreement)
{
	uint32_t known = 0, unknown = 0;
	for (uint64_t seed = 1; seed <= 5 * SEEDS; seed++) {
		uint64_t state = seed;
		struct drawn drawn = {.count = SEAM_RUN + (uint32_t)random_below(&state, WORDS - SEAM_RUN)};
		const uint64_t sizes = 1 + random_below(&state, 5), layer = 2 + random_below(&state, WORDS);
		const uint64_t rare = 1 + 6 * random_below(&state, 2);
		for (uint32_t i = 0; i < drawn.count; i++)
			drawn.sizes[i] = random_below(&state, rare) != 0 ? 1
				: i < layer                              ? 1 + (uint32_t)random_below(&state, sizes)
									 : drawn.sizes[i - layer];
		struct seam_loaded_plan *loaded = load(&drawn);
		for (uint32_t turn = 0; turn < 20; turn++) {
			struct seam_history history = {0};
			const uint32_t from = (uint32_t)random_below(&state, drawn.count);
			for (uint64_t n = random_below(&state, 40); n > 0; n--) {
				const bool other = random_below(&state, 12) == 0;
				const uint32_t size = drawn.sizes[(from + history.heard) % drawn.count];
				history.sizes[history.heard++ % SEAM_HEARD] = 512 * (other ? (uint32_t)sizes : size);
			}
			const uint32_t near = (uint32_t)random_below(&state, drawn.count);
			const struct seam_guess guess = seam__cursor_guess(&loaded->cursors[0], &history, near);
			const struct seam_guess wanted = guess_of(&drawn, &history, near);
			cr_assert(guess.length == wanted.length &&
					(guess.length == 0 || guess.expected == wanted.expected),
				"seed %llu, turn %u: %u, %u long, not %u, %u", (unsigned long long)seed, turn,
				guess.expected, guess.length, wanted.expected, wanted.length);
			known += guess.length != 0;
			unknown += guess.length == 0;
		}
		seam__loaded_destroy(meta, loaded);
	}
	cr_assert(known > 1000 && unknown > 1000, "%u %u", known, unknown);
}
