/* strays.h: blocks of the arena that no plan speaks for now, by address.
 *
 * Invariant (seam__strays_check): they stand in order, do not overlap, are as many as `count` says, and reach from
 * `from` to `to`. Not here: why a block is a stray, and where its node comes from. No locks.
 */
#ifndef SEAM_STRAYS_H
#define SEAM_STRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree.h"

struct seam_planned;

struct seam_stray {
	RB_ENTRY(seam_stray) link;
	uint64_t begin;
	uint64_t end;
	struct seam_planned *planned;
};

SEAM_TREE_HEAD(seam_stray_tree, struct seam_stray);

struct seam_strays {
	struct seam_stray_tree tree;
	uint64_t count;
	uint64_t from; /* all of them lie in [from, to); both 0: there is none */
	uint64_t to;
};

/* It overlaps none that is there. */
void seam__strays_insert(struct seam_strays *strays, struct seam_stray *stray);
void seam__strays_remove(struct seam_strays *strays, struct seam_stray *stray);

/* The lowest that ends behind `at`; NULL: none. O(log strays). */
struct seam_stray *seam__strays_behind(const struct seam_strays *strays, uint64_t at);

/* The one that begins at `offset`; NULL: none. */
struct seam_stray *seam__strays_find(const struct seam_strays *strays, uint64_t offset);

/* Whether [begin, end) is beside all of them: most that is asked is, though there may be one for ever. */
static inline bool seam__strays_beside(const struct seam_strays *strays, uint64_t begin, uint64_t end)
{
	return begin >= strays->to || end <= strays->from;
}

/* Whether one lies in [begin, end). */
static inline bool seam__strays_overlap(const struct seam_strays *strays, uint64_t begin, uint64_t end)
{
	if (__builtin_expect(seam__strays_beside(strays, begin, end), 1))
		return false;
	const struct seam_stray *stray = seam__strays_behind(strays, begin);
	return stray != NULL && stray->begin < end;
}

/* In order of address; NULL at the end. */
struct seam_stray *seam__strays_first(const struct seam_strays *strays);
struct seam_stray *seam__strays_next(struct seam_stray *stray);

const char *seam__strays_check(const struct seam_strays *strays);

#endif
