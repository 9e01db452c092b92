/* test_spare.c: the engine borrows from the owner of an arena before it grows, and asks for all of it before it gives
 * up. */
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"

static unsigned asked_passed, asked, asked_all;
static uint64_t asked_bytes;
static uint32_t next_chunk;
static struct seam_stream *lent_after[2];
static uint32_t lent_after_count;

static unsigned *counter_of(enum seam_spare what)
{
	return what == SEAM_SPARE_PASSED ? &asked_passed : what == SEAM_SPARE_IDLE ? &asked : &asked_all;
}

/* Lends the next chunks that cover `bytes`; for all, closes the arena. */
static uint64_t lend_next(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	uint64_t lent = 0;
	cr_expect_eq(user, &asked);
	cr_expect_gt(ask->bytes, 0);
	*counter_of(what) += 1;
	if (what == SEAM_SPARE_PASSED)
		return 0;
	if (what == SEAM_SPARE_ALL) {
		uint64_t before = arena.leased_bytes;
		if (arena.state == SEAM_ARENA_OPEN)
			seam__arena_close(&engine, &arena, NULL, lent_after, lent_after_count);
		return before;
	}
	asked_bytes = bytes;
	struct seam_stream *stream = lent_after_count != 0 ? lent_after[0] : ask->stream;
	cr_assert_eq(seam__arena_join(&engine, &arena, stream), SEAM_OK);
	while (lent < bytes && next_chunk < arena.count)
		lent += seam__arena_lend(&engine, &arena, next_chunk++, 1, stream);
	return lent;
}

static uint64_t lend_one(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	return lend_next(user, ask, bytes == 0 ? 0 : 1, what);
}

static void set_up(void)
{
	set_up_arena();
	struct seam_block *block = alloc(12);
	give(block);
	wait_for_all();
	make_arena(0);
	engine.spare = lend_next;
	engine.spare_user = &asked;
}

TestSuite(spare, .init = set_up, .fini = tear_down_arena);

Test(spare, lent_before_the_pool_grows)
{
	struct seam_block *block = alloc(3);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(12));
	cr_expect_eq(asked, 1);
	cr_expect_eq(asked_bytes, MIB(3));
	cr_expect_eq(arena.leased_bytes, MIB(8));
	give(block);
	cr_expect_eq(alloc(4)->view, block->view, "what was lent serves as any other memory");
	cr_expect_eq(asked, 1);
}

Test(spare, only_what_is_lacking)
{
	engine.spare = NULL;
	struct seam_block *block = alloc(2);
	give(block);
	engine.spare = lend_next;
	struct seam_block *four = alloc(4);
	cr_expect(four->view->stitched);
	cr_expect_eq(asked_bytes, MIB(2));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(14));
}

Test(spare, a_few_at_a_time_a_few_times)
{
	engine.spare = lend_one;
	(void)alloc(12);
	cr_expect_eq(asked, SEAM_SPARES, "%u", asked);
	cr_expect_eq(arena.leased_bytes, MIB(4));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(16), "the rest is new");
}

/* A loan that is another stream's, and pending, is not asked for again: the pool grows. */
Test(spare, what_cannot_be_used_is_not_asked_for_again)
{
	plan_work(0, MIB(12), stream_b, LONG_NS);
	lent_after_count = entries(stream_b, 0, lent_after);
	(void)alloc(4);
	cr_expect_eq(asked, 1);
	cr_expect_eq(arena.leased_bytes, MIB(8));
	cr_expect_eq(engine.memory.reserved_bytes, MIB(16));
}

Test(spare, nothing_to_lend)
{
	next_chunk = arena.count;
	(void)alloc(4);
	cr_expect_eq(asked, 1);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(16));
}

Test(spare, not_where_it_does_not_help)
{
	struct seam_block *block = NULL;
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	ask.no_stitch = true;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	ask.no_stitch = false;
	ask.capturing = true;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	ask.capturing = false;
	ask.class = SEAM_CLASS_CONTIGUOUS;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	struct seam_group *group = NULL;
	cr_assert_eq(seam__engine_group_create(&engine, 4, &group), SEAM_OK);
	ask.class = SEAM_CLASS_LARGE;
	ask.group = group;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	cr_expect_eq(asked_passed + asked, 0);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(20));
}

