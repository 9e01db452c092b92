/* test_stream_wait.c: a wait for all streams, which drops the lock in between. */
#include "stream_fixture.h"

TestSuite(stream_wait, .init = set_up, .fini = tear_down);

Test(stream_wait, a_failed_wait_passes_nothing)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	struct seam_wait_all wait_all;
	expect_rc(seam__streams_wait_all_begin(&streams, &wait_all), SEAM_OK);
	seam__driver_fail_at(&fake.base, 1, EVERY_CLASS, SEAM_CU_UNKNOWN);
	expect_rc(seam__wait_all_run(&fake.base, &wait_all), SEAM_DRIVER);
	seam__streams_wait_all_end(&streams, &wait_all);
	cr_expect_not(seam__stream_passed(a, stamp));
}

Test(stream_wait, wait_all_leaves_what_was_stamped_after_begin)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t stamp = seam__stream_stamp(a);
	struct seam_wait_all wait;
	expect_rc(seam__streams_wait_all_begin(&streams, &wait), SEAM_OK);
	uint64_t later = seam__stream_stamp(a);
	expect_rc(seam__wait_all_run(&fake.base, &wait), SEAM_OK);
	seam__streams_wait_all_end(&streams, &wait);
	cr_expect(seam__stream_passed(a, stamp));
	cr_expect_not(seam__stream_passed(a, later));
	cr_expect_eq(calls(SEAM_DRV_event_record), 0);
}

/* Waiting for the device does not wait for another one; that stream's own events tell. */
Test(stream_wait, a_stream_of_another_device_is_followed_by_events_of_its_own)
{
	uint64_t handle = fake_stream_create(&fake);
	fake_resolve(&fake, handle)->foreign = true;
	struct seam_stream *stream = find(handle), *own = find(fake_stream_create(&fake));
	fake_work(&fake, handle);
	uint64_t stamp = seam__stream_stamp(stream), other = seam__stream_stamp(own);
	for (uint64_t n = 1;; n++) {
		uint64_t injected = fake.base.injected;
		seam__driver_fail_at(&fake.base, n, EVERY_CLASS, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam__stream_cover(stream);
		bool fired = fake.base.injected != injected;
		seam__driver_fail_at(&fake.base, 0, 0, 0);
		cr_expect_null(seam__streams_check(&streams));
		if (!fired) {
			expect_rc(rc, SEAM_OK);
			break;
		}
		expect_rc(rc, SEAM_DRIVER);
	}
	cr_expect(stream->foreign);
	expect_rc(seam__stream_cover(own), SEAM_OK);
	struct seam_wait_all wait;
	expect_rc(seam__streams_wait_all_begin(&streams, &wait), SEAM_OK);
	wait.done = true;
	seam__streams_wait_all_end(&streams, &wait);
	cr_expect(seam__stream_passed(own, other));
	cr_expect_not(seam__stream_passed(stream, stamp), "waiting for the device says nothing of another one");
	expect_rc(seam__stream_order(stream, stamp, own), SEAM_OK);
	fake_run_all(&fake);
	expect_rc(seam__stream_poll(stream), SEAM_OK);
	cr_expect(seam__stream_passed(stream, stamp));
	(void)seam__stream_stamp(own);
	expect_rc(seam__stream_cover(own), SEAM_OK);
	cr_expect_not(fake.events[own->events.tqh_first->event.id - 1].foreign, "its events serve no other");
}
