/* addresses.c: see addresses.h. */
#include "addresses.h"

#include <string.h>

#include "bits.h"
#include "region.h"

#define BLOCK_STRETCHES UINT32_C(4096) /* 64 KiB; a longer run has a block of its own */
#define ROOM_FIRST UINT32_C(2)

struct seam_address_block {
	struct seam_address_block *next;
	size_t room;
	size_t used;
	struct seam_address_stretch stretches[];
};

void seam__address_heap_init(struct seam_address_heap *heap, struct seam_region *region)
{
	*heap = (struct seam_address_heap){.region = region};
}

void seam__address_heap_clear(struct seam_address_heap *heap)
{
	for (struct seam_address_block *block = heap->first; block != NULL; block = block->next)
		block->used = 0;
	memset(heap->freed, 0, sizeof(heap->freed));
	heap->at = heap->first;
}

static struct seam_address_stretch *take(struct seam_address_heap *heap, uint32_t room)
{
	void **freed = &heap->freed[seam__bits_log2(room)];

	if (*freed != NULL) {
		void *run = *freed;

		memcpy(freed, run, sizeof(void *));
		return run;
	}
	for (; heap->at != NULL; heap->at = heap->at->next) {
		if (heap->at->room - heap->at->used >= room) {
			heap->at->used += room;
			return heap->at->stretches + heap->at->used - room;
		}
	}
	size_t wanted = room > BLOCK_STRETCHES ? room : BLOCK_STRETCHES;
	struct seam_address_block *block =
		seam__region_array(heap->region, 1, sizeof(*block) + wanted * sizeof(*block->stretches));
	if (block == NULL) {
		heap->at = heap->last;
		return NULL;
	}
	block->room = wanted;
	block->used = room;
	if (heap->last == NULL)
		heap->first = block;
	else
		heap->last->next = block;
	heap->last = block;
	heap->at = block;
	return block->stretches;
}

static void give(struct seam_address_heap *heap, struct seam_address_stretch *run, uint32_t room)
{
	void **freed = &heap->freed[seam__bits_log2(room)];

	memcpy(run, freed, sizeof(void *));
	*freed = run;
}

static enum seam_rc make_room(struct seam_addresses *set, struct seam_address_heap *heap)
{
	uint32_t room = set->room == 0 ? ROOM_FIRST : set->room * 2;
	struct seam_address_stretch *run = take(heap, room);

	if (run == NULL)
		return SEAM_OOM_META;
	if (set->room > 0) {
		memcpy(run, set->stretches, set->count * sizeof(*run));
		give(heap, set->stretches, set->room);
	}
	set->stretches = run;
	set->room = room;
	return SEAM_OK;
}

enum seam_rc seam__addresses_add(
	struct seam_addresses *set, struct seam_address_heap *heap, uint64_t begin_bytes, uint64_t end_bytes)
{
	uint32_t first = 0; /* of the stretches that end at begin or above, */
	uint32_t end;       /* up to the first that begins above the end: these are joined */

	if (begin_bytes > 0)
		first = seam__addresses_find(set, 0, begin_bytes - 1);
	for (end = first; end < set->count && set->stretches[end].begin_bytes <= end_bytes; end++)
		;
	if (end == first) {
		if (set->count == set->room) {
			enum seam_rc rc = make_room(set, heap);

			if (rc != SEAM_OK)
				return rc;
		}
		memmove(set->stretches + first + 1, set->stretches + first,
			(set->count - first) * sizeof(*set->stretches));
		set->stretches[first] =
			(struct seam_address_stretch){.begin_bytes = begin_bytes, .end_bytes = end_bytes};
		set->count++;
		return SEAM_OK;
	}
	if (set->stretches[end - 1].end_bytes > end_bytes)
		end_bytes = set->stretches[end - 1].end_bytes;
	if (begin_bytes < set->stretches[first].begin_bytes)
		set->stretches[first].begin_bytes = begin_bytes;
	set->stretches[first].end_bytes = end_bytes;
	if (end > first + 1) {
		memmove(set->stretches + first + 1, set->stretches + end, (set->count - end) * sizeof(*set->stretches));
		set->count -= end - first - 1;
	}
	return SEAM_OK;
}

uint32_t seam__addresses_find(const struct seam_addresses *set, uint32_t from, uint64_t address_bytes)
{
	uint32_t step = 1;
	uint32_t low = from;
	uint32_t high = from;

	/* Doubling steps first: what is asked for is mostly near. */
	while (high < set->count && set->stretches[high].end_bytes <= address_bytes) {
		low = high + 1;
		high += step;
		step *= 2;
	}
	if (high > set->count)
		high = set->count;
	SEAM__BITS_BISECT(low, high, middle, set->stretches[middle].end_bytes <= address_bytes)
	return low;
}

const char *seam__addresses_check(const struct seam_addresses *set)
{
	if (set->count > set->room)
		return "AD3 room";
	for (uint32_t i = 0; i < set->count; i++) {
		if (set->stretches[i].begin_bytes >= set->stretches[i].end_bytes)
			return "AD1 empty stretch";
		if (i > 0 && set->stretches[i].begin_bytes <= set->stretches[i - 1].end_bytes)
			return "AD2 stretches touch";
	}
	return NULL;
}
