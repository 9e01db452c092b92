/* snapshot_fields.h: takes the wanted fields out of a dict of a snapshot, in one pass over its keys.
 *
 * For torch_snapshot.c only. No state, no locks.
 */
#ifndef SEAM_TORCH_FIELDS_H
#define SEAM_TORCH_FIELDS_H

#include "pickle.h"

/* Every key that is read anywhere in a snapshot. */
enum seam_field {
	SEAM_FIELD_ACTION,
	SEAM_FIELD_ADDR,
	SEAM_FIELD_ADDRESS,
	SEAM_FIELD_BLOCKS,
	SEAM_FIELD_DEVICE,
	SEAM_FIELD_DEVICE_TRACES,
	SEAM_FIELD_EXTERNAL_ANNOTATIONS,
	SEAM_FIELD_HISTORY,
	SEAM_FIELD_NAME,
	SEAM_FIELD_POOL_ID,
	SEAM_FIELD_REAL_SIZE,
	SEAM_FIELD_REQUESTED_SIZE,
	SEAM_FIELD_SEGMENT_POOL_ID,
	SEAM_FIELD_SEGMENTS,
	SEAM_FIELD_SIZE,
	SEAM_FIELD_STAGE,
	SEAM_FIELD_STATE,
	SEAM_FIELD_STREAM,
	SEAM_FIELD_TIME_US,
	SEAM_FIELD_TOTAL_SIZE,
	SEAM_FIELD_USER_METADATA,
	SEAM_FIELD_COUNT
};

struct seam_fields {
	const struct seam_pickle *pickle;
	struct seam_pickle_value values[SEAM_FIELD_COUNT];
	bool has[SEAM_FIELD_COUNT];
};

/* False where `dict` is no dict, or the walk's budget is spent. */
bool seam__fields_read(struct seam_pickle_walk *walk, struct seam_pickle_value dict, struct seam_fields *ret_fields);

/* A number of 64 bits; a negative one keeps its bits (streams are handles). False where it is missing or no such
 * number. */
bool seam__fields_get_u64(const struct seam_fields *fields, enum seam_field field, uint64_t *ret_number);

bool seam__fields_get_text(
	const struct seam_fields *fields, enum seam_field field, const char **ret_text, size_t *ret_bytes);
bool seam__fields_text_is(const struct seam_fields *fields, enum seam_field field, const char *text);

/* The two numbers of a pool's id. False where it is missing or no such pair. */
bool seam__fields_get_pair(
	struct seam_pickle_walk *walk, const struct seam_fields *fields, enum seam_field field, uint64_t ret_pair[2]);

#endif
