/* torch_snapshot.c: see torch_snapshot.h.
 *
 * Walks the pickle to the documented depth only, and judges every value before it is used.
 */
#include "torch_snapshot.h"

#include <string.h>

#include "import.h"
#include "snapshot_fields.h"
#include "trace_error.h"

#define POOLS_MAX 4096u /* searched one by one; a program has a handful */

struct reader {
	struct seam_torch_snapshot *snapshot;
	struct seam_pickle_walk walk;
	struct seam_trace_error *error;
	uint64_t index; /* of the record being read, for messages */
	size_t missing_times;
};

static enum seam_rc fail(struct reader *reader, const char *what, const char *where)
{
	if (seam__pickle_walk_is_spent(&reader->walk))
		what = "the same values again and again, far beyond the file's size";
	seam__trace_error_set(reader->error, reader->index, "damaged snapshot: %s in %s %llu", what, where,
		(unsigned long long)reader->index);
	return SEAM_CORRUPT;
}

/* The small number of a pool; (0, 0), the default pool, is 0. */
static enum seam_rc number_pool(struct reader *reader, const struct seam_fields *fields, enum seam_field field,
	uint32_t *ret_pool, bool *ret_has)
{
	uint64_t pair[2];
	*ret_has = seam__fields_get_pair(&reader->walk, fields, field, pair);
	*ret_pool = 0;
	if (!*ret_has || (pair[0] == 0 && pair[1] == 0))
		return SEAM_OK;
	const uint64_t(*pools)[2] = reader->snapshot->pools.items;
	for (uint32_t i = 0; i < reader->snapshot->pools.count; i++) {
		if (pools[i][0] == pair[0] && pools[i][1] == pair[1]) {
			*ret_pool = i + 1;
			return SEAM_OK;
		}
	}
	if (reader->snapshot->pools.count == POOLS_MAX)
		return fail(reader, "too many private pools", "record");
	enum seam_rc rc = seam__grow_append(&reader->snapshot->pools, pair, 1);
	*ret_pool = (uint32_t)reader->snapshot->pools.count;
	return rc;
}

static bool block_is_in_use(const struct seam_fields *fields)
{
	return seam__fields_text_is(fields, SEAM_FIELD_STATE, "active_allocated") ||
		seam__fields_text_is(fields, SEAM_FIELD_STATE, "active_pending_free") ||
		seam__fields_text_is(fields, SEAM_FIELD_STATE, "active_awaiting_free");
}

/* requested_size; in older eras the first history entry's real_size; else the block's own size. */
static uint64_t requested_size(struct reader *reader, const struct seam_fields *fields, uint64_t size)
{
	uint64_t requested;
	struct seam_pickle_value first;
	struct seam_fields history;
	if (seam__fields_get_u64(fields, SEAM_FIELD_REQUESTED_SIZE, &requested) && requested > 0)
		return requested;
	if (!fields->has[SEAM_FIELD_HISTORY])
		return size;
	struct seam_pickle_cursor cursor = seam__pickle_first(fields->pickle, fields->values[SEAM_FIELD_HISTORY]);
	if (seam__pickle_next(&reader->walk, &cursor, &first) && seam__fields_read(&reader->walk, first, &history) &&
		seam__fields_get_u64(&history, SEAM_FIELD_REAL_SIZE, &requested) && requested > 0)
		return requested;
	return size;
}

/* `address`: where the block begins if it does not say so itself; moved behind the block. */
static enum seam_rc read_block(struct reader *reader, struct seam_pickle_value value,
	const struct seam_trace_range *segment, uint64_t *address)
{
	struct seam_fields fields;
	uint64_t size;
	if (!seam__fields_read(&reader->walk, value, &fields))
		return fail(reader, "a block is no dict", "segment");
	if (!seam__fields_get_u64(&fields, SEAM_FIELD_SIZE, &size))
		return fail(reader, "a block has no size", "segment");
	if (fields.has[SEAM_FIELD_ADDRESS] && !seam__fields_get_u64(&fields, SEAM_FIELD_ADDRESS, address))
		return fail(reader, "a block's address is no number", "segment");
	struct seam_torch_block block = {
		.address = *address,
		.size = requested_size(reader, &fields, size),
		.stream = segment->stream,
		.pool = segment->pool,
	};
	if (__builtin_add_overflow(*address, size, address))
		return fail(reader, "a block ends beyond the address space", "segment");
	if (!block_is_in_use(&fields))
		return SEAM_OK;
	return seam__grow_append(&reader->snapshot->blocks, &block, 1);
}

