/* test_stalloc.c: the groups of the solver "stalloc": what makes one, when two are fused, what has no phase. That its
 * answers are placements is held for every solver in test_solvers.c. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "random_problem.h"
#include "solver.h"

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_placement best;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void tear_down(void)
{
	seam__problem_fini(&problem);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(stalloc, .init = set_up, .fini = tear_down);

static void begin(uint32_t count, uint32_t circle, bool linear)
{
	cr_assert_eq(seam__problem_init(&problem, meta, count, circle, linear, 1, 1), SEAM_OK);
}

static void add(uint64_t size, uint32_t from, uint32_t span, uint32_t phase_begin, uint32_t phase_end)
{
	struct seam_item *item = seam__problem_add(&problem, size, from, span);

	item->phase_begin = phase_begin;
	item->phase_end = phase_end;
}

static uint64_t solve(const char *name)
{
	struct seam_budget budget;

	seam__budget_init(&budget);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find(name), &problem, &budget, &best), SEAM_OK);
	cr_assert_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
	return best.peak_bytes;
}

/* Two requests of equal phases keep a box of 4 + 4 to themselves, into which the later ones do not fit. */
Test(stalloc, a_group_is_one_request)
{
	begin(3, 10, true);
	add(4, 0, 4, 1, 3);
	add(4, 3, 4, 1, 3);
	add(6, 4, 3, 0, 0);
	cr_expect_eq(solve("layers"), 10); /* 6 goes above 4, behind the other 4's end */
	cr_expect_eq(solve("stalloc"), 14);
}

Test(stalloc, requests_without_a_phase_are_no_group)
{
	begin(3, 10, true);
	add(4, 0, 4, 0, 3);
	add(4, 3, 4, 0, 3);
	add(6, 4, 3, 0, 0);
	cr_expect_eq(solve("stalloc"), 10);
}

/* Figure 7: a triangle that shrinks during phase 2 and one that grows in it share a box; the packing alone would not
 * know, for a third group of the size of one box comes between. */
static void two_triangles(uint32_t phase_of_second)
{
	begin(4, 10, true);
	add(3, 0, 6, 1, 2);
	add(3, 0, 4, 1, 2);
	add(3, 4, 6, phase_of_second, 4);
	add(3, 6, 4, phase_of_second, 4);
}

Test(stalloc, groups_are_fused_where_one_ends_and_the_other_begins)
{
	two_triangles(2);
	cr_expect_eq(solve("stalloc"), 6);
}

Test(stalloc, groups_that_do_not_touch_are_not_fused)
{
	two_triangles(3);
	cr_expect_eq(solve("stalloc"), 12); /* their boxes overlap in time */
}

/* Together they would need a higher box for longer. */
Test(stalloc, groups_whose_box_would_grow_stay_apart)
{
	begin(3, 20, true);
	add(5, 0, 3, 1, 2);
	add(4, 2, 18, 2, 3);
	add(5, 3, 3, 0, 0);
	/* Fused, 5 + 4 for 20 positions would leave nothing to the last. */
	cr_expect_eq(solve("stalloc"), 9);
}

Test(stalloc, a_group_may_cross_the_end_of_the_period)
{
	begin(3, 10, false);
	add(4, 1, 4, 1, 3);
	add(4, 8, 4, 1, 3);
	add(6, 2, 3, 0, 0);
	cr_expect_eq(solve("layers"), 10);
	cr_expect_eq(solve("stalloc"), 14); /* its box reaches from 8 to 14 */
}

Test(stalloc, a_better_placement_is_kept)
{
	struct seam_budget budget;

	two_triangles(3);
	cr_assert_eq(solve("layers"), 6);
	seam__budget_init(&budget);
	cr_assert_eq(seam__solver_run(seam__solver_find("stalloc"), &problem, &budget, &best), SEAM_OK);
	cr_expect_eq(best.peak_bytes, 6);
}
