/* test_stream_event.c: stamps, covers, polls and edges, on free and on captured streams. */
#include "stream_fixture.h"

TestSuite(stream_event, .init = set_up, .fini = tear_down);

Test(stream_event, stamping_and_asking_call_no_driver)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t before = all_calls();
	uint64_t stamp = seam__stream_stamp(a);
	cr_expect_not(seam__stream_passed(a, stamp));
	cr_expect_not(seam__streams_all_passed(&streams, stamp));
	cr_expect(seam__streams_all_passed(&streams, stamp - 1));
	cr_expect_eq(all_calls(), before);
}

Test(stream_event, one_event_covers_many_stamps)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t first = seam__stream_stamp(a);
	uint64_t last = 0;
	for (int i = 0; i < 100; i++)
		last = seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_OK);
	expect_rc(seam__stream_cover(a), SEAM_OK);
	cr_expect_eq(calls(SEAM_DRV_event_record), 1);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect_not(seam__stream_passed(a, first));
	fake_run_all(&fake);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect(seam__stream_passed(a, first));
	cr_expect(seam__stream_passed(a, last));
}

Test(stream_event, a_stamp_after_the_event_is_not_covered)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t before = seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_OK);
	fake_work(&fake, a->handle);
	uint64_t after = seam__stream_stamp(a);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect(seam__stream_passed(a, before));
	cr_expect_not(seam__stream_passed(a, after));
}

Test(stream_event, events_are_recycled)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	for (int i = 0; i < 1000; i++) {
		fake_work(&fake, a->handle);
		(void)seam__stream_stamp(a);
		expect_rc(seam__stream_cover(a), SEAM_OK);
		fake_run_all(&fake);
		expect_rc(seam__stream_poll(a), SEAM_OK);
	}
	cr_expect_eq(calls(SEAM_DRV_event_create), 1);
}

Test(stream_event, the_queue_of_a_stream_that_lags_is_bounded)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t last = 0;
	for (int i = 0; i < 1000; i++) {
		fake_work(&fake, a->handle);
		last = seam__stream_stamp(a);
		expect_rc(seam__stream_cover(a), SEAM_OK);
	}
	cr_expect_leq(fake.events_live, SEAM_STREAM_EVENTS);
	cr_expect_null(seam__streams_check(&streams), "broken: %s", seam__streams_check(&streams));
	fake_run(&fake, fake_resolve(&fake, a->handle), 999);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect_not(seam__stream_passed(a, last));
	fake_run_all(&fake);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect(seam__stream_passed(a, last));
}

Test(stream_event, nothing_is_recorded_on_a_captured_stream)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	struct seam_stream *b = find(fake_stream_create(&fake));
	uint64_t stamp = seam__stream_stamp(a);
	uint64_t other = seam__stream_stamp(b);
	struct seam_wait_all wait_all;
	fake_resolve(&fake, a->handle)->capturing = true;
	expect_rc(seam__stream_cover(a), SEAM_CAPTURING);
	expect_rc(seam__stream_order(a, stamp, b), SEAM_CAPTURING);
	expect_rc(seam__stream_order(b, other, a), SEAM_CAPTURING);
	expect_rc(seam__streams_wait_all_begin(&streams, &wait_all), SEAM_CAPTURING);
	cr_expect_eq(calls(SEAM_DRV_event_record), 0);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect_not(seam__stream_passed(a, stamp));
	cr_expect(seam__stream_passed(b, other));
	fake_resolve(&fake, a->handle)->capturing = false;
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect(seam__stream_passed(a, stamp));
}

Test(stream_event, events_from_before_a_capture_are_asked_again_after_it)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_OK);
	fake_resolve(&fake, a->handle)->capturing = true;
	(void)seam__stream_stamp(a);
	expect_rc(seam__stream_cover(a), SEAM_CAPTURING);
	fake_resolve(&fake, a->handle)->capturing = false;
	fake_run_all(&fake);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect(seam__stream_passed(a, stamp));
}

Test(stream_event, another_threads_stream_is_covered_when_its_owner_comes)
{
	struct seam_stream *a = find(SEAM_STREAM_PER_THREAD);
	uint64_t stamp = seam__stream_stamp(a);
	fake.thread = 1;
	expect_rc(seam__stream_cover(a), SEAM_BUSY);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect_not(seam__stream_passed(a, stamp));
	fake.thread = 0;
	(void)find(SEAM_STREAM_PER_THREAD);
	fake.thread = 1;
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect(seam__stream_passed(a, stamp));
}

Test(stream_event, a_cover_finds_out_that_the_stream_is_gone)
{
	uint64_t handle = fake_stream_create(&fake);
	struct seam_stream *a = find(handle);
	(void)seam__stream_stamp(a);
	fake_stream_destroy(&fake, handle);
	expect_rc(seam__stream_cover(a), SEAM_NOT_FOUND);
	cr_expect(a->lost);
	cr_expect_eq(calls(SEAM_DRV_event_record), 0);
}

Test(stream_event, order_holds_the_other_stream_back)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	struct seam_stream *b = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	expect_rc(seam__stream_order(a, stamp, a), SEAM_OK);
	cr_expect_eq(calls(SEAM_DRV_stream_wait_event), 0);
	expect_rc(seam__stream_order(a, stamp, b), SEAM_OK);
	uint64_t position = fake_work(&fake, b->handle);
	fake_run(&fake, fake_resolve(&fake, b->handle), 1);
	cr_expect_lt(fake_resolve(&fake, b->handle)->done, position, "b ran before a");
	fake_run_all(&fake);
	cr_expect_eq(fake_resolve(&fake, b->handle)->done, position);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	uint64_t before = all_calls();
	expect_rc(seam__stream_order(a, stamp, b), SEAM_OK);
	cr_expect_eq(all_calls(), before, "what has passed needs no edge");
}

Test(stream_event, deterministic_polls_wait)
{
	tear_down();
	set_up_as(true);
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
	cr_expect(seam__stream_passed(a, stamp));
	cr_expect_eq(calls(SEAM_DRV_event_query), 0);
	cr_expect_eq(fake.syncs, 1);
}

Test(stream_event, no_failed_call_changes_what_has_passed)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	struct seam_stream *b = find(fake_stream_create(&fake));
	for (uint64_t n = 1;; n++) {
		fake_work(&fake, a->handle);
		uint64_t stamp = seam__stream_stamp(a);
		seam__driver_fail_at(&fake.base, n, EVERY_CLASS, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam__stream_order(a, stamp, b);
		if (rc == SEAM_OK)
			rc = seam__streams_poll_all(&streams, NULL);
		cr_expect_null(
			seam__streams_check(&streams), "call %lu: %s", (unsigned long)n, seam__streams_check(&streams));
		cr_expect_not(seam__stream_passed(a, stamp), "call %lu", (unsigned long)n);
		seam__driver_fail_at(&fake.base, 0, 0, 0);
		fake_run_all(&fake);
		expect_rc(seam__streams_poll_all(&streams, NULL), SEAM_OK);
		cr_expect(seam__stream_passed(a, stamp), "call %lu", (unsigned long)n);
		if (rc == SEAM_OK)
			break;
		cr_assert_lt(n, 100);
	}
}
