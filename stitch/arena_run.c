/* arena_run.c: where the chunks of an arena are, what is leased in them, and the check of it; see arena.h. */
#include "arena_impl.h"
#include "bits.h"
#include "check.h"

/* Where the chunk's owner maps it. NULL: it is in transit. */
static const struct seam_mapping *owner_mapping(const struct seam_chunk *chunk)
{
	if (chunk->owner == NULL)
		return NULL;
	if (chunk->owner == chunk->home)
		return chunk->home->slots[chunk->home_slot].mapping;
	const struct seam_mapping *mapping;
	LIST_FOREACH(mapping, &chunk->mappings, of_chunk)
	{
		if (mapping->view == chunk->owner)
			break;
	}
	return mapping;
}

/* Whether the arena may have leases in the chunk, and none other has. */
static bool is_open_to(const struct seam_arena *arena, const struct seam_chunk *chunk)
{
	return chunk != NULL && chunk->owner != NULL && (chunk->leased == NULL || chunk->leased->lessee == arena->view);
}

bool seam__arena_next_run(const struct seam_arena *arena, uint32_t *i, uint32_t end, struct seam_arena_run *ret_run)
{
	end = end < arena->mapped ? end : arena->mapped;
	while (*i < end && !is_open_to(arena, arena->chunks[*i].chunk))
		(*i)++;
	if (*i >= end)
		return false;
	const struct seam_mapping *first = owner_mapping(arena->chunks[*i].chunk);
	struct seam_view *view = first->view;
	uint32_t start = *i, slot = first->slot, count = 1;
	while (start + count < end && slot + count < view->slot_count) {
		const struct seam_chunk *chunk = arena->chunks[start + count].chunk;
		const struct seam_mapping *mapping = view->slots[slot + count].mapping;
		if (!is_open_to(arena, chunk) || chunk->owner != view || mapping == NULL || mapping->chunk != chunk)
			break;
		count++;
	}
	const struct seam_slot *last = &view->slots[slot + count - 1];
	*i = start + count;
	*ret_run = (struct seam_arena_run){
		.view = view,
		.slot = slot,
		.first = start,
		.count = count,
		.begin = view->slots[slot].offset,
		.end = last->offset + last->bytes,
	};
	return true;
}

struct seam_block *seam__arena_lease_from(
	const struct seam_arena *arena, const struct seam_arena_run *run, struct seam_block *block)
{
	while (block != NULL && block->offset < run->end &&
		(block->is != SEAM_IS_LEASED || block->lessee != arena->view))
		block = TAILQ_NEXT(block, link);
	return block != NULL && block->offset < run->end ? block : NULL;
}

struct seam_block *seam__arena_first_lease(const struct seam_arena *arena, const struct seam_arena_run *run)
{
	for (uint32_t i = run->first; i < run->first + run->count; i++) {
		if (arena->chunks[i].leased_bytes != 0)
			return arena->chunks[i].chunk->leased;
	}
	return NULL;
}

