/* bounds.c: see bounds.h. */
#include "bounds.h"

#include "meta.h"

/* The set of a stream: union-find with halved paths. */
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

/* Streams are of one set when an item of one gives its memory to the other. */
static void join_streams(const struct seam_problem *problem, uint32_t *parents)
{
	for (uint32_t s = 0; s < problem->streams; s++)
		parents[s] = s;
	for (uint32_t i = 0; i < problem->count; i++)
		for (uint32_t s = 0; s < problem->streams; s++)
			if (gives(problem, i, s))
				parents[root(parents, s)] = root(parents, problem->items[i].stream);
}

/* For how many positions item `i` is held from everybody of its set: what is so held at one position conflicts in
 * pairs. */
static uint32_t sure_span(const struct seam_problem *problem, uint32_t *parents, uint32_t set, uint32_t i)
{
	uint32_t least = problem->items[i].span;

	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) < least && root(parents, s) == set)
			least = seam__problem_hold(problem, i, s);
	return least;
}

/* The most live at once among the items of one set; *ret_any: whether there are any. */
static uint64_t set_live(
	const struct seam_problem *problem, uint32_t *parents, uint32_t set, uint64_t *changes, bool *ret_any)
{
	uint64_t live = 0;
	uint64_t most = 0;

	for (uint32_t t = 0; t < problem->circle; t++)
		changes[t] = 0;
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];
		uint64_t end;

		if (root(parents, item->stream) != set)
			continue;
		end = (uint64_t)item->begin + sure_span(problem, parents, set, i);
		*ret_any = true;
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

static void add_sets(
	const struct seam_problem *problem, uint32_t *parents, uint64_t *changes, struct seam_bounds *bounds)
{
	for (uint32_t s = 0; s < problem->streams; s++) {
		bool any = false;

		if (root(parents, s) != s)
			continue;
		bounds->apart_bytes += set_live(problem, parents, s, changes, &any);
		bounds->sets += any;
	}
}

enum seam_rc seam__bounds_init(const struct seam_problem *problem, uint64_t chunk_bytes, struct seam_bounds *ret_bounds)
{
	struct seam_bounds bounds = {.live_bytes = 0};
	uint32_t *parents = seam__meta_array(problem->meta, problem->streams, sizeof(*parents));
	uint64_t *changes = seam__meta_array(problem->meta, (size_t)problem->circle + 1, sizeof(*changes));
	enum seam_rc rc = SEAM_OOM_META;

	if (parents != NULL && changes != NULL) {
		rc = seam__problem_max_live(problem, &bounds.live_bytes);
		join_streams(problem, parents);
		add_sets(problem, parents, changes, &bounds);
		bounds.chunks = bounds.apart_bytes / chunk_bytes + (bounds.apart_bytes % chunk_bytes != 0);
	}
	seam__meta_free(problem->meta, changes, ((size_t)problem->circle + 1) * sizeof(*changes));
	seam__meta_free(problem->meta, parents, problem->streams * sizeof(*parents));
	if (rc == SEAM_OK)
		*ret_bounds = bounds;
	return rc;
}
