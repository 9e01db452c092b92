/* test_core_alloc.c: requests and frees through the API: arguments, flags, errors, out of memory and its callback. */
#include "core_fixture.h"

#include <seam/snapshot.h>

static const struct seam_request plain_request = {.size = sizeof(struct seam_request), .bytes = 4096};

Test(core_alloc, bad_arguments_are_refused_and_touch_nothing)
{
	open_pool(MIB(256), NULL);
	void *ptr = NULL;
	struct seam_request request = plain_request;
	cr_assert_rc(seam_alloc(NULL, 1, NULL, &ptr), SEAM_INVALID);
	cr_assert_rc(seam_alloc(pool, 1, NULL, NULL), SEAM_INVALID);
	cr_assert_rc(seam_alloc(pool, 0, NULL, &ptr), SEAM_INVALID);
	cr_assert_rc(seam_alloc_request(pool, NULL, &ptr), SEAM_INVALID);
	request.size = 8;
	cr_assert_rc(seam_alloc_request(pool, &request, &ptr), SEAM_INVALID);
	request = plain_request;
	request.flags = 1u << 31;
	cr_assert_rc(seam_alloc_request(pool, &request, &ptr), SEAM_UNSUPPORTED);
	request = plain_request;
	request.private_id = 99;
	cr_assert_rc(seam_alloc_request(pool, &request, &ptr), SEAM_NOT_FOUND);
	cr_assert_rc(seam_alloc(pool, 4096, stream_of(0xdead000), &ptr), SEAM_DRIVER);
	cr_assert_null(ptr, "ret_ptr was touched");
	cr_assert_eq(get_stats().allocs, 0);
	close_pool();
}

Test(core_alloc, sizes_are_rounded_to_512_and_addresses_aligned)
{
	open_pool(MIB(256), NULL);
	static const uint64_t sizes[] = {1, 511, 512, 513, 4096, KIB(1024), KIB(1024) + 1, MIB(5) + 7};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		uint64_t usable = 0;
		void *ptr = must_alloc(sizes[i], NULL);
		cr_assert_eq((uintptr_t)ptr % 512, 0, "row %zu", i);
		cr_assert_ok(seam_usable_size(pool, ptr, &usable));
		cr_assert_eq(usable, (sizes[i] + 511) / 512 * 512, "row %zu", i);
		must_free(ptr);
	}
	check_pool();
	close_pool();
}

Test(core_alloc, only_the_start_of_a_live_block_can_be_freed_or_recorded)
{
	open_pool(MIB(256), NULL);
	char *ptr = must_alloc(8192, NULL);
	int local = 0;
	cr_assert_rc(seam_free(NULL, ptr), SEAM_INVALID);
	cr_assert_rc(seam_free(pool, ptr + 512), SEAM_NOT_FOUND);
	cr_assert_rc(seam_free(pool, &local), SEAM_NOT_FOUND);
	cr_assert_rc(seam_record_stream(NULL, ptr, NULL), SEAM_INVALID);
	cr_assert_rc(seam_record_stream(pool, ptr + 512, NULL), SEAM_NOT_FOUND);
	cr_assert_rc(seam_record_stream(pool, ptr, stream_of(0xdead000)), SEAM_DRIVER);
	cr_assert_ok(seam_free(pool, NULL));
	cr_assert_ok(seam_record_stream(pool, ptr, NULL));
	must_free(ptr);
	cr_assert_rc(seam_free(pool, ptr), SEAM_NOT_FOUND);
	cr_assert_rc(seam_record_stream(pool, ptr, NULL), SEAM_NOT_FOUND);
	cr_assert_eq(get_stats().frees, 1);
	close_pool();
}

Test(core_alloc, a_recorded_block_waits_for_its_stream)
{
	open_pool(MIB(64), NULL);
	void *a = make_stream(), *b = make_stream();
	char *ptr = must_alloc(MIB(40), a);
	cr_assert_ok(seam_record_stream(pool, ptr, b));
	cr_assert_ok(seam_record_stream(pool, ptr, b));
	launch(b, ptr, MIB(40), UINT64_C(10000000000));
	must_free(ptr);
	cr_assert_eq(get_stats().unused_pending_bytes, MIB(40));
	struct seam_request request = {.size = sizeof request, .flags = SEAM_NO_WAIT, .bytes = MIB(40), .stream = a};
	void *again = NULL;
	cr_assert_rc(seam_alloc_request(pool, &request, &again), SEAM_OOM_DEVICE);
	request.flags = 0;
	cr_assert_ok(seam_alloc_request(pool, &request, &again));
	cr_assert_eq(get_stats().unused_pending_bytes, 0);
	cr_assert_eq(get_stats().retries, 1, "it waited");
	launch(a, again, MIB(40), 1000);
	must_free(again);
	close_pool();
}

