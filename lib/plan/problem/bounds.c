/* bounds.c: see bounds.h. */
#include "bounds.h"

#include "region.h"

/* Union-find with halved paths. */
static uint32_t root(uint32_t *parents, uint32_t stream)
{
	while (parents[stream] != stream) {
		parents[stream] = parents[parents[stream]];
		stream = parents[stream];
	}
	return stream;
}

/* May a request of stream `s` have the memory of item `i` some day? */
static bool gives(const struct seam_problem *problem, uint32_t i, uint32_t s)
{
	uint32_t before = problem->linear ? problem->items[i].begin : 0;

	return seam__problem_hold(problem, i, s) < problem->circle - before;
}

uint32_t seam__bounds_sets(const struct seam_problem *problem, uint32_t *ret_sets)
{
	uint32_t *parents = ret_sets;
	uint32_t count = 0;

	for (uint32_t s = 0; s < problem->streams; s++)
		parents[s] = s;
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		for (uint32_t s = 0; s < problem->streams; s++)
			if (gives(problem, i, s))
				parents[root(parents, s)] = root(parents, item->stream);
		if (item->next != SEAM__ITEM_NONE)
			parents[root(parents, problem->items[item->next].stream)] = root(parents, item->stream);
	}
	for (uint32_t s = 0; s < problem->streams; s++)
		parents[s] = root(parents, s);
	/* Roots get their numbers, above all streams, then the others those of their roots. */
	for (uint32_t s = 0; s < problem->streams; s++)
		if (parents[s] == s)
			parents[s] = problem->streams + count++;
	for (uint32_t s = 0; s < problem->streams; s++)
		if (parents[s] < problem->streams)
			parents[s] = parents[parents[s]];
	for (uint32_t s = 0; s < problem->streams; s++)
		ret_sets[s] -= problem->streams;
	return count;
}

/* For how many positions item `i` is held from everybody of its set: what is so held at one position conflicts in
 * pairs. */
static uint32_t sure_span(const struct seam_problem *problem, const uint32_t *sets, uint32_t i)
{
	uint32_t least = problem->items[i].span;

	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) < least && sets[s] == sets[problem->items[i].stream])
			least = seam__problem_hold(problem, i, s);
	return least;
}

/* The most live at once among the items of one set. */
static uint64_t set_live(const struct seam_problem *problem, const uint32_t *sets, uint32_t set, uint64_t *changes)
{
	uint64_t live = 0;
	uint64_t most = 0;

	for (uint32_t t = 0; t < problem->circle; t++)
		changes[t] = 0;
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];

		if (sets[item->stream] != set)
			continue;
		uint64_t end = (uint64_t)item->begin + sure_span(problem, sets, i);
		changes[item->begin] += item->size_bytes;
		if (end > problem->circle)
			live += item->size_bytes;
		if (end != problem->circle)
			changes[end > problem->circle ? end - problem->circle : end] -= item->size_bytes;
	}
	for (uint32_t t = 0; t < problem->circle; t++) {
		live += changes[t];
		most = live > most ? live : most;
	}
	return most;
}

enum seam_rc seam__bounds_apart(const struct seam_problem *problem, uint64_t *ret_bytes)
{
	const void *mark = seam__region_mark(problem->region);
	uint32_t *sets = seam__region_array(problem->region, problem->streams, sizeof(*sets));
	uint64_t *changes = seam__region_array(problem->region, problem->circle, sizeof(*changes));
	enum seam_rc rc = sets != NULL && changes != NULL ? SEAM_OK : SEAM_OOM_META;
	uint32_t count = rc == SEAM_OK ? seam__bounds_sets(problem, sets) : 0;
	uint64_t sum = 0;

	for (uint32_t set = 0; set < count; set++)
		sum += set_live(problem, sets, set, changes);
	seam__region_release(problem->region, mark);
	*ret_bytes = sum;
	return rc;
}
