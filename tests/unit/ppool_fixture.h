/* ppool_fixture.h: free memory on two views made by hand, and two streams, for the tests of pools/.
 *
 * Chunks are 4 KiB, so that examples can be worked by hand. One program is one test suite: everything is static.
 */
#ifndef SEAM_TESTS_PPOOL_FIXTURE_H
#define SEAM_TESTS_PPOOL_FIXTURE_H

#include <criterion/criterion.h>

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

static inline void make_view(struct seam_view *view, struct seam_slot *slots, struct seam_mapping *mappings)
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

/* One home view of four chunks and one stitched view that maps them too, and two streams whose work up to tick 9 has
 * passed. */
static inline void set_up(void)
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

static inline void drop_blocks(struct seam_view *view)
{
	struct seam_block *block;
	while ((block = TAILQ_FIRST(&view->blocks)) != NULL)
		seam__block_remove(&slab, block);
}

static inline void tear_down(void)
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

/* The whole home view, free for `stream` since `stamp`. */
static inline struct seam_block *fill(struct seam_stream *stream, uint64_t stamp)
{
	return seam__ppool_add_free(&home, seam__slab_get_reserved(&slab), 0, 4 * CHUNK, stream, stamp);
}

/* Takes from the start and makes it live. */
static inline struct seam_block *take(struct seam_block *block, uint64_t bytes)
{
	block = seam__ppool_take(block, bytes);
	block->is = SEAM_IS_LIVE;
	home.live++;
	return block;
}

static inline struct seam_block *put(struct seam_block *block, struct seam_stream *stream, uint64_t stamp)
{
	home.live--;
	return seam__ppool_put(block, stream, stamp);
}

#endif
