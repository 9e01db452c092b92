/* test_bits.c: alignment and checked arithmetic at their edges. */
#include <criterion/criterion.h>

#include "bits.h"

Test(bits, powers_of_two)
{
	cr_assert_not(seam__bits_is_pow2(0));
	for (unsigned i = 0; i < 64; i++) {
		uint64_t power = UINT64_C(1) << i;
		cr_assert(seam__bits_is_pow2(power), "2^%u", i);
		cr_assert_eq(seam__bits_log2(power), i, "2^%u", i);
		cr_assert_eq(seam__bits_is_pow2(power + 1), power == 1, "2^%u + 1", i);
	}
	cr_assert_eq(seam__bits_log2(UINT64_MAX), 63);
	cr_assert_eq(seam__bits_log2(1023), 9);
}

Test(bits, alignment)
{
	static const uint64_t values[] = {0, 1, 511, 512, 513, 1023, (UINT64_C(1) << 40) + 3};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint64_t up = seam__bits_align_up(values[i], 512);
		cr_assert(up % 512 == 0 && up >= values[i] && up - values[i] < 512, "row %zu", i);
		cr_assert_eq(seam__bits_is_aligned(values[i], 512), up == values[i], "row %zu", i);
		cr_assert_eq(seam__bits_div_up(values[i], 512) * 512, up, "row %zu", i);
	}
}

Test(bits, overflow_is_seen_and_leaves_the_result)
{
	uint64_t result = 7;
	cr_assert_not(seam__bits_try_add(UINT64_MAX, 1, &result));
	cr_assert_not(seam__bits_try_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &result));
	cr_assert_not(seam__bits_try_align_up(UINT64_MAX - 100, 512, &result));
	cr_assert_eq(result, 7);
	cr_assert(seam__bits_try_add(UINT64_MAX - 1, 1, &result) && result == UINT64_MAX);
	cr_assert(seam__bits_try_mul(UINT64_MAX, 1, &result) && result == UINT64_MAX);
	cr_assert(seam__bits_try_align_up(UINT64_MAX - 511, 512, &result) && result == UINT64_MAX - 511);
	cr_assert_eq(seam__bits_div_up(UINT64_MAX, 2), UINT64_C(1) << 63);
	cr_assert_eq(seam__bits_min(3, 4), 3);
	cr_assert_eq(seam__bits_max(3, 4), 4);
}

Test(bits, compare_is_an_order)
{
	static const uint64_t values[] = {0, 1, 2, UINT64_MAX / 2 + 1, UINT64_MAX};
	for (int a = 0; a < 5; a++)
		for (int b = 0; b < 5; b++)
			cr_expect_eq(seam__bits_compare(values[a], values[b]), a < b ? -1 : a > b);
}