uint32_t seam__arena_chunk_at(const struct seam_arena *arena, uint64_t offset)
{
	uint32_t low = 0, high = arena->count;
	SEAM_ASSERT(offset < arena->bytes);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (arena->chunks[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The gap before `begin`, as far as it lies in the range. `*at` is behind what is known. */
static void show_gap(
	uint64_t *at, uint64_t begin, uint64_t end, void (*gap)(void *user, uint64_t begin, uint64_t end), void *user)
{
	if (begin > *at)
		gap(user, *at, begin);
	*at = seam__bits_max(*at, end);
}

void seam__arena_gaps(const struct seam_arena *arena, uint64_t begin, uint64_t end,
	void (*gap)(void *user, uint64_t begin, uint64_t end), void *user)
{
	uint64_t at = begin;
	uint32_t i = begin < arena->bytes ? seam__arena_chunk_at(arena, begin) : arena->count;
	uint32_t behind = end != 0 && end <= arena->bytes ? seam__arena_chunk_at(arena, end - 1) + 1 : arena->count;
	struct seam_arena_run run;
	while (at < end && seam__arena_next_run(arena, &i, behind, &run)) {
		struct seam_block *block = seam__arena_first_lease(arena, &run);
		for (; block != NULL && at < end;
			block = seam__arena_lease_from(arena, &run, TAILQ_NEXT(block, link))) {
			uint64_t from = seam__arena_offset_of(arena, &run, block), to = from + block->bytes;
			if (to > at)
				show_gap(&at, seam__bits_min(from, end), seam__bits_min(to, end), gap, user);
		}
	}
	show_gap(&at, end, end, gap, user);
}

uint64_t seam__arena_newer_bytes(const struct seam_arena *arena, uint64_t serial)
{
	uint64_t bytes = 0;
	struct seam_arena_run run;
	for (uint32_t i = 0; seam__arena_next_run(arena, &i, arena->count, &run);) {
		const struct seam_block *block = seam__block_at(run.view, run.slot);
		for (; block != NULL && block->offset < run.end; block = TAILQ_NEXT(block, link)) {
			if (block->is == SEAM_IS_LIVE && block->serial >= serial)
				bytes += seam__bits_min(run.end, block->offset + block->bytes) -
					seam__bits_max(run.begin, block->offset);
		}
	}
	return bytes;
}

/* A1 */
static const char *check_chunks(const struct seam_arena *arena)
{
	uint64_t offset = 0;
	for (uint32_t i = 0; i < arena->count; i++) {
		const struct seam_arena_chunk *at = &arena->chunks[i];
		if (at->offset != offset)
			return "A1: a chunk is not at its offset";
		offset += at->bytes;
		if (at->chunk == NULL) {
			if (arena->state != SEAM_ARENA_CLOSED)
				return "A1: an arena that is not closed lacks a chunk";
			continue;
		}
		if (at->chunk->kept == 0 || at->chunk->bytes != at->bytes || at->chunk->home->ppool->private_id != 0)
			return "A1: a chunk is not kept, or not of the common memory";
		if (i >= arena->mapped)
			continue;
		const struct seam_slot *slot = &arena->view->slots[i];
		if (slot->offset != at->offset || slot->mapping == NULL || slot->mapping->chunk != at->chunk)
			return "A1: a chunk is not mapped at its offset";
	}
	if (offset != arena->bytes || arena->mapped > arena->count || arena->view->slot_count != arena->mapped)
		return "A1: the arena's extent";
	return NULL;
}

/* A2, for one chunk. */
static const char *check_leases(const struct seam_arena *arena, uint32_t i)
{
	const struct seam_arena_chunk *at = &arena->chunks[i];
	uint64_t bytes = 0;
	uint32_t next = i;
	struct seam_arena_run run;
	if (at->chunk != NULL && seam__arena_next_run(arena, &next, i + 1, &run)) {
		struct seam_block *block = seam__arena_lease_from(arena, &run, seam__block_at(run.view, run.slot));
		for (; block != NULL; block = seam__arena_lease_from(arena, &run, TAILQ_NEXT(block, link)))
			bytes += block->bytes;
	}
	return bytes == at->leased_bytes ? NULL : "A2: leased bytes of a chunk";
}

static uint64_t leased_in_all(const struct seam_engine *engine, const struct seam_view *lessee)
{
	uint64_t bytes = 0;
	const struct seam_view *view;
	TAILQ_FOREACH(view, &engine->memory.view_list, all)
	{
		const struct seam_block *block;
		TAILQ_FOREACH(block, &view->blocks, link)
		bytes += block->is == SEAM_IS_LEASED && block->lessee == lessee ? block->bytes : 0;
	}
	return bytes;
}

const char *seam__arena_check(const struct seam_engine *engine, const struct seam_arena *arena)
{
	if (arena->state == SEAM_ARENA_NONE)
		return arena->view == NULL && arena->chunks == NULL && arena->joins == NULL
			? NULL
			: "A1: something is left of an arena";
	const char *broken = check_chunks(arena);
	uint64_t bytes = 0;
	for (uint32_t i = 0; broken == NULL && i < arena->count; i++) {
		broken = check_leases(arena, i);
		bytes += arena->chunks[i].leased_bytes;
	}
	if (broken != NULL)
		return broken;
	if (bytes != arena->leased_bytes || leased_in_all(engine, arena->view) != bytes)
		return "A2: leased bytes of the arena";
	bool may_lease = arena->state == SEAM_ARENA_OPEN || arena->state == SEAM_ARENA_CLOSED;
	return may_lease || bytes == 0 ? NULL : "A3: leases of an arena that is not open";
}
