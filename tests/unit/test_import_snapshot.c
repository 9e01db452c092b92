/* test_import_snapshot.c: memory snapshots, written by hand, and the events that they become. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "meta.h"
#include "pickle_writer.h"
#include "trace_sample.h"
#include "trace_story.h"

struct entry {
	const char *action; /* NULL: the end of the list */
	uint64_t addr;
	uint64_t size;
	uint64_t stream;
	uint64_t time_us;
	uint64_t pool[2];
	const char *metadata;
};

struct block {
	uint64_t size; /* 0: the end of the list */
	uint64_t requested;
	const char *state;
};

struct segment {
	uint64_t address; /* 0: the end of the list */
	uint64_t size;
	uint64_t stream;
	uint64_t pool[2];
	struct block blocks[4];
};

struct note {
	const char *stage; /* NULL: the end of the list */
	const char *name;
	uint64_t time_us;
};

struct sample {
	const char *name;
	struct segment segments[4];
	struct entry entries[10];
	struct note notes[8];
	const char *story;
};

#define LIVE "active_allocated"
#define PENDING "active_pending_free"
#define HOLE "inactive"
#define NO_POOL UINT64_MAX /* as the first half: the entry has no pool_id */

/* The designator says that the missing fields are meant to be 0. */
#define ENTRY(...)                            \
	{                                     \
		__VA_ARGS__, .metadata = NULL \
	}

