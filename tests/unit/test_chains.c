/* test_chains.c: chains and their orders: every item once, keys by definition, conflicts counted against every pair. */
#include <criterion/criterion.h>

#include "chains.h"
#include "problem_fixture.h"
#include "random_problem.h"

TestSuite(chains, .init = set_up, .fini = tear_down_problem);

/* Does `j` begin while `i` is held from its stream? */
static bool meets(uint32_t i, uint32_t j)
{
	return seam__problem_distance(&problem, problem.items[i].begin, problem.items[j].begin) <
		seam__problem_hold(&problem, i, problem.items[j].stream);
}

Test(chains, conflicts_are_counted_as_if_pair_by_pair)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 40, .features = (unsigned)seed & (SEAM__HAS_WRAP | SEAM__HAS_HOLDS)};
		uint64_t counts[40];

		random_problem(&wish, meta, &problem);
		cr_assert_eq(seam__chains_conflicts(&problem, counts), SEAM_OK);
		for (uint32_t i = 0; i < problem.count; i++) {
			uint64_t expected = 0;
			uint64_t twice = 0;

			for (uint32_t j = 0; j < problem.count; j++) {
				bool both = i != j && meets(i, j) && meets(j, i);

				expected += i != j && seam__problem_conflict(&problem, i, j);
				twice += both && problem.items[i].begin != problem.items[j].begin;
			}
			cr_assert_eq(counts[i], expected + twice, "seed %llu item %u", (unsigned long long)seed, i);
			cr_assert(twice == 0 || wish.features != 0, "a line without holds meets once");
		}
		seam__problem_fini(&problem);
	}
}

Test(chains, every_order_holds_every_item_once)
{
	for (unsigned features = 0; features <= SEAM__HAS_ALL; features++) {
		struct random_wish wish = {.seed = features, .count = 50, .features = features};

		random_problem(&wish, meta, &problem);
		for (enum seam__chain_order order = SEAM__CHAIN_SIZE; order <= SEAM__CHAIN_UNSAFE; order++) {
			struct seam__chains chains;

			cr_assert_eq(seam__chains_init(&chains, &problem, order), SEAM_OK);
			cr_expect_null(
				seam__chains_check(&chains), "order %d: %s", (int)order, seam__chains_check(&chains));
			seam__chains_fini(&chains);
		}
		seam__problem_fini(&problem);
	}
}

Test(chains, a_chain_has_the_key_of_its_items)
{
	struct seam__chains chains;

	cr_assert_eq(seam__problem_init(&problem, meta, 4, 10, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 4, 5, 2);
	(void)seam__problem_add(&problem, 3, 2, 2);
	(void)seam__problem_add(&problem, 5, 3, 2);
	seam__problem_add(&problem, 9, 0, 1)->fixed_bytes = 0;
	problem.items[0].next = 1; /* 0 and 1 together are larger than 2, and begin before it */

	cr_assert_eq(seam__chains_init(&chains, &problem, SEAM__CHAIN_SIZE), SEAM_OK);
	cr_expect_eq(chains.count, 2);
	cr_expect_eq(chains.list[0].head, 0);
	cr_expect_eq(chains.list[0].size_bytes, 7);
	cr_expect_eq(chains.list[0].length, 2);
	seam__chains_fini(&chains);
	cr_assert_eq(seam__chains_init(&chains, &problem, SEAM__CHAIN_SOURCE), SEAM_OK);
	cr_expect_eq(chains.list[0].head, 0);
	cr_expect_eq(chains.list[0].key, 2);
	seam__chains_fini(&chains);
	cr_assert_eq(seam__chains_init(&chains, &problem, SEAM__CHAIN_BREADTH), SEAM_OK);
	cr_expect_eq(chains.list[0].head, 2, "at its begin 8 bytes live, at those of the chain 3 and 4");
	seam__chains_fini(&chains);
	cr_assert_eq(seam__chains_init(&chains, &problem, SEAM__CHAIN_UNSAFE), SEAM_OK);
	cr_expect_eq(chains.list[0].head, 0, "one conflict each: the larger one first");
	seam__chains_fini(&chains);
}
