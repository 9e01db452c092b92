/* test_stream_cache_report.c: what the caching engine says of itself. */
#include "stream_cache_fixture.h"

TestSuite(stream_cache_report, .init = set_up, .fini = tear_down);

static bool sum_view(void *user, const struct seam_cache_view *view)
{
	uint64_t *sums = user;
	sums[view->state] += view->bytes;
	return true;
}

Test(stream_cache_report, a_walk_shows_every_byte_once)
{
	uint64_t one = alloc(3 * MI, a), two = alloc(700, b), held = alloc(5 * MI, a);
	expect_rc(seam__cache_record_stream(&cache, held, b), SEAM_OK);
	fake_work(&fake, b->handle);
	release(held);
	uint64_t sums[4] = {0};
	seam__cache_walk(&cache, sum_view, sums);
	cr_expect_eq(sums[SEAM_CACHE_LIVE], 3 * MI + 1024);
	cr_expect_eq(sums[SEAM_CACHE_PENDING], 5 * MI);
	cr_expect_eq(sums[SEAM_CACHE_FREE], 22 * MI - 8 * MI - 1024);
	release(one);
	release(two);
}

Test(stream_cache_report, peaks_start_over_from_what_is)
{
	uint64_t first = alloc(12 * MI, a), second = alloc(700, a);
	release(first);
	(void)trim(0, false);
	cr_expect_eq(stats().reserved_peak_bytes, 14 * MI);
	cr_expect_eq(stats().reserved_bytes, 2 * MI);
	seam__cache_reset_peaks(&cache);
	cr_expect_eq(stats().reserved_peak_bytes, 2 * MI);
	cr_expect_eq(stats().live_peak_bytes, 1024);
	release(second);
	cr_expect_eq(stats().live_peak_bytes, 1024);
}
