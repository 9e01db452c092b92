/* iterations.c: which kinds of iterations are found in the recordings of a folder (argument, or $SEAM_TRACES): in those
 * with marks of steps by them and without them, in the others repeated a few times; and that each kind's model can be
 * planned.
 */
#include <stdio.h>
#include <string.h>

#include <seam/plan.h>

#include "clock.h"
#include "files.h"
#include "input.h"
#include "repeat_trace.h"
#include "iterations.h"
#include "tap.h"

#define REPEATED 5u
#define LEAST_EVENTS 200u /* of all repetitions: a smaller instance is no iteration */

static uint64_t count_kind(const struct seam_trace *trace, uint64_t first, uint64_t last, uint8_t kind)
{
	uint64_t count = 0;

	for (uint64_t e = first; e < last; e++)
		count += trace->events[e].kind == kind;
	return count;
}

static void plan_kind(const struct seam_iteration_kind *kind)
{
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 200000,
		.period = SEAM_PLAN_PERIOD_GIVEN,
		.first_event = kind->first_event,
		.last_event = kind->last_event};
	struct seam_trace_error error = {0};
	struct seam_plan *plan;

	if (!ok(seam_plan_make(kind->model, &options, &error, &plan) == SEAM_OK, "the model can be planned (%s)",
		    error.text))
		return;
	tap_note("  %u slots of %u positions, %u copies, arena %.1f MiB (bound %.1f), dynamic %.1f, residents %.1f",
		plan->header.slot_count, plan->header.positions, plan->header.copies,
		(double)plan->header.arena_bytes / 0x1p20, (double)plan->header.lower_bound_bytes / 0x1p20,
		(double)plan->header.unplaced_bytes / 0x1p20, (double)plan->header.resident_bytes / 0x1p20);
	seam_plan_free(plan);
}

/* Returns how many kinds. */
static uint32_t find(const struct seam_trace *trace, const char *how, uint64_t *ret_requests)
{
	struct seam_iterations iterations;
	uint64_t began_ns = seam__clock_ns();
	enum seam_rc rc = seam__iterations_find(trace, NULL, &iterations);
	double ms = (double)(seam__clock_ns() - began_ns) / 1e6;
	const char *broken;
	uint32_t count;

	*ret_requests = 0;
	if (!ok(rc == SEAM_OK, "%s: is searched (%s)", how, seam_rc_name(rc)))
		return 0;
	broken = seam__iterations_check(&iterations);
	ok(broken == NULL, "%s: the kinds are sound (%s)", how, broken == NULL ? "" : broken);
	tap_note("%s, %s: %u kinds in %.0f ms, %llu events", tap_part, how, iterations.count, ms,
		(unsigned long long)trace->header.event_count);
	for (uint32_t i = 0; i < iterations.count; i++) {
		const struct seam_iteration_kind *kind = &iterations.kinds[i];

		tap_note(" kind %u: %llu events, %llu requests, seen %u, lacking %.2f, newest %llu", i,
			(unsigned long long)(kind->last_event - kind->first_event),
			(unsigned long long)count_kind(
				kind->model, kind->first_event, kind->last_event, SEAM_TRACE_ALLOC),
			kind->seen, kind->lacking, (unsigned long long)kind->newest);
		if (i == 0)
			*ret_requests = count_kind(kind->model, kind->first_event, kind->last_event, SEAM_TRACE_ALLOC);
		plan_kind(kind);
	}
	count = iterations.count;
	seam__iterations_fini(&iterations);
	return count;
}

static void find_marked(const struct seam_trace *trace)
{
	struct seam_trace *unmarked = unmarked_trace(trace);
	uint64_t marked_requests;
	uint64_t requests;
	uint32_t kinds;

	if (!ok(unmarked != NULL, "there is memory"))
		return;
	kinds = find(trace, "by marks", &marked_requests);
	/* Marks show more: without them an evaluation now and then may stand inside of an iteration. */
	ok(find(unmarked, "without marks", &requests) <= kinds, "no more kinds without marks");
	ok(requests == 0 || requests == marked_requests, "of as many requests");
	seam_trace_free(unmarked);
}

static void find_repeated(const struct seam_trace *trace)
{
	struct seam_trace *repeated = repeat_trace(trace, REPEATED);
	uint64_t requests;

	if (!ok(repeated != NULL, "there is memory"))
		return;
	ok(find(repeated, "repeated", &requests) > 0 || repeated->header.event_count < LEAST_EVENTS, "has a kind");
	seam_trace_free(repeated);
}

static void run_file(const char *path)
{
	char error[INPUT_ERROR_BYTES] = "";
	struct seam_trace *trace;
	const char *slash = strrchr(path, '/');

	tap_part = slash != NULL ? slash + 1 : path;
	if (!ok(input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &trace), "is read (%s)", error))
		return;
	if (count_kind(trace, 0, trace->header.event_count, SEAM_TRACE_STEP) > 0)
		find_marked(trace);
	else
		find_repeated(trace);
	seam_trace_free(trace);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : files_shared();
	glob_t files;

	tap_part = folder;
	if (ok(files_find(folder, &files), "holds recordings"))
		for (size_t i = 0; i < files.gl_pathc; i++)
			run_file(files.gl_pathv[i]);
	globfree(&files);
	return tap_end();
}
