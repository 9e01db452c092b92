/* record.c: the program `record`: what recording costs: an event alone, and an allocation with its free with recording
 * on and off.
 *
 * Times are of long runs of calls, divided by their number, the best of several runs: a counter read around every call
 * would cost as much as what is measured. The log is full throughout, so that forgetting its oldest events is counted
 * in; the hits are exact ones (S1).
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "emu.h"
#include "meta.h"
#include "opts.h"
#include "pool.h"
#include "record.h"

#define RUNS 100
#define FULL (UINT64_C(1) << 20) /* events that fill every log of the default size */
#define LIVE 256u                /* blocks that live at a time */
#define BYTES (UINT64_C(16) << 20)

static uint64_t pairs = 20000; /* of a run: few, so that many runs are not interrupted */

struct program {
	struct seam_recorder *recorder;
	uint64_t live[LIVE];
	uint64_t random;
};

static uint64_t add(struct seam_recorder *recorder, uint8_t kind, uint64_t id)
{
	struct seam_record record = {.order = seam__recorder_draw(recorder), .id = id, .bytes = BYTES, .kind = kind};
	if (kind == SEAM_TRACE_ALLOC)
		record.id = record.order;
	seam__recorder_add(recorder, &record);
	return record.order;
}

/* A block dies, another is born. */
static void use_events(struct program *program, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		program->random = program->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t *block = &program->live[(program->random >> 33) % LIVE];
		(void)add(program->recorder, SEAM_TRACE_FREE, *block);
		*block = add(program->recorder, SEAM_TRACE_ALLOC, 0);
	}
}

static double best_of(double so_far, double ns)
{
	return so_far == 0 || ns < so_far ? ns : so_far;
}

static enum seam_rc measure_events(double *ret_ns)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct program program = {.random = 1};
	enum seam_rc rc =
		meta == NULL ? SEAM_OOM_META : seam__recorder_create(meta, UINT64_C(32) << 20, 0, &program.recorder);
	if (rc == SEAM_OK)
		use_events(&program, FULL / 2);
	for (int run = 0; run < RUNS && rc == SEAM_OK; run++) {
		uint64_t start = seam__clock_ns();
		use_events(&program, pairs);
		*ret_ns = best_of(*ret_ns, (double)(seam__clock_ns() - start) / (double)(2 * pairs));
	}
	seam__recorder_destroy(program.recorder);
	seam__meta_destroy(meta);
	return rc;
}

static enum seam_rc use_pool(struct seam_pool *pool, uint64_t count)
{
	enum seam_rc rc = SEAM_OK;
	for (uint64_t i = 0; i < count && rc == SEAM_OK; i++) {
		void *block = NULL;
		rc = seam_alloc(pool, BYTES, NULL, &block);
		if (rc == SEAM_OK)
			rc = seam_free(pool, block);
	}
	return rc;
}

/* Nanoseconds of an allocation with its free. */
static enum seam_rc measure_pool(const char *conf, double *ret_ns)
{
	struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK};
	struct seam_config config;
	struct seam_driver *driver = NULL;
	struct seam_pool *pool = NULL;
	void *guard = NULL;
	enum seam_rc rc = seam__opts_resolve(NULL, conf, NULL, 0, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, NULL, 0, &driver);
	if (rc == SEAM_OK)
		rc = seam__pool_create_on(driver, &config, &pool);
	if (rc == SEAM_OK)
		rc = seam_alloc(pool, BYTES, NULL, &guard);
	if (rc == SEAM_OK)
		rc = use_pool(pool, FULL / 2);
	for (int run = 0; run < RUNS && rc == SEAM_OK; run++) {
		uint64_t start = seam__clock_ns();
		rc = use_pool(pool, pairs);
		*ret_ns = best_of(*ret_ns, (double)(seam__clock_ns() - start) / (double)pairs);
	}
	seam_pool_destroy(pool);
	seam__driver_destroy(driver);
	return rc;
}

static double measure_counter(void)
{
	double best = 0;
	for (int run = 0; run < RUNS; run++) {
		uint64_t start = seam__clock_ns(), sum = 0;
		for (uint64_t i = 0; i < pairs; i++)
			sum += seam__clock_ticks();
		double ns = (double)(seam__clock_ns() - start) / (double)pairs;
		best = sum != 0 ? best_of(best, ns) : best;
	}
	return best;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	char *end;
	if (key != 'n')
		return ARGP_ERR_UNKNOWN;
	pairs = strtoull(text, &end, 10);
	if (*end != '\0' || pairs == 0 || pairs > UINT64_C(1) << 40)
		argp_error(state, "not a number of pairs: '%s'", text);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{"pairs", 'n', "NUMBER", 0, "allocations with their frees in a run (default: 20000)", 0}, {0}};
	static const struct argp syntax = {.options = options, .parser = parse, .doc = "Measure what recording costs."};
	double event = 0, on = 0, off = 0;
	if (argp_parse(&syntax, argc, argv, 0, NULL, NULL) != 0)
		return 2;
	enum seam_rc rc = measure_events(&event);
	if (rc == SEAM_OK)
		rc = measure_pool("record:off", &off);
	if (rc == SEAM_OK)
		rc = measure_pool("record:on", &on);
	if (rc != SEAM_OK) {
		fprintf(stderr, "record: %s\n", seam_rc_text(rc));
		return 1;
	}
	printf("time stamp counter   %6.1f ns\n", measure_counter());
	printf("event                %6.1f ns\n", event);
	printf("alloc and free       %6.1f ns without recording, %.1f ns with: %.1f ns an event\n", off, on,
		(on - off) / 2);
	return 0;
}
