/* somas.c: the solvers of SOMAS (section 4): Single Object and Many Objects. See solvers.h.
 *
 * Each places the chains one after the other, in one of four orders, by first or best fit. Single Object looks at all
 * of the memory; Many Objects at one object after the other, and opens one more when the chain fits into none.
 * O(count^2) conflicts at worst, in memory O(count); the budget is asked before each chain, so that a problem too large
 * for its time ends without a placement.
 */
#include "solvers.h"

#include "chains.h"
#include "clock.h"
#include "meta.h"
#include "objects.h"

#define CONFLICTS_PER_NODE 256u /* looks at a pair that cost about as much as a node */

struct work {
	const struct seam__problem *problem;
	const struct seam__somas_way *way;
	struct seam__chains chains;
	struct seam__objects objects;
	uint64_t limit_bytes; /* a placement that reaches this high is no better than the best known */
};

/* The first object: all of the memory, or as much as the fixed items take, or none. */
static void open_first(struct work *work)
{
	const struct seam__problem *problem = work->problem;
	uint64_t top = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam__item *item = &problem->items[i];

		if (item->fixed_bytes != SEAM__ADDRESS_ANY && item->fixed_bytes + item->size_bytes > top)
			top = item->fixed_bytes + item->size_bytes;
	}
	if (work->way->many && top == 0)
		return;
	(void)seam__objects_open(&work->objects, work->way->many ? top : UINT64_MAX, SEAM__ITEM_NONE);
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			seam__objects_put(&work->objects, 0, i, problem->items[i].fixed_bytes);
}

/* SEAM_NOT_FOUND: it would reach the limit. */
static enum seam_rc place(struct work *work, const struct seam__chain *chain)
{
	struct seam__objects *objects = &work->objects;
	enum seam_rc rc = SEAM_NOT_FOUND;
	uint64_t offset = 0;
	uint32_t number;

	for (number = 0; number < objects->count; number++) {
		rc = seam__objects_find(objects, number, chain, work->way->fit, &offset);
		if (rc != SEAM_NOT_FOUND)
			break;
	}
	if (rc == SEAM_NOT_FOUND) {
		number = seam__objects_open(
			objects, chain->size_bytes, chain->length == 1 ? chain->head : SEAM__ITEM_NONE);
		offset = objects->list[number].low_bytes;
	} else if (rc != SEAM_OK) {
		return rc;
	}
	if (offset + chain->size_bytes >= work->limit_bytes)
		return SEAM_NOT_FOUND;
	seam__objects_put(objects, number, chain->head, offset);
	return SEAM_OK;
}

static enum seam_rc place_all(struct work *work, struct seam__budget *budget, struct seam__placement *best)
{
	enum seam_rc rc = SEAM_OK;

	open_first(work);
	for (uint32_t c = 0; rc == SEAM_OK && c < work->chains.count; c++) {
		const struct seam__chain *chain = &work->chains.list[c];

		if (!seam__budget_spend(
			    budget, 1 + (uint64_t)work->objects.placed * chain->length / CONFLICTS_PER_NODE))
			return SEAM_OK;
		rc = place(work, chain);
	}
	if (rc == SEAM_OK)
		(void)seam__placement_improve(best, work->problem, budget, work->objects.offsets, work->way->name);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}

enum seam_rc seam__solve_somas(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument)
{
	struct work work = {.problem = problem, .way = argument, .limit_bytes = best->peak_bytes};
	struct seam__placement made;
	enum seam_rc rc;

	if (best->peak_bytes <= budget->target_bytes || !seam__budget_spend(budget, 1))
		return SEAM_OK;
	rc = seam__placement_init(&made, problem);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__chains_init(&work.chains, problem, work.way->order);
	if (rc == SEAM_OK)
		rc = seam__objects_init(&work.objects, problem, made.offsets);
	if (rc == SEAM_OK)
		rc = place_all(&work, budget, best);
	seam__objects_fini(&work.objects);
	seam__chains_fini(&work.chains);
	seam__placement_fini(&made, problem);
	return rc;
}

/* Steps of work that the budget still allows. */
static uint64_t steps_left(const struct seam__budget *budget)
{
	uint64_t now_ns;
	uint64_t left = budget->nodes_left;

	if (budget->deadline_ns == UINT64_MAX)
		return left;
	now_ns = seam__clock_thread_ns();
	if (now_ns >= budget->deadline_ns)
		return 0;
	return (budget->deadline_ns - now_ns) / 1000 < left ? (budget->deadline_ns - now_ns) / 1000 : left;
}

enum seam_rc seam__solve_somas_all(const struct seam__problem *problem, struct seam__budget *budget,
	struct seam__placement *best, const void *argument)
{
	/* The quick and the different ones first. */
	static const struct seam__somas_way ways[] = {
		{"mo-size-first", SEAM__CHAIN_SIZE, SEAM__FIT_FIRST, true},
		{"so-size-first", SEAM__CHAIN_SIZE, SEAM__FIT_FIRST, false},
		{"so-source-first", SEAM__CHAIN_SOURCE, SEAM__FIT_FIRST, false},
		{"so-breadth-first", SEAM__CHAIN_BREADTH, SEAM__FIT_FIRST, false},
		{"so-unsafe-first", SEAM__CHAIN_UNSAFE, SEAM__FIT_FIRST, false},
		{"so-size-best", SEAM__CHAIN_SIZE, SEAM__FIT_BEST, false},
		{"so-source-best", SEAM__CHAIN_SOURCE, SEAM__FIT_BEST, false},
		{"so-breadth-best", SEAM__CHAIN_BREADTH, SEAM__FIT_BEST, false},
		{"so-unsafe-best", SEAM__CHAIN_UNSAFE, SEAM__FIT_BEST, false},
	};
	uint64_t needed = (uint64_t)problem->count * problem->count / (2 * CONFLICTS_PER_NODE);
	enum seam_rc rc = SEAM_OK;

	(void)argument;
	for (size_t w = 0; rc == SEAM_OK && w < sizeof(ways) / sizeof(ways[0]); w++)
		if (needed <= steps_left(budget))
			rc = seam__solve_somas(problem, budget, best, &ways[w]);
	return rc;
}
