/* test_slab.c: pools of equal objects, their reservations, and what they report as lost. */
#include <string.h>

#include "meta_fixture.h"
#include "slab.h"

TestSuite(slab, .init = set_up, .fini = tear_down);

#define assert_whole(slab) cr_assert_null(seam__slab_check(slab), "%s", seam__slab_check(slab))

static uint64_t slabs_held(void)
{
	struct seam_meta_stats now;
	seam__meta_get_stats(meta, &now);
	return now.live_blocks;
}

Test(slab, objects_of_every_size_are_apart_and_aligned)
{
	static const size_t sizes[] = {1, 16, 40, 65, 200, 1000, 32768 - 16};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct seam_slab slab;
		unsigned char *objects[100];
		seam__slab_init(&slab, meta, sizes[i]);
		for (int k = 0; k < 100; k++) {
			objects[k] = seam__slab_get(&slab);
			cr_assert_not_null(objects[k], "%zu bytes, object %d", sizes[i], k);
			cr_assert_eq((uintptr_t)objects[k] % 16, sizes[i] > 0 ? (uintptr_t)objects[0] % 16 : 0);
			if (sizes[i] > 64)
				cr_assert_eq((uintptr_t)objects[k] % 64, (uintptr_t)objects[0] % 64,
					"%zu bytes: lines of object %d", sizes[i], k);
			memset(objects[k], k, sizes[i]);
		}
		for (int k = 0; k < 100; k++) {
			for (size_t byte = 0; byte < sizes[i]; byte++)
				cr_assert_eq(objects[k][byte], k, "%zu bytes, object %d, byte %zu", sizes[i], k, byte);
		}
		assert_whole(&slab);
		for (int k = 0; k < 100; k++)
			seam__slab_put(&slab, objects[k]);
		assert_whole(&slab);
		cr_assert_eq(seam__slab_fini(&slab), 0);
	}
}

Test(slab, an_object_put_back_comes_again)
{
	struct seam_slab slab;
	seam__slab_init(&slab, meta, 64);
	void *first = seam__slab_get(&slab);
	seam__slab_put(&slab, first);
	for (int i = 0; i < 100000; i++) {
		void *again = seam__slab_get(&slab);
		cr_assert_eq(again, first, "round %d", i);
		seam__slab_put(&slab, again);
	}
	cr_assert_eq(slabs_held(), 1);
	cr_assert_eq(seam__slab_fini(&slab), 0);
}

Test(slab, reserved_objects_cannot_fail)
{
	struct seam_slab slab;
	void *objects[3000];
	seam__slab_init(&slab, meta, 64);
	cr_assert_eq(seam__slab_reserve(&slab, 3000), SEAM_OK);
	uint64_t held = slabs_held();
	/* From here there is no memory: only what is set aside may be handed out, and all of it must be. */
	seam__meta_set_limit(meta, 1);
	uint64_t others = 0;
	void *other[2000];
	while (others < 2000 && (other[others] = seam__slab_get(&slab)) != NULL)
		others++;
	cr_assert_lt(others, 2000, "get must fail when only reserved objects are left");
	assert_whole(&slab);
	for (int i = 0; i < 3000; i++) {
		objects[i] = seam__slab_get_reserved(&slab);
		cr_assert_not_null(objects[i], "reserved object %d", i);
	}
	cr_assert_eq(slabs_held(), held);
	cr_assert_null(seam__slab_get(&slab));
	for (int i = 0; i < 3000; i++)
		seam__slab_put(&slab, objects[i]);
	for (uint64_t i = 0; i < others; i++)
		seam__slab_put(&slab, other[i]);
	assert_whole(&slab);
	cr_assert_eq(seam__slab_fini(&slab), 0);
}

Test(slab, a_reservation_is_all_or_nothing)
{
	struct seam_slab slab;
	seam__slab_init(&slab, meta, 64);
	seam__meta_fail_at(meta, 3);
	cr_assert_eq(seam__slab_reserve(&slab, 10000), SEAM_OOM_META);
	cr_assert_eq(slab.reserved_objects, 0);
	assert_whole(&slab);
	cr_assert_eq(seam__slab_reserve(&slab, 10000), SEAM_OK);
	seam__slab_unreserve(&slab, 10000);
	cr_assert_eq(slab.reserved_objects, 0);
	cr_assert_eq(seam__slab_fini(&slab), 0);
}

Test(slab, lost_objects_are_reported)
{
	struct seam_slab slab;
	seam__slab_init(&slab, meta, 64);
	cr_assert_not_null(seam__slab_get(&slab));
	cr_assert_not_null(seam__slab_get(&slab));
	seam__slab_put(&slab, NULL);
	cr_assert_eq(seam__slab_fini(&slab), 2);
}

Test(slab, check_names_a_broken_count)
{
	struct seam_slab slab;
	seam__slab_init(&slab, meta, 64);
	void *object = seam__slab_get(&slab);
	slab.live_objects++;
	cr_assert_str_eq(seam__slab_check(&slab), "SL1 free + live");
	slab.live_objects--;
	slab.reserved_objects = slab.free_objects + 1;
	cr_assert_str_eq(seam__slab_check(&slab), "SL2 reserved <= free");
	slab.reserved_objects = 0;
	seam__slab_put(&slab, object);
	slab.freed = (struct seam_slab_object *)(void *)((char *)object + 1);
	cr_assert_str_eq(seam__slab_check(&slab), "SL3 free objects lie in slabs");
	slab.freed = object;
	cr_assert_eq(seam__slab_fini(&slab), 0);
}
