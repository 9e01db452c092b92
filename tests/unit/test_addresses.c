/* test_addresses.c: sets of addresses against a map of bits. */
#include <string.h>

#include "addresses.h"
#include "meta_fixture.h"
#include "random_problem.h"
#include "region.h"

#define SPACE 400u

static struct seam_region *region;

static void begin(void)
{
	set_up();
	region = seam__region_create(meta);
	cr_assert_not_null(region);
}

static void end(void)
{
	seam__region_destroy(region);
	tear_down();
}

TestSuite(addresses, .init = begin, .fini = end);

static void expect_same(const struct seam_addresses *set, const bool *taken, const char *what)
{
	uint32_t at = 0;

	cr_assert_null(seam__addresses_check(set), "%s: %s", what, seam__addresses_check(set));
	for (uint32_t a = 0; a < SPACE; a++) {
		while (at < set->count && set->stretches[at].end_bytes <= a)
			at++;
		cr_assert_eq(
			at < set->count && set->stretches[at].begin_bytes <= a, taken[a], "%s: address %u", what, a);
		cr_assert_eq(seam__addresses_find(set, 0, a), at, "%s: find %u", what, a);
		cr_assert_eq(seam__addresses_find(set, at / 2, a), at, "%s: find %u from %u", what, a, at / 2);
	}
}

Test(addresses, they_are_the_union_of_what_was_added)
{
	struct seam_address_heap heap;
	uint64_t state = 3;

	seam__address_heap_init(&heap, region);
	for (int round = 0; round < 20; round++) {
		struct seam_addresses set = {0};
		bool taken[SPACE] = {false};

		seam__address_heap_clear(&heap);
		for (int n = 0; n < 60; n++) {
			uint64_t begin = random_below(&state, SPACE - 8);
			uint64_t end = begin + 1 + random_below(&state, round % 2 == 0 ? 2 : 8);

			cr_assert_eq(seam__addresses_add(&set, &heap, begin, end), SEAM_OK);
			for (uint64_t a = begin; a < end; a++)
				taken[a] = true;
			expect_same(&set, taken, round % 2 == 0 ? "small stretches" : "large stretches");
		}
	}
}

Test(addresses, many_sets_share_a_heap_without_mixing)
{
	struct seam_address_heap heap;
	static struct seam_addresses sets[300];
	static bool taken[300][SPACE];
	uint64_t state = 9;

	seam__address_heap_init(&heap, region);
	for (int n = 0; n < 12000; n++) {
		uint64_t s = random_below(&state, 300);
		uint64_t begin = random_below(&state, SPACE);

		cr_assert_eq(seam__addresses_add(&sets[s], &heap, begin, begin + 1), SEAM_OK);
		taken[s][begin] = true;
	}
	for (int s = 0; s < 300; s++)
		expect_same(&sets[s], taken[s], "one of many");
}

Test(addresses, a_heap_uses_its_memory_again)
{
	struct seam_address_heap heap;
	struct seam_meta_stats stats;
	uint64_t first_bytes = 0;

	seam__address_heap_init(&heap, region);
	for (int round = 0; round < 5; round++) {
		struct seam_addresses set = {0};

		seam__address_heap_clear(&heap);
		for (uint64_t a = 0; a < 20000; a++)
			cr_assert_eq(seam__addresses_add(&set, &heap, 2 * a, 2 * a + 1), SEAM_OK);
		cr_assert_eq(set.count, 20000);
		seam__meta_get_stats(meta, &stats);
		if (round == 0)
			first_bytes = stats.live_bytes;
		cr_expect_eq(stats.live_bytes, first_bytes, "round %d", round);
	}
}

Test(addresses, a_failed_allocation_leaves_the_set)
{
	struct seam_address_heap heap;
	struct seam_addresses set = {0};

	seam__address_heap_init(&heap, region);
	seam__meta_fail_at(meta, 1);
	cr_expect_eq(seam__addresses_add(&set, &heap, 5, 6), SEAM_OOM_META);
	cr_expect_eq(set.count, 0);
	cr_expect_eq(seam__addresses_add(&set, &heap, 5, 6), SEAM_OK);
	cr_expect_eq(set.count, 1);
}
