/* test_ppool.c: free blocks split, merged, lent and returned, and moved between streams, on views made by hand. */
#include <inttypes.h>

#include "ppool_fixture.h"

TestSuite(ppool, .init = set_up, .fini = tear_down);

Test(ppool, take_splits_and_put_merges)
{
	struct seam_block *all = fill(NULL, 0);
	struct seam_block *first = take(all, 1024);
	struct seam_block *rest = seam__fit_next(&ppool.any, NULL);
	cr_assert_not_null(rest);
	cr_expect_eq(rest->offset, 1024);
	cr_expect_eq(ppool.any.bytes, 4 * CHUNK - 1024);
	struct seam_block *merged = put(first, NULL, 0);
	cr_expect_eq(merged->bytes, 4 * CHUNK);
	cr_expect_eq(ppool.any.count, 1);
}

Test(ppool, merging_keeps_the_newer_stamp)
{
	struct seam_block *all = fill(&a, 15);
	struct seam_block *first = take(all, CHUNK);
	struct seam_block *merged = put(first, &a, 12);
	cr_expect_eq(merged->bytes, 4 * CHUNK);
	cr_expect_eq(merged->stamp, 15);
	cr_expect_eq(merged->stream, &a);
}

Test(ppool, blocks_of_two_streams_stay_apart)
{
	struct seam_block *first = take(fill(&a, 15), CHUNK);
	cr_expect_eq(put(first, &b, 15)->bytes, CHUNK);
	cr_expect_eq(ppool.of_stream[0].bytes, 3 * CHUNK);
	cr_expect_eq(ppool.of_stream[1].bytes, CHUNK);
}

Test(ppool, everybodys_whole_chunks_are_not_given_to_one_stream)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	cr_expect_eq(put(first, &a, 15)->bytes, CHUNK);
	cr_expect_eq(ppool.any.bytes, 3 * CHUNK);
}

Test(ppool, everybodys_part_of_a_chunk_is)
{
	struct seam_block *most = take(fill(NULL, 0), 4 * CHUNK - 512);
	cr_expect_eq(put(most, &a, 15)->bytes, 4 * CHUNK);
	cr_expect_eq(ppool.any.count, 0);
}

Test(ppool, a_single_stream_merges_with_all)
{
	registry.count = 1;
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	cr_expect_eq(put(first, &a, 15)->bytes, 4 * CHUNK);
}

Test(ppool, what_has_passed_is_everybodys_at_once)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	struct seam_block *merged = put(first, &a, 9);
	cr_expect_eq(merged->bytes, 4 * CHUNK);
	cr_expect_null(merged->stream);
}

Test(ppool, lend_cuts_out_the_chunk_and_return_brings_it_back)
{
	for (uint32_t slot = 0; slot < 4; slot++) {
		struct seam_block *all = fill(&a, 15);
		seam__ppool_lend(all, slot, 1);
		cr_expect_null(chunks[slot].owner);
		cr_assert_not_null(chunks[slot].lent);
		cr_expect_eq(chunks[slot].lent->is, SEAM_IS_LOST);
		cr_expect_eq(chunks[slot].lent->offset, slot * CHUNK);
		cr_expect_eq(ppool.of_stream[0].bytes, 3 * CHUNK);
		cr_expect_eq(ppool.of_stream[0].count, slot == 0 || slot == 3 ? 1 : 2, "slot %u", slot);
		seam__ppool_return(chunks[slot].lent, 1, &a, 15);
		cr_expect_eq(chunks[slot].owner, &home);
		cr_expect_null(chunks[slot].lent);
		cr_expect_eq(ppool.of_stream[0].count, 1);
		struct seam_block *whole = seam__fit_next(&ppool.of_stream[0], NULL);
		cr_assert_eq(whole->bytes, 4 * CHUNK);
		seam__fit_remove(&ppool.of_stream[0], whole);
		seam__block_remove(&slab, whole);
	}
	fill(&a, 15); /* for the check */
}

