/* rhythm_anchor.h: places in a recording without marks that could be where its iterations begin.
 *
 * A *gram* is what one thread did in its last few events. Where a program repeats something, most grams come again, and
 * those of places that it passes once in an iteration come at like distances; what is inserted here and there breaks
 * only the few grams that it stands in. For each order of distance the gram that covers most of the recording with like
 * distances is proposed as an *anchor*, of several that cover about as much the one behind which the fewest bytes are
 * live. The same is done for those whose places are equally far apart, because others of a like distance may cover as
 * much by chance; and for those that have been seen only twice: where nearly all of an iteration is made of equal
 * parts, only the few grams at its end are its own.
 *
 * Iterations of several shapes (sequence lengths) may have no size in common. What they have is their form: how long
 * each request lives, counted in requests. By that they can be told as well, less surely.
 *
 * Not here: whether what lies between an anchor's places is an iteration (rhythm_cut.h). Immutable once built. No
 * locks.
 */
#ifndef SEAM_RHYTHM_ANCHOR_H
#define SEAM_RHYTHM_ANCHOR_H

#include "rhythm_rows.h"

#define SEAM__ANCHORS_MAX 16u

/* How far apart a gram's places are. */
enum seam__gram_class {
	SEAM__GRAM_LIKE,  /* about equally, or only some of them */
	SEAM__GRAM_EXACT, /* equally, to the event or so */
	SEAM__GRAM_PAIR,  /* there are two, and as much as lies between them stands in front of the first */
	SEAM__GRAM_CLASSES
};

struct seam__gram {
	uint64_t hash;
	uint32_t newest; /* number + 1 of the newest token that ends it; 0: empty */
	uint32_t count;
	uint32_t covered; /* events between its places at like distances; of those that are only about like, three
			     quarters */
	uint32_t span;    /* events between its first and its last place */
	enum seam__gram_class class;
};

struct seam__anchors {
	const struct seam__rows *rows;
	struct seam_grow tokens;  /* struct seam__token: allocations and frees of requests that do not depend on data */
	struct seam_grow events;  /* uint32_t: of one gram, in rising order; scratch */
	struct seam__gram *grams; /* open addressing by hash */
	uint32_t slots;           /* a power of two */
	uint64_t *live_bytes;     /* per event: behind it */
};

struct seam__token {
	uint32_t event;
	uint32_t before; /* number + 1 of the token before it that ends the same gram */
};

/* by_form: else by sizes. Errors: SEAM_OOM_META. O(events), by form times their logarithm. */
SEAM_MUST_USE enum seam_rc seam__anchors_init(
	const struct seam__rows *rows, bool by_form, struct seam__anchors *ret_anchors);
void seam__anchors_fini(struct seam__anchors *anchors); /* a zeroed one is allowed */

/* Up to SEAM__ANCHORS_MAX grams, by what they cover, the most first; none has a place among `taken` events (a byte for
 * each). Places are at least `least_events` apart on average. O(events). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__anchors_propose(struct seam__anchors *anchors, const uint8_t *taken,
	uint32_t least_events, uint32_t *ret_grams, uint32_t *ret_count);

/* The events behind a gram's places, in rising order, in anchors->events. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__anchors_list(struct seam__anchors *anchors, uint32_t gram);

#endif
