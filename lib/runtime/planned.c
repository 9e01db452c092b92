/* planned.c: requests and frees that a plan serves; see planned.h. Gaps and lending are in planned_lend.c, stages in
 * stage.c, the time before a plan that was given serves in planned_begin.c. */
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

static inline void count_alloc(struct seam_engine_counts *counts, const struct seam_planned *planned)
{
	counts->allocs++;
	counts->planned_blocks++;
	counts->planned_bytes += planned->bytes;
	counts->planned_requested_bytes += planned->requested_bytes;
	counts->live_requested_bytes += planned->requested_bytes;
	counts->live_bytes += planned->bytes;
	counts->live_blocks++;
	note_peak(&counts->live_requested_bytes_peak, counts->live_requested_bytes);
	note_peak(&counts->live_bytes_peak, counts->live_bytes);
	note_peak(&counts->live_blocks_peak, counts->live_blocks);
}

static void count_free(struct seam_engine_counts *counts, const struct seam_planned *planned)
{
	counts->frees++;
	counts->planned_blocks--;
	counts->planned_bytes -= planned->bytes;
	counts->planned_requested_bytes -= planned->requested_bytes;
	counts->live_requested_bytes -= planned->requested_bytes;
	counts->live_bytes -= planned->bytes;
	counts->live_blocks--;
}

/* The slot's memory is lent, or was occupied when the plan began: it may be free by now. */
static enum seam_miss fill_gap(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned)
{
	const struct seam_arena *arena = &stage->arena;
	uint32_t first = seam__arena_chunk_at(arena, planned->offset);
	uint32_t last = seam__arena_chunk_at(arena, planned->offset + planned->bytes - 1);
	uint64_t bytes = 0;
	for (uint32_t i = first; i <= last && runtime->open; i++)
		bytes += arena->chunks[i].lacks ? seam__stage_collect(runtime, stage, i, 1) : 0;
	if (bytes == 0 || !runtime->open)
		return SEAM_MISS_gap;
	return seam__matcher_take(stage->matcher, planned);
}

/* The slot is live in the matcher; it becomes the caller's if its stream can be ordered behind who used the memory
 * before. */
static enum seam_miss hand_out(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned,
	struct seam_stream *stream)
{
	if (!seam__stage_order(runtime, stage, planned, stream)) {
		seam__matcher_take_back(stage->matcher, planned);
		return SEAM_MISS_order;
	}
	return SEAM_MISS_NONE;
}

/* Free again as soon as possible, for their slots come round again; but asking the driver costs more than an
 * allocation. */
static void look_at_held(struct seam_runtime *runtime, struct seam_stage *stage)
{
	const struct seam_engine_counts *counts = &runtime->engine->counts;
	if (counts->allocs >= stage->next_poll) {
		stage->next_poll = counts->allocs + POLL_ALLOCS;
		enum seam_rc ignored = seam__streams_poll_all(
			&runtime->engine->streams, NULL); /* what cannot be asked has not passed */
		(void)ignored;
	}
	seam__planned_poll(runtime);
}

static void fill_in(struct seam_runtime *runtime, struct seam_planned *planned, const struct seam_request *request,
	struct seam_stream *stream)
{
	planned->requested_bytes = request->bytes;
	planned->tag = request->tag;
	planned->stream = stream;
	planned->uses = NULL;
	count_alloc(&runtime->engine->counts, planned);
}

/* A request was missed. The stage may have been suspended, or dropped. */
static void note_miss(struct seam_runtime *runtime, struct seam_stage *stage, enum seam_miss miss)
{
	const bool is_unknown = miss == SEAM_MISS_size || miss == SEAM_MISS_lost || miss == SEAM_MISS_lane;
	runtime->counts.misses[miss]++;
	if (!runtime->open || stage->building || runtime->prelude.stage != NULL || seam__stage_judge(runtime, stage))
		return;
	if (is_unknown)
		seam__stage_depart(runtime, stage);
}

