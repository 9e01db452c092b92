/* test_core_blocks.c: questions about live blocks, and their chunks' handles for other processes. */
#include "core_fixture.h"

#include <unistd.h>

Test(core_blocks, sizes_and_ranges_are_those_of_live_blocks)
{
	open_pool(MIB(256), NULL);
	char *ptr = must_alloc(MIB(3) + 5, NULL), *small = must_alloc(700, NULL);
	int local = 0;
	void *base = NULL;
	uint64_t bytes = 0;
	cr_assert_ok(seam_usable_size(pool, ptr, &bytes));
	cr_assert_eq(bytes, MIB(3) + 512);
	const char *const inside[] = {ptr, ptr + 1, ptr + MIB(3) + 511};
	for (size_t i = 0; i < 3; i++) {
		base = NULL;
		cr_assert_ok(seam_block_range(pool, inside[i], &base, &bytes));
		cr_assert_eq(base, ptr, "row %zu", i);
		cr_assert_eq(bytes, MIB(3) + 512, "row %zu", i);
	}
	cr_assert_ok(seam_block_range(pool, small + 1023, NULL, &bytes));
	cr_assert_eq(bytes, 1024);
	cr_assert_ok(seam_block_range(pool, small, &base, NULL));
	cr_assert_eq(base, small);
	bytes = 7;
	cr_assert_rc(seam_usable_size(pool, ptr + 512, &bytes), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_range(pool, ptr + MIB(3) + 512, &base, &bytes), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_range(pool, ptr - 1, &base, &bytes), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_range(pool, &local, &base, &bytes), SEAM_NOT_FOUND);
	cr_assert_rc(seam_usable_size(NULL, ptr, &bytes), SEAM_INVALID);
	cr_assert_rc(seam_usable_size(pool, ptr, NULL), SEAM_INVALID);
	cr_assert_rc(seam_block_range(NULL, ptr, &base, &bytes), SEAM_INVALID);
	must_free(ptr);
	cr_assert_rc(seam_usable_size(pool, ptr, &bytes), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_range(pool, ptr, &base, &bytes), SEAM_NOT_FOUND);
	cr_assert_eq(bytes, 7, "ret_bytes was touched");
	cr_assert_eq(base, small, "ret_base was touched");
	close_pool();
}

Test(core_blocks, chunks_of_a_block_follow_each_other_and_cover_it)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	(void)must_alloc(MIB(1) + 512, NULL); /* the next block begins inside a chunk */
	char *ptr = must_alloc(MIB(5), NULL);
	struct seam_block_chunk chunks[8];
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, ptr, chunks, 8, &count));
	cr_assert_eq(count, 4);
	uint64_t at = (uint64_t)(uintptr_t)ptr, sum = 0;
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(chunks[i].bytes, MIB(2), "chunk %zu", i);
		cr_assert_eq(chunks[i].va + chunks[i].first_bytes, at, "chunk %zu", i);
		cr_assert_leq(chunks[i].first_bytes + chunks[i].used_bytes, chunks[i].bytes, "chunk %zu", i);
		cr_assert(i == 0 || chunks[i].chunk != chunks[i - 1].chunk, "chunk %zu", i);
		at += chunks[i].used_bytes;
		sum += chunks[i].used_bytes;
	}
	cr_assert_eq(sum, MIB(5));
	cr_assert_eq(chunks[0].first_bytes, MIB(1) + 512);
	close_pool();
}

Test(core_blocks, chunks_are_counted_also_where_there_is_no_room_for_them)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	char *ptr = must_alloc(MIB(6), NULL);
	struct seam_block_chunk chunks[2] = {{.va = 1}, {.va = 1}};
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, ptr, NULL, 0, &count));
	cr_assert_eq(count, 3);
	count = 0;
	cr_assert_ok(seam_block_chunks(pool, ptr, chunks, 1, &count));
	cr_assert_eq(count, 3);
	cr_assert_eq(chunks[0].va, (uint64_t)(uintptr_t)ptr);
	cr_assert_eq(chunks[1].va, 1, "beyond the capacity nothing is written");
	count = 9;
	cr_assert_rc(seam_block_chunks(pool, ptr + 512, chunks, 2, &count), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_chunks(NULL, ptr, chunks, 2, &count), SEAM_INVALID);
	cr_assert_rc(seam_block_chunks(pool, ptr, NULL, 2, &count), SEAM_INVALID);
	cr_assert_rc(seam_block_chunks(pool, ptr, chunks, 2, NULL), SEAM_INVALID);
	cr_assert_eq(count, 9, "ret_count was touched");
	close_pool();
}

Test(core_blocks, an_exported_chunk_stays_with_the_pool)
{
	open_pool(MIB(256), "chunk_bytes:2M,export_as:fd");
	char *ptr = must_alloc(MIB(6), NULL);
	int file = -1;
	cr_assert_rc(seam_block_export(pool, ptr, 3, &file), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_export(pool, ptr + 512, 0, &file), SEAM_NOT_FOUND);
	cr_assert_rc(seam_block_export(NULL, ptr, 0, &file), SEAM_INVALID);
	cr_assert_rc(seam_block_export(pool, ptr, 0, NULL), SEAM_INVALID);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_QUERY, SEAM_CU_UNKNOWN);
	cr_assert_rc(seam_block_export(pool, ptr, 1, &file), SEAM_DRIVER);
	cr_assert_eq(file, -1, "ret_handle was touched");
	cr_assert_ok(seam_block_export(pool, ptr, 1, &file));
	cr_assert_geq(file, 0);
	must_free(ptr);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().reserved_bytes, MIB(2), "one of three chunks was exported");
	cr_assert_eq(close(file), 0);
	close_pool();
}

Test(core_blocks, without_the_option_nothing_is_exported)
{
	open_pool(MIB(256), NULL);
	int file = -1;
	cr_assert_rc(seam_block_export(pool, must_alloc(MIB(2), NULL), 0, &file), SEAM_UNSUPPORTED);
	close_pool();
}
