/* test_sequence_diff.c: correspondences of rows against the textbook's table of shortest edits. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "meta.h"
#include "random_problem.h"
#include "sequence_diff.h"
#include "trace_sample.h"

#define MOST 60u

static void tear_down(void)
{
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(sequence_diff, .fini = tear_down);

/* Insertions and removals, by the table. */
static uint32_t shortest(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count)
{
	static uint32_t table[MOST + 1][MOST + 1];

	for (uint32_t i = 0; i <= a_count; i++) {
		for (uint32_t j = 0; j <= b_count; j++) {
			if (i == 0 || j == 0)
				table[i][j] = i + j;
			else if (a[i - 1] == b[j - 1])
				table[i][j] = table[i - 1][j - 1];
			else
				table[i][j] =
					1 + (table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] : table[i][j - 1]);
		}
	}
	return table[a_count][b_count];
}

static void expect_match(const uint64_t *a, uint32_t a_count, const uint64_t *b, uint32_t b_count, uint64_t seed)
{
	uint32_t edits = shortest(a, a_count, b, b_count);
	uint32_t match[MOST + 1];
	uint32_t matched = 0;
	uint32_t next = 0;

	cr_assert_eq(seam__diff_match(a, a_count, b, b_count, edits, match), SEAM_OK, "seed %lu", (unsigned long)seed);
	for (uint32_t i = 0; i < b_count; i++) {
		if (match[i] == SEAM__DIFF_NONE)
			continue;
		cr_assert(match[i] >= next && match[i] < a_count && a[match[i]] == b[i], "seed %lu, element %u",
			(unsigned long)seed, i);
		next = match[i] + 1;
		matched++;
	}
	cr_expect_eq(a_count + b_count - 2 * matched, edits, "seed %lu: %u matched", (unsigned long)seed, matched);
	if (edits > 0)
		cr_expect_eq(seam__diff_match(a, a_count, b, b_count, edits - 1, match), SEAM_NOT_FOUND, "seed %lu",
			(unsigned long)seed);
}

Test(sequence_diff, is_the_shortest)
{
	for (uint64_t seed = 0; seed < 2000; seed++) {
		uint64_t random = seed * 7919 + 1;
		uint64_t letters = 1 + random_below(&random, 12);
		uint64_t a[MOST];
		uint64_t b[MOST];
		uint32_t a_count = (uint32_t)random_below(&random, MOST);
		uint32_t b_count = (uint32_t)random_below(&random, MOST);

		for (uint32_t i = 0; i < a_count; i++)
			a[i] = random_below(&random, letters);
		for (uint32_t i = 0; i < b_count; i++)
			b[i] = seed % 2 == 0 && i < a_count && random_below(&random, 8) != 0
				? a[i]
				: random_below(&random, letters);
		expect_match(a, a_count, b, b_count, seed);
	}
}

/* More edits than are tried at first, and more than are tried at all. */
Test(sequence_diff, of_long_rows_is_bounded)
{
	static uint64_t a[5000];
	static uint64_t b[5000];
	static uint32_t match[5000];

	for (uint32_t i = 0; i < 5000; i++)
		a[i] = b[i] = i;
	for (uint32_t i = 0; i < 200; i++)
		b[10 * i] = 10000 + i;
	cr_expect_eq(seam__diff_match(a, 5000, b, 5000, 400, match), SEAM_OK);
	cr_expect_eq(match[1], 1);
	cr_expect_eq(match[10], SEAM__DIFF_NONE);
	cr_expect_eq(seam__diff_match(a, 5000, b, 5000, 399, match), SEAM_NOT_FOUND);
	for (uint32_t i = 0; i < 5000; i++)
		b[i] = 20000 + i;
	cr_expect_eq(seam__diff_match(a, 5000, b, 5000, UINT32_MAX, match), SEAM_NOT_FOUND);
}

Test(sequence_diff, says_when_there_is_no_memory)
{
	static const uint64_t a[] = {1, 2, 3};
	static const uint64_t b[] = {1, 4, 3};
	uint32_t match[3];

	seam__meta_fail_at(seam__meta_process(), 1);
	cr_expect_eq(seam__diff_match(a, 3, b, 3, 9, match), SEAM_OOM_META);
	seam__meta_fail_at(seam__meta_process(), 0);
}
