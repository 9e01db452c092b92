/* test_layers.c: items in memory layers: none overlap, on lines and circles; equal sizes need no more layers than are
 * live at once; idle windows of larger sizes are filled; what stops the solver. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "random_problem.h"
#include "rc_assert.h"
#include "solver.h"

#define ITEMS_MAX 80u

static struct seam_meta *meta;
static struct seam_budget budget;
static struct seam_problem problem;
static struct seam_placement best;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__budget_init(&budget);
}

static void tear_down(void)
{
	seam__problem_fini(&problem);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(layers, .init = set_up, .fini = tear_down);

static void begin(uint32_t circle, bool linear)
{
	seam__problem_fini(&problem);
	cr_assert_ok(seam__problem_init(&problem, meta, ITEMS_MAX, circle, linear, 1, 1));
}

static void add(uint64_t size_bytes, uint32_t from, uint32_t span)
{
	(void)seam__problem_add(&problem, size_bytes, from, span);
}

static enum seam_rc solve(void)
{
	return seam__solver_run(seam__solver_find("layers"), &problem, &budget, &best);
}

static uint64_t pack(void)
{
	cr_assert_ok(seam__problem_finish(&problem));
	cr_assert_ok(seam__placement_init(&best, &problem));
	cr_assert_ok(solve());
	cr_assert_neq(best.peak_bytes, SEAM__PEAK_NONE);
	cr_assert_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
	return best.peak_bytes;
}

static void random_items(uint64_t seed, uint64_t sizes)
{
	uint64_t state = seed;

	begin(20 + (uint32_t)random_below(&state, 100), seed % 2 == 0);
	for (uint32_t n = 1 + (uint32_t)random_below(&state, ITEMS_MAX); n > 0; n--) {
		uint32_t from = (uint32_t)random_below(&state, problem.circle);
		uint32_t most = problem.linear ? problem.circle - from : problem.circle;

		add(1 + 5 * random_below(&state, sizes), from, 1 + (uint32_t)random_below(&state, most));
	}
}

Test(layers, none_overlap)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		random_items(seed, seed % 3 == 0 ? 3 : 40);
		(void)pack();
	}
}

Test(layers, equal_sizes_on_a_line_need_no_more_than_is_live)
{
	for (uint64_t seed = 0; seed < 100; seed += 2) {
		random_items(seed, 1);
		cr_expect_eq(pack(), problem.lower_bytes, "seed %llu", (unsigned long long)seed);
	}
}

/* Algorithm 1: the layer that ended last, so that the one that ended first is left for what begins earlier elsewhere.
 */
Test(layers, the_layer_that_ended_last_is_continued)
{
	begin(10, true);
	add(4, 0, 2);
	add(4, 0, 5);
	add(4, 6, 2);
	cr_expect_eq(pack(), 8);
	cr_expect_eq(best.offsets[2], best.offsets[1]);
}

Test(layers, smaller_sizes_fill_the_idle_windows_of_larger_ones)
{
	begin(10, true);
	add(8, 2, 4);
	add(5, 0, 2); /* before */
	add(5, 6, 4); /* behind, in the same layer of 5 */
	add(3, 0, 2); /* the rest of 8 - 5 */
	add(3, 7, 3);
	cr_expect_eq(pack(), 8);
}

Test(layers, a_window_reaches_across_the_end_of_a_circle)
{
	begin(10, false);
	add(8, 3, 4);
	add(8, 7, 6); /* 7 8 9 0 1 2 */
	cr_expect_eq(pack(), 8);
	add(8, 2, 1);
	cr_expect_eq(pack(), 16);
	begin(10, false);
	add(8, 3, 4);
	add(8, 1, 2); /* in the window from 7 to 13, one turn later */
	cr_expect_eq(pack(), 8);
}

Test(layers, what_lives_all_around_leaves_nothing)
{
	begin(4, false);
	add(2, 1, 4);
	add(2, 3, 4);
	add(2, 0, 1);
	cr_expect_eq(pack(), 6);
}

Test(layers, a_better_placement_is_kept)
{
	static const uint64_t better[] = {11, 12};

	for (size_t i = 0; i < 2; i++) {
		begin(4, true);
		add(6, 0, 2);
		add(5, 1, 2);
		cr_assert_ok(seam__placement_init(&best, &problem));
		best.peak_bytes = better[i];
		cr_assert_ok(solve());
		cr_expect_eq(best.peak_bytes, 11);
		cr_expect_eq(best.offsets[1], i == 0 ? 0 : 6, "touched only where it became better");
	}
}

Test(layers, a_spent_budget_leaves_no_placement)
{
	begin(4, true);
	add(6, 0, 2);
	add(5, 1, 2);
	cr_assert_ok(seam__placement_init(&best, &problem));
	budget.nodes_left = 1;
	cr_assert_ok(solve());
	cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE);
}

Test(layers, a_failed_allocation_leaves_nothing)
{
	begin(4, true);
	add(6, 0, 2);
	cr_assert_ok(seam__placement_init(&best, &problem));
	for (uint64_t n = 1; n <= 4; n++) {
		seam__meta_fail_at(meta, n);
		cr_expect_eq(solve(), SEAM_OOM_META, "allocation %llu", (unsigned long long)n);
		cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE);
	}
	seam__meta_fail_at(meta, 0);
	cr_assert_ok(solve());
	cr_expect_eq(best.peak_bytes, 6);
}
