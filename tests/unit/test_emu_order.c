/* test_emu_order.c: vector clocks: what is known to come before, and what is forgotten below the floor. */
#include "emu_order.h"
#include "meta_fixture.h"

static bool add(struct emu_order *order, uint64_t stream_id, uint64_t number)
{
	return seam__emu_order_add(order, meta, (struct emu_order_entry){.stream_id = stream_id, .number = number});
}

static const uint64_t *floor_of(uint64_t number)
{
	static uint64_t floors[2];
	floors[0] = number;
	return floors;
}

TestSuite(emu_order, .init = set_up, .fini = tear_down);

Test(emu_order, keeps_the_newest_of_each_stream)
{
	static const uint64_t streams[] = {5, 1, 9, 5, 3, 1};
	struct emu_order order = {0};
	for (uint64_t i = 0; i < 6; i++)
		cr_assert(add(&order, streams[i], 10 + i));
	cr_assert(add(&order, 9, 2), "an older number changes nothing");
	cr_assert(add(&order, 7, 0), "no work is no entry");
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
	cr_assert(add(&a, 1, 10) && add(&a, 2, 40));
	cr_assert(add(&b, 2, 30) && add(&b, 3, 50));
	cr_assert(add(&b, 4, 20));
	cr_assert_not(seam__emu_order_covers(&a, &b, floor_of(20)));
	cr_assert(seam__emu_order_merge(&a, meta, &b, floor_of(20)));
	cr_assert(seam__emu_order_covers(&a, &b, floor_of(20)));
	cr_assert_not(seam__emu_order_covers(&a, &b, floor_of(19)), "what is forgotten is not covered above the floor");
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
		cr_assert(add(&b, i, i));
	seam__meta_fail_at(meta, 1);
	cr_assert_not(seam__emu_order_merge(&a, meta, &b, floor_of(0)));
	cr_assert_eq(a.count, 0);
	seam__meta_fail_at(meta, 1);
	cr_assert_not(add(&a, 1, 1));
	cr_assert_eq(a.count, 0);
	cr_assert(seam__emu_order_merge(&a, meta, &b, floor_of(0)));
	cr_assert_eq(a.count, 9);
	seam__emu_order_fini(&a, meta);
	seam__emu_order_fini(&b, meta);
}

Test(emu_order, each_device_has_a_floor_of_its_own)
{
	static const uint64_t floors[2] = {5, 50};
	struct emu_order a = {0}, b = {0};
	for (uint64_t i = 1; i <= 4; i++)
		cr_assert(seam__emu_order_add(&b, meta,
			(struct emu_order_entry){.stream_id = i, .number = 10 * i, .device = (uint32_t)i % 2}));
	cr_assert(seam__emu_order_merge(&a, meta, &b, floors));
	cr_assert_eq(a.count, 2, "%u streams of device 1 remain too", a.count - 2);
	cr_assert_eq(seam__emu_order_get(&a, 2), 20);
	cr_assert_eq(seam__emu_order_get(&a, 3), 0);
	cr_assert(seam__emu_order_covers(&a, &b, floors));
	seam__emu_order_fini(&a, meta);
	seam__emu_order_fini(&b, meta);
}

Test(emu_order, takes_a_number_back)
{
	struct emu_order order = {0};
	cr_assert(add(&order, 1, 10) && add(&order, 2, 40) && add(&order, 3, 50));
	seam__emu_order_lower(&order, (struct emu_order_entry){.stream_id = 2, .number = 39}, 0);
	cr_assert_eq(seam__emu_order_get(&order, 2), 40, "only just that number");
	seam__emu_order_lower(&order, (struct emu_order_entry){.stream_id = 2, .number = 40}, 30);
	cr_assert_eq(seam__emu_order_get(&order, 2), 30);
	seam__emu_order_lower(&order, (struct emu_order_entry){.stream_id = 1, .number = 10}, 0);
	cr_assert_eq(order.count, 2, "none before it is no entry");
	cr_assert_eq(seam__emu_order_get(&order, 3), 50);
	cr_assert_null(seam__emu_order_check(&order));
	seam__emu_order_fini(&order, meta);
}