Test(ppool, a_run_of_chunks_is_lent_and_returned_as_one)
{
	for (uint32_t first = 0; first < 4; first++) {
		for (uint32_t count = 1; first + count <= 4; count++) {
			cr_assert_eq(seam__slab_reserve(&slab, 6), SEAM_OK);
			struct seam_block *all = fill(&a, 15);
			seam__ppool_lend(all, first, count);
			for (uint32_t i = 0; i < 4; i++) {
				bool away = i >= first && i < first + count;
				cr_expect_eq(
					chunks[i].owner, away ? NULL : &home, "%u of %u: chunk %u", count, first, i);
				cr_expect(!away ||
					(chunks[i].lent->is == SEAM_IS_LOST && chunks[i].lent->chunk == &chunks[i]));
				cr_expect(!away || chunks[i].lent->offset == i * CHUNK, "%u of %u: chunk %u", count,
					first, i);
			}
			cr_expect_eq(ppool.of_stream[0].bytes, (4 - count) * CHUNK);
			const char *broken = seam__blocks_check(&home);
			cr_expect_null(broken, "broken: %s", broken);
			seam__ppool_return(chunks[first].lent, count, &a, 15);
			struct seam_block *whole = seam__fit_next(&ppool.of_stream[0], NULL);
			cr_assert_eq(whole->bytes, 4 * CHUNK);
			seam__fit_remove(&ppool.of_stream[0], whole);
			seam__block_remove(&slab, whole);
		}
	}
	fill(&a, 15); /* for the check */
}

/* Chunks `from` up to `to` belong to the stitched view, as one free block in no fit. */
static struct seam_block *move_to_stitched(uint32_t from, uint32_t to)
{
	seam__ppool_lend(seam__fit_next(&ppool.any, NULL), from, to - from);
	for (uint32_t i = from; i < to; i++) {
		chunks[i].owner = &stitched;
		stitched.owned++;
	}
	seam__spool_update(&ppool.idle, &stitched);
	struct seam_block *block = seam__slab_get_reserved(&slab);
	seam__block_insert(block, &stitched, NULL, from * CHUNK, (to - from) * CHUNK, SEAM_IS_FREE);
	return block;
}

Test(ppool, settle_sends_whole_chunks_home_and_keeps_both_pieces)
{
	fill(NULL, 0);
	struct seam_block *block = move_to_stitched(0, 4);
	seam__block_resize(block, 512, 4 * CHUNK - 1024);
	struct seam_block *before = seam__slab_get_reserved(&slab), *behind = seam__slab_get_reserved(&slab);
	seam__block_insert(before, &stitched, NULL, 0, 512, SEAM_IS_LIVE);
	seam__block_insert(behind, &stitched, block, 4 * CHUNK - 512, 512, SEAM_IS_LIVE);
	stitched.live = 2;
	seam__ppool_settle(seam__ppool_put(block, &a, 15));
	cr_expect_eq(stitched.owned, 2);
	cr_expect_eq(chunks[1].owner, &home);
	cr_expect_eq(chunks[2].owner, &home);
	cr_expect_eq(ppool.of_stream[0].count, 3, "two pieces there, two chunks at home");
	cr_expect_eq(ppool.of_stream[0].bytes, 4 * CHUNK - 1024);
}

Test(ppool, settle_of_everything_leaves_no_block)
{
	fill(NULL, 0);
	struct seam_block *block = move_to_stitched(1, 4);
	seam__ppool_settle(seam__ppool_put(block, NULL, 0));
	cr_expect_eq(stitched.owned, 0);
	cr_expect(TAILQ_EMPTY(&stitched.blocks));
	cr_expect_eq(ppool.any.bytes, 4 * CHUNK);
	cr_expect_eq(ppool.any.count, 1);
}

/* What is a's and free in the stitched view when a whole chunk beside it becomes everybody's, and a part of a's chunk
 * with it; and what is left there. */
