/* loose.h: blocks that stay or go, of which nobody knows yet whose end is whose free: by size and stream, in order.
 *
 * Not here: which of them belong together (pairing.h, lib/plan/iterations/aligned_requests.h). Pure. No locks.
 */
#ifndef SEAM_LOOSE_H
#define SEAM_LOOSE_H

#include <stdlib.h>

#include "bits.h"
#include "request.h"

struct seam_loose {
	uint64_t size_bytes; /* 0 where sizes do not matter */
	uint32_t stream;
	uint32_t number; /* the caller's: equal ones stand in order of it */
	uint32_t born;   /* likewise, for other orders */
};

static inline enum seam_rc seam__loose_add(
	struct seam_grow *list, const struct seam_traced_request *request, uint32_t number, uint32_t born)
{
	const struct seam_loose loose = {request->dynamic ? 0 : request->size_bytes, request->stream, number, born};
	return seam__grow_append(list, &loose, 1);
}

/* By size and stream: what may belong together is equal. */
static inline int seam__loose_compare(const struct seam_loose *a, const struct seam_loose *b)
{
	const int order = seam__bits_compare(a->size_bytes, b->size_bytes);
	return order != 0 ? order : seam__bits_compare(a->stream, b->stream);
}

static inline int seam__loose_compare_all(const void *left, const void *right)
{
	const struct seam_loose *a = left, *b = right;
	const int order = seam__loose_compare(a, b);
	return order != 0 ? order : seam__bits_compare(a->number, b->number);
}

static inline void seam__loose_sort(struct seam_grow *list)
{
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(struct seam_loose), seam__loose_compare_all);
}

#endif