static enum seam_rc read_blocks(
	struct reader *reader, const struct seam_fields *fields, const struct seam_trace_range *segment)
{
	enum seam_rc rc = SEAM_OK;
	struct seam_pickle_value block;
	uint64_t address = segment->begin;
	if (!fields->has[SEAM_FIELD_BLOCKS])
		return fail(reader, "no blocks", "segment");
	struct seam_pickle_cursor cursor = seam__pickle_first(fields->pickle, fields->values[SEAM_FIELD_BLOCKS]);
	while (rc == SEAM_OK && seam__pickle_next(&reader->walk, &cursor, &block))
		rc = read_block(reader, block, segment, &address);
	return rc;
}

static enum seam_rc read_segment(struct reader *reader, struct seam_pickle_value value)
{
	struct seam_fields fields;
	struct seam_trace_range segment = {0};
	uint64_t device = 0;
	uint64_t bytes;
	bool has_pool;
	if (!seam__fields_read(&reader->walk, value, &fields) ||
		!seam__fields_get_u64(&fields, SEAM_FIELD_ADDRESS, &segment.begin) ||
		!seam__fields_get_u64(&fields, SEAM_FIELD_TOTAL_SIZE, &bytes))
		return fail(reader, "no address or no total_size", "segment");
	(void)seam__fields_get_u64(&fields, SEAM_FIELD_DEVICE, &device);
	(void)seam__fields_get_u64(&fields, SEAM_FIELD_STREAM, &segment.stream);
	if (device != reader->snapshot->device)
		return SEAM_OK;
	enum seam_rc rc = number_pool(reader, &fields, SEAM_FIELD_SEGMENT_POOL_ID, &segment.pool, &has_pool);
	if (rc == SEAM_OK)
		rc = seam__ranges_add(&reader->snapshot->segments, segment.begin, bytes, segment.stream, segment.pool);
	if (rc == SEAM_INVALID)
		return fail(reader, "an empty or endless address range", "segment");
	return rc == SEAM_OK ? read_blocks(reader, &fields, &segment) : rc;
}

static enum seam_rc read_segments(struct reader *reader, struct seam_pickle_value list)
{
	enum seam_rc rc = SEAM_OK;
	struct seam_pickle_value segment;
	struct seam_pickle_cursor cursor = seam__pickle_first(reader->walk.pickle, list);
	reader->index = 0;
	while (rc == SEAM_OK && seam__pickle_next(&reader->walk, &cursor, &segment)) {
		rc = read_segment(reader, segment);
		reader->index++;
	}
	return rc;
}

static enum seam_torch_action action_of(const struct seam_fields *fields)
{
	static const struct {
		const char *name;
		enum seam_torch_action action;
	} actions[] = {
		{"alloc", SEAM_TORCH_ALLOC},
		{"free_requested", SEAM_TORCH_FREE_REQUESTED},
		{"free_completed", SEAM_TORCH_FREE_COMPLETED},
		{"segment_alloc", SEAM_TORCH_SEGMENT_ALLOC},
		{"segment_map", SEAM_TORCH_SEGMENT_ALLOC},
		{"segment_free", SEAM_TORCH_SEGMENT_FREE},
		{"segment_unmap", SEAM_TORCH_SEGMENT_FREE},
		{"oom", SEAM_TORCH_OOM},
	};
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		if (seam__fields_text_is(fields, SEAM_FIELD_ACTION, actions[i].name))
			return actions[i].action;
	}
	return SEAM_TORCH_OTHER;
}

