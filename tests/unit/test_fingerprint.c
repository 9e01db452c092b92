/* test_fingerprint.c: what changes a fingerprint, and what does not. */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "trace_sample.h"

#include <seam/plan.h>

#define A SEAM_TRACE_ALLOC
#define F SEAM_TRACE_FREE

struct story {
	struct seam_trace_event events[12];
	size_t count;
};

/* A period on two streams and two threads, with every kind that counts; one block from before it. */
static const struct story base = {
	{
		{.kind = A, .id = 1, .size = 10},
		{.kind = A, .id = 2, .size = 20, .stream = 7, .thread = 1},
		{.kind = A, .id = 3, .size = 33, .flags = SEAM_TRACE_DYNAMIC},
		{.kind = SEAM_TRACE_RECORD_STREAM, .id = 2, .stream = 9},
		{.kind = F, .id = 1, .size = 10},
		{.kind = SEAM_TRACE_EVENT_RECORD, .id = 5, .stream = 7},
		{.kind = SEAM_TRACE_EVENT_WAIT, .id = 5, .stream = 9},
		{.kind = F, .id = 2, .size = 20, .stream = 7, .thread = 1},
		{.kind = SEAM_TRACE_STREAM_SYNC, .stream = 7},
		{.kind = SEAM_TRACE_DEVICE_SYNC},
		{.kind = F, .id = 3, .size = 33},
		{.kind = A, .id = 4, .size = 5},
	},
	12,
};

static struct seam_trace *tell(const struct story *story)
{
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	cr_assert_eq(seam_trace_builder_create("test", 0, &builder), SEAM_OK);
	for (size_t i = 0; i < story->count; i++)
		cr_assert_eq(seam_trace_builder_add(builder, &story->events[i]), SEAM_OK);
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	return trace;
}

static uint64_t fingerprint(const struct story *story, uint64_t first)
{
	struct seam_trace *trace = tell(story);
	uint64_t number;
	cr_assert_eq(seam_plan_fingerprint(trace, first, story->count, &number), SEAM_OK);
	seam_trace_free(trace);
	return number;
}

/* One field of the base changed: a step, the field's place and size, the value. */
#define FIELD(name) offsetof(struct seam_trace_event, name), sizeof(((struct seam_trace_event *)0)->name)

