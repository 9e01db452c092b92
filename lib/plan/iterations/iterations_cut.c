/* iterations_cut.c: see iterations_cut.h. Iterations without marks stand in iterations_cut_candidates.c. */
#include "iterations_cut.h"

#include <string.h>

#define ENOUGH 3u /* stretches: with fewer one is looked for that has no mark before it */

enum seam_rc seam__cut_before(
	const struct seam_sequences *sequences, const struct seam_thread_stretch *first, struct seam_grow *stretches)
{
	uint32_t count = seam__stretch_count(first);
	struct seam_thread_stretch made = *first;

	if (count == 0 || count > first->first_request)
		return SEAM_OK;
	made.last_event = first->first_event;
	made.last_request = first->first_request;
	made.first_request = first->first_request - count;
	made.first_event = seam__request_at(sequences->requests, made.first_request)->alloc;
	enum seam_rc rc = seam__grow_append(stretches, &made, 1);
	if (rc != SEAM_OK)
		return rc;
	struct seam_thread_stretch *items = stretches->items;
	memmove(items + 1, items, (stretches->count - 1) * sizeof(*items));
	items[0] = made;
	return SEAM_OK;
}

enum seam_rc seam__cut_marks(const struct seam_sequences *sequences, struct seam_grow *ret_stretches, bool *ret_marked)
{
	uint32_t first = 0;
	bool marked = false;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = 0; rc == SEAM_OK && e < sequences->trace->header.event_count; e++) {
		if (sequences->trace->events[e].kind != SEAM_TRACE_STEP)
			continue;
		struct seam_thread_stretch stretch = seam__sequences_stretch(sequences, first, e + 1);
		stretch.marked = true;
		if (marked)
			rc = seam__grow_append(ret_stretches, &stretch, 1);
		first = e + 1;
		marked = true;
	}
	if (rc == SEAM_OK && ret_stretches->count > 0 && ret_stretches->count < ENOUGH) {
		const struct seam_thread_stretch front = *(const struct seam_thread_stretch *)ret_stretches->items;

		rc = seam__cut_before(sequences, &front, ret_stretches);
	}
	if (rc == SEAM_OK)
		*ret_marked = marked;
	return rc;
}
