/* plan_format.h: between the bytes of a plan file and a struct seam_plan.
 *
 * A plan in memory is its own file image, one block of metadata memory with the sections in the order of the file, so
 * reading is one copy and a check, and writing needs no encoding.
 *
 * Not here: files (plan_file.c), building (plan_builder.h), L0-L5 (plan_check.c, plan_live.c).
 */
#ifndef SEAM_PLAN_FORMAT_H
#define SEAM_PLAN_FORMAT_H

#include <stdbool.h>

#include <seam/plan.h>

/* The sections in the order of the file. */
enum seam_plan_section {
	SEAM__PLAN_SLOTS,
	SEAM__PLAN_OFFSETS,
	SEAM__PLAN_STREAMS,
	SEAM__PLAN_WAITS,
	SEAM__PLAN_GROUPS,
	SEAM__PLAN_RANGES,
	SEAM__PLAN_PROLOGUE,
	SEAM__PLAN_STRINGS,
	SEAM__PLAN_SECTIONS
};

/* Bytes of each section by the counts of `header`. False where they, or the whole file, are over `limit_bytes`. */
SEAM_MUST_USE int seam__plan_measure(
	const struct seam_plan_header *header, uint64_t limit_bytes, uint64_t ret_bytes[SEAM__PLAN_SECTIONS]);

/* A plan of copies of these sections, whose counts stand in `header`; magic, version, sizes and checksums are set here.
 * Its invariants are checked. Errors: SEAM_CORRUPT with `error` (may be NULL) filled, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_create(const struct seam_plan_header *header,
	const void *const sections[SEAM__PLAN_SECTIONS], struct seam_trace_error *error, struct seam_plan **ret_plan);

/* Makes the header say that it is whole: magic, version, size, and header_checksum, over what else stands in it. */
void seam__plan_seal(struct seam_plan_header *header);

/* Is it as it was sealed? Then its counts are those of the plan's arrays. */
SEAM_MUST_USE bool seam__plan_is_sealed(const struct seam_plan_header *header);

/* One block of what the plan's arrays hold, checked. Errors: SEAM_CORRUPT, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plan_copy(const struct seam_plan *plan, struct seam_plan **ret_copy);

/* The file image of a plan that was made or read here, valid as long as it. */
const void *seam__plan_image(const struct seam_plan *plan, size_t *ret_bytes);

/* L0-L5 one by one; see seam_plan_check(). Errors: SEAM_OOM_META, SEAM_CORRUPT with ret_broken set. */
SEAM_MUST_USE enum seam_rc seam__plan_check(
	const struct seam_plan *plan, struct seam_trace_error *error, const char **ret_broken);

/* L0-L4 alone: what may be read without a look at each number, as by whoever judges L5 in his own way. Errors: as
 * above. */
SEAM_MUST_USE enum seam_rc seam__plan_check_records(
	const struct seam_plan *plan, struct seam_trace_error *error, const char **ret_broken);

/* L5 alone, of a plan that holds L0-L4 (plan_live.c). Errors: SEAM_OOM_META, SEAM_CORRUPT. */
SEAM_MUST_USE enum seam_rc seam__plan_check_live(const struct seam_plan *plan, struct seam_trace_error *error);

#endif
