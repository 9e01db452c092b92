/* planned_lend.c: what of the arena is not a plan's at the moment: gaps, chunks that are lent, and what the engine may
 * have back.
 *
 * The matcher's blocked ranges are the arena's gaps, chunk by chunk: where a chunk's leases change they are made anew.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "bits.h"
#include "check.h"
#include "log.h"
#include "meta.h"
#include "planned_impl.h"

/* The gaps of some chunks, by address: the first `count` of active->gaps. */
struct gaps {
	struct seam_meta *meta;
	struct seam_active_plan *active;
	uint32_t count;
	enum seam_rc rc;
};

static void note_gap(void *user, uint64_t begin, uint64_t end)
{
	struct gaps *gaps = user;
	struct seam_active_plan *active = gaps->active;
	if (gaps->count == active->gap_capacity) {
		const uint32_t capacity = gaps->count == 0 ? 64 : 2 * gaps->count;
		struct seam_plan_range *ranges = seam__meta_resize(
			gaps->meta, active->gaps, gaps->count * sizeof *ranges, capacity * sizeof *ranges);
		if (ranges == NULL) {
			gaps->rc = SEAM_OOM_META;
			return;
		}
		active->gaps = ranges;
		active->gap_capacity = capacity;
	}
	active->gaps[gaps->count++] = (struct seam_plan_range){begin, end};
}

static uint64_t end_of(const struct seam_arena *arena, uint32_t i)
{
	return arena->chunks[i].offset + arena->chunks[i].bytes;
}

/* Blocks the gaps of chunks [first, end) as they are now, chunk by chunk, and nothing else there. With an error they
 * are not: the arena is to be closed. */
static enum seam_rc block(
	const struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t first, uint32_t end)
{
	const struct seam_arena *arena = &active->arena;
	struct gaps gaps = {.meta = runtime->meta, .active = active};
	for (uint32_t i = first; i < end && gaps.rc == SEAM_OK; i++) {
		const struct seam_arena_chunk *at = &arena->chunks[i];
		if (at->leased_bytes == 0)
			note_gap(&gaps, at->offset, end_of(arena, i));
		else if (at->leased_bytes != at->bytes)
			seam__arena_gaps(arena, at->offset, end_of(arena, i), note_gap, &gaps);
	}
	if (gaps.rc != SEAM_OK)
		return gaps.rc;
	return seam__matcher_block(
		active->matcher, arena->chunks[first].offset, end_of(arena, end - 1), active->gaps, gaps.count);
}

enum seam_rc seam__active_block_from(
	const struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t first)
{
	return first == active->arena.count ? SEAM_OK : block(runtime, active, first, active->arena.count);
}

static uint64_t count_lent(const struct seam_arena *arena, uint32_t first, uint32_t end)
{
	uint64_t bytes = 0;
	for (uint32_t i = first; i < end; i++)
		bytes += arena->chunks[i].lent ? arena->chunks[i].bytes : 0;
	return bytes;
}

uint64_t seam__active_collect(
	struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t first, uint32_t count)
{
	struct seam_arena *arena = &active->arena;
	const uint64_t lent_bytes = count_lent(arena, first, first + count);
	const uint64_t bytes = seam__arena_collect(runtime->engine, arena, first, count);
	active->lent_bytes -= lent_bytes - count_lent(arena, first, first + count);
	if (block(runtime, active, first, first + count) != SEAM_OK) {
		seam__planned_drop(runtime);
		return 0;
	}
	runtime->counts.collects += bytes != 0;
	return bytes;
}

void seam__planned_beside(struct seam_runtime *runtime)
{
	seam__matcher_beside(seam__active_open(runtime)->matcher, 1);
}

