/* overdue.h: blocks of the arena that no plan speaks for now, by address.
 *
 * Invariant (seam__overdue_check): they stand in order, do not overlap, are as many as `count` says, and reach from
 * `from` to `to`. Not here: why a block is an overdue block, and where its node comes from. No locks.
 */
#ifndef SEAM_OVERDUE_H
#define SEAM_OVERDUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

struct seam_plan_block;

struct seam_overdue_block {
	RB_ENTRY(seam_overdue_block) link;
	uint64_t begin;
	uint64_t end;
	struct seam_plan_block *plan_block;
};

SEAM_TREE_HEAD(seam_overdue_tree, struct seam_overdue_block);

struct seam_overdue {
	struct seam_overdue_tree tree;
	uint64_t count;
	uint64_t from; /* all of them lie in [from, to); both 0: there is none */
	uint64_t to;
};

/* It overlaps none that is there. */
void seam__overdue_insert(struct seam_overdue *overdue, struct seam_overdue_block *overdue_block);
void seam__overdue_remove(struct seam_overdue *overdue, struct seam_overdue_block *overdue_block);

/* The lowest that ends behind `at`; NULL: none. O(log overdue blocks). */
struct seam_overdue_block *seam__overdue_behind(const struct seam_overdue *overdue, uint64_t at);

/* The one that begins at `offset`; NULL: none. */
struct seam_overdue_block *seam__overdue_find(const struct seam_overdue *overdue, uint64_t offset);

/* Whether [begin, end) is beside all of them: most that is asked is, though there may be one for ever. */
static inline bool seam__overdue_beside(const struct seam_overdue *overdue, uint64_t begin, uint64_t end)
{
	return begin >= overdue->to || end <= overdue->from;
}

/* Whether one lies in [begin, end). */
static inline bool seam__overdue_overlap(const struct seam_overdue *overdue, uint64_t begin, uint64_t end)
{
	if (__builtin_expect(seam__overdue_beside(overdue, begin, end), 1))
		return false;
	const struct seam_overdue_block *overdue_block = seam__overdue_behind(overdue, begin);
	return overdue_block != NULL && overdue_block->begin < end;
}

/* In order of address; NULL at the end. */
struct seam_overdue_block *seam__overdue_first(const struct seam_overdue *overdue);
struct seam_overdue_block *seam__overdue_next(struct seam_overdue_block *overdue_block);

const char *seam__overdue_check(const struct seam_overdue *overdue);

#endif