/* Whether the slot is the caller's without more ado: its memory was last used by his stream, or that is ordered behind
 * who did. */
static inline bool is_ordered(
	const struct seam_stage *stage, const struct seam_planned *planned, const struct seam_stream *stream)
{
	return stage->joined_last == stream && stage->joined_version == stage->arena.join_version &&
		!seam__planned_is_loose(planned) &&
		(stage->stream_count == 1 || !seam__matcher_crosses(stage->matcher, planned));
}

/* What the matcher said, where that is not all. */
static __attribute__((noinline)) enum seam_miss settle(struct seam_runtime *runtime, struct seam_stage *stage,
	struct seam_planned **planned_p, struct seam_stream *stream, enum seam_miss miss)
{
	struct seam_planned_counts *counts = &runtime->counts;
	if (miss == SEAM_MISS_late && stage->held_count != 0 && !stage->building) {
		seam__planned_poll_streams(runtime);
		miss = seam__matcher_retry(stage->matcher, planned_p);
	}
	struct seam_planned *planned = *planned_p;
	if (miss == SEAM_MISS_gap)
		miss = fill_gap(runtime, stage, planned);
	if (miss == SEAM_MISS_NONE && planned->script == SEAM_PLANNED_DYNAMIC &&
		runtime->reuse == SEAM_PLAN_REUSE_NONE) {
		seam__matcher_take_back(stage->matcher, planned);
		counts->refused_dynamic++;
		miss = SEAM_MISS_dynamic;
	}
	if (miss == SEAM_MISS_NONE)
		miss = hand_out(runtime, stage, planned, stream);
	if (miss != SEAM_MISS_NONE)
		note_miss(runtime, stage, miss);
	return miss;
}

/* Where nothing is recorded nobody knows who asks: a thread of no number takes any lane of its stream. */
enum seam_miss seam__planned_alloc(struct seam_runtime *runtime, const struct seam_request *request,
	struct seam_stream *stream, const struct seam_thread_context *context, struct seam_planned **ret_planned,
	uint64_t *ret_va)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	const struct seam_match_ask ask = {
		.bytes = request->bytes,
		.stream = (uint64_t)(uintptr_t)request->stream,
		.thread = context != NULL ? context->thread : UINT32_MAX,
		.dynamic = context != NULL && context->dynamic_depth != 0,
	};
	struct seam_planned *planned = NULL;
	runtime->counts.requests++;
	if (__builtin_expect(runtime->prelude.stage != NULL, 0)) {
		planned = seam__prelude_alloc(runtime, &ask, stream, ret_va);
		if (planned != NULL) {
			fill_in(runtime, planned, request, stream);
			runtime->counts.hits++;
			*ret_planned = planned;
			return SEAM_MISS_NONE;
		}
		if (runtime->prelude.is_stranger) {
			seam__matcher_pass(stage->matcher);
			runtime->counts.misses[SEAM_MISS_lost]++;
			return SEAM_MISS_lost;
		}
	}
	if (__builtin_expect(stage->deaf, 0) && !seam__stage_begins(runtime, stage, &ask)) {
		runtime->counts.misses[SEAM_MISS_lost]++;
		return SEAM_MISS_lost;
	}
	if (__builtin_expect(stage->held_count != 0, 0))
		look_at_held(runtime, stage);
	if (__builtin_expect(stage->suspended, 0) && !seam__stage_resume(runtime, stage, false)) {
		runtime->counts.misses[SEAM_MISS_suspended]++;
		return SEAM_MISS_suspended;
	}
	enum seam_miss miss = seam__matcher_alloc(stage->matcher, &ask, &planned);
	if (__builtin_expect(stage->building, 0))
		miss = seam__stage_doubt(runtime, stage, &ask, planned, miss);
	if (__builtin_expect(miss != SEAM_MISS_NONE || !is_ordered(stage, planned, stream), 0)) {
		miss = settle(runtime, stage, &planned, stream, miss);
		if (miss != SEAM_MISS_NONE)
			return miss;
	}
	fill_in(runtime, planned, request, stream);
	runtime->counts.hits++;
	*ret_va = stage->arena.view->va + planned->offset;
	*ret_planned = planned;
	return SEAM_MISS_NONE;
}

