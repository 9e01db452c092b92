/* test_core_stats.c: the figures of a pool: their versions, their sums, their peaks. */
#include "arena.h"
#include "core_fixture.h"

/* reserved = live + pending + what is unused, by cause. */
static void assert_sums(const char *when)
{
	struct seam_stats s = get_stats();
	cr_assert_eq(s.reserved_bytes,
		s.live_bytes + s.unused_pending_bytes + s.unused_partial_bytes + s.unused_whole_bytes +
			s.unused_private_bytes + s.unused_leased_bytes,
		"%s", when);
	cr_assert_leq(s.reserved_small_bytes, s.reserved_bytes, "%s", when);
	cr_assert_eq(s.mappings_stale, s.mappings - s.chunks, "%s", when);
	cr_assert_leq(s.live_requested_bytes, s.live_bytes, "%s", when);
	cr_assert_leq(s.stitched_views, s.views, "%s", when);
	cr_assert_leq(s.reserved_bytes, s.address_bytes, "%s", when);
	cr_assert_leq(s.unused_stream_bytes, s.unused_whole_bytes + s.unused_partial_bytes, "%s", when);
	cr_assert_leq(s.unused_stream_whole_bytes, s.unused_stream_bytes, "%s", when);
	cr_assert_leq(s.unused_stream_whole_bytes, s.unused_whole_bytes, "%s", when);
}

Test(core_stats, every_reserved_byte_has_a_cause)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *other = make_stream(), *ptrs[20];
	void *live[4];
	assert_sums("empty");
	for (unsigned i = 0; i < 4; i++) {
		ptrs[i] = must_alloc(MIB(2), NULL);
		live[i] = must_alloc(MIB(2), NULL);
	}
	for (unsigned i = 0; i < 4; i++)
		must_free(ptrs[i]);
	must_free(must_alloc(MIB(8), NULL));
	cr_assert_eq(get_stats().mappings_stale, 4);
	assert_sums("stitched");
	must_free(live[0]);
	for (unsigned i = 0; i < 20; i++) {
		ptrs[i] = must_alloc(i % 3 == 0 ? 3000 : MIB(2) + i * 512, i % 2 == 0 ? NULL : other);
		assert_sums("allocating");
	}
	cr_assert_ok(seam_record_stream(pool, ptrs[2], other));
	cr_assert_ok(seam_private_begin(pool, 5, SEAM_ROUTE_ALL, 0));
	void *private = must_alloc(MIB(5), NULL);
	cr_assert_ok(seam_private_end(pool, 5));
	assert_sums("a private pool");
	must_free(private);
	cr_assert_eq(get_stats().unused_private_bytes, MIB(6));
	assert_sums("a private pool's free memory");
	for (unsigned i = 0; i < 20; i++) {
		must_free(ptrs[i]);
		assert_sums("freeing");
	}
	cr_assert_eq(get_stats().unused_pending_bytes, MIB(2) + 1024);
	close_pool();
}

/* Whole chunks that every stream may have are told from those that only the stream on which they were freed may have.
 */