Test(spare, all_of_it_before_out_of_memory)
{
	forbid_growth();
	engine.spare = lend_one;
	next_chunk = arena.count; /* nothing is idle */
	(void)alloc(12);
	cr_expect_eq(asked_all, 1);
	cr_expect_eq(arena.state, SEAM_ARENA_CLOSED);
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_eq(asked_all, 2, "once a request");
}

/* A private pool may not have common memory: it has to go back to the device first. */
Test(spare, all_of_it_for_who_needs_new_chunks)
{
	engine.memory.capacity_bytes = MIB(14);
	plan_work(0, MIB(12), stream_b, LONG_NS);
	lent_after_count = entries(stream_b, 0, lent_after);
	struct seam_group *group = NULL;
	cr_assert_eq(seam__engine_group_create(&engine, 4, &group), SEAM_OK);
	struct seam_ask ask = ask_of(MIB(8), stream_a);
	struct seam_block *block = NULL;
	ask.group = group;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK, "it waits for what the arena gave up, and trims it");
	cr_expect_eq(asked_all, 1);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(8), "%lu", (unsigned long)engine.memory.reserved_bytes);
}

/* The arena goes at once, with its mappings. */
static uint64_t give_all_up(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	uint64_t freed = lend_next(user, ask, what == SEAM_SPARE_ALL ? bytes : 0, what);
	if (what == SEAM_SPARE_ALL && arena.state == SEAM_ARENA_CLOSED)
		cr_expect_eq(seam__arena_finish(&engine, &arena, UINT32_MAX), SEAM_OK);
	return freed;
}

Test(spare, mappings_that_are_short)
{
	close_after(NULL, 0, 0);
	engine.spare = NULL;
	cr_assert_eq(finish(), SEAM_OK);
	struct seam_block *blocks[6];
	make_row(blocks, 6);
	make_arena(4);
	for (int i = 0; i < 6; i += 2)
		give(blocks[i]);
	uint64_t reserved = engine.memory.reserved_bytes;
	engine.memory.mapping_limit = engine.memory.mapping_count + 1;
	engine.policy.chunk_bytes = MIB(8); /* growth would need one mapping only */
	engine.spare = give_all_up;
	cr_expect(alloc(6)->view->stitched);
	cr_expect_eq(asked_all, 1);
	cr_expect_eq(arena.state, SEAM_ARENA_NONE);
	cr_expect_eq(engine.memory.reserved_bytes, reserved);
}

static uint64_t promise(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	(void)user;
	(void)ask;
	*counter_of(what) += 1;
	return bytes != 0;
}

/* Whoever says that there is more, and there is not, is not believed for ever. */
Test(spare, empty_promises)
{
	forbid_growth();
	engine.spare = promise;
	struct seam_ask ask = ask_of(MIB(4), stream_a);
	struct seam_block *block = NULL;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_eq(asked_passed, 3, "before a loan, and whenever work was waited for");
	cr_expect_eq(asked, SEAM_SPARES);
	cr_expect_eq(asked_all, 1);
}

/* More than was asked for has passed, in pieces. */
static uint64_t find_pieces(void *user, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what)
{
	const uint64_t lent = lend_next(user, ask, bytes, what);
	return what == SEAM_SPARE_PASSED ? MIB(64) : lent;
}

Test(spare, what_has_passed_is_no_loan)
{
	engine.spare = find_pieces;
	(void)alloc(4);
	cr_expect_eq(asked_passed, 1);
	cr_expect_eq(asked, 1);
	cr_expect_eq(engine.memory.reserved_bytes, MIB(12));
}

Test(spare, not_during_a_capture)
{
	forbid_growth();
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	struct seam_block *block = NULL;
	ask.capturing = true;
	cr_expect_eq(try_ask(&ask, &block), SEAM_OOM_DEVICE);
	cr_expect_eq(asked_passed + asked + asked_all, 0);
}
