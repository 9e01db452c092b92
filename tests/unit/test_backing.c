/* test_backing.c: fewer chunks than addresses: no byte shared wrongly (looked at here pair by pair, with no formula of
 * the library), bounds kept, what must stay where it is; and that the bound is reached where it can be. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "backing.h"
#include "cells.h"
#include "check.h"
#include "meta.h"
#include "random_problem.h"

static struct seam_meta *meta;
static struct seam__problem problem;
static struct seam__placement best;
static struct seam__budget budget;
static struct seam__backing backing;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__budget_init(&budget);
}

static void clear(void)
{
	seam__backing_fini(&backing, &problem);
	seam__placement_fini(&best, &problem);
	seam__problem_fini(&problem);
}

static void tear_down(void)
{
	if (problem.meta != NULL)
		clear();
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(backing, .init = set_up, .fini = tear_down);

static uint64_t address_of(uint32_t item)
{
	return backing.offsets != NULL ? backing.offsets[item] : best.offsets[item];
}

/* The physical byte behind byte `n` of an item. */
static uint64_t physical(uint32_t item, uint64_t n, uint64_t chunk_bytes)
{
	uint64_t at = address_of(item) + n;
	uint64_t column = at / chunk_bytes;

	cr_assert_lt(column, backing.column_count);
	return (backing.chunks != NULL ? backing.chunks[column] : column) * chunk_bytes + at % chunk_bytes;
}

static bool begins_while_held(uint32_t i, uint32_t j)
{
	const struct seam__item *a = &problem.items[i];
	uint32_t stream = problem.items[j].stream;
	uint32_t hold = problem.holds == NULL ? a->span : problem.holds[(size_t)i * problem.streams + stream];

	for (uint32_t step = 0; step < hold && step < problem.circle; step++)
		if ((a->begin + step) % problem.circle == problem.items[j].begin)
			return true;
	return false;
}

/* Every item writes its number into its bytes; those it conflicts with must not be found there. */
static void expect_apart(uint64_t chunk_bytes, uint64_t seed)
{
	uint64_t size = backing.physical_chunks * chunk_bytes;
	uint8_t *bytes = calloc(size > 0 ? size : 1, 1);

	for (uint32_t i = 0; i < problem.count; i++) {
		for (uint64_t n = 0; n < problem.items[i].size_bytes; n++) {
			uint8_t *byte = &bytes[physical(i, n, chunk_bytes)];

			cr_assert_eq(*byte, 0, "seed %llu: item %u has a byte twice", (unsigned long long)seed, i);
			*byte = 1;
		}
		for (uint32_t j = 0; j < problem.count; j++) {
			if (j == i || (!begins_while_held(i, j) && !begins_while_held(j, i)))
				continue;
			for (uint64_t n = 0; n < problem.items[j].size_bytes; n++)
				cr_assert_eq(bytes[physical(j, n, chunk_bytes)], 0, "seed %llu: items %u and %u",
					(unsigned long long)seed, i, j);
		}
		for (uint64_t n = 0; n < problem.items[i].size_bytes; n++)
			bytes[physical(i, n, chunk_bytes)] = 0;
	}
	free(bytes);
}

static void expect_in_place(uint64_t seed)
{
	for (uint32_t i = 0; i < problem.count; i++) {
		const struct seam__item *item = &problem.items[i];

		cr_expect_eq(address_of(i) % problem.align_bytes, 0, "seed %llu", (unsigned long long)seed);
		if (item->fixed_bytes != SEAM__ADDRESS_ANY)
			cr_expect_eq(
				address_of(i), item->fixed_bytes, "seed %llu: fixed %u", (unsigned long long)seed, i);
		if (item->next != SEAM__ITEM_NONE)
			cr_expect_eq(address_of(item->next), address_of(i) + item->size_bytes, "seed %llu: link of %u",
				(unsigned long long)seed, i);
	}
}

static void place(const char *solver)
{
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find(solver), &problem, &budget, &best), SEAM_OK);
}

