/* unaligned_requests.h: requests that the newest member of a kind lacks, and which of them most other members have.
 *
 * Not here: who lacks what (aligned_requests.h). Pure. No locks.
 */
#ifndef SEAM_UNALIGNED_REQUESTS_H
#define SEAM_UNALIGNED_REQUESTS_H

#include <stdint.h>

#include "grow.h"

struct seam_unaligned_request {
	uint64_t key;
	uint32_t place; /* behind so many requests of the newest member */
	uint32_t thread;
	uint32_t index;   /* among its member's unaligned requests of the thread at the place */
	uint32_t ordinal; /* among those with that key: filled in here */
	uint32_t member;
	uint32_t request; /* of the recording */
};

/* The same unaligned request of several members: [first, first + count) of the sorted unaligned requests, the newest
 * member's first. */
struct seam_unaligned_group {
	uint32_t place;
	uint32_t thread;
	uint32_t index; /* of the first */
	uint32_t first;
	uint32_t count;
};

/* Sorts the unaligned requests (struct seam_unaligned_request), and appends the groups that more than half of the
 * members have, in order of their places. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__unaligned_choose(
	struct seam_grow *unaligned, uint32_t member_count, struct seam_grow *ret_groups);

#endif
