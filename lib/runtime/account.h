/* account.h: the processor time that plans may cost the program's threads.
 *
 * A plan that the program follows costs less than no plan. Where the program departs from it there is work that it
 * would not do without a plan: which slot a request is, where a missed one may lie, what may be lent, and where in the
 * period a plan goes on. That work is counted in steps of some 80 instructions. Every request of the pool earns a few
 * steps, about a fifth of what it takes, and a hit what it saves as well. A memory call of the driver earns a fifth of
 * what it takes too, but while a learnt plan serves it costs as much: what is missed then is stitched out of what is
 * lent, and goes back with its free, so that the next one is stitched anew. It does not matter who makes the call:
 * while a plan is prepared the engine has more to do as well. A plan is told where the program is only if what that
 * takes is there, and a learnt one is suspended at the first miss that finds less than nothing. So a learnt plan that
 * serves too little for what it costs waits for as long as it takes to earn it, and costs about a fifth more than no
 * plan. One that was given may overdraw the account.
 *
 * Not here: the worker's time; when a plan departs (suspend.c); what the engine does for a missed request.
 *
 * Invariant: Q11 of planned.h.
 * Locks: the engine's `lock`.
 */
#ifndef SEAM_ACCOUNT_H
#define SEAM_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define SEAM_EARNED_STEPS 4   /* by a request: a fifth of its 1,600 instructions */
#define SEAM_HIT_STEPS 8      /* by a hit: what it and its free take less than the engine would */
#define SEAM_CALL_STEPS 5     /* by a driver call, or for one: a fifth of 2,000 instructions, on the emulated device */
#define SEAM_CHOICE_STEPS 28u /* a choice between candidates takes 2,200 instructions at the median */
#define SEAM_HEAR_STEPS 4u    /* a request that a matcher is told of and expects takes 300 */
#define SEAM_FIRST_STEPS 8192 /* of a pool: a plan of a short period need not wait */
#define SEAM_MOST_STEPS 64    /* for each request of a period: what 16 periods earn, and no telling takes more */

/* Counts that earn steps, or cost them. */
struct seam_earnings {
	uint64_t requests; /* of the pool */
	uint64_t hits;     /* of plans */
	uint64_t calls;    /* of the driver: SEAM_DRV_MEMORY */
};

struct seam_account {
	int64_t steps;                /* earned and not spent; below 0: overdrawn */
	struct seam_earnings counted; /* that is in them */
};

static inline struct seam_account seam__account_make(void)
{
	return (struct seam_account){.steps = SEAM_FIRST_STEPS};
}

/* The most that is kept with a plan of so many slots. */
static inline int64_t seam__account_most(uint64_t slots)
{
	return SEAM_MOST_STEPS * (int64_t)slots;
}

/* So much has earned by now, and so many steps were spent since the last time, by a plan of so many slots. calls_cost:
 * so do the driver's calls since then. */
void seam__account_add(struct seam_account *account, const struct seam_earnings *now, bool calls_cost,
	uint64_t spent_steps, uint64_t slots);

#endif
