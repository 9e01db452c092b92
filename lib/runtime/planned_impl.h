/* planned_impl.h: what the files behind planned.h share. With the engine's `lock`. */
#ifndef SEAM_PLANNED_IMPL_H
#define SEAM_PLANNED_IMPL_H

#include "planned.h"

/* The first active plan, which is open. */
static inline struct seam_active_plan *seam__active_open(const struct seam_runtime *runtime)
{
	return LIST_FIRST(&runtime->active_plans);
}

/* Whether this active plan, or one behind it, has blocks that were freed while other streams used them. NULL: there is
 * none.
 */
static inline bool seam__active_hold(const struct seam_active_plan *active)
{
	while (active != NULL && active->held_count == 0)
		active = LIST_NEXT(active, link);
	return active != NULL;
}

/* Blocks what is not leased of the chunks from `first` on. Errors: SEAM_OOM_META: some of it is not, and the arena is
 * to be closed. */
SEAM_MUST_USE enum seam_rc seam__active_block_from(
	const struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t first);

/* Leases what has become free in chunks [first, first + count). Returns the bytes; the active plan may have been
 * dropped if it is 0. */
uint64_t seam__active_collect(
	struct seam_runtime *runtime, struct seam_active_plan *active, uint32_t first, uint32_t count);

/* Adds a stream to those that use the arena. Returns its number, or -1 without memory. */
int seam__active_user(struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_stream *stream);

/* Forgets them all: the active plan goes. */
void seam__active_forget_users(struct seam_runtime *runtime, struct seam_active_plan *active);

/* Orders the stream behind all that had the bytes [begin, end) of the arena before. False: that failed, and the stream
 * must not have them. */
bool seam__active_order(struct seam_runtime *runtime, struct seam_active_plan *active, uint64_t begin, uint64_t end,
	struct seam_stream *stream);

/* The block is freed, and so are `others` done with it: bits of their numbers. Who gets its memory is ordered behind
 * them. */
void seam__active_note_use(struct seam_runtime *runtime, struct seam_active_plan *active,
	const struct seam_plan_block *plan_block, uint64_t others);

/* The block is freed, and other streams may use it still. True: who gets its memory is ordered behind them, so it is
 * gone. */
bool seam__active_let_go(
	struct seam_runtime *runtime, struct seam_active_plan *active, struct seam_plan_block *plan_block);

/* Requests so far that a plan was to serve, and whose size does not depend on data. */
static inline uint64_t seam__planned_asked(const struct seam_planned_counts *counts)
{
	return counts->requests - counts->misses[SEAM_MISS_dynamic] - counts->misses[SEAM_MISS_suspended] -
		counts->misses[SEAM_MISS_request];
}

/* What it serves counts from here on. */
static inline void seam__active_judge_anew(const struct seam_runtime *runtime, struct seam_active_plan *active)
{
	active->judged_asked = seam__planned_asked(&runtime->counts);
	active->judged_hits = runtime->counts.hits;
	active->poor = 0;
}

/* So many requests more that are not among the first ones than are: the program is another one. */
#define SEAM_PROLOGUE_STRANGERS 16u
/* So many of the first requests are passed over at most, where the program leaves some out. */
#define SEAM_PROLOGUE_WINDOW 8u

/* What is kept of the first requests goes; the places are somebody else's. */
void seam__prologue_forget(struct seam_runtime *runtime);

/* No loaded plan knows the request: the active plan may be suspended. */
void seam__active_depart(struct seam_runtime *runtime, struct seam_active_plan *active);

/* A request was missed: a learnt active plan is suspended if the account is overdrawn, and goes on when twice as much
 * is there as the last time, or all that is kept. */
void seam__active_charge(struct seam_runtime *runtime, struct seam_active_plan *active);

/* The program does something else, or the plan costs too much: the active plan is suspended. */
void seam__active_suspend(struct seam_runtime *runtime, struct seam_active_plan *active);

/* A request was missed. Behind each period of requests that the plan was asked for, its misses are counted; it is
 * dropped if they were too many twice in a row. True: it has been. */
bool seam__active_judge(struct seam_runtime *runtime, struct seam_active_plan *active);

/* The open active plan serves, and was learnt. One that was given is not charged (suspend.c). */
static inline bool seam__active_is_charged(const struct seam_active_plan *active)
{
	return !active->suspended && active->made_at != UINT64_MAX;
}

/* The account knows what the open active plan has earned and spent. */
void seam__active_pay(struct seam_runtime *runtime, struct seam_active_plan *active);

/* A request comes while the active plan is suspended. True: it serves again. The active plan may have been dropped if
 * not. */
bool seam__active_resume(struct seam_runtime *runtime, struct seam_active_plan *active);

/* The open active plan, if a request on the stream may have what it leaves idle; else NULL: with plan_reuse other than
 * stitch; where the program was to ask for something that stays, as what it asks for may stay itself; with reuse:own,
 * if another stream uses the arena too, for it would have to be waited for. */
struct seam_active_plan *seam__planned_lender(const struct seam_runtime *runtime, const struct seam_stream *stream);

/* For qsort(): struct seam_plan_range by where they begin. */
static inline int seam__ranges_compare(const void *left, const void *right)
{
	const struct seam_plan_range *a = left, *b = right;
	return (a->begin_bytes > b->begin_bytes) - (a->begin_bytes < b->begin_bytes);
}

/* The arena was closed, or its plan suspended: what lies beside its live blocks, in the same chunks, goes back to the
 * engine. O(slots * copies). Without metadata it goes with those. */
void seam__active_give_parts(struct seam_runtime *runtime, struct seam_active_plan *active);

/* What a block of a closed or suspended arena had goes back. */
void seam__active_give_back(
	struct seam_runtime *runtime, struct seam_active_plan *active, uint64_t offset, uint64_t bytes);

/* Takes the block out of the accounts and the matcher; the engine gets back what a closed or suspended arena had of it.
 * others: see seam__active_note_use(). */
void seam__planned_release(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_plan_block *plan_block, uint64_t others);

#endif
