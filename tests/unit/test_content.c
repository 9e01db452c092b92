/* test_content.c: lost contents are noticed: the judge of every replay in real memory must not be blind. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "content.h"
#include "emu.h"

#define MIB (UINT64_C(1) << 20)

static struct device device;
static struct content content;
static uint64_t block_va; /* 8 MiB */

static void open_with(uint64_t peak_bytes)
{
	char error[DEVICE_ERROR_BYTES] = "";
	struct device_options options = {.kind = DEVICE_EMU, .memory = DEVICE_MEMORY_REAL, .capacity_bytes = 64 * MIB};
	cr_assert_eq(device_open(&options, error, &device), SEAM_OK, "%s", error);
	cr_assert_eq(content_init(&content, &device, peak_bytes, false), SEAM_OK);
	cr_assert_eq(seam__drv_direct_alloc(device.driver, 8 * MIB, &block_va), 0);
}

static void open_content(void)
{
	open_with(MIB);
}

static void close_content(void)
{
	char error[DEVICE_ERROR_BYTES] = "";
	content_fini(&content);
	SEAM_VERIFY(seam__drv_direct_free(device.driver, block_va) == 0);
	SEAM_VERIFY(device_close(&device, error) == SEAM_OK);
}

TestSuite(content, .init = open_content, .fini = close_content);

/* Overwrites a word of the block behind the tool's back. */
static void spoil(uint64_t offset_bytes)
{
	cr_assert_eq(seam__drv_fill32(device.driver, block_va + offset_bytes, 77, 1, 0), 0);
}

static uint64_t wrong_after_read(uint64_t bytes)
{
	cr_assert_eq(content_read(&content, 5, block_va, bytes, 0), SEAM_OK);
	cr_assert_eq(content_drain(&content), SEAM_OK);
	return content.wrong_blocks;
}

Test(content, what_is_kept_is_found)
{
	static const uint64_t sizes[] = {1, 3, 4, 512, 4097, 2 * MIB, 2 * MIB + 4, 8 * MIB};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		cr_assert_eq(content_fill(&content, 5, block_va, sizes[i], 0), SEAM_OK);
		cr_assert_eq(wrong_after_read(sizes[i]), 0, "%llu bytes", (unsigned long long)sizes[i]);
	}
	cr_assert_geq(content.checked_bytes, 12 * MIB);
}

Test(content, one_spoilt_word_is_noticed_wherever_it_is)
{
	static const uint64_t places[] = {0, 4, 2 * MIB - 4, 2 * MIB, 5 * MIB + 1000, 8 * MIB - 4};
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		cr_assert_eq(content_fill(&content, 5, block_va, 8 * MIB, 0), SEAM_OK);
		spoil(places[i]);
		cr_assert_eq(wrong_after_read(8 * MIB), i + 1, "at byte %llu", (unsigned long long)places[i]);
	}
	cr_assert_not_null(strstr(content.first_wrong, "block 5 lost its content at byte 0: 0x0000004d instead of "),
		"%s", content.first_wrong);
}

Test(content, another_block_s_pattern_is_wrong)
{
	cr_assert_eq(content_fill(&content, 6, block_va, MIB, 0), SEAM_OK);
	cr_assert_eq(wrong_after_read(MIB), 1);
}

Test(content, another_place_of_the_same_block_is_wrong)
{
	cr_assert_eq(content_fill(&content, 5, block_va, 8 * MIB, 0), SEAM_OK);
	cr_assert_eq(seam__drv_copy_on_device(device.driver, block_va, block_va + 2 * MIB, 2 * MIB, 0), 0);
	cr_assert_eq(wrong_after_read(8 * MIB), 1, "two addresses of one memory would look like this");
}

Test(content, the_tool_s_calls_are_kept_apart)
{
	struct device_counts before;
	struct device_counts after;
	device_get_counts(&device, &before);
	cr_assert_eq(content_fill(&content, 5, block_va, 8 * MIB, 0), SEAM_OK);
	cr_assert_eq(wrong_after_read(8 * MIB), 0);
	device_get_counts(&device, &after);
	cr_assert_eq(memcmp(&before.calls, &after.calls, sizeof(before.calls)), 0);
	cr_assert_eq(device_calls_of(&after, SEAM_DRV_MEMORY), 1, "the test's own allocation");
}

static void open_large(void)
{
	open_with(CONTENT_FULL_BYTES + 1);
}

TestSuite(content_large, .init = open_large, .fini = close_content);

Test(content_large, the_first_and_last_page_of_each_2_mib_are_checked)
{
	static const struct {
		uint64_t place;
		bool noticed;
	} rows[] = {{0, true}, {4092, true}, {4096, false}, {2 * MIB - 4096, true}, {2 * MIB, true}, {7 * MIB, false},
		{7 * MIB + 512 * 1024 - 4, true}};
	uint64_t noticed = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t bytes = 7 * MIB + 512 * 1024;
		cr_assert_eq(content_fill(&content, 5, block_va, bytes, 0), SEAM_OK);
		spoil(rows[i].place);
		noticed += rows[i].noticed;
		cr_assert_eq(wrong_after_read(bytes), noticed, "at byte %llu", (unsigned long long)rows[i].place);
	}
}

/* Chunks lie at multiples of 2 MiB of the address, wherever in them a block begins. */
Test(content_large, pages_are_those_of_the_chunk)
{
	static const struct {
		uint64_t place; /* in the 8 MiB, of which the block leaves out 1 MiB at both ends */
		bool noticed;
	} rows[] = {{MIB, true}, {MIB + 4096, false}, {2 * MIB - 4096, true}, {2 * MIB - 4, true}, {2 * MIB, true},
		{2 * MIB + 4096, false}, {3 * MIB, false}, {4 * MIB - 4, true}, {6 * MIB + 4092, true},
		{7 * MIB - 4, true}};
	uint64_t noticed = 0;
	cr_assert_eq(block_va % (2 * MIB), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(content_fill(&content, 5, block_va + MIB, 6 * MIB, 0), SEAM_OK);
		spoil(rows[i].place);
		noticed += rows[i].noticed;
		cr_assert_eq(content_read(&content, 5, block_va + MIB, 6 * MIB, 0), SEAM_OK);
		cr_assert_eq(content_drain(&content), SEAM_OK);
		cr_assert_eq(content.wrong_blocks, noticed, "at byte %llu", (unsigned long long)rows[i].place);
	}
}