static const struct sample samples[] = {
	{.name = "nothing", .story = ""},
	{.name = "live blocks alone",
		.segments = {{0x2000, 3000, 5, {0, 0}, {{1024, 1000, LIVE}, {512, 0, HOLE}, {512, 300, LIVE}}},
			{0x1000, 512, 0, {0, 7}, {{512, 500, PENDING}}}},
		.story = "S+1000:512%1r S+2000:3000@5r A1:500%1r A2:1000@5r A3:300@5r"},
	{.name = "alloc and free",
		.segments = {{0x1000, 4096, 0, {0, 0}, {{4096, 0, HOLE}}}},
		.entries = {ENTRY("alloc", 0x1000, 100), ENTRY("free_requested", 0x1000, 100),
			ENTRY("free_completed", 0x1000, 100), ENTRY("alloc", 0x1000, 200),
			ENTRY("free_requested", 0x1000, 200), ENTRY("free_completed", 0x1000, 200)},
		.story = "S+1000:4096r A1:100 F1:100 A2:200 F2:200"},
	{.name = "orphans become residents, by address",
		.segments = {{0x1000, 4096, 3, {0, 0}, {{512, 400, LIVE}, {512, 0, HOLE}, {512, 60, LIVE}}}},
		.entries = {ENTRY("free_completed", 0x1800, 80, 3), ENTRY("free_requested", 0x1200, 70, 3),
			ENTRY("free_completed", 0x1200, 70, 3), ENTRY("alloc", 0x1400, 60, 3)},
		.story = "S+1000:4096@3r A1:400@3r A2:70@3r A3:80@3r F3:80@3 F2:70@3 A4:60@3"},
	{.name = "a free that completes late is taken when requested",
		.segments = {{0x1000, 4096, 0, {0, 0}, {{4096, 0, HOLE}}}},
		.entries = {ENTRY("alloc", 0x1000, 100), ENTRY("free_requested", 0x1000, 100),
			ENTRY("alloc", 0x1200, 50), ENTRY("free_completed", 0x1000, 100),
			ENTRY("free_requested", 0x1200, 50)},
		.story = "S+1000:4096r A1:100 F1:100 A2:50 F2:50"},
	{.name = "a free without its request",
		.segments = {{0x1000, 4096, 0, {0, 0}, {{4096, 0, HOLE}}}},
		.entries = {ENTRY("alloc", 0x1000, 100), ENTRY("free_completed", 0x1000, 100)},
		.story = "S+1000:4096r A1:100 F1:100"},
	{.name = "a lost free and a free of nothing",
		.segments = {{0x1000, 4096, 0, {0, 0}, {{512, 200, LIVE}}}},
		.entries = {ENTRY("alloc", 0x1000, 100), ENTRY("alloc", 0x1000, 200), ENTRY("alloc", 0x1400, 9),
			ENTRY("free_requested", 0x1400, 9), ENTRY("free_requested", 0x1400, 9)},
		.story = "S+1000:4096r A1:100 F1:100 A2:200 A3:9 F3:9"},
	{.name = "segments taken and given",
		.segments = {{0x1000, 512, 0, {0, 0}, {{512, 0, HOLE}}}, {0x9000, 1024, 0, {0, 0}, {{1024, 0, HOLE}}}},
		.entries = {ENTRY("segment_free", 0x5000, 2048, 4), ENTRY("segment_alloc", 0x9000, 1024),
			ENTRY("oom", 0, 1 << 20, 2), ENTRY("snapshot", 0, 0), ENTRY("something new", 0, 0)},
		.story = "S+1000:512r S+5000:2048@4r S-5000:2048@4 S+9000:1024 OOM0:1048576@2"},
	{.name = "an expandable segment, one range at the end",
		.segments = {{0x10000, 0x3000, 0, {0, 0}, {{0x3000, 0, HOLE}}}},
		.entries = {ENTRY("segment_map", 0x11000, 0x1000), ENTRY("segment_map", 0x13000, 0x1000),
			ENTRY("segment_unmap", 0x13000, 0x1000)},
		.story = "S+10000:4096r S+12000:4096r S+11000:4096 S+13000:4096 S-13000:4096"},
	{.name = "pools by number",
		.segments = {{0x1000, 512, 0, {0, 9}, {{512, 0, HOLE}}}},
		.entries = {ENTRY("alloc", 0x1000, 8, 0, 0, {0, 9}), ENTRY("alloc", 0x2000, 8, 0, 0, {3, 0}),
			ENTRY("alloc", 0x3000, 8)},
		.story = "S+1000:512%1r A1:8%1 A2:8%2 A3:8"},
	{.name = "pools of the segments around, where entries name none",
		.segments = {{0x1000, 512, 0, {0, 9}, {{512, 0, HOLE}}}},
		.entries = {ENTRY("segment_alloc", 0x1000, 512, 0, 0, {0, 9}),
			ENTRY("alloc", 0x1100, 8, 0, 0, {NO_POOL, 0}), ENTRY("alloc", 0x5000, 8, 0, 0, {NO_POOL, 0}),
			ENTRY("segment_free", 0x5000, 512, 0, 0, {4, 4})},
		.story = "S+5000:512%2r S+1000:512%1 A1:8%1 A2:8%2 S-5000:512%2"},
	{.name = "metadata",
		.entries = {{"alloc", 0x1000, 8, .metadata = "layer\n1"},
			{"free_requested", 0x1000, 8, .metadata = ""}},
		.story = "A1:8(layer?1) F1:8"},
	{.name = "phases",
		.entries = {ENTRY("alloc", 0x1000, 8, 0, 100), ENTRY("alloc", 0x2000, 8, 0, 110),
			ENTRY("alloc", 0x3000, 8, 0, 120)},
		.notes = {{"START", "step", 90}, {"START", "forward", 110}, {"END", "forward", 110},
			{"END", "step", 130}},
		.story = "<step A1:8 <forward A2:8 forward> A3:8 step>"},
	{.name = "phases that do not nest",
		.entries = {ENTRY("alloc", 0x1000, 8, 0, 100), ENTRY("alloc", 0x2000, 8, 0, 110)},
		.notes = {{"END", "never begun", 90}, {"START", "a", 91}, {"START", "b", 92}, {"END", "a", 105},
			{"END", "b", 106}, {"START", "left open", 120}},
		.story = "<a <b A1:8 b> a> A2:8 <left open"},
};

static void write_segment(struct pickle_writer *writer, const struct segment *segment)
{
	uint64_t address = segment->address;
	pickle_begin_dict(writer);
	pickle_number_field(writer, "device", 0);
	pickle_number_field(writer, "address", segment->address);
	pickle_number_field(writer, "total_size", segment->size);
	pickle_number_field(writer, "stream", segment->stream);
	pickle_pair_field(writer, "segment_pool_id", segment->pool[0], segment->pool[1]);
	pickle_text(writer, "blocks");
	pickle_begin_list(writer);
	for (const struct block *block = segment->blocks; block < segment->blocks + 4 && block->size != 0; block++) {
		pickle_begin_dict(writer);
		pickle_number_field(writer, "address", address);
		pickle_number_field(writer, "size", block->size);
		pickle_number_field(writer, "requested_size", block->requested);
		pickle_text_field(writer, "state", block->state);
		pickle_end_dict(writer);
		address += block->size;
	}
	pickle_end_list(writer);
	pickle_end_dict(writer);
}

