/* test_torch_snapshot.c: what the eras of the snapshot format lack is filled in; the right device is chosen. */
#include <criterion/criterion.h>
#include <string.h>

#include "import.h"
#include "pickle_writer.h"
#include "torch_snapshot.h"
#include "snapshot_fields.h"
#include "trace_sample.h"

static struct seam_pickle *finish(struct pickle_writer *writer)
{
	struct seam_pickle *pickle = NULL;
	struct seam_trace_error error = {0};
	pickle_finish(writer);
	cr_assert_eq(seam__pickle_read(writer->data, writer->bytes, &error, &pickle), SEAM_OK, "%s", error.text);
	return pickle;
}

static void write_segment(struct pickle_writer *writer, uint64_t device, uint64_t address)
{
	pickle_begin_dict(writer);
	pickle_number_field(writer, "device", device);
	pickle_number_field(writer, "address", address);
	pickle_number_field(writer, "total_size", 4096);
	pickle_text(writer, "blocks");
	pickle_begin_list(writer);
	pickle_begin_dict(writer); /* the first era: no address; the requested size in the history */
	pickle_number_field(writer, "size", 1024);
	pickle_text_field(writer, "state", "active_allocated");
	pickle_text(writer, "history");
	pickle_begin_list(writer);
	pickle_begin_dict(writer);
	pickle_number_field(writer, "real_size", 1000);
	pickle_end_dict(writer);
	pickle_end_list(writer);
	pickle_end_dict(writer);
	pickle_begin_dict(writer); /* an era without either */
	pickle_number_field(writer, "size", 512);
	pickle_text_field(writer, "state", "active_awaiting_free");
	pickle_end_dict(writer);
	pickle_begin_dict(writer);
	pickle_number_field(writer, "size", 2048);
	pickle_text_field(writer, "state", "inactive");
	pickle_end_dict(writer);
	pickle_begin_dict(writer); /* the newest */
	pickle_number_field(writer, "address", address + 3584);
	pickle_number_field(writer, "size", 512);
	pickle_number_field(writer, "requested_size", 7);
	pickle_text_field(writer, "state", "active_allocated");
	pickle_end_dict(writer);
	pickle_end_list(writer);
	pickle_end_dict(writer);
}

Test(torch_snapshot, fills_in_what_an_era_lacks)
{
	static const struct seam_torch_block expected[] = {
		{.address = 0x8000, .size = 1000}, {.address = 0x8400, .size = 512}, {.address = 0x8e00, .size = 7}};
	struct pickle_writer writer;
	struct seam_torch_snapshot snapshot;
	pickle_begin(&writer);
	pickle_begin_list(&writer);
	write_segment(&writer, 0, 0x8000);
	pickle_end_list(&writer);
	struct seam_pickle *pickle = finish(&writer);
	cr_assert_eq(seam__torch_snapshot_init(&snapshot, pickle, 0, NULL), SEAM_OK);
	cr_assert_null(seam__torch_snapshot_check(&snapshot), "%s", seam__torch_snapshot_check(&snapshot));
	const struct seam_torch_block *blocks = snapshot.blocks.items;
	cr_assert_eq(snapshot.blocks.count, 3);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(blocks[i].address, expected[i].address, "block %zu", i);
		cr_assert_eq(blocks[i].size, expected[i].size, "block %zu", i);
	}
	seam__torch_snapshot_fini(&snapshot);
	seam__pickle_free(pickle);
	pickle_free(&writer);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

static void write_two_devices(struct pickle_writer *writer, int entries_of_0, int entries_of_1)
{
	const int entries[] = {entries_of_0, entries_of_1};
	pickle_begin(writer);
	pickle_begin_dict(writer);
	pickle_text(writer, "segments");
	pickle_begin_list(writer);
	write_segment(writer, 1, 0x10000);
	write_segment(writer, 0, 0x20000);
	write_segment(writer, 1, 0x30000);
	pickle_end_list(writer);
	pickle_text(writer, "device_traces");
	pickle_begin_list(writer);
	for (int device = 0; device < 2; device++) {
		pickle_begin_list(writer);
		for (int i = 0; i < entries[device]; i++) {
			pickle_begin_dict(writer);
			pickle_text_field(writer, "action", "snapshot");
			pickle_end_dict(writer);
		}
		pickle_end_list(writer);
	}
	pickle_end_list(writer);
	pickle_end_dict(writer);
}

