/* test_core_plain.c: a device without virtual memory management: every call of the API does something sensible. */
#include "core_fixture.h"

#include <unistd.h>

#include <seam/snapshot.h>

Test(core_plain, blocks_are_served_and_counted)
{
	open_plain(MIB(256), NULL);
	char *ptr = must_alloc(MIB(30) + 1, NULL), *small = must_alloc(100, NULL);
	void *base = NULL;
	uint64_t bytes = 0;
	cr_assert_ok(seam_usable_size(pool, small, &bytes));
	cr_assert_eq(bytes, 512);
	cr_assert_rc(seam_usable_size(pool, small + 512, &bytes), SEAM_NOT_FOUND);
	cr_assert_ok(seam_block_range(pool, ptr + MIB(5), &base, &bytes));
	cr_assert_eq(base, ptr);
	cr_assert_rc(seam_block_range(pool, &bytes, &base, &bytes), SEAM_NOT_FOUND);
	struct seam_block_chunk chunk;
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, small, &chunk, 1, &count));
	cr_assert_eq(count, 1);
	cr_assert_eq(chunk.va + chunk.first_bytes, (uint64_t)(uintptr_t)small);
	cr_assert_eq(chunk.used_bytes, 512);
	cr_assert_rc(seam_block_chunks(pool, small + 512, &chunk, 1, &count), SEAM_NOT_FOUND);
	struct seam_stats s = get_stats();
	cr_assert_eq(s.live_requested_bytes, MIB(30) + 101);
	cr_assert_eq(s.live_blocks, 2);
	cr_assert_eq(s.live_blocks_peak, 2);
	cr_assert_eq(s.chunks, 2);
	cr_assert_eq(s.chunks_peak, 2);
	cr_assert_eq(s.chunks_made, 2);
	cr_assert_eq(s.chunks_made_bytes, s.reserved_bytes);
	cr_assert_eq(s.reserved_bytes,
		s.live_bytes + s.unused_pending_bytes + s.unused_partial_bytes + s.unused_whole_bytes);
	must_free(ptr);
	s = get_stats();
	cr_assert_geq(s.unused_whole_bytes, MIB(30));
	cr_assert_eq(s.reserved_bytes,
		s.live_bytes + s.unused_pending_bytes + s.unused_partial_bytes + s.unused_whole_bytes);
	cr_assert_eq(s.unused_stream_whole_bytes, s.unused_whole_bytes, "all of it was freed on one stream");
	cr_assert_eq(s.unused_stream_bytes, s.unused_whole_bytes + s.unused_partial_bytes);
	cr_assert_eq(must_alloc(MIB(30) + 1, NULL), ptr);
	cr_assert_eq(get_stats().s1 + get_stats().s2, 1);
	cr_assert_rc(seam_free(pool, ptr + 512), SEAM_NOT_FOUND);
	must_free(must_alloc(MIB(100), NULL));
	cr_assert_ok(seam_trim(pool, MIB(60), NULL));
	cr_assert_eq(get_stats().chunks_peak, 3);
	seam_stats_reset_peaks(pool);
	cr_assert_eq(get_stats().chunks_peak, 2);
	cr_assert_eq(get_stats().live_blocks_peak, 2);
	close_pool();
}

Test(core_plain, record_stream_holds_and_trimming_waits)
{
	open_plain(MIB(256), NULL);
	void *a = make_stream(), *b = make_stream();
	char *ptr = must_alloc(MIB(30), a);
	cr_assert_ok(seam_record_stream(pool, ptr, b));
	cr_assert_rc(seam_record_stream(pool, ptr + 512, b), SEAM_NOT_FOUND);
	launch(b, ptr, MIB(30), UINT64_C(10000000000));
	must_free(ptr);
	cr_assert_eq(get_stats().unused_pending_bytes, MIB(30));
	cr_assert_neq(must_alloc(MIB(30), a), ptr);
	uint64_t released = 0;
	cr_assert_ok(seam_trim(pool, 0, &released));
	cr_assert_eq(released, MIB(30));
	cr_assert_ok(seam_stream_destroyed(pool, a));
	cr_assert_rc(seam_stream_destroyed(pool, make_stream()), SEAM_NOT_FOUND);
	close_pool();
}

