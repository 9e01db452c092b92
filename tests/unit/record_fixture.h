/* record_fixture.h: one recorder on a metadata domain of its own, for the tests of the recorder. */
#ifndef SEAM_TESTS_RECORD_FIXTURE_H
#define SEAM_TESTS_RECORD_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "rc_assert.h"
#include "record.h"
#include "trace_sample.h"
#include "trace_story.h"

#define UNUSED __attribute__((unused))

static struct seam_meta *meta UNUSED;
static struct seam_recorder *recorder UNUSED;

UNUSED static void open_recorder(uint64_t limit_bytes)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	cr_assert_ok(seam__recorder_create(meta, limit_bytes, 3, &recorder));
}

UNUSED static void check_recorder(void)
{
	const char *broken = seam__recorder_check(recorder);
	cr_assert_null(broken, "%s", broken);
}

UNUSED static void close_recorder(void)
{
	check_recorder();
	seam__recorder_destroy(recorder);
	cr_assert_eq(seam__meta_destroy(meta), 0, "metadata is left");
	cr_assert_eq(trace_sample_live_bytes(), 0, "metadata of the process is left");
}

/* Returns the serial. */
UNUSED static uint64_t add_alloc(uint64_t bytes, uint64_t stream)
{
	uint64_t order = seam__recorder_draw(recorder);
	const struct seam_record record = {
		.order = order, .id = order, .bytes = bytes, .stream = stream, .kind = SEAM_TRACE_ALLOC};
	seam__recorder_add(recorder, &record);
	return order;
}

UNUSED static void add_of(uint8_t kind, uint64_t id, uint64_t stream)
{
	const struct seam_record record = {
		.order = seam__recorder_draw(recorder), .id = id, .stream = stream, .kind = kind};
	seam__recorder_add(recorder, &record);
}

UNUSED static void add_free(uint64_t id)
{
	add_of(SEAM_TRACE_FREE, id, 0);
}

UNUSED static struct seam_recorder_counts get_counts(void)
{
	struct seam_recorder_counts counts;
	seam__recorder_get_counts(recorder, &counts);
	return counts;
}

/* A trace of the newest events, which is a valid one. */
UNUSED static struct seam_trace *make_trace(uint64_t events)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_ok(seam__recorder_trace(recorder, events, "a test", &trace));
	cr_assert_null(seam_trace_check(trace, &error), "%s", error.text);
	return trace;
}

UNUSED static void assert_story(uint64_t events, const char *wanted)
{
	struct seam_trace *trace = make_trace(events);
	char *story = trace_story(trace, false);
	cr_assert_str_eq(story, wanted);
	free(story);
	seam_trace_free(trace);
}

#endif
