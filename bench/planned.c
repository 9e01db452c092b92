/* planned.c: the program `planned`: what a request costs that a plan serves, and its free, beside the same program
 * without a plan.
 *
 * A program of layers, forwards and backwards, learns its plan on an emulated device, and is timed once the plan serves
 * all of it. Requests and frees are timed in runs of some, for one of them takes no longer than reading the counter
 * twice: of a run that is taken off, at its mean. Printed are the middle and the 99th percentile of the runs, divided
 * by their length.
 *
 * Sizes that depend on data are asked for between seam_dynamic_begin() and seam_dynamic_end(), in runs of their own.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/stats.h>

#include "clock.h"
#include "emu.h"
#include "opts.h"
#include "learner.h"
#include "pool.h"
#include "samples.h"

#define LAYERS 48u
#define RUN 16u /* requests of a layer whose sizes are always the same; half of them live until its backward pass */
#define DYNAMIC_RUN 4u
#define LEARNING 64u /* iterations until the plan serves all, at most */
#define TIMED 400u
#define CLOCK_READS 10000u
#define CAPACITY_BYTES (UINT64_C(64) << 30)

/* What is timed. */
enum what { ALLOC, FREE, DYNAMIC_ALLOC, DYNAMIC_FREE, WHATS };

static const unsigned lengths[WHATS] = {RUN, RUN / 2, DYNAMIC_RUN, DYNAMIC_RUN};

struct program {
	struct seam_pool *pool;
	bool dynamic;
	bool timed;
	uint64_t random;
	volatile char *own; /* the program's own memory, that it walks through between the runs */
	size_t own_bytes;
	void *live[LAYERS][RUN];
	void *data[DYNAMIC_RUN]; /* of the layer before; NULL: none */
	struct samples samples[WHATS];
	enum seam_rc rc; /* the first that was not SEAM_OK */
};

static uint64_t draw(struct program *program)
{
	program->random = program->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return program->random >> 33;
}

/* The same in every iteration. */
static uint64_t size_of(unsigned layer, unsigned i)
{
	return 1000 + ((layer * RUN + i) * UINT64_C(2654435761) >> 8) % (UINT64_C(2) << 20);
}

/* Layers do something beside asking for memory. */
static void compute(struct program *program)
{
	for (size_t at = 0; at < program->own_bytes; at += 64)
		program->own[at]++;
}

static void note(struct program *program, enum what what, uint64_t start)
{
	const uint64_t ticks = seam__clock_ticks() - start;
	if (program->timed)
		samples_add(&program->samples[what], ticks);
}

static void ask(struct program *program, enum what what, const uint64_t *sizes, void **blocks)
{
	const unsigned count = lengths[what];
	compute(program);
	const uint64_t start = seam__clock_ticks();
	for (unsigned i = 0; i < count && program->rc == SEAM_OK; i++)
		program->rc = seam_alloc(program->pool, sizes[i], NULL, &blocks[i]);
	note(program, what, start);
}

static void give_back(struct program *program, enum what what, void **blocks)
{
	const unsigned count = lengths[what];
	compute(program);
	const uint64_t start = seam__clock_ticks();
	for (unsigned i = count; i-- > 0 && program->rc == SEAM_OK;)
		program->rc = seam_free(program->pool, blocks[i]);
	note(program, what, start);
}

static void must(struct program *program, enum seam_rc rc)
{
	if (program->rc == SEAM_OK)
		program->rc = rc;
}

/* Requests that depend on data live until the layer's end. */
static void forward(struct program *program, unsigned layer)
{
	char name[32];
	uint64_t sizes[RUN];
	void *data[DYNAMIC_RUN];
	(void)snprintf(name, sizeof(name), "layer %u", layer);
	must(program, seam_phase_begin(program->pool, name));
	for (unsigned i = 0; i < RUN; i++)
		sizes[i] = size_of(layer, i);
	ask(program, ALLOC, sizes, program->live[layer]);
	if (program->dynamic) {
		for (unsigned i = 0; i < DYNAMIC_RUN; i++)
			sizes[i] = 512 + draw(program) % (UINT64_C(64) << 10);
		must(program, seam_dynamic_begin(program->pool));
		ask(program, DYNAMIC_ALLOC, sizes, data);
		must(program, seam_dynamic_end(program->pool));
		give_back(program, DYNAMIC_FREE, data);
	}
	give_back(program, FREE, program->live[layer] + RUN / 2);
	must(program, seam_phase_end(program->pool, name));
}

static void iterate(struct program *program)
{
	for (unsigned layer = 0; layer < LAYERS; layer++)
		forward(program, layer);
	for (unsigned layer = LAYERS; layer-- > 0;)
		give_back(program, FREE, program->live[layer]);
	must(program, seam_step(program->pool));
	bool did = true;
	while (did && program->rc == SEAM_OK)
		seam__pool_work(program->pool->learner, &did);
}

static struct seam_stats stats_of(struct program *program)
{
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	must(program, seam_stats_get(program->pool, &stats));
	return stats;
}

static uint64_t hits_of(struct program *program)
{
	struct seam_plan_stats stats = {.size = sizeof(stats), .version = SEAM_PLAN_STATS_VERSION};
	must(program, seam_plan_stats_get(program->pool, &stats));
	return stats.hits;
}

/* Iterates until the plan serves an iteration, or nearly all of it where sizes depend on data; false: it never does. */
static bool learn(struct program *program)
{
	const uint64_t requests = (uint64_t)LAYERS * (RUN + (program->dynamic ? DYNAMIC_RUN : 0));
	const uint64_t enough = program->dynamic ? requests - requests / 10 : requests;
	uint64_t hits = 0, before = 0;
	for (unsigned i = 0; i < LEARNING && program->rc == SEAM_OK && hits - before < enough; i++) {
		before = hits;
		iterate(program);
		hits = hits_of(program);
	}
	return hits - before >= enough;
}

