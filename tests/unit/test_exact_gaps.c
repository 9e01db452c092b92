/* test_exact_gaps.c: the rules of exact search on skylines small enough to see: what is raised, what is lost, what
 * falls apart, and how high the next item must stand. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_gaps.h"
#include "meta.h"

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;
static struct seam_exact_skyline skyline;
static struct seam_exact_gaps gaps;

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

TestSuite(exact_gaps, .init = set_up, .fini = tear_down);

struct row {
	uint64_t size_bytes;
	uint32_t begin;
	uint32_t span;
};

static void begin(const struct row *rows, uint32_t count, uint32_t circle, uint64_t capacity_bytes)
{
	cr_assert_eq(seam__problem_init(&problem, meta, count, circle, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < count; i++)
		(void)seam__problem_add(&problem, rows[i].size_bytes, rows[i].begin, rows[i].span);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(seam__exact_skyline_init(&skyline, &window), SEAM_OK);
	cr_assert_eq(seam__exact_gaps_init(&gaps, &skyline), SEAM_OK);
	seam__exact_gaps_reset(&gaps, capacity_bytes, SEAM__EXACT_FEWEST);
}

static bool settle(void)
{
	struct seam_exact_row whole = {0, window.sections};

	if (!seam__exact_gaps_settle(&gaps))
		return false;
	seam__exact_gaps_split(&gaps, &whole, &whole);
	return true;
}

/* The window's number of the problem's item: windows sort them. */
static uint32_t item(uint32_t number)
{
	for (uint32_t i = 0; i < window.count; i++)
		if (window.items[i].number == number)
			return i;
	cr_assert_fail("no item %u", number);
	return 0;
}

static const struct row bridge[] = {{10, 0, 2}, {4, 2, 2}, {6, 0, 4}}; /* two beside each other, one over both */

Test(exact_gaps, a_section_where_nothing_fits_is_raised_to_its_neighbour)
{
	begin(bridge, 3, 4, 20);
	cr_assert(seam__exact_skyline_place(&skyline, item(0), 0));
	cr_assert(seam__exact_skyline_place(&skyline, item(1), 0));
	cr_expect(settle());
	cr_expect_eq(skyline.sections[1].floor_bytes, 10, "from 4, since the bridge stands on 10");
	cr_assert_eq(gaps.part_count, 1);
	cr_expect_eq(gaps.parts[0].length, 2);
	cr_expect(seam__exact_fits(&skyline, &gaps.parts[0].spot, item(2)));
}

/* Up to the neighbour at 10 the second section can be filled by 4 only; 6 are lost, of which it has 4. */
Test(exact_gaps, what_cannot_be_filled_within_the_slack_is_lost)
{
	begin(bridge, 3, 4, 16);
	skyline.sections[1].slack_bytes = 5; /* as if something had been lost before */
	cr_assert(seam__exact_skyline_place(&skyline, item(0), 0));
	cr_expect_not(settle());
	skyline.sections[1].slack_bytes = 6;
	cr_expect(settle());
}

Test(exact_gaps, without_the_bridge_the_sides_are_apart)
{
	begin(bridge, 3, 4, 16);
	cr_expect(settle());
	cr_expect_eq(gaps.part_count, 1);
	cr_assert(seam__exact_skyline_place(&skyline, item(2), 0));
	cr_expect(settle());
	cr_expect_eq(gaps.part_count, 2);
	cr_assert(seam__exact_skyline_place(&skyline, item(0), 6));
	cr_expect(settle());
	cr_expect_eq(gaps.part_count, 1);
	cr_assert(seam__exact_skyline_place(&skyline, item(1), 6));
	cr_expect(settle());
	cr_expect_eq(gaps.part_count, 0, "all are placed");
}

Test(exact_gaps, the_next_level_is_the_lowest_top_beside)
{
	static const struct row rows[] = {{10, 0, 2}, {4, 2, 2}, {6, 0, 4}, {5, 2, 2}};

	begin(rows, 4, 4, 100);
	cr_assert(settle());
	struct seam_exact_spot spot = gaps.parts[0].spot;
	spot.section = window.items[item(0)].first;
	cr_expect_eq(spot.length, 2);
	cr_expect_eq(seam__exact_gaps_next_level(&gaps, &spot), 4, "the bridge on the smallest item beside it");
	spot.section = window.items[item(1)].first;
	cr_expect_eq(seam__exact_gaps_next_level(&gaps, &spot), 10);
}

/* What is kept from an earlier look must be what a new look finds. */
Test(exact_gaps, what_was_seen_before_is_seen_again)
{
	begin(bridge, 3, 4, 20);
	for (int pass = 0; pass < 3; pass++) {
		uint32_t mark = skyline.trail_count;

		cr_assert(settle());
		struct seam_exact_spot spot = gaps.parts[0].spot;
		cr_assert(seam__exact_skyline_place(&skyline, item(2), 0));
		cr_assert(settle());
		cr_expect_eq(gaps.part_count, 2);
		seam__exact_skyline_undo(&skyline, mark);
		cr_assert(settle());
		cr_expect_eq(gaps.parts[0].spot.section, spot.section);
		cr_expect_eq(gaps.parts[0].spot.length, spot.length);
	}
}
