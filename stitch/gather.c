/* gather.c: which free chunks would serve a request that no single free block serves (GMLake section 3.3, state S3).
 *
 * A pure function of the free blocks. Rejected: the largest extents first, as GMLake has it: it breaks up exactly those extents that
 * serve the next large request in one piece (4 to 10 times more mappings on our traces).
 */
#include <string.h>

#include "change.h"
#include "check.h"
#include "meta.h"

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

/* The chunks of one free block of a home view, from its start. */
static enum seam_rc add_block(struct seam_engine *engine, struct seam_gathered *gathered, struct seam_block *block,
                              uint64_t least_bytes)
{
	const struct seam_view *view = block->view;
	uint32_t first = 0, count = seam__block_whole_slots(view, block->offset, block->bytes, &first);
	if (count == 0)
		return SEAM_OK;
	const struct seam_slot *last = &view->slots[first + count - 1];
	if (last->offset + last->bytes - view->slots[first].offset < least_bytes)
		return SEAM_OK;
	for (uint32_t i = first; i < first + count; i++) {
		struct seam_chunk *chunk = view->slots[i].mapping->chunk;
		chunk->mark = engine->memory.mark_round;
		chunk->free_in = block;
		enum seam_rc rc = add(engine, gathered, chunk);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* The two fits that the stream may use, as one ascending sequence: what belongs to which is no matter of choice. */
static enum seam_rc add_class(struct seam_engine *engine, const struct seam_ask *ask, struct seam_ppool *ppool,
                              uint64_t least_bytes, struct seam_gathered *gathered)
{
	struct seam_fit *own = seam__ppool_fit(ppool, ask->stream);
	struct seam_block *a = seam__fit_find(own, engine->memory.granularity_bytes);
	struct seam_block *b = seam__fit_find(&ppool->any, engine->memory.granularity_bytes);
	while (a != NULL || b != NULL) {
		bool from_a = b == NULL || (a != NULL && seam__fit_compare(a, b) < 0);
		struct seam_block *block = from_a ? a : b;
		if (!block->view->stitched) {
			enum seam_rc rc = add_block(engine, gathered, block, least_bytes);
			if (rc != SEAM_OK)
				return rc;
		}
		if (from_a)
			a = seam__fit_next(own, a);
		else
			b = seam__fit_next(&ppool->any, b);
	}
	return SEAM_OK;
}

enum seam_rc seam__gather(struct seam_engine *engine, const struct seam_ask *ask, uint64_t need_bytes, bool all,
                          struct seam_gathered *gathered)
{
	/* Chunks of small views come last for large requests, and the reverse: whoever borrows pins a chunk of the other's kind. */
	static const enum seam_class order[SEAM_CLASS_COUNT][SEAM_CLASS_COUNT] = {
		[SEAM_CLASS_SMALL] = {SEAM_CLASS_SMALL, SEAM_CLASS_LARGE, SEAM_CLASS_CONTIGUOUS},
		[SEAM_CLASS_LARGE] = {SEAM_CLASS_LARGE, SEAM_CLASS_CONTIGUOUS, SEAM_CLASS_SMALL},
		[SEAM_CLASS_CONTIGUOUS] = {SEAM_CLASS_CONTIGUOUS, SEAM_CLASS_LARGE, SEAM_CLASS_SMALL},
	};
	uint64_t least_bytes = all ? 0 : engine->policy.fragmentation_limit_bytes;
	gathered->count = 0;
	gathered->bytes = 0;
	seam__memory_round(&engine->memory);
	for (int i = 0; i < SEAM_CLASS_COUNT && gathered->bytes < need_bytes; i++) {
		struct seam_ppool *ppool = &ask->group->classes[order[ask->class][i]];
		enum seam_rc rc = add_class(engine, ask, ppool, least_bytes, gathered);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* The smallest chunk from `from` on that alone covers `left_bytes`. There is one. */
static uint32_t finisher(const struct seam_gathered *gathered, uint32_t from, uint64_t left_bytes)
{
	uint32_t best = from;
	for (uint32_t i = from + 1; i < gathered->count; i++) {
		uint64_t bytes = gathered->chunks[i]->bytes;
		if (bytes >= left_bytes && bytes < gathered->chunks[best]->bytes)
			best = i;
	}
	return best;
}

bool seam__gather_choose(struct seam_gathered *gathered, uint64_t need_bytes)
{
	if (gathered->bytes < need_bytes)
		return false;
	uint64_t covered = 0;
	uint32_t count = 0;
	while (covered < need_bytes) {
		struct seam_chunk *chunk = gathered->chunks[count];
		if (chunk->bytes >= need_bytes - covered) {
			uint32_t best = finisher(gathered, count, need_bytes - covered);
			gathered->chunks[count] = gathered->chunks[best];
			covered += gathered->chunks[count++]->bytes;
			break;
		}
		covered += chunk->bytes;
		count++;
	}
	/* The finisher may have made smaller ones before it superfluous. */
	uint64_t spare = covered - need_bytes;
	uint32_t kept = count;
	for (uint32_t i = count; i-- > 0;) {
		uint64_t bytes = gathered->chunks[i]->bytes;
		if (bytes > spare)
			continue;
		spare -= bytes;
		covered -= bytes;
		memmove(&gathered->chunks[i], &gathered->chunks[i + 1], (kept - i - 1) * sizeof *gathered->chunks);
		kept--;
	}
	gathered->count = kept;
	gathered->bytes = covered;
	return true;
}
