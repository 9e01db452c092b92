/* planned.c: requests and frees that a plan serves; see planned.h. Gaps and lending are in planned_lend.c, active plans
 * in active_plan.c. */
#include "planned.h"

#include <seam/seam.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "planned_impl.h"
#include "record.h"

#define POLL_ALLOCS 64u

/* Hardly any request raises a peak. */
static inline void note_peak(uint64_t *peak, uint64_t now)
{
	if (__builtin_expect(now > *peak, 0))
		*peak = now;
}

static inline void count_alloc(struct seam_engine_counts *counts, const struct seam_plan_block *plan_block)
{
	counts->allocs++;
	counts->planned_blocks++;
	counts->planned_bytes += plan_block->bytes;
	counts->planned_requested_bytes += plan_block->requested_bytes;
	counts->live_requested_bytes += plan_block->requested_bytes;
	counts->live_bytes += plan_block->bytes;
	counts->live_blocks++;
	note_peak(&counts->live_requested_bytes_peak, counts->live_requested_bytes);
	note_peak(&counts->live_bytes_peak, counts->live_bytes);
	note_peak(&counts->live_blocks_peak, counts->live_blocks);
}

static void count_free(struct seam_engine_counts *counts, const struct seam_plan_block *plan_block)
{
	counts->frees++;
	counts->planned_blocks--;
	counts->planned_bytes -= plan_block->bytes;
	counts->planned_requested_bytes -= plan_block->requested_bytes;
	counts->live_requested_bytes -= plan_block->requested_bytes;
	counts->live_bytes -= plan_block->bytes;
	counts->live_blocks--;
}

/* The slot's memory is lent, or was occupied when the plan began: it may be free by now. */
static enum seam_miss fill_gap(
	struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_plan_block *plan_block)
{
	const struct seam_arena *arena = &active->arena;
	uint32_t first = seam__arena_chunk_at(arena, plan_block->offset);
	const uint32_t end = seam__arena_chunk_at(arena, plan_block->offset + plan_block->bytes - 1) + 1;
	uint64_t bytes = 0;
	while (first < end && runtime->open) {
		uint32_t behind = first;
		while (behind < end && arena->chunks[behind].lacks)
			behind++;
		bytes += behind == first ? 0 : seam__active_collect(runtime, active, first, behind - first);
		first = behind + 1;
	}
	if (bytes == 0 || !runtime->open)
		return SEAM_MISS_gap;
	return seam__matcher_take(active->matcher, plan_block);
}

/* The slot is live in the matcher; it becomes the caller's if its stream can be ordered behind who used the memory
 * before. */
static enum seam_miss hand_out(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_plan_block *plan_block, struct seam_stream *stream)
{
	if (!seam__active_order(runtime, active, plan_block->offset, plan_block->offset + plan_block->bytes, stream)) {
		seam__matcher_free(active->matcher, plan_block);
		return SEAM_MISS_order;
	}
	return SEAM_MISS_NONE;
}

/* Free again as soon as possible, for their slots come round again; but asking the driver costs more than an
 * allocation. */
static void look_at_held(struct seam_runtime *runtime, struct seam_active_plan *active)
{
	const struct seam_engine_counts *counts = &runtime->engine->counts;
	if (counts->allocs >= active->next_poll) {
		active->next_poll = counts->allocs + POLL_ALLOCS;
		enum seam_rc ignored = seam__streams_poll_all(
			&runtime->engine->streams, NULL); /* what cannot be asked has not passed */
		(void)ignored;
	}
	seam__planned_poll(runtime);
}

static void fill_in(struct seam_runtime *runtime, struct seam_plan_block *plan_block,
	const struct seam_request *request, struct seam_stream *stream)
{
	plan_block->tag = request->tag;
	plan_block->stream = stream;
	count_alloc(&runtime->engine->counts, plan_block);
}

