/* test_grow.c: arrays that grow, and what a failed growth leaves. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "grow.h"
#include "meta.h"

#define assert_whole(grow) cr_assert_null(seam__grow_check(grow), "%s", seam__grow_check(grow))

Test(grow, keeps_what_was_appended)
{
	struct seam_grow grow;
	seam__grow_init(&grow, sizeof(int));
	assert_whole(&grow);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(seam__grow_append(&grow, &i, 1), SEAM_OK);
	assert_whole(&grow);
	cr_assert_eq(grow.count, 1000);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(((int *)grow.items)[i], i, "item %d", i);
	seam__grow_fini(&grow);
	assert_whole(&grow);
}

Test(grow, reserved_room_is_there)
{
	struct seam_grow grow;
	seam__grow_init(&grow, 8);
	cr_assert_eq(seam__grow_reserve(&grow, 100), SEAM_OK);
	const void *before = grow.items;
	const char item[8] = "1234567";
	for (int i = 0; i < 100; i++)
		cr_assert_eq(seam__grow_append(&grow, item, 1), SEAM_OK);
	cr_assert_eq(grow.items, before, "reserved room must not move");
	seam__grow_fini(&grow);
}

Test(grow, a_failed_growth_changes_nothing)
{
	struct seam_grow grow;
	seam__grow_init(&grow, 1);
	cr_assert_eq(seam__grow_append(&grow, "kept", 4), SEAM_OK);
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_assert_eq(seam__grow_reserve(&grow, 1000), SEAM_OOM_META);
	assert_whole(&grow);
	cr_assert_eq(grow.count, 4);
	cr_assert_arr_eq(grow.items, "kept", 4);
	cr_assert_eq(seam__grow_reserve(&grow, SIZE_MAX / 2), SEAM_OOM_META, "a size that overflows");
	seam__grow_fini(&grow);
}
