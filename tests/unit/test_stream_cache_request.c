/* test_stream_cache_request.c: what a request tries on a full device, in order; trims; and calls that fail anywhere. */
#include "stream_cache_fixture.h"

TestSuite(stream_cache_request, .init = set_up, .fini = tear_down);

Test(stream_cache_request, a_full_device_takes_smaller_segments)
{
	fake.capacity_bytes = 5 * MI;
	(void)alloc(3 * MI, a);
	cr_expect_eq(stats().reserved_bytes, 4 * MI);
}

Test(stream_cache_request, a_full_device_gets_unused_segments_back)
{
	fake.capacity_bytes = 30 * MI;
	uint64_t first = alloc(12 * MI, a), second = alloc(12 * MI, a);
	release(first);
	release(second);
	(void)alloc(14 * MI, a);
	cr_expect_eq(stats().shrinks, 2, "14 MiB more need both");
	cr_expect_eq(stats().retries, 1);
	cr_expect_eq(fake.memory_bytes, stats().reserved_bytes);
}

Test(stream_cache_request, a_full_device_is_waited_for)
{
	fake.capacity_bytes = 20 * MI;
	uint64_t va = alloc(20 * MI, a), none = 0;
	fake_work(&fake, a->handle);
	release(va);
	expect_rc(try_alloc_with(20 * MI, b, true, &none), SEAM_OOM_DEVICE);
	cr_expect_eq(fake.syncs, 0, "no_wait waited");
	cr_expect_eq(alloc(20 * MI, b), va);
	cr_expect_eq(fake.syncs, 1);
	cr_expect_eq(stats().ooms, 1);
}

Test(stream_cache_request, a_capture_forbids_the_wait_and_nothing_breaks)
{
	fake.capacity_bytes = 20 * MI;
	uint64_t va = alloc(20 * MI, a), none = 0;
	fake_work(&fake, a->handle);
	release(va);
	fake_resolve(&fake, a->handle)->capturing = true;
	expect_rc(try_alloc(20 * MI, b, &none), SEAM_OOM_DEVICE);
	cr_expect_eq(alloc(20 * MI, a), va, "the captured stream itself may reuse its memory");
	fake_resolve(&fake, a->handle)->capturing = false;
}

Test(stream_cache_request, the_limit_holds)
{
	struct seam_cache_config limited = usual;
	limited.limit_bytes = 24 * MI;
	tear_down();
	set_up_with(&limited);
	uint64_t first = alloc(12 * MI, a), second = alloc(10 * MI, a), none = 0;
	expect_rc(try_alloc(4 * MI, a, &none), SEAM_OOM_DEVICE);
	uint64_t small = alloc(100, a);
	cr_expect_eq(stats().reserved_bytes, 24 * MI);
	release(first);
	release(second);
	(void)alloc(22 * MI, a);
	cr_expect_leq(stats().reserved_peak_bytes, 24 * MI);
	release(small);
}

Test(stream_cache_request, with_reuse_wait_an_edge_goes_before_growth)
{
	struct seam_cache_config waiting = usual;
	waiting.reuse = SEAM_CACHE_REUSE_WAIT;
	tear_down();
	set_up_with(&waiting);
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	cr_expect_eq(alloc(10 * MI, b), va);
	cr_expect_eq(stats().grows, 1);
	uint64_t position = fake_work(&fake, b->handle);
	fake_run(&fake, fake_resolve(&fake, b->handle), 1);
	cr_expect_lt(fake_resolve(&fake, b->handle)->done, position, "b's work does not wait for a's");
	cr_expect_eq(alloc(1 * MI + 512, b), va + 10 * MI, "the rest is a's, behind an edge too");
}

Test(stream_cache_request, with_reuse_wait_a_captured_stream_is_left_alone)
{
	struct seam_cache_config waiting = usual;
	waiting.reuse = SEAM_CACHE_REUSE_WAIT;
	tear_down();
	set_up_with(&waiting);
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	fake_resolve(&fake, a->handle)->capturing = true;
	cr_expect_neq(alloc(12 * MI, b), va);
	fake_resolve(&fake, a->handle)->capturing = false;
}

Test(stream_cache_request, with_reuse_own_growth_goes_before_passed_memory)
{
	struct seam_cache_config own = usual;
	own.reuse = SEAM_CACHE_REUSE_OWN;
	tear_down();
	set_up_with(&own);
	fake.capacity_bytes = 24 * MI;
	uint64_t va = alloc(12 * MI, a);
	release(va);
	cr_expect_neq(alloc(12 * MI, b), va);
	cr_expect_eq(alloc(12 * MI, b), va, "before it runs out it takes what has passed");
}

