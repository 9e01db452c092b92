/* test_stream.c: which entry a handle means, and entries that are lost, announced dead, or too many. */
#include "stream_fixture.h"

TestSuite(stream, .init = set_up, .fini = tear_down);

Test(stream, find_knows_a_handle_again_without_a_call)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t before = all_calls();
	cr_expect_eq(find(a->handle), a);
	cr_expect_eq(all_calls(), before);
}

Test(stream, both_names_of_the_legacy_stream_are_one)
{
	cr_expect_eq(find(SEAM_STREAM_DEFAULT), find(SEAM_STREAM_LEGACY));
	cr_expect_eq(streams.count, 1);
}

Test(stream, find_of_no_stream_fails_and_keeps_the_result)
{
	struct seam_stream *kept = (struct seam_stream *)&fake;
	expect_rc(seam__streams_find(&streams, 50, false, &kept), SEAM_DRIVER);
	cr_expect_eq((void *)kept, (void *)&fake);
	cr_expect_eq(streams.count, 0);
}

Test(stream, each_thread_has_its_own_per_thread_stream)
{
	struct seam_stream *a = find(SEAM_STREAM_PER_THREAD);
	fake.thread = 1;
	struct seam_stream *b = find(SEAM_STREAM_PER_THREAD);
	cr_expect_neq(a, b);
	fake.thread = 0;
	cr_expect_eq(find(SEAM_STREAM_PER_THREAD), a);
}

Test(stream, what_never_stamped_has_passed)
{
	cr_expect(seam__stream_passed(find(fake_stream_create(&fake)), 1000));
}

Test(stream, a_replaced_stream_is_lost_and_passes_by_wait_all_only)
{
	uint64_t handle = fake_stream_create(&fake);
	struct seam_stream *old = find(handle);
	seam__stream_ref(old);
	fake_work(&fake, handle);
	uint64_t stamp = seam__stream_stamp(old);
	fake_stream_destroy(&fake, handle);
	cr_assert_eq(fake_stream_create(&fake), handle, "the handle is reused");
	struct seam_stream *new = NULL;
	expect_rc(seam__streams_find(&streams, handle, true, &new), SEAM_OK);
	cr_expect_neq(new, old);
	cr_expect(old->lost);
	cr_expect_eq(find(handle), new);
	expect_rc(seam__stream_cover(old), SEAM_NOT_FOUND);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect_not(seam__stream_passed(old, stamp));
	struct seam_wait_all wait;
	expect_rc(seam__streams_wait_all_begin(&streams, &wait), SEAM_OK);
	expect_rc(seam__wait_all_run(&fake.base, &wait), SEAM_OK);
	seam__streams_wait_all_end(&streams, &wait);
	cr_expect(seam__stream_passed(old, stamp));
	cr_expect_eq(streams.count, 2);
	seam__stream_unref(old);
	cr_expect_eq(streams.count, 1);
}

Test(stream, one_that_is_gone_is_lost_whatever_the_driver_says_of_captures)
{
	uint64_t handle = fake_stream_create(&fake);
	struct seam_stream *a = find(handle), *kept = a;
	seam__stream_ref(a);
	(void)seam__stream_stamp(a);
	fake_stream_destroy(&fake, handle);
	expect_rc(seam__stream_cover(a), SEAM_NOT_FOUND);
	cr_expect(a->lost);
	expect_rc(seam__streams_find(&streams, handle, false, &kept), SEAM_DRIVER);
	seam__stream_unref(a);
}

Test(stream, one_that_is_found_during_its_capture_is_known_by_its_handle_until_the_end)
{
	uint64_t handle = fake_stream_create(&fake);
	fake_resolve(&fake, handle)->capturing = true;
	struct seam_stream *a = find(handle);
	struct seam_stream *again = NULL;
	expect_rc(seam__streams_find(&streams, handle, true, &again), SEAM_OK);
	cr_expect_eq(again, a);
	(void)seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_CAPTURING);
	cr_expect_eq(calls(SEAM_DRV_stream_id), 0, "a captured stream is not asked");
	fake_resolve(&fake, handle)->capturing = false;
	expect_rc(seam__stream_cover(a), SEAM_OK);
	seam__stream_ref(a);
	fake_stream_destroy(&fake, handle);
	cr_assert_eq(fake_stream_create(&fake), handle, "the handle is reused");
	expect_rc(seam__streams_find(&streams, handle, true, &again), SEAM_OK);
	cr_expect_neq(again, a, "its id was seen when the capture was over");
	cr_expect(a->lost);
	seam__stream_unref(a);
}

Test(stream, an_announced_destruction_needs_no_wait)
{
	uint64_t handle = fake_stream_create(&fake);
	struct seam_stream *a = find(handle);
	const struct fake_stream *work = fake_resolve(&fake, handle);
	seam__stream_ref(a);
	uint64_t stamp = seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_OK);
	fake_work(&fake, handle);
	expect_rc(seam__stream_destroyed(&streams, handle), SEAM_OK);
	fake_stream_destroy(&fake, handle);
	/* A live block is freed on the dead stream: its last work must have passed, not only its last stamp. */
	uint64_t late = seam__stream_stamp(a);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect(seam__stream_passed(a, stamp));
	cr_expect_not(seam__stream_passed(a, late));
	cr_expect_eq(work->done, 0);
	fake_run_all(&fake);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect(seam__stream_passed(a, late));
	seam__stream_unref(a);
	cr_expect_eq(streams.count, 0);
	expect_rc(seam__stream_destroyed(&streams, handle), SEAM_NOT_FOUND);
	expect_rc(seam__stream_destroyed(&streams, SEAM_STREAM_LEGACY), SEAM_INVALID);
}

Test(stream, entries_stay_bounded_over_many_streams_and_threads)
{
	for (int i = 0; i < 10000; i++) {
		uint64_t handle = fake_stream_create(&fake);
		struct seam_stream *stream = NULL;
		expect_rc(seam__streams_find(&streams, handle, true, &stream), SEAM_OK);
		(void)seam__stream_stamp(stream);
		if (i % 3 == 0)
			expect_rc(seam__stream_destroyed(&streams, handle), SEAM_OK);
		else
			expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
		fake_stream_destroy(&fake, handle);
		/* A thread ends and another takes its place: a new stream under the same, only, handle. */
		fake.threads[0]->id = 1000000 + (uint64_t)i;
		struct seam_stream *mine = find(SEAM_STREAM_PER_THREAD);
		(void)seam__stream_stamp(mine);
		expect_rc(seam__stream_cover(mine), SEAM_OK);
		expect_rc(seam__stream_poll(mine), SEAM_OK);
	}
	cr_expect_lt(streams.count, 200, "%u entries", streams.count);
	cr_expect_lt(fake.events_live, 200);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
}

Test(stream, no_metadata_is_an_error_without_harm)
{
	seam__meta_fail_at(meta, 1);
	struct seam_stream *stream = NULL;
	uint64_t handle = fake_stream_create(&fake);
	expect_rc(seam__streams_find(&streams, handle, false, &stream), SEAM_OOM_META);
	cr_expect_null(stream);
	stream = find(handle);
	uint64_t stamp = seam__stream_stamp(stream);
	seam__meta_fail_at(meta, 1);
	expect_rc(seam__stream_cover(stream), SEAM_OOM_META);
	cr_expect_not(seam__stream_passed(stream, stamp));
	expect_rc(seam__stream_cover(stream), SEAM_OK);
}
