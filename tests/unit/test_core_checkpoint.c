/* test_core_checkpoint.c: a private pool goes back to an earlier moment. */
#include "core_fixture.h"

#include <seam/snapshot.h>

#include "checkpoint.h"

#define MOST 32
#define MANY 1000

static struct seam_private_block block_at(void *ptr, uint64_t bytes, void *stream)
{
	return (struct seam_private_block){.ptr = ptr, .bytes = bytes, .stream = stream};
}

/* The live blocks' addresses and sizes, in a number. */
static int mix(void *user, const struct seam_block_info *block)
{
	uint64_t *sum = user;
	if (block->state == SEAM_BLOCK_LIVE)
		*sum += (block->va ^ block->bytes << 13 ^ block->requested_bytes << 31 ^ (block->tag + 1) << 7) *
			UINT64_C(0x9e3779b97f4a7c15);
	return 0;
}

static uint64_t what_lives(void)
{
	uint64_t sum = 0;
	const struct seam_visitor visitor = {.block = mix};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, &sum));
	return sum;
}

static bool is_live(void *ptr)
{
	void *base = NULL;
	return seam_block_range(pool, ptr, &base, NULL) == SEAM_OK;
}

static void must_restore(const struct seam_private_block *blocks, size_t count)
{
	cr_assert_ok(seam_private_restore(pool, 1, blocks, count));
	check_pool();
}

static void begin_private(void)
{
	cr_assert_ok(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0));
}

Test(core_checkpoint, bad_arguments_are_refused)
{
	open_pool(MIB(256), NULL);
	begin_private();
	struct seam_private_block one = block_at(must_alloc(MIB(4), NULL), MIB(4), NULL);
	uint64_t before = what_lives();
	cr_assert_rc(seam_private_restore(NULL, 1, NULL, 0), SEAM_INVALID);
	cr_assert_rc(seam_private_restore(pool, 0, NULL, 0), SEAM_INVALID);
	cr_assert_rc(seam_private_restore(pool, 2, NULL, 0), SEAM_NOT_FOUND);
	cr_assert_rc(seam_private_restore(pool, 1, NULL, 1), SEAM_INVALID);
	struct seam_private_block bad = one;
	bad.ptr = NULL;
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_INVALID);
	bad = one;
	bad.bytes = 0;
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_INVALID);
	bad.bytes = UINT64_MAX;
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_INVALID);
	bad = block_at((char *)one.ptr + 1, MIB(1), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_INVALID);
	bad = block_at((char *)one.ptr + MIB(2), MIB(400), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_NOT_FOUND);
	bad = block_at(stream_of(4096), MIB(4), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_NOT_FOUND);
	bad = block_at(one.ptr, MIB(4), stream_of(77));
	cr_assert_rc(seam_private_restore(pool, 1, &bad, 1), SEAM_DRIVER);
	const struct seam_private_block twice[] = {one, one};
	cr_assert_rc(seam_private_restore(pool, 1, twice, 2), SEAM_INVALID);
	const struct seam_private_block over[] = {
		block_at((char *)one.ptr + MIB(2), MIB(1), NULL), block_at(one.ptr, MIB(3), NULL)};
	cr_assert_rc(seam_private_restore(pool, 1, over, 2), SEAM_INVALID);
	cr_assert_eq(what_lives(), before);
	close_pool();
}

Test(core_checkpoint, a_device_without_virtual_memory_management_has_none)
{
	open_plain(MIB(256), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, NULL, 0), SEAM_UNSUPPORTED);
	close_pool();
}

Test(core_checkpoint, what_was_live_is_live_again_at_its_place)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *other = make_stream();
	void *common = must_alloc(MIB(6), NULL);
	begin_private();
	void *a = must_alloc(MIB(4), NULL), *b = must_alloc(MIB(10), other), *c = must_alloc(3000, NULL),
	     *d = must_alloc(100, other);
	struct seam_request request = {.size = sizeof request, .flags = SEAM_CONTIGUOUS, .bytes = MIB(5), .tag = 77};
	void *e = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &e));
	const struct seam_private_block all[] = {
		block_at(d, 100, other),
		block_at(a, MIB(4), NULL),
		block_at(b, MIB(10), other),
		block_at(c, 3000, NULL),
		{.ptr = e, .bytes = MIB(5), .tag = 77},
	};
	uint64_t then = what_lives();
	must_free(a);
	must_free(b);
	must_free(c);
	void *f = must_alloc(MIB(14), other), *g = must_alloc(512, other);
	cr_assert_neq(what_lives(), then);
	must_restore(all, 5);
	cr_assert_eq(what_lives(), then);
	cr_assert_eq(is_live(f), f == a || f == b, "what came after is gone");
	cr_assert(g == c || !is_live(g));
	cr_assert(is_live(common));
	void *h = must_alloc(MIB(14), other);
	cr_assert(h != a && h != b, "memory that is live again is not free");
	must_restore(&all[1], 2);
	cr_assert(is_live(a) && is_live(b) && !is_live(d) && !is_live(e) && !is_live(h));
	must_restore(NULL, 0);
	cr_assert_not(is_live(a));
	cr_assert_eq(get_stats().live_blocks, 1);
	must_free(common);
	close_pool();
}

