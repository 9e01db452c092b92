/* test_torch_private.c: private pools as PyTorch uses them, with its C++ filters: graphs and use_mem_pool(). */
#include "door_fixture.h"

#include <pthread.h>

#include "filters.h"

/* Whether a block of the stream's comes from private memory: told by the free bytes that only private pools may use. */
static bool goes_private(int device, void *stream)
{
	seam_torch_free(
		seam_torch_alloc(MIB(2), device, stream), MIB(2), device, stream); /* so that there is a free one */
	uint64_t before = figures(device).unused_private_bytes;
	void *ptr = seam_torch_alloc(MIB(2), device, stream);
	cr_assert_not_null(ptr);
	uint64_t after = figures(device).unused_private_bytes;
	seam_torch_free(ptr, MIB(2), device, stream);
	return before != after;
}

Test(torch_private, ids_are_told_apart)
{
	static const struct seam_torch_pool_id ids[] = {
		{0, 0}, {0, 1}, {1, 0}, {0, 2}, {2, 0}, {1, 1}, {1, 2}, {2, 1}, {0, 77}, {77, 0}};
	enum { COUNT = sizeof ids / sizeof ids[0] };
	for (unsigned i = 0; i < COUNT; i++) {
		cr_assert_neq(seam_torch_private_id(ids[i]), 0);
		for (unsigned j = 0; j < i; j++)
			cr_assert_neq(seam_torch_private_id(ids[i]), seam_torch_private_id(ids[j]), "%u %u", i, j);
	}
}

Test(torch_private, a_graphs_pool_is_begun_before_its_capture)
{
	set_conf(DEVICE);
	void *stream = make_stream(0), *other = make_stream(0);
	bool capturing = false;
	begin_for_flag(0, 0, 1, &capturing);
	cr_assert_not(goes_private(0, stream), "the capture has not begun");
	begin_capture(0, stream);
	capturing = true;
	void *ptr = seam_torch_alloc(MIB(4), 0, stream);
	seam_torch_free(ptr, MIB(4), 0, stream);
	cr_assert_eq(figures(0).unused_private_bytes, MIB(4));
	cr_assert_eq(seam_torch_alloc(MIB(4), 0, stream), ptr, "within the graph it is used again");
	end_through(0, 0, 1);
	end_capture(0, stream);
	cr_assert_not(goes_private(0, stream), "ended");
	seam_torch_free(ptr, MIB(4), 0, stream);
	cr_assert_eq(figures(0).unused_private_bytes, MIB(4), "I12: kept for the graph");
	seam_torch_reset();
	cr_assert_eq(figures(0).unused_private_bytes, MIB(4), "I12: pinned");
	launch(0, other, ptr, MIB(4), 1000000000); /* a replay */
	release_through(0, 0, 1);
	cr_assert_eq(figures(0).unused_private_bytes, 0);
	void *again = seam_torch_alloc(MIB(4), 0, stream);
	launch(0, stream, again, MIB(4), 1000);
	cr_assert_eq(filters_alive(), 0);
	check(0);
}

Test(torch_private, filters_choose_by_stream)
{
	set_conf(DEVICE);
	void *a = make_stream(3), *b = make_stream(3), *elsewhere = make_stream(4);
	begin_for_stream(3, 0, 5, a);
	cr_assert_geq(filters_alive(), 1, "a copy is kept");
	cr_assert(goes_private(3, a));
	cr_assert_not(goes_private(3, b));
	cr_assert_not(goes_private(4, elsewhere), "another device");
	cr_assert_not(goes_private(4, a));
	end_through(4, 0, 5);
	cr_assert(goes_private(3, a), "an end on another device");
	end_through(3, 0, 6);
	cr_assert(goes_private(3, a), "the end of another pool");
	end_through(3, 0, 5);
	cr_assert_not(goes_private(3, a));
	cr_assert_eq(filters_alive(), 0, "and dropped");
	release_through(3, 0, 5);
	check(3);
}

static void *try_elsewhere(void *user)
{
	*(bool *)user = goes_private(0, NULL);
	return user;
}

