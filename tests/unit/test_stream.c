/* test_stream.c: stamps, covers, polls, waits, lost and captured streams, on a driver whose work passes when told. */
#include <criterion/criterion.h>

#include "fake_driver.h"
#include "meta.h"
#include "stream.h"

#define EVERY_CLASS ((1u << SEAM_DRV_QUERY) | (1u << SEAM_DRV_MEMORY) | (1u << SEAM_DRV_EVENT) | (1u << SEAM_DRV_COPY))

static struct fake_driver fake;
static struct seam_meta *meta;
static struct seam_streams streams;

static void set_up_as(bool deterministic)
{
	fake_init(&fake);
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__streams_init(&streams, &fake.base, meta, deterministic);
}

static void set_up(void)
{
	set_up_as(false);
}

static void tear_down(void)
{
	cr_expect_null(seam__streams_check(&streams), "broken: %s", seam__streams_check(&streams));
	cr_expect_eq(seam__streams_fini(&streams), 0, "references left");
	cr_expect_eq(fake.events_live, 0, "%lu events left", (unsigned long)fake.events_live);
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata left");
	fake_fini(&fake);
}

TestSuite(stream, .init = set_up, .fini = tear_down);

static struct seam_stream *find(uint64_t handle)
{
	struct seam_stream *stream = NULL;
	enum seam_rc rc = seam__streams_find(&streams, handle, false, &stream);
	cr_assert_eq(rc, SEAM_OK, "find %lu: %s", (unsigned long)handle, seam_rc_name(rc));
	return stream;
}

static uint64_t calls(enum seam_drv_call call)
{
	return fake.base.counts[call].calls;
}

static uint64_t all_calls(void)
{
	uint64_t sum = 0;
	for (int call = 0; call < SEAM_DRV_COUNT; call++)
		sum += calls((enum seam_drv_call)call);
	return sum;
}

#define expect_rc(expression, expected) \
	do { \
		enum seam_rc got_rc = (expression); \
		cr_expect_eq(got_rc, expected, "%s: %s, not %s", #expression, seam_rc_name(got_rc), seam_rc_name(expected)); \
	} while (0)

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

Test(stream, stamping_and_asking_call_no_driver)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	uint64_t before = all_calls();
	uint64_t stamp = seam__stream_stamp(a);
	cr_expect_not(seam__stream_passed(a, stamp));
	cr_expect_not(seam__streams_all_passed(&streams, stamp));
	cr_expect(seam__streams_all_passed(&streams, stamp - 1));
	cr_expect_eq(all_calls(), before);
}

Test(stream, what_never_stamped_has_passed)
{
	cr_expect(seam__stream_passed(find(fake_stream_create(&fake)), 1000));
}

Test(stream, one_event_covers_many_stamps)
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

Test(stream, a_stamp_after_the_event_is_not_covered)
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

Test(stream, events_are_recycled)
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

Test(stream, the_queue_of_a_stream_that_lags_is_bounded)
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

Test(stream, nothing_is_recorded_on_a_captured_stream)
{
	struct seam_stream *a = find(fake_stream_create(&fake));
	struct seam_stream *b = find(fake_stream_create(&fake));
	uint64_t stamp = seam__stream_stamp(a);
	uint64_t other = seam__stream_stamp(b);
	struct seam_wait wait;
	struct seam_wait_all wait_all;
	fake_resolve(&fake, a->handle)->capturing = true;
	expect_rc(seam__stream_cover(a), SEAM_CAPTURING);
	expect_rc(seam__stream_wait_begin(a, stamp, &wait), SEAM_CAPTURING);
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

Test(stream, events_from_before_a_capture_are_asked_again_after_it)
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

Test(stream, another_threads_stream_is_covered_when_its_owner_comes)
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

Test(stream, a_cover_finds_out_that_the_stream_is_gone)
{
	uint64_t handle = fake_stream_create(&fake);
	struct seam_stream *a = find(handle);
	(void)seam__stream_stamp(a);
	fake_stream_destroy(&fake, handle);
	expect_rc(seam__stream_cover(a), SEAM_NOT_FOUND);
	cr_expect(a->lost);
	cr_expect_eq(calls(SEAM_DRV_event_record), 0);
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

Test(stream, a_wait_makes_stamps_pass_and_later_ones_not)
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

Test(stream, two_waits_and_a_poll_may_share_an_event)
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

Test(stream, a_failed_wait_passes_nothing)
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

Test(stream, wait_all_leaves_what_was_stamped_after_begin)
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

Test(stream, order_holds_the_other_stream_back)
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

Test(stream, deterministic_polls_wait)
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

Test(stream, no_failed_call_changes_what_has_passed)
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
		cr_expect_null(seam__streams_check(&streams), "call %lu: %s", (unsigned long)n, seam__streams_check(&streams));
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