static const struct {
	const char *name;
	uint64_t a_begin, a_end; /* a's, free before */
	uint64_t begin, end;     /* everybody's */
	uint64_t owned, a_bytes, any_bytes;
} sides[] = {
	{"behind", 3 * CHUNK + 512, 4 * CHUNK, 2 * CHUNK, 3 * CHUNK + 512, 0, CHUNK, 3 * CHUNK},
	{"before", CHUNK, 2 * CHUNK - 512, 2 * CHUNK - 512, 4 * CHUNK, 0, CHUNK, 3 * CHUNK},
	{"a part behind", 3 * CHUNK + 512, 4 * CHUNK - 512, 2 * CHUNK, 3 * CHUNK + 512, 1, CHUNK - 512, 3 * CHUNK},
	{"a part before", CHUNK + 512, 2 * CHUNK - 512, 2 * CHUNK - 512, 4 * CHUNK, 1, CHUNK - 512, 3 * CHUNK},
};

/* A chunk that everybody may have is not bound to one stream; what is left beside it is, and its chunk may be whole
 * then. */
Test(ppool, settle_joins_what_is_left_to_its_neighbours)
{
	for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
		const bool is_behind = sides[i].a_begin > sides[i].begin;
		if (i != 0) {
			tear_down();
			set_up();
		}
		fill(NULL, 0);
		struct seam_block *block = move_to_stitched(is_behind ? 2 : 1, 4);
		struct seam_block *others = seam__slab_get_reserved(&slab), *live = seam__slab_get_reserved(&slab);
		seam__block_resize(block, sides[i].begin, sides[i].end - sides[i].begin);
		block->is = SEAM_IS_LIVE;
		seam__block_insert(others, &stitched, is_behind ? block : NULL, sides[i].a_begin,
			sides[i].a_end - sides[i].a_begin, SEAM_IS_FREE);
		if (sides[i].owned != 0) {
			seam__block_insert(live, &stitched, is_behind ? others : NULL,
				is_behind ? 4 * CHUNK - 512 : CHUNK, 512, SEAM_IS_LIVE);
			stitched.live = 1;
		} else {
			seam__slab_put(&slab, live);
		}
		(void)seam__ppool_put(others, &a, 15);
		seam__ppool_settle(seam__ppool_put(block, NULL, 0));
		cr_expect_eq(stitched.owned, sides[i].owned, "%s: %u chunks", sides[i].name, stitched.owned);
		cr_expect_eq(TAILQ_EMPTY(&stitched.blocks), sides[i].owned == 0, "%s", sides[i].name);
		cr_expect_eq(ppool.of_stream[0].bytes, sides[i].a_bytes, "%s: %" PRIu64 " bytes", sides[i].name,
			ppool.of_stream[0].bytes);
		cr_expect_eq(
			ppool.any.bytes, sides[i].any_bytes, "%s: %" PRIu64 " bytes", sides[i].name, ppool.any.bytes);
	}
}

Test(ppool, collect_takes_what_has_passed)
{
	struct seam_block *first = take(fill(&a, 15), CHUNK),
			  *second = take(seam__fit_next(&ppool.of_stream[0], NULL), CHUNK);
	struct seam_block *third = take(seam__fit_next(&ppool.of_stream[0], NULL), CHUNK);
	put(first, &a, 12);
	put(third, &a, 18); /* merges with the rest, which has 15 */
	cr_expect_eq(seam__ppool_collect(&ppool, &a), 0);
	a.passed = 12;
	cr_expect_eq(seam__ppool_collect(&ppool, &a), CHUNK);
	a.passed = 15;
	cr_expect_eq(seam__ppool_collect(&ppool, &a), 0, "the newer stamp holds the merged block");
	a.passed = 18;
	cr_expect_eq(seam__ppool_collect(&ppool, &a), 2 * CHUNK);
	cr_expect_eq(ppool.any.count, 2);
	put(second, NULL, 0);
	cr_expect_eq(ppool.any.count, 1);
}

