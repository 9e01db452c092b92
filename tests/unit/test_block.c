/* test_block.c: the list of blocks of a view, whole slots, and what its check notices. */
#include <string.h>

#include <criterion/criterion.h>

#include "block.h"
#include "check.h"
#include "meta.h"

static struct seam_meta *meta;
static struct seam_slab slab;
static struct seam_chunk chunks[4];
static struct seam_mapping mappings[4];
static struct seam_slot slots[4];
static struct seam_view view;

/* A home view of four chunks of 4 KiB. */
static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__slab_init(&slab, meta, sizeof(struct seam_block));
	view = (struct seam_view){.va = 0x100000, .slots = slots, .slot_count = 4, .used_bytes = 16384};
	TAILQ_INIT(&view.blocks);
	for (uint32_t i = 0; i < 4; i++) {
		chunks[i] = (struct seam_chunk){.bytes = 4096, .home = &view, .home_slot = i, .owner = &view};
		mappings[i] = (struct seam_mapping){.chunk = &chunks[i], .view = &view, .slot = i};
		slots[i] = (struct seam_slot){.offset = i * 4096, .bytes = 4096, .mapping = &mappings[i]};
	}
}

static void tear_down(void)
{
	struct seam_block *block;
	while ((block = TAILQ_FIRST(&view.blocks)) != NULL)
		seam__block_remove(&slab, block);
	SEAM_VERIFY(seam__slab_fini(&slab) == 0);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(block, .init = set_up, .fini = tear_down);

static struct seam_block *add(struct seam_block *after, uint64_t offset, uint64_t bytes, enum seam_block_is is)
{
	struct seam_block *node = seam__slab_get(&slab);
	cr_assert_not_null(node);
	seam__block_insert(node, &view, after, offset, bytes, is);
	view.live += is == SEAM_IS_LIVE || is == SEAM_IS_PENDING;
	return node;
}

static void expect_broken(const char *start)
{
	const char *broken = seam__blocks_check(&view);
	if (start == NULL)
		cr_expect_null(broken, "broken: %s", broken);
	else
		cr_expect(broken != NULL && strncmp(broken, start, strlen(start)) == 0, "%s expected, found: %s", start,
			broken);
}

Test(block, neighbours_are_those_that_touch)
{
	struct seam_block *a = add(NULL, 0, 512, SEAM_IS_LIVE), *b = add(a, 512, 512, SEAM_IS_LIVE);
	struct seam_block *c = add(b, 2048, 512, SEAM_IS_LIVE);
	cr_expect_eq(b->va, view.va + 512);
	cr_expect_null(seam__block_before(a));
	cr_expect_eq(seam__block_before(b), a);
	cr_expect_eq(seam__block_after(a), b);
	cr_expect_null(seam__block_after(b), "there is a gap");
	cr_expect_null(seam__block_before(c));
	cr_expect_null(seam__block_after(c));
}

Test(block, whole_slots)
{
	static const struct {
		const char *name;
		uint64_t offset, bytes;
		uint32_t first, count;
	} rows[] = {
		{"everything", 0, 16384, 0, 4},
		{"one", 4096, 4096, 1, 1},
		{"less than one", 4096, 3584, 1, 0},
		{"the middle of two", 2048, 4096, 1, 0},
		{"one and both its neighbours in part", 3584, 5120, 1, 1},
		{"from the middle to the end", 6144, 10240, 2, 2},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		uint32_t first = 99;
		struct seam_block block = {.view = &view, .offset = rows[i].offset, .bytes = rows[i].bytes};
		uint32_t count = seam__block_whole_slots(&block, &first);
		cr_expect_eq(count, rows[i].count, "row: %s", rows[i].name);
		cr_expect(count == 0 || first == rows[i].first, "row: %s", rows[i].name);
		cr_expect_eq(seam__block_has_whole_slot(&block), count != 0, "row: %s", rows[i].name);
	}
}

Test(block, check_accepts_a_home_view)
{
	struct seam_block *a = add(NULL, 0, 4096, SEAM_IS_LIVE), *lost = add(a, 4096, 4096, SEAM_IS_LOST);
	struct seam_view other = {.stitched = true};
	lost->chunk = &chunks[1];
	chunks[1].lent = lost;
	chunks[1].owner = &other;
	struct seam_block *hole = add(lost, 8192, 4096, SEAM_IS_HOLE);
	slots[2].mapping = NULL;
	add(hole, 12288, 4096, SEAM_IS_FREE);
	expect_broken(NULL);
}

Test(block, check_notices_an_overlap)
{
	struct seam_block *a = add(NULL, 0, 8192, SEAM_IS_LIVE);
	add(a, 4096, 12288, SEAM_IS_LIVE);
	expect_broken("B1");
}

Test(block, check_notices_a_gap)
{
	struct seam_block *a = add(NULL, 0, 4096, SEAM_IS_LIVE);
	add(a, 8192, 8192, SEAM_IS_LIVE);
	expect_broken("B2");
}

Test(block, check_notices_an_end_that_is_not_the_views)
{
	add(NULL, 0, 4096, SEAM_IS_LIVE);
	expect_broken("B2");
}

Test(block, check_notices_neighbours_that_should_be_one)
{
	struct seam_block *a = add(NULL, 0, 4096, SEAM_IS_FREE);
	add(a, 4096, 12288, SEAM_IS_FREE);
	expect_broken("B3");
}

Test(block, check_notices_a_hole_with_a_chunk)
{
	struct seam_block *hole = add(NULL, 0, 4096, SEAM_IS_HOLE);
	add(hole, 4096, 12288, SEAM_IS_LIVE);
	expect_broken("B4");
}

Test(block, check_notices_a_lost_chunk_that_is_here)
{
	struct seam_block *lost = add(NULL, 0, 4096, SEAM_IS_LOST);
	lost->chunk = &chunks[0];
	chunks[0].lent = lost;
	add(lost, 4096, 12288, SEAM_IS_LIVE);
	expect_broken("B4");
}

Test(block, check_notices_a_wrong_count)
{
	add(NULL, 0, 16384, SEAM_IS_LIVE);
	view.live = 2;
	expect_broken("B5");
}

/* A view of four chunks, with LEASED blocks in the second. */
static struct seam_block *add_leases(struct seam_view *arena)
{
	struct seam_block *a = add(NULL, 0, 4096, SEAM_IS_LIVE), *first = add(a, 4096, 1024, SEAM_IS_LEASED);
	struct seam_block *between = add(first, 5120, 512, SEAM_IS_LIVE),
			  *second = add(between, 5632, 2560, SEAM_IS_LEASED);
	add(second, 8192, 8192, SEAM_IS_LIVE);
	first->lessee = second->lessee = arena;
	chunks[1].leased = first;
	return first;
}

Test(block, check_accepts_leased_blocks)
{
	struct seam_view arena = {.arena = true};
	add_leases(&arena);
	expect_broken(NULL);
}

Test(block, check_notices_leased_blocks_that_are_wrong)
{
	struct seam_view arena = {.arena = true}, other = {.arena = true};
	struct seam_block *first = add_leases(&arena), *between = TAILQ_NEXT(first, link);
	chunks[1].leased = NULL;
	expect_broken("B6");
	chunks[1].leased = first;
	first->lessee = &other;
	expect_broken("B6");
	first->lessee = NULL;
	expect_broken("B6");
	first->lessee = &arena;
	expect_broken(NULL);
	between->is = SEAM_IS_LEASED;
	between->lessee = &arena;
	view.live--;
	expect_broken("B6"); /* should be one */
}

Test(block, check_notices_a_leased_block_over_two_chunks)
{
	struct seam_view arena = {.arena = true};
	struct seam_block *block = add(NULL, 0, 8192, SEAM_IS_LEASED);
	block->lessee = &arena;
	chunks[0].leased = block;
	add(block, 8192, 8192, SEAM_IS_LIVE);
	expect_broken("B6");
}

Test(block, check_of_a_stitched_view_wants_its_chunks_covered)
{
	struct seam_view home = {0};
	view.stitched = true;
	view.owned = 2;
	chunks[2].owner = chunks[3].owner = &home;
	add(NULL, 0, 8192, SEAM_IS_LIVE);
	expect_broken(NULL);
	chunks[2].owner = &view;
	view.owned = 3;
	expect_broken("B2");
	chunks[2].owner = chunks[1].owner = &home;
	view.owned = 1;
	expect_broken("B2");
}