Test(core_alloc, out_of_memory_changes_no_account)
{
	open_pool(MIB(64), NULL);
	void *kept = must_alloc(MIB(50), NULL), *ptr = NULL;
	struct seam_stats before = get_stats();
	cr_assert_rc(seam_alloc(pool, MIB(20), NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_rc(seam_alloc(pool, UINT64_MAX, NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_rc(seam_alloc(pool, UINT64_MAX - 100, NULL, &ptr), SEAM_OOM_DEVICE);
	struct seam_stats after = get_stats();
	cr_assert_null(ptr, "ret_ptr was touched");
	cr_assert_eq(after.live_bytes, before.live_bytes);
	cr_assert_eq(after.live_blocks, before.live_blocks);
	cr_assert_eq(after.reserved_bytes, before.reserved_bytes);
	cr_assert_eq(after.s5, before.s5 + 1, "what no device has is not asked of the engine");
	must_free(kept);
	cr_assert_ok(seam_alloc(pool, MIB(60), NULL, &ptr));
	close_pool();
}

Test(core_alloc, the_capacity_option_limits_the_pool)
{
	open_pool(MIB(512), "capacity_bytes:64M");
	void *ptr = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(66), NULL, &ptr), SEAM_OOM_DEVICE);
	ptr = must_alloc(MIB(64), NULL);
	cr_assert_eq(get_stats().reserved_bytes, MIB(64));
	close_pool();
}

struct callback {
	unsigned calls;
	uint64_t bytes;
	void *stream;
	void *to_free;
};

static bool free_one(void *user, struct seam_pool *of, uint64_t bytes, void *stream)
{
	struct callback *callback = user;
	callback->calls++;
	callback->bytes = bytes;
	callback->stream = stream;
	/* No lock is held: every call of the API works. */
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	cr_assert_ok(seam_stats_get(of, &stats));
	cr_assert_gt(seam_oom_report(of, NULL, 0), 0);
	void *ptr = callback->to_free;
	callback->to_free = NULL;
	if (ptr != NULL)
		cr_assert_ok(seam_free(of, ptr));
	return ptr != NULL;
}

Test(core_alloc, the_callback_may_free_and_ask_for_one_more_try)
{
	open_pool(MIB(64), NULL);
	struct callback callback = {.to_free = must_alloc(MIB(50), NULL)};
	void *ptr = NULL;
	seam_set_oom_callback(pool, free_one, &callback);
	cr_assert_ok(seam_alloc(pool, MIB(60) + 1, NULL, &ptr));
	cr_assert_eq(callback.calls, 1);
	cr_assert_eq(callback.bytes, MIB(60) + 1);
	cr_assert_rc(seam_alloc(pool, MIB(10), make_stream(), &ptr), SEAM_OOM_DEVICE);
	cr_assert_eq(callback.calls, 2, "it had nothing to free");
	cr_assert_not_null(callback.stream);
	cr_assert_rc(seam_alloc(pool, UINT64_MAX, NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_eq(callback.calls, 3);
	seam_set_oom_callback(pool, NULL, NULL);
	cr_assert_rc(seam_alloc(pool, MIB(10), NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_eq(callback.calls, 3, "it was removed");
	seam_set_oom_callback(NULL, free_one, &callback);
	close_pool();
}

Test(core_alloc, a_contiguous_block_is_one_chunk_of_its_own)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	struct seam_request request = {.size = sizeof request, .flags = SEAM_CONTIGUOUS, .bytes = MIB(7)};
	struct seam_block_chunk chunks[8];
	size_t count = 0;
	void *ptr = NULL, *other = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &ptr));
	cr_assert_ok(seam_block_chunks(pool, ptr, chunks, 8, &count));
	cr_assert_eq(count, 1);
	cr_assert_eq(chunks[0].bytes, MIB(8));
	cr_assert_eq(chunks[0].first_bytes, 0);
	cr_assert_ok(seam_alloc_request(pool, &request, &other));
	cr_assert_neq(first_chunk(ptr), first_chunk(other));
	must_free(ptr);
	void *again = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &again));
	cr_assert_eq(again, ptr, "a free one of the same size is used again");
	close_pool();
}

/* Whether `va` lies in a stitched view. */
struct place {
	uint64_t va;
	bool found, stitched;
};

static int find_place(void *user, const struct seam_view_info *view)
{
	struct place *place = user;
	if (place->va - view->va < view->bytes) {
		place->found = true;
		place->stitched = view->stitched;
	}
	return 0;
}

static bool is_stitched(const void *ptr)
{
	struct seam_visitor visitor = {.view = find_place};
	struct place place = {.va = (uint64_t)(uintptr_t)ptr};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, &place));
	cr_assert(place.found);
	return place.stitched;
}