static enum seam_rc read_entry(struct reader *reader, struct seam_pickle_value value)
{
	struct seam_fields fields;
	if (!seam__fields_read(&reader->walk, value, &fields) || !fields.has[SEAM_FIELD_ACTION])
		return fail(reader, "no action", "trace entry");
	struct seam_torch_entry entry = {.action = action_of(&fields)};
	if (entry.action != SEAM_TORCH_OTHER && !seam__fields_get_u64(&fields, SEAM_FIELD_SIZE, &entry.size))
		return fail(reader, "no size", "trace entry");
	if (entry.action != SEAM_TORCH_OTHER && entry.action != SEAM_TORCH_OOM &&
		!seam__fields_get_u64(&fields, SEAM_FIELD_ADDR, &entry.address))
		return fail(reader, "no address", "trace entry");
	(void)seam__fields_get_u64(&fields, SEAM_FIELD_STREAM, &entry.stream);
	if (!seam__fields_get_u64(&fields, SEAM_FIELD_TIME_US, &entry.time_us))
		reader->missing_times++;
	if (!seam__fields_get_text(&fields, SEAM_FIELD_USER_METADATA, &entry.metadata.text, &entry.metadata.bytes) ||
		entry.metadata.bytes == 0)
		entry.metadata = (struct seam_torch_text){0};
	enum seam_rc rc = number_pool(reader, &fields, SEAM_FIELD_POOL_ID, &entry.pool, &entry.has_pool);
	return rc == SEAM_OK ? seam__grow_append(&reader->snapshot->entries, &entry, 1) : rc;
}

static enum seam_rc read_entries(struct reader *reader, struct seam_pickle_value list)
{
	enum seam_rc rc = SEAM_OK;
	struct seam_pickle_value entry;
	struct seam_pickle_cursor cursor = seam__pickle_first(reader->walk.pickle, list);
	reader->index = 0;
	while (rc == SEAM_OK && seam__pickle_next(&reader->walk, &cursor, &entry)) {
		rc = read_entry(reader, entry);
		reader->index++;
	}
	reader->snapshot->has_times = reader->missing_times == 0;
	return rc;
}

/* Annotations are an aid: one that cannot be read is left out. */
static enum seam_rc read_annotation(struct reader *reader, struct seam_pickle_value value)
{
	struct seam_fields fields;
	struct seam_torch_annotation note;
	uint64_t device = reader->snapshot->device;
	if (!seam__fields_read(&reader->walk, value, &fields) ||
		!seam__fields_get_text(&fields, SEAM_FIELD_NAME, &note.name.text, &note.name.bytes) ||
		!seam__fields_get_u64(&fields, SEAM_FIELD_TIME_US, &note.time_us))
		return SEAM_OK;
	(void)seam__fields_get_u64(&fields, SEAM_FIELD_DEVICE, &device);
	note.begins = seam__fields_text_is(&fields, SEAM_FIELD_STAGE, "START");
	if (device != reader->snapshot->device ||
		(!note.begins && !seam__fields_text_is(&fields, SEAM_FIELD_STAGE, "END")))
		return SEAM_OK;
	return seam__grow_append(&reader->snapshot->notes, &note, 1);
}

static enum seam_rc read_annotations(struct reader *reader, struct seam_pickle_value list)
{
	enum seam_rc rc = SEAM_OK;
	struct seam_pickle_value annotation;
	struct seam_pickle_cursor cursor = seam__pickle_first(reader->walk.pickle, list);
	while (rc == SEAM_OK && seam__pickle_next(&reader->walk, &cursor, &annotation))
		rc = read_annotation(reader, annotation);
	return rc;
}

/* Chooses the device's list of entries; false in ret_has where there is none. */
static enum seam_rc choose_device(struct reader *reader, const struct seam_fields *top, int device,
	struct seam_pickle_value *ret_entries, bool *ret_has)
{
	struct seam_pickle_value list;
	size_t most = 0;
	int index = 0;
	*ret_has = false;
	struct seam_pickle_cursor cursor = {0};
	if (top->has[SEAM_FIELD_DEVICE_TRACES])
		cursor = seam__pickle_first(top->pickle, top->values[SEAM_FIELD_DEVICE_TRACES]);
	for (; seam__pickle_next(&reader->walk, &cursor, &list); index++) {
		const size_t count = seam__pickle_count(top->pickle, list);
		if (device == index || (device == SEAM_IMPORT_ANY_DEVICE && (!*ret_has || count > most))) {
			*ret_entries = list;
			*ret_has = true;
			most = count;
			reader->snapshot->device = (uint32_t)index;
		}
	}
	if (*ret_has || (index == 0 && device <= 0))
		return SEAM_OK;
	seam__trace_error_set(reader->error, 0, "the snapshot has %d devices; there is no device %d", index, device);
	return SEAM_NOT_FOUND;
}