Test(fingerprint, counts_what_a_plan_depends_on)
{
	static const struct {
		const char *what;
		struct {
			size_t event;
			size_t offset;
			size_t bytes;
			uint64_t value;
		} changes[4];
		bool same;
	} rows[] = {
		{"nothing", {{0}}, true},
		{"a size", {{11, FIELD(size), 6}}, false},
		{"a dynamic size", {{2, FIELD(size), 34}, {10, FIELD(size), 34}}, true},
		{"no longer dynamic", {{2, FIELD(flags), 0}}, false},
		{"captured", {{2, FIELD(flags), SEAM_TRACE_DYNAMIC | SEAM_TRACE_CAPTURE}}, true},
		{"a stream", {{11, FIELD(stream), 7}}, false},
		{"another handle of a stream", {{3, FIELD(stream), 99}, {6, FIELD(stream), 99}}, true},
		{"a thread", {{11, FIELD(thread), 1}}, false},
		{"the same thread under another number", {{1, FIELD(thread), 4}, {7, FIELD(thread), 4}}, true},
		{"which block is freed",
			{{1, FIELD(stream), 0}, {1, FIELD(size), 10}, {4, FIELD(id), 2}, {7, FIELD(id), 1}}, false},
		{"ids", {{2, FIELD(id), 77}, {10, FIELD(id), 77}}, true},
		{"which stream a block is used on", {{3, FIELD(stream), 0}}, false},
		{"a time", {{11, FIELD(time_ns), 100}}, true},
		{"a segment instead of a synchronisation", {{9, FIELD(kind), SEAM_TRACE_EMPTY_CACHE}}, false},
	};
	const uint64_t expected = fingerprint(&base, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct story story = base;
		for (size_t k = 0; k < 4; k++)
			memcpy((char *)&story.events[rows[i].changes[k].event] + rows[i].changes[k].offset,
				&rows[i].changes[k].value, rows[i].changes[k].bytes);
		if (strcmp(rows[i].what, "which block is freed") == 0) {
			story.events[7].size = 10;
			story.events[7].stream = 0;
		}
		cr_assert_eq(fingerprint(&story, 0) == expected, rows[i].same, "%s", rows[i].what);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* Which record a wait is for: the last one, or the one before it. */
Test(fingerprint, counts_what_a_wait_is_for)
{
	struct story story = {
		{
			{.kind = SEAM_TRACE_EVENT_RECORD, .id = 5, .stream = 7},
			{.kind = SEAM_TRACE_EVENT_RECORD, .id = 6, .stream = 7},
			{.kind = SEAM_TRACE_EVENT_WAIT, .id = 6, .stream = 9},
		},
		3,
	};
	const uint64_t of_the_last = fingerprint(&story, 0);
	story.events[2].id = 5;
	const uint64_t of_the_first = fingerprint(&story, 0);
	cr_assert_neq(of_the_last, of_the_first);
	story.events[0].id = story.events[2].id = 77;
	cr_assert_eq(fingerprint(&story, 0), of_the_first, "an event's handle does not count");
}

/* What the recorded allocator did, and marks, may stand anywhere. */
Test(fingerprint, leaves_marks_out)
{
	struct story story = base;
	memmove(&story.events[5], &story.events[4], 7 * sizeof(story.events[0]));
	story.events[4] = (struct seam_trace_event){.kind = SEAM_TRACE_SEGMENT_ALLOC, .id = 1u << 20, .size = 1u << 21};
	cr_assert_eq(story.count, 12);
	struct story shorter = base;
	shorter.count = 11;
	cr_assert_eq(fingerprint(&story, 0), fingerprint(&shorter, 0));
}

/* Two repetitions of one period are told alike, whatever came before them; a block of an earlier one is known by its
 * age. */
Test(fingerprint, of_a_repetition_is_that_of_the_one_before)
{
	const struct story story = {
		{
			{.kind = A, .id = 1, .size = 1000}, /* a resident */
			{.kind = A, .id = 2, .size = 10},
			{.kind = A, .id = 3, .size = 20},
			{.kind = F, .id = 2, .size = 10},
			{.kind = A, .id = 4, .size = 10},
			{.kind = F, .id = 3, .size = 20},
			{.kind = A, .id = 5, .size = 20},
			{.kind = F, .id = 4, .size = 10},
			{.kind = A, .id = 6, .size = 10},
			{.kind = F, .id = 5, .size = 20},
		},
		10,
	};
	struct seam_trace *trace = tell(&story);
	uint64_t first;
	uint64_t second;
	uint64_t shifted;
	cr_assert_eq(seam_plan_fingerprint(trace, 2, 6, &first), SEAM_OK);
	cr_assert_eq(seam_plan_fingerprint(trace, 6, 10, &second), SEAM_OK);
	cr_assert_eq(seam_plan_fingerprint(trace, 4, 8, &shifted), SEAM_OK);
	cr_assert_eq(first, second);
	cr_assert_neq(first, shifted);
	seam_trace_free(trace);
}

Test(fingerprint, refuses_what_is_no_stretch)
{
	struct seam_trace *trace = tell(&base);
	uint64_t number = 5;
	uint64_t empty;
	cr_assert_eq(seam_plan_fingerprint(NULL, 0, 0, &number), SEAM_INVALID);
	cr_assert_eq(seam_plan_fingerprint(trace, 0, 1, NULL), SEAM_INVALID);
	cr_assert_eq(seam_plan_fingerprint(trace, 2, 1, &number), SEAM_INVALID);
	cr_assert_eq(seam_plan_fingerprint(trace, 0, 13, &number), SEAM_INVALID);
	cr_assert_eq(number, 5, "an error changed it");
	cr_assert_eq(seam_plan_fingerprint(trace, 3, 3, &empty), SEAM_OK);
	cr_assert_eq(empty, 0xef46db3751d8e999u, "XXH64 of nothing");
	seam_trace_free(trace);
}

Test(fingerprint, every_failed_allocation_is_a_value)
{
	struct seam_trace *trace = tell(&base);
	struct seam_meta *meta = seam__meta_process();
	const uint64_t before = trace_sample_live_bytes();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		uint64_t number;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam_plan_fingerprint(trace, 0, base.count, &number);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		cr_assert_eq(trace_sample_live_bytes(), before, "failure %llu", (unsigned long long)n);
	}
	seam_trace_free(trace);
}
