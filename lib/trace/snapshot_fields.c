/* snapshot_fields.c: see snapshot_fields.h. */
#include "snapshot_fields.h"

#include <string.h>

static const struct {
	const char *key;
	size_t bytes;
} keys[SEAM_FIELD_COUNT] = {
#define KEY(field, text) [SEAM_FIELD_##field] = {text, sizeof(text) - 1}
	KEY(ACTION, "action"),
	KEY(ADDR, "addr"),
	KEY(ADDRESS, "address"),
	KEY(BLOCKS, "blocks"),
	KEY(DEVICE, "device"),
	KEY(DEVICE_TRACES, "device_traces"),
	KEY(EXTERNAL_ANNOTATIONS, "external_annotations"),
	KEY(HISTORY, "history"),
	KEY(NAME, "name"),
	KEY(POOL_ID, "pool_id"),
	KEY(REAL_SIZE, "real_size"),
	KEY(REQUESTED_SIZE, "requested_size"),
	KEY(SEGMENT_POOL_ID, "segment_pool_id"),
	KEY(SEGMENTS, "segments"),
	KEY(SIZE, "size"),
	KEY(STAGE, "stage"),
	KEY(STATE, "state"),
	KEY(STREAM, "stream"),
	KEY(TIME_US, "time_us"),
	KEY(TOTAL_SIZE, "total_size"),
	KEY(USER_METADATA, "user_metadata"),
#undef KEY
};

bool seam__fields_read(struct seam_pickle_walk *walk, struct seam_pickle_value dict, struct seam_fields *ret_fields)
{
	*ret_fields = (struct seam_fields){.pickle = walk->pickle};
	if (seam__pickle_type(walk->pickle, dict) != SEAM_PICKLE_DICT)
		return false;
	struct seam_pickle_value key;
	struct seam_pickle_value value;
	struct seam_pickle_cursor cursor = seam__pickle_first(walk->pickle, dict);
	while (seam__pickle_next(walk, &cursor, &key) && seam__pickle_next(walk, &cursor, &value)) {
		const char *text;
		size_t bytes;
		if (!seam__pickle_get_text(walk->pickle, key, &text, &bytes))
			continue;
		for (enum seam_field field = 0; field < SEAM_FIELD_COUNT; field++) {
			if (bytes == keys[field].bytes && memcmp(text, keys[field].key, bytes) == 0) {
				ret_fields->values[field] = value;
				ret_fields->has[field] = true;
				break;
			}
		}
	}
	return !seam__pickle_walk_is_spent(walk);
}

bool seam__fields_get_u64(const struct seam_fields *fields, enum seam_field field, uint64_t *ret_number)
{
	int64_t whole;
	if (!fields->has[field])
		return false;
	if (seam__pickle_get_u64(fields->pickle, fields->values[field], ret_number))
		return true;
	if (!seam__pickle_get_i64(fields->pickle, fields->values[field], &whole))
		return false;
	*ret_number = (uint64_t)whole;
	return true;
}

bool seam__fields_get_text(
	const struct seam_fields *fields, enum seam_field field, const char **ret_text, size_t *ret_bytes)
{
	return fields->has[field] && seam__pickle_get_text(fields->pickle, fields->values[field], ret_text, ret_bytes);
}

bool seam__fields_text_is(const struct seam_fields *fields, enum seam_field field, const char *text)
{
	return fields->has[field] && seam__pickle_text_is(fields->pickle, fields->values[field], text);
}

bool seam__fields_get_pair(
	struct seam_pickle_walk *walk, const struct seam_fields *fields, enum seam_field field, uint64_t ret_pair[2])
{
	if (!fields->has[field] || seam__pickle_count(fields->pickle, fields->values[field]) != 2)
		return false;
	uint64_t pair[2];
	struct seam_pickle_cursor cursor = seam__pickle_first(fields->pickle, fields->values[field]);
	for (size_t i = 0; i < 2; i++) {
		struct seam_pickle_value number;
		if (!seam__pickle_next(walk, &cursor, &number) ||
			!seam__pickle_get_u64(fields->pickle, number, &pair[i]))
			return false;
	}
	memcpy(ret_pair, pair, sizeof(pair));
	return true;
}
