/* test_exact_walk.c: a walk starts with some placement, lowers it round by round, and knows when it is over. */
#include <criterion/criterion.h>

#include "check.h"
#include "exact_walk.h"
#include "meta.h"
#include "random_problem.h"

#define COUNT 60

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_exact_window window;
static struct seam_exact_walk walk;
static struct seam_budget budget;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__budget_init(&budget);
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

TestSuite(exact_walk, .init = set_up, .fini = tear_down);

static void open_walk(void)
{
	cr_assert_eq(seam__exact_window_init(&window, &problem), SEAM_OK);
	cr_assert_eq(seam__exact_walk_init(&walk, &window), SEAM_OK);
}

static void check_placement(void)
{
	uint64_t offsets[COUNT];

	for (uint32_t i = 0; i < window.count; i++)
		offsets[window.items[i].number] = walk.offsets[i];
	cr_assert_null(naive_check_placement(&problem, offsets, walk.peak_bytes), "%s",
		naive_check_placement(&problem, offsets, walk.peak_bytes));
}

static void make_ring(void)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 3, 6, false, 1, 16), SEAM_OK);
	for (uint32_t i = 0; i < 3; i++)
		(void)seam__problem_add(&problem, 32, 2 * i, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	open_walk();
}

Test(exact_walk, it_ends_when_the_best_is_proved)
{
	make_ring();
	cr_assert(seam__exact_walk_begin(&walk, &budget));
	for (int round = 0; round < 10 && !seam__exact_walk_is_over(&walk, 0); round++)
		(void)seam__exact_walk_round(&walk, 0, &budget);
	cr_expect_eq(walk.peak_bytes, 96);
	cr_expect_eq(walk.low_bytes, 96, "64 and 80 are proved impossible");
	check_placement();
}

Test(exact_walk, it_is_over_at_the_target)
{
	make_ring();
	cr_assert(seam__exact_walk_begin(&walk, &budget));
	cr_expect(seam__exact_walk_is_over(&walk, 96));
	cr_expect_not(seam__exact_walk_is_over(&walk, 95));
}

Test(exact_walk, without_time_nothing_begins)
{
	make_ring();
	budget.nodes_left = 1;
	cr_expect_not(seam__exact_walk_begin(&walk, &budget));
	cr_expect_eq(walk.peak_bytes, SEAM__PEAK_NONE);
}

Test(exact_walk, rounds_only_lower_it)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = COUNT, .features = seed % 2 == 0 ? 0 : SEAM__HAS_WRAP};

		random_problem(&wish, meta, &problem);
		open_walk();
		cr_assert(seam__exact_walk_begin(&walk, &budget));
		check_placement();
		for (int round = 0; round < 5 && !seam__exact_walk_is_over(&walk, 0); round++) {
			uint64_t before_bytes = walk.peak_bytes;
			bool better = seam__exact_walk_round(&walk, 0, &budget);

			cr_expect_eq(better, walk.peak_bytes < before_bytes);
			cr_expect_leq(walk.peak_bytes, before_bytes);
			check_placement();
		}
		close_all();
	}
}