/* A block of `count` chunks that are scattered at home: stitched. kept: what lies between them there, live. */
static void *stitch_between(unsigned count, void **kept)
{
	void *scattered[MOST];
	for (unsigned i = 0; i < count; i++) {
		scattered[i] = must_alloc(MIB(2), NULL);
		kept[i] = must_alloc(MIB(2), NULL);
	}
	for (unsigned i = 0; i < count; i++)
		must_free(scattered[i]);
	void *ptr = must_alloc(MIB(2) * count, NULL);
	cr_assert_eq(get_stats().stitched_views, 1);
	return ptr;
}

static void *alloc_stitched(unsigned count)
{
	void *kept[MOST];
	void *ptr = stitch_between(count, kept);
	for (unsigned i = 0; i < count; i++)
		must_free(kept[i]);
	return ptr;
}

Test(core_checkpoint, a_stitched_view_takes_its_chunks_back_without_a_driver_call)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	begin_private();
	void *whole = alloc_stitched(8);
	must_free(whole);
	/* Two blocks in it, which share a chunk. */
	void *front = must_alloc(MIB(15), NULL);
	cr_assert_eq(front, whole, "the view is revived");
	void *behind = must_alloc(MIB(1), NULL);
	cr_assert_eq(behind, (char *)whole + MIB(15));
	const struct seam_private_block both[] = {block_at(front, MIB(15), NULL), block_at(behind, MIB(1), NULL)};
	uint64_t then = what_lives();
	must_free(front);
	must_free(behind);
	void *home[8];
	for (unsigned i = 0; i < 8; i++)
		home[i] = must_alloc(MIB(2), NULL);
	uint64_t calls = get_stats().memory_calls;
	must_restore(both, 2);
	cr_assert_eq(what_lives(), then);
	cr_assert_eq(get_stats().memory_calls, calls);
	cr_assert_not(is_live(home[0]));
	must_free(front);
	check_pool();
	must_restore(&both[1], 1);
	cr_assert(is_live(behind) && !is_live(front));
	close_pool();
}

Test(core_checkpoint, memory_that_cannot_be_had_changes_nothing)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	begin_private();
	void *stitched = alloc_stitched(4);
	must_free(stitched);
	void *home[10];
	for (unsigned i = 0; i < 10; i++)
		home[i] = must_alloc(MIB(2), NULL);
	cr_assert_ok(seam_record_stream(pool, home[3], make_stream()));
	uint64_t before = what_lives();
	/* The same chunks under two addresses. */
	struct seam_private_block blocks[11] = {block_at(stitched, MIB(8), NULL)};
	for (unsigned i = 0; i < 10; i++)
		blocks[i + 1] = block_at(home[i], MIB(2), NULL);
	struct seam_engine_counts counts = pool->engine.counts;
	cr_assert_rc(seam_private_restore(pool, 1, blocks, 11), SEAM_BUSY);
	check_pool();
	cr_assert_arr_eq(&pool->engine.counts, &counts, sizeof counts);
	cr_assert_eq(what_lives(), before);
	for (unsigned i = 0; i < 10; i++)
		must_free(home[i]);
	cr_assert_eq(get_stats().unused_pending_bytes, MIB(2), "its uses came back with the block");
	close_pool();
}

/* What would be there if another thread had freed it after the wait. recorded: on another stream than its own. */
static void restore_beside_freed(bool recorded)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	void *other = make_stream(), *kept[2];
	begin_private();
	void *whole = stitch_between(2, kept);
	must_free(whole);
	void *front = must_alloc(MIB(3), NULL);
	cr_assert_eq(front, whole);
	void *behind = must_alloc(MIB(1), recorded ? NULL : other);
	cr_assert_eq(behind, (char *)whole + MIB(3));
	if (recorded) {
		cr_assert_ok(seam_record_stream(pool, behind, other));
		must_free(front);
		cr_assert_ok(seam_device_wait(pool));
	}
	launch(other, behind, MIB(1), 1000);
	must_free(behind);
	uint64_t then = what_lives();
	struct seam_engine *engine = &pool->engine;
	struct seam_group *group = seam__private_find(pool, 1)->group;
	struct seam_kept *before = NULL, after;
	uint64_t count = 0;
	seam__pool_stop(pool);
	cr_assert_ok(seam__checkpoint_take(engine, group, &before, &count));
	cr_assert_eq(count, recorded ? 2 : 3);
	after = before[0];
	after.va = (uint64_t)(uintptr_t)whole;
	after.requested_bytes = MIB(4);
	cr_assert_rc(seam__checkpoint_restore(engine, group, before, count, &after, 1), SEAM_BUSY);
	seam__checkpoint_drop(engine, before, count);
	seam__pool_go(pool);
	check_pool();
	cr_assert_eq(what_lives(), then);
	close_pool();
}

