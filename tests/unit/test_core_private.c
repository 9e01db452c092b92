/* test_core_private.c: private pools and stream captures. */
#include "core_fixture.h"

#include <pthread.h>

static uint64_t number(void *stream)
{
	return (uint64_t)(uintptr_t)stream;
}

static uint64_t begin_capture(void *stream)
{
	enum seam_capture_state state;
	uint64_t id = 0;
	cr_assert_eq(seam__drv_capture_begin(driver, number(stream)), SEAM_CU_SUCCESS);
	cr_assert_eq(seam__drv_stream_capture(driver, number(stream), &state, &id), SEAM_CU_SUCCESS);
	cr_assert_eq(state, SEAM_CAPTURE_ACTIVE);
	return id;
}

static void end_capture(void *stream)
{
	cr_assert_eq(seam__drv_capture_end(driver, number(stream)), SEAM_CU_SUCCESS);
}

/* Which private pool's memory the block is in: found by the byte account, as a caller could. */
static bool goes_private(void *stream)
{
	must_free(must_alloc(MIB(2), stream)); /* so that both have a free block */
	uint64_t before = get_stats().unused_private_bytes;
	void *ptr = must_alloc(MIB(2), stream);
	uint64_t after = get_stats().unused_private_bytes;
	must_free(ptr);
	return before != after;
}

Test(core_private, bad_arguments_are_refused)
{
	open_pool(MIB(256), NULL);
	cr_assert_rc(seam_private_begin(NULL, 1, SEAM_ROUTE_ALL, 0), SEAM_INVALID);
	cr_assert_rc(seam_private_begin(pool, 0, SEAM_ROUTE_ALL, 0), SEAM_INVALID);
	cr_assert_rc(seam_private_begin(pool, 1, (enum seam_route)9, 0), SEAM_INVALID);
	cr_assert_rc(seam_private_end(pool, 1), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_end(NULL, 1), SEAM_INVALID);
	cr_assert_rc(seam_private_release(pool, 1), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_release(NULL, 1), SEAM_INVALID);
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	cr_assert_ok(seam_private_end(pool, 1));
	cr_assert_rc(seam_private_end(pool, 1), SEAM_NOT_FOUND);
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_rc(seam_private_release(pool, 1), SEAM_NOT_FOUND);
	close_pool();
}

Test(core_private, a_begin_without_metadata_leaves_nothing)
{
	open_pool(MIB(256), NULL);
	(void)must_alloc(100, NULL);
	uint64_t before = get_stats().metadata_bytes;
	enum seam_rc rc;
	uint64_t n = 0;
	do {
		seam__meta_fail_at(pool->meta, ++n);
		rc = seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0);
		if (rc != SEAM_OK) {
			cr_assert_rc(rc, SEAM_OOM_META);
			cr_assert_eq(get_stats().metadata_bytes, before, "failure %lu", (unsigned long)n);
			cr_assert_rc(seam_private_end(pool, 1), SEAM_NOT_FOUND);
		}
	} while (rc != SEAM_OK);
	cr_assert_gt(n, 2);
	seam__meta_fail_at(pool->meta, 0);
	close_pool();
}

Test(core_private, routes_lead_the_requests_that_they_name)
{
	open_pool(MIB(256), NULL);
	void *a = make_stream(), *b = make_stream(), *c = make_stream();
	cr_assert_not(goes_private(a));
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_STREAM, number(a)));
	cr_assert(goes_private(a), "its stream");
	cr_assert_not(goes_private(b), "another stream");
	uint64_t id = begin_capture(c);
	cr_assert_ok(seam_private_begin(pool, 2, SEAM_ROUTE_CAPTURE, id));
	cr_assert(goes_private(c), "its capture");
	cr_assert_not(goes_private(b), "no capture");
	end_capture(c);
	cr_assert_not(goes_private(c), "the capture has ended");
	cr_assert_ok(seam_private_begin(pool, 5, SEAM_ROUTE_CAPTURE, 0));
	cr_assert_not(goes_private(c), "no capture has id 0");
	cr_assert_ok(seam_private_begin(pool, 3, SEAM_ROUTE_THREAD, 0));
	cr_assert(goes_private(b), "its thread");
	cr_assert_ok(seam_private_end(pool, 3));
	cr_assert_not(goes_private(b), "ended");
	cr_assert_ok(seam_private_begin(pool, 4, SEAM_ROUTE_ALL, 0));
	cr_assert(goes_private(b), "all");
	close_pool();
}

static void *alloc_elsewhere(void *user)
{
	return seam_alloc(pool, MIB(2), NULL, user) == SEAM_OK ? user : NULL;
}

