/* problem.c: see problem.h. The checks of a placement stand in problem_check.c. */
#include "problem.h"

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "region.h"

#define POSITIONS_MAX (UINT32_C(1) << 31)

/* `problem` has all but its arrays. Errors: as seam__problem_init(); the region may have grown. */
static enum seam_rc get_arrays(struct seam_problem *problem)
{
	size_t count = problem->capacity;

	if (count > POSITIONS_MAX || problem->circle > POSITIONS_MAX || problem->streams == 0 ||
		problem->align_bytes == 0)
		return SEAM_INVALID;
	problem->items = seam__region_array(problem->region, count, sizeof(*problem->items));
	if (problem->items != NULL && problem->streams > 1)
		problem->holds = seam__region_array(problem->region, count * problem->streams, sizeof(*problem->holds));
	return problem->items == NULL || (problem->streams > 1 && problem->holds == NULL) ? SEAM_OOM_META : SEAM_OK;
}

enum seam_rc seam__problem_init(struct seam_problem *problem, struct seam_meta *meta, uint32_t count, uint32_t circle,
	bool linear, uint32_t streams, uint64_t align_bytes)
{
	struct seam_problem made = {.meta = meta,
		.region = seam__region_create(meta),
		.capacity = count,
		.circle = circle,
		.linear = linear,
		.streams = streams,
		.align_bytes = align_bytes};
	enum seam_rc rc = made.region != NULL ? get_arrays(&made) : SEAM_OOM_META;

	if (rc == SEAM_OK)
		*problem = made;
	else
		seam__problem_fini(&made);
	return rc;
}

enum seam_rc seam__problem_init_part(struct seam_problem *part, const struct seam_problem *whole, uint32_t count,
	uint32_t circle, bool linear, uint32_t streams)
{
	*part = (struct seam_problem){.meta = whole->meta,
		.region = whole->region,
		.capacity = count,
		.circle = circle,
		.linear = linear,
		.streams = streams,
		.align_bytes = whole->align_bytes};
	return get_arrays(part);
}

void seam__problem_fini(struct seam_problem *problem)
{
	seam__region_destroy(problem->region);
	*problem = (struct seam_problem){0};
}

struct seam_item *seam__problem_add(struct seam_problem *problem, uint64_t size_bytes, uint32_t begin, uint32_t span)
{
	uint32_t number = problem->count;
	uint64_t rest = size_bytes % problem->align_bytes;

	SEAM_VERIFY(number < problem->capacity);
	struct seam_item *item = &problem->items[number];
	*item = (struct seam_item){
		.size_bytes = rest == 0 ? size_bytes : size_bytes + (problem->align_bytes - rest),
		.fixed_bytes = SEAM__ADDRESS_ANY,
		.begin = begin,
		.span = span,
		.request = number,
		.next = SEAM__ITEM_NONE,
	};
	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
		problem->holds[(size_t)number * problem->streams + s] = span;
	problem->count = number + 1;
	return item;
}

/* For how many positions item `i` is held from everybody: what is so held at one position conflicts in pairs. */
static uint32_t sure_span(const struct seam_problem *problem, uint32_t i)
{
	uint32_t least = problem->items[i].span;

	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) < least)
			least = seam__problem_hold(problem, i, s);
	return least;
}

uint32_t seam__problem_longest_hold(const struct seam_problem *problem, uint32_t i)
{
	uint32_t longest = problem->items[i].span;

	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++) {
		uint32_t hold = seam__problem_hold(problem, i, s);

		longest = hold > longest ? hold : longest;
	}
	return longest < problem->circle ? longest : problem->circle;
}

void seam__problem_live(const struct seam_problem *problem, uint64_t *ret_live)
{
	uint64_t around = 0; /* of items that are live at position 0 because they cross the end, or all around */

	for (uint32_t t = 0; t < problem->circle; t++)
		ret_live[t] = 0;
	/* Differences first, in wrapping arithmetic; then their running sum. */
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];
		uint64_t end = (uint64_t)item->begin + sure_span(problem, i);

		ret_live[item->begin] += item->size_bytes;
		if (end < problem->circle) {
			ret_live[end] -= item->size_bytes;
		} else if (end > problem->circle) {
			around += item->size_bytes;
			ret_live[end - problem->circle] -= item->size_bytes;
		}
	}
	for (uint32_t t = 0; t < problem->circle; t++) {
		around += ret_live[t];
		ret_live[t] = around;
	}
}

enum seam_rc seam__problem_max_live(const struct seam_problem *problem, uint64_t *ret_bytes)
{
	uint64_t *live;
	uint64_t most = 0;

	if (problem->circle > 0) {
		live = seam__meta_array(problem->meta, problem->circle, sizeof(*live));
		if (live == NULL)
			return SEAM_OOM_META;
		seam__problem_live(problem, live);
		for (uint32_t t = 0; t < problem->circle; t++)
			most = live[t] > most ? live[t] : most;
		seam__meta_free(problem->meta, live, (size_t)problem->circle * sizeof(*live));
	}
	*ret_bytes = most;
	return SEAM_OK;
}

enum seam_rc seam__problem_finish(struct seam_problem *problem)
{
	uint64_t lower = 0;
	enum seam_rc rc = seam__problem_max_live(problem, &lower);

	if (rc != SEAM_OK)
		return rc;
	/* What has its address is part of every placement. */
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (item->fixed_bytes != SEAM__ADDRESS_ANY && item->fixed_bytes + item->size_bytes > lower)
			lower = item->fixed_bytes + item->size_bytes;
	}
	problem->lower_bytes = lower;
	return SEAM_OK;
}
