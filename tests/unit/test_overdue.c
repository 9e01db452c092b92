/* test_overdue.c: blocks by address, against a plain array. */
#include <criterion/criterion.h>
#include <stdbool.h>

#include "overdue.h"

#define PLACES 64u

static struct seam_overdue_block nodes[PLACES];
static bool present[PLACES];
static struct seam_overdue overdue;

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static const struct seam_overdue_block *lowest_behind(uint64_t at)
{
	for (uint32_t i = 0; i < PLACES; i++)
		if (present[i] && nodes[i].end > at)
			return &nodes[i];
	return NULL;
}

Test(overdue, they_are_found_by_address)
{
	uint64_t state = 1, count = 0;
	for (uint32_t step = 0; step < 5000; step++) {
		const uint32_t i = next(&state) % PLACES;
		if (present[i]) {
			seam__overdue_remove(&overdue, &nodes[i]);
		} else {
			nodes[i].begin = i * 100;
			nodes[i].end = i * 100 + 1 + next(&state) % 100;
			seam__overdue_insert(&overdue, &nodes[i]);
		}
		count += present[i] ? UINT64_MAX : 1;
		present[i] = !present[i];
		cr_assert_eq(overdue.count, count);
		cr_assert_null(seam__overdue_check(&overdue), "%s", seam__overdue_check(&overdue));
		const uint64_t at = next(&state) % (PLACES * 100);
		cr_assert_eq(
			seam__overdue_behind(&overdue, at), lowest_behind(at), "behind %llu", (unsigned long long)at);
		const uint32_t k = next(&state) % PLACES;
		cr_assert_eq(seam__overdue_find(&overdue, k * 100), present[k] ? &nodes[k] : NULL);
		cr_assert_null(seam__overdue_find(&overdue, k * 100 + 1));
	}
}

Test(overdue, what_is_in_disorder_is_seen)
{
	struct seam_overdue_block a = {.begin = 0, .end = 10}, b = {.begin = 20, .end = 30};
	struct seam_overdue two = {0};
	seam__overdue_insert(&two, &a);
	seam__overdue_insert(&two, &b);
	cr_assert_null(seam__overdue_check(&two));
	a.end = 21;
	cr_assert_not_null(seam__overdue_check(&two));
	a.end = 10;
	two.count = 1;
	cr_assert_not_null(seam__overdue_check(&two));
	two.count = 2;
	a.end = 10;
	b.end = two.to = 20;
	cr_assert_not_null(seam__overdue_check(&two), "one is empty");
	b.end = two.to = 30;
	a.end = 20;
	cr_assert_null(seam__overdue_check(&two), "they may touch");
	for (uint64_t off = 1; off != 0; off = off == 1 ? UINT64_MAX : 0) {
		two.from += off;
		cr_assert_not_null(seam__overdue_check(&two));
		two.from -= off;
		two.to += off;
		cr_assert_not_null(seam__overdue_check(&two));
		two.to -= off;
	}
	cr_assert_null(seam__overdue_check(&two));
}
