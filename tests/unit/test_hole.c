/* test_hole.c: the holes of a class, in order of address, on views made by hand. */
#include <string.h>

#include <criterion/criterion.h>

#include "hole.h"

#define CHUNK 4096u

static struct seam_ppool ppool, other;
static struct seam_view first = {.number = 1, .ppool = &ppool}, second = {.number = 2, .ppool = &ppool};
/* In the order that they must have. */
static struct seam_block blocks[] = {
	{.view = &first, .offset = 0, .bytes = CHUNK, .is = SEAM_IS_LOST},
	{.view = &first, .offset = 2 * CHUNK, .bytes = CHUNK, .is = SEAM_IS_LOST},
	{.view = &second, .offset = 0, .bytes = CHUNK, .is = SEAM_IS_LOST},
	{.view = &second, .offset = CHUNK, .bytes = CHUNK, .is = SEAM_IS_LOST},
};
#define COUNT (sizeof blocks / sizeof blocks[0])

static void set_up(void)
{
	static const unsigned order[COUNT] = {2, 1, 3, 0};
	seam__ppool_init(&ppool, SEAM_CLASS_LARGE, 0, 0, NULL);
	seam__ppool_init(&other, SEAM_CLASS_LARGE, 1, 0, NULL);
	TAILQ_INIT(&first.blocks);
	TAILQ_INIT(&second.blocks);
	TAILQ_INSERT_TAIL(&ppool.homes, &first, link);
	TAILQ_INSERT_TAIL(&ppool.homes, &second, link);
	for (size_t i = 0; i < COUNT; i++)
		TAILQ_INSERT_TAIL(&blocks[i].view->blocks, &blocks[i], link);
	for (size_t i = 0; i < COUNT; i++)
		seam__hole_make(&blocks[order[i]]);
}

TestSuite(hole, .init = set_up);

static void expect_whole(void)
{
	const char *broken = seam__holes_check(&ppool);
	cr_expect_null(broken, "broken: %s", broken);
}

static void expect_broken(void)
{
	const char *broken = seam__holes_check(&ppool);
	cr_expect(broken != NULL && strncmp(broken, "HO1", 2) == 0, "HO1 expected, found: %s", broken);
}

Test(hole, the_walk_is_by_view_and_address)
{
	struct seam_block *hole = NULL;
	for (size_t i = 0; i < COUNT; i++) {
		hole = seam__hole_next(&ppool, hole);
		cr_assert_eq(hole, &blocks[i], "place %zu", i);
		cr_expect_eq(hole->is, SEAM_IS_HOLE);
	}
	cr_expect_null(seam__hole_next(&ppool, hole));
	expect_whole();
}

Test(hole, one_that_takes_a_chunk_leaves)
{
	seam__hole_remove(&blocks[1]);
	blocks[1].is = SEAM_IS_FREE;
	cr_expect_eq(seam__hole_next(&ppool, &blocks[0]), &blocks[2]);
	expect_whole();
}

Test(hole, a_view_takes_its_holes_to_another_class)
{
	TAILQ_REMOVE(&ppool.homes, &second, link);
	seam__hole_remove(&blocks[2]);
	seam__hole_remove(&blocks[3]);
	expect_whole();
	second.ppool = &other;
	TAILQ_INSERT_TAIL(&other.homes, &second, link);
	seam__hole_insert(&blocks[2]);
	seam__hole_insert(&blocks[3]);
	cr_expect_eq(seam__hole_next(&other, NULL), &blocks[2]);
	cr_expect_null(seam__holes_check(&other));
	expect_whole();
}

Test(hole, check_notices_one_that_is_missing)
{
	seam__hole_remove(&blocks[3]);
	expect_broken();
}

Test(hole, check_notices_one_that_is_none)
{
	blocks[0].is = SEAM_IS_FREE;
	expect_broken();
}

Test(hole, check_notices_an_address_that_changed)
{
	blocks[0].offset = 4 * CHUNK;
	expect_broken();
}