/* A request was missed. The active plan may have been suspended, or dropped. */
static void note_miss(struct seam_runtime *runtime, struct seam_active_plan *active, enum seam_miss miss)
{
	runtime->counts.misses[miss]++;
	if (!runtime->open || runtime->prologue.active != NULL || seam__active_judge(runtime, active))
		return;
	if (seam__miss_is_unknown(miss))
		seam__active_depart(runtime, active);
	seam__active_charge(runtime, active);
}

/* Whether memory is the caller's without more ado: no other stream has used any that he is not ordered behind. */
static inline bool is_ordered(const struct seam_active_plan *active, const struct seam_stream *stream)
{
	return active->joined_last == stream && active->joined_version == active->arena.join_version &&
		!active->notes_uses;
}

/* What the matcher said, where that is not all. */
static __attribute__((noinline)) enum seam_miss settle(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_plan_block **plan_block_p, struct seam_stream *stream, enum seam_miss miss)
{
	struct seam_planned_counts *counts = &runtime->counts;
	if (miss == SEAM_MISS_late && active->held_count != 0) {
		seam__planned_poll_streams(runtime);
		miss = seam__matcher_retry(active->matcher, plan_block_p);
	}
	struct seam_plan_block *plan_block = *plan_block_p;
	if (miss == SEAM_MISS_gap)
		miss = fill_gap(runtime, active, plan_block);
	if (miss == SEAM_MISS_NONE && plan_block->loaded == SEAM_PLANNED_DYNAMIC &&
		runtime->reuse == SEAM_PLAN_REUSE_NONE) {
		seam__matcher_free(active->matcher, plan_block);
		counts->refused_dynamic++;
		miss = SEAM_MISS_dynamic;
	}
	if (miss == SEAM_MISS_NONE)
		miss = hand_out(runtime, active, plan_block, stream);
	if (miss != SEAM_MISS_NONE)
		note_miss(runtime, active, miss);
	return miss;
}

/* Where nothing is recorded nobody knows who asks: a thread of no number takes any cursor of its stream. */
enum seam_miss seam__planned_alloc(struct seam_runtime *runtime, const struct seam_request *request,
	struct seam_stream *stream, const struct seam_thread_context *context, struct seam_plan_block **ret_block,
	uint64_t *ret_va)
{
	struct seam_active_plan *active = seam__active_open(runtime);
	const struct seam_match_ask ask = {
		.bytes = request->bytes,
		.stream = (uint64_t)(uintptr_t)request->stream,
		.thread = context != NULL ? context->thread : UINT32_MAX,
		.dynamic = context != NULL && context->dynamic_depth != 0,
	};
	struct seam_plan_block *plan_block = NULL;
	if (__builtin_expect(active->held_count != 0, 0))
		look_at_held(runtime, active);
	if (__builtin_expect(active->suspended, 0) && !seam__active_resume(runtime, active)) {
		seam__planned_pass(runtime, SEAM_MISS_suspended);
		return SEAM_MISS_suspended;
	}
	runtime->counts.requests++;
	if (__builtin_expect(runtime->prologue.active != NULL, 0)) {
		bool departs = false;
		plan_block = seam__prologue_alloc(runtime, &ask, stream, ret_va, &departs);
		if (departs)
			seam__active_suspend(runtime, active);
		if (plan_block != NULL) {
			fill_in(runtime, plan_block, request, stream);
			runtime->counts.hits++;
			*ret_block = plan_block;
			return SEAM_MISS_NONE;
		}
		if (runtime->prologue.is_stranger) {
			seam__matcher_pass(active->matcher);
			runtime->counts.misses[SEAM_MISS_lost]++;
			return SEAM_MISS_lost;
		}
	}
	enum seam_miss miss = seam__matcher_alloc(active->matcher, &ask, &plan_block);
	const bool may_refuse = runtime->reuse == SEAM_PLAN_REUSE_NONE;
	if (__builtin_expect(miss != SEAM_MISS_NONE || may_refuse || !is_ordered(active, stream), 0)) {
		miss = settle(runtime, active, &plan_block, stream, miss);
		if (miss != SEAM_MISS_NONE)
			return miss;
	}
	fill_in(runtime, plan_block, request, stream);
	runtime->counts.hits++;
	*ret_va = active->arena.view->va + plan_block->offset;
	*ret_block = plan_block;
	return SEAM_MISS_NONE;
}

