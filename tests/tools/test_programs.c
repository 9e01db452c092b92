/* test_programs.c: made-up programs are legal traces, the same each time, and repeat as they say.
 *
 * How they repeat is told from the trace alone: an iteration is what each thread asks for in its order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "tap.h"

#define SEEDS 100u
#define ITERATIONS 12u
#define THREADS 4u

/* What a block was when it was allocated. */
struct birth {
	uint64_t id;
	uint32_t iteration;
	uint32_t thread;
	uint32_t ordinal; /* in its thread's requests of that iteration */
};

struct figures {
	uint64_t inside[ITERATIONS]; /* hash of requests and of frees of the iteration's own blocks */
	uint64_t across[ITERATIONS]; /* hash of frees of older ones */
	uint32_t iterations;
	uint64_t peak_bytes;
};

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x100000001b3);
	return hash ^ (hash >> 29);
}

static uint64_t mixed_event(uint64_t hash, const struct seam_trace_event *event, bool sizes)
{
	hash = mixed(hash, event->kind * UINT64_C(131) + event->stream);
	return mixed(hash, sizes && (event->flags & SEAM_TRACE_DYNAMIC) == 0 ? event->size : 0);
}

/* sizes: of requests; without them only their number and order counts. */
static void look(const struct seam_trace *trace, bool sizes, struct figures *figures)
{
	uint64_t count = trace->header.event_count;
	struct birth *births = calloc(count + 2, sizeof(*births)); /* ids are small numbers */
	uint64_t inside[THREADS] = {0};
	uint64_t across[THREADS] = {0};
	uint32_t ordinals[THREADS] = {0};
	uint64_t live_bytes = 0;
	*figures = (struct figures){0};
	for (uint64_t i = 0; births != NULL && i < count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		uint32_t thread = event->thread;
		if (event->kind == SEAM_TRACE_ALLOC) {
			births[event->id] = (struct birth){event->id, figures->iterations, thread, ordinals[thread]++};
			inside[thread] = mixed_event(inside[thread], event, sizes);
			live_bytes += event->size;
			figures->peak_bytes = live_bytes > figures->peak_bytes ? live_bytes : figures->peak_bytes;
		} else if (event->kind == SEAM_TRACE_FREE) {
			const struct birth *birth = &births[event->id];
			bool own = birth->iteration == figures->iterations;
			uint64_t *hash = own ? &inside[thread] : &across[thread];
			*hash = mixed_event(*hash, event, sizes);
			*hash = mixed(*hash, birth->thread * UINT64_C(1000003) + birth->ordinal);
			*hash = mixed(*hash, figures->iterations - birth->iteration);
			live_bytes -= event->size;
		} else if (event->kind == SEAM_TRACE_STEP && figures->iterations < ITERATIONS) {
			for (uint32_t k = 0; k < THREADS; k++) {
				figures->inside[figures->iterations] =
					mixed(figures->inside[figures->iterations], inside[k]);
				figures->across[figures->iterations] =
					mixed(figures->across[figures->iterations], across[k]);
				inside[k] = across[k] = ordinals[k] = 0;
			}
			figures->iterations++;
		}
	}
	free(births);
}

static uint32_t different(const uint64_t hashes[], uint32_t from, uint32_t end)
{
	uint32_t count = 0;
	for (uint32_t i = from; i < end; i++) {
		uint32_t same = from;
		while (hashes[same] != hashes[i])
			same++;
		count += same == i;
	}
	return count;
}