static uint64_t div_up(uint64_t value, uint64_t by)
{
	return (value + by - 1) / by;
}

static void make(uint64_t chunk_bytes)
{
	cr_assert_eq(
		seam__backing_make(&problem, &budget, best.offsets, best.peak_bytes, chunk_bytes, &backing), SEAM_OK);
}

Test(backing, shares_no_byte_wrongly)
{
	uint32_t saved = 0;

	for (uint64_t seed = 0; seed < 320; seed++) {
		struct random_wish wish = {.seed = seed,
			.count = 1 + (uint32_t)seed % 50,
			.features = (unsigned)seed % 16,
			.sizes = seed % 5 == 0 ? 4 : 0,
			.align_bytes = seed % 3 == 0 ? 8 : 1};
		uint64_t chunk_bytes = wish.align_bytes * (seed % 2 == 0 ? 16 : 64);

		random_problem(&wish, meta, &problem);
		place(seed % 7 == 0 ? "stack" : "so-source-first");
		make(chunk_bytes);
		cr_assert_null(seam__backing_check(&backing, &problem, best.offsets, chunk_bytes), "seed %llu: %s",
			(unsigned long long)seed, seam__backing_check(&backing, &problem, best.offsets, chunk_bytes));
		expect_apart(chunk_bytes, seed);
		expect_in_place(seed);
		cr_expect_geq(backing.physical_chunks, div_up(problem.lower_bytes, chunk_bytes), "seed %llu",
			(unsigned long long)seed);
		cr_expect_leq(backing.physical_chunks, div_up(best.peak_bytes, chunk_bytes), "seed %llu",
			(unsigned long long)seed);
		saved += backing.chunks != NULL;
		clear();
	}
	cr_expect_gt(saved, 50, "backings were made in %u cases only", saved);
}

/* On a line as many chunks are enough as columns are ever in use at once, whatever the placement. */
Test(backing, reaches_what_the_columns_in_use_allow_on_a_line)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct random_wish wish = {.seed = seed, .count = 40};
		struct seam__cells cells;

		random_problem(&wish, meta, &problem);
		place("so-source-first");
		make(16);
		cr_assert_eq(seam__cells_init(&cells, &problem, best.offsets, best.peak_bytes, 16), SEAM_OK);
		uint64_t bound = div_up(problem.lower_bytes, 16);
		cr_expect_eq(backing.physical_chunks, cells.busiest > bound ? cells.busiest : bound, "seed %llu",
			(unsigned long long)seed);
		seam__cells_fini(&cells);
		clear();
	}
}

/* Whole chunks in a stack of all items: the paging argument reaches the bound exactly. */
Test(backing, reaches_the_bound_for_items_of_whole_chunks)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		uint64_t state = seed;

		cr_assert_eq(seam__problem_init(&problem, meta, 30, 60, true, 1, 16), SEAM_OK);
		for (uint32_t i = 0; i < 30; i++) {
			uint32_t begin = (uint32_t)random_below(&state, 60);

			(void)seam__problem_add(&problem, 16 * (1 + random_below(&state, 5)), begin,
				1 + (uint32_t)random_below(&state, 60 - begin));
		}
		cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
		place("stack");
		make(16);
		cr_expect_eq(backing.physical_chunks, problem.lower_bytes / 16, "seed %llu", (unsigned long long)seed);
		expect_apart(16, seed);
		clear();
	}
}

/* Two of one chunk live on both sides of where the third begins: no placement has them in three chunks' height. */
Test(backing, a_gap_that_is_not_contiguous_becomes_a_view)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 4, 10, true, 1, 8), SEAM_OK);
	(void)seam__problem_add(&problem, 8, 0, 4);
	(void)seam__problem_add(&problem, 8, 1, 9);
	(void)seam__problem_add(&problem, 8, 2, 4);
	(void)seam__problem_add(&problem, 16, 6, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	best.offsets[0] = 0;
	best.offsets[1] = 8;
	best.offsets[2] = 16;
	best.offsets[3] = 16;
	best.peak_bytes = 32;
	make(8);
	cr_expect_eq(backing.physical_chunks, 3);
	cr_expect_eq(backing.column_count, 5);
	cr_expect_eq(physical(3, 0, 8) + physical(3, 8, 8), 16, "the third and the first chunk");
	expect_apart(8, 0);
}

