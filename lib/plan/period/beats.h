/* beats.h: a trace as a row of beats: what repeats in it, in a form in which two of them are equal when a program did
 * the same again.
 *
 * A beat is an allocation, a free, or a use by another stream, of a request whose size does not depend on data. Its key
 * says what was done (kind, size, stream, pool, thread), its `back` how many allocations ago the block was allocated.
 * So a free in one iteration equals that of the iteration before if it frees the corresponding block, even one of an
 * earlier iteration. Allocations are counted, not beats: the first iterations of a program ask for what the later ones
 * ask for, but they do not free what those free. `state` is a sum over the blocks live behind a beat of a hash of size
 * and stream: two places of equal state have the same multiset of blocks live (but for one chance in 2^64).
 *
 * Not here: what repeats (period.h).
 * Immutable once built; on the process-wide metadata domain. No locks.
 */
#ifndef SEAM_BEATS_H
#define SEAM_BEATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

#include "request.h"

struct seam__beat {
	uint64_t key;
	uint64_t state;  /* behind it */
	uint32_t event;  /* in the trace */
	uint32_t back;   /* allocations since and with the block's own; 0 for an allocation */
	uint32_t allocs; /* allocations before this beat */
};

struct seam__beats {
	struct seam_grow items;  /* struct seam__beat */
	struct seam_grow allocs; /* uint32_t: numbers of the beats that are allocations */
};

/* O(events). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__beats_init(
	const struct seam_trace *trace, const struct seam__requests *requests, struct seam__beats *ret_beats);
void seam__beats_fini(struct seam__beats *beats); /* a zeroed one is allowed */

static inline const struct seam__beat *seam__beats_at(const struct seam__beats *beats, uint32_t number)
{
	return (const struct seam__beat *)beats->items.items + number;
}

static inline uint32_t seam__beats_count(const struct seam__beats *beats)
{
	return (uint32_t)beats->items.count;
}

/* The state before beat `number`, which may be the count. */
static inline uint64_t seam__beats_state(const struct seam__beats *beats, uint32_t number)
{
	return number == 0 ? 0 : seam__beats_at(beats, number - 1)->state;
}

/* Allocations before beat `number`, which may be the count. */
static inline uint32_t seam__beats_allocs(const struct seam__beats *beats, uint32_t number)
{
	return number < beats->items.count ? seam__beats_at(beats, number)->allocs : (uint32_t)beats->allocs.count;
}

/* The number, among the allocations, of that of the beat's block. */
static inline uint32_t seam__beats_origin(const struct seam__beats *beats, uint32_t number)
{
	return seam__beats_at(beats, number)->allocs - seam__beats_at(beats, number)->back;
}

/* The beat of an allocation. */
static inline const struct seam__beat *seam__beats_alloc(const struct seam__beats *beats, uint32_t alloc)
{
	return seam__beats_at(beats, ((const uint32_t *)beats->allocs.items)[alloc]);
}

/* The number of beats before `event`. O(log beats). */
uint32_t seam__beats_before(const struct seam__beats *beats, uint64_t event);

/* Whether two beats do the same to corresponding blocks. */
static inline bool seam__beats_equal(const struct seam__beats *beats, uint32_t a, uint32_t b)
{
	const struct seam__beat *left = seam__beats_at(beats, a);
	const struct seam__beat *right = seam__beats_at(beats, b);

	return left->key == right->key && left->back == right->back;
}

/* Two hashes as one. */
uint64_t seam__beats_mix(uint64_t a, uint64_t b);

#endif
