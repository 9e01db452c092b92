/* arena.c: the program `arena`: how long the pool's lock is held while an arena is opened, lent from and closed, and
 * what its making costs.
 *
 * On an emulated device that keeps books: times are Seam's own, the best of several runs; `begin` and `prepare` include
 * the emulator's calls.
 */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "clock.h"
#include "emu.h"
#include "meta.h"

#define MIB (UINT64_C(1) << 20)
#define RUNS 7

enum step { STEP_SURVEY, STEP_BEGIN, STEP_PREPARE, STEP_OPEN, STEP_LEND, STEP_COLLECT, STEP_CLOSE, STEPS };

static const char *const names[STEPS] = {"survey", "begin", "prepare", "open", "lend", "collect", "close"};

struct bed {
	struct seam_driver *driver;
	struct seam_meta *meta;
	struct seam_engine engine;
	uint64_t chunks;
	uint64_t best_ns[STEPS];
};

static void check(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "arena: %s\n", what);
	exit(1);
}

static bool stays(void *user, const struct seam_block *block)
{
	(void)user;
	(void)block;
	return true;
}

static struct seam_block *request(struct bed *bed, uint64_t bytes)
{
	struct seam_ask ask = {
		.group = &bed->engine.common, .class = SEAM_CLASS_LARGE, .bytes = bytes, .requested_bytes = bytes};
	struct seam_block *block = NULL;
	check(seam__engine_stream(&bed->engine, 0, &ask.stream) == SEAM_OK, "no stream");
	check(seam__engine_alloc(&bed->engine, &ask, &block) == SEAM_OK, "no memory");
	return block;
}

/* `chunks` of 2 MiB, wholly free, or each with residents between which three extents are free. */
static void open_bed(struct bed *bed, uint64_t chunks, bool in_part)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_BOOK, .capacity_bytes = UINT64_C(1) << 42};
	const struct seam_phys_props props = {.where = {SEAM_AT_DEVICE, 0}};
	const struct seam_policy policy = {.chunk_bytes = 2 * MIB};
	*bed = (struct bed){.chunks = chunks};
	bed->meta = seam__meta_create(0);
	check(bed->meta != NULL && seam__emu_create(&config, NULL, 0, &bed->driver) == SEAM_OK, "no device");
	check(seam__engine_init(&bed->engine, bed->driver, bed->meta, &policy, &props) == SEAM_OK, "no engine");
	for (int i = 0; i < STEPS; i++)
		bed->best_ns[i] = UINT64_MAX;
	uint64_t pieces = in_part ? chunks * 8 : 1;
	struct seam_block **blocks = calloc(pieces, sizeof(struct seam_block *));
	check(blocks != NULL, "no memory");
	seam__mutex_lock(&bed->engine.lock);
	for (uint64_t i = 0; i < pieces; i++)
		blocks[i] = request(bed, chunks * 2 * MIB / pieces);
	for (uint64_t i = 0; i < pieces; i++) {
		if (!in_part || i % 8 == 1 || i % 8 == 3 || i % 8 == 6)
			seam__engine_free(&bed->engine, blocks[i]);
	}
	seam__mutex_unlock(&bed->engine.lock);
	free(blocks);
}

static void close_bed(struct bed *bed)
{
	seam__engine_fini(&bed->engine);
	seam__driver_destroy(bed->driver);
	check(seam__meta_destroy(bed->meta) == 0, "metadata is left");
}

static void note(struct bed *bed, enum step step, uint64_t begin_ns)
{
	uint64_t ns = seam__clock_ns() - begin_ns;
	bed->best_ns[step] = ns < bed->best_ns[step] ? ns : bed->best_ns[step];
}

/* One arena over everything, from its survey to its end. */
static void run(struct bed *bed)
{
	struct seam_engine *engine = &bed->engine;
	struct seam_survey survey;
	struct seam_arena arena;
	struct seam_stream *stream = NULL;
	check(seam__engine_wait(engine) == SEAM_OK && seam__engine_stream(engine, 0, &stream) == SEAM_OK, "no wait");
	uint64_t at = seam__clock_ns();
	check(seam__survey_make(engine, stays, NULL, &survey) == SEAM_OK && survey.count == bed->chunks, "no survey");
	note(bed, STEP_SURVEY, at);
	uint64_t *numbers = calloc(survey.count, sizeof *numbers);
	check(numbers != NULL, "no memory");
	for (uint32_t i = 0; i < survey.count; i++)
		numbers[i] = survey.chunks[i].number;
	at = seam__clock_ns();
	check(seam__arena_begin(engine, numbers, survey.count, 0, 0, 0, &arena) == SEAM_OK, "no arena");
	note(bed, STEP_BEGIN, at);
	free(numbers);
	seam__survey_fini(engine, &survey);
	at = seam__clock_ns();
	check(seam__arena_prepare(engine, &arena, UINT32_MAX) == SEAM_OK, "not mapped");
	note(bed, STEP_PREPARE, at);
	at = seam__clock_ns();
	seam__arena_open(&arena);
	check(seam__arena_collect(engine, &arena, 0, arena.count) != 0, "not opened");
	note(bed, STEP_OPEN, at);
	uint32_t middle = arena.count / 2;
	at = seam__clock_ns();
	uint64_t lent = seam__arena_lend(engine, &arena, middle, 1, stream);
	note(bed, STEP_LEND, at);
	at = seam__clock_ns();
	check(seam__arena_collect(engine, &arena, middle, 1) == lent && lent != 0, "not what was lent");
	note(bed, STEP_COLLECT, at);
	at = seam__clock_ns();
	seam__arena_close(engine, &arena, NULL, &stream, 1);
	note(bed, STEP_CLOSE, at);
	check(seam__engine_wait(engine) == SEAM_OK && seam__arena_finish(engine, &arena, UINT32_MAX) == SEAM_OK,
		"it stays");
}

static void measure(uint64_t chunks, bool in_part)
{
	static struct bed bed;
	open_bed(&bed, chunks, in_part);
	seam__mutex_lock(&bed.engine.change);
	seam__mutex_lock(&bed.engine.lock);
	for (int i = 0; i < RUNS; i++)
		run(&bed);
	seam__mutex_unlock(&bed.engine.lock);
	seam__mutex_unlock(&bed.engine.change);
	printf("%8" PRIu64 " %8s", chunks, in_part ? "in part" : "free");
	for (int i = 0; i < STEPS; i++)
		printf(" %11.1f", (double)bed.best_ns[i] / 1000);
	printf("\n");
	close_bed(&bed);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "What opening, lending from and closing an arena costs, in microseconds."};
	if (argp_parse(&argp, argc, argv, 0, NULL, NULL) != 0)
		return 2;
	printf("%8s %8s", "chunks", "they are");
	for (int i = 0; i < STEPS; i++)
		printf(" %8s us", names[i]);
	printf("\n");
	for (uint64_t chunks = 100; chunks <= 10000; chunks *= 10) {
		measure(chunks, false);
		measure(chunks, true);
	}
	return 0;
}
