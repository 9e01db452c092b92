/* planned_impl.h: what the files behind planned.h share. With the engine's `lock`. */
#ifndef SEAM_PLANNED_IMPL_H
#define SEAM_PLANNED_IMPL_H

#include "pool.h"

/* The first stage, which is open. */
static inline struct seam_stage *seam__stage_open(const struct seam_planning *planning)
{
	return LIST_FIRST(&planning->stages);
}

/* Makes the matcher's blocked ranges of chunk i those that are not leased now. Errors: SEAM_OOM_META: some of them are not blocked. */
SEAM_MUST_USE enum seam_rc seam__stage_block(struct seam_stage *stage, uint32_t i);

/* Unblocks what is not leased of chunk i, before that changes. */
void seam__stage_unblock(struct seam_stage *stage, uint32_t i);

/* Leases what has become free in chunks [first, first + count). Returns the bytes; the stage may have been dropped if it is 0. */
uint64_t seam__stage_collect(struct seam_pool *pool, struct seam_stage *stage, uint32_t first, uint32_t count);

/* Adds a stream to those that use the arena. Returns its number, or -1 without memory. */
int seam__stage_user(struct seam_pool *pool, struct seam_stage *stage, struct seam_stream *stream);

/* Whether a request must not have idle memory of the plan, because it is likely to stay. */
bool seam__planned_must_grow(const struct seam_pool *pool, const struct seam_stage *stage, const struct seam_ask *ask);

/* Whether the plan came into use a short time ago: blocks from before it are in the way of some slots. What takes another slot's place then displaces it
 * in turn, for ever where lifetimes are as long as periods; so the pool rather grows for a moment, by no more than those blocks. */
static inline bool seam__planned_settles(const struct seam_pool *pool, const struct seam_stage *stage)
{
	return pool->planning.counts.requests < stage->settled_from && pool->engine.memory.reserved_bytes < stage->settle_bytes;
}

/* Takes the block out of the accounts and the matcher; a closed arena gets its memory back. */
void seam__planned_release(struct seam_pool *pool, struct seam_stage *stage, struct seam_planned *planned);

#endif
