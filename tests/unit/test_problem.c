/* test_problem.c: lifetimes on a circle, conflicts and the lower bound against naive definitions; what the checks
 * refuse. */
#include <criterion/criterion.h>

#include "problem_fixture.h"
#include "random_problem.h"

TestSuite(problem, .init = set_up, .fini = tear_down_problem);

static void begin(uint32_t count, uint32_t circle, bool linear, uint32_t streams)
{
	cr_assert_eq(seam__problem_init(&problem, meta, count, circle, linear, streams, 4), SEAM_OK);
}

Test(problem, sizes_are_rounded_to_the_alignment)
{
	begin(2, 4, true, 1);
	cr_expect_eq(seam__problem_add(&problem, 5, 0, 2)->size_bytes, 8);
	cr_expect_eq(seam__problem_add(&problem, 8, 2, 2)->size_bytes, 8);
	cr_expect_null(seam__problem_check(&problem));
}

Test(problem, what_crosses_the_end_meets_what_begins_there)
{
	begin(3, 10, false, 1);
	(void)seam__problem_add(&problem, 4, 8, 4); /* 8 9 0 1 */
	(void)seam__problem_add(&problem, 4, 1, 2); /* 1 2 */
	(void)seam__problem_add(&problem, 4, 2, 6); /* 2 ... 7 */
	cr_expect(seam__problem_conflict(&problem, 0, 1));
	cr_expect_not(seam__problem_conflict(&problem, 0, 2));
	cr_expect(seam__problem_conflict(&problem, 2, 1));
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(problem.lower_bytes, 8);
}

Test(problem, a_hold_keeps_another_stream_away_for_longer)
{
	begin(2, 10, true, 2);
	(void)seam__problem_add(&problem, 4, 0, 2);
	seam__problem_add(&problem, 4, 4, 2)->stream = 1;
	cr_expect_not(seam__problem_conflict(&problem, 0, 1));
	problem.holds[1] = 5; /* item 0 from stream 1 */
	cr_expect(seam__problem_conflict(&problem, 0, 1));
	cr_expect(seam__problem_conflict(&problem, 1, 0));
	problem.holds[1] = 2;
	problem.holds[2] = SEAM__HOLD_ALWAYS; /* item 1 from stream 0 */
	cr_expect(seam__problem_conflict(&problem, 0, 1));
	cr_expect_null(seam__problem_check(&problem));
}

Test(problem, the_bound_counts_what_is_held_from_everybody)
{
	begin(2, 10, true, 2);
	(void)seam__problem_add(&problem, 4, 0, 6);
	seam__problem_add(&problem, 8, 3, 2)->stream = 1;
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(problem.lower_bytes, 12);
	problem.holds[1] = 3; /* another stream used item 0, and is done with it before the item's own stream knows */
	cr_assert_not(seam__problem_conflict(&problem, 0, 1));
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(problem.lower_bytes, 8);
	cr_expect_null(seam__problem_check(&problem));
}

Test(problem, checks_name_what_is_broken)
{
	begin(3, 10, true, 1);
	struct seam_item *item = seam__problem_add(&problem, 4, 7, 3);
	struct seam_item *second = seam__problem_add(&problem, 4, 0, 1);
	(void)seam__problem_add(&problem, 4, 0, 1);

	cr_expect_null(seam__problem_check(&problem));
	item->span = 4;
	cr_expect_str_eq(seam__problem_check(&problem), "P2 line");
	item->span = 3;
	item->size_bytes = 6;
	cr_expect_str_eq(seam__problem_check(&problem), "P1 size");
	item->size_bytes = 4;
	item->fixed_bytes = 2;
	cr_expect_str_eq(seam__problem_check(&problem), "P1 fixed address");
	item->fixed_bytes = SEAM__ADDRESS_ANY;
	item->stream = 1;
	cr_expect_str_eq(seam__problem_check(&problem), "P3 stream");
	item->stream = 0;
	item->next = 1;
	second->next = 0;
	cr_expect_str_eq(seam__problem_check(&problem), "P4 circle");
	item->next = SEAM__ITEM_NONE;
	second->next = SEAM__ITEM_NONE;
	second->fixed_bytes = 8;
	problem.items[2].fixed_bytes = 8;
	cr_expect_str_eq(seam__problem_check(&problem), "P5 fixed items overlap");
	problem.items[2].fixed_bytes = 12;
	cr_expect_null(seam__problem_check(&problem));
}

/* Counts position by position. */
static uint64_t naive_max_live(void)
{
	uint64_t most = 0;

	for (uint32_t t = 0; t < problem.circle; t++) {
		uint64_t live = 0;

		for (uint32_t i = 0; i < problem.count; i++)
			for (uint32_t step = 0; step < problem.items[i].span; step++)
				if ((problem.items[i].begin + step) % problem.circle == t)
					live += problem.items[i].size_bytes;
		most = live > most ? live : most;
	}
	return most;
}

Test(problem, the_bound_is_the_most_that_lives_at_once)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_wish wish = {.seed = seed, .count = 30, .features = seed % 2 == 0 ? SEAM__HAS_WRAP : 0};
		uint64_t live = 0;

		random_problem(&wish, meta, &problem);
		cr_assert_eq(seam__problem_max_live(&problem, &live), SEAM_OK);
		cr_expect_eq(live, naive_max_live(), "seed %lu", (unsigned long)seed);
		seam__problem_fini(&problem);
	}
}

/* Random addresses, most of them wrong: both proofs must say the same. */
Test(problem, the_proof_of_a_placement_agrees_with_the_naive_one)
{
	uint32_t refused = 0;
	uint32_t accepted = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 6, .features = (unsigned)seed & (SEAM__HAS_WRAP | SEAM__HAS_HOLDS)};
		uint64_t state = seed;
		uint64_t offsets[6];

		random_problem(&wish, meta, &problem);
		for (uint32_t i = 0; i < problem.count; i++)
			offsets[i] = random_below(&state, 500);
		const char *naive = naive_check_placement(&problem, offsets, 600);
		const char *broken = seam__problem_check_placement(&problem, offsets, 600);
		cr_expect_eq(naive == NULL, broken == NULL, "seed %lu: %s, %s", (unsigned long)seed, naive, broken);
		refused += broken != NULL;
		accepted += broken == NULL;
		seam__problem_fini(&problem);
	}
	cr_expect_gt(refused, 20);
	cr_expect_gt(accepted, 20);
}

Test(problem, no_memory_leaves_nothing)
{
	seam__meta_fail_at(meta, 2);
	cr_expect_eq(seam__problem_init(&problem, meta, 3, 10, true, 2, 1), SEAM_OOM_META);
}
