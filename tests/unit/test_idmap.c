/* test_idmap.c: the map from numbers to values against a plain array. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "idmap.h"
#include "meta.h"

#define assert_whole(map) cr_assert_null(seam__idmap_check(map), "%s", seam__idmap_check(map))

Test(idmap, agrees_with_an_array)
{
	enum { KEYS = 3000 };
	static uint64_t expected[KEYS]; /* 0: absent */
	struct seam_idmap map;
	seam__idmap_init(&map);
	uint64_t random = 1;
	for (int i = 0; i < 20000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		const uint64_t key = random >> 33 & 0xffff;
		const uint64_t index = key % KEYS;
		if (random >> 60 < 10) {
			uint64_t *values;
			cr_assert_eq(seam__idmap_put(&map, index << 32, &values), SEAM_OK);
			cr_assert_eq(values[0], expected[index], "key %llu", (unsigned long long)index);
			values[0] = expected[index] = (uint64_t)i + 1;
		} else {
			seam__idmap_remove(&map, index << 32);
			expected[index] = 0;
		}
	}
	size_t present = 0;
	for (uint64_t index = 0; index < KEYS; index++) {
		const uint64_t *values = seam__idmap_find(&map, index << 32);
		cr_assert_eq(values != NULL ? values[0] : 0, expected[index], "key %llu", (unsigned long long)index);
		present += expected[index] != 0;
	}
	cr_assert_eq(map.count, present);
	assert_whole(&map);
	seam__idmap_fini(&map);
}

Test(idmap, every_failed_insertion_changes_nothing)
{
	struct seam_idmap map;
	seam__idmap_init(&map);
	uint64_t *values;
	for (uint64_t key = 0; key < 2000; key++) {
		seam__meta_fail_at(seam__meta_process(), 1);
		const size_t before = map.count;
		enum seam_rc rc = seam__idmap_put(&map, key, &values);
		if (rc != SEAM_OK) {
			cr_assert_eq(rc, SEAM_OOM_META);
			cr_assert_eq(map.count, before);
			cr_assert_null(seam__idmap_find(&map, key));
			cr_assert_eq(seam__idmap_put(&map, key, &values), SEAM_OK);
		}
		cr_assert_not_null(seam__idmap_find(&map, key), "key %llu", (unsigned long long)key);
	}
	assert_whole(&map);
	seam__meta_fail_at(seam__meta_process(), 0);
	seam__idmap_fini(&map);
}

Test(idmap, numbers_keys_as_they_come)
{
	struct seam_idmap map;
	uint32_t number;
	seam__idmap_init(&map);
	for (uint32_t i = 0; i < 900; i++) {
		const uint64_t key = (uint64_t)(i % 300) * 77777;
		cr_assert_eq(seam__idmap_number(&map, key, &number), SEAM_OK);
		cr_assert_eq(number, i % 300);
		cr_assert_eq(seam__idmap_find(&map, key)[0], i % 300 + 1u);
	}
	cr_assert_eq(seam__idmap_set(&map, 77777, 5), SEAM_OK);
	cr_assert_eq(seam__idmap_find(&map, 77777)[0], 5u);
	cr_assert_eq(map.count, 300);
	unsigned failures = 0;
	for (uint64_t key = 1; key < 2000; key++) {
		const size_t before = map.count;
		seam__meta_fail_at(seam__meta_process(), 1);
		enum seam_rc rc =
			key % 2 == 0 ? seam__idmap_number(&map, key, &number) : seam__idmap_set(&map, key, key);
		cr_assert_eq(map.count, before + (rc == SEAM_OK));
		cr_assert_eq(seam__idmap_find(&map, key) != NULL, rc == SEAM_OK);
		failures += rc != SEAM_OK;
	}
	seam__meta_fail_at(seam__meta_process(), 0);
	cr_assert_gt(failures, 0);
	assert_whole(&map);
	seam__idmap_fini(&map);
}
