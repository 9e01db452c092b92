/* test_exact_fit.c: a gap among three towers: how far it reaches, and what fits. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_fit.h"
#include "meta.h"

#define COUNT 6

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;
static struct seam_exact_skyline skyline;

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

TestSuite(exact_fit, .init = set_up, .fini = tear_down);

static uint32_t item(uint32_t number)
{
	for (uint32_t i = 0; i < window.count; i++)
		if (window.items[i].number == number)
			return i;
	cr_assert_fail("no item %u", number);
	return 0;
}

/* Towers of 10 and 20 at both ends, a free middle; 2 fits in the middle, 3 and 4 reach over a tower, 5 over both. */
static void build(void)
{
	static const struct {
		uint64_t size_bytes;
		uint32_t begin;
		uint32_t span;
	} rows[COUNT] = {{10, 0, 2}, {20, 4, 2}, {5, 2, 2}, {5, 0, 4}, {5, 2, 4}, {5, 0, 6}};

	cr_assert_eq(seam__problem_init(&problem, meta, COUNT, 6, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < COUNT; i++)
		(void)seam__problem_add(&problem, rows[i].size_bytes, rows[i].begin, rows[i].span);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(window.sections, 3);
	cr_assert_eq(seam__exact_skyline_init(&skyline, &window), SEAM_OK);
	seam__exact_skyline_reset(&skyline, 100);
	cr_assert(seam__exact_skyline_place(&skyline, item(0), 0));
	cr_assert(seam__exact_skyline_place(&skyline, item(1), 0));
}

Test(exact_fit, a_gap_reaches_to_its_neighbours)
{
	build();
	struct seam_exact_spot gap = seam__exact_row_of(&skyline, 1);
	cr_expect_eq(gap.first, 1);
	cr_expect_eq(gap.length, 1);
	cr_expect_eq(gap.left_bytes, 10);
	cr_expect_eq(gap.right_bytes, 20);
	cr_expect_eq(seam__exact_lower_side(&gap), 10);
	cr_expect_eq(seam__exact_row_of(&skyline, 0).left_bytes, SEAM__EXACT_OPEN);
}

Test(exact_fit, what_reaches_over_a_neighbour_does_not_fit)
{
	build();
	struct seam_exact_spot gap = seam__exact_row_of(&skyline, 1);
	cr_expect(seam__exact_fits(&skyline, &gap, item(2)));
	cr_expect_not(seam__exact_fits(&skyline, &gap, item(3)));
	cr_expect_not(seam__exact_fits(&skyline, &gap, item(0)), "it is placed");
}