/* Without entries to go by: the asked device, or that of the first segment. */
static void choose_by_segments(struct reader *reader, struct seam_pickle_value list, int device)
{
	struct seam_pickle_value segment;
	struct seam_fields fields;
	uint64_t number;
	struct seam_pickle_cursor cursor = seam__pickle_first(reader->walk.pickle, list);
	reader->snapshot->device = device > 0 ? (uint32_t)device : 0;
	if (device == SEAM_IMPORT_ANY_DEVICE && seam__pickle_next(&reader->walk, &cursor, &segment) &&
		seam__fields_read(&reader->walk, segment, &fields) &&
		seam__fields_get_u64(&fields, SEAM_FIELD_DEVICE, &number) && number <= INT32_MAX)
		reader->snapshot->device = (uint32_t)number;
}

/* A bare list has devices only in its segments. */
static enum seam_rc read_bare_list(struct reader *reader, struct seam_pickle_value list, int device)
{
	choose_by_segments(reader, list, device);
	enum seam_rc rc = read_segments(reader, list);
	if (rc == SEAM_OK && device != SEAM_IMPORT_ANY_DEVICE &&
		seam__ranges_first(&reader->snapshot->segments) == NULL) {
		seam__trace_error_set(reader->error, 0, "the snapshot has no segment of device %d", device);
		return SEAM_NOT_FOUND;
	}
	return rc;
}

static enum seam_rc read_top(struct reader *reader, int device)
{
	const struct seam_pickle *pickle = reader->walk.pickle;
	const struct seam_pickle_value root = seam__pickle_root(pickle);
	if (seam__pickle_type(pickle, root) == SEAM_PICKLE_LIST)
		return read_bare_list(reader, root, device);
	struct seam_fields top;
	if (!seam__fields_read(&reader->walk, root, &top) || !top.has[SEAM_FIELD_SEGMENTS]) {
		seam__trace_error_set(reader->error, 0, "a pickle, but no memory snapshot: no segments at its top");
		return SEAM_FORMAT;
	}
	struct seam_pickle_value entries;
	bool has_entries;
	enum seam_rc rc = choose_device(reader, &top, device, &entries, &has_entries);
	if (rc == SEAM_OK &&
		(!has_entries || (device == SEAM_IMPORT_ANY_DEVICE && seam__pickle_count(pickle, entries) == 0)))
		choose_by_segments(reader, top.values[SEAM_FIELD_SEGMENTS], device);
	if (rc == SEAM_OK)
		rc = read_segments(reader, top.values[SEAM_FIELD_SEGMENTS]);
	if (rc == SEAM_OK && has_entries)
		rc = read_entries(reader, entries);
	if (rc == SEAM_OK && reader->snapshot->has_times && top.has[SEAM_FIELD_EXTERNAL_ANNOTATIONS])
		rc = read_annotations(reader, top.values[SEAM_FIELD_EXTERNAL_ANNOTATIONS]);
	return rc;
}

enum seam_rc seam__torch_snapshot_init(struct seam_torch_snapshot *snapshot, const struct seam_pickle *pickle,
	int device, struct seam_trace_error *error)
{
	*snapshot = (struct seam_torch_snapshot){0};
	seam__grow_init(&snapshot->entries, sizeof(struct seam_torch_entry));
	seam__grow_init(&snapshot->blocks, sizeof(struct seam_torch_block));
	seam__grow_init(&snapshot->notes, sizeof(struct seam_torch_annotation));
	seam__grow_init(&snapshot->pools, 2 * sizeof(uint64_t));
	seam__ranges_init(&snapshot->segments);
	struct reader reader = {.snapshot = snapshot, .walk = seam__pickle_walk_begin(pickle), .error = error};
	enum seam_rc rc = read_top(&reader, device);
	if (rc == SEAM_OK && seam__pickle_walk_is_spent(&reader.walk))
		rc = fail(&reader, "", "record");
	if (rc != SEAM_OK)
		seam__torch_snapshot_fini(snapshot);
	return rc;
}

void seam__torch_snapshot_fini(struct seam_torch_snapshot *snapshot)
{
	seam__ranges_fini(&snapshot->segments);
	seam__grow_fini(&snapshot->pools);
	seam__grow_fini(&snapshot->notes);
	seam__grow_fini(&snapshot->blocks);
	seam__grow_fini(&snapshot->entries);
}

const char *seam__torch_snapshot_check(const struct seam_torch_snapshot *snapshot)
{
	const struct seam_grow *const parts[] = {
		&snapshot->entries, &snapshot->blocks, &snapshot->notes, &snapshot->pools};
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (seam__grow_check(parts[i]) != NULL)
			return seam__grow_check(parts[i]);
	}
	return seam__ranges_check(&snapshot->segments);
}