Test(core_stats, free_memory_of_one_stream_is_told_from_everybodys)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *a = make_stream(), *b = make_stream(), *out = NULL;
	void *on_a = must_alloc(MIB(20), a), *on_b = must_alloc(MIB(9), b);
	(void)must_alloc(MIB(3), b);
	launch(a, on_a, MIB(20), UINT64_C(10000000000));
	must_free(on_a);
	assert_sums("freed on the first stream");
	cr_assert_eq(get_stats().unused_stream_bytes, MIB(20));
	cr_assert_eq(get_stats().unused_stream_whole_bytes, MIB(20));
	must_free(on_b);
	assert_sums("freed on both streams");
	cr_assert_eq(get_stats().unused_stream_bytes, MIB(29));
	cr_assert_eq(get_stats().unused_stream_whole_bytes, MIB(28), "a live block is in the chunk of the last MiB");
	struct seam_request request = {.size = sizeof request, .flags = SEAM_NO_WAIT, .bytes = MIB(50), .stream = b};
	cr_assert_rc(seam_alloc_request(pool, &request, &out), SEAM_OOM_DEVICE);
	assert_sums("the second stream has passed, which the failed request has found out");
	struct seam_stats s = get_stats();
	cr_assert_eq(s.unused_stream_bytes, MIB(20));
	cr_assert_eq(s.unused_stream_whole_bytes, MIB(20));
	cr_assert_eq(s.unused_whole_bytes, MIB(28));
	cr_assert_eq(s.unused_partial_bytes, MIB(1));
	cr_assert_rc(seam_alloc(pool, MIB(70), b, &out), SEAM_OOM_DEVICE);
	assert_sums("everything was waited for");
	cr_assert_eq(get_stats().unused_stream_bytes, 0);
	cr_assert_eq(get_stats().unused_stream_whole_bytes, 0);
	close_pool();
}

Test(core_stats, figures_follow_what_was_done)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *a = must_alloc(MIB(3), NULL), *b = must_alloc(100, NULL);
	struct seam_stats s = get_stats();
	cr_assert_eq(s.live_requested_bytes, MIB(3) + 100);
	cr_assert_eq(s.live_bytes, MIB(3) + 512);
	cr_assert_eq(s.live_blocks, 2);
	cr_assert_eq(s.reserved_bytes, MIB(6), "3 MiB in two chunks, and one for small requests");
	cr_assert_eq(s.reserved_small_bytes, MIB(2));
	cr_assert_eq(s.chunks, 3);
	cr_assert_eq(s.mappings, 3);
	cr_assert_eq(s.views, 2);
	cr_assert_eq(s.s4, 2);
	cr_assert_eq(s.unused_partial_bytes, MIB(3) - 512);
	cr_assert_eq(s.unused_whole_bytes, 0);
	must_free(a);
	must_free(b);
	s = get_stats();
	cr_assert_eq(s.unused_whole_bytes, MIB(6));
	cr_assert_eq(s.allocs, 2);
	cr_assert_eq(s.frees, 2);
	cr_assert_eq(s.memory_calls, seam__driver_calls(driver, SEAM_DRV_MEMORY));
	cr_assert_gt(s.memory_ns, 0);
	cr_assert_gt(s.metadata_bytes, 0);
	(void)must_alloc(MIB(4), NULL);
	cr_assert_eq(get_stats().s1, 1);
	close_pool();
}

/* The highest value of every figure at any note() so far. */
static struct seam_stats seen;

static void note(void)
{
	const struct seam_stats now = get_stats();
#define SEAM_STAT(name, kind, text) seen.name = now.name > seen.name ? now.name : seen.name;
#include <seam/stats.def>
#undef SEAM_STAT
}

static void play_out_of_everything(void)
{
	void *none = NULL, *live[20];
	open_pool(MIB(64), "address_limit_bytes:80M,mapping_limit:64,chunk_bytes:2M"); /* the home view takes 72 MiB */
	seam__meta_fail_at(pool->meta, 1);
	cr_assert_rc(seam_alloc(pool, MIB(3), NULL, &none), SEAM_OOM_META);
	for (unsigned i = 0; i < 20; i++)
		live[i] = must_alloc(MIB(2), NULL);
	for (unsigned i = 0; i < 20; i += 2)
		must_free(live[i]);
	cr_assert_rc(seam_alloc(pool, MIB(44), NULL, &none), SEAM_OOM_VA);
	note();
	close_pool();
	open_pool(MIB(512), "mapping_limit:64,chunk_bytes:2M");
	cr_assert_rc(seam_alloc(pool, MIB(130), NULL, &none), SEAM_MAPPINGS);
	note();
	close_pool();
}

