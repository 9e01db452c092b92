/* plan_builder.h: a plan under construction: sections are filled one after another, in any order, then checked as a
 * whole.
 *
 * Not here: what stands in them (pipeline); the file (plan_format.h).
 * Invariant: there are `header.copies` addresses for every slot.
 * No locks: one thread at a time.
 */
#ifndef SEAM_PLAN_BUILDER_H
#define SEAM_PLAN_BUILDER_H

#include <seam/plan.h>

#include "grow.h"
#include "strings.h"

struct seam_plan_builder {
	/* Set by the caller: flags, fingerprint, first_event, last_event, positions, align_bytes, chunk_bytes,
	 * arena_bytes, resident_bytes, lower_bound_bytes, unplaced_bytes, solver, solve_ns. Set by finish: everything
	 * that follows from the sections, lower_bound_chunks, and arena_chunks. */
	struct seam_plan_header header;
	struct seam_grow slots;
	struct seam_grow offsets;
	struct seam_grow streams;
	struct seam_grow waits;    /* struct seam_plan_wait; these and the next ones are filled by the caller */
	struct seam_grow groups;   /* struct seam_plan_group */
	struct seam_grow ranges;   /* struct seam_plan_range */
	struct seam_grow prologue; /* struct seam_plan_prologue */
	struct seam_strings strings;
};

/* An empty plan of `copies` copies (at least 1), whose chunks are 2 MiB and whose addresses are multiples of 512.
 * Errors: SEAM_OOM_META; there is nothing to fini then. */
SEAM_MUST_USE enum seam_rc seam__plan_builder_init(struct seam_plan_builder *builder, uint32_t copies);
void seam__plan_builder_fini(struct seam_plan_builder *builder);

/* Makes room for so many more slots and their addresses: adding them cannot fail then. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_builder_reserve(struct seam_plan_builder *builder, uint32_t slots);

/* Appends the next slot and its address in every copy; `offsets` NULL: SEAM_PLAN_NO_ADDRESS. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_builder_slot(
	struct seam_plan_builder *builder, const struct seam_plan_slot *slot, const uint64_t *offsets);

/* The number of the program's stream, a new one if it was not seen before. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_builder_stream(
	struct seam_plan_builder *builder, uint64_t stream, uint32_t *ret_number);

/* The text's place in the strings; "" is 0. Errors: SEAM_OOM_META, SEAM_INVALID (over 4 GiB in all). */
SEAM_MUST_USE enum seam_rc seam__plan_builder_string(
	struct seam_plan_builder *builder, const char *text, uint32_t *ret_offset);

/* Makes one block of it and checks L0-L5. The builder keeps its content.
 * Errors: SEAM_CORRUPT with `error` (may be NULL) filled: the caller built an impossible plan; SEAM_INVALID (more than
 * 2^32 of something), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_builder_finish(
	struct seam_plan_builder *builder, struct seam_trace_error *error, struct seam_plan **ret_plan);

/* Name of the broken invariant, or NULL. */
const char *seam__plan_builder_check(const struct seam_plan_builder *builder);

#endif
