/* cells.h: when each column of a placement is in use. A column is one chunk of its address space; a cell is a column
 * for as long as it is in use without a pause.
 *
 * A chunk of memory is needed per cell, not per column: the largest number of cells at one time, `busiest`, is how many
 * chunks this placement needs when a column need not have the same chunk all the time. On a line that many are enough
 * (cells are intervals); on a circle nearly so.
 *
 * Time here is counted from a cut, the position where least is live, so that what crosses it, and is in use at both
 * ends, is as little as can be. Columns that must keep to themselves are pinned: where something has an address or a
 * link, and where anything stands of another stream than the busiest one.
 *
 * Not here: which chunk a cell gets (backing.c).
 * Invariants, named by seam__cells_check(): E1 the cells of a column ascend and are disjoint; E2 every item lies in
 * cells, in all of its columns; E3 busiest is the largest number of cells and pinned columns at one time. Immutable
 * once built. No locks.
 */
#ifndef SEAM_CELLS_H
#define SEAM_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "problem.h"

struct seam__cell {
	uint32_t begin; /* from the cut: [begin, end) */
	uint32_t end;
	uint32_t widest; /* item in it that has the most columns */
};

struct seam__cells {
	const struct seam__problem *problem;
	const uint64_t *offsets;
	uint64_t chunk_bytes;
	uint32_t column_count;
	uint32_t cut;
	uint32_t stream; /* the only one that stands on columns that are not pinned */
	uint32_t busiest;
	uint32_t *order; /* items by begin, from the cut on */
	uint32_t *first; /* per column, and one more: its cells are [first[c], first[c + 1]) */
	struct seam__cell *cells;
	uint32_t cell_room; /* cells that fit */
	uint8_t *pinned;    /* per column */
	uint8_t *crossing;  /* per column: its first cell begins at the cut because its last one crosses it */
};

/* offsets, of `peak_bytes`, must stay as they are while this lives. O(columns of all items + n log n).
 * Errors: SEAM_OOM_META (also for more than 2^31 cells); there is nothing to fini then. */
SEAM_MUST_USE enum seam_rc seam__cells_init(struct seam__cells *cells, const struct seam__problem *problem,
	const uint64_t *offsets, uint64_t peak_bytes, uint64_t chunk_bytes);
void seam__cells_fini(struct seam__cells *cells);

/* Positions from the cut to the item's begin. */
static inline uint32_t seam__cells_begin(const struct seam__cells *cells, uint32_t item)
{
	return seam__problem_distance(cells->problem, cells->cut, cells->problem->items[item].begin);
}

/* Is the item live at both sides of the cut? */
static inline bool seam__cells_crosses(const struct seam__cells *cells, uint32_t item)
{
	return cells->problem->items[item].span > cells->problem->circle - seam__cells_begin(cells, item);
}

static inline uint32_t seam__cells_first_column(const struct seam__cells *cells, uint32_t item)
{
	return (uint32_t)(cells->offsets[item] / cells->chunk_bytes);
}

static inline uint32_t seam__cells_last_column(const struct seam__cells *cells, uint32_t item)
{
	return (uint32_t)((cells->offsets[item] + cells->problem->items[item].size_bytes - 1) / cells->chunk_bytes);
}

static inline uint32_t seam__cells_width(const struct seam__cells *cells, uint32_t item)
{
	return seam__cells_last_column(cells, item) - seam__cells_first_column(cells, item) + 1;
}

/* Name of the first broken invariant, or NULL. O(circle * columns): for tests. */
const char *seam__cells_check(const struct seam__cells *cells);

#endif
