/* test_border.c: where free memory of one stream touches everybody's: what is noted, and what is joined. */
#include <criterion/criterion.h>

#include "border.h"
#include "meta.h"
#include "ppool.h"

#define CHUNK 4096u

static struct seam_meta *meta;
static struct seam_slab slab;
static struct seam_ppool ppool;
static struct seam_streams registry;
static struct seam_stream a, b;
static struct seam_chunk chunks[4];
static struct seam_mapping at_home[4], stitched_there[4];
static struct seam_slot home_slots[4], stitched_slots[4];
static struct seam_view home, stitched;

static void make_view(struct seam_view *view, struct seam_slot *slots, struct seam_mapping *mappings)
{
	TAILQ_INIT(&view->blocks);
	view->slots = slots;
	view->ppool = &ppool;
	view->slot_count = 4;
	view->used_bytes = 4 * CHUNK;
	for (uint32_t i = 0; i < 4; i++) {
		mappings[i] = (struct seam_mapping){.chunk = &chunks[i], .view = view, .slot = i};
		slots[i] = (struct seam_slot){.offset = i * CHUNK, .bytes = CHUNK, .mapping = &mappings[i]};
	}
}

/* One home view of four chunks and one stitched view that maps them too, and two streams whose work up to tick 9 has passed. */
static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__slab_init(&slab, meta, sizeof(struct seam_block));
	seam__ppool_init(&ppool, SEAM_CLASS_LARGE, 0, 0, &slab);
	cr_assert_eq(seam__ppool_reserve_streams(&ppool, meta, 2), SEAM_OK);
	registry = (struct seam_streams){.tick = 20, .count = 2};
	a = (struct seam_stream){.owner = &registry, .index = 0, .passed = 9, .last_stamp = 19};
	b = (struct seam_stream){.owner = &registry, .index = 1, .passed = 9, .last_stamp = 19};
	for (uint32_t i = 0; i < 4; i++)
		chunks[i] = (struct seam_chunk){.bytes = CHUNK, .home = &home, .home_slot = i, .owner = &home};
	home = (struct seam_view){.number = 1};
	stitched = (struct seam_view){.number = 2, .stitched = true};
	make_view(&home, home_slots, at_home);
	make_view(&stitched, stitched_slots, stitched_there);
	TAILQ_INSERT_TAIL(&ppool.homes, &home, link);
	TAILQ_INSERT_TAIL(&ppool.spool, &stitched, link);
	seam__spool_update(&ppool.idle, &stitched);
	cr_assert_eq(seam__slab_reserve(&slab, 16), SEAM_OK);
}

static void drop_blocks(struct seam_view *view)
{
	struct seam_block *block;
	while ((block = TAILQ_FIRST(&view->blocks)) != NULL)
		seam__block_remove(&slab, block);
}

static void tear_down(void)
{
	const char *broken = seam__ppool_check(&ppool);
	cr_expect_null(broken, "broken: %s", broken);
	drop_blocks(&home);
	drop_blocks(&stitched);
	cr_expect_eq(a.references + b.references, 0, "a stream is still referred to");
	TAILQ_INIT(&ppool.homes);
	TAILQ_INIT(&ppool.spool);
	seam__ppool_fini(&ppool, meta);
	seam__slab_unreserve(&slab, slab.reserved_objects);
	cr_expect_eq(seam__slab_fini(&slab), 0);
	cr_expect_eq(seam__meta_destroy(meta), 0);
}

TestSuite(border, .init = set_up, .fini = tear_down);

/* The whole home view, free for `stream` since `stamp`. */
static struct seam_block *fill(struct seam_stream *stream, uint64_t stamp)
{
	return seam__ppool_add_free(&home, seam__slab_get_reserved(&slab), 0, 4 * CHUNK, stream, stamp);
}

/* Takes from the start and makes it live. */
static struct seam_block *take(struct seam_block *block, uint64_t bytes)
{
	block = seam__ppool_take(block, bytes);
	block->is = SEAM_IS_LIVE;
	home.live++;
	return block;
}

