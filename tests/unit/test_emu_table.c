/* test_emu_table.c: handles that never come twice. */
#include <criterion/criterion.h>

#include "emu_table.h"
#include "meta.h"

Test(emu_table, a_handle_never_comes_twice)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct emu_table table = {0};
	uint64_t old[200];
	int objects[200];
	cr_assert_not_null(meta);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 200; i++) {
			uint64_t id = seam__emu_table_add(&table, meta, &objects[i]);
			cr_assert_neq(id, 0);
			for (int k = 0; round > 0 && k < 200; k++)
				cr_assert_neq(id, old[k], "handle %d of round %d", i, round);
			if (round == 0)
				old[i] = id;
			cr_assert_eq(seam__emu_table_find(&table, id), &objects[i]);
			if (round == 2)
				continue;
			seam__emu_table_remove(&table, id);
			cr_assert_null(seam__emu_table_find(&table, id));
		}
		cr_assert_null(seam__emu_table_check(&table), "%s", seam__emu_table_check(&table));
	}
	cr_assert_eq(table.count, 200);
	cr_assert_null(seam__emu_table_find(&table, 0));
	cr_assert_null(seam__emu_table_find(&table, UINT64_MAX));
	seam__emu_table_fini(&table, meta);
	cr_assert_eq(seam__meta_destroy(meta), 0, "metadata was leaked");
}

Test(emu_table, lack_of_metadata_gives_no_handle)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct emu_table table = {0};
	int object;
	cr_assert_not_null(meta);
	seam__meta_fail_at(meta, 1);
	cr_assert_eq(seam__emu_table_add(&table, meta, &object), 0);
	cr_assert_eq(table.count, 0);
	cr_assert_neq(seam__emu_table_add(&table, meta, &object), 0);
	seam__emu_table_fini(&table, meta);
	cr_assert_eq(seam__meta_destroy(meta), 0, "metadata was leaked");
}