Test(core_private, a_thread_route_leads_no_other_thread)
{
	open_pool(MIB(256), NULL);
	void *mine = NULL, *theirs = NULL, *result = NULL;
	pthread_t thread;
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_THREAD, 0));
	mine = must_alloc(MIB(2), NULL);
	cr_assert_eq(pthread_create(&thread, NULL, alloc_elsewhere, &theirs), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_not_null(result);
	must_free(mine);
	cr_assert_eq(get_stats().unused_private_bytes, MIB(2), "mine is private");
	must_free(theirs);
	cr_assert_eq(get_stats().unused_private_bytes, MIB(2), "theirs is not");
	close_pool();
}

Test(core_private, the_newest_route_wins_and_an_id_in_the_request_over_all)
{
	open_pool(MIB(256), NULL);
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	void *first = must_alloc(MIB(2), NULL);
	cr_assert_ok(seam_private_begin(pool, 2, SEAM_ROUTE_ALL, 0));
	void *second = must_alloc(MIB(2), NULL);
	must_free(first);
	must_free(second);
	cr_assert_eq(must_alloc(MIB(2), NULL), second, "the newest");
	struct seam_request request = {.size = sizeof request, .bytes = MIB(2), .private_id = 1};
	void *ptr = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &ptr));
	cr_assert_eq(ptr, first, "the id in the request");
	cr_assert_ok(seam_private_end(pool, 2));
	must_free(ptr);
	cr_assert_eq(must_alloc(MIB(2), NULL), first, "the older one again");
	close_pool();
}

Test(core_private, memory_is_not_shared_until_the_last_release)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	void *ptr = must_alloc(MIB(40), NULL), *kept = must_alloc(MIB(4), NULL);
	cr_assert_ok(seam_private_end(pool, 1));
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	cr_assert_ok(seam_private_end(pool, 1));
	uint64_t chunk = first_chunk(ptr);
	must_free(ptr);
	cr_assert_eq(get_stats().unused_private_bytes, MIB(40));
	void *common = must_alloc(MIB(4), NULL);
	cr_assert_neq(first_chunk(common), chunk);
	must_free(common);
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_eq(get_stats().unused_private_bytes, MIB(40), "one of two references is left");
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_eq(get_stats().unused_private_bytes, 0);
	check_pool();
	cr_assert_eq(must_alloc(MIB(40), NULL), ptr, "the free memory has joined");
	must_free(kept);
	cr_assert_eq(must_alloc(MIB(4), NULL), kept, "what was live has followed");
	close_pool();
}

Test(core_private, what_a_capture_used_stays_mapped_until_the_release)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *stream = make_stream();
	uint64_t id = begin_capture(stream);
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_CAPTURE, id));
	char *ptr = must_alloc(MIB(20), stream);
	launch(stream, ptr, MIB(20), 1000);
	must_free(ptr);
	char *again = must_alloc(MIB(20), stream);
	cr_assert_eq(again, ptr, "inside its pool it is used again");
	launch(stream, again, MIB(20), 1000);
	must_free(again);
	end_capture(stream);
	cr_assert_ok(seam_private_end(pool, 1));
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().reserved_bytes, MIB(20), "I12: a graph may be replayed");
	void *out = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(60), NULL, &out), SEAM_OOM_DEVICE);
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_ok(seam_alloc(pool, MIB(60), NULL, &out));
	close_pool();
}

/* Three cached blocks: of the common memory, of pool 1, and of pool 2, which a capture has used. */
static void open_three(void)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *stream = make_stream();
	cr_assert_ok(seam_private_begin(pool, 2, SEAM_ROUTE_STREAM, number(stream)));
	void *blocks[3] = {must_alloc(MIB(20), NULL), NULL, NULL};
	(void)begin_capture(stream);
	blocks[2] = must_alloc(MIB(20), stream);
	launch(stream, blocks[2], MIB(20), 1000);
	end_capture(stream);
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	blocks[1] = must_alloc(MIB(20), NULL);
	launch(NULL, blocks[1], MIB(20), 1000000);
	cr_assert_ok(seam_private_end(pool, 1));
	for (unsigned i = 0; i < 3; i++)
		must_free(blocks[i]);
	cr_assert_eq(get_stats().reserved_bytes, MIB(60));
}

Test(core_private, the_trim_of_one_leaves_all_others)
{
	uint64_t released = 0;
	open_three();
	cr_assert_ok(seam_private_trim(pool, 2, &released));
	cr_assert_eq(released, 0, "what a capture has used stays");
	cr_assert_ok(seam_private_trim(pool, 1, &released));
	cr_assert_eq(released, MIB(20));
	cr_assert_eq(get_stats().reserved_bytes, MIB(40), "and what is common");
	cr_assert_ok(seam_private_trim(pool, 1, NULL));
	cr_assert_rc(seam_private_trim(pool, 3, &released), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_trim(pool, 0, &released), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_trim(NULL, 1, &released), SEAM_INVALID);
	cr_assert_eq(released, MIB(20));
	void *stream = make_stream();
	(void)must_alloc(100, stream);
	(void)begin_capture(stream);
	cr_assert_rc(seam_private_trim(pool, 1, &released), SEAM_CAPTURING);
	end_capture(stream);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_ok(seam_private_release(pool, 2));
	close_pool();
}