static struct seam_block *put(struct seam_block *block, struct seam_stream *stream, uint64_t stamp)
{
	home.live--;
	return seam__ppool_put(block, stream, stamp);
}


static unsigned borders(void)
{
	unsigned count = 0;
	const struct seam_block *block;
	TAILQ_FOREACH(block, &ppool.any.borders, border)
		count++;
	return count;
}

Test(border, a_border_is_noted_from_both_sides)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	cr_expect_eq(borders(), 0);
	first = put(first, &a, 15); /* it touches everybody's three chunks */
	cr_expect_eq(borders(), 1);
	struct seam_block *rest = take(seam__fit_next(&ppool.any, NULL), CHUNK);
	cr_expect_eq(borders(), 0, "what is taken is at no border");
	put(rest, NULL, 0); /* the other way round */
	cr_expect_eq(borders(), 1);
	(void)first;
}

Test(border, a_border_behind_is_noted_too)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK), *second = take(seam__fit_next(&ppool.any, NULL), CHUNK);
	struct seam_block *rest = take(seam__fit_next(&ppool.any, NULL), 2 * CHUNK);
	put(first, NULL, 0);
	cr_expect_eq(borders(), 0);
	put(second, &a, 15);
	cr_expect_eq(borders(), 1);
	cr_expect(seam__border_join(&ppool, &a, 2 * CHUNK));
	cr_expect_eq(borders(), 0);
	put(rest, &a, 15);
}

Test(border, a_border_that_is_gone_leaves_the_list_at_the_next_search)
{
	struct seam_block *first = put(take(fill(NULL, 0), CHUNK), &a, 15);
	struct seam_block *behind = take(first, 512);
	struct seam_block *rest = take(seam__fit_next(&ppool.of_stream[0], NULL), CHUNK - 512);
	cr_expect_eq(borders(), 1, "nobody has looked");
	put(behind, &a, 15); /* the stream has some, but not there */
	cr_expect_not(seam__border_join(&ppool, &a, 4 * CHUNK));
	cr_expect_eq(borders(), 0);
	put(rest, &a, 15);
	cr_expect_eq(borders(), 1);
}

Test(border, of_two_places_the_smaller_is_joined)
{
	struct seam_block *all = take(fill(NULL, 0), CHUNK), *second = take(seam__fit_next(&ppool.any, NULL), 512);
	put(all, &a, 15);    /* chunk 0: a's */
	struct seam_block *third = take(seam__fit_next(&ppool.any, NULL), CHUNK - 512);
	put(third, NULL, 0); /* most of chunk 1: everybody's, and a part of the rest */
	cr_expect_eq(borders(), 0, "the guard keeps them apart");
	put(second, NULL, 0);
	cr_expect_eq(borders(), 1);
	cr_expect_not(seam__border_join(&ppool, &b, 2 * CHUNK));
	cr_expect(seam__border_join(&ppool, &a, 4 * CHUNK));
	cr_expect_eq(borders(), 0);
}

Test(border, join_binds_no_more_than_is_needed)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	put(first, &a, 15);
	cr_expect_not(seam__border_join(&ppool, &a, 5 * CHUNK));
	cr_expect_eq(ppool.any.bytes, 3 * CHUNK, "nothing is bound in vain");
	cr_expect_not(seam__border_join(&ppool, &b, 4 * CHUNK), "b has nothing here");
	cr_expect(seam__border_join(&ppool, &a, 4 * CHUNK));
	const struct seam_block *block = seam__fit_find(&ppool.of_stream[0], 4 * CHUNK);
	cr_assert_not_null(block);
	cr_expect_eq(block->stamp, 15);
	cr_expect_eq(ppool.any.count, 0);
}

Test(border, join_binds_nothing_to_what_has_passed)
{
	struct seam_block *first = take(fill(NULL, 0), CHUNK);
	put(first, &a, 15);
	a.passed = 15;
	cr_expect(seam__border_join(&ppool, &a, 4 * CHUNK));
	cr_expect_eq(ppool.any.bytes, 4 * CHUNK);
	cr_expect_eq(ppool.of_stream[0].count, 0);
}
