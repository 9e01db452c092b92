/* test_fit.c: best fit among free blocks: sizes, ties, walks, and what the check notices. */
#include <string.h>

#include <criterion/criterion.h>

#include "check.h"
#include "fit.h"

static struct seam_view first_view = {.number = 1}, second_view = {.number = 2};
static struct seam_fit fit;
/* In the order that they must have. */
static struct seam_block blocks[] = {
	{.view = &second_view, .offset = 0, .bytes = 512},
	{.view = &first_view, .offset = 1024, .bytes = 1024},
	{.view = &first_view, .offset = 8192, .bytes = 1024},
	{.view = &second_view, .offset = 512, .bytes = 1024},
	{.view = &first_view, .offset = 0, .bytes = 4096},
};
#define COUNT (sizeof blocks / sizeof blocks[0])

static void set_up(void)
{
	static const unsigned order[COUNT] = {3, 0, 4, 2, 1};
	fit = (struct seam_fit){0};
	for (size_t i = 0; i < COUNT; i++)
		seam__fit_insert(&fit, &blocks[order[i]]);
}

static void tear_down(void)
{
	SEAM_VERIFY(seam__fit_check(&fit) == NULL);
}

TestSuite(fit, .init = set_up);

Test(fit, the_walk_is_by_size_then_view_then_offset, .fini = tear_down)
{
	struct seam_block *block = NULL;
	for (size_t i = 0; i < COUNT; i++) {
		block = seam__fit_next(&fit, block);
		cr_assert_eq(block, &blocks[i], "place %zu", i);
	}
	cr_expect_null(seam__fit_next(&fit, block));
	cr_expect_eq(fit.count, COUNT);
	cr_expect_eq(fit.bytes, 512 + 3 * 1024 + 4096);
}

Test(fit, find_takes_the_smallest_that_is_enough, .fini = tear_down)
{
	static const struct {
		const char *name;
		uint64_t bytes;
		int found; /* -1: none */
	} rows[] = {
		{"anything", 1, 0},
		{"exact", 512, 0},
		{"exact, the first of equals", 1024, 1},
		{"the next", 600, 1},
		{"the largest", 2048, 4},
		{"too much", 4097, -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct seam_block *expected = rows[i].found < 0 ? NULL : &blocks[rows[i].found];
		cr_expect_eq(seam__fit_find(&fit, rows[i].bytes), expected, "row: %s", rows[i].name);
	}
}

Test(fit, behind_a_key_that_is_gone, .fini = tear_down)
{
	struct seam_block key = blocks[1];
	seam__fit_remove(&fit, &blocks[1]);
	cr_expect_eq(seam__fit_behind(&fit, &key), &blocks[2]);
	key.bytes = 4096;
	key.offset = 512;
	cr_expect_null(seam__fit_behind(&fit, &key));
	key.bytes = 1;
	cr_expect_eq(seam__fit_behind(&fit, &key), &blocks[0]);
}

Test(fit, removal_keeps_the_sums, .fini = tear_down)
{
	seam__fit_remove(&fit, &blocks[4]);
	cr_expect_eq(fit.count, COUNT - 1);
	cr_expect_eq(fit.bytes, 512 + 3 * 1024);
	cr_expect_null(seam__fit_find(&fit, 2048));
}

static void expect_broken(const char *start)
{
	const char *broken = seam__fit_check(&fit);
	cr_expect(
		broken != NULL && strncmp(broken, start, strlen(start)) == 0, "%s expected, found: %s", start, broken);
}

Test(fit, check_notices_a_block_that_is_not_free)
{
	blocks[2].is = SEAM_IS_LIVE;
	expect_broken("F1");
}

Test(fit, check_notices_a_size_that_changed_in_the_tree)
{
	blocks[1].bytes = 8192;
	expect_broken("F1");
}

Test(fit, check_notices_a_wrong_sum)
{
	fit.bytes++;
	expect_broken("F2");
}

#define CHUNK 4096u
#define SLOTS 400u

static struct seam_slot slots[SLOTS];
static struct seam_view home = {
	.number = 3, .slots = slots, .slot_count = SLOTS, .used_bytes = SLOTS * CHUNK, .least_slot_bytes = CHUNK};
static struct seam_block pieces[SLOTS / 2];

/* Every other chunk of a home view is free. */
static void insert_pieces(unsigned count)
{
	TAILQ_INIT(&home.blocks);
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = (struct seam_slot){.offset = i * CHUNK, .bytes = CHUNK};
	for (uint32_t i = 0; i < count; i++) {
		seam__block_insert(
			&pieces[i], &home, TAILQ_LAST(&home.blocks, seam_blocks), 2 * i * CHUNK, CHUNK, SEAM_IS_FREE);
		seam__fit_insert(&fit, &pieces[i]);
	}
}

Test(fit, the_newest_are_fresh_and_the_others_extents, .fini = tear_down)
{
	insert_pieces(SEAM_FIT_FRESH + 5);
	cr_expect_eq(fit.extents.count, 5, "the oldest were looked at when others wanted their places");
	cr_expect_eq(fit.extents.whole_bytes, 5 * CHUNK);
	const char *broken = seam__fit_check(&fit);
	cr_expect_null(broken, "broken: %s", broken);
	seam__fit_index(&fit);
	cr_expect_eq(fit.extents.count, SEAM_FIT_FRESH + 5);
	broken = seam__home_extents_check(&home);
	cr_expect_null(broken, "broken: %s", broken);
}

Test(fit, fresh_ones_and_extents_leave, .fini = tear_down)
{
	insert_pieces(3);
	seam__fit_look(&fit, &pieces[1]);
	seam__fit_look(&fit, &pieces[1]); /* nothing is left to look at */
	cr_expect_eq(fit.extents.count, 1);
	seam__fit_remove(&fit, &pieces[1]);
	seam__fit_remove(&fit, &pieces[2]);
	cr_expect_eq(fit.count, COUNT + 1);
	const char *broken = seam__fit_check(&fit);
	cr_expect_null(broken, "broken: %s", broken);
	seam__fit_index(&fit);
	cr_expect_eq(fit.extents.count, 1);
	cr_expect_eq(seam__extents_next(&fit.extents, NULL), &pieces[0]);
}

Test(fit, check_notices_a_fresh_block_in_another_place)
{
	insert_pieces(3);
	pieces[0].fresh++;
	expect_broken("F3");
}

Test(fit, check_notices_an_extent_that_nobody_looked_at)
{
	insert_pieces(3);
	fit.fresh[pieces[0].fresh - 1] = NULL;
	pieces[0].fresh = 0;
	expect_broken("F3");
}
