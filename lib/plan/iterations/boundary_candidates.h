/* boundary_candidates.h: places in a recording without marks that could be where its iterations begin.
 *
 * An *n-gram* is what one thread did in its last few events. Where a program repeats something, most n-grams come
 * again, and those of places that it passes once in an iteration come at like distances; what is inserted here and
 * there breaks only the few n-grams that it stands in. For each order of distance the n-gram that covers most of the
 * recording with like distances is proposed as an *boundary candidate*, of several that cover about as much the one
 * behind which the fewest bytes are live. The same is done for those whose places are equally far apart, because others
 * of a like distance may cover as much by chance; and for those that have been seen only twice: where nearly all of an
 * iteration is made of equal parts, only the few n-grams at its end are its own.
 *
 * Iterations of several shapes (sequence lengths) may have no size in common. What they have is their form: how long
 * each request lives, counted in requests. By that they can be told as well, less surely.
 *
 * Not here: whether what lies between a boundary candidate's places is an iteration (iterations_cut.h). Immutable once
 * built. No locks.
 */
#ifndef SEAM_BOUNDARY_CANDIDATES_H
#define SEAM_BOUNDARY_CANDIDATES_H

#include "thread_sequences.h"

#define SEAM__CANDIDATES_MAX 16u

/* How far apart an n-gram's places are. */
enum seam_ngram_class {
	SEAM__NGRAM_LIKE,  /* about equally, or only some of them */
	SEAM__NGRAM_EXACT, /* equally, to the event or so */
	SEAM__NGRAM_PAIR,  /* there are two, and as much as lies between them stands in front of the first */
	SEAM__NGRAM_CLASSES
};

struct seam_ngram {
	uint64_t hash;
	uint32_t newest; /* number + 1 of the newest occurrence that ends it; 0: empty */
	uint32_t count;
	uint32_t covered; /* events between its places at like distances; of those that are only about like, three
			     quarters */
	uint32_t span;    /* events between its first and its last place */
	enum seam_ngram_class class;
};

struct seam_candidates {
	const struct seam_sequences *sequences;
	struct seam_occurrence *occurrences; /* allocations and frees of requests that do not depend on data */
	uint32_t occurrence_count;
	uint32_t *events; /* of one n-gram, in rising order; scratch */
	uint32_t event_count;
	struct seam_ngram *ngrams; /* open addressing by hash */
	uint32_t slots;            /* a power of two */
	uint64_t *live_bytes;      /* per event: behind it */
};

struct seam_occurrence {
	uint32_t event;
	uint32_t before; /* number + 1 of the occurrence before it that ends the same n-gram */
};

/* In the region of the sequences. by_form: else by sizes. Errors: SEAM_OOM_META. O(events), by form times their
 * logarithm. */
SEAM_MUST_USE enum seam_rc seam__candidates_init(
	const struct seam_sequences *sequences, bool by_form, struct seam_candidates *ret_candidates);

/* Up to SEAM__CANDIDATES_MAX n-grams, by what they cover, the most first. Places are at least `least_events` apart on
 * average. Returns how many. O(events). */
uint32_t seam__candidates_propose(struct seam_candidates *candidates, uint32_t least_events, uint32_t *ret_ngrams);

/* The events behind an n-gram's places, in rising order, in candidates->events. */
void seam__candidates_list(struct seam_candidates *candidates, uint32_t ngram);

#endif
