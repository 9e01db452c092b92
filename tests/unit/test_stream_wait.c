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