Test(backing, a_placement_at_the_bound_is_left_plain)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 1, 4, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 20, 0, 4);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	place("stack");
	make(16);
	cr_expect_null(backing.chunks);
	cr_expect_null(backing.offsets);
	cr_expect_eq(backing.physical_chunks, 2);
	cr_expect_eq(backing.column_count, 2);
}

Test(backing, a_spent_budget_or_a_failed_allocation_leaves_it_plain_or_nothing)
{
	struct random_wish wish = {.seed = 11, .count = 40, .features = SEAM__HAS_WRAP};
	uint64_t n = 0;

	random_problem(&wish, meta, &problem);
	place("stack");
	budget.nodes_left = 0;
	make(16);
	cr_expect_null(backing.chunks);
	seam__budget_init(&budget);
	for (bool fired = true; fired;) {
		seam__meta_fail_at(meta, ++n);
		enum seam_rc rc = seam__backing_make(&problem, &budget, best.offsets, best.peak_bytes, 16, &backing);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_expect_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "allocation %llu", (unsigned long long)n);
	}
	cr_expect_gt(n, 10);
	cr_expect_not_null(backing.chunks);
	cr_expect_eq(seam__backing_make(&problem, &budget, best.offsets, best.peak_bytes, 0, &backing), SEAM_INVALID);
}

Test(backing, the_check_finds_what_is_wrong)
{
	struct random_wish wish = {.seed = 3, .count = 30};
	uint32_t kept;

	random_problem(&wish, meta, &problem);
	place("stack");
	make(16);
	cr_assert_not_null(backing.chunks);
	cr_expect_null(seam__backing_check(&backing, &problem, best.offsets, 16));
	kept = backing.chunks[1];
	backing.chunks[1] = backing.physical_chunks;
	cr_expect_str_eq(seam__backing_check(&backing, &problem, best.offsets, 16), "B1 chunks");
	backing.chunks[1] = backing.chunks[0];
	cr_expect_not_null(seam__backing_check(&backing, &problem, best.offsets, 16));
	backing.chunks[1] = kept;
	backing.offsets[4] += UINT64_C(1) << 40;
	cr_expect_str_eq(seam__backing_check(&backing, &problem, best.offsets, 16), "B2 beyond the columns");
	for (uint32_t i = 0; i < problem.count; i++)
		backing.offsets[i] = 0;
	cr_expect_str_eq(seam__backing_check(&backing, &problem, best.offsets, 16), "B3 shared bytes");
}

Test(backing, what_is_too_much_to_look_at_is_left_plain)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 3, 4, true, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < 3; i++)
		(void)seam__problem_add(&problem, UINT64_C(1) << 31, i, 1);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	place("stack");
	make(256);
	cr_expect_null(backing.chunks);
	cr_expect_eq(backing.physical_chunks, 3u << 23);
	cr_expect_eq(seam__backing_make(&problem, &budget, best.offsets, best.peak_bytes, 1, &backing), SEAM_INVALID);
}

/* One item of many chunks may take long: each chunk that is taken from another column is work, and is counted. */
Test(backing, the_budget_is_spent_chunk_by_chunk)
{
	const uint64_t nodes = UINT64_C(1) << 40;
	uint32_t above = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_wish wish = {.seed = seed, .count = 40};

		random_problem(&wish, meta, &problem);
		place("so-source-first");
		seam__budget_init(&budget);
		budget.nodes_left = nodes;
		make(1);
		/* Two attempts, in which every item is given its chunks once. */
		above += nodes - budget.nodes_left > 2 * wish.count * (1 + (uint64_t)backing.physical_chunks / 256);
		clear();
	}
	cr_expect_gt(above, 0);
}
