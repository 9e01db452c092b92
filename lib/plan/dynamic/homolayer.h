/* homolayer.h: the dynamic requests of a period with the layers that they live in, out of a trace.
 *
 * A layer is known by its module's name up to the first number in it: "blocks.2" of "blocks.2.feed.experts.57.down";
 * each block of a network has one. An occurrence is a stretch of dynamic requests' events of one layer in which no
 * phase begins or ends, with the events beside it that come from the same part of the layer: what all modules of its
 * dynamic events have in common, "blocks.2.feed.experts". That is the occurrence's name, too.
 *
 * Not here: groups and their space (dynamic.h).
 * Invariant, named by seam__homolayer_check(): HL1 a request lies in its interval, and that in the period and its
 * copies. Everything on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_HOMOLAYER_H
#define SEAM_HOMOLAYER_H

#include "dynamic.h"
#include "slots.h"
#include "strings.h"

struct seam_homolayer {
	struct seam_grow requests; /* struct seam_dynamic_request, in the order of their slots */
	struct seam_grow slots;    /* uint32_t: the slot of each */
	struct seam_strings names; /* of the layers */
};

/* problem_streams: of the static problem. A request that other streams use, or whose stream is none of those, gets
 * SEAM__STREAM_NONE; so do all where the problem's streams are not those of the slots (waits are inserted). O(events of
 * the period + dynamic requests). Errors: SEAM_OOM_META, SEAM_INVALID (too many names). */
SEAM_MUST_USE enum seam_rc seam__homolayer_init(
	const struct seam_period_slots *slots, uint32_t problem_streams, struct seam_homolayer *ret_homolayer);
void seam__homolayer_fini(struct seam_homolayer *homolayer); /* a zeroed one is allowed */

/* Name of the broken invariant, or NULL. */
const char *seam__homolayer_check(const struct seam_homolayer *homolayer, const struct seam_period_slots *slots);

#endif
