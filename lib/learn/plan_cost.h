/* plan_cost.h: whether a plan would take memory that the pool does not take without it.
 *
 * One rule: before a plan comes into use it is known how much the pool holds and how much more the plan needs with the
 * residents as they lie. A plan that would take more than the program does without a plan is not adopted. One that
 * takes as much is adopted: it saves time.
 *
 * A learnt plan is compared with the peak of what the pool has reserved and a 1,024th of it, less what learnt plans
 * have added to that peak before; or with the most bytes that were live and the share that the engine loses of that,
 * where that is more: a pool that happens to lose less is no reason to go without a plan.
 *
 * What a plan costs in the end is known only then: its first period finds blocks of before in the places of its slots,
 * and a program that departs from it leaves blocks where the engine would not have put them. Nothing of that can be
 * undone, for a live block does not move. So the device has to have room for it: where it has not, nothing is learnt,
 * and a program runs in the memory that it needs without a plan.
 *
 * A given plan is there before the program has run. It is compared with the most bytes that are live at once by its own
 * account, residents included, and that share; if it had to wait, with what the pool has reserved, and that share of
 * it, too.
 *
 * Not here: what has come to lie in its place before it starts (lib/runtime/suspend.c); for what the pool may grow
 * beside an open plan (seam__planned_lender).
 *
 * Pure.
 */
#ifndef SEAM_PLAN_COST_H
#define SEAM_PLAN_COST_H

#include <stdint.h>

/* Bytes that a pool without a plan needs for blocks of which so many bytes live at once; at least two chunks more
 * (chunk_bytes 0: without those). */
uint64_t seam__plan_cost_without(uint64_t live_bytes, uint64_t chunk_bytes);

/* Bytes that a pool may have with a learnt plan, which has reserved and had live so many at its peaks without one. */
uint64_t seam__plan_cost_limit(uint64_t reserved_peak_bytes, uint64_t live_peak_bytes);

/* Bytes that there have to be for a pool that has reserved so many at its peak, if it is to learn a plan. */
uint64_t seam__plan_cost_room(uint64_t reserved_peak_bytes);

#endif