struct device_row {
	const char *name;
	int asked;
	int entries[2];
	uint32_t device;
};

static const struct device_row devices[] = {
	{"asked for the first", 0, {1, 5}, 0},
	{"asked for the second", 1, {5, 1}, 1},
	{"most entries", SEAM_IMPORT_ANY_DEVICE, {2, 3}, 1},
	{"the first of equals", SEAM_IMPORT_ANY_DEVICE, {3, 3}, 0},
	{"no entries: the first segment's", SEAM_IMPORT_ANY_DEVICE, {0, 0}, 1},
};

Test(torch_snapshot, chooses_the_device)
{
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		const struct device_row *row = &devices[i];
		struct pickle_writer writer;
		struct seam_torch_snapshot snapshot;
		write_two_devices(&writer, row->entries[0], row->entries[1]);
		struct seam_pickle *pickle = finish(&writer);
		cr_assert_eq(seam__torch_snapshot_init(&snapshot, pickle, row->asked, NULL), SEAM_OK, "%s", row->name);
		cr_assert_eq(snapshot.device, row->device, "%s", row->name);
		cr_assert_eq(snapshot.entries.count, (size_t)row->entries[row->device], "%s", row->name);
		cr_assert_eq(snapshot.blocks.count, row->device == 1 ? 6 : 3, "%s", row->name);
		cr_assert_not(snapshot.entries.count > 0 && snapshot.has_times, "%s", row->name);
		seam__torch_snapshot_fini(&snapshot);
		seam__pickle_free(pickle);
		pickle_free(&writer);
	}
}

Test(snapshot_fields, are_read_by_name)
{
	struct pickle_writer writer;
	struct seam_fields fields;
	pickle_begin(&writer);
	pickle_begin_dict(&writer);
	pickle_number_field(&writer, "size", 5);
	pickle_number_field(&writer, "sizes", 6);
	pickle_text_field(&writer, "state", "inactive");
	pickle_pair_field(&writer, "pool_id", 3, 4);
	pickle_text(&writer, "stream");
	pickle_raw(&writer, "J\xff\xff\xff\xff", 5);
	pickle_number(&writer, 9); /* a key that is no text */
	pickle_number(&writer, 9);
	pickle_number_field(&writer, "size", 8);
	pickle_end_dict(&writer);
	struct seam_pickle *pickle = finish(&writer);
	struct seam_pickle_walk walk = seam__pickle_walk_begin(pickle);
	uint64_t number = 0;
	uint64_t pair[2] = {0};
	cr_assert(seam__fields_read(&walk, seam__pickle_root(pickle), &fields));
	cr_assert(seam__fields_get_u64(&fields, SEAM_FIELD_SIZE, &number));
	cr_assert_eq(number, 8, "the last of equal keys counts");
	cr_assert(seam__fields_get_u64(&fields, SEAM_FIELD_STREAM, &number));
	cr_assert_eq(number, UINT64_MAX, "a negative number keeps its bits");
	cr_assert_not(seam__fields_get_u64(&fields, SEAM_FIELD_STATE, &number));
	cr_assert_not(seam__fields_get_u64(&fields, SEAM_FIELD_ADDR, &number));
	cr_assert(seam__fields_text_is(&fields, SEAM_FIELD_STATE, "inactive"));
	cr_assert_not(seam__fields_text_is(&fields, SEAM_FIELD_STATE, "inact"));
	cr_assert(seam__fields_get_pair(&walk, &fields, SEAM_FIELD_POOL_ID, pair));
	cr_assert(pair[0] == 3 && pair[1] == 4);
	cr_assert_not(seam__fields_get_pair(&walk, &fields, SEAM_FIELD_SIZE, pair));
	seam__pickle_free(pickle);
	pickle_free(&writer);
}
