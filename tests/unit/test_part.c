/* test_part.c: parts of a problem: nothing is lost, what is apart never meets, and a placement of the parts is one of
 * the whole. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "part.h"
#include "random_problem.h"

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_parts parts;

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

TestSuite(part, .init = set_up, .fini = tear_down);

static void begin(uint32_t count, uint32_t circle, bool linear, uint32_t streams)
{
	cr_assert_eq(seam__problem_init(&problem, meta, count, circle, linear, streams, 1), SEAM_OK);
}

static void cut(void)
{
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_null(seam__problem_check(&problem));
	cr_assert_eq(seam__parts_init(&problem, &parts), SEAM_OK);
	cr_assert_null(seam__parts_check(&parts), "%s", seam__parts_check(&parts));
}

Test(part, a_line_is_cut_where_nothing_lives_on)
{
	begin(3, 10, true, 1);
	(void)seam__problem_add(&problem, 5, 0, 3);
	(void)seam__problem_add(&problem, 6, 2, 2); /* until 4 */
	(void)seam__problem_add(&problem, 7, 4, 6);
	cut();
	cr_assert_eq(parts.count, 2);
	cr_expect_eq(parts.parts[0].count, 2);
	cr_expect_eq(parts.parts[1].origin, 4);
	cr_expect_eq(parts.lower_bytes, 11);
}

Test(part, a_circle_with_one_cut_is_a_line)
{
	begin(2, 10, false, 1);
	(void)seam__problem_add(&problem, 5, 8, 5); /* 8 9 0 1 2 */
	(void)seam__problem_add(&problem, 6, 2, 4); /* 2 ... 5 */
	cut();
	cr_assert_eq(parts.count, 1);
	cr_expect(parts.parts[0].linear);
	cr_expect_eq(parts.parts[0].problem.items[0].begin + parts.parts[0].origin, 8);
}

Test(part, what_always_lives_stands_at_the_bottom)
{
	begin(3, 10, false, 1);
	(void)seam__problem_add(&problem, 5, 3, 10);
	(void)seam__problem_add(&problem, 6, 2, 4);
	(void)seam__problem_add(&problem, 8, 7, 1);
	cut();
	cr_expect_eq(parts.pillar_bytes, 5);
	cr_expect_eq(parts.count, 2);
	cr_expect_eq(parts.lower_bytes, 13);
}

Test(part, streams_that_never_share_are_stacked)
{
	begin(2, 10, true, 2);
	(void)seam__problem_add(&problem, 5, 0, 2);
	(void)seam__problem_add(&problem, 6, 5, 2);
	problem.items[1].stream = 1;
	problem.holds[1] = SEAM__HOLD_ALWAYS;
	problem.holds[2] = SEAM__HOLD_ALWAYS;
	cut();
	cr_expect_eq(parts.stacks, 2);
	cr_expect_eq(parts.lower_bytes, 11);
	problem.holds[1] = 4; /* now the first may pass to the second */
	cut();
	cr_expect_eq(parts.stacks, 1);
}

static void check_joined(uint64_t seed)
{
	struct seam_placement *placed = seam__meta_array(meta, parts.count + 1, sizeof(*placed));
	uint64_t *offsets = seam__meta_array(meta, problem.count, sizeof(*offsets));
	uint64_t peak = parts.pillar_bytes;
	const char *broken;

	cr_assert(placed != NULL && offsets != NULL);
	for (uint32_t p = 0; p < parts.count; p++) {
		struct seam_budget budget;

		seam__budget_init(&budget);
		cr_assert_eq(seam__placement_init(&placed[p], &parts.parts[p].problem), SEAM_OK);
		cr_assert_eq(seam__solver_run(seam__solver_find("stack"), &parts.parts[p].problem, &budget, &placed[p]),
			SEAM_OK);
		peak += placed[p].peak_bytes;
	}
	seam__parts_join(&parts, placed, offsets);
	broken = naive_check_placement(&problem, offsets, peak);
	cr_expect_null(broken, "seed %lu: %s", (unsigned long)seed, broken);
	seam__meta_free(meta, offsets, problem.count * sizeof(*offsets));
	seam__meta_free(meta, placed, (parts.count + 1) * sizeof(*placed));
}

Test(part, random_problems_come_together_again)
{
	uint32_t more_than_one = 0;

	for (uint64_t seed = 0; seed < 400; seed++) {
		struct random_wish wish = {.seed = seed,
			.count = 1 + (uint32_t)seed % 25,
			.features = (unsigned)seed & 3u & ~SEAM__HAS_FIXED};

		wish.features |= seed % 5 == 0 ? SEAM__HAS_HOLDS : 0;
		random_problem(&wish, meta, &problem);
		cut();
		cr_expect_geq(parts.lower_bytes, problem.lower_bytes);
		more_than_one += parts.count > 1;
		check_joined(seed);
		seam__problem_fini(&problem);
	}
	cr_expect_gt(more_than_one, 50);
}

Test(part, fixed_and_linked_items_stay_together)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 20, .features = seed % 2 == 0 ? SEAM__HAS_FIXED : SEAM__HAS_LINKS};

		random_problem(&wish, meta, &problem);
		cut();
		cr_expect(seed % 2 != 0 || parts.stacks == 1);
		seam__problem_fini(&problem);
	}
}

Test(part, no_memory_leaves_nothing)
{
	struct random_wish wish = {.seed = 3, .count = 20};

	random_problem(&wish, meta, &problem);
	for (uint64_t n = 1;; n++) {
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__parts_init(&problem, &parts);
		bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_expect_eq(rc, fired ? SEAM_OOM_META : SEAM_OK);
		if (!fired)
			break;
	}
}