static void write_entry(struct pickle_writer *writer, const struct entry *entry)
{
	pickle_begin_dict(writer);
	pickle_text_field(writer, "action", entry->action);
	pickle_number_field(writer, strcmp(entry->action, "oom") == 0 ? "device_free" : "addr", entry->addr);
	pickle_number_field(writer, "size", entry->size);
	pickle_number_field(writer, "stream", entry->stream);
	pickle_number_field(writer, "time_us", entry->time_us);
	if (entry->pool[0] != NO_POOL)
		pickle_pair_field(writer, "pool_id", entry->pool[0], entry->pool[1]);
	if (entry->metadata != NULL)
		pickle_text_field(writer, "user_metadata", entry->metadata);
	pickle_end_dict(writer);
}

static void write_note(struct pickle_writer *writer, const struct note *note)
{
	pickle_begin_dict(writer);
	pickle_text_field(writer, "stage", note->stage);
	pickle_text_field(writer, "name", note->name);
	pickle_number_field(writer, "time_us", note->time_us);
	pickle_end_dict(writer);
}

static void write_sample(struct pickle_writer *writer, const struct sample *sample)
{
	pickle_begin(writer);
	pickle_begin_dict(writer);
	pickle_text(writer, "segments");
	pickle_begin_list(writer);
	for (const struct segment *s = sample->segments; s < sample->segments + 4 && s->address != 0; s++)
		write_segment(writer, s);
	pickle_end_list(writer);
	pickle_text(writer, "device_traces");
	pickle_begin_list(writer);
	pickle_begin_list(writer);
	for (const struct entry *e = sample->entries; e < sample->entries + 10 && e->action != NULL; e++)
		write_entry(writer, e);
	pickle_end_list(writer);
	pickle_end_list(writer);
	pickle_text(writer, "external_annotations");
	pickle_begin_list(writer);
	for (const struct note *n = sample->notes; n < sample->notes + 8 && n->stage != NULL; n++)
		write_note(writer, n);
	pickle_end_list(writer);
	pickle_end_dict(writer);
	pickle_finish(writer);
}

Test(import_snapshot, becomes_events)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct pickle_writer writer;
		struct seam_trace *trace;
		struct seam_trace_error error = {0};
		write_sample(&writer, &samples[i]);
		enum seam_rc rc = seam__import_snapshot(writer.data, writer.bytes, 0, &error, &trace);
		cr_assert_eq(rc, SEAM_OK, "%s: %s", samples[i].name, error.text);
		char *story = trace_story(trace, false);
		cr_assert_str_eq(story, samples[i].story, "%s: %s", samples[i].name, story);
		free(story);
		seam_trace_free(trace);
		pickle_free(&writer);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(import_snapshot, times_count_from_the_first_entry_and_never_run_backwards)
{
	static const struct sample sample = {
		.entries = {ENTRY("alloc", 0x1000, 8, 0, 1000), ENTRY("alloc", 0x2000, 8, 0, 1005),
			ENTRY("alloc", 0x3000, 8, 0, 1003), ENTRY("alloc", 0x4000, 8, 0, 1010)}};
	struct pickle_writer writer;
	struct seam_trace *trace;
	write_sample(&writer, &sample);
	cr_assert_eq(seam__import_snapshot(writer.data, writer.bytes, 0, NULL, &trace), SEAM_OK);
	char *story = trace_story(trace, true);
	cr_assert_str_eq(story, "A1:8=0 A2:8=5000 A3:8=5000 A4:8=10000");
	free(story);
	seam_trace_free(trace);
	pickle_free(&writer);
}

Test(import_snapshot, every_failed_allocation_is_a_value)
{
	struct seam_meta *meta = seam__meta_process();
	struct pickle_writer writer;
	write_sample(&writer, &samples[3]);
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		struct seam_trace *trace = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__import_snapshot(writer.data, writer.bytes, 0, NULL, &trace);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu: %s", (unsigned long long)n,
			seam_rc_name(rc));
		seam_trace_free(trace);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %llu", (unsigned long long)n);
	}
	pickle_free(&writer);
}

