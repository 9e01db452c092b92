/* test_trace_format.c: the file image: round trips, and every truncation and every flipped bit of a small file. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "trace_format.h"
#include "trace_sample.h"

Test(trace_format, reads_what_it_wrote)
{
	struct seam_trace *trace = trace_sample_create();
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	cr_assert_eq(bytes, 64 + 56 * trace->header.event_count + trace->header.string_bytes);
	struct seam_trace *again;
	cr_assert_eq(seam_trace_read_memory(image, bytes, NULL, &again), SEAM_OK);
	cr_assert_arr_eq(&again->header, &trace->header, sizeof(trace->header));
	cr_assert_arr_eq(again->events, trace->events, 56 * trace->header.event_count);
	cr_assert_arr_eq(again->strings, trace->strings, trace->header.string_bytes);
	seam_trace_free(again);
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* The offsets of the documented file, so that another program may write it from the header alone. */
Test(trace_format, stands_as_documented)
{
	struct seam_trace *trace = trace_sample_create();
	size_t bytes;
	const unsigned char *image = seam__trace_image(trace, &bytes);
	cr_assert_arr_eq(image, "SEAMTRC\n", 8);
	cr_assert_eq(image[8], 1, "version");
	cr_assert_eq(image[12], 64, "header_bytes");
	cr_assert_eq(image[16], 56, "event_bytes");
	cr_assert_eq(image[20], 3, "device");
	cr_assert_eq(image[24], trace->header.event_count, "event_count");
	const unsigned char *event = image + 64 + 56;
	cr_assert_eq(event[0], SEAM_TRACE_ALLOC, "kind");
	cr_assert_eq(event[1], SEAM_TRACE_RESIDENT, "flags");
	cr_assert_eq(event[8], 1, "id");
	cr_assert_eq(event[16] + 256 * event[17], 4096, "size");
	cr_assert_eq(image[64 + 56 * trace->header.event_count], 0, "the empty string");
	seam_trace_free(trace);
}

Test(trace_format, every_truncation_is_an_error)
{
	struct seam_trace *trace = trace_sample_create();
	size_t bytes;
	const char *image = seam__trace_image(trace, &bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		struct seam_trace *again = NULL;
		struct seam_trace_error error = {0};
		char *copy = cut == 0 ? NULL : malloc(cut); /* so that a byte too far is seen by ASan */
		if (cut > 0)
			memcpy(copy, image, cut);
		enum seam_rc rc = seam_trace_read_memory(copy, cut, &error, &again);
		cr_assert_eq(rc, cut < 8 ? SEAM_FORMAT : SEAM_CORRUPT, "cut at %zu: %s", cut, seam_rc_name(rc));
		cr_assert_null(again);
		cr_assert_neq(error.text[0], '\0', "cut at %zu", cut);
		free(copy);
	}
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(trace_format, every_flipped_bit_is_an_error)
{
	struct seam_trace *trace = trace_sample_create();
	size_t bytes;
	const char *image = seam__trace_image(trace, &bytes);
	char *copy = malloc(bytes);
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		struct seam_trace *again = NULL;
		memcpy(copy, image, bytes);
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		enum seam_rc rc = seam_trace_read_memory(copy, bytes, NULL, &again);
		enum seam_rc expected = bit < 64 ? SEAM_FORMAT : bit < 96 ? SEAM_VERSION : SEAM_CORRUPT;
		cr_assert_eq(rc, expected, "bit %zu: %s", bit, seam_rc_name(rc));
		cr_assert_null(again);
	}
	free(copy);
	seam_trace_free(trace);
}

/* Behind a right checksum anything may stand: the invariants are checked all the same. */
Test(trace_format, a_right_checksum_does_not_excuse_the_content)
{
	struct seam_trace *trace;
	struct seam_trace_event *events;
	char *strings;
	cr_assert_eq(seam__trace_create(1, 1, &trace, &events, &strings), SEAM_OK);
	events[0] = (struct seam_trace_event){.kind = SEAM_TRACE_FREE, .id = 5};
	seam__trace_seal(trace, 0, 0);
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	struct seam_trace *again = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_read_memory(image, bytes, &error, &again), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "T1") != NULL, "%s", error.text);
	strings[0] = 'x';
	seam__trace_seal(trace, 0, 0);
	cr_assert_eq(seam_trace_read_memory(image, bytes, &error, &again), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "T4") != NULL, "%s", error.text);
	seam_trace_free(trace);
}

/* 56 * 2^61 is 0 in 64 bits: a count that seems to fit when it is multiplied carelessly. */
Test(trace_format, a_count_that_wraps_is_refused)
{
	struct seam_trace *trace;
	struct seam_trace_event *events;
	char *strings;
	struct seam_trace *again = NULL;
	size_t bytes;
	cr_assert_eq(seam__trace_create(0, 1, &trace, &events, &strings), SEAM_OK);
	trace->header.event_count = (uint64_t)1 << 61;
	seam__trace_seal(trace, 0, 0);
	const void *image = seam__trace_image(trace, &bytes);
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_read_memory(image, bytes, &error, &again), SEAM_CORRUPT);
	cr_assert(strstr(error.text, "do not hold") != NULL, "noticed only by its events: %s", error.text);
	seam_trace_free(trace);
}

Test(trace_format, every_failed_allocation_is_a_value)
{
	struct seam_trace *trace = trace_sample_create();
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	struct seam_meta *meta = seam__meta_process();
	const uint64_t before = trace_sample_live_bytes();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		struct seam_trace *again = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam_trace_read_memory(image, bytes, NULL, &again);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		seam_trace_free(again);
		cr_assert_eq(trace_sample_live_bytes(), before, "failure %llu", (unsigned long long)n);
	}
	seam_trace_free(trace);
}
