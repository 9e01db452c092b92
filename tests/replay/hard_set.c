/* hard_set.c: the solver "exact" on the challenging set of $SEAM_TRACES/minimalloc: all eleven at their published
 * capacity, within a number of steps that is the same on every machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "files.h"
#include "input.h"
#include "lifetimes.h"
#include "meta.h"
#include "solver.h"
#include "tap.h"

#define CAPACITY_BYTES UINT64_C(1048576)
#define NODES 3000000u

/* Times of the instance are positions: no two requests of these instances need another order than that of their times.
 */
static bool make_problem(
	const struct seam_trace *trace, const struct lifetimes *lifetimes, struct seam_problem *problem)
{
	uint32_t circle = (uint32_t)trace->header.event_count;

	if (seam__problem_init(problem, seam__meta_process(), lifetimes->count, circle, true, 1, 1) != SEAM_OK)
		return false;
	for (uint32_t i = 0; i < lifetimes->count; i++) {
		const struct lifetime *lifetime = &lifetimes->items[i];
		uint64_t end = lifetime->free == LIFETIME_NONE ? circle : lifetime->free;

		(void)seam__problem_add(problem, trace->events[lifetime->alloc].size, (uint32_t)lifetime->alloc,
			(uint32_t)(end - lifetime->alloc));
	}
	return seam__problem_finish(problem) == SEAM_OK;
}

static void solve(const struct seam_problem *problem)
{
	struct seam_placement best;
	struct seam_budget budget;
	const char *broken;

	seam__budget_init(&budget);
	budget.nodes_left = NODES;
	budget.target_bytes = CAPACITY_BYTES;
	if (!ok(seam__placement_init(&best, problem) == SEAM_OK, "there is memory"))
		return;
	ok(seam__solver_run(seam__solver_find("exact"), problem, &budget, &best) == SEAM_OK, "the solver runs");
	ok(best.peak_bytes <= CAPACITY_BYTES, "%" PRIu64 " bytes are within the capacity, %" PRIu64 " nodes left",
		best.peak_bytes, budget.nodes_left);
	broken = seam__problem_check_placement(problem, best.offsets, best.peak_bytes);
	ok(broken == NULL, "it is a placement (%s)", broken == NULL ? "" : broken);
}

int main(void)
{
	const char *folder = files_shared();

	for (char name[] = "A"; name[0] <= 'K'; name[0]++) {
		char path[4096];
		char error[INPUT_ERROR_BYTES] = "";
		struct seam_trace *trace = NULL;
		struct lifetimes lifetimes;
		struct seam_problem problem = {0};

		tap_part = name;
		(void)snprintf(path, sizeof(path), "%s/minimalloc/%s.1048576.csv", folder, name);
		if (!ok(input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &trace), "is read (%s)", error))
			continue;
		if (ok(lifetimes_build(trace, &lifetimes) == SEAM_OK && make_problem(trace, &lifetimes, &problem),
			    "is understood"))
			solve(&problem);
		seam__problem_fini(&problem);
		lifetimes_fini(&lifetimes);
		seam_trace_free(trace);
	}
	return tap_end();
}
