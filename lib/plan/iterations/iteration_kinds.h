/* iteration_kinds.h: which stretches of a recording are alike.
 *
 * Each stretch joins the kind whose newest member differs least from it, or begins one. The newest are looked at first.
 * Of the requests, and of the bytes that they ask for, a tenth may differ: other sizes of much of the memory are
 * another workload. What depends on data is planned where the program calls it dynamic.
 *
 * Not here: where stretches begin and end (iterations_cut.h); what members have in common (aligned_requests.h). No
 * locks.
 */
#ifndef SEAM_ITERATION_KINDS_H
#define SEAM_ITERATION_KINDS_H

#include "thread_sequences.h"

#define SEAM__KIND_NONE UINT32_MAX

struct seam_kind {
	struct seam_sequence sequence; /* of the newest member */
	uint32_t newest;               /* its number */
	uint32_t seen;                 /* members */
	uint32_t equal;                /* of them, to the newest, the newest counted */
};

struct seam_kinds {
	const struct seam_sequences *sequences;
	const struct seam_thread_stretch *stretches; /* the caller's, in order of events */
	uint32_t stretch_count;
	uint32_t *kind_of;       /* per stretch: its kind, or SEAM__KIND_NONE: too short */
	struct seam_kind *items; /* newest first */
	uint32_t count;
};

/* In the region of the sequences. stretches: must outlive the kinds. Shorter ones than
 * least_requests have no kind. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__kinds_init(const struct seam_sequences *sequences,
	const struct seam_thread_stretch *stretches, uint32_t stretch_count, uint64_t least_requests,
	struct seam_kinds *ret_kinds);

static inline struct seam_kind *seam__kind_at(const struct seam_kinds *kinds, uint32_t number)
{
	return &kinds->items[number];
}

#endif
