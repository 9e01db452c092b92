/* test_exact_holes.c: a raise is refused exactly if an unplaced item fits into holes, and to know that little is looked
 * at. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_skyline.h"
#include "meta.h"
#include "random_problem.h"

#define COUNT 40
#define SHORT 200
#define LONG 20

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;
static struct seam_exact_skyline skyline;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void close_all(void)
{
	seam__problem_fini(&problem);
}

static void tear_down(void)
{
	close_all();
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(exact_holes, .init = set_up, .fini = tear_down);

/* Nothing is lost for want of slack. */
static void open_skyline(void)
{
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(seam__exact_skyline_init(&skyline, &window), SEAM_OK);
	seam__exact_skyline_reset(&skyline, UINT64_C(1) << 40, true);
}

/* Every unplaced item, every one of its sections. */
static bool something_fits(void)
{
	for (uint32_t i = 0; i < window.count; i++) {
		uint64_t bottom = 0;
		uint64_t top = UINT64_MAX;

		for (uint32_t w = 0; w < window.items[i].width; w++) {
			const struct seam_exact_section *section =
				&skyline.sections[seam__exact_ahead(&window, window.items[i].first, w)];

			bottom = section->hole_bottom_bytes > bottom ? section->hole_bottom_bytes : bottom;
			top = section->hole_top_bytes < top ? section->hole_top_bytes : top;
		}
		if (!skyline.placed[i] && bottom + window.items[i].size_bytes <= top)
			return true;
	}
	return false;
}

static bool is_level(const struct seam_exact_item *item)
{
	for (uint32_t w = 0; w < item->width; w++) {
		const struct seam_exact_section *section =
			&skyline.sections[seam__exact_ahead(&window, item->first, w)];

		if (section->floor_bytes != skyline.sections[item->first].floor_bytes)
			return false;
	}
	return true;
}

/* Raises a section to the floor of one near it, or a little; takes that back if it is refused, and returns whether it
 * was. */
static bool raise_one(uint64_t *state, uint32_t s)
{
	uint32_t mark = skyline.trail_count;
	uint64_t floor_bytes = skyline.sections[s].floor_bytes;
	uint64_t other_bytes =
		skyline.sections[seam__exact_ahead(&window, s, 1 + (uint32_t)random_below(state, 2))].floor_bytes;
	uint64_t level_bytes = other_bytes > floor_bytes ? other_bytes : floor_bytes + 1 + random_below(state, 200);
	bool raised;

	skyline.decided = mark;
	raised = seam__exact_skyline_raise(&skyline, s, level_bytes);
	cr_assert_neq(raised, something_fits());
	if (!raised)
		seam__exact_skyline_undo(&skyline, mark);
	cr_assert_not(something_fits());
	return !raised;
}

Test(exact_holes, a_raise_is_refused_exactly_if_something_fits)
{
	uint32_t refused = 0;
	uint32_t raised = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		uint64_t state = seed;
		struct random_wish wish = {
			.seed = seed, .count = COUNT, .features = seed % 2 == 0 ? 0 : SEAM__HAS_WRAP, .sizes = 5};

		random_problem(&wish, meta, &problem);
		open_skyline();
		for (int round = 0; round < 200; round++) {
			uint32_t i = (uint32_t)random_below(&state, window.count);
			uint32_t s = (uint32_t)random_below(&state, window.sections);

			if (!skyline.placed[i] && is_level(&window.items[i]))
				cr_assert(seam__exact_skyline_place(
					&skyline, i, skyline.sections[window.items[i].first].floor_bytes));
			else if (window.sections > 1 && raise_one(&state, s))
				refused++;
			else
				raised++;
		}
		close_all();
	}
	cr_expect_gt(refused, 1000);
	cr_expect_gt(raised, 1000);
}

/* A row of short items that stand already, and long ones over all of them: holes open in all sections but the last,
 * twice. */
Test(exact_holes, what_is_looked_at_does_not_grow_with_how_long_items_are)
{
	cr_assert_eq(seam__problem_init(&problem, meta, SHORT + LONG, 2 * SHORT, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < SHORT; i++)
		(void)seam__problem_add(&problem, 10, 2 * i, 2);
	for (uint32_t i = 0; i < LONG; i++)
		(void)seam__problem_add(&problem, 8, 0, 2 * SHORT);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_skyline();
	cr_assert_eq(window.sections, SHORT);
	for (uint32_t i = 0; i < window.count; i++)
		if (window.items[i].width == 1)
			cr_assert(seam__exact_skyline_place(&skyline, i, 0));
	for (uint64_t level_bytes = 20; level_bytes <= 40; level_bytes += 20)
		for (uint32_t s = 0; s < SHORT - 1; s++)
			cr_assert(seam__exact_skyline_raise(&skyline, s, level_bytes));
	cr_expect_leq(skyline.holes.looks, 2 * 2 * SHORT, "the section ahead, and the one item that ends there");
	cr_expect_not(seam__exact_skyline_raise(&skyline, SHORT - 1, 20), "now the long ones fit");
}
