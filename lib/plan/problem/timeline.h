/* timeline.h: the positions of a problem that matter for conflicts, and which of them each item covers.
 *
 * Two items conflict when one begins while the other is held from it. So only positions where something begins count.
 * They are numbered as columns, in a lane for each stream that has items; an item covers, in every lane, the columns of
 * the requests that may not have its memory: one run of columns, which may go around the end of the lane. Item i
 * conflicts with item j when i covers the column of j, or j that of i. That is exact, holds and circles included, and
 * it is all that structures over time need: see gaps.h and skyline.h.
 *
 * Where holds do not matter (there is one stream, or every hold is the span) there is one lane, and begins without an
 * end between them share a column.
 *
 * Not here: addresses.
 *
 * Invariants (seam__timeline_check)
 *   TL1  every item's column lies in its lane
 *   TL2  an item covers its own column
 *   TL3  no cover is longer than its lane
 *
 * Immutable once made. No locks.
 */
#ifndef SEAM_TIMELINE_H
#define SEAM_TIMELINE_H

#include <stdint.h>

#include <seam/rc.h>

#include "problem.h"

/* A run of columns of one lane: `first`, `first` + 1, ... modulo the lane's columns. */
struct seam_cover {
	uint32_t first; /* below the lane's columns, or 0 */
	uint32_t count; /* up to the lane's columns; 0 where nothing of the lane may not share */
};

struct seam_timeline {
	const struct seam_problem *problem;
	uint32_t lanes;            /* 1 or more */
	uint32_t *lane_starts;     /* lanes + 1 values: columns of lane l are [start l, start l + 1) in one numbering */
	uint32_t *item_lanes;      /* per item; NULL when there is one lane */
	struct seam_cover *covers; /* [item * lanes + lane] */
};

/* In the problem's region; the problem has items. Errors: SEAM_OOM_META. O((n + lanes) log n + n * lanes * log n). */
SEAM_MUST_USE enum seam_rc seam__timeline_init(struct seam_timeline *timeline, const struct seam_problem *problem);

/* The same with one lane for all streams: an item covers what any stream must not have. */
SEAM_MUST_USE enum seam_rc seam__timeline_init_longest(
	struct seam_timeline *timeline, const struct seam_problem *problem);

static inline uint32_t seam__timeline_lane(const struct seam_timeline *timeline, uint32_t item)
{
	return timeline->item_lanes == NULL ? 0 : timeline->item_lanes[item];
}

static inline uint32_t seam__timeline_columns(const struct seam_timeline *timeline, uint32_t lane)
{
	return timeline->lane_starts[lane + 1] - timeline->lane_starts[lane];
}

static inline const struct seam_cover *seam__timeline_cover(
	const struct seam_timeline *timeline, uint32_t item, uint32_t lane)
{
	return &timeline->covers[(size_t)item * timeline->lanes + lane];
}

/* The item's own column, in its lane. */
static inline uint32_t seam__timeline_column(const struct seam_timeline *timeline, uint32_t item)
{
	return seam__timeline_cover(timeline, item, seam__timeline_lane(timeline, item))->first;
}

const char *seam__timeline_check(const struct seam_timeline *timeline);

/* The nodes of a bottom-up tree over a lane's columns. A tree over n columns has nodes 1 .. 2n - 1; leaf c is n + c,
 * the parent of v is v / 2. A cover is the disjoint union of the leaves below at most 4 log n nodes: walk them with
 *     for (seam__walk_begin(&walk, cover, columns); seam__walk_next(&walk, &node);) ...
 * Exactly one of them is an ancestor (or is itself) of each leaf covered. */
struct seam_walk {
	uint32_t left, right; /* of the run at hand, as nodes; the run is empty when they are equal */
	uint32_t more;        /* the end of the second run, as a column: it begins at 0 */
	uint32_t columns;
};

static inline void seam__walk_begin(struct seam_walk *walk, const struct seam_cover *cover, uint32_t columns)
{
	uint32_t room = columns - cover->first;
	uint32_t here = cover->count < room ? cover->count : room;

	walk->columns = columns;
	walk->left = columns + cover->first;
	walk->right = walk->left + here;
	walk->more = cover->count - here;
}

static inline bool seam__walk_next(struct seam_walk *walk, uint32_t *ret_node)
{
	for (;;) {
		while (walk->left < walk->right) {
			/* A node that is a right child has no partner on its left: take it. The same for the right end.
			 */
			if ((walk->left & 1) != 0) {
				*ret_node = walk->left++;
				return true;
			}
			if ((walk->right & 1) != 0) {
				*ret_node = --walk->right;
				return true;
			}
			walk->left >>= 1;
			walk->right >>= 1;
		}
		if (walk->more == 0)
			return false;
		walk->left = walk->columns;
		walk->right = walk->columns + walk->more;
		walk->more = 0;
	}
}

#endif