/* Nanoseconds between two readings of the counter; a mean, for the counter goes on in steps. */
static double clock_ns(const struct seam_clock *clock)
{
	double best = 0;
	for (unsigned run = 0; run < 50; run++) {
		uint64_t sum = 0;
		for (unsigned i = 0; i < CLOCK_READS / 50; i++) {
			const uint64_t start = seam__clock_ticks();
			sum += seam__clock_ticks() - start;
		}
		const double ns = (double)sum * clock->ns_per_tick / (CLOCK_READS / 50);
		best = run == 0 || ns < best ? ns : best;
	}
	return best;
}

static void print_row(
	struct program *program, const char *name, enum what what, const struct seam_clock *clock, double served)
{
	const double taken_off = clock_ns(clock);
	double ns[2][2];
	for (unsigned i = 0; i < 2; i++) {
		struct samples *samples = &program->samples[what + i];
		ns[i][0] = (samples_percentile(samples, clock, 50) - taken_off) / lengths[what + i];
		ns[i][1] = (samples_percentile(samples, clock, 99) - taken_off) / lengths[what + i];
	}
	printf("%-42s alloc p50 / p99 %7.1f / %7.1f ns   free p50 / p99 %7.1f / %7.1f ns   served by the plan %6.2f %%\n",
		name, ns[0][0], ns[0][1], ns[1][0], ns[1][1], served);
}

static bool open_pool(struct program *program, const char *conf, struct seam_driver **ret_driver)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = CAPACITY_BYTES};
	struct seam_config config;
	program->rc = seam__opts_resolve(NULL, conf, NULL, 0, &config);
	if (program->rc == SEAM_OK)
		program->rc = seam__emu_create(&emu, NULL, 0, ret_driver);
	if (program->rc == SEAM_OK)
		program->rc = seam__pool_create_on(*ret_driver, &config, &program->pool);
	for (unsigned i = 0; i < WHATS; i++)
		if (!samples_init(&program->samples[i], (size_t)TIMED * LAYERS * 2))
			program->rc = SEAM_OOM_META;
	return program->rc == SEAM_OK;
}

static void close_pool(struct program *program, struct seam_driver *driver)
{
	for (unsigned i = 0; i < WHATS; i++)
		samples_fini(&program->samples[i]);
	seam_pool_destroy(program->pool);
	seam__driver_destroy(driver);
	free((void *)(uintptr_t)program->own);
}

/* One program: its rows. */
static int measure(const char *conf, const char *name, bool dynamic, size_t own_bytes)
{
	struct program program = {
		.dynamic = dynamic, .random = 1, .own = calloc(1, own_bytes + 1), .own_bytes = own_bytes};
	struct seam_driver *driver = NULL;
	struct seam_clock clock;
	bool learnt = true;
	if (open_pool(&program, conf, &driver)) {
		seam__clock_init(&clock);
		learnt = learn(&program) || seam_pool_config(program.pool)->plan == SEAM_PLAN_OFF;
		const uint64_t before = stats_of(&program).allocs, hits_before = hits_of(&program);
		program.timed = true;
		for (unsigned i = 0; i < TIMED && program.rc == SEAM_OK; i++)
			iterate(&program);
		seam__clock_sync(&clock);
		const double served = 100.0 * (double)(hits_of(&program) - hits_before) /
			(double)(stats_of(&program).allocs - before);
		if (program.rc == SEAM_OK && learnt) {
			char label[64];
			print_row(&program, name, ALLOC, &clock, served);
			(void)snprintf(label, sizeof(label), "%s, depending on data", name);
			if (dynamic)
				print_row(&program, label, DYNAMIC_ALLOC, &clock, served);
		}
	}
	close_pool(&program, driver);
	if (program.rc != SEAM_OK || !learnt)
		fprintf(stderr, "planned: %s: %s\n", name,
			program.rc != SEAM_OK ? seam_rc_text(program.rc) : "the plan does not serve it");
	return program.rc != SEAM_OK || !learnt;
}

struct options {
	size_t own_bytes;
	const char *only; /* NULL: all programs */
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;
	if (key == 'o')
		options->only = text;
	if (key != 'm')
		return key == 'o' ? 0 : ARGP_ERR_UNKNOWN;
	const unsigned long kib = strtoul(text, &end, 10);
	if (*end != '\0' || *text == '-' || kib > 1ul << 20)
		argp_error(state, "not a number of KiB: '%s'", text);
	options->own_bytes = (size_t)kib << 10;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option argp_options[] = {
		{"memory", 'm', "KIB", 0, "walk through so much memory of one's own between the runs (default: 0)", 0},
		{"only", 'o', "PROGRAM", 0, "measure only this one, by its name in the output", 0},
		{0},
	};
	static const struct argp syntax = {
		.options = argp_options, .parser = parse, .doc = "Measure what requests cost that a plan serves."};
	static const struct {
		const char *name, *conf;
		bool dynamic;
	} programs[] = {
		{"no plan", "plan:off", false},
		{"plan", "plan:inline,deterministic:1", false},
		{"no plan, some dynamic", "plan:off", true},
		{"plan, some dynamic", "plan:inline,deterministic:1", true},
	};
	struct options options = {0, NULL};
	int failed = 0;
	if (argp_parse(&syntax, argc, argv, 0, NULL, &options) != 0)
		return 2;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (options.only == NULL || strcmp(options.only, programs[i].name) == 0)
			failed |= measure(programs[i].conf, programs[i].name, programs[i].dynamic, options.own_bytes);
	return failed;
}
