/* test_exact_cuts.c: sections begin where they must: every set of items that lives at once is seen by one, and none is
 * contained in the next. */
#include <criterion/criterion.h>

#include "exact_cuts.h"
#include "meta_fixture.h"
#include "random_problem.h"

#define COUNT 30

static struct seam_problem problem;
static struct seam_exact_cuts cuts;

static void close_all(void)
{
	seam__exact_cuts_fini(&cuts, &problem);
	seam__problem_fini(&problem);
}

TestSuite(exact_cuts, .init = set_up, .fini = tear_down);

static void cut(uint64_t seed, unsigned features)
{
	struct random_wish wish = {.seed = seed, .count = COUNT, .features = features};

	random_problem(&wish, meta, &problem);
	cr_assert_eq(seam__exact_cuts_init(&cuts, &problem), SEAM_OK);
}

static bool lives_at(uint32_t i, uint32_t position)
{
	return seam__problem_distance(&problem, problem.items[i].begin, position) < problem.items[i].span;
}

/* Does everything that lives at `a` live at `b`? */
static bool is_subset(uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < COUNT; i++)
		if (lives_at(i, a) && !lives_at(i, b))
			return false;
	return true;
}

Test(exact_cuts, every_live_set_is_seen)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		cut(seed, seed % 2 == 0 ? 0 : SEAM__HAS_WRAP);
		for (uint32_t t = 0; t < problem.circle; t++) {
			bool seen = false;

			for (uint32_t c = 0; c < cuts.count; c++)
				seen |= is_subset(t, cuts.at[c]);
			cr_expect(seen, "seed %d, position %u", (int)seed, t);
		}
		for (uint32_t c = 0; cuts.count > 1 && c < cuts.count; c++)
			cr_expect_not(
				is_subset(cuts.at[c], cuts.at[(c + 1) % cuts.count]), "seed %d, cut %u", (int)seed, c);
		close_all();
	}
}

Test(exact_cuts, an_item_covers_the_cuts_that_it_is_live_at)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		cut(seed, seed % 2 == 0 ? 0 : SEAM__HAS_WRAP);
		for (uint32_t i = 0; i < COUNT; i++) {
			uint32_t first;
			uint32_t width;

			seam__exact_cuts_covered(&problem, &cuts, i, &first, &width);
			for (uint32_t c = 0; c < cuts.count; c++)
				cr_expect_eq((c + cuts.count - first) % cuts.count < width, lives_at(i, cuts.at[c]),
					"seed %d, item %u", (int)seed, i);
		}
		close_all();
	}
}

Test(exact_cuts, the_longest_hold_counts)
{
	cut(3, SEAM__HAS_HOLDS);
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t longest = seam__problem_longest_hold(&problem, i);

		cr_expect_leq(longest, problem.circle);
		for (uint32_t s = 0; s < problem.streams; s++)
			cr_expect(seam__problem_hold(&problem, i, s) <= longest || longest == problem.circle);
	}
	close_all();
}
