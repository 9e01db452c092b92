/* test_live.c: the table of live blocks against a plain list, and what its check names. */
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "live.h"
#include "meta_fixture.h"

enum { MOST = 3000, STEPS = 40000 };

TestSuite(live, .init = set_up, .fini = tear_down);

static struct seam_block blocks[MOST];
static bool is_in[MOST];

/* Addresses as views have them: runs of neighbours, some far apart. */
static void lay_out(unsigned seed)
{
	uint64_t va = UINT64_C(1) << 40;
	srand(seed);
	for (size_t i = 0; i < MOST; i++) {
		blocks[i] = (struct seam_block){.va = va};
		va += SEAM_BLOCK_BYTES * (uint64_t)(rand() % 8 == 0 ? 1 << (rand() % 20) : 1);
		is_in[i] = false;
	}
}

static void expect_same(const struct seam_live *live)
{
	uint64_t at = 0, count = 0;
	const struct seam_block *block;
	while ((block = seam__live_next(live, &at)) != NULL) {
		cr_assert(is_in[block - blocks], "a block that left");
		count++;
	}
	cr_assert_eq(count, live->count);
	for (size_t i = 0; i < MOST; i++)
		cr_assert_eq(seam__live_at(live, blocks[i].va), is_in[i] ? &blocks[i] : NULL, "block %zu", i);
	const char *broken = seam__live_check(live);
	cr_assert_null(broken, "broken: %s", broken);
}

Test(live, it_holds_what_came_and_did_not_leave)
{
	for (unsigned seed = 1; seed <= 5; seed++) {
		struct seam_live live = {0};
		lay_out(seed);
		expect_same(&live);
		for (int step = 0; step < STEPS; step++) {
			const size_t i = (size_t)rand() % (seed * MOST / 5);
			if (is_in[i]) {
				seam__live_remove(&live, blocks[i].va);
			} else {
				cr_assert_eq(seam__live_reserve(&live, meta, 1), SEAM_OK);
				seam__live_insert(&live, blocks[i].va, &blocks[i]);
			}
			is_in[i] = !is_in[i];
			if (step % 1000 == 0)
				expect_same(&live);
		}
		expect_same(&live);
		cr_expect_null(seam__live_at(&live, 0));
		cr_expect_null(seam__live_at(&live, blocks[0].va + SEAM_BLOCK_BYTES / 2));
		seam__live_fini(&live, meta);
	}
}

Test(live, after_a_reserve_nothing_that_comes_takes_memory)
{
	struct seam_live live = {0};
	lay_out(1);
	cr_assert_eq(seam__live_reserve(&live, meta, MOST), SEAM_OK);
	seam__meta_fail_at(meta, 1);
	for (size_t i = 0; i < MOST; i++) {
		cr_assert_eq(seam__live_reserve(&live, meta, 1), SEAM_OK, "block %zu", i);
		seam__live_insert(&live, blocks[i].va, &blocks[i]);
		is_in[i] = true;
	}
	seam__meta_fail_at(meta, 0);
	expect_same(&live);
	seam__live_fini(&live, meta);
}

Test(live, a_table_that_cannot_grow_is_as_it_was)
{
	struct seam_live live = {0};
	lay_out(2);
	unsigned failures = 0;
	for (size_t i = 0; i < MOST; i++) {
		seam__meta_fail_at(meta, 1);
		if (seam__live_reserve(&live, meta, 1) == SEAM_OOM_META) {
			failures++;
			expect_same(&live);
			cr_assert_eq(seam__live_reserve(&live, meta, 1), SEAM_OK);
		}
		seam__meta_fail_at(meta, 0);
		seam__live_insert(&live, blocks[i].va, &blocks[i]);
		is_in[i] = true;
	}
	cr_expect_eq(failures, 8, "64 places, and seven times twice as many");
	seam__live_fini(&live, meta);
}

/* How many places a block of a run has before it in the run at the most, with its own, if equal blocks lie beside each
 * other. */
static double mean_run(struct seam_live *live, uint64_t bytes)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < MOST; i++) {
		blocks[i].va = (UINT64_C(3) << 40) + i * bytes;
		cr_assert_eq(seam__live_reserve(live, meta, 1), SEAM_OK);
		seam__live_insert(live, blocks[i].va, &blocks[i]);
	}
	uint64_t run = 0;
	for (uint64_t at = 0; at < live->capacity; at++) {
		run = live->places[at].va != 0 ? run + 1 : 0;
		sum += run;
	}
	for (size_t i = 0; i < MOST; i++)
		seam__live_remove(live, blocks[i].va);
	return (double)sum / MOST;
}

Test(live, no_size_of_blocks_makes_long_runs)
{
	static const uint64_t sizes[] = {1, 377, 1292, 1597, 2016, 2584, 4096, 5777}; /* of 512 bytes */
	struct seam_live live = {0};
	lay_out(1);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		const double mean = mean_run(&live, sizes[i] * SEAM_BLOCK_BYTES);
		cr_expect_lt(mean, 4, "blocks of %lu bytes: %.1f places", sizes[i] * SEAM_BLOCK_BYTES, mean);
	}
	seam__live_fini(&live, meta);
}

static void expect_broken(const struct seam_live *live, const char *name)
{
	const char *broken = seam__live_check(live);
	cr_expect(broken != NULL && strncmp(broken, name, strlen(name)) == 0, "%s expected, found: %s", name, broken);
}

Test(live, the_check_names_what_is_broken)
{
	struct seam_live live = {0};
	lay_out(3);
	cr_assert_eq(seam__live_reserve(&live, meta, 2), SEAM_OK);
	seam__live_insert(&live, blocks[0].va, &blocks[0]);
	seam__live_insert(&live, blocks[1].va, &blocks[1]);
	cr_assert_null(seam__live_check(&live));
	uint64_t at = 0;
	while (live.places[at].va != blocks[0].va)
		at++;
	const struct seam_live_place moved = live.places[at], empty = {0};
	live.places[at] = empty;
	expect_broken(&live, "LV2");
	uint64_t to = (at + live.capacity / 2) % live.capacity;
	cr_assert_eq(live.places[to].va, 0);
	live.places[to] = moved;
	expect_broken(&live, "LV1");
	live.places[to] = empty;
	live.places[at] = moved;
	live.count++;
	expect_broken(&live, "LV2");
	live.count--;
	seam__live_fini(&live, meta);
}
