/* thread_sequences.h: the requests of a recording as sequences, one for each thread, and which requests of two
 * stretches correspond.
 *
 * Threads run beside each other: in what order their requests come differs from iteration to iteration, the order in
 * each of them does not. So stretches are compared thread by thread. Two requests are equal if size, stream and pool
 * are, and if both or neither are freed in their stretch; of one that depends on data the size does not matter. Where
 * one request stands in the place of another, it is the same request with another size.
 *
 * Not here: where stretches begin and end (iterations_cut.h). Immutable once built. No locks.
 */
#ifndef SEAM_THREAD_SEQUENCES_H
#define SEAM_THREAD_SEQUENCES_H

#include "request.h"

#define SEAM__SEQUENCES_BINS 1024u

struct seam_region;

struct seam_sequences {
	struct seam_region *region; /* its own arrays, and those of all that is found in it; see region.h */
	const struct seam_trace *trace;
	const struct seam_traced_requests *requests;
	uint64_t *keys;         /* per request */
	uint32_t *threads;      /* per request: number of its thread, from 0 in order of appearance */
	uint32_t *free_threads; /* per request: number of the thread that frees it */
	uint32_t thread_count;
};

/* Events and requests [first, last) of the recording. */
struct seam_thread_stretch {
	uint32_t first_event;
	uint32_t last_event;
	uint32_t first_request;
	uint32_t last_request;
	bool marked; /* it begins and ends at marks */
};

/* A stretch in order of threads, made for comparing. */
struct seam_sequence {
	struct seam_thread_stretch stretch;
	uint64_t *keys;                      /* per request of the stretch, those of the first thread first */
	uint32_t *numbers;                   /* which request, counted in the stretch */
	uint32_t *thread_first;              /* per thread and one more */
	uint16_t bins[SEAM__SEQUENCES_BINS]; /* keys by hash, saturating: sequences whose bins differ much need no diff
					      */
	uint64_t hash;                       /* of all keys in order */
	uint64_t bytes;                      /* of all requests that do not depend on data */
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__sequences_init(const struct seam_trace *trace,
	const struct seam_traced_requests *requests, struct seam_sequences *ret_sequences);
void seam__sequences_fini(struct seam_sequences *sequences);

/* What only one of two sequences has, or both with other sizes. */
struct seam_difference {
	uint32_t requests;
	uint64_t bytes;
};

/* The stretch of events [first, last). O(log requests). */
struct seam_thread_stretch seam__sequences_stretch(
	const struct seam_sequences *sequences, uint32_t first_event, uint32_t last_event);

/* Number of the first request at or behind `event`. O(log requests). */
uint32_t seam__sequences_request(const struct seam_sequences *sequences, uint32_t event);

static inline uint32_t seam__stretch_count(const struct seam_thread_stretch *stretch)
{
	return stretch->last_request - stretch->first_request;
}

/* In the region. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__sequence_init(const struct seam_sequences *sequences,
	const struct seam_thread_stretch *stretch, struct seam_sequence *ret_sequence);

/* ret_same: per request of `b` the one of `a`, both counted in their stretches, or SEAM__DIFF_NONE; may be NULL; may be
 * written on failure. Errors: SEAM_NOT_FOUND (more than `most` requests differ), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__sequence_compare(const struct seam_sequences *sequences, const struct seam_sequence *a,
	const struct seam_sequence *b, uint32_t most, uint32_t *ret_same, struct seam_difference *ret_difference);

#endif