Test(core_plain, what_cannot_work_says_so)
{
	open_plain(MIB(256), "export_as:fd");
	void *ptr = must_alloc(MIB(2), NULL), *out = NULL;
	int file = -1;
	struct seam_request request = {.size = sizeof request, .bytes = 100, .private_id = 3};
	cr_assert_rc(seam_block_export(pool, ptr, 0, &file), SEAM_UNSUPPORTED);
	cr_assert_rc(seam_private_begin(pool, 3, SEAM_ROUTE_ALL, 0), SEAM_UNSUPPORTED);
	cr_assert_rc(seam_private_end(pool, 3), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_release(pool, 3), SEAM_NOT_FOUND);
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_NOT_FOUND);
	cr_assert_rc(seam_peer_enable(pool, 0), SEAM_UNSUPPORTED);
	request = (struct seam_request){
		.size = sizeof request, .bytes = MIB(4), .flags = SEAM_CONTIGUOUS | SEAM_NO_STITCH};
	cr_assert_ok(seam_alloc_request(pool, &request, &out));
	close_pool();
}

Test(core_plain, captures_are_refused_where_they_are_watched)
{
	open_plain(MIB(256), "watch_captures:1");
	void *stream = make_stream(), *out = NULL;
	cr_assert_eq(seam__drv_capture_begin(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_rc(seam_alloc(pool, 100, stream, &out), SEAM_CAPTURING);
	cr_assert_eq(seam__drv_capture_end(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	cr_assert_ok(seam_alloc(pool, 100, stream, &out));
	close_pool();
}

static bool free_one(void *user, struct seam_pool *of, uint64_t bytes, void *stream)
{
	void **to_free = user;
	(void)bytes;
	(void)stream;
	void *ptr = *to_free;
	*to_free = NULL;
	return ptr != NULL && seam_free(of, ptr) == SEAM_OK;
}

Test(core_plain, out_of_memory_is_reported_and_asks_the_callback)
{
	open_plain(MIB(64), NULL);
	void *kept = must_alloc(MIB(50), NULL), *out = NULL;
	char text[4096];
	cr_assert_rc(seam_alloc(pool, MIB(40), NULL, &out), SEAM_OOM_DEVICE);
	cr_assert_null(out);
	cr_assert_lt(seam_oom_report(pool, text, sizeof text), sizeof text);
	cr_assert_not_null(strstr(text, "40.00 MiB"), "%s", text);
	seam_set_oom_callback(pool, free_one, &kept);
	cr_assert_ok(seam_alloc(pool, MIB(40), NULL, &out));
	close_pool();
}

static int add_block(void *user, const struct seam_block_info *block)
{
	uint64_t *of_state = user;
	of_state[block->state] += block->bytes;
	return 0;
}

static int stop_at_once(void *user, const struct seam_view_info *view)
{
	(void)user;
	(void)view;
	return 1;
}

Test(core_plain, snapshots_show_segments_as_views)
{
	open_plain(MIB(256), NULL);
	(void)must_alloc(MIB(3), NULL);
	must_free(must_alloc(MIB(30), NULL));
	uint64_t of_state[5] = {0};
	struct seam_visitor visitor = {.block = add_block};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, of_state));
	struct seam_stats s = get_stats();
	cr_assert_eq(of_state[SEAM_BLOCK_LIVE], s.live_bytes);
	cr_assert_eq(of_state[SEAM_BLOCK_FREE], s.unused_whole_bytes + s.unused_partial_bytes);
	visitor.view = stop_at_once;
	cr_assert_rc(seam_snapshot_visit(pool, &visitor, of_state), SEAM_BUSY);
	cr_assert_ok(write_snapshot());
	close_pool();
}

Test(core_plain, a_description_says_what_is_missing)
{
	open_plain(MIB(64), NULL);
	char bytes[4096];
	struct seam_text text;
	seam__text_init_fixed(&text, bytes, sizeof bytes);
	seam__pool_describe(pool, &text);
	cr_assert_not_null(strstr(bytes, "supported    no"), "%s", bytes);
	cr_assert_null(strstr(bytes, "granularity"), "%s", bytes);
	close_pool();
}

Test(core_plain, every_driver_call_may_fail)
{
	open_plain(MIB(64), NULL);
	uint64_t all = 1u << SEAM_DRV_QUERY | 1u << SEAM_DRV_MEMORY | 1u << SEAM_DRV_EVENT;
	for (uint64_t n = 1;; n++) {
		void *out = NULL;
		uint64_t before = atomic_load(&driver->injected);
		seam__driver_fail_at(driver, n, all, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam_alloc(pool, MIB(12), NULL, &out);
		bool fired = atomic_load(&driver->injected) != before;
		seam__driver_fail_at(driver, 0, 0, 0);
		check_pool();
		cr_assert_eq(rc == SEAM_OK, out != NULL, "call %lu", (unsigned long)n);
		if (out != NULL)
			must_free(out);
		cr_assert_ok(seam_trim(pool, 0, NULL));
		cr_assert_eq(get_stats().reserved_bytes, 0);
		if (!fired)
			break;
	}
	close_pool();
}
