/* test_somas.c: Single Object and Many Objects: the papers' example, and what each may not lose against its own limits.
 * That their answers are placements at all is shown for every solver by test_solvers.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "problem_fixture.h"
#include "random_problem.h"
#include "solver.h"

TestSuite(somas, .init = set_up, .fini = tear_down_problem);

static uint64_t peak_of(const char *name, uint64_t *ret_offsets)
{
	struct seam__budget budget;
	struct seam__placement best;

	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find(name), &problem, &budget, &best), SEAM_OK, "%s", name);
	uint64_t peak = best.peak_bytes;
	cr_assert_null(seam__problem_check_placement(&problem, best.offsets, peak), "%s", name);
	for (uint32_t i = 0; ret_offsets != NULL && i < problem.count; i++)
		ret_offsets[i] = best.offsets[i];
	seam__placement_fini(&best, &problem);
	return peak;
}

/* SOMAS, appendix E: figures 7 to 9. */
Test(somas, many_objects_beats_single_object_on_the_toy)
{
	static const uint32_t lives[5][2] = {{0, 1}, {3, 4}, {1, 2}, {4, 5}, {2, 4}}; /* A to E, both ends included */
	static const uint64_t sizes[5] = {1024, 768, 640, 512, 256};
	uint64_t offsets[5];

	cr_assert_eq(seam__problem_init(&problem, meta, 5, 6, true, 1, 1), SEAM_OK);
	for (int i = 0; i < 5; i++)
		(void)seam__problem_add(&problem, sizes[i], lives[i][0], lives[i][1] - lives[i][0] + 1);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(peak_of("so-size-first", NULL), 1920);
	cr_expect_eq(peak_of("mo-size-first", offsets), 1664);
	cr_expect_eq(offsets[3], 1024, "D spans the second object");
	cr_expect_eq(offsets[4], 768, "E stands between B and D");
}

/* One stream, all begin together: nothing can share, and nothing is wasted. */
Test(somas, what_lives_together_is_stacked_without_a_hole)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 6, 2, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 6; i++)
		(void)seam__problem_add(&problem, 1 + i, 0, 2);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(peak_of("so-unsafe-best", NULL), 21);
	cr_expect_eq(peak_of("mo-size-best", NULL), 21);
}

Test(somas, a_better_placement_is_not_touched)
{
	struct random_wish wish = {.seed = 3, .count = 40};
	struct seam__budget budget;
	struct seam__placement best;

	random_problem(&wish, meta, &problem);
	uint64_t peak = peak_of("so-size-first", NULL);
	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	best.peak_bytes = peak;
	best.offsets[0] = 12345;
	cr_assert_eq(seam__solver_run(seam__solver_find("so-size-first"), &problem, &budget, &best), SEAM_OK);
	cr_expect_eq(best.offsets[0], 12345);
	best.peak_bytes = peak + 1;
	cr_assert_eq(seam__solver_run(seam__solver_find("so-size-first"), &problem, &budget, &best), SEAM_OK);
	cr_expect_eq(best.peak_bytes, peak);
	seam__placement_fini(&best, &problem);
}

/* Chains, streams, the circle and fixed items at once: every way gives a true placement of each. */
Test(somas, every_way_places_whatever_a_problem_has)
{
	size_t count;
	const struct seam__solver *list = seam__solver_list(&count);
	uint32_t ways = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_wish wish = {.seed = seed, .count = 60, .features = (unsigned)seed & SEAM__HAS_ALL};

		random_problem(&wish, meta, &problem);
		for (size_t s = 0; s < count; s++) {
			if (strncmp(list[s].name, "so-", 3) != 0 && strncmp(list[s].name, "mo-", 3) != 0)
				continue;
			uint64_t peak = peak_of(list[s].name, NULL);
			uint64_t sum = 0;

			for (uint32_t i = 0; i < problem.count; i++)
				sum += problem.items[i].size_bytes;
			cr_expect(
				peak >= problem.lower_bytes && (peak <= sum || (wish.features & SEAM__HAS_FIXED) != 0),
				"%s: %llu", list[s].name, (unsigned long long)peak);
			ways++;
		}
		seam__problem_fini(&problem);
	}
	cr_expect_geq(ways, 400, "ten ways");
}

Test(somas, all_ways_in_a_row_are_as_good_as_the_best_of_them)
{
	static const char *const ways[] = {"mo-size-first", "so-size-first", "so-source-first", "so-breadth-first",
		"so-unsafe-first", "so-size-best", "so-source-best", "so-breadth-best", "so-unsafe-best"};
	uint32_t winners = 0; /* a bit for each that was alone at the best */

	for (uint64_t seed = 0; seed < 60; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 80, .features = SEAM__HAS_HOLDS | SEAM__HAS_WRAP, .sizes = 6};
		uint64_t least = UINT64_MAX;
		uint32_t first = 0;

		random_problem(&wish, meta, &problem);
		for (uint32_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
			uint64_t peak = peak_of(ways[w], NULL);

			first = peak < least ? w : first;
			least = peak < least ? peak : least;
		}
		winners |= 1u << first;
		cr_expect_eq(peak_of("somas", NULL), least, "seed %llu", (unsigned long long)seed);
		seam__problem_fini(&problem);
	}
	cr_expect_geq(__builtin_popcount(winners), 4, "ways that were the first to be best: %x", winners);
}

Test(somas, what_there_is_no_time_for_is_not_begun)
{
	struct random_wish wish = {.seed = 1, .count = 1000, .features = SEAM__HAS_HOLDS};
	struct seam__budget budget;
	struct seam__placement best;

	random_problem(&wish, meta, &problem);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	seam__budget_init(&budget);
	budget.nodes_left = 1000; /* a way looks at half a million pairs */
	cr_assert_eq(seam__solver_run(seam__solver_find("somas"), &problem, &budget, &best), SEAM_OK);
	cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE);
	cr_expect_eq(budget.nodes_left, 1000);
	cr_assert_eq(seam__solver_run(seam__solver_find("so-size-first"), &problem, &budget, &best), SEAM_OK);
	cr_expect_lt(budget.nodes_left, 1000, "asked for by name it tries");
	seam__placement_fini(&best, &problem);
}
