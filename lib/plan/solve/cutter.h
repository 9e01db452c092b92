/* cutter.h: where a problem can be cut: pillars, sets of streams, and segments in time; scratch of part.c.
 *
 * Not here: the parts themselves (part.h). No locks.
 */
#ifndef SEAM_CUTTER_H
#define SEAM_CUTTER_H

#include "part.h"

/* What is known while the parts are cut. */
struct seam_cutter {
	struct seam_parts *parts;
	const struct seam_problem *whole;
	bool together;             /* some item is fixed: no pillars, one stack */
	uint32_t *number;          /* per stream: in the part at hand */
	uint32_t *stack_of_stream; /* per stream: its set, numbered from 0 */
	uint32_t *part_of;         /* per item: its part; SEAM__ITEM_NONE for pillars */
	uint32_t *place_in;        /* per item: its number in its part */
	uint32_t *segment;         /* per position: its segment in time, for the stack at hand */
	uint32_t *part_of_segment; /* per segment: its part, or SEAM__ITEM_NONE */
};

/* Moves what is held from everybody at every position out of the problem, into the parts' pillars: sets part_of. */
void seam__cutter_find_pillars(struct seam_cutter *cutter);

/* Numbers, for one stack, the stretches between boundaries that nothing crosses; chains are not torn. Sets segment.
 * ret_first: where the first one begins. Returns how many there are; 0 where all is one that has no beginning. */
uint32_t seam__cutter_number_segments(const struct seam_cutter *cutter, uint32_t stack, uint32_t *ret_first);

#endif
