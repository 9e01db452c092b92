/* test_stream_wait.c: waits for one stream and for all, which drop the lock in between. */
#include "stream_fixture.h"

TestSuite(stream_wait, .init = set_up, .fini = tear_down);

Test(stream_wait, a_wait_makes_stamps_pass_and_later_ones_not)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	struct seam_wait wait, nothing;
	expect_rc(seam__stream_wait_begin(a, stamp, &wait), SEAM_OK);
	uint64_t later = seam__stream_stamp(a);
	expect_rc(seam__wait_run(&fake.base, &wait), SEAM_OK);
	cr_expect_not(seam__stream_passed(a, stamp), "only the end, under the lock, changes the stream");
	seam__wait_end(&streams, &wait);
	cr_expect(seam__stream_passed(a, stamp));
	cr_expect_not(seam__stream_passed(a, later));
	expect_rc(seam__stream_wait_begin(a, stamp, &nothing), SEAM_OK);
	cr_expect_null(nothing.stream);
	expect_rc(seam__wait_run(&fake.base, &nothing), SEAM_OK);
	seam__wait_end(&streams, &nothing);
}

Test(stream_wait, two_waits_and_a_poll_may_share_an_event)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	struct seam_wait one, two;
	expect_rc(seam__stream_wait_begin(a, stamp, &one), SEAM_OK);
	expect_rc(seam__stream_wait_begin(a, stamp, &two), SEAM_OK);
	cr_expect_eq(one.event, two.event);
	fake_run_all(&fake);
	expect_rc(seam__stream_poll(a), SEAM_OK);
	cr_expect(TAILQ_EMPTY(&streams.idle), "an event that is waited for is not recycled");
	seam__wait_end(&streams, &one);
	expect_rc(seam__wait_run(&fake.base, &two), SEAM_OK);
	seam__wait_end(&streams, &two);
	cr_expect_not(TAILQ_EMPTY(&streams.idle));
	cr_expect_eq(a->references, 0);
}

Test(stream_wait, a_failed_wait_passes_nothing)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	fake_work(&fake, a->handle);
	uint64_t stamp = seam__stream_stamp(a);
	struct seam_wait wait;
	struct seam_wait_all wait_all;
	expect_rc(seam__stream_wait_begin(a, stamp, &wait), SEAM_OK);
	seam__driver_fail_at(&fake.base, 1, EVERY_CLASS, SEAM_CU_UNKNOWN);
	expect_rc(seam__wait_run(&fake.base, &wait), SEAM_DRIVER);
	seam__wait_end(&streams, &wait);
	cr_expect_not(seam__stream_passed(a, stamp));
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