/* The chunk of the arena that is mapped in the slot; UINT32_MAX: none of it is. */
static uint32_t kept_at(const struct seam_active_plan *active, const struct seam_slot *slot)
{
	const struct seam_chunk *chunk = slot->mapping != NULL ? slot->mapping->chunk : NULL;
	if (chunk == NULL || chunk->kept == 0 || chunk->kept_at >= active->arena.count ||
		active->arena.chunks[chunk->kept_at].chunk != chunk)
		return UINT32_MAX;
	return chunk->kept_at;
}

void seam__planned_recover(struct seam_runtime *runtime, const struct seam_view *view, uint64_t offset, uint64_t bytes)
{
	struct seam_active_plan *open = seam__active_open(runtime);
	seam__matcher_beside(open->matcher, -1);
	if (open->suspended)
		return;
	uint32_t i = seam__view_slot_at(view, offset);
	const uint32_t behind = seam__view_slot_at(view, offset + bytes - 1) + 1;
	while (runtime->open && i < behind) {
		const uint32_t first = kept_at(open, &view->slots[i++]);
		if (first == UINT32_MAX)
			continue;
		uint32_t end = first + 1;
		for (; i < behind && kept_at(open, &view->slots[i]) == end; i++)
			end++;
		(void)seam__active_collect(runtime, open, first, end - first);
	}
}

/* Chunks that go to the engine, for a request on a stream. */
struct lending {
	struct seam_runtime *runtime;
	struct seam_active_plan *active;
	struct seam_stream *stream;
	uint64_t wanted_bytes, bytes;
};

/* Chunks [first, end) go. False: that is not possible. */
static bool lend(struct lending *lending, uint32_t first, uint32_t end)
{
	struct seam_runtime *runtime = lending->runtime;
	struct seam_active_plan *active = lending->active;
	struct seam_arena *arena = &active->arena;
	if (!seam__active_order(runtime, active, arena->chunks[first].offset, end_of(arena, end - 1), lending->stream))
		return false;
	const uint64_t bytes = seam__arena_lend(runtime->engine, arena, first, end - first, lending->stream);
	active->lent_bytes += bytes;
	lending->bytes += bytes;
	runtime->counts.lends += end - first;
	if (block(runtime, active, first, end) != SEAM_OK)
		seam__planned_drop(runtime); /* all of the arena is free */
	return true;
}

/* Only whole free chunks can be stitched. An idle range is leased, all of it (Q2). */
static bool lend_in(void *user, uint64_t begin, uint64_t end)
{
	struct lending *lending = user;
	const struct seam_arena *arena = &lending->active->arena;
	uint32_t first = seam__arena_chunk_at(arena, begin);
	first += arena->chunks[first].offset < begin;
	uint32_t behind = first;
	uint64_t bytes = lending->bytes;
	for (; behind < arena->count && end_of(arena, behind) <= end && bytes < lending->wanted_bytes; behind++) {
		SEAM_ASSERT(arena->chunks[behind].leased_bytes == arena->chunks[behind].bytes);
		bytes += arena->chunks[behind].bytes;
	}
	if (behind == first)
		return false;
	return !lend(lending, first, behind) || !lending->runtime->open || lending->bytes >= lending->wanted_bytes;
}

static uint64_t lend_idle(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_stream *stream,
	uint64_t wanted_bytes)
{
	struct lending lending = {runtime, active, stream, wanted_bytes, 0};
	seam__matcher_each_idle(active->matcher, runtime->engine->memory.granularity_bytes, lend_in, &lending);
	return lending.bytes;
}

/* The live blocks of a closed or suspended arena. */
struct left {
	struct seam_plan_range *ranges;
	uint64_t count;
};

static void note_left(void *user, struct seam_plan_block *plan_block)
{
	struct left *left = user;
	left->ranges[left->count++] =
		(struct seam_plan_range){plan_block->offset, plan_block->offset + plan_block->bytes};
}

