/* test_border.c: where free memory of one stream touches everybody's: what is noted, and what is joined. */
#include "border.h"
#include "ppool_fixture.h"

TestSuite(border, .init = set_up, .fini = tear_down);

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
	put(all, &a, 15); /* chunk 0: a's */
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
