/* arena.c: the life of an arena: its chunks and their mappings; see arena.h. What is leased is in arena_lease.c. */
#include "arena.h"

#include <string.h>

#include "arena_impl.h"
#include "bits.h"
#include "change.h"
#include "check.h"
#include "meta.h"

/* Chunks that are about to join an arena: kept ones, then room for new ones. */
struct addition {
	struct seam_arena_chunk *chunks;
	uint32_t count, capacity;
	uint64_t bytes, fresh_bytes, unit_bytes;
};

static struct seam_chunk *find_chunk(struct seam_chunk *const *chunks, uint64_t count, uint64_t number)
{
	uint64_t low = 0, high = count;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (chunks[middle]->number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && chunks[low]->number == number ? chunks[low] : NULL;
}

/* Whether a survey would list the chunk, as far as its blocks do not matter. */
bool seam__arena_may_have(const struct seam_chunk *chunk)
{
	const struct seam_mapping *mapping;
	if (chunk->exported || chunk->home->ppool->private_id != 0 ||
		chunk->home->ppool->class == SEAM_CLASS_CONTIGUOUS)
		return false;
	LIST_FOREACH(mapping, &chunk->mappings, of_chunk)
	{
		if (mapping->view->pinned)
			return false;
	}
	return true;
}

static void add_chunk(struct addition *addition, struct seam_chunk *chunk)
{
	SEAM_ASSERT(addition->count < addition->capacity);
	addition->chunks[addition->count++] = (struct seam_arena_chunk){.chunk = chunk, .bytes = chunk->bytes};
	addition->bytes += chunk->bytes;
}

static enum seam_rc find_chunks(
	struct seam_engine *engine, const uint64_t *numbers, uint32_t count, struct addition *addition)
{
	uint64_t all_count = engine->memory.chunk_count, i = 0;
	if (count == 0)
		return SEAM_OK;
	if (all_count == 0)
		return SEAM_NOT_FOUND;
	struct seam_chunk **all = seam__meta_array(engine->meta, all_count, sizeof *all), *chunk;
	if (all == NULL)
		return SEAM_OOM_META;
	TAILQ_FOREACH(chunk, &engine->memory.chunk_list, link)
	all[i++] = chunk;
	enum seam_rc rc = SEAM_OK;
	for (i = 0; i < count && rc == SEAM_OK; i++) {
		chunk = find_chunk(all, all_count, numbers[i]);
		if (chunk == NULL || !seam__arena_may_have(chunk))
			rc = SEAM_NOT_FOUND;
		else
			add_chunk(addition, chunk);
	}
	seam__meta_free(engine->meta, all, all_count * sizeof(struct seam_chunk *));
	return rc;
}

static void drop_addition(struct seam_engine *engine, struct addition *addition)
{
	seam__meta_free(engine->meta, addition->chunks, addition->capacity * sizeof *addition->chunks);
	addition->chunks = NULL;
}

static bool has_mappings_left(const struct seam_memory *memory, const struct addition *addition)
{
	uint64_t fresh = addition->capacity - addition->count; /* these are mapped at home too */
	uint64_t needed = addition->capacity + fresh;
	return needed <= memory->mapping_limit && memory->mapping_count <= memory->mapping_limit - needed;
}

/* Finds the chunks, and what is known of the new ones before they are made. */
static enum seam_rc make_addition(struct seam_engine *engine, const uint64_t *numbers, uint32_t count,
	uint64_t fresh_bytes, uint64_t chunk_bytes, struct addition *ret_addition)
{
	const struct seam_memory *memory = &engine->memory;
	const struct seam_ppool *ppool = &engine->common.classes[SEAM_CLASS_LARGE];
	struct addition addition = {.fresh_bytes = seam__bits_align_up(fresh_bytes, memory->granularity_bytes)};
	addition.unit_bytes = chunk_bytes != 0 ? seam__bits_align_up(chunk_bytes, memory->granularity_bytes)
					       : seam__grow_chunk_bytes(engine, ppool, addition.fresh_bytes, 0);
	uint64_t capacity = count + seam__bits_div_up(addition.fresh_bytes, addition.unit_bytes);
	if (capacity > UINT32_MAX)
		return SEAM_OOM_DEVICE;
	SEAM_ASSERT(capacity > 0);
	addition.capacity = (uint32_t)capacity;
	addition.chunks = seam__meta_array(engine->meta, addition.capacity, sizeof *addition.chunks);
	if (addition.chunks == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = find_chunks(engine, numbers, count, &addition);
	if (rc == SEAM_OK && !has_mappings_left(memory, &addition))
		rc = SEAM_MAPPINGS;
	if (rc == SEAM_OK && seam__memory_room(memory) < addition.fresh_bytes)
		rc = SEAM_OOM_DEVICE;
	if (rc != SEAM_OK) {
		drop_addition(engine, &addition);
		return rc;
	}
	*ret_addition = addition;
	return SEAM_OK;
}

/* Makes the new chunks: free at home, the last of the list. The last step that may fail. Drops `lock`. */
static enum seam_rc make_fresh(struct seam_engine *engine, struct addition *addition)
{
	uint64_t first_number = engine->memory.chunks_made;
	if (addition->fresh_bytes == 0)
		return SEAM_OK;
	enum seam_rc rc = seam__grow_units(
		engine, &engine->common.classes[SEAM_CLASS_LARGE], addition->fresh_bytes, addition->unit_bytes);
	if (rc != SEAM_OK)
		return rc;
	struct seam_chunk *chunk = TAILQ_LAST(&engine->memory.chunk_list, seam_chunks), *before;
	while ((before = TAILQ_PREV(chunk, seam_chunks, link)) != NULL && before->number >= first_number)
		chunk = before;
	for (; chunk != NULL; chunk = TAILQ_NEXT(chunk, link))
		add_chunk(addition, chunk);
	return SEAM_OK;
}

/* The arena's list becomes `chunks`, of which those from `first` on are new. */
static void set_chunks(struct seam_engine *engine, struct seam_arena *arena, struct addition *addition, uint32_t first)
{
	seam__meta_free(engine->meta, arena->chunks, arena->capacity * sizeof *arena->chunks);
	arena->chunks = addition->chunks;
	arena->count = addition->count;
	arena->capacity = addition->capacity;
	for (uint32_t i = first; i < arena->count; i++) {
		arena->chunks[i].offset = arena->bytes;
		arena->chunks[i].lacks = true;
		arena->bytes += arena->chunks[i].bytes;
		arena->chunks[i].chunk->kept++;
	}
}

void seam__arena_drop_view(struct seam_engine *engine, struct seam_view *view)
{
	seam__mutex_unlock(&engine->lock);
	uint32_t slots = seam__view_release(&engine->memory, view);
	seam__mutex_lock(&engine->lock);
	bool gone = seam__view_forget(&engine->memory, view, slots); /* it has no slots */
	SEAM_ASSERT(gone);
	(void)gone;
}

enum seam_rc seam__arena_begin(struct seam_engine *engine, const uint64_t *numbers, uint32_t count,
	uint64_t fresh_bytes, uint64_t chunk_bytes, uint64_t reserve_bytes, struct seam_arena *ret_arena)
{
	struct seam_memory *memory = &engine->memory;
	struct addition addition;
	enum seam_rc rc = make_addition(engine, numbers, count, fresh_bytes, chunk_bytes, &addition);
	if (rc != SEAM_OK)
		return rc;
	uint64_t bytes = seam__bits_max(addition.bytes + addition.fresh_bytes, reserve_bytes);
	struct seam_arena arena = {.state = SEAM_ARENA_PREPARING};
	seam__mutex_unlock(&engine->lock);
	rc = seam__view_create(
		memory, seam__bits_align_up(bytes, memory->granularity_bytes), true, addition.capacity, &arena.view);
	seam__mutex_lock(&engine->lock);
	if (rc == SEAM_OK) {
		rc = make_fresh(engine, &addition);
		if (rc != SEAM_OK)
			seam__arena_drop_view(engine, arena.view);
	}
	if (rc != SEAM_OK) {
		drop_addition(engine, &addition);
		return rc;
	}
	arena.view->arena = true;
	arena.view->ppool = &engine->common.classes[SEAM_CLASS_LARGE];
	seam__view_list(memory, arena.view);
	set_chunks(engine, &arena, &addition, 0);
	*ret_arena = arena;
	return SEAM_OK;
}

enum seam_rc seam__arena_extend(struct seam_engine *engine, struct seam_arena *arena, const uint64_t *numbers,
	uint32_t count, uint64_t fresh_bytes, uint64_t chunk_bytes)
{
	SEAM_ASSERT(arena->state == SEAM_ARENA_READY || arena->state == SEAM_ARENA_OPEN);
	struct addition addition, all = {0};
	enum seam_rc rc = make_addition(engine, numbers, count, fresh_bytes, chunk_bytes, &addition);
	if (rc != SEAM_OK)
		return rc;
	uint64_t room = arena->view->reserved_bytes - arena->bytes;
	all.capacity = arena->count + addition.capacity;
	if (room < addition.bytes + addition.fresh_bytes)
		rc = SEAM_OOM_VA;
	else if ((all.chunks = seam__meta_array(engine->meta, all.capacity, sizeof *all.chunks)) == NULL)
		rc = SEAM_OOM_META;
	else
		rc = make_fresh(engine, &addition);
	if (rc == SEAM_OK && arena->state == SEAM_ARENA_CLOSED)
		rc = SEAM_NOT_FOUND; /* meanwhile; what is new stays free */
	if (rc == SEAM_OK) {
		memcpy(all.chunks, arena->chunks, arena->count * sizeof *all.chunks);
		memcpy(all.chunks + arena->count, addition.chunks, addition.count * sizeof *all.chunks);
		all.count = arena->count + addition.count;
		set_chunks(engine, arena, &all, arena->count);
		if (arena->state == SEAM_ARENA_READY)
			arena->state = SEAM_ARENA_PREPARING;
	} else {
		seam__meta_free(engine->meta, all.chunks, all.capacity * sizeof *all.chunks);
	}
	drop_addition(engine, &addition);
	return rc;
}

/* Maps the next `count` chunks. Drops `lock`. */
static enum seam_rc map_next(struct seam_engine *engine, struct seam_arena *arena, struct seam_chunk **chunks,
	struct seam_mapping **mappings, uint32_t count)
{
	struct seam_view *view = arena->view;
	uint64_t offset = view->used_bytes;
	for (uint32_t i = 0; i < count; i++)
		chunks[i] = arena->chunks[arena->mapped + i].chunk;
	seam__mutex_unlock(&engine->lock);
	enum seam_rc rc = seam__view_map(&engine->memory, view, offset, chunks, count, mappings);
	seam__mutex_lock(&engine->lock);
	if (rc == SEAM_OK) {
		seam__view_map_commit(&engine->memory, view, offset, mappings, count);
		arena->mapped += count;
	}
	return rc;
}

enum seam_rc seam__arena_prepare(struct seam_engine *engine, struct seam_arena *arena, uint32_t mappings)
{
	SEAM_ASSERT(arena->state != SEAM_ARENA_NONE && arena->state != SEAM_ARENA_CLOSED && mappings > 0);
	uint32_t left = arena->count - arena->mapped, count = left < mappings ? left : mappings;
	enum seam_rc rc = SEAM_OK;
	if (count != 0) {
		struct seam_chunk **chunks = seam__meta_array(engine->meta, count, sizeof *chunks);
		struct seam_mapping **places = seam__meta_array(engine->meta, count, sizeof *places);
		rc = SEAM_OOM_META;
		if (chunks != NULL && places != NULL)
			rc = map_next(engine, arena, chunks, places, count);
		seam__meta_free(engine->meta, chunks, count * sizeof(struct seam_chunk *));
		seam__meta_free(engine->meta, places, count * sizeof(struct seam_mapping *));
	}
	if (rc != SEAM_OK)
		return rc;
	if (arena->mapped < arena->count)
		return SEAM_BUSY;
	if (arena->state == SEAM_ARENA_PREPARING)
		arena->state = SEAM_ARENA_READY;
	return SEAM_OK;
}
