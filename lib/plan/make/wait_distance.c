/* wait_distance.c: see wait_distance.h. */
#include "wait_distance.h"

#include "make.h"

/* 8 positions, some four requests: who gets memory sooner than that waits for what has just been given out. */
#define LEAST_EXPONENT 3u
#define LEAST_POSITIONS (UINT32_C(1) << LEAST_EXPONENT)

struct choice {
	const struct seam_plan_options *options;
	struct seam_trace_error *error;
	struct seam_analysis *analysis;
	uint64_t most_bytes;
	uint64_t work_ns;
};

static enum seam_rc set_problem(struct choice *choice, enum seam_plan_streams streams, uint32_t apart_positions)
{
	return seam__analysis_replace(choice->analysis, choice->options, streams, apart_positions, choice->error);
}

/* The peak of a placement of the problem; UINT64_MAX: none is small enough. node_limit: 1: of the quick constructors.
 */
static enum seam_rc place(struct choice *choice, uint64_t node_limit, uint64_t *ret_bytes)
{
	const struct seam_problem *problem = &choice->analysis->problem;
	struct seam_plan_options options = *choice->options;
	struct seam_search search = {0};
	struct seam_placement placed;

	*ret_bytes = UINT64_MAX;
	if (problem->lower_bytes > choice->most_bytes)
		return SEAM_OK;
	options.solver = NULL;
	options.progress = NULL;
	options.node_limit = node_limit;
	options.target_gap = seam__search_gap(problem->lower_bytes, choice->most_bytes);
	enum seam_rc rc = seam__placement_init(&placed, problem);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__search_run(problem, &options, choice->error, &placed, &search);
	choice->work_ns += search.work_ns;
	*ret_bytes = rc == SEAM_OK ? placed.peak_bytes : UINT64_MAX;
	return rc;
}

/* The longest distance that can be afforded, of the powers of two up to half a period; 0 where none can. */
static enum seam_rc find_longest(struct choice *choice, uint32_t *ret_positions)
{
	uint32_t low = LEAST_EXPONENT - 1, high = LEAST_EXPONENT - 1; /* 2^low can, or it is the least but one */
	uint64_t bytes = UINT64_MAX;
	enum seam_rc rc = SEAM_OK;

	while (high < 30 && UINT32_C(1) << (high + 2) <= choice->analysis->slots.position_count)
		high++;
	while (rc == SEAM_OK && low < high) {
		const uint32_t middle = (low + high + 1) / 2;

		rc = set_problem(choice, SEAM_PLAN_STREAMS_INSERT, UINT32_C(1) << middle);
		if (rc == SEAM_OK)
			rc = place(choice, 1, &bytes);
		if (bytes <= choice->most_bytes)
			low = middle;
		else
			high = middle - 1;
	}
	*ret_positions = low < LEAST_EXPONENT ? 0 : UINT32_C(1) << low;
	return rc;
}

/* A search may find room for the least distance where the quick constructors found none. Else memory changes streams at
 * once. */
static enum seam_rc try_least(struct choice *choice)
{
	uint64_t bytes = UINT64_MAX;
	enum seam_rc rc = set_problem(choice, SEAM_PLAN_STREAMS_INSERT, LEAST_POSITIONS);

	if (rc == SEAM_OK)
		rc = place(choice, choice->options->node_limit, &bytes);
	return rc != SEAM_OK || bytes <= choice->most_bytes ? rc : set_problem(choice, SEAM_PLAN_STREAMS_INSERT, 0);
}

/* *ret_fits: the problem of the trace's edges can be afforded. Where streams share little its lower bound says little:
 * the quick constructors tell. */
static enum seam_rc try_edges(struct choice *choice, bool *ret_fits)
{
	uint64_t bytes = choice->analysis->problem.lower_bytes;
	enum seam_rc rc = SEAM_OK;

	if (choice->analysis->problem.streams > 1)
		rc = place(choice, 1, &bytes);
	*ret_fits = bytes <= choice->most_bytes;
	return rc;
}

/* Hardly more than lives at once. The problem is that of the trace's edges again. */
static enum seam_rc set_limit(struct choice *choice)
{
	enum seam_rc rc = set_problem(choice, SEAM_PLAN_STREAMS_INSERT, 0);
	const uint64_t lower_bytes = choice->analysis->problem.lower_bytes;

	choice->most_bytes = lower_bytes + lower_bytes / SEAM_WAIT_SHARE;
	return rc == SEAM_OK ? set_problem(choice, SEAM_PLAN_STREAMS_EDGES, 0) : rc;
}

static enum seam_rc choose(struct choice *choice)
{
	uint32_t positions = 0;
	bool fits = false;
	enum seam_rc rc = choice->most_bytes == UINT64_MAX ? set_limit(choice) : SEAM_OK;

	if (rc == SEAM_OK)
		rc = try_edges(choice, &fits);
	if (rc != SEAM_OK || fits)
		return rc;
	rc = find_longest(choice, &positions);
	if (rc != SEAM_OK)
		return rc;
	return positions == 0 ? try_least(choice) : set_problem(choice, SEAM_PLAN_STREAMS_INSERT, positions);
}

enum seam_rc seam__wait_distance_choose(const struct seam_plan_options *options, uint64_t most_bytes,
	struct seam_trace_error *error, struct seam_analysis *analysis, uint64_t *ret_work_ns)
{
	struct choice choice = {.options = options, .error = error, .analysis = analysis, .most_bytes = most_bytes};
	const enum seam_rc rc = choose(&choice);

	*ret_work_ns = choice.work_ns;
	return rc;
}
