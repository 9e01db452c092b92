/* test_last_uses.c: who used memory last, against an array that has an entry for every 256 bytes. */
#include <string.h>

#include "last_uses.h"
#include "meta_fixture.h"

#define GRAIN 256u
#define GRAINS 600u
#define STEPS 20000u

static struct seam_last_uses last_uses;

/* What is noted of each grain; streams 0: nothing. */
static struct {
	uint64_t streams, stamp;
} naive[GRAINS];

static void open_uses(void)
{
	set_up();
	seam__last_uses_init(&last_uses, meta);
	memset(naive, 0, sizeof(naive));
}

static void close_uses(void)
{
	seam__last_uses_fini(&last_uses);
	tear_down();
}

TestSuite(last_uses, .init = open_uses, .fini = close_uses);

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static void expect_whole(void)
{
	cr_assert_null(seam__last_uses_check(&last_uses));
	cr_assert_null(seam__slab_check(&last_uses.slab));
}

/* Every range is as long as the same is noted, and every grain that is noted lies in one. */
static void expect_naive(void)
{
	const struct seam_last_use *range = seam__last_uses_behind(&last_uses, 0);
	for (uint32_t at = 0, end; at < GRAINS; at = end) {
		for (end = at + 1; end < GRAINS && memcmp(&naive[end], &naive[at], sizeof(naive[at])) == 0; end++)
			;
		if (naive[at].streams == 0)
			continue;
		cr_assert_not_null(range);
		cr_assert(range->begin == at * GRAIN && range->end == end * GRAIN, "grains %u to %u", at, end);
		cr_assert(range->streams == naive[at].streams && range->stamp == naive[at].stamp);
		cr_assert_eq(seam__last_uses_behind(&last_uses, at * GRAIN), range);
		cr_assert_eq(seam__last_uses_behind(&last_uses, end * GRAIN - 1), range);
		range = seam__last_uses_next(range);
	}
	cr_assert_null(range);
	expect_whole();
}

/* `most` grains long at most, `kinds` different uses. */
static bool note_any(uint64_t *state, uint32_t most, uint32_t kinds)
{
	const uint32_t first = next(state) % GRAINS, longest = GRAINS - first < most ? GRAINS - first : most;
	const uint32_t behind = first + 1 + next(state) % longest, kind = next(state) % kinds;
	const uint64_t streams = 1 + kind % 3, stamp = kind / 3;
	if (!seam__last_uses_note(&last_uses, first * GRAIN, behind * GRAIN, streams, stamp))
		return false;
	for (uint32_t i = first; i < behind; i++) {
		naive[i].streams = streams;
		naive[i].stamp = stamp;
	}
	return true;
}

Test(last_uses, are_those_of_an_array_of_bytes)
{
	static const struct {
		uint32_t most, kinds;
	} rows[] = {{1, 2}, {4, 2}, {4, 100}, {40, 7}, {GRAINS, 4}};
	for (uint64_t seed = 0; seed < sizeof(rows) / sizeof(rows[0]); seed++) {
		uint64_t state = seed;
		for (uint32_t step = 0; step < STEPS; step++) {
			cr_assert(note_any(&state, rows[seed].most, rows[seed].kinds));
			if (step % 8 == 0)
				expect_naive();
			else
				expect_whole();
		}
	}
}

/* Three ranges of different streams beside each other, and one use more: which ranges there are then. */
Test(last_uses, neighbours_that_are_the_same_are_one)
{
	static const struct {
		uint64_t begin, end, streams;
		unsigned ranges;
	} rows[] = {
		{10, 20, 1, 2},                                               /* all of the second, as the first */
		{10, 20, 2, 3},                                               /* the same again */
		{10, 20, 4, 2},                                               /* as the third */
		{10, 20, 8, 3}, {12, 18, 8, 5},                               /* within it */
		{0, 30, 8, 1}, {5, 25, 1, 2}, {20, 21, 2, 3}, {40, 50, 4, 4}, /* apart from it */
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned ranges = 0;
		for (uint64_t k = 0; k < 3; k++)
			cr_assert(seam__last_uses_note(&last_uses, 10 * k, 10 * k + 10, UINT64_C(1) << k, 5));
		cr_assert(seam__last_uses_note(&last_uses, rows[i].begin, rows[i].end, rows[i].streams, 5));
		for (const struct seam_last_use *range = seam__last_uses_behind(&last_uses, 0); range != NULL;
			range = seam__last_uses_next(range))
			ranges++;
		cr_expect_eq(ranges, rows[i].ranges, "row %u: %u", i, ranges);
		expect_whole();
		seam__last_uses_fini(&last_uses);
	}
}

Test(last_uses, without_metadata_nothing_changes)
{
	uint64_t state = 1;
	unsigned failed = 0;
	for (uint32_t step = 0; step < STEPS; step++) {
		seam__meta_fail_at(meta, 1);
		failed += !note_any(&state, 2, 1000);
		expect_naive();
	}
	seam__meta_fail_at(meta, 0);
	cr_expect_gt(failed, 0);
}

Test(last_uses, what_is_in_disorder_is_seen)
{
	for (uint64_t i = 0; i < 3; i++)
		cr_assert(seam__last_uses_note(&last_uses, 10 * i, 10 * i + 10, 1 + i, i));
	expect_whole();
	struct seam_last_use *range = (void *)(uintptr_t)seam__last_uses_behind(&last_uses, 10);
	const struct seam_last_use before = *range;
	range->end++;
	cr_expect_not_null(seam__last_uses_check(&last_uses), "an overlap");
	*range = before;
	range->begin = range->end;
	cr_expect_not_null(seam__last_uses_check(&last_uses), "an empty one");
	*range = before;
	range->streams = 0;
	cr_expect_not_null(seam__last_uses_check(&last_uses), "nobody's");
	range->streams = 1;
	range->stamp = 0;
	cr_expect_not_null(seam__last_uses_check(&last_uses), "the same as its neighbour");
	*range = before;
	last_uses.slab.live_objects++;
	cr_expect_not_null(seam__last_uses_check(&last_uses), "one is lost");
	last_uses.slab.live_objects--;
	expect_whole();
}