/* Each changed byte gives a trace or one line. */
Test(import_snapshot, no_changed_byte_breaks_the_importer)
{
	static const unsigned char values[] = {0, 1, '.', 'e', 'u', 0x7f, 0x80, 0x8a, 0xff};
	struct pickle_writer writer;
	write_sample(&writer, &samples[12]);
	for (size_t at = 0; at < writer.bytes; at++) {
		const unsigned char before = writer.data[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			struct seam_trace *trace = NULL;
			struct seam_trace_error error = {0};
			writer.data[at] = values[i];
			enum seam_rc rc = seam__import_snapshot(
				writer.data, writer.bytes, SEAM_IMPORT_ANY_DEVICE, &error, &trace);
			cr_assert_eq(rc == SEAM_OK, trace != NULL, "byte %zu = %u", at, values[i]);
			if (rc != SEAM_OK)
				cr_assert_neq(
					error.text[0], '\0', "byte %zu = %u: %s", at, values[i], seam_rc_name(rc));
			seam_trace_free(trace);
		}
		writer.data[at] = before;
	}
	pickle_free(&writer);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

struct wrong_row {
	const char *name;
	const char *data;
	size_t bytes;
	int device;
	enum seam_rc rc;
	const char *says;
};

#define BYTES(text) (text), sizeof(text) - 1

static const struct wrong_row wrong[] = {
	{"no such device", BYTES("\x80\x02}(Vsegments\n]Vdevice_traces\n]]au."), 1, SEAM_NOT_FOUND, "1 devices"},
	{"no segment of it", BYTES("\x80\x02]."), 2, SEAM_NOT_FOUND, "device 2"},
	{"a dict of something else", BYTES("\x80\x02}Vmodel\nNs."), 0, SEAM_FORMAT, "no memory snapshot"},
	{"a number", BYTES("\x80\x02K\x01."), 0, SEAM_FORMAT, "no memory snapshot"},
	{"segment without an address", BYTES("\x80\x02]}Vtotal_size\nK\x01sa."), 0, SEAM_CORRUPT, "segment 0"},
	{"segment is a number",
		BYTES("\x80\x02]K\x01"
		      "a."),
		0, SEAM_CORRUPT, "segment 0"},
	{"segment without blocks", BYTES("\x80\x02]}(Vaddress\nK\x01Vtotal_size\nK\x01ua."), 0, SEAM_CORRUPT, "blocks"},
	{"endless segment",
		BYTES("\x80\x02]}(Vaddress\nK\x01Vtotal_size\n\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\0ua."), 0,
		SEAM_CORRUPT, "endless"},
	{"entry without a size", BYTES("\x80\x02}(Vsegments\n]Vdevice_traces\n]]}(Vaction\nValloc\nVaddr\nK\x01uaau."),
		0, SEAM_CORRUPT, "no size in trace entry 0"},
	{"entry without an address",
		BYTES("\x80\x02}(Vsegments\n]Vdevice_traces\n]]}(Vaction\nValloc\nVsize\nK\x01uaau."), 0, SEAM_CORRUPT,
		"no address in trace entry 0"},
	{"entry without an action", BYTES("\x80\x02}(Vsegments\n]Vdevice_traces\n]]}aau."), 0, SEAM_CORRUPT,
		"no action"},
	{"an import",
		BYTES("\x80\x02"
		      "cos\nsystem\n."),
		0, SEAM_FORMAT, "GLOBAL"},
};

Test(import_snapshot, says_what_is_wrong)
{
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_snapshot(wrong[i].data, wrong[i].bytes, wrong[i].device, &error, &trace);
		cr_assert_eq(rc, wrong[i].rc, "%s: %s, %s", wrong[i].name, seam_rc_name(rc), error.text);
		cr_assert_null(trace);
		cr_assert(strstr(error.text, wrong[i].says) != NULL, "%s: %s", wrong[i].name, error.text);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* A list of lists: a thousand segments that are one and the same, each with a thousand blocks that are one and the
 * same: a million blocks in a few kilobytes. */
Test(import_snapshot, shared_parts_cannot_multiply_the_work)
{
	enum { COPIES = 20000 };
	struct pickle_writer writer;
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	pickle_begin(&writer);
	pickle_begin_list(&writer);
	pickle_begin_dict(&writer);
	pickle_number_field(&writer, "address", 4096);
	pickle_number_field(&writer, "total_size", 4096);
	pickle_text(&writer, "blocks");
	pickle_begin_list(&writer);
	pickle_begin_dict(&writer);
	pickle_number_field(&writer, "size", 0);
	pickle_text_field(&writer, "state", HOLE);
	pickle_end_dict(&writer);
	for (int i = 0; i < COPIES; i++)
		pickle_raw(&writer, "2", 1);
	pickle_end_list(&writer);
	pickle_end_dict(&writer);
	for (int i = 0; i < COPIES; i++)
		pickle_raw(&writer, "2", 1);
	pickle_end_list(&writer);
	pickle_finish(&writer);
	cr_assert_eq(seam__import_snapshot(writer.data, writer.bytes, 0, &error, &trace), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "again and again") != NULL, "%s", error.text);
	pickle_free(&writer);
}
