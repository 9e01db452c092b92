/* period.h: which stretch of a trace repeats.
 *
 * A period is a stretch that a program does again, with corresponding frees, and behind which the multiset of live
 * blocks is what it was before it. A stack of equal layers is no period: its activations stay.
 *
 * Where a trace has two marks of steps or more, they are believed: of the whole steps, the newest of the fewest
 * neighbours (one, else two, ...) that are equal to as many before them, if such steps are at least half of all steps
 * behind the first, which holds the program's beginning. Frees of blocks from before the step need only be of equal
 * blocks there, because the first step allocates what others find.
 *
 * Without such marks it is the shift T for which every token equals that T tokens before over the longest part of the
 * trace, two T or more, the smallest T of equals; the period begins where the fewest bytes are live. At least half of
 * the requests must stand in that part, not counting blocks that live through all of it (weights); else it is a loop
 * inside something larger, such as equal blocks of a network's layers, and no period. Half, because two equal
 * iterations between a warm-up and an evaluation, each at most as long as one of them, are that much.
 *
 * Either way a different beginning and a different end (warm-up, a partial step, an evaluation, a checkpoint) do not
 * matter, and requests whose sizes depend on data are not looked at.
 *
 * Not here: lifetimes (slots.h). Pure. No locks.
 */
#ifndef SEAM_PERIOD_H
#define SEAM_PERIOD_H

#include "tokens.h"

struct seam_period {
	uint64_t first_event; /* events [first, last) */
	uint64_t last_event;
	bool linear;     /* it happens once */
	bool same_edges; /* the edges between streams in it stand in its repetition too; else they prove nothing */
};

/* Errors: SEAM_NOT_FOUND (nothing repeats; `error`, which may be NULL, says so), SEAM_OOM_META. O(events). */
SEAM_MUST_USE enum seam_rc seam__period_find(
	const struct seam_tokens *tokens, struct seam_trace_error *error, struct seam_period *ret_period);

/* Events [first, last) as a period. Errors: SEAM_INVALID (no such events, or what is live before and behind them
 * differs; `error`, which may be NULL, says how). */
SEAM_MUST_USE enum seam_rc seam__period_given(const struct seam_tokens *tokens, uint64_t first_event,
	uint64_t last_event, struct seam_trace_error *error, struct seam_period *ret_period);

/* The whole trace, once. */
struct seam_period seam__period_whole(const struct seam_trace *trace);

#endif