bool seam__planned_borrow(struct seam_runtime *runtime, const struct seam_ask *ask, const struct seam_request *request,
	struct seam_plan_block **ret_block, uint64_t *ret_va)
{
	struct seam_active_plan *active = seam__planned_lender(runtime, ask->stream);
	if (active == NULL || seam__engine_has_hit(ask))
		return false; /* what is free elsewhere is found sooner, and in nobody's way */
	struct seam_plan_block *plan_block = seam__matcher_borrow(active->matcher, request->bytes);
	if (plan_block == NULL || hand_out(runtime, active, plan_block, ask->stream) != SEAM_MISS_NONE)
		return false;
	runtime->counts.borrows++;
	fill_in(runtime, plan_block, request, ask->stream);
	*ret_va = active->arena.view->va + plan_block->offset;
	*ret_block = plan_block;
	return true;
}

void seam__planned_step(struct seam_runtime *runtime)
{
	if (!runtime->open)
		return;
	struct seam_active_plan *active = seam__active_open(runtime);
	active->marked_at = runtime->recent.count;
	seam__matcher_step(active->matcher);
}

void seam__planned_pass(struct seam_runtime *runtime, enum seam_miss why)
{
	if (!runtime->open || !seam__active_open(runtime)->started)
		return;
	runtime->counts.requests++;
	runtime->counts.misses[why]++;
}

/* Other streams still use the block. Room in `held` was made when that was recorded, so this cannot fail. Where the
 * matcher has no memory to hold it, it stays live there, which is as safe. */
static void hold(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_plan_block *plan_block)
{
	struct seam_engine_counts *counts = &runtime->engine->counts;
	seam__uses_stamp(plan_block->uses);
	enum seam_rc ignored = seam__matcher_hold(active->matcher, plan_block);
	(void)ignored;
	plan_block->requested_bytes = 0;
	SEAM_ASSERT(active->held_count < active->held_capacity);
	active->held[active->held_count++] = plan_block;
	counts->pending_bytes += plan_block->bytes;
	counts->planned_pending_bytes += plan_block->bytes;
}

bool seam__planned_free(struct seam_runtime *runtime, uint64_t va, uint64_t *ret_serial)
{
	struct seam_active_plan *active = seam__active_at(runtime, va);
	if (active == NULL)
		return false;
	struct seam_plan_block *plan_block = seam__matcher_find(active->matcher, va - active->arena.view->va);
	if (plan_block == NULL || plan_block->requested_bytes == 0)
		return false;
	*ret_serial = plan_block->serial;
	count_free(&runtime->engine->counts, plan_block);
	if (__builtin_expect(plan_block->uses == NULL, 1))
		seam__planned_release(runtime, active, plan_block, 0);
	else if (!seam__active_let_go(runtime, active, plan_block))
		hold(runtime, active, plan_block);
	return true;
}

enum seam_rc seam__planned_record(
	struct seam_runtime *runtime, const struct seam_found *found, struct seam_stream *stream)
{
	struct seam_active_plan *active = found->active;
	struct seam_plan_block *plan_block = found->plan_block;
	if (plan_block->stream == stream)
		return SEAM_OK;
	if (plan_block->uses == NULL && active->recorded == active->held_capacity) {
		uint32_t capacity = active->held_capacity == 0 ? 64 : active->held_capacity * 2;
		struct seam_plan_block **held = seam__meta_resize(runtime->meta, active->held,
			active->held_capacity * sizeof(struct seam_plan_block *),
			capacity * sizeof(struct seam_plan_block *));
		if (held == NULL)
			return SEAM_OOM_META;
		active->held = held;
		active->held_capacity = capacity;
	}
	if (seam__active_user(runtime, active, stream) < 0)
		return SEAM_OOM_META;
	bool first = plan_block->uses == NULL;
	enum seam_rc rc = seam__uses_add(runtime->engine, &plan_block->uses, stream);
	if (rc == SEAM_OK && first)
		active->recorded++;
	return rc;
}
