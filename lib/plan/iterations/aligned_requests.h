/* aligned_requests.h: what the iterations of one kind have in common: its *aligned requests*, the requests that most of
 * them make.
 *
 * The newest members are laid beside each other. An aligned request is a request of the newest one that at least half
 * of them make. Its size is that of most; where no size is that of most, it depends on data. It is freed where it is
 * most often: before aligned request `gap` of the iteration `lag` further on. A block that the recording frees only in
 * iterations of other kinds goes where one goes that came into the newest member: the one of its rank if there are as
 * many and of the same streams (iterations that differ in sizes leave the same in the same order), else one of its size
 * and stream, else one of another size; where none does, at the beginning of the next. What is never freed is no part
 * of an iteration and left out.
 *
 * Not here: which iterations are alike (iteration_kinds.h); a trace of it (iteration_model.h).
 * Invariants, named by seam__aligned_check():
 *   AL1  a source is a request of a member; each request of a member is in one aligned request at most
 *   AL2  a gap is at most the number of aligned requests, and behind the aligned request itself where the lag is 0
 * Immutable once built. No locks.
 */
#ifndef SEAM_ALIGNED_REQUESTS_H
#define SEAM_ALIGNED_REQUESTS_H

#include "iteration_kinds.h"

#define SEAM__MEMBERS_MAX 16u
#define SEAM__ALIGNED_NONE UINT32_MAX

struct seam_aligned_request {
	uint32_t source; /* request of the recording that stands for it: of the newest member that has the aligned
			  * request's size
			  */
	uint32_t freer;  /* request whose free stands for its free, or SEAM__REQUEST_NONE */
	uint32_t lag;
	uint32_t gap;
	uint32_t order; /* of frees in one gap: the free's event in the newest member, or SEAM__EVENT_NONE */
	bool dynamic;
	bool left_out; /* never freed */
};

struct seam_aligned_requests {
	const struct seam_sequences *sequences;
	uint32_t member_count;
	struct seam_thread_stretch members[SEAM__MEMBERS_MAX]; /* the newest first */
	uint32_t *aligned_request_of[SEAM__MEMBERS_MAX];       /* per request of the member: its aligned request, or
								  SEAM__ALIGNED_NONE */
	uint32_t *gap_behind[SEAM__MEMBERS_MAX]; /* per number of the member's requests: the gap behind so many */
	struct seam_aligned_request *items;
	uint32_t count;
	uint32_t *requests; /* [aligned request][member]: request of the recording, or SEAM__REQUEST_NONE */
	double lacking;     /* requests of a member that no aligned request serves, on average */
};

/* Of kind `kind`, in the region of the sequences. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__aligned_init(
	const struct seam_kinds *kinds, uint32_t kind, struct seam_aligned_requests *ret_aligned);

static inline struct seam_aligned_request *seam__aligned_at(
	const struct seam_aligned_requests *aligned, uint32_t number)
{
	return &aligned->items[number];
}

static inline uint32_t seam__aligned_request(
	const struct seam_aligned_requests *aligned, uint32_t aligned_request, uint32_t member)
{
	return aligned->requests[(size_t)aligned_request * aligned->member_count + member];
}

/* How many aligned requests are not left out. */
uint32_t seam__aligned_count(const struct seam_aligned_requests *aligned);

/* The member that the event lies in, or SEAM__MEMBERS_MAX. */
uint32_t seam__aligned_member(const struct seam_aligned_requests *aligned, uint32_t event);

/* The aligned request of a request, or SEAM__ALIGNED_NONE; ret_member: whose it is, where it has one. */
uint32_t seam__aligned_find(const struct seam_aligned_requests *aligned, uint32_t request, uint32_t *ret_member);

/* Gives lag, gap, freer, order and left_out to the aligned requests (aligned_frees.c). Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__aligned_end(struct seam_aligned_requests *aligned);

/* Name of the first broken invariant, or NULL. */
const char *seam__aligned_check(const struct seam_aligned_requests *aligned);

#endif