/* a's block, everybody's part of a chunk, a's block: the walk must not stumble over what merging takes away. */
Test(ppool, collect_survives_merging_with_the_next)
{
	struct seam_block *first = take(fill(&a, 15), CHUNK),
			  *gap = take(seam__fit_next(&ppool.of_stream[0], NULL), 512);
	put(first, &a, 11);
	put(gap, NULL, 0); /* joins one of them */
	a.passed = 19;
	cr_expect_eq(seam__ppool_collect(&ppool, &a), 4 * CHUNK);
	cr_expect_eq(ppool.any.count, 1);
	cr_expect_eq(ppool.of_stream[0].count, 0);
}

Test(ppool, adopt_moves_everything_of_a_stream)
{
	struct seam_block *first = take(fill(&a, 15), CHUNK);
	put(first, &b, 16);
	seam__ppool_adopt(&ppool, &a, &b, 19);
	cr_expect_eq(ppool.of_stream[0].count, 0);
	cr_expect_eq(ppool.of_stream[1].count, 1);
	const struct seam_block *all = seam__fit_next(&ppool.of_stream[1], NULL);
	cr_expect_eq(all->bytes, 4 * CHUNK);
	cr_expect_eq(all->stamp, 19);
}

Test(ppool, more_streams_keep_the_blocks)
{
	fill(&b, 15);
	cr_assert_eq(seam__ppool_reserve_streams(&ppool, meta, 100), SEAM_OK);
	cr_expect_geq(ppool.stream_capacity, 100);
	cr_expect_eq(ppool.of_stream[1].bytes, 4 * CHUNK);
	seam__meta_fail_at(meta, 1);
	cr_expect_eq(seam__ppool_reserve_streams(&ppool, meta, 1000), SEAM_OOM_META);
	cr_expect_eq(ppool.of_stream[1].bytes, 4 * CHUNK);
}

static const struct {
	const char *name;
	uint64_t from, to;
	uint64_t sides; /* how many pieces are left */
} cuts[] = {
	{"all", 0, 4 * CHUNK, 0},
	{"the front", 0, CHUNK + 512, 1},
	{"the back", CHUNK - 512, 4 * CHUNK, 1},
	{"the middle", 512, 4 * CHUNK - 512, 2},
};

/* Keeps stream and stamp on all sides, needs no more nodes than it says, and goes back as it was. */
Test(ppool, cut_takes_any_part)
{
	for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
		struct seam_block *all = fill(&a, 15);
		uint64_t reserved = slab.reserved_objects;
		struct seam_block *middle = seam__ppool_cut(all, cuts[i].from, cuts[i].to - cuts[i].from);
		cr_expect_eq(reserved - slab.reserved_objects, cuts[i].sides, "%s", cuts[i].name);
		cr_expect_eq(middle->offset, cuts[i].from, "%s", cuts[i].name);
		cr_expect_eq(middle->bytes, cuts[i].to - cuts[i].from, "%s", cuts[i].name);
		cr_expect_eq(ppool.of_stream[0].bytes, 4 * CHUNK - middle->bytes, "%s", cuts[i].name);
		cr_expect_eq(ppool.of_stream[0].count, cuts[i].sides, "%s", cuts[i].name);
		struct seam_block *piece = NULL;
		while ((piece = seam__fit_next(&ppool.of_stream[0], piece)) != NULL)
			cr_expect(piece->stream == &a && piece->stamp == 15, "%s", cuts[i].name);
		middle->is = SEAM_IS_LIVE;
		home.live++;
		const char *broken = seam__ppool_check(&ppool);
		cr_expect_null(broken, "%s: %s", cuts[i].name, broken);
		cr_expect_eq(put(middle, &a, 15)->bytes, 4 * CHUNK, "%s", cuts[i].name);
		struct seam_block *whole = seam__ppool_take(seam__fit_next(&ppool.of_stream[0], NULL), 4 * CHUNK);
		seam__block_remove(&slab, whole);
		cr_assert_eq(seam__slab_reserve(&slab, 1), SEAM_OK);
	}
	fill(&a, 15);
}