/* 20 MiB, stitched from chunks that do not touch at home. */
static void *alloc_stitched(void *stream)
{
	void *doomed[10], *kept[10];
	for (unsigned i = 0; i < 10; i++) {
		doomed[i] = must_alloc(MIB(2), stream);
		kept[i] = must_alloc(MIB(2), stream);
	}
	for (unsigned i = 0; i < 10; i++)
		must_free(doomed[i]);
	void *ptr = must_alloc(MIB(20), stream);
	for (unsigned i = 0; i < 10; i++)
		must_free(kept[i]);
	cr_assert_eq(get_stats().stitched_views, 1);
	return ptr;
}

static void use_input(bool stitched)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *stream = make_stream();
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_STREAM, (uint64_t)(uintptr_t)stream));
	void *input = stitched ? alloc_stitched(stream) : must_alloc(MIB(20), stream);
	(void)begin_capture(stream);
	launch(stream, input, MIB(20), 1000);
	void *result = must_alloc(512, stream);
	must_free(input);
	end_capture(stream);
	must_free(result);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	launch(stream, input, MIB(20), 1000); /* a replay */
	void *later = must_alloc(MIB(30), stream);
	must_free(later);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_lt(get_stats().reserved_bytes, MIB(30), "what was live at no capture goes back");
	cr_assert_ok(seam_private_release(pool, 1));
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().reserved_bytes, 0);
	close_pool();
}

Test(core_private, what_was_live_there_during_a_capture_stays_mapped_too)
{
	use_input(false);
}

Test(core_private, so_does_a_stitched_view)
{
	use_input(true);
}

Test(core_private, a_block_of_an_unrouted_capture_is_never_used_again)
{
	open_pool(MIB(64), "chunk_bytes:2M,watch_captures:1");
	void *stream = make_stream();
	(void)begin_capture(stream);
	char *ptr = must_alloc(MIB(20), stream);
	launch(stream, ptr, MIB(20), 1000);
	must_free(ptr);
	end_capture(stream);
	cr_assert_neq(must_alloc(MIB(20), stream), ptr);
	void *out = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(40), NULL, &out), SEAM_OOM_DEVICE);
	cr_assert_eq(get_stats().unused_pending_bytes, MIB(20));
	close_pool();
}

Test(core_private, nothing_is_stitched_for_a_capture)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *stream = make_stream(), *live[16], *doomed[16];
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
	for (unsigned i = 0; i < 16; i++) {
		doomed[i] = must_alloc(MIB(2), stream);
		live[i] = must_alloc(MIB(2), stream);
	}
	for (unsigned i = 0; i < 16; i++)
		must_free(doomed[i]);
	(void)begin_capture(stream);
	void *out = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(8), stream, &out), SEAM_OOM_DEVICE);
	cr_assert_eq(get_stats().stitched_views, 0);
	end_capture(stream);
	cr_assert_ok(seam_alloc(pool, MIB(8), stream, &out));
	cr_assert_eq(get_stats().stitched_views, 1);
	must_free(live[0]);
	close_pool();
}

Test(core_private, check_notices_what_is_wrong)
{
	open_pool(MIB(64), NULL);
	cr_assert_ok(seam_private_begin(pool, 5, SEAM_ROUTE_ALL, 0));
	cr_assert_ok(seam_private_begin(pool, 6, SEAM_ROUTE_ALL, 0));
	struct seam_private *five = seam__private_find(pool, 5), *six = seam__private_find(pool, 6);
	struct seam_open_route *route = LIST_FIRST(&pool->routes);
	check_pool();
	five->id = 6;
	cr_expect_str_eq(seam__pool_check(pool), "PR1 one private pool an id");
	five->id = 5;
	six->references = 0;
	cr_expect_str_eq(seam__pool_check(pool), "PR2 a private pool without references is gone");
	six->references = 1;
	struct seam_group *group = five->group;
	five->group = six->group;
	cr_expect_str_eq(seam__pool_check(pool), "PR3 a private pool has the memory of its id");
	five->group = group;
	struct seam_private gone = *route->to, *to = route->to;
	route->to = &gone;
	cr_expect_str_eq(seam__pool_check(pool), "PR4 routes lead to private pools");
	route->to = to;
	close_pool();
}