void seam__active_give_parts(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	struct seam_match_counts counts;
	struct seam_arena *arena = &active->arena;
	uint64_t at = 0;
	seam__matcher_get_counts(active->matcher, &counts);
	struct left left = {.ranges = seam__meta_array(runtime->meta, counts.live + 1, sizeof *left.ranges)};
	if (left.ranges == NULL)
		return;
	seam__matcher_each(active->matcher, note_left, &left);
	SEAM_ASSERT(left.count == counts.live);
	qsort(left.ranges, left.count, sizeof *left.ranges, seam__ranges_compare);
	left.ranges[left.count] = (struct seam_plan_range){arena->bytes, arena->bytes};
	for (uint64_t i = 0; i <= left.count; i++) {
		if (left.ranges[i].begin_bytes > at)
			(void)seam__arena_give_part(runtime->engine, arena, at, left.ranges[i].begin_bytes,
				active->streams, active->stream_count);
		at = left.ranges[i].end_bytes;
	}
	seam__meta_free(runtime->meta, left.ranges, (counts.live + 1) * sizeof *left.ranges);
}

/* Everything goes back: what is prepared, what is open, what is closed and not used any more. */
static uint64_t give_all(struct seam_runtime *runtime)
{
	uint64_t mappings = runtime->engine->memory.mapping_count, leased_bytes = runtime->engine->counts.leased_bytes;
	if (LIST_EMPTY(&runtime->active_plans) && runtime->preparing == NULL)
		return 0;
	seam__planned_poll(runtime); /* closed active plans give back what was held */
	if (runtime->preparing != NULL)
		seam__active_discard(runtime, runtime->preparing);
	if (runtime->open) {
		seam__log(SEAM_LOG_WARNING, "memory is short: a plan of %" PRIu64 " bytes is dropped",
			seam__active_open(runtime)->arena.bytes);
		seam__planned_drop(runtime);
	}
	seam__planned_sweep(runtime, SEAM_SWEEP_ALL);
	return (leased_bytes - runtime->engine->counts.leased_bytes) +
		(mappings - runtime->engine->memory.mapping_count);
}

struct seam_active_plan *seam__planned_lender(const struct seam_runtime *runtime, const struct seam_stream *stream)
{
	const struct seam_prologue *prologue = &runtime->prologue;
	struct seam_active_plan *active = seam__active_open(runtime);
	if (!runtime->open || active->suspended || runtime->reuse != SEAM_PLAN_REUSE_STITCH)
		return NULL;
	if (prologue->active != NULL && prologue->is_stranger && prologue->may_stay)
		return NULL; /* what a program makes first stays: what it is lent never comes back */
	const bool is_alone = active->stream_count == 0 || (active->stream_count == 1 && active->streams[0] == stream);
	return is_alone || runtime->engine->policy.reuse != SEAM_REUSE_OWN ? active : NULL;
}

/* Blocks that were freed while other streams used them, as far as those have passed: the driver is asked, where there
 * are any. Returns what closed active plans gave back. */
static uint64_t give_passed(struct seam_runtime *runtime)
{
	const uint64_t leased_bytes = runtime->engine->counts.leased_bytes;
	if (seam__active_hold(LIST_FIRST(&runtime->active_plans)))
		seam__planned_poll_streams(runtime);
	return leased_bytes - runtime->engine->counts.leased_bytes;
}

static uint64_t give_idle(struct seam_runtime *runtime, const struct seam_ask *ask, uint64_t bytes)
{
	struct seam_active_plan *active = seam__planned_lender(runtime, ask->stream);
	return active == NULL ? 0 : lend_idle(runtime, active, ask->stream, bytes);
}

uint64_t seam__planned_spare(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	struct seam_runtime *runtime = user;
	switch (what) {
	case SEAM_SPARE_PASSED:
		return give_passed(runtime);
	case SEAM_SPARE_IDLE:
		return give_idle(runtime, ask, bytes);
	case SEAM_SPARE_ALL:
		return give_all(runtime);
	}
	return 0;
}
