/* test_overlap.c: which items are held during a stretch, against looking at every item position by position. */
#include "meta_fixture.h"
#include "overlap.h"
#include "random_problem.h"

#define ITEMS 40u

TestSuite(overlap, .init = set_up, .fini = tear_down);

static bool is_held(const struct seam__problem *problem, uint32_t item, uint32_t begin, uint32_t span)
{
	const struct seam__item *it = &problem->items[item];

	for (uint32_t s = 0; s < problem->streams; s++)
		for (uint32_t step = 0; step < seam__problem_hold(problem, item, s) && step < problem->circle; step++) {
			uint32_t at = it->begin + step;

			if (problem->linear && at >= problem->circle)
				break;
			if (seam__problem_distance(problem, begin, at % problem->circle) < span)
				return true;
		}
	return false;
}

static void check_stretch(struct seam__overlap *overlap, uint32_t begin, uint32_t span)
{
	const struct seam__problem *problem = overlap->problem;
	uint32_t found[ITEMS];
	uint32_t count = seam__overlap_find(overlap, begin, span, found);
	uint32_t seen[ITEMS] = {0};

	for (uint32_t n = 0; n < count; n++)
		seen[found[n]]++;
	for (uint32_t i = 0; i < problem->count; i++)
		cr_assert_eq(
			seen[i], is_held(problem, i, begin, span) ? 1u : 0u, "item %u in [%u, +%u)", i, begin, span);
}

Test(overlap, finds_what_is_held_once)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_wish wish = {.seed = seed,
			.count = seed == 0 ? 0 : ITEMS,
			.features = seed % 4 * SEAM__HAS_WRAP & SEAM__HAS_WRAP};
		struct seam__problem problem;
		struct seam__overlap overlap;
		uint64_t state = seed;

		wish.features |= seed % 2 == 0 ? SEAM__HAS_HOLDS : 0;
		random_problem(&wish, meta, &problem);
		cr_assert_eq(seam__overlap_init(&overlap, &problem), SEAM_OK);
		cr_assert_null(seam__overlap_check(&overlap));
		for (uint32_t n = 0; n < 50; n++) {
			uint32_t begin = (uint32_t)random_below(&state, problem.circle);
			uint32_t most = problem.linear ? problem.circle - begin : problem.circle;

			check_stretch(&overlap, begin, 1 + (uint32_t)random_below(&state, most));
		}
		seam__overlap_fini(&overlap);
		seam__problem_fini(&problem);
	}
}

Test(overlap, a_failed_allocation_leaves_nothing)
{
	struct random_wish wish = {.seed = 1, .count = 5};
	struct seam__problem problem;
	struct seam__overlap overlap;

	random_problem(&wish, meta, &problem);
	for (uint64_t n = 1; n <= 3; n++) {
		seam__meta_fail_at(meta, n);
		cr_expect_eq(seam__overlap_init(&overlap, &problem), SEAM_OOM_META);
	}
	seam__meta_fail_at(meta, 0);
	seam__problem_fini(&problem);
}
