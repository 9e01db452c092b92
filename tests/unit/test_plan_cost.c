/* test_plan_cost.c: bytes that a pool needs without a plan, and may have with one. */
#include <criterion/criterion.h>

#include "plan_cost.h"

#define MIB (UINT64_C(1) << 20)

Test(plan_cost, pool_without_a_plan_needs_a_share_or_two_chunks_more_than_lives)
{
	cr_expect_eq(seam__plan_cost_without(5120 * MIB, 2 * MIB), 5130 * MIB);
	cr_expect_eq(seam__plan_cost_without(128 * MIB, 2 * MIB), 132 * MIB);
}

Test(plan_cost, learnt_plan_may_take_a_share_more_than_was_reserved_or_than_lived)
{
	cr_expect_eq(seam__plan_cost_limit(5120 * MIB, 4096 * MIB), 5125 * MIB);
	cr_expect_eq(seam__plan_cost_limit(5120 * MIB, 5120 * MIB), 5130 * MIB);
}

Test(plan_cost, room_for_a_plan_is_a_share_more_than_was_reserved)
{
	cr_expect_eq(seam__plan_cost_room(5120 * MIB), 5140 * MIB);
	cr_expect_eq(seam__plan_cost_room(0), 0);
}