/* Scenes in which everything happens: no figure is there for nothing. */
static bool none_stays(void *user, const struct seam_block *block)
{
	(void)user;
	(void)block;
	return false;
}

/* An arena over what is free. */
static void play_arena(void)
{
	struct seam_survey survey;
	struct seam_arena arena;
	open_pool(MIB(64), "chunk_bytes:2M");
	struct seam_engine *engine = &pool->engine;
	must_free(must_alloc(MIB(2), NULL));
	void *half = must_alloc(MIB(1), NULL);
	seam__mutex_lock(&engine->change);
	seam__mutex_lock(&engine->lock);
	cr_assert_ok(seam__survey_make(engine, none_stays, NULL, &survey));
	cr_assert_eq(survey.count, 1);
	cr_assert_ok(seam__arena_begin(engine, &survey.chunks[0].number, 1, MIB(2), MIB(2), 0, &arena));
	seam__survey_fini(engine, &survey);
	cr_assert_ok(seam__arena_prepare(engine, &arena, 8));
	seam__arena_open(&arena);
	cr_assert_neq(seam__arena_collect(engine, &arena, 0, arena.count), 0);
	seam__mutex_unlock(&engine->lock);
	seam__mutex_unlock(&engine->change);
	assert_sums("an arena");
	cr_assert_eq(get_stats().unused_leased_bytes, MIB(3));
	note();
	must_free(half);
	seam__arena_fini(engine, &arena);
	close_pool();
}

Test(core_stats, no_figure_stays_zero)
{
	play_out_of_everything();
	play_arena();
	open_pool(MIB(96), "chunk_bytes:2M,capacity_bytes:64M,mapping_limit:64");
	void *other = make_stream(), *host = NULL, *none = NULL, *ptrs[24];
	cr_assert_ok(seam_host_alloc(pool, 5000, NULL, &host));
	(void)must_alloc(100, NULL);
	for (unsigned i = 0; i < 24; i++)
		ptrs[i] = must_alloc(MIB(2), NULL);
	must_free(ptrs[0]);
	ptrs[0] = must_alloc(MIB(2), NULL); /* s1 */
	for (unsigned i = 0; i < 24; i += 2)
		must_free(ptrs[i]);
	must_free(must_alloc(MIB(1) + 512, NULL)); /* s2 */
	for (uint64_t size = MIB(4); size <= MIB(24); size += MIB(2)) {
		must_free(must_alloc(size, NULL)); /* s3: more views than the mapping limit lets live */
		if (size == MIB(8)) {
			void *first = must_alloc(MIB(2), NULL);
			must_free(must_alloc(MIB(6), NULL)); /* s1r */
			must_free(first);
		}
	}
	note(); /* before the stitched views go, for want of memory */
	launch(NULL, ptrs[3], MIB(2), 1000000);
	must_free(ptrs[3]);
	cr_assert_eq(seam__drv_stream_sync(driver, 0), SEAM_CU_SUCCESS);
	void *crossed = must_alloc(MIB(2), other); /* what has passed on the default stream */
	cr_assert_rc(seam_alloc(pool, MIB(70), NULL, &none), SEAM_OOM_DEVICE); /* s5 */
	void *waited = must_alloc(MIB(14), other);
	launch(other, waited, MIB(14), 1000000);
	must_free(waited);
	must_free(must_alloc(MIB(38), NULL)); /* a retry: it waits */
	cr_assert_ok(seam_private_begin(pool, 5, SEAM_ROUTE_ALL, 0));
	must_free(must_alloc(MIB(3), NULL));
	cr_assert_ok(seam_private_end(pool, 5));
	void *held = must_alloc(MIB(2), NULL);
	cr_assert_ok(seam_record_stream(pool, held, other));
	launch(other, crossed, MIB(2), 1000000);
	must_free(held);
	must_free(must_alloc(MIB(6), NULL));
	note();
#define SEAM_STAT(name, kind, text) cr_expect(seen.name != 0, #name);
#include <seam/stats.def>
#undef SEAM_STAT
	close_pool();
}

