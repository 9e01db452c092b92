/* test_gaps.c: the gaps that are found are those that a search address by address finds. */
#include <string.h>

#include "gaps.h"
#include "meta_fixture.h"
#include "random_problem.h"
#include "solver.h"

#define TRIES 25u
#define NOWHERE UINT64_MAX

TestSuite(gaps, .init = set_up, .fini = tear_down);

/* May the chain of `head` lie at `at`, next to what is placed? */
static bool fits(
	const struct seam_problem *problem, const uint64_t *offsets, const bool *placed, uint32_t head, uint64_t at)
{
	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = problem->items[i].next) {
		for (uint32_t j = 0; j < problem->count; j++)
			if (placed[j] && offsets[j] < at + problem->items[i].size_bytes &&
				at < offsets[j] + problem->items[j].size_bytes && seam__problem_conflict(problem, i, j))
				return false;
		at += problem->items[i].size_bytes;
	}
	return true;
}

static uint64_t length(const struct seam_problem *problem, uint32_t head)
{
	uint64_t sum = 0;

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = problem->items[i].next)
		sum += problem->items[i].size_bytes;
	return sum;
}

static uint64_t naive_find(const struct seam_problem *problem, const uint64_t *offsets, const bool *placed,
	uint32_t head, uint64_t ceiling)
{
	for (uint64_t at = 0; at + length(problem, head) <= ceiling; at++)
		if (fits(problem, offsets, placed, head, at))
			return at;
	return NOWHERE;
}

/* Places heads one after the other where the naive search says; before that, the other must say the same. */
static void compare(const struct seam_problem *problem, struct seam_gaps *gaps, uint64_t seed, const char *what)
{
	uint64_t offsets[TRIES];
	bool placed[TRIES] = {false};
	uint64_t top = 0;

	for (uint32_t head = 0; head < problem->count; head++) {
		uint64_t wanted_ceiling = random_below(&seed, 3) == 0 ? random_below(&seed, 400) : 100000;
		uint64_t naive = naive_find(problem, offsets, placed, head, wanted_ceiling);
		uint64_t found = NOWHERE;
		bool is_found = seam__gaps_find(gaps, head, wanted_ceiling, &found);

		cr_assert_eq(is_found, naive != NOWHERE, "%s: item %u", what, head);
		cr_assert_eq(found, naive, "%s: item %u", what, head);
		if (naive == NOWHERE || placed[head])
			continue;
		for (uint32_t i = head; i != SEAM__ITEM_NONE && !placed[i]; i = problem->items[i].next) {
			/* Somewhere above at times, so that there are gaps. */
			offsets[i] = random_below(&seed, 3) == 0 ? top + random_below(&seed, 60) : naive;
			naive = offsets[i] + problem->items[i].size_bytes;
			placed[i] = true;
			cr_assert_eq(seam__gaps_put(gaps, i, offsets[i]), SEAM_OK);
			top = naive > top ? naive : top;
		}
		cr_assert_null(seam__gaps_check(gaps), "%s: %s", what, seam__gaps_check(gaps));
	}
}

Test(gaps, what_is_found_is_what_a_naive_search_finds)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
			struct random_wish wish = {
				.seed = seed * 16 + features, .count = TRIES, .features = features & ~SEAM__HAS_FIXED};
			struct seam_problem problem;
			struct seam_timeline timeline;
			struct seam_gaps gaps;

			random_problem(&wish, meta, &problem);
			cr_assert_eq(seam__timeline_init(&timeline, &problem), SEAM_OK);
			cr_assert_eq(seam__gaps_init(&gaps, &timeline), SEAM_OK);
			compare(&problem, &gaps, seed, "new");
			seam__gaps_clear(&gaps);
			compare(&problem, &gaps, seed + 1, "cleared");
			seam__problem_fini(&problem);
		}
	}
}

Test(gaps, addresses_near_the_end_of_the_space)
{
	struct seam_problem problem;
	struct seam_timeline timeline;
	struct seam_gaps gaps;
	uint64_t offset = 1;

	cr_assert_eq(seam__problem_init(&problem, meta, 3, 4, true, 1, 1), SEAM_OK);
	seam__problem_add(&problem, 8, 0, 4);
	seam__problem_add(&problem, 8, 1, 2);
	seam__problem_add(&problem, UINT64_MAX - 4, 1, 2);
	cr_assert_eq(seam__timeline_init(&timeline, &problem), SEAM_OK);
	cr_assert_eq(seam__gaps_init(&gaps, &timeline), SEAM_OK);
	cr_assert_eq(seam__gaps_put(&gaps, 0, UINT64_MAX - 8), SEAM_OK);
	cr_expect(seam__gaps_find(&gaps, 1, UINT64_MAX, &offset));
	cr_expect_eq(offset, 0);
	cr_expect_not(seam__gaps_find(&gaps, 2, UINT64_MAX, &offset), "there is no room below");
	cr_expect_not(seam__gaps_find(&gaps, 1, 7, &offset), "larger than the ceiling");
	seam__problem_fini(&problem);
}
