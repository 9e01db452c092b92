/* test_placer.c: chains are placed whole, fixed items stand from the start, and what has no room is said. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "placer.h"

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_budget budget;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__budget_init(&budget);
	cr_assert_eq(seam__problem_init(&problem, meta, 8, 10, true, 1, 1), SEAM_OK);
}

static void tear_down(void)
{
	seam__problem_fini(&problem);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(placer, .init = set_up, .fini = tear_down);

Test(placer, chains_go_where_all_of_them_fit)
{
	struct seam_placer placer;

	seam__problem_add(&problem, 10, 0, 10)->fixed_bytes = 20; /* [20, 30) */
	seam__problem_add(&problem, 5, 0, 5)->next = 2;
	seam__problem_add(&problem, 20, 3, 5);
	seam__problem_add(&problem, 5, 0, 10);
	cr_assert_eq(seam__placer_init(&placer, &problem), SEAM_OK);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(seam__placer_start(&placer), SEAM_OK);
		cr_expect_eq(placer.made.offsets[0], 20, "the fixed one");
		cr_expect_eq(seam__placer_drop(&placer, 1, 54, &budget), SEAM_NOT_FOUND, "25 bytes above 30");
		cr_expect_eq(seam__placer_drop(&placer, 1, 55, &budget), SEAM_OK);
		cr_expect_eq(placer.made.offsets[1], 30);
		cr_expect_eq(placer.made.offsets[2], 35);
		cr_expect_eq(seam__placer_drop(&placer, 3, 100, &budget), SEAM_OK);
		cr_expect_eq(placer.made.offsets[3], 0, "below the fixed one, not above all");
	}
}

Test(placer, a_spent_budget_is_seen)
{
	struct seam_placer placer;

	seam__problem_add(&problem, 10, 0, 10);
	cr_assert_eq(seam__placer_init(&placer, &problem), SEAM_OK);
	cr_assert_eq(seam__placer_start(&placer), SEAM_OK);
	budget.nodes_left = 0;
	cr_expect_eq(seam__placer_drop(&placer, 0, 100, &budget), SEAM_NOT_FOUND);
	cr_expect(budget.spent);
}
