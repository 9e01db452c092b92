/* planned_impl.h: what the files behind planned.h share. With the engine's `lock`. */
#ifndef SEAM_PLANNED_IMPL_H
#define SEAM_PLANNED_IMPL_H

#include "planned.h"

/* The first stage, which is open. */
static inline struct seam_stage *seam__stage_open(const struct seam_runtime *runtime)
{
	return LIST_FIRST(&runtime->stages);
}

/* Whether this stage, or one behind it, has blocks that were freed while other streams used them. NULL: there is none.
 */
static inline bool seam__stages_hold(const struct seam_stage *stage)
{
	while (stage != NULL && stage->held_count == 0)
		stage = LIST_NEXT(stage, link);
	return stage != NULL;
}

/* Blocks what is not leased of the chunks from `first` on. Errors: SEAM_OOM_META: none of it is blocked. */
SEAM_MUST_USE enum seam_rc seam__stage_block_from(struct seam_stage *stage, uint32_t first);

/* Leases what has become free in chunks [first, first + count). Returns the bytes; the stage may have been dropped if
 * it is 0. */
uint64_t seam__stage_collect(struct seam_runtime *runtime, struct seam_stage *stage, uint32_t first, uint32_t count);

/* The same with what is lent: what stays must not be put between what is not given back yet. */
void seam__stage_collect_lent(struct seam_runtime *runtime, struct seam_stage *stage);

/* Adds a stream to those that use the arena. Returns its number, or -1 without memory. */
int seam__stage_user(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_stream *stream);

/* Forgets them all: the stage goes. */
void seam__stage_forget_users(struct seam_runtime *runtime, struct seam_stage *stage);

/* Orders the stream behind who had the memory of the block before. False: that failed, and the stream must not have it.
 */
bool seam__stage_order(struct seam_runtime *runtime, struct seam_stage *stage, const struct seam_planned *planned,
	struct seam_stream *stream);

/* The block is freed, and other streams may use it still. True: who gets its memory is ordered behind them, so it may
 * go at once. */
bool seam__stage_let_go(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned);

/* Requests so far whose size does not depend on data. */
static inline uint64_t seam__planned_asked(const struct seam_planned_counts *counts)
{
	return counts->requests - counts->misses[SEAM_MISS_dynamic];
}

/* What it serves counts from here on. */
static inline void seam__stage_judge_anew(const struct seam_runtime *runtime, struct seam_stage *stage)
{
	stage->judged_asked = seam__planned_asked(&runtime->counts);
	stage->judged_hits = runtime->counts.hits;
	stage->poor = 0;
}

/* The plan serves from here on. */
static inline void seam__stage_listen(const struct seam_runtime *runtime, struct seam_stage *stage)
{
	stage->deaf = false;
	seam__stage_judge_anew(runtime, stage);
	if (stage->building)
		seam__matcher_warm(stage->matcher);
	stage->last_at = seam__matcher_front(stage->matcher);
	stage->built_from = runtime->counts.requests + stage->long_positions;
}

/* The plan was given, and so much that stays is still to be made beside the arena: if that is much, it is deaf at
 * first. slots: of its script. */
void seam__stage_expect(const struct seam_runtime *runtime, struct seam_stage *stage, uint64_t bytes, uint64_t slots);

/* The plan was given: whether the program is at its beginning. Nothing is to be built up, and nothing was made. */
static inline bool seam__stage_from_start(const struct seam_runtime *runtime, const struct seam_stage *stage)
{
	return !stage->deaf && runtime->engine->counts.live_blocks == 0;
}

/* The period, and how much memory the plan needs, by what the pool has now. */
void seam__stage_begin_settling(const struct seam_runtime *runtime, struct seam_stage *stage, uint64_t slots);

/* What is kept of the first requests goes; the places are somebody else's. */
void seam__prelude_forget(struct seam_runtime *runtime);

/* The plan was given, and is deaf: whether this request is for it. Elsewhere it is followed, and may listen from the
 * next one on. The stage may have been dropped. */
bool seam__stage_begins(struct seam_runtime *runtime, struct seam_stage *stage, const struct seam_match_ask *ask);

/* The program is building: whether what the matcher says of the request that it was asked for last counts. A miss
 * instead of a hit: the slot is free again. The stage may have been dropped if it is a miss. */
enum seam_miss seam__stage_doubt(struct seam_runtime *runtime, struct seam_stage *stage,
	const struct seam_match_ask *ask, struct seam_planned *planned, enum seam_miss miss);

/* An iteration ends. */
void seam__stage_step(const struct seam_runtime *runtime, struct seam_stage *stage);

/* No script knows the request: the stage may be suspended. */
void seam__stage_depart(struct seam_runtime *runtime, struct seam_stage *stage);

/* Whether the plan is of use, once in a period of requests that it was asked for. True: it was not, and has been
 * dropped. */
bool seam__stage_judge(struct seam_runtime *runtime, struct seam_stage *stage);

/* A request comes, or an iteration has ended (at_step), while the stage is suspended. True: it serves again. The stage
 * may have been dropped if not. */
bool seam__stage_resume(struct seam_runtime *runtime, struct seam_stage *stage, bool at_step);

/* Whether a request of so many bytes must not have idle memory of the plan, because it is likely to stay. */
bool seam__planned_must_grow(const struct seam_runtime *runtime, const struct seam_stage *stage, uint64_t bytes);

/* For qsort(): struct seam_plan_range by where they begin. */
static inline int seam__ranges_compare(const void *left, const void *right)
{
	const struct seam_plan_range *a = left, *b = right;
	return (a->begin_bytes > b->begin_bytes) - (a->begin_bytes < b->begin_bytes);
}

/* A stage that will not be opened (any more) is closed and waits to be finished. With `lock`. */
void seam__stage_abandon(struct seam_runtime *runtime, struct seam_stage *stage);

/* The arena was closed: what lies beside its live blocks, in the same chunks, goes back to the engine. O(slots *
 * copies). Without metadata it goes with those. */
void seam__stage_give_parts(struct seam_runtime *runtime, struct seam_stage *stage);

/* What a block of a closed arena had goes back. */
void seam__stage_give_back(struct seam_runtime *runtime, struct seam_stage *stage, uint64_t offset, uint64_t bytes);

/* Takes the block out of the accounts and the matcher; the engine gets back what a closed arena had of it. */
void seam__planned_release(struct seam_runtime *runtime, struct seam_stage *stage, struct seam_planned *planned);

#endif
