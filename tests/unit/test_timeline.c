/* test_timeline.c: covers say the same as seam__problem_conflict(), whatever a problem has; walks take a cover apart
 * into nodes that meet each of its columns once. */
#include <string.h>

#include "meta_fixture.h"
#include "random_problem.h"
#include "timeline.h"

TestSuite(timeline, .init = set_up, .fini = tear_down);

/* Is the column of `j` in the cover of `i`? */
static bool covers(const struct seam_timeline *timeline, uint32_t i, uint32_t j)
{
	uint32_t lane = seam__timeline_lane(timeline, j);
	uint32_t columns = seam__timeline_columns(timeline, lane);
	const struct seam_cover *cover = seam__timeline_cover(timeline, i, lane);

	return (seam__timeline_column(timeline, j) + columns - cover->first) % columns < cover->count;
}

Test(timeline, covers_are_conflicts)
{
	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		struct random_wish wish = {.seed = 11 + features, .count = 60, .features = features};
		struct seam_problem problem;
		struct seam_timeline timeline;

		random_problem(&wish, meta, &problem);
		cr_assert_eq(seam__timeline_init(&timeline, &problem), SEAM_OK);
		cr_expect_null(
			seam__timeline_check(&timeline), "features %x: %s", features, seam__timeline_check(&timeline));
		cr_expect_eq(timeline.lanes > 1, (features & SEAM__HAS_HOLDS) != 0, "features %x: %u lanes", features,
			timeline.lanes);
		for (uint32_t i = 0; i < problem.count; i++)
			for (uint32_t j = 0; j < problem.count; j++)
				cr_assert_eq(i == j || covers(&timeline, i, j) || covers(&timeline, j, i),
					i == j || seam__problem_conflict(&problem, i, j), "features %x: %u and %u",
					features, i, j);
		seam__problem_fini(&problem);
	}
}

Test(timeline, a_walk_meets_every_column_once)
{
	for (uint32_t columns = 1; columns < 20; columns++) {
		for (uint32_t first = 0; first < columns; first++) {
			for (uint32_t count = 0; count <= columns; count++) {
				struct seam_cover cover = {.first = first, .count = count};
				struct seam_walk walk;
				uint32_t met[20] = {0};
				uint32_t node;

				seam__walk_begin(&walk, &cover, columns);
				while (seam__walk_next(&walk, &node))
					for (uint32_t c = 0; c < columns; c++)
						for (uint32_t v = columns + c; v > 0; v /= 2)
							met[c] += v == node;
				for (uint32_t c = 0; c < columns; c++)
					cr_assert_eq(met[c], (c + columns - first) % columns < count,
						"%u of %u, from %u %u: met %u", c, columns, first, count, met[c]);
			}
		}
	}
}

Test(timeline, holds_that_are_spans_make_one_lane)
{
	struct seam_problem problem;
	struct seam_timeline timeline;

	cr_assert_eq(seam__problem_init(&problem, meta, 2, 10, true, 3, 1), SEAM_OK);
	seam__problem_add(&problem, 1, 0, 5)->stream = 2;
	seam__problem_add(&problem, 1, 5, 5)->stream = 1;
	cr_assert_eq(seam__timeline_init(&timeline, &problem), SEAM_OK);
	cr_expect_eq(timeline.lanes, 1);
	cr_expect_eq(seam__timeline_columns(&timeline, 0), 2);
	cr_expect_eq(seam__timeline_cover(&timeline, 0, 0)->count, 1, "it ends where the other begins");
	seam__problem_fini(&problem);
}
