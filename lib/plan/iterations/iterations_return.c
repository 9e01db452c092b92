/* iterations_return.c: see iterations_return.h. */
#include "iterations_return.h"

#include <stdlib.h>

/* A block that comes or goes. */
struct crossing {
	uint64_t key;
	uint64_t size_bytes;
	int32_t change; /* +1: it stays behind the stretch; -1: of before, it goes in it */
};

static int compare(const void *left, const void *right)
{
	const struct crossing *a = left;
	const struct crossing *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

static enum seam_rc list(
	const struct seam_sequences *sequences, const struct seam_thread_stretch *stretch, struct seam_grow *crossings)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t e = stretch->first_event; rc == SEAM_OK && e < stretch->last_event; e++) {
		uint32_t number = seam__request_of(sequences->requests, e);
		struct crossing crossing;

		if (number == SEAM__REQUEST_NONE)
			continue;
		const struct seam_traced_request *request = seam__request_at(sequences->requests, number);
		crossing = (struct crossing){.key = sequences->keys[number],
			.size_bytes = request->size_bytes,
			.change = request->alloc == e ? 1 : -1};
		if (request->dynamic || (request->alloc == e && request->free < stretch->last_event) ||
			(request->free == e && request->alloc >= stretch->first_event) ||
			(request->alloc != e && request->free != e))
			continue;
		rc = seam__grow_append(crossings, &crossing, 1);
	}
	return rc;
}

static struct seam_change sum_up(const struct seam_grow *crossings)
{
	const struct crossing *items = crossings->items;
	struct seam_change change = {.hash = 0};
	size_t behind;

	for (size_t first = 0; first < crossings->count; first = behind) {
		int64_t sum = 0;

		for (behind = first; behind < crossings->count && items[behind].key == items[first].key; behind++)
			sum += items[behind].change;
		change.hash += items[first].key * (uint64_t)sum;
		change.more += sum;
		change.blocks += (uint32_t)(sum < 0 ? -sum : sum);
		change.bytes += items[first].size_bytes * (uint64_t)(sum < 0 ? -sum : sum);
	}
	return change;
}

enum seam_rc seam__change_of(const struct seam_sequences *sequences, const struct seam_thread_stretch *stretch,
	struct seam_change *ret_change)
{
	struct seam_grow crossings;

	seam__grow_init(&crossings, sizeof(struct crossing));
	enum seam_rc rc = list(sequences, stretch, &crossings);
	if (rc == SEAM_OK && crossings.count > 0)
		qsort(crossings.items, crossings.count, sizeof(struct crossing), compare);
	if (rc == SEAM_OK)
		*ret_change = sum_up(&crossings);
	seam__grow_fini(&crossings);
	return rc;
}