/* Leaves `holes` free chunks of 2 MiB between live ones. */
static void scatter(unsigned holes, void **live)
{
	void *doomed[16];
	for (unsigned i = 0; i < holes; i++) {
		doomed[i] = must_alloc(MIB(2), NULL);
		live[i] = must_alloc(MIB(2), NULL);
	}
	for (unsigned i = 0; i < holes; i++)
		must_free(doomed[i]);
}

Test(core_alloc, scattered_chunks_are_stitched_unless_the_request_forbids_it)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *live[16], *ptr = NULL;
	scatter(16, live);
	cr_assert_ok(seam_alloc(pool, MIB(8), NULL, &ptr));
	cr_assert(is_stitched(ptr));
	cr_assert_eq(get_stats().s3, 1);
	cr_assert_eq(get_stats().stitched_bytes, MIB(8));
	struct seam_request request = {.size = sizeof request, .flags = SEAM_NO_STITCH, .bytes = MIB(8)};
	cr_assert_ok(seam_alloc_request(pool, &request, &ptr));
	cr_assert_not(is_stitched(ptr));
	cr_assert_eq(get_stats().s3, 1, "scattered chunks went back to the device for it");
	cr_assert_leq(get_stats().reserved_bytes, MIB(64));
	close_pool();
}

Test(core_alloc, the_driver_failing_is_an_error_that_changes_nothing)
{
	open_pool(MIB(256), NULL);
	void *ptr = NULL;
	struct seam_stats before = get_stats();
	for (uint64_t n = 1; n <= 3; n++) {
		seam__driver_fail_at(driver, n, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		cr_assert_rc(seam_alloc(pool, MIB(2), NULL, &ptr), SEAM_DRIVER);
		cr_assert_null(ptr);
		check_pool();
	}
	cr_assert_eq(get_stats().reserved_bytes, before.reserved_bytes);
	cr_assert_eq(get_stats().allocs, 0);
	(void)must_alloc(MIB(2), NULL);
	close_pool();
}

Test(core_alloc, no_metadata_is_an_error_that_changes_nothing)
{
	open_pool(MIB(256), NULL);
	void *ptr = NULL;
	unsigned failed = 0;
	for (uint64_t n = 1; ptr == NULL; n++) {
		seam__meta_fail_at(pool->meta, n);
		enum seam_rc rc = seam_alloc(pool, MIB(3), NULL, &ptr);
		if (rc == SEAM_OK)
			break;
		cr_assert_rc(rc, SEAM_OOM_META);
		cr_assert_null(ptr);
		check_pool();
		cr_assert_eq(get_stats().allocs, 0);
		failed++;
	}
	cr_assert_gt(failed, 3);
	seam__meta_fail_at(pool->meta, 0);
	close_pool();
}

Test(core_alloc, a_budget_of_mappings_is_kept)
{
	open_pool(MIB(512), "mapping_limit:64,chunk_bytes:2M");
	void *ptr = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(130), NULL, &ptr), SEAM_MAPPINGS);
	cr_assert_null(ptr, "ret_ptr was touched");
	cr_assert_eq(get_stats().reserved_bytes, 0);
	ptr = must_alloc(MIB(128), NULL);
	cr_assert_eq(get_stats().mappings, 64);
	close_pool();
}

Test(core_alloc, a_budget_of_address_space_is_kept)
{
	/* The home view of a 64 MiB device takes 72 MiB. */
	open_pool(MIB(64), "address_limit_bytes:80M,chunk_bytes:2M");
	void *live[16], *ptr = NULL;
	scatter(16, live);
	cr_assert_rc(seam_alloc(pool, MIB(32), NULL, &ptr), SEAM_OOM_VA);
	cr_assert_leq(get_stats().address_bytes, MIB(80), "I6");
	cr_assert_eq(get_stats().ooms_address, 1);
	ptr = must_alloc(MIB(8), NULL);
	cr_assert_leq(get_stats().address_bytes, MIB(80), "I6");
	close_pool();
}
