/* test_bytemap.c: the map against an array of bytes. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "bytemap.h"
#include "meta.h"
#include "trace_sample.h"

#define BYTES 64

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void assert_same(struct seam_bytemap *map, const uint64_t *bytes, const char *where)
{
	cr_assert_null(seam__bytemap_check(map), "%s: %s", where, seam__bytemap_check(map));
	for (uint64_t at = 0; at < BYTES; at++) {
		const struct seam_byte_piece *piece = seam__bytemap_find(map, at, at + 1);
		cr_assert_eq(
			piece == NULL ? 0 : piece->number, bytes[at], "%s: byte %llu", where, (unsigned long long)at);
	}
}

Test(bytemap, agrees_with_an_array)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct seam_bytemap map;
		uint64_t bytes[BYTES] = {0};
		uint64_t state = seed;
		seam__bytemap_init(&map, seam__meta_process());
		for (int step = 0; step < 60; step++) {
			const uint64_t begin = next(&state) % BYTES;
			const uint64_t end = begin + 1 + next(&state) % (BYTES - begin);
			const uint64_t number = 1 + next(&state) % 3;
			char where[80];
			(void)snprintf(where, sizeof(where), "seed %llu, step %d", (unsigned long long)seed, step);
			cr_assert_eq(seam__bytemap_set(&map, begin, end, number), SEAM_OK);
			for (uint64_t at = begin; at < end; at++)
				bytes[at] = number;
			assert_same(&map, bytes, where);
		}
		seam__bytemap_fini(&map);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(bytemap, counts_what_lies_over_each_byte)
{
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct seam_bytemap map;
		uint64_t bytes[BYTES] = {0};
		uint64_t begins[20];
		uint64_t ends[20];
		uint64_t state = seed;
		seam__bytemap_init(&map, seam__meta_process());
		for (int i = 0; i < 20; i++) {
			begins[i] = next(&state) % BYTES;
			ends[i] = begins[i] + 1 + next(&state) % (BYTES - begins[i]);
			cr_assert_eq(seam__bytemap_raise(&map, begins[i], ends[i]), SEAM_OK);
			for (uint64_t at = begins[i]; at < ends[i]; at++)
				bytes[at]++;
			assert_same(&map, bytes, "raise");
		}
		for (int i = 0; i < 20; i++) {
			cr_assert_eq(seam__bytemap_lower(&map, begins[i], ends[i]), SEAM_OK);
			for (uint64_t at = begins[i]; at < ends[i]; at++)
				bytes[at]--;
			assert_same(&map, bytes, "lower");
		}
		cr_assert_null(seam__bytemap_find(&map, 0, UINT64_MAX), "seed %llu", (unsigned long long)seed);
		seam__bytemap_fini(&map);
	}
}

Test(bytemap, walks_the_pieces_of_an_interval)
{
	struct seam_bytemap map;
	seam__bytemap_init(&map, seam__meta_process());
	cr_assert_eq(seam__bytemap_set(&map, 0, 10, 1), SEAM_OK);
	cr_assert_eq(seam__bytemap_set(&map, 10, 20, 2), SEAM_OK);
	cr_assert_eq(seam__bytemap_set(&map, 30, 40, 3), SEAM_OK);
	struct seam_byte_piece *piece = seam__bytemap_find(&map, 9, 31);
	cr_assert_eq(piece->number, 1);
	piece = seam__bytemap_next(piece, 31);
	cr_assert_eq(piece->number, 2);
	piece = seam__bytemap_next(piece, 31);
	cr_assert_eq(piece->number, 3);
	cr_assert_null(seam__bytemap_next(piece, 100));
	cr_assert_null(seam__bytemap_find(&map, 20, 30), "nothing holds it");
	cr_assert_null(seam__bytemap_find(&map, 40, 50), "nothing holds it");
	seam__bytemap_fini(&map);
}

Test(bytemap, a_failed_allocation_changes_nothing)
{
	struct seam_bytemap map;
	uint64_t bytes[BYTES] = {0};
	seam__bytemap_init(&map, seam__meta_process());
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_assert_eq(seam__bytemap_set(&map, 0, 10, 1), SEAM_OOM_META);
	assert_same(&map, bytes, "set");
	cr_assert_eq(seam__bytemap_set(&map, 0, 10, 1), SEAM_OK);
	for (int at = 0; at < 10; at++)
		bytes[at] = 1;
	/* The slab's other objects are promised to somebody: what is needed now must be allocated. */
	cr_assert_eq(seam__slab_reserve(&map.slab, map.slab.free_objects), SEAM_OK);
	seam__meta_fail_at(seam__meta_process(), 1);
	enum seam_rc rc = seam__bytemap_set(&map, 4, 6, 2);
	seam__meta_fail_at(seam__meta_process(), 0);
	cr_assert_eq(rc, SEAM_OOM_META);
	assert_same(&map, bytes, "part of a piece");
	seam__bytemap_fini(&map);
}
