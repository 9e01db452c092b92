/* test_cells.c: when columns are in use: by the checks, which look at every position, and on small placements by hand.
 */
#include <criterion/criterion.h>

#include "cells.h"
#include "problem_fixture.h"
#include "random_problem.h"

TestSuite(cells, .init = set_up, .fini = tear_down_problem);

Test(cells, hold_their_invariants)
{
	for (uint64_t seed = 0; seed < 64; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 1 + (uint32_t)seed / 2, .features = (unsigned)seed % 16};
		struct seam__budget budget;
		struct seam__placement best;
		struct seam__cells cells;

		random_problem(&wish, meta, &problem);
		seam__budget_init(&budget);
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		cr_assert_eq(seam__solver_run(seam__solver_find("stack"), &problem, &budget, &best), SEAM_OK);
		cr_assert_eq(seam__cells_init(&cells, &problem, best.offsets, best.peak_bytes, 16), SEAM_OK);
		cr_expect_null(seam__cells_check(&cells), "seed %llu: %s", (unsigned long long)seed,
			seam__cells_check(&cells));
		seam__cells_fini(&cells);
		seam__placement_fini(&best, &problem);
		seam__problem_fini(&problem);
	}
}

static void begin(bool linear)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 4, 10, linear, 1, 1), SEAM_OK);
}

/* Columns of 8: the first item has columns 0 and 1, the others one each. */
static const uint64_t offsets[] = {0, 8, 12, 0};

static void expect_cell(const struct seam__cells *cells, uint32_t cell, uint32_t from, uint32_t to)
{
	cr_expect_eq(cells->cells[cell].begin, from, "cell %u begins at %u", cell, cells->cells[cell].begin);
	cr_expect_eq(cells->cells[cell].end, to, "cell %u ends at %u", cell, cells->cells[cell].end);
}

Test(cells, last_as_long_as_something_is_there)
{
	struct seam__cells cells;

	begin(true);
	(void)seam__problem_add(&problem, 12, 0, 3);
	(void)seam__problem_add(&problem, 4, 3, 3); /* as the first one ends */
	(void)seam__problem_add(&problem, 4, 4, 4);
	(void)seam__problem_add(&problem, 4, 5, 1);
	cr_assert_eq(seam__cells_init(&cells, &problem, offsets, 16, 8), SEAM_OK);
	cr_assert_eq(cells.first[1], 2);
	cr_assert_eq(cells.first[2], 4);
	expect_cell(&cells, 0, 0, 3);
	expect_cell(&cells, 1, 5, 6);
	expect_cell(&cells, 2, 0, 3);
	expect_cell(&cells, 3, 3, 8); /* two that overlap */
	cr_expect_eq(cells.cells[0].widest, 0);
	cr_expect_eq(cells.busiest, 2);
	seam__cells_fini(&cells);
}

Test(cells, a_circle_is_cut_where_least_is_live)
{
	struct seam__cells cells;

	begin(false);
	(void)seam__problem_add(&problem, 12, 4, 4);
	(void)seam__problem_add(&problem, 4, 8, 5); /* 8 9 0 1 2 */
	cr_assert_eq(seam__cells_init(&cells, &problem, offsets, 12, 8), SEAM_OK);
	cr_expect_eq(cells.cut, 3);
	cr_expect_eq(cells.crossing[1], 0);
	expect_cell(&cells, cells.first[1] + 1, 5, 10);
	seam__cells_fini(&cells);
}

Test(cells, what_crosses_the_cut_is_in_use_at_both_ends)
{
	struct seam__cells cells;

	begin(false);
	(void)seam__problem_add(&problem, 12, 4, 8); /* 4 ... 9 0 1 */
	(void)seam__problem_add(&problem, 4, 0, 7);
	cr_assert_eq(seam__cells_init(&cells, &problem, offsets, 12, 8), SEAM_OK);
	cr_expect_eq(cells.cut, 2); /* only the 4 is live */
	cr_expect_eq(cells.crossing[0], 0);
	cr_expect_neq(cells.crossing[1], 0);
	expect_cell(&cells, cells.first[1], 0, 10); /* together they are there all the time */
	seam__cells_fini(&cells);
}

Test(cells, columns_of_other_streams_and_fixed_items_are_pinned)
{
	struct seam__cells cells;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 10, true, 2, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 8, 0, 3);
	seam__problem_add(&problem, 4, 0, 3)->stream = 1;
	seam__problem_add(&problem, 4, 0, 3)->fixed_bytes = 16;
	cr_assert_eq(seam__cells_init(&cells, &problem, (const uint64_t[]){0, 8, 16}, 20, 8), SEAM_OK);
	cr_expect_eq(cells.pinned[0], 0);
	cr_expect_neq(cells.pinned[1], 0);
	cr_expect_neq(cells.pinned[2], 0);
	cr_expect_eq(cells.busiest, 3);
	seam__cells_fini(&cells);
}