Test(stream_cache_request, at_the_end_the_other_class_serves)
{
	fake.capacity_bytes = 12 * MI;
	uint64_t large = alloc(12 * MI, a), part = 0;
	release(large);
	part = alloc(10 * MI, a);
	cr_expect_eq(alloc(512, a), part + 10 * MI);
	cr_expect_eq(stats().reserved_bytes, 12 * MI);
}

Test(stream_cache_request, trim_keeps_what_is_used_and_what_the_target_allows)
{
	uint64_t first = alloc(12 * MI, a), second = alloc(14 * MI, a), third = alloc(16 * MI, a);
	release(first);
	release(third);
	cr_expect_eq(trim(28 * MI, false), 28 * MI, "the lowest go first, until the target is met");
	cr_expect_eq(stats().reserved_bytes, 14 * MI);
	cr_expect_eq(trim(0, false), 0);
	cr_expect_not_null(seam__cache_find(&cache, second));
}

Test(stream_cache_request, trim_waits_unless_told_not_to)
{
	uint64_t va = alloc(12 * MI, a);
	fake_work(&fake, a->handle);
	release(va);
	cr_expect_eq(trim(0, true), 0);
	cr_expect_eq(trim(0, false), 12 * MI);
}

Test(stream_cache_request, a_segment_that_the_source_keeps_stays_cached)
{
	release(alloc(12 * MI, a));
	struct seam_cache_request request;
	fake_run_all(&fake);
	expect_rc(seam__cache_trim(&cache, 0, false, &request), SEAM_BUSY);
	cr_expect_null(seam__cache_check(&cache), "in transit: %s", seam__cache_check(&cache));
	seam__driver_fail_at(&fake.base, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	seam__cache_run(&request);
	expect_rc(seam__cache_resume(&request), SEAM_DRIVER);
	cr_expect_eq(stats().reserved_bytes, 12 * MI);
	cr_expect_eq(stats().free_bytes, 12 * MI);
	(void)alloc(12 * MI, b);
	cr_expect_eq(stats().grows, 1);
}

Test(stream_cache_request, while_a_segment_leaves_nobody_gets_it)
{
	uint64_t va = alloc(12 * MI, a);
	release(va);
	struct seam_cache_request request;
	expect_rc(seam__cache_trim(&cache, 0, false, &request), SEAM_BUSY);
	cr_expect_neq(alloc(12 * MI, a), va);
	seam__cache_run(&request);
	expect_rc(seam__cache_resume(&request), SEAM_OK);
	cr_expect_eq(request.released_bytes, 12 * MI);
}

/* Fails the nth driver call, or the nth metadata allocation, of the same scene until it runs through. */
static enum seam_rc scene(void)
{
	uint64_t vas[3] = {0};
	enum seam_rc rc = try_alloc(12 * MI, a, &vas[0]);
	if (rc == SEAM_OK)
		rc = seam__cache_record_stream(&cache, vas[0], b);
	if (rc == SEAM_OK)
		rc = try_alloc(10 * MI, b, &vas[1]);
	if (vas[0] != 0) {
		fake_work(&fake, a->handle);
		release(vas[0]);
	}
	if (rc == SEAM_OK)
		rc = try_alloc(16 * MI, b, &vas[2]);
	for (int i = 1; i < 3; i++)
		if (vas[i] != 0)
			release(vas[i]);
	return rc;
}

static void run_faults(bool metadata)
{
	for (uint64_t n = 1;; n++) {
		if (n > 1)
			set_up();
		fake.capacity_bytes = 36 * MI;
		cr_assert_lt(n, 200);
		if (metadata)
			seam__meta_fail_at(meta, n);
		else
			seam__driver_fail_at(&fake.base, n, 15, SEAM_CU_UNKNOWN);
		enum seam_rc rc = scene();
		seam__meta_fail_at(meta, 0);
		seam__driver_fail_at(&fake.base, 0, 0, 0);
		cr_expect_null(seam__cache_check(&cache), "n = %lu: %s", (unsigned long)n, seam__cache_check(&cache));
		cr_expect_eq(stats().live_blocks, 0, "n = %lu", (unsigned long)n);
		cr_expect_eq(stats().reserved_bytes, fake.memory_bytes, "n = %lu", (unsigned long)n);
		fake_run_all(&fake);
		(void)trim(0, false);
		cr_expect_eq(fake.memory_bytes, 0, "n = %lu: memory cannot be returned", (unsigned long)n);
		if (rc == SEAM_OK) {
			cr_expect_gt(n, 5, "no fault was met");
			break;
		}
		cr_expect(rc == (metadata ? SEAM_OOM_META : SEAM_DRIVER), "n = %lu: %s", (unsigned long)n,
			seam_rc_name(rc));
		tear_down();
	}
}

Test(stream_cache_request, every_driver_call_may_fail)
{
	run_faults(false);
}

Test(stream_cache_request, every_metadata_allocation_may_fail)
{
	run_faults(true);
}