Test(torch_private, filters_choose_by_thread)
{
	bool there = true;
	pthread_t thread;
	set_conf(DEVICE);
	begin_for_thread(0, 9, 0);
	cr_assert(goes_private(0, NULL));
	cr_assert_eq(pthread_create(&thread, NULL, try_elsewhere, &there), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_not(there);
	end_through(0, 9, 0);
	release_through(0, 9, 0);
	check(0);
}

Test(torch_private, the_newest_begin_wins)
{
	set_conf(DEVICE);
	begin_for_nothing(0, 1, 0);
	void *outer = seam_torch_alloc(MIB(2), 0, NULL);
	begin_for_thread(0, 2, 0);
	void *inner = seam_torch_alloc(MIB(4), 0, NULL);
	end_through(0, 2, 0);
	seam_torch_free(inner, MIB(4), 0, NULL);
	release_through(0, 2, 0);
	cr_assert_eq(figures(0).unused_private_bytes, 0, "all of it was the inner pool's");
	cr_assert(goes_private(0, NULL), "the outer one is open still");
	end_through(0, 1, 0);
	seam_torch_free(outer, MIB(2), 0, NULL);
	cr_assert_neq(figures(0).unused_private_bytes, 0);
	release_through(0, 1, 0);
	cr_assert_eq(figures(0).unused_private_bytes, 0);
	check(0);
}

Test(torch_private, each_begin_is_a_reference)
{
	set_conf(DEVICE);
	for (unsigned i = 0; i < 2; i++) {
		begin_for_nothing(0, 0, 3);
		seam_torch_free(seam_torch_alloc(MIB(4), 0, NULL), MIB(4), 0, NULL);
		end_through(0, 0, 3);
	}
	cr_assert_eq(figures(0).unused_private_bytes, MIB(4), "two graphs share a pool");
	release_through(0, 0, 3);
	cr_assert_eq(figures(0).unused_private_bytes, MIB(4));
	release_through(0, 0, 3);
	cr_assert_eq(figures(0).unused_private_bytes, 0);
	release_through(0, 0, 3);
	assert_told("did not end as it should");
	check(0);
}

Test(torch_private, a_release_during_a_capture_waits_for_its_end)
{
	set_conf(DEVICE);
	begin_for_nothing(0, 0, 3);
	seam_torch_free(seam_torch_alloc(MIB(4), 0, NULL), MIB(4), 0, NULL);
	end_through(0, 0, 3);
	void *stream = make_stream(0);
	bool capturing = true;
	begin_for_flag(0, 0, 4, &capturing);
	(void)seam_torch_alloc(512, 0, stream);
	begin_capture(0, stream);
	release_through(0, 0, 3);
	cr_assert_geq(figures(0).unused_private_bytes, MIB(4), "replays cannot be waited for now");
	end_capture(0, stream);
	uint64_t before = figures(0).unused_private_bytes;
	end_through(0, 0, 4);
	cr_assert_eq(figures(0).unused_private_bytes, before - MIB(4));
	release_through(0, 0, 4);
	check(0);
}

Test(torch_private, a_pool_released_while_it_is_open_stands_in_nobodys_way)
{
	set_conf(DEVICE);
	begin_for_nothing(0, 0, 3);
	release_through(0, 0, 3);
	cr_assert_not(goes_private(0, NULL));
	end_through(0, 0, 3);
	assert_told("did not end as it should");
}

Test(torch_private, exceptions_of_filters_pass_and_leave_no_lock)
{
	set_conf(DEVICE);
	begin_that_throws(0, 0, 3);
	cr_assert_eq(thrown_by_alloc(0, NULL), 7);
	cr_assert_eq(thrown_by_alloc(0, NULL), 7, "the lock was dropped");
	end_through(0, 0, 3);
	cr_assert_eq(thrown_by_alloc(0, NULL), 0);
	cr_assert_eq(thrown_by_begin(0, 5), 9, "a filter that cannot be copied");
	cr_assert_not(goes_private(0, NULL), "nothing was begun");
	release_through(0, 0, 3);
	check(0);
}

Test(torch_private, so_many_may_be_open)
{
	set_conf(DEVICE);
	for (uint64_t i = 0; i < 64; i++)
		begin_for_stream(0, 0, i + 1, NULL);
	cr_assert_eq(seam_torch_error(NULL, 0), 0);
	begin_for_stream(0, 0, 100, NULL);
	assert_told("64 private pools are open");
	cr_assert_eq(filters_alive(), 64, "the last copy was dropped");
	for (uint64_t i = 0; i < 64; i++) {
		end_through(0, 0, i + 1);
		release_through(0, 0, i + 1);
	}
	cr_assert_eq(filters_alive(), 0);
	check(0);
}

Test(torch_private, what_cannot_be_begun_says_why)
{
	set_conf("nonsense:1");
	begin_for_nothing(0, 0, 1);
	assert_told("nonsense");
	end_through(0, 0, 1);
	release_through(0, 0, 1);
	cr_assert_null(seam_torch_pool_made(0));
}