static bool twice(void *user, struct seam_pool *of, uint64_t bytes, void *stream)
{
	(void)of, (void)bytes, (void)stream;
	++*(unsigned *)user;
	return *(unsigned *)user < 3;
}

/* Requests are counted, not tries: the callback asks for two more. */
Test(core_stats, requests_that_failed_are_counted_by_cause)
{
	unsigned asked = 0;
	void *none = NULL;
	open_pool(MIB(64), "mapping_limit:64,chunk_bytes:2M");
	seam_set_oom_callback(pool, twice, &asked);
	cr_assert_rc(seam_alloc(pool, MIB(65), NULL, &none), SEAM_OOM_DEVICE);
	cr_assert_eq(asked, 3);
	cr_assert_eq(get_stats().s5, 3);
	cr_assert_eq(get_stats().ooms_device, 1);
	cr_assert_rc(seam_alloc(pool, UINT64_MAX, NULL, &none), SEAM_OOM_DEVICE);
	cr_assert_eq(get_stats().ooms_device, 2, "larger than any device");
	seam__meta_fail_at(pool->meta, 1);
	cr_assert_rc(seam_alloc(pool, MIB(3), NULL, &none), SEAM_OOM_META);
	cr_assert_rc(seam_alloc(pool, 0, NULL, &none), SEAM_INVALID);
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_NOT_PERMITTED);
	cr_assert_rc(seam_alloc(pool, MIB(3), NULL, &none), SEAM_DRIVER);
	const struct seam_stats s = get_stats();
	cr_assert_eq(s.ooms_device, 2);
	cr_assert_eq(s.ooms_metadata, 1);
	cr_assert_eq(s.ooms_mappings + s.ooms_address, 0, "other failures are none of memory");
	close_pool();
	open_pool(MIB(512), "mapping_limit:64,chunk_bytes:2M");
	cr_assert_rc(seam_alloc(pool, MIB(130), NULL, &none), SEAM_MAPPINGS);
	cr_assert_eq(get_stats().ooms_mappings, 1);
	cr_assert_eq(get_stats().ooms_device + get_stats().ooms_address + get_stats().ooms_metadata, 0);
	close_pool();
}

Test(core_stats, peaks_are_kept_and_reset)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *host = NULL;
	cr_assert_ok(seam_host_alloc(pool, MIB(1), NULL, &host));
	cr_assert_ok(seam_host_free(pool, host));
	must_free(must_alloc(MIB(40), NULL));
	cr_assert_ok(seam_trim(pool, 0, NULL));
	struct seam_stats s = get_stats();
	cr_assert_eq(s.reserved_bytes, 0);
	cr_assert_eq(s.reserved_bytes_peak, MIB(40));
	cr_assert_eq(s.live_bytes_peak, MIB(40));
	cr_assert_eq(s.live_requested_bytes_peak, MIB(40));
	cr_assert_eq(s.live_blocks_peak, 1);
	cr_assert_eq(s.mappings_peak, 20);
	cr_assert_eq(s.chunks_peak, 20);
	cr_assert_eq(s.chunks_made, 20);
	cr_assert_eq(s.chunks_made_bytes, MIB(40));
	cr_assert_geq(s.host_reserved_bytes_peak, MIB(1));
	seam_stats_reset_peaks(pool);
	s = get_stats();
	cr_assert_eq(s.reserved_bytes_peak, 0);
	cr_assert_eq(s.live_bytes_peak, 0);
	cr_assert_eq(s.live_requested_bytes_peak, 0);
	cr_assert_eq(s.live_blocks_peak, 0);
	cr_assert_eq(s.mappings_peak, 0);
	cr_assert_eq(s.chunks_peak, 0);
	cr_assert_eq(s.chunks_made, 20, "that is no peak");
	cr_assert_eq(s.metadata_bytes_peak, s.metadata_bytes);
	cr_assert_eq(s.host_reserved_bytes_peak, s.host_reserved_bytes);
	seam_stats_reset_peaks(NULL);
	close_pool();
}

