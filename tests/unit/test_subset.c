/* test_subset.c: some items as a problem of their own: the same items, and their addresses back; which live where most
 * is live. */
#include "meta_fixture.h"
#include "random_problem.h"
#include "subset.h"

TestSuite(subset, .init = set_up, .fini = tear_down);

#define COUNT 60u

static void make(uint64_t seed, struct seam_problem *ret_problem, uint8_t *marks)
{
	struct random_wish wish = {
		.seed = seed, .count = COUNT, .features = SEAM__HAS_WRAP | SEAM__HAS_HOLDS | SEAM__HAS_FIXED};

	random_problem(&wish, meta, ret_problem);
	for (uint32_t i = 0; i < COUNT; i++)
		marks[i] = (uint8_t)random_below(&seed, 2);
}

Test(subset, its_items_are_those_of_the_whole_and_conflict_as_there)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct seam_problem whole, part;
		uint8_t marks[COUNT];
		uint32_t number[COUNT], count = 0;

		make(seed, &whole, marks);
		cr_assert_eq(seam__subset_make(&whole, marks, 1, &part), SEAM_OK);
		for (uint32_t i = 0; i < COUNT; i++)
			if (marks[i] == 1)
				number[count++] = i;
		cr_assert_eq(part.count, count);
		cr_expect_null(seam__problem_check(&part));
		cr_expect_leq(part.lower_bytes, whole.lower_bytes);
		for (uint32_t a = 0; a < count; a++) {
			cr_expect_eq(part.items[a].size_bytes, whole.items[number[a]].size_bytes);
			cr_expect_eq(part.items[a].fixed_bytes, whole.items[number[a]].fixed_bytes);
			for (uint32_t b = 0; b < count; b++)
				cr_expect(a == b ||
					seam__problem_conflict(&part, a, b) ==
						seam__problem_conflict(&whole, number[a], number[b]));
		}
		seam__problem_fini(&whole);
	}
}

Test(subset, addresses_go_back_to_their_items)
{
	struct seam_problem whole;
	uint8_t marks[COUNT];
	uint64_t offsets[COUNT], all[COUNT];

	make(7, &whole, marks);
	for (uint32_t i = 0; i < COUNT; i++) {
		offsets[i] = 10 * (uint64_t)i;
		all[i] = UINT64_MAX;
	}
	seam__subset_spread(&whole, marks, 1, offsets, 5, all);
	for (uint32_t i = 0, n = 0; i < COUNT; i++)
		cr_expect_eq(all[i], marks[i] == 1 ? 5 + 10 * (uint64_t)n++ : UINT64_MAX);
	seam__problem_fini(&whole);
}

Test(subset, busy_positions_are_counted_all_around_the_circle)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random_wish wish = {.seed = seed, .count = COUNT, .features = SEAM__HAS_WRAP};
		struct seam_problem problem;
		uint32_t positions[COUNT];

		random_problem(&wish, meta, &problem);
		uint64_t spare_bytes = problem.lower_bytes / 4;
		cr_assert_eq(seam__subset_busy(&problem, problem.lower_bytes, spare_bytes, positions), SEAM_OK);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t expected = 0;

			for (uint32_t p = 0; p < problem.circle; p++) {
				uint64_t live_bytes = 0;

				for (uint32_t j = 0; j < COUNT; j++)
					if (seam__problem_distance(&problem, problem.items[j].begin, p) <
						problem.items[j].span)
						live_bytes += problem.items[j].size_bytes;
				if (seam__problem_distance(&problem, problem.items[i].begin, p) < problem.items[i].span)
					expected += live_bytes + spare_bytes > problem.lower_bytes;
			}
			cr_expect_eq(positions[i], expected, "seed %d, item %u", (int)seed, i);
		}
		seam__problem_fini(&problem);
	}
}

Test(subset, no_failure_leaves_anything)
{
	for (uint64_t n = 1;; n++) {
		struct seam_problem whole, part;
		uint8_t marks[COUNT];
		uint32_t positions[COUNT];

		make(3, &whole, marks);
		seam__meta_fail_at(meta, n);
		enum seam_rc made = seam__subset_make(&whole, marks, 0, &part);
		enum seam_rc counted = seam__subset_busy(&whole, whole.lower_bytes, 1, positions);
		seam__meta_fail_at(meta, 0);
		seam__problem_fini(&whole);
		if (made == SEAM_OK && counted == SEAM_OK) {
			cr_expect_gt(n, 3);
			return;
		}
		cr_assert(made == SEAM_OK || made == SEAM_OOM_META);
		cr_assert(counted == SEAM_OK || counted == SEAM_OOM_META);
	}
}
