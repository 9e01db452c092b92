/* gather.c: which free chunks would serve a request that no single free block serves (GMLake section 3.3, state S3).
 *
 * A pure function of the free extents. Rejected: the largest extents first, as GMLake has it: it breaks up exactly
 * those extents that serve the next large request in one piece (4 to 10 times more mappings on our traces). Rejected
 * too: a last chunk that is merely at hand rather than the smallest that will do: where chunks differ in size, equal
 * iterations then do not choose alike.
 */
#include <string.h>

#include "change.h"
#include "check.h"
#include "meta.h"

/* Chunks of small views come last for large requests, and the reverse: whoever borrows pins a chunk of the other's
 * kind. */
static const enum seam_class order[SEAM_CLASS_COUNT][SEAM_CLASS_COUNT] = {
	[SEAM_CLASS_SMALL] = {SEAM_CLASS_SMALL, SEAM_CLASS_LARGE, SEAM_CLASS_CONTIGUOUS},
	[SEAM_CLASS_LARGE] = {SEAM_CLASS_LARGE, SEAM_CLASS_CONTIGUOUS, SEAM_CLASS_SMALL},
	[SEAM_CLASS_CONTIGUOUS] = {SEAM_CLASS_CONTIGUOUS, SEAM_CLASS_LARGE, SEAM_CLASS_SMALL},
};

void seam__gathered_fini(struct seam_engine *engine, struct seam_gathered *gathered)
{
	seam__meta_free(engine->meta, gathered->chunks, gathered->capacity * sizeof *gathered->chunks);
	seam__meta_free(engine->meta, gathered->mappings, gathered->capacity * sizeof *gathered->mappings);
	*gathered = (struct seam_gathered){0};
}

static enum seam_rc add(struct seam_engine *engine, struct seam_gathered *gathered, struct seam_chunk *chunk)
{
	if (gathered->count == gathered->capacity) {
		uint32_t capacity = gathered->capacity == 0 ? 64 : gathered->capacity * 2;
		size_t old_bytes = gathered->capacity * sizeof *gathered->chunks;
		struct seam_mapping **mappings = seam__meta_array(engine->meta, capacity, sizeof *mappings);
		if (mappings == NULL)
			return SEAM_OOM_META;
		struct seam_chunk **chunks =
			seam__meta_resize(engine->meta, gathered->chunks, old_bytes, capacity * sizeof *chunks);
		if (chunks == NULL) {
			seam__meta_free(engine->meta, mappings, capacity * sizeof *mappings);
			return SEAM_OOM_META;
		}
		seam__meta_free(engine->meta, gathered->mappings, old_bytes);
		gathered->chunks = chunks;
		gathered->mappings = mappings;
		gathered->capacity = capacity;
	}
	gathered->chunks[gathered->count++] = chunk;
	gathered->bytes += chunk->bytes;
	return SEAM_OK;
}

/* The extents of one class that the stream may use, its own and everybody's, as one ascending sequence: what belongs to
 * which is no matter of choice. */
struct sequence {
	const struct seam_usable *usable;
	struct seam_extents *own, *any;
};

static struct sequence sequence_of(const struct seam_usable *usable, struct seam_ppool *ppool)
{
	return (struct sequence){usable, &seam__ppool_fit(ppool, usable->ask->stream)->extents, &ppool->any.extents};
}

static struct seam_block *earlier(struct seam_block *a, struct seam_block *b)
{
	if (a == NULL || b == NULL)
		return a != NULL ? a : b;
	return seam__block_compare(a, b) < 0 ? a : b;
}

/* The first usable one behind `extent` (NULL: of all). */
static struct seam_block *next_extent(const struct sequence *sequence, struct seam_block *extent)
{
	uint64_t least_bytes = sequence->usable->least_bytes;
	if (extent == NULL)
		extent = earlier(
			seam__extents_find(sequence->own, least_bytes), seam__extents_find(sequence->any, least_bytes));
	else
		extent = earlier(
			seam__extents_behind(sequence->own, extent), seam__extents_behind(sequence->any, extent));
	while (extent != NULL && !seam__is_usable(sequence->usable, extent))
		extent = earlier(
			seam__extents_behind(sequence->own, extent), seam__extents_behind(sequence->any, extent));
	return extent;
}

/* The first chunk of a size class that covers `left_bytes`, in the extent from its slot `slot` on. */
static struct seam_chunk *chunk_in(
	const struct seam_block *extent, uint32_t slot, unsigned size_class, uint64_t left_bytes)
{
	for (; slot < extent->first_slot + extent->slot_count; slot++) {
		const struct seam_slot *at = &extent->view->slots[slot];
		if (at->bytes >= left_bytes && seam__extent_size_class(at->bytes) == size_class)
			return at->mapping->chunk;
	}
	return NULL;
}