static void check_truth(
	const struct program *program, const struct program_truth *truth, const struct seam_trace *trace)
{
	struct figures figures;
	/* Sizes of experts differ, and nothing in the trace says so where the program does not. */
	bool sizes = program->experts == 0 || program->told != 0;
	look(trace, sizes, &figures);
	ok(figures.iterations == ITERATIONS, "seed %" PRIu64 ": %" PRIu32 " iterations", program->seed,
		figures.iterations);
	ok(figures.peak_bytes == truth->peak_bytes && figures.peak_bytes >= PROGRAM_PEAK_LEAST &&
			figures.peak_bytes <= PROGRAM_PEAK_MOST,
		"seed %" PRIu64 ": a peak of %" PRIu64 " bytes", program->seed, figures.peak_bytes);
	uint32_t kinds = different(figures.inside, truth->from, ITERATIONS);
	ok(sizes ? kinds == truth->kinds : kinds <= truth->kinds,
		"seed %" PRIu64 ": %" PRIu32 " kinds of iterations, not %" PRIu32, program->seed, truth->kinds, kinds);
	if (truth->repeats == REPEATS_STRICT)
		ok(truth->kinds == 1 && different(figures.across, truth->from, ITERATIONS) == 1,
			"seed %" PRIu64 ": iterations free the same of older ones", program->seed);
	else if (truth->repeats == REPEATS_KINDS)
		ok(truth->kinds * 2 <= ITERATIONS - truth->from, "seed %" PRIu64 ": kinds come again", program->seed);
	else
		ok(!sizes || truth->kinds > 1, "seed %" PRIu64 ": iterations differ", program->seed);
}

static bool same_bytes(const struct seam_trace *a, const struct seam_trace *b)
{
	return a->header.checksum == b->header.checksum && a->header.header_checksum == b->header.header_checksum &&
		a->header.event_count == b->header.event_count &&
		memcmp(a->events, b->events, a->header.event_count * sizeof(*a->events)) == 0 &&
		memcmp(a->strings, b->strings, a->header.string_bytes) == 0;
}

/* The line stands in the trace, and parameters of a longer trace are the same. */
static void check_line(const struct program *program, const struct program_truth *truth, const struct seam_trace *trace)
{
	struct program longer;
	struct program_truth ignored;
	struct seam_trace *long_trace;
	char line[PROGRAM_LINE_BYTES];
	program_line(program, truth, line);
	const char *source = seam_trace_string(trace, trace->header.source);
	ok(source != NULL && strcmp(source, line) == 0 && strstr(line, "peak_mib=") != NULL,
		"seed %" PRIu64 ": its line is the trace's source", program->seed);
	if (!ok(program_make(program->seed, 20, &longer, &ignored, &long_trace) == SEAM_OK, "it is made for longer"))
		return;
	ok(memcmp(program, &longer, sizeof(longer)) == 0, "seed %" PRIu64 ": it is the same program for longer",
		program->seed);
	/* All but the ends, which say how many iterations there are. */
	ok(long_trace->header.event_count > trace->header.event_count &&
			memcmp(trace->events, long_trace->events, trace->header.event_count * sizeof(*trace->events)) ==
				0,
		"seed %" PRIu64 ": a longer trace begins as a shorter one", program->seed);
	seam_trace_free(long_trace);
}

static void check_seed(uint64_t seed, uint32_t seen[REPEATS_NOT + 1])
{
	struct program program, again;
	struct program_truth truth, truth_again;
	struct seam_trace *trace;
	struct seam_trace *trace_again;
	if (!ok(program_make(seed, ITERATIONS, &program, &truth, &trace) == SEAM_OK, "seed %" PRIu64 " is made", seed))
		return;
	const char *broken = seam_trace_check(trace, NULL);
	ok(broken == NULL, "seed %" PRIu64 " is legal: %s", seed, broken != NULL ? broken : "yes");
	if (ok(program_make(seed, ITERATIONS, &again, &truth_again, &trace_again) == SEAM_OK, "and again")) {
		ok(same_bytes(trace, trace_again), "seed %" PRIu64 " gives the same bytes", seed);
		seam_trace_free(trace_again);
	}
	check_truth(&program, &truth, trace);
	if (seed % 10 == 0)
		check_line(&program, &truth, trace);
	seen[truth.repeats]++;
	seam_trace_free(trace);
}

int main(void)
{
	uint32_t seen[REPEATS_NOT + 1] = {0};
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check_seed(seed, seen);
	for (uint32_t i = 0; i <= REPEATS_NOT; i++)
		ok(seen[i] >= SEEDS / 10, "a tenth of the programs at least repeats in way %" PRIu32 ": %" PRIu32, i,
			seen[i]);
	return tap_end();
}
