/* test_plan_cost.c: what a plan may add to the memory of a pool. */
#include <criterion/criterion.h>

#include "plan_cost.h"

#define MIB (UINT64_C(1) << 20)

Test(plan_cost, plan_may_reach_the_peak_and_the_noise_above_it)
{
	static const struct {
		uint64_t peak_bytes, limit_bytes;
	} table[] = {{0, 0}, {512 * MIB, 513 * MIB}, {100 * MIB, 100 * MIB + 100 * MIB / 512}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct seam_plan_cost cost = {0};
		seam__plan_cost_note(&cost, table[i].peak_bytes);
		seam__plan_cost_note(&cost, table[i].peak_bytes / 2);
		cr_expect_eq(seam__plan_cost_limit(&cost), table[i].limit_bytes, "row %zu", i);
	}
}

Test(plan_cost, all_plans_together_add_no_more_than_one)
{
	struct seam_plan_cost cost = {0};
	seam__plan_cost_note(&cost, 512 * MIB);
	for (int plan = 0; plan < 8; plan++) {
		const uint64_t limit_bytes = seam__plan_cost_limit(&cost);
		cr_expect_eq(limit_bytes, 513 * MIB, "plan %d", plan);
		seam__plan_cost_add(&cost, limit_bytes);
		seam__plan_cost_note(&cost, limit_bytes);
	}
}

Test(plan_cost, growth_of_the_program_raises_the_limit)
{
	struct seam_plan_cost cost = {0};
	seam__plan_cost_note(&cost, 512 * MIB);
	seam__plan_cost_add(&cost, 513 * MIB);
	seam__plan_cost_note(&cost, 1025 * MIB);
	cr_expect_eq(seam__plan_cost_limit(&cost), 1026 * MIB, "of 1024 MiB that are the program's own");
}

Test(plan_cost, arena_below_the_peak_adds_nothing)
{
	struct seam_plan_cost cost = {0};
	seam__plan_cost_note(&cost, 512 * MIB);
	seam__plan_cost_add(&cost, 400 * MIB);
	cr_expect_eq(seam__plan_cost_limit(&cost), 513 * MIB);
}

Test(plan_cost, pool_without_a_plan_needs_a_share_or_two_chunks_more_than_lives)
{
	cr_expect_eq(seam__plan_cost_without(1280 * MIB, 2 * MIB), 1290 * MIB);
	cr_expect_eq(seam__plan_cost_without(128 * MIB, 2 * MIB), 132 * MIB);
}
