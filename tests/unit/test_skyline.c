/* test_skyline.c: a floor is the highest top among what conflicts. */
#include "meta_fixture.h"
#include "random_problem.h"
#include "skyline.h"
#include "solver.h"

TestSuite(skyline, .init = set_up, .fini = tear_down);

#define ITEMS 50u

static void compare(const struct seam_problem *problem, struct seam_skyline *skyline, uint64_t seed, unsigned features)
{
	uint64_t tops[ITEMS] = {0};

	for (uint32_t put = 0; put < problem->count; put++) {
		/* Not always above the last: what is fixed need not be. */
		tops[put] = 1 + random_below(&seed, 1000);
		seam__skyline_put(skyline, put, tops[put]);
		for (uint32_t i = put + 1; i < problem->count; i++) {
			uint64_t naive = 0;

			for (uint32_t j = 0; j <= put; j++)
				if (seam__problem_conflict(problem, i, j) && tops[j] > naive)
					naive = tops[j];
			cr_assert_eq(
				seam__skyline_floor(skyline, i), naive, "features %x: %u after %u", features, i, put);
		}
	}
}

Test(skyline, floors_are_the_highest_tops_of_conflicts)
{
	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		struct random_wish wish = {.seed = features, .count = ITEMS, .features = features};
		struct seam_problem problem;
		struct seam_timeline timeline;
		struct seam_skyline skyline;

		random_problem(&wish, meta, &problem);
		cr_assert_eq(seam__timeline_init(&timeline, &problem), SEAM_OK);
		cr_assert_eq(seam__skyline_init(&skyline, &timeline), SEAM_OK);
		compare(&problem, &skyline, features, features);
		seam__problem_fini(&problem);
	}
}