bool seam__planned_borrow(struct seam_runtime *runtime, const struct seam_ask *ask, const struct seam_request *request,
	struct seam_planned **ret_planned, uint64_t *ret_va)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	if (stage->suspended || runtime->reuse != SEAM_PLAN_REUSE_STITCH || (stage->building && !stage->trusting) ||
		seam__planned_must_grow(runtime, stage, ask->bytes))
		return false;
	if (seam__engine_has_hit(ask))
		return false; /* what is free elsewhere is found sooner, and in nobody's way */
	struct seam_planned *planned = seam__matcher_borrow(stage->matcher, request->bytes);
	if (planned == NULL || hand_out(runtime, stage, planned, ask->stream) != SEAM_MISS_NONE)
		return false;
	runtime->counts.borrows++;
	fill_in(runtime, planned, request, ask->stream);
	*ret_va = stage->arena.view->va + planned->offset;
	*ret_planned = planned;
	return true;
}

void seam__planned_pass(struct seam_runtime *runtime)
{
	runtime->counts.requests++;
	runtime->counts.misses[SEAM_MISS_request]++;
}

/* Other streams still use the block. Room in `held` was made when that was recorded, so this cannot fail. Where the
 * matcher has no memory to hold it, it stays live there, which is as safe. */
static void hold(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned)
{
	struct seam_engine_counts *counts = &runtime->engine->counts;
	seam__uses_stamp(planned->uses);
	enum seam_rc ignored = seam__matcher_hold(stage->matcher, planned);
	(void)ignored;
	planned->requested_bytes = 0;
	SEAM_ASSERT(stage->held_count < stage->held_capacity);
	stage->held[stage->held_count++] = planned;
	counts->pending_bytes += planned->bytes;
	counts->planned_pending_bytes += planned->bytes;
}

bool seam__planned_free(struct seam_runtime *runtime, uint64_t va, uint64_t *ret_serial)
{
	struct seam_stage *stage = seam__stage_at(runtime, va);
	if (stage == NULL)
		return false;
	struct seam_planned *planned = seam__matcher_find(stage->matcher, va - stage->arena.view->va);
	if (planned == NULL || planned->requested_bytes == 0)
		return false;
	*ret_serial = planned->serial;
	count_free(&runtime->engine->counts, planned);
	if (__builtin_expect(planned->uses == NULL, 1) || seam__stage_let_go(runtime, stage, planned)) {
		seam__planned_release(runtime, stage, planned);
		return true;
	}
	hold(runtime, stage, planned);
	return true;
}

enum seam_rc seam__planned_record(
	struct seam_runtime *runtime, const struct seam_found *found, struct seam_stream *stream)
{
	struct seam_stage *stage = found->stage;
	struct seam_planned *planned = found->planned;
	if (planned->stream == stream)
		return SEAM_OK;
	if (planned->uses == NULL && stage->recorded == stage->held_capacity) {
		uint32_t capacity = stage->held_capacity == 0 ? 64 : stage->held_capacity * 2;
		struct seam_planned **held = seam__meta_resize(runtime->meta, stage->held,
			stage->held_capacity * sizeof(struct seam_planned *), capacity * sizeof(struct seam_planned *));
		if (held == NULL)
			return SEAM_OOM_META;
		stage->held = held;
		stage->held_capacity = capacity;
	}
	if (seam__stage_user(runtime, stage, stream) < 0)
		return SEAM_OOM_META;
	bool first = planned->uses == NULL;
	enum seam_rc rc = seam__uses_add(runtime->engine, &planned->uses, stream);
	if (rc == SEAM_OK && first)
		stage->recorded++;
	return rc;
}
