/* test_exact_window.c: a window keeps what matters of a problem: items share a section exactly if they live together.
 */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_window.h"
#include "meta.h"
#include "random_problem.h"

#define COUNT 30

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;

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

TestSuite(exact_window, .init = set_up, .fini = tear_down);

static void make(uint64_t seed, unsigned features)
{
	struct random_wish wish = {.seed = seed, .count = COUNT, .features = features, .align_bytes = 16};

	random_problem(&wish, meta, &problem);
}

static void open_window(void)
{
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_null(seam__exact_window_check(&window), "%s", seam__exact_window_check(&window));
}

static bool share_section(const struct seam_exact_item *a, const struct seam_exact_item *b)
{
	return seam__exact_distance(&window, a->first, b->first) < a->width ||
		seam__exact_distance(&window, b->first, a->first) < b->width;
}

Test(exact_window, items_share_a_section_if_they_live_together)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		make(seed, seed % 2 == 0 ? 0 : SEAM__HAS_WRAP);
		open_window();
		cr_expect_eq(window.lower_bytes, problem.lower_bytes, "seed %d", (int)seed);
		cr_expect_eq(window.unit_bytes % 16, 0);
		for (uint32_t i = 0; i < window.count; i++)
			for (uint32_t j = 0; j < i; j++)
				cr_expect_eq(share_section(&window.items[i], &window.items[j]),
					seam__problem_conflict(
						&problem, window.items[i].number, window.items[j].number),
					"seed %d: %u and %u", (int)seed, i, j);
		seam__problem_fini(&problem);
	}
}

Test(exact_window, items_that_conflict_through_holds_share_a_section)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		make(seed, SEAM__HAS_HOLDS | SEAM__HAS_WRAP);
		open_window();
		for (uint32_t i = 0; i < window.count; i++)
			for (uint32_t j = 0; j < i; j++)
				cr_expect(share_section(&window.items[i], &window.items[j]) ||
					!seam__problem_conflict(
						&problem, window.items[i].number, window.items[j].number));
		seam__problem_fini(&problem);
	}
}

Test(exact_window, sections_that_others_contain_are_left_out)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 3, 10, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 1, 0, 8);
	(void)seam__problem_add(&problem, 1, 2, 4);
	(void)seam__problem_add(&problem, 1, 3, 2);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_window();
	cr_expect_eq(window.sections, 1);
}
