/* test_exact_skyline.c: whatever is placed and raised in any order, the sums stay true and every step can be taken
 * back. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_skyline.h"
#include "meta.h"
#include "random_problem.h"

#define COUNT 40

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

TestSuite(exact_skyline, .init = set_up, .fini = tear_down);

static void open_skyline(void)
{
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(seam__exact_skyline_init(&skyline, &window), SEAM_OK);
}

/* One floor under all sections of the item? */
static bool is_level(const struct seam_exact_item *item)
{
	uint64_t floor_bytes = skyline.sections[item->first].floor_bytes;

	for (uint32_t w = 0; w < item->width; w++) {
		const struct seam_exact_section *section =
			&skyline.sections[seam__exact_ahead(&window, item->first, w)];

		if (section->floor_bytes != floor_bytes)
			return false;
	}
	return true;
}

static void step(uint64_t *state)
{
	uint32_t i = (uint32_t)random_below(state, window.count);
	uint32_t s = (uint32_t)random_below(state, window.sections);

	if (!skyline.placed[i] && is_level(&window.items[i]))
		cr_expect(seam__exact_skyline_place(&skyline, i, skyline.sections[window.items[i].first].floor_bytes));
	else if (skyline.sections[s].rest_bytes > 0)
		(void)seam__exact_skyline_raise(
			&skyline, s, skyline.sections[s].floor_bytes + 1 + random_below(state, 40));
}

Test(exact_skyline, steps_keep_the_sums_and_can_be_undone)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		uint64_t state = seed;
		struct random_wish wish = {
			.seed = seed, .count = COUNT, .features = seed % 2 == 0 ? 0 : SEAM__HAS_WRAP};

		random_problem(&wish, meta, &problem);
		open_skyline();
		seam__exact_skyline_reset(&skyline, window.lower_bytes + 4000);
		cr_assert_null(seam__exact_skyline_check(&skyline), "%s", seam__exact_skyline_check(&skyline));
		for (int round = 0; round < 20; round++) {
			uint32_t mark = skyline.trail_count;
			uint64_t key = seam__exact_skyline_key(&skyline, 0, window.sections);

			skyline.decided = mark;
			for (int n = 0; n < 20; n++) {
				step(&state);
				cr_assert_null(seam__exact_skyline_check(&skyline), "seed %d: %s", (int)seed,
					seam__exact_skyline_check(&skyline));
			}
			cr_expect(skyline.trail_count == mark ||
				seam__exact_skyline_key(&skyline, 0, window.sections) != key);
			if (round % 2 == 0)
				continue;
			seam__exact_skyline_undo(&skyline, mark);
			cr_assert_null(seam__exact_skyline_check(&skyline), "seed %d: %s", (int)seed,
				seam__exact_skyline_check(&skyline));
			cr_expect_eq(seam__exact_skyline_key(&skyline, 0, window.sections), key, "seed %d", (int)seed);
		}
		close_all();
	}
}

/* Two items beside each other under a third: |a|b|, c over both. */
static void three(uint64_t a_bytes, uint64_t b_bytes)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 3, 4, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, a_bytes, 0, 2);
	(void)seam__problem_add(&problem, b_bytes, 2, 2);
	(void)seam__problem_add(&problem, 50, 0, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_skyline();
	cr_assert_eq(window.sections, 2);
}

Test(exact_skyline, slack_cannot_be_overdrawn)
{
	three(10, 20);
	seam__exact_skyline_reset(&skyline, 70);
	cr_expect(seam__exact_skyline_raise(&skyline, 0, 5));
	cr_expect_not(seam__exact_skyline_raise(&skyline, 1, 1), "50 and 20 fill 70");
}
