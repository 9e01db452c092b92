/* off_plan.h: dynamic blocks inside their group's interval, and borrowed ones before anything is due in their place, by
 * address.
 *
 * An array, and beside it one of *runs*, in which blocks that touch are one: what is asked most is a walk through all
 * that is taken (best fit), and best fit leaves few gaps. Each block is an overdue block to be: its node is part of it,
 * so that becoming one cannot fail.
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
	struct seam_overdue_block overdue_block; /* in the overdue blocks once the interval has ended */
	struct seam_plan_block plan_block;
};

struct seam_off_plan_entry {
	uint64_t begin;
	uint64_t end;
	uint64_t until; /* position, which runs on, from which on it is an overdue block: its group's interval ends, or
			   something may be due in its place */
	struct seam_off_plan_block *block;
};

/* Blocks without a gap between them. */
struct seam_off_plan_run {
	uint64_t begin;
	uint64_t end;
};

struct seam_off_plan {
	struct seam_off_plan_entry *entries;
	uint32_t count;
	uint32_t capacity;
	struct seam_off_plan_run *runs;
	uint32_t run_count;
	uint32_t run_capacity; /* not less than `capacity` */
	uint64_t until;        /* the least of theirs; UINT64_MAX: none */
	uint32_t at_until;     /* so many have that: blocks of a group have the same */
};

/* Room for one more. False: no memory. */
bool seam__off_plan_reserve(struct seam_off_plan *off_plan, struct seam_meta *meta);

/* Frees the arrays; blocks are somebody else's. */
void seam__off_plan_fini(struct seam_off_plan *off_plan, struct seam_meta *meta);

/* There is room. */
void seam__off_plan_insert(struct seam_off_plan *off_plan, struct seam_off_plan_entry entry);
void seam__off_plan_remove(struct seam_off_plan *off_plan, uint32_t at);

/* The first that ends behind `offset`; count: none. */
uint32_t seam__off_plan_behind(const struct seam_off_plan *off_plan, uint64_t offset);

/* The first run that ends behind `offset`; run_count: none. */
uint32_t seam__off_plan_run_behind(const struct seam_off_plan *off_plan, uint64_t offset);

/* The block that begins at `offset`; count: none. */
uint32_t seam__off_plan_find(const struct seam_off_plan *off_plan, uint64_t offset);

/* Blocks whose time is over at `at` become overdue blocks. */
void seam__off_plan_expire(struct seam_off_plan *off_plan, struct seam_overdue *overdue, uint64_t at);

const char *seam__off_plan_check(const struct seam_off_plan *off_plan);

#endif