Test(core_stats, an_older_struct_gets_what_it_knows)
{
	open_pool(MIB(256), NULL);
	(void)must_alloc(5000, NULL);
	struct seam_stats stats;
	memset(&stats, 0xee, sizeof stats);
	stats.size = offsetof(struct seam_stats, live_blocks);
	stats.version = SEAM_STATS_VERSION;
	cr_assert_ok(seam_stats_get(pool, &stats));
	cr_assert_eq(stats.size, offsetof(struct seam_stats, live_blocks));
	cr_assert_eq(stats.live_requested_bytes, 5000);
	cr_assert_eq(stats.live_bytes, 5120);
	cr_assert_eq(stats.live_blocks, UINT64_C(0xeeeeeeeeeeeeeeee), "what it does not know is not written");
	close_pool();
}

Test(core_stats, unknown_sizes_and_versions_are_refused)
{
	open_pool(MIB(256), NULL);
	static const struct {
		uint32_t size, version;
	} rows[] = {
		{sizeof(struct seam_stats), SEAM_STATS_VERSION + 1},
		{sizeof(struct seam_stats), 0},
		{sizeof(struct seam_stats) + 8, SEAM_STATS_VERSION},
		{0, SEAM_STATS_VERSION},
		{sizeof(struct seam_stats) - 4, SEAM_STATS_VERSION},
		{4, SEAM_STATS_VERSION},
	};
	struct seam_stats stats = {0};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		stats.size = rows[i].size;
		stats.version = rows[i].version;
		cr_assert_eq(seam_stats_get(pool, &stats), SEAM_VERSION, "row %zu", i);
	}
	cr_assert_rc(seam_stats_get(NULL, &stats), SEAM_INVALID);
	cr_assert_rc(seam_stats_get(pool, NULL), SEAM_INVALID);
	close_pool();
}

Test(core_stats, calls_of_every_kind_add_up)
{
	open_pool(MIB(256), NULL);
	(void)must_alloc(MIB(30), NULL);
	void *other = make_stream(), *shared = must_alloc(MIB(2), NULL);
	launch(other, shared, MIB(2), 1000000);
	cr_assert_ok(seam_record_stream(pool, shared, other));
	must_free(shared);
	uint64_t memory = 0, events = 0, event_ns = 0, calls = 0, ns = 0;
	const char *name = NULL;
	uint32_t i = 0;
	for (; seam_stats_driver(pool, i, &name, &calls, &ns) == SEAM_OK; i++) {
		cr_assert_not_null(name);
		if (seam__driver_call_class((enum seam_drv_call)i) == SEAM_DRV_MEMORY)
			memory += calls;
		if (seam__driver_call_class((enum seam_drv_call)i) == SEAM_DRV_EVENT) {
			events += calls;
			event_ns += ns;
		}
		if (strcmp(name, "mem_create") == 0)
			cr_assert_eq(calls, get_stats().chunks);
	}
	cr_assert_eq(i, SEAM_DRV_COUNT);
	cr_assert_eq(memory, get_stats().memory_calls);
	cr_assert_gt(events, 0);
	cr_assert_eq(events, get_stats().event_calls);
	cr_assert_eq(event_ns, get_stats().event_ns);
	calls = 7;
	cr_assert_rc(seam_stats_driver(pool, i, &name, &calls, &ns), SEAM_NOT_FOUND);
	cr_assert_eq(calls, 7, "ret_calls was touched");
	cr_assert_rc(seam_stats_driver(NULL, 0, &name, &calls, &ns), SEAM_INVALID);
	cr_assert_ok(seam_stats_driver(pool, 0, NULL, NULL, NULL));
	close_pool();
}