Test(core_checkpoint, pending_memory_is_not_taken)
{
	restore_beside_freed(true);
}

Test(core_checkpoint, nothing_is_done_beside_memory_that_is_bound_to_a_stream)
{
	restore_beside_freed(false);
}

Test(core_checkpoint, a_view_that_is_gone_is_not_found)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	begin_private();
	void *stitched = alloc_stitched(4), *kept = must_alloc(MIB(2), NULL);
	must_free(stitched);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().stitched_views, 0);
	const struct seam_private_block gone = block_at(stitched, MIB(8), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &gone, 1), SEAM_NOT_FOUND);
	cr_assert(is_live(kept));
	close_pool();
}

Test(core_checkpoint, a_chunk_that_is_gone_is_not_found)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	begin_private();
	void *front = must_alloc(MIB(2), NULL), *gone = must_alloc(MIB(4), NULL), *behind = must_alloc(MIB(2), NULL);
	cr_assert_eq(gone, (char *)front + MIB(2));
	must_free(gone);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_eq(get_stats().reserved_bytes, MIB(4));
	const struct seam_private_block blocks[] = {block_at(front, MIB(2), NULL), block_at(gone, MIB(4), NULL)};
	cr_assert_rc(seam_private_restore(pool, 1, blocks, 2), SEAM_NOT_FOUND);
	const struct seam_private_block part = block_at((char *)front + MIB(1), MIB(2), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &part, 1), SEAM_NOT_FOUND);
	cr_assert(is_live(front) && is_live(behind));
	close_pool();
}

Test(core_checkpoint, a_contiguous_block_is_its_chunk)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	begin_private();
	struct seam_request request = {.size = sizeof request, .flags = SEAM_CONTIGUOUS, .bytes = MIB(5)};
	void *ptr = NULL, *again = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &ptr));
	const struct seam_private_block short_one = block_at(ptr, MIB(4), NULL),
					inside = block_at((char *)ptr + MIB(2), MIB(4), NULL);
	cr_assert_rc(seam_private_restore(pool, 1, &short_one, 1), SEAM_INVALID);
	cr_assert_rc(seam_private_restore(pool, 1, &inside, 1), SEAM_INVALID);
	must_restore(NULL, 0);
	cr_assert_ok(seam_alloc_request(pool, &request, &again));
	cr_assert_eq(again, ptr);
	close_pool();
}

Test(core_checkpoint, every_failure_of_metadata_changes_nothing)
{
	open_pool(MIB(64), "chunk_bytes:2M,small_bytes:512");
	begin_private();
	void *stitched = alloc_stitched(4);
	static struct seam_private_block blocks[MANY];
	blocks[0] = block_at(stitched, MIB(8), NULL);
	for (unsigned i = 1; i < MANY; i++)
		blocks[i] = block_at(must_alloc(KIB(16), NULL), KIB(16), NULL);
	must_free(stitched);
	for (unsigned i = 1; i < MANY; i++)
		must_free(blocks[i].ptr);
	cr_assert_ok(seam_private_end(pool, 1));
	for (unsigned i = 1; i < MANY; i++)
		(void)must_alloc(512, NULL); /* with the nodes that the others had */
	uint64_t before = what_lives(), n = 0;
	enum seam_rc rc;
	do {
		seam__meta_fail_at(pool->meta, ++n);
		rc = seam_private_restore(pool, 1, blocks, MANY);
		if (rc != SEAM_OK) {
			cr_assert_rc(rc, SEAM_OOM_META);
			cr_assert_eq(what_lives(), before, "failure %lu", (unsigned long)n);
		}
		check_pool();
	} while (rc != SEAM_OK);
	cr_assert_gt(n, 2);
	seam__meta_fail_at(pool->meta, 0);
	for (unsigned i = 0; i < MANY; i++)
		cr_assert(is_live(blocks[i].ptr));
	close_pool();
}

Test(core_checkpoint, not_during_a_capture_but_back_to_its_end)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *stream = make_stream();
	uint64_t handle = (uint64_t)(uintptr_t)stream;
	begin_private();
	cr_assert_eq(seam__drv_capture_begin(driver, handle), SEAM_CU_SUCCESS);
	void *result = must_alloc(MIB(12), stream);
	launch(stream, result, MIB(12), 1000);
	struct seam_private_block block = block_at(result, MIB(12), stream);
	cr_assert_rc(seam_private_restore(pool, 1, &block, 1), SEAM_CAPTURING);
	cr_assert_eq(seam__drv_capture_end(driver, handle), SEAM_CU_SUCCESS);
	must_free(result);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	launch(stream, result, MIB(12), 1000);
	must_restore(&block, 1);
	cr_assert(is_live(result));
	cr_assert_neq(must_alloc(MIB(12), stream), result, "what is captured next lies elsewhere");
	must_free(result);
	close_pool();
}
