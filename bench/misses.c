/* misses.c: the program `misses`: processor time of requests and frees of recordings that start over and over, without
 * a plan and with one that is learnt.
 *
 * Each recording is run whole, again and again, with what it builds up: the end of one run and the beginning of the
 * next are what a plan expects least, so many requests are missed. Frees what is left at the end of each run. The plan
 * is learnt between operations and is not timed. Printed: time of all requests and frees of all runs; of requests by
 * who served them the number, the median and the 99th percentile in ns. Reading the clock, some 10 ns, is in these.
 * With -c CONF only that is run: valgrind --tool=callgrind --toggle-collect='seam_alloc' --toggle-collect='seam_free'
 * counts its instructions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <seam/stats.h>

#include "emu.h"
#include "input.h"
#include "opts.h"
#include "learner.h"
#include "planned.h"
#include "pool.h"
#include "samples.h"
#include "schedule.h"

#define CAPACITY_BYTES (UINT64_C(200) << 30)
#define OPS_PER_WORK 16u /* operations from one piece of background work to the next */

enum server { BY_PLAN, BY_BORROWING, BY_ENGINE, FREES, SERVERS };

static const char *const server_names[SERVERS] = {"planned", "borrowed", "missed, served by the engine", "frees"};

struct program {
	struct seam_pool *pool;
	const struct schedule *schedule;
	void **live;
	struct samples samples[SERVERS];
	uint64_t ticks; /* of all of them */
};

/* Which of them served the request that came after `before`. */
static enum server server_of(const struct seam_planned_counts *before, const struct seam_planned_counts *after)
{
	if (after->hits != before->hits)
		return BY_PLAN;
	return after->borrows != before->borrows ? BY_BORROWING : BY_ENGINE;
}

static enum seam_rc ask(struct program *program, const struct schedule_op *op)
{
	const struct seam_planned_counts before = program->pool->runtime->counts;
	void *stream = (void *)(uintptr_t)op->stream; /* the emulated device has none of these numbers but 0 */
	const uint64_t start = seam__clock_ticks();
	const enum seam_rc rc =
		seam_alloc(program->pool, op->bytes > 0 ? op->bytes : 1, stream, &program->live[op->target]);
	const uint64_t ticks = seam__clock_ticks() - start;
	program->ticks += ticks;
	if (program->pool->runtime->counts.requests != before.requests)
		samples_add(&program->samples[server_of(&before, &program->pool->runtime->counts)], ticks);
	return rc;
}

static enum seam_rc give(struct program *program, uint32_t block)
{
	void *va = program->live[block];
	program->live[block] = NULL;
	const uint64_t start = seam__clock_ticks();
	const enum seam_rc rc = seam_free(program->pool, va);
	const uint64_t ticks = seam__clock_ticks() - start;
	program->ticks += ticks;
	if (program->pool->runtime->open)
		samples_add(&program->samples[FREES], ticks);
	return rc;
}

static enum seam_rc run_op(struct program *program, const struct schedule_op *op)
{
	switch (op->kind) {
	case SCHEDULE_ALLOC:
		return ask(program, op);
	case SCHEDULE_FREE:
		return give(program, op->target);
	case SCHEDULE_STEP:
		return seam_step(program->pool);
	default:
		return SEAM_OK;
	}
}

static enum seam_rc run_once(struct program *program)
{
	const struct schedule *schedule = program->schedule;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < schedule->op_count && rc == SEAM_OK; i++) {
		bool did = true;
		rc = run_op(program, &schedule->ops[i]);
		if (i % OPS_PER_WORK == 0)
			seam__pool_work(program->pool->learner, &did);
	}
	for (uint32_t i = 0; i < schedule->block_count && rc == SEAM_OK; i++)
		if (program->live[i] != NULL)
			rc = give(program, i);
	return rc;
}

static void print_rows(struct program *program, const char *name, const char *conf, const struct seam_clock *clock)
{
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	if (seam_stats_get(program->pool, &stats) != SEAM_OK)
		return;
	printf("%s, %s: %.3f s in requests and frees, %" PRIu64 " MiB reserved at most\n", name, conf,
		(double)program->ticks * clock->ns_per_tick / 1e9, stats.reserved_bytes_peak >> 20);
	for (int i = 0; i < SERVERS; i++) {
		struct samples *samples = &program->samples[i];
		if (samples->count != 0)
			printf("    %-30s %9zu  p50 %8.1f  p99 %8.1f\n", server_names[i], samples->count,
				samples_percentile(samples, clock, 50), samples_percentile(samples, clock, 99));
	}
}

static enum seam_rc measure(const struct schedule *schedule, const char *name, const char *conf, unsigned loops)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = CAPACITY_BYTES};
	struct program program = {
		.schedule = schedule, .live = calloc((size_t)schedule->block_count + 1, sizeof(void *))};
	struct seam_driver *driver = NULL;
	struct seam_config config;
	struct seam_clock clock;
	enum seam_rc rc = program.live == NULL ? SEAM_OOM_META : seam__opts_resolve(NULL, conf, NULL, 0, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, NULL, 0, &driver);
	if (rc == SEAM_OK)
		rc = seam__pool_create_on(driver, &config, &program.pool);
	for (int i = 0; i < SERVERS && rc == SEAM_OK; i++)
		if (!samples_init(&program.samples[i], (size_t)loops * schedule->block_count))
			rc = SEAM_OOM_META;
	seam__clock_init(&clock);
	for (unsigned i = 0; i < loops && rc == SEAM_OK; i++)
		rc = run_once(&program);
	seam__clock_sync(&clock);
	if (rc == SEAM_OK)
		print_rows(&program, name, conf, &clock);
	for (int i = 0; i < SERVERS; i++)
		samples_fini(&program.samples[i]);
	if (program.pool != NULL)
		seam_pool_destroy(program.pool);
	seam__driver_destroy(driver);
	free(program.live);
	return rc;
}

/* only: NULL: both. */
static int run(const char *path, unsigned loops, const char *only)
{
	static const char *const both[] = {"plan:off", "plan:inline,deterministic:1"};
	const char *const *confs = only != NULL ? &only : both;
	const size_t count = only != NULL ? 1 : sizeof(both) / sizeof(*both);
	char text[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	struct schedule schedule;
	if (!input_read(path, SEAM_IMPORT_ANY_DEVICE, text, &trace)) {
		fprintf(stderr, "misses: %s\n", text);
		return 1;
	}
	enum seam_rc rc = schedule_build(trace, 1, &schedule);
	for (size_t i = 0; i < count && rc == SEAM_OK; i++)
		rc = measure(&schedule, path, confs[i], loops);
	if (rc == SEAM_OK)
		schedule_fini(&schedule);
	else
		fprintf(stderr, "misses: %s: %s\n", path, seam_rc_text(rc));
	seam_trace_free(trace);
	return rc != SEAM_OK;
}

int main(int argc, char **argv)
{
	const bool is_one = argc > 2 && strcmp(argv[1], "-c") == 0;
	const int first = is_one ? 3 : 1;
	int failed = argc < first + 2;
	if (failed)
		fprintf(stderr, "usage: misses [-c CONF] LOOPS RECORDING...\n");
	for (int i = first + 1; i < argc; i++)
		failed |= run(argv[i], (unsigned)strtoul(argv[first], NULL, 10), is_one ? argv[2] : NULL);
	return failed;
}
