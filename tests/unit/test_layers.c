/* test_layers.c: rectangles in memory layers: none overlap, on lines and circles; equal sizes need no more layers than
 * are live at once; idle windows of larger sizes are filled; what stops a packing. */
#include <criterion/criterion.h>

#include "check.h"
#include "layers.h"
#include "meta.h"
#include "random_problem.h"

#define RECTS_MAX 80u

static struct seam_meta *meta;
static struct seam_budget budget;
static struct seam_rect rects[RECTS_MAX];
static uint32_t count;
static struct seam_axis axis;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__budget_init(&budget);
	count = 0;
}

static void tear_down(void)
{
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(layers, .init = set_up, .fini = tear_down);

static void add(uint64_t size_bytes, uint32_t begin, uint32_t span)
{
	cr_assert_lt(count, RECTS_MAX);
	rects[count++] = (struct seam_rect){.size_bytes = size_bytes, .begin = begin, .span = span};
}

static uint64_t pack(void)
{
	uint64_t height = 0;
	bool whole = false;

	cr_assert_eq(seam__layers_pack(meta, &budget, &axis, rects, count, UINT64_MAX, &height, &whole), SEAM_OK);
	cr_assert(whole);
	return height;
}

static bool is_live(const struct seam_rect *rect, uint32_t position)
{
	for (uint32_t step = 0; step < rect->span; step++)
		if ((rect->begin + step) % axis.circle == position)
			return true;
	return false;
}

static uint64_t max_live(void)
{
	uint64_t most = 0;

	for (uint32_t t = 0; t < axis.circle; t++) {
		uint64_t live = 0;

		for (uint32_t i = 0; i < count; i++)
			live += is_live(&rects[i], t) ? rects[i].size_bytes : 0;
		most = live > most ? live : most;
	}
	return most;
}

static void expect_apart(uint64_t height, uint64_t seed)
{
	for (uint32_t t = 0; t < axis.circle; t++) {
		for (uint32_t i = 0; i < count; i++) {
			cr_expect_leq(rects[i].offset_bytes + rects[i].size_bytes, height, "seed %llu",
				(unsigned long long)seed);
			for (uint32_t j = 0; j < i; j++)
				cr_assert(!is_live(&rects[i], t) || !is_live(&rects[j], t) ||
						rects[i].offset_bytes >= rects[j].offset_bytes + rects[j].size_bytes ||
						rects[j].offset_bytes >= rects[i].offset_bytes + rects[i].size_bytes,
					"seed %llu: %u and %u overlap at %u", (unsigned long long)seed, i, j, t);
		}
	}
}

static void random_rects(uint64_t seed, uint64_t sizes)
{
	uint64_t state = seed;

	axis = (struct seam_axis){.circle = 20 + (uint32_t)random_below(&state, 100), .linear = seed % 2 == 0};
	count = 0;
	for (uint32_t n = 1 + (uint32_t)random_below(&state, RECTS_MAX); n > 0; n--) {
		uint32_t begin = (uint32_t)random_below(&state, axis.circle);
		uint32_t most = axis.linear ? axis.circle - begin : axis.circle;

		add(1 + 5 * random_below(&state, sizes), begin, 1 + (uint32_t)random_below(&state, most));
	}
}

Test(layers, none_overlap)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		random_rects(seed, seed % 3 == 0 ? 3 : 40);
		uint64_t height = pack();

		expect_apart(height, seed);
		cr_expect_geq(height, max_live(), "seed %llu", (unsigned long long)seed);
	}
}

Test(layers, equal_sizes_on_a_line_need_no_more_than_is_live)
{
	for (uint64_t seed = 0; seed < 100; seed += 2) {
		random_rects(seed, 1);
		cr_expect_eq(pack(), max_live(), "seed %llu", (unsigned long long)seed);
	}
}

/* Algorithm 1: the layer that ended last, so that the one that ended first is left for what begins earlier elsewhere.
 */
Test(layers, the_layer_that_ended_last_is_continued)
{
	axis = (struct seam_axis){.circle = 10, .linear = true};
	add(4, 0, 2);
	add(4, 0, 5);
	add(4, 6, 2);
	cr_expect_eq(pack(), 8);
	cr_expect_eq(rects[2].offset_bytes, rects[1].offset_bytes);
}

Test(layers, smaller_sizes_fill_the_idle_windows_of_larger_ones)
{
	axis = (struct seam_axis){.circle = 10, .linear = true};
	add(8, 2, 4);
	add(5, 0, 2); /* before */
	add(5, 6, 4); /* behind, in the same layer of 5 */
	add(3, 0, 2); /* the rest of 8 - 5 */
	add(3, 7, 3);
	cr_expect_eq(pack(), 8);
}

Test(layers, a_window_reaches_across_the_end_of_a_circle)
{
	axis = (struct seam_axis){.circle = 10, .linear = false};
	add(8, 3, 4);
	add(8, 7, 6); /* 7 8 9 0 1 2 */
	cr_expect_eq(pack(), 8);
	add(8, 2, 1);
	cr_expect_eq(pack(), 16);
	count = 1;
	add(8, 1, 2); /* in the window from 7 to 13, one turn later */
	cr_expect_eq(pack(), 8);
}

Test(layers, what_lives_all_around_leaves_nothing)
{
	axis = (struct seam_axis){.circle = 4, .linear = false};
	add(2, 1, 4);
	add(2, 3, 4);
	add(2, 0, 1);
	cr_expect_eq(pack(), 6);
}

Test(layers, a_packing_stops_at_the_height_that_would_not_help)
{
	uint64_t height;
	bool whole = true;

	axis = (struct seam_axis){.circle = 4, .linear = true};
	add(6, 0, 2);
	add(5, 1, 2);
	cr_assert_eq(seam__layers_pack(meta, &budget, &axis, rects, count, 11, &height, &whole), SEAM_OK);
	cr_expect_not(whole);
	cr_assert_eq(seam__layers_pack(meta, &budget, &axis, rects, count, 12, &height, &whole), SEAM_OK);
	cr_expect(whole);
	cr_expect_eq(height, 11);
}

Test(layers, a_spent_budget_stops_a_packing)
{
	uint64_t height;
	bool whole = true;

	axis = (struct seam_axis){.circle = 4, .linear = true};
	add(6, 0, 2);
	add(5, 1, 2);
	budget.nodes_left = 1;
	cr_assert_eq(seam__layers_pack(meta, &budget, &axis, rects, count, UINT64_MAX, &height, &whole), SEAM_OK);
	cr_expect_not(whole);
}

Test(layers, nothing_has_no_height)
{
	axis = (struct seam_axis){.circle = 4, .linear = true};
	cr_expect_eq(pack(), 0);
}

Test(layers, a_failed_allocation_leaves_nothing)
{
	uint64_t height = 7;
	bool whole;

	axis = (struct seam_axis){.circle = 4, .linear = true};
	add(6, 0, 2);
	for (uint64_t n = 1; n <= 3; n++) {
		seam__meta_fail_at(meta, n);
		cr_expect_eq(seam__layers_pack(meta, &budget, &axis, rects, count, UINT64_MAX, &height, &whole),
			SEAM_OOM_META, "allocation %llu", (unsigned long long)n);
		cr_expect_eq(height, 7);
	}
	seam__meta_fail_at(meta, 0);
}