/* The first such chunk in the sequence, from slot `slot` of `extent` on. NULL: there is none. */
static struct seam_chunk *chunk_from(const struct sequence *sequence, struct seam_block *extent, uint32_t slot,
	unsigned size_class, uint64_t left_bytes)
{
	struct seam_chunk *chunk = chunk_in(extent, slot, size_class, left_bytes);
	while (chunk == NULL) {
		extent = earlier(seam__extents_with(sequence->own, extent, size_class),
			seam__extents_with(sequence->any, extent, size_class));
		if (extent == NULL)
			return NULL;
		if (!seam__is_usable(sequence->usable, extent))
			continue;
		chunk = chunk_in(extent, extent->first_slot, size_class, left_bytes);
		if (chunk == NULL)
			seam__extent_tighten(extent);
	}
	return chunk;
}

/* The smallest chunk that covers `left_bytes`, from slot `slot` of `extent` on, whose own chunk does. */
static struct seam_chunk *finisher(
	const struct sequence *sequence, struct seam_block *extent, uint32_t slot, uint64_t left_bytes)
{
	struct seam_chunk *chunk = extent->view->slots[slot].mapping->chunk;
	unsigned last = seam__extent_size_class(chunk->bytes);
	uint64_t sizes = seam__extents_sizes(sequence->own) | seam__extents_sizes(sequence->any);
	for (unsigned class = seam__extent_size_class(left_bytes); class < last; class ++) {
		struct seam_chunk *smaller = NULL;
		if ((sizes >> class & 1) != 0)
			smaller = chunk_from(sequence, extent, slot, class, left_bytes);
		if (smaller != NULL)
			return smaller;
	}
	return chunk;
}

/* The finisher may have made smaller ones before it superfluous. */
static void drop_spare(struct seam_gathered *gathered, uint64_t need_bytes)
{
	uint64_t spare = gathered->bytes - need_bytes;
	for (uint32_t i = gathered->count; spare > 0 && i-- > 0;) {
		uint64_t bytes = gathered->chunks[i]->bytes;
		if (bytes > spare)
			continue;
		spare -= bytes;
		gathered->bytes -= bytes;
		gathered->count--;
		memmove(&gathered->chunks[i], &gathered->chunks[i + 1],
			(gathered->count - i) * sizeof *gathered->chunks);
	}
}

/* Adds chunks of one class until they cover the need, or all. */
static enum seam_rc add_class(struct seam_engine *engine, const struct seam_usable *usable, struct seam_ppool *ppool,
	struct seam_gathered *gathered)
{
	struct sequence sequence = sequence_of(usable, ppool);
	uint64_t need_bytes = usable->ask->bytes;
	struct seam_block *extent = NULL;
	while (gathered->bytes < need_bytes && (extent = next_extent(&sequence, extent)) != NULL) {
		for (uint32_t i = extent->first_slot; i < extent->first_slot + extent->slot_count; i++) {
			struct seam_chunk *chunk = extent->view->slots[i].mapping->chunk;
			uint64_t left_bytes = need_bytes - gathered->bytes;
			if (chunk->bytes >= left_bytes)
				chunk = finisher(&sequence, extent, i, left_bytes);
			enum seam_rc rc = add(engine, gathered, chunk);
			if (rc != SEAM_OK)
				return rc;
			if (gathered->bytes >= need_bytes)
				break;
		}
	}
	return SEAM_OK;
}

uint64_t seam__gather_bytes(
	const struct seam_engine *engine, const struct seam_ask *ask, bool all, struct seam_usable *ret_usable)
{
	struct seam_usable usable = {.ask = ask, .least_bytes = all ? 0 : engine->policy.fragmentation_limit_bytes};
	uint64_t bytes = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT && bytes < ask->bytes; i++) {
		struct seam_ppool *ppool = &ask->group->classes[order[ask->class][i]];
		struct seam_fit *own = seam__ppool_fit(ppool, ask->stream), *any = &ppool->any;
		seam__fit_index(own);
		seam__fit_index(any);
		bytes += all ? own->extents.whole_bytes : own->extents.long_bytes;
		bytes += all ? any->extents.whole_bytes : any->extents.long_bytes;
		usable.classes |= 1u << ppool->class;
	}
	*ret_usable = usable;
	return bytes;
}

enum seam_rc seam__gather(struct seam_engine *engine, const struct seam_usable *usable, struct seam_gathered *gathered)
{
	const struct seam_ask *ask = usable->ask;
	gathered->count = 0;
	gathered->bytes = 0;
	for (int i = 0; i < SEAM_CLASS_COUNT && gathered->bytes < ask->bytes; i++) {
		enum seam_rc rc = add_class(engine, usable, &ask->group->classes[order[ask->class][i]], gathered);
		if (rc != SEAM_OK)
			return rc;
	}
	SEAM_ASSERT(gathered->bytes >= ask->bytes);
	drop_spare(gathered, ask->bytes);
	return SEAM_OK;
}
