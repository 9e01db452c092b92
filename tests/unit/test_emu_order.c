/* test_emu_order.c: vector clocks: what is known to come before, and what is forgotten below the floor. */
#include "emu_order.h"
#include "meta_fixture.h"

TestSuite(emu_order, .init = set_up, .fini = tear_down);

Test(emu_order, keeps_the_newest_of_each_stream)
{
	static const uint64_t streams[] = {5, 1, 9, 5, 3, 1};
	struct emu_order order = {0};
	for (uint64_t i = 0; i < 6; i++)
		cr_assert(seam__emu_order_add(&order, meta, streams[i], 10 + i));
	cr_assert(seam__emu_order_add(&order, meta, 9, 2), "an older number changes nothing");
	cr_assert(seam__emu_order_add(&order, meta, 7, 0), "no work is no entry");
	cr_assert_eq(order.count, 4);
	cr_assert_eq(seam__emu_order_get(&order, 5), 13);
	cr_assert_eq(seam__emu_order_get(&order, 1), 15);
	cr_assert_eq(seam__emu_order_get(&order, 9), 12);
	cr_assert_eq(seam__emu_order_get(&order, 7), 0);
	cr_assert_null(seam__emu_order_check(&order));
	seam__emu_order_fini(&order, meta);
}

Test(emu_order, merges_and_forgets_below_the_floor)
{
	struct emu_order a = {0};
	struct emu_order b = {0};
	cr_assert(seam__emu_order_add(&a, meta, 1, 10) && seam__emu_order_add(&a, meta, 2, 40));
	cr_assert(seam__emu_order_add(&b, meta, 2, 30) && seam__emu_order_add(&b, meta, 3, 50));
	cr_assert(seam__emu_order_add(&b, meta, 4, 20));
	cr_assert_not(seam__emu_order_covers(&a, &b, 20));
	cr_assert(seam__emu_order_merge(&a, meta, &b, 20));
	cr_assert(seam__emu_order_covers(&a, &b, 20));
	cr_assert_not(seam__emu_order_covers(&a, &b, 19), "what is forgotten is not covered above the floor");
	cr_assert_eq(seam__emu_order_get(&a, 1), 0, "below the floor");
	cr_assert_eq(seam__emu_order_get(&a, 2), 40);
	cr_assert_eq(seam__emu_order_get(&a, 3), 50);
	cr_assert_eq(a.count, 2);
	cr_assert_null(seam__emu_order_check(&a));
	seam__emu_order_fini(&a, meta);
	seam__emu_order_fini(&b, meta);
}

Test(emu_order, lack_of_metadata_changes_nothing)
{
	struct emu_order a = {0};
	struct emu_order b = {0};
	for (uint64_t i = 1; i <= 9; i++)
		cr_assert(seam__emu_order_add(&b, meta, i, i));
	seam__meta_fail_at(meta, 1);
	cr_assert_not(seam__emu_order_merge(&a, meta, &b, 0));
	cr_assert_eq(a.count, 0);
	seam__meta_fail_at(meta, 1);
	cr_assert_not(seam__emu_order_add(&a, meta, 1, 1));
	cr_assert_eq(a.count, 0);
	cr_assert(seam__emu_order_merge(&a, meta, &b, 0));
	cr_assert_eq(a.count, 9);
	seam__emu_order_fini(&a, meta);
	seam__emu_order_fini(&b, meta);
}
