/* off_plan.h: dynamic blocks inside their group's interval, and borrowed ones before anything is due in their place, by
 * address.
 *
 * Each block is an overdue block to be: the node by which it stands here in a tree is the one of that, so becoming one
 * cannot fail. Beside the tree is an array of *runs*, in which blocks that touch are one: best fit walks through all
 * that is taken, and leaves few gaps.
 *
 * Invariant (seam__off_plan_check): they stand in order and do not overlap; runs are as long as can be; `until` is the
 * least of theirs, which `at_until` of them have. No locks.
 */
#ifndef SEAM_OFF_PLAN_H
#define SEAM_OFF_PLAN_H

#include <stdbool.h>

#include "matcher.h"
#include "overdue.h"

struct seam_off_plan_block {
	struct seam_overdue_block node; /* the first member; in `blocks`, later in the tree of overdue blocks */
	struct seam_plan_block plan_block;
	uint64_t until; /* position, which runs on, from which on it is an overdue block: its group's interval ends, or
			   something may be due in its place */
};

/* Blocks without a gap between them. */
struct seam_off_plan_run {
	uint64_t begin;
	uint64_t end;
};

struct seam_off_plan {
	struct seam_overdue blocks; /* by their nodes */
	struct seam_off_plan_run *runs;
	uint32_t run_count;
	uint32_t run_capacity;
	uint64_t until;    /* the least of theirs; UINT64_MAX: none */
	uint64_t at_until; /* so many have that: blocks of a group have the same */
};

/* Room for one more. False: no memory. */
bool seam__off_plan_reserve(struct seam_off_plan *off_plan, struct seam_meta *meta);

/* Frees the array; blocks are somebody else's. */
void seam__off_plan_fini(struct seam_off_plan *off_plan, struct seam_meta *meta);

/* There is room. */
void seam__off_plan_insert(struct seam_off_plan *off_plan, struct seam_off_plan_block *block);
void seam__off_plan_remove(struct seam_off_plan *off_plan, struct seam_off_plan_block *block);

/* The block that begins at `offset`; NULL: none. */
struct seam_off_plan_block *seam__off_plan_find(const struct seam_off_plan *off_plan, uint64_t offset);

/* The first run that ends behind `offset`; run_count: none. */
uint32_t seam__off_plan_run_behind(const struct seam_off_plan *off_plan, uint64_t offset);

/* Blocks whose time is over at `at` become overdue blocks. */
void seam__off_plan_expire(struct seam_off_plan *off_plan, struct seam_overdue *overdue, uint64_t at);

const char *seam__off_plan_check(const struct seam_off_plan *off_plan);

#endif
