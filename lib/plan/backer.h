/* backer.h: gives chunks to the cells of a placement, in order of time, as intervals are coloured.
 *
 * A cell of the plain part keeps the chunk of its column where it can; one of a column above takes a chunk that is idle
 * for as long, and only when there is none one whose column will want it before: that cell then looks for another in
 * its turn. What an item needs follows: where the chunks of its columns are neighbours it has a plain address, else a
 * view.
 *
 * Not here: how many chunks, what comes of it (backing.c). No locks: one thread at a time.
 */
#ifndef SEAM_BACKER_H
#define SEAM_BACKER_H

#include <stdint.h>

#include <seam/rc.h>

#include "cells.h"
#include "solver.h"
#include "views.h"

#define SEAM__CHUNK_NONE UINT32_MAX

struct seam__column {
	uint32_t next;   /* cell that begins next */
	uint32_t until;  /* end of the cell that began last; SEAM__CHUNK_NONE: pinned */
	uint32_t chunk;  /* of that cell */
	uint32_t around; /* chunk of the cell that crosses the cut; SEAM__CHUNK_NONE: there is none */
	uint32_t before; /* the last chunk that was not its own; SEAM__CHUNK_NONE: none yet. Equal choices make equal
			    views */
};

struct seam__chunk {
	uint32_t reserved; /* from then on it belongs to a cell that crosses the cut */
	uint32_t wanted;   /* when the column of the same number has its next cell; the circle: no more */
	uint32_t widest;   /* valid while wanted is no circle: the item in that cell that has the most columns */
	uint32_t width;    /* so many */
};

/* Which chunk to take when none is idle for long enough. Neither is better everywhere: both are tried. */
enum seam__policy {
	SEAM__WANTED_LAST, /* what its own column will want last */
	SEAM__LEAST_LOSS   /* what costs the shortest view */
};

struct seam__backer {
	const struct seam__problem *problem;
	struct seam__budget *budget;
	enum seam__policy policy;
	struct seam__cells cells;
	uint32_t base;     /* chunks that back the columns of their number: the plain part */
	uint32_t physical; /* chunks */
	uint32_t room;     /* chunks that fit: as many as columns. More would not help */
	struct seam__column *columns;
	struct seam__chunk *chunks;
	uint32_t *free_at; /* per chunk: in use until then. Apart from the rest because it is what searches look at */
	uint32_t *missing; /* scratch: columns of the item at hand whose cell begins now */
	uint32_t missing_count;
	uint32_t *list;  /* scratch: chunks of an item */
	uint8_t *robbed; /* per item: has lost a chunk, and needs a view */
	struct seam__views views;
	uint64_t *offsets; /* per item; what needs a view gets its own at the end */
};

/* Gives chunks to all cells, from the start. Fills offsets and views; physical grows where the circle needs more.
 * Errors: SEAM_NOT_FOUND (no use: it would take `room` chunks, or the budget is spent), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__backer_run(struct seam__backer *backer);

#endif
