/* test_plan_format.c: the file image: round trips, every truncation and every flipped bit of a small file, hostile
 * counts. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "meta.h"
#include "plan_format.h"
#include "plan_sample.h"
#include "trace_sample.h"

/* A copy of the sample's image, its header changed by the test and sealed again. malloc()ed. */
static struct seam_plan_header *image_copy(size_t *ret_bytes)
{
	struct seam_plan *plan = plan_sample_create();
	const void *image = seam__plan_image(plan, ret_bytes);
	void *copy = malloc(*ret_bytes);
	memcpy(copy, image, *ret_bytes);
	seam_plan_free(plan);
	return copy;
}

static void seal(struct seam_plan_header *image, size_t bytes)
{
	image->checksum = XXH64((const char *)image + 256, bytes - 256, 0);
	image->header_checksum = XXH64(image, 248, 0);
}

Test(plan_format, reads_what_it_wrote)
{
	struct seam_plan *plan = plan_sample_create();
	const struct seam_plan_header *header = &plan->header;
	size_t bytes;
	size_t again_bytes;
	const void *image = seam__plan_image(plan, &bytes);
	cr_assert_eq(bytes, 256 + 6 * 64 + 12 * 8 + 2 * 8 + 1 * 32 + 2 * 48 + 3 * 16 + 4 * 16 + header->string_bytes);
	struct seam_plan *again;
	cr_assert_eq(seam_plan_read_memory(image, bytes, NULL, &again), SEAM_OK);
	cr_assert_arr_eq(seam__plan_image(again, &again_bytes), image, bytes);
	cr_assert_eq(again_bytes, bytes);
	cr_assert_eq(again->header.copies, 2);
	cr_assert_eq(again->slots[4].size_bytes, 1024);
	cr_assert_eq(again->offsets[4 * 2 + 1], 6144);
	cr_assert_eq(again->streams[1], 0xabcd);
	cr_assert_eq(again->waits[0].waiter, 4);
	cr_assert_eq(again->groups[1].first_range, 1);
	cr_assert_eq(again->ranges[1].end_bytes, 6144);
	cr_assert_eq(again->prologue[1].slot, 4);
	cr_assert_eq(again->prologue[3].size_bytes, 23456);
	cr_assert_eq(again->header.arena_chunks, 7);
	cr_assert_eq(again->header.lower_bound_chunks, 4);
	cr_assert_str_eq(seam_plan_string(again, again->header.solver), "by hand");
	cr_assert_str_eq(seam_plan_string(again, 0), "");
	cr_assert_null(seam_plan_string(again, again->header.solver + 1), "the middle of a string is no string");
	cr_assert_null(seam_plan_string(again, (uint32_t)again->header.string_bytes));
	seam_plan_free(again);
	seam_plan_free(plan);
	seam_plan_free(NULL);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* The offsets of the documented file, so that another program may write it from the header alone. */
Test(plan_format, stands_as_documented)
{
	size_t bytes;
	struct seam_plan_header *header = image_copy(&bytes);
	const unsigned char *image = (const unsigned char *)header;
	cr_assert_arr_eq(image, "SEAMPLN\n", 8);
	cr_assert_eq(image[8], 1, "version");
	cr_assert_eq(image[13], 1, "header_bytes");
	cr_assert_eq(image[16], 6, "slot_count");
	cr_assert_eq(image[20], 2, "copies");
	cr_assert_eq(image[24], 10, "positions");
	cr_assert_eq(image[32], 0x34, "fingerprint");
	cr_assert_eq(image[108], 7, "arena_chunks");
	cr_assert_eq(image[112], 0, "reserved_backing");
	cr_assert_eq(image[152], 4, "prologue_count");
	cr_assert_eq(image[256 + 64], 0, "size of slot 1, low byte");
	cr_assert_eq(image[256 + 64 + 1], 4, "size of slot 1");
	cr_assert_eq(image[256 + 64 + 8], 1, "begin of slot 1");
	cr_assert_eq(image[256 + 6 * 64 + 8 + 1], 2, "address of slot 0 in copy 1");
	cr_assert_eq(
		image[bytes - header->string_bytes - 16], 0xa0, "the last size of the prologue, before the strings");
	free(header);
}

Test(plan_format, every_truncation_is_an_error)
{
	size_t bytes;
	struct seam_plan_header *image = image_copy(&bytes);
	for (size_t cut = 0; cut < bytes; cut++) {
		struct seam_plan *again = NULL;
		struct seam_trace_error error = {0};
		char *copy = cut == 0 ? NULL : malloc(cut); /* so that a byte too far is seen by ASan */
		if (cut > 0)
			memcpy(copy, image, cut);
		enum seam_rc rc = seam_plan_read_memory(copy, cut, &error, &again);
		cr_assert_eq(rc, cut < 8 ? SEAM_FORMAT : SEAM_CORRUPT, "cut at %zu: %s", cut, seam_rc_name(rc));
		cr_assert_null(again);
		cr_assert_neq(error.text[0], '\0', "cut at %zu", cut);
		free(copy);
	}
	free(image);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(plan_format, a_longer_file_is_an_error)
{
	size_t bytes;
	struct seam_plan_header *image = image_copy(&bytes);
	struct seam_plan *again = NULL;
	image = realloc(image, bytes + 8);
	memset((char *)image + bytes, 0, 8);
	seal(image, bytes + 8);
	cr_assert_eq(seam_plan_read_memory(image, bytes + 8, NULL, &again), SEAM_CORRUPT);
	free(image);
}

Test(plan_format, every_flipped_bit_is_an_error)
{
	size_t bytes;
	struct seam_plan_header *image = image_copy(&bytes);
	char *copy = malloc(bytes);
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		struct seam_plan *again = NULL;
		memcpy(copy, image, bytes);
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		enum seam_rc rc = seam_plan_read_memory(copy, bytes, NULL, &again);
		enum seam_rc expected = bit < 64 ? SEAM_FORMAT : bit < 96 ? SEAM_VERSION : SEAM_CORRUPT;
		cr_assert_eq(rc, expected, "bit %zu: %s", bit, seam_rc_name(rc));
		cr_assert_null(again);
	}
	free(copy);
	free(image);
}

/* Behind right checksums any byte may be changed: the plan is refused with a line, or it is another valid plan. */
Test(plan_format, a_right_checksum_does_not_excuse_the_content)
{
	size_t bytes;
	size_t refused = 0;
	struct seam_plan_header *image = image_copy(&bytes);
	char *copy = malloc(bytes);
	for (size_t bit = 96; bit < bytes * 8; bit++) {
		struct seam_plan *again = NULL;
		struct seam_trace_error error = {0};
		memcpy(copy, image, bytes);
		copy[bit / 8] = (char)(copy[bit / 8] ^ 1 << bit % 8);
		seal((struct seam_plan_header *)(void *)copy, bytes);
		enum seam_rc rc = seam_plan_read_memory(copy, bytes, &error, &again);
		const bool stitched = bit / 8 / 4 == offsetof(struct seam_plan_header, reserved_backing) / 4;
		cr_assert(stitched ? rc == SEAM_VERSION : rc == SEAM_OK || rc == SEAM_CORRUPT, "bit %zu: %s", bit,
			seam_rc_name(rc));
		if (rc == SEAM_OK) {
			cr_assert_null(seam_plan_check(again, NULL), "bit %zu", bit);
		} else {
			cr_assert(again == NULL && error.text[0] != '\0', "bit %zu", bit);
			refused++;
		}
		seam_plan_free(again);
	}
	cr_assert_gt(refused, bytes, "hardly anything is judged");
	free(copy);
	free(image);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* Counts that seem to fit when they are multiplied or added carelessly; nothing of their size is ever allocated. */
Test(plan_format, counts_that_overflow_are_refused_before_they_cost)
{
	static const struct {
		const char *name;
		size_t offset;
		size_t field_bytes;
		uint64_t value;
	} rows[] = {
		{"slots", offsetof(struct seam_plan_header, slot_count), 4, UINT32_MAX},
		{"copies", offsetof(struct seam_plan_header, copies), 4, UINT32_MAX},
		{"copies that wrap", offsetof(struct seam_plan_header, copies), 4, 0x80000000u},
		{"no copies", offsetof(struct seam_plan_header, copies), 4, 0},
		{"streams", offsetof(struct seam_plan_header, stream_count), 4, UINT32_MAX},
		{"waits", offsetof(struct seam_plan_header, wait_count), 4, UINT32_MAX},
		{"groups", offsetof(struct seam_plan_header, group_count), 4, UINT32_MAX},
		{"ranges", offsetof(struct seam_plan_header, range_count), 4, UINT32_MAX},
		{"prologue", offsetof(struct seam_plan_header, prologue_count), 4, UINT32_MAX},
		{"strings", offsetof(struct seam_plan_header, string_bytes), 8, UINT64_MAX},
		{"strings that wrap", offsetof(struct seam_plan_header, string_bytes), 8, UINT64_MAX - 255},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t bytes;
		struct seam_plan *again = NULL;
		struct seam_trace_error error = {0};
		struct seam_meta_stats stats;
		struct seam_plan_header *image = image_copy(&bytes);
		memcpy((char *)image + rows[i].offset, &rows[i].value, rows[i].field_bytes);
		seal(image, bytes);
		seam__meta_reset_peak(seam__meta_process());
		cr_assert_eq(seam_plan_read_memory(image, bytes, &error, &again), SEAM_CORRUPT, "%s", rows[i].name);
		cr_assert(strstr(error.text, "do not hold") != NULL, "%s: %s", rows[i].name, error.text);
		seam__meta_get_stats(seam__meta_process(), &stats);
		cr_assert_eq(
			stats.peak_bytes, 0, "%s costs %llu bytes", rows[i].name, (unsigned long long)stats.peak_bytes);
		free(image);
	}
}

Test(plan_format, every_failed_allocation_is_a_value)
{
	size_t bytes;
	struct seam_plan_header *image = image_copy(&bytes);
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	uint64_t n = 0;
	while (fired) {
		struct seam_plan *again = NULL;
		seam__meta_fail_at(meta, ++n);
		enum seam_rc rc = seam_plan_read_memory(image, bytes, NULL, &again);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		seam_plan_free(again);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %llu", (unsigned long long)n);
	}
	cr_assert_gt(n, 4, "the image, the group counts, the chunks and the sweep take memory");
	free(image);
}

/* As an earlier release wrote it: numbers of chunks between the prologue and the strings. */
Test(plan_format, a_stitched_plan_is_refused_with_a_way_out)
{
	size_t bytes;
	struct seam_plan *again = NULL;
	struct seam_trace_error error = {0};
	struct seam_plan_header *image = image_copy(&bytes);
	const size_t chunks_bytes = 7 * sizeof(uint32_t);
	const size_t strings_at = bytes - image->string_bytes;
	char *old = calloc(1, bytes + chunks_bytes);
	cr_assert_not_null(old);
	image->reserved_backing = 7;
	memcpy(old, image, strings_at);
	memcpy(old + strings_at + chunks_bytes, (const char *)image + strings_at, image->string_bytes);
	seal((struct seam_plan_header *)(void *)old, bytes + chunks_bytes);
	cr_expect_eq(seam_plan_read_memory(old, bytes + chunks_bytes, &error, &again), SEAM_VERSION);
	cr_expect_null(again);
	cr_expect_not_null(strstr(error.text, "stitched plan"), "%s", error.text);
	cr_expect_not_null(strstr(error.text, "make it anew"), "%s", error.text);
	free(old);
	free(image);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
