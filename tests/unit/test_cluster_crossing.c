/* test_cluster_crossing.c: what crosses the end of a period is moved together, and nothing else is. */
#include <stdio.h>
#include <string.h>

#include "cluster_crossing.h"
#include "match_program.h"
#include "meta_fixture.h"
#include "random_problem.h"
#include "solvers.h"

TestSuite(cluster_crossing, .init = set_up, .fini = tear_down);

#define LAYERS 40u

/* Activations that come one after the other and go in reverse, and gradients that are made meanwhile and live until the
 * next period has begun; each lies where the activation of its layer was. */
static void make_layers(struct seam_problem *problem, struct seam_placement *placed)
{
	cr_assert_eq(seam__problem_init(problem, meta, 2 * LAYERS + 1, 4 * LAYERS + 10, false, 1, 1), SEAM_OK);
	for (uint32_t i = 0; i < LAYERS; i++)
		(void)seam__problem_add(problem, 10, 2 + i, 3 * LAYERS - 2 * i);
	for (uint32_t i = LAYERS; i-- > 0;)
		(void)seam__problem_add(problem, 1, 2 + i + 3 * LAYERS - 2 * i, LAYERS + 9 + i); /* up to position 1 */
	(void)seam__problem_add(problem, 100, LAYERS + 2, 4); /* on top of them, for a short while */
	cr_assert_eq(seam__problem_finish(problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(placed, problem), SEAM_OK);
	for (uint32_t i = 0; i < LAYERS; i++) {
		placed->offsets[i] = 10 * i;
		placed->offsets[LAYERS + i] = 10 * (LAYERS - 1 - i) + 3;
	}
	placed->offsets[2 * LAYERS] = 10 * LAYERS;
	placed->peak_bytes = 10 * LAYERS + 100;
	cr_assert_null(naive_check_placement(problem, placed->offsets, placed->peak_bytes));
}

/* Is the item one of those that are to lie together? */
static bool is_crossing(const struct seam_problem *problem, uint64_t peak_bytes, uint32_t i)
{
	const struct seam_item *item = &problem->items[i];
	uint32_t copies = 1;

	for (uint32_t j = 0; j < problem->count; j++) {
		copies = problem->items[j].copy >= copies ? problem->items[j].copy + 1 : copies;
		if (problem->items[j].next != SEAM__ITEM_NONE)
			return false;
	}
	return !problem->linear && item->fixed_bytes == SEAM__ADDRESS_ANY && item->span < problem->circle &&
		item->begin % (problem->circle / copies) + item->span > problem->circle / copies &&
		item->size_bytes < peak_bytes / 64;
}

/* A piece begins with an item that begins in no other one, nor at its end. */
static uint32_t pieces_of(const struct seam_problem *problem, const struct seam_placement *placed)
{
	uint32_t pieces = 0;

	for (uint32_t i = 0; i < problem->count; i++) {
		bool is_first = is_crossing(problem, placed->peak_bytes, i);

		for (uint32_t j = 0; j < problem->count && is_first; j++)
			is_first = j == i || !is_crossing(problem, placed->peak_bytes, j) ||
				placed->offsets[i] < placed->offsets[j] ||
				placed->offsets[i] > placed->offsets[j] + problem->items[j].size_bytes ||
				(placed->offsets[i] == placed->offsets[j] && i < j);
		pieces += is_first;
	}
	return pieces;
}

Test(cluster_crossing, gradients_lie_in_one_piece)
{
	struct seam_problem problem;
	struct seam_placement placed;

	make_layers(&problem, &placed);
	cr_assert_eq(pieces_of(&problem, &placed), LAYERS);
	cr_assert_eq(seam__cluster_crossing(&problem, &placed), SEAM_OK);
	cr_expect_null(naive_check_placement(&problem, placed.offsets, placed.peak_bytes));
	cr_expect_eq(pieces_of(&problem, &placed), 1);
	cr_expect_eq(placed.peak_bytes, 10 * LAYERS + 100);
	for (uint32_t i = 0; i < LAYERS; i++)
		cr_expect_eq(placed.offsets[i], 10 * i, "activation %u was moved", i);
	seam__problem_fini(&problem);
}

/* Where it is short of memory nothing has changed. */
Test(cluster_crossing, without_memory_all_stays)
{
	struct seam_problem problem;
	struct seam_placement placed;
	uint64_t before[2 * LAYERS + 1];
	enum seam_rc rc = SEAM_OOM_META;

	make_layers(&problem, &placed);
	memcpy(before, placed.offsets, sizeof before);
	for (uint64_t nth = 1; rc != SEAM_OK; nth++) {
		seam__meta_fail_at(meta, nth);
		rc = seam__cluster_crossing(&problem, &placed);
		seam__meta_fail_at(meta, 0);
		cr_assert(rc == SEAM_OK || rc == SEAM_OOM_META);
		if (rc != SEAM_OK)
			cr_assert_arr_eq(before, placed.offsets, sizeof before);
	}
	cr_expect_eq(pieces_of(&problem, &placed), 1);
	seam__problem_fini(&problem);
}

/* Everything that a problem may have. */
Test(cluster_crossing, a_placement_stays_one_and_is_no_higher)
{
	uint32_t fewer = 0;

	for (unsigned seed = 1; seed <= 200; seed++) {
		struct random_wish wish = {
			.seed = seed, .count = 30 + seed % 90, .features = seed % (SEAM__HAS_ALL + 1)};
		struct seam_problem problem;
		struct seam_budget budget;
		struct seam_placement placed;
		uint64_t peak_bytes;
		uint32_t pieces;

		random_problem(&wish, meta, &problem);
		seam__budget_init(&budget);
		cr_assert_eq(seam__placement_init(&placed, &problem), SEAM_OK);
		cr_assert_eq(seam__solver_run(seam__solver_find("size-first"), &problem, &budget, &placed), SEAM_OK);
		peak_bytes = placed.peak_bytes;
		pieces = pieces_of(&problem, &placed);
		cr_assert_eq(seam__cluster_crossing(&problem, &placed), SEAM_OK);
		cr_assert_null(naive_check_placement(&problem, placed.offsets, placed.peak_bytes), "seed %u", seed);
		cr_expect_leq(placed.peak_bytes, peak_bytes, "seed %u", seed);
		if (placed.peak_bytes == peak_bytes) {
			cr_expect_leq(pieces_of(&problem, &placed), pieces, "seed %u", seed);
			fewer += pieces_of(&problem, &placed) < pieces;
		}
		seam__problem_fini(&problem);
	}
	cr_expect_gt(fewer, 4, "%u were changed: this tests hardly anything", fewer);
}

/* A program of that kind, in words: "A" to "X" are activations, "a" to "x" gradients. */
static struct match_program make_program(void)
{
	char words[2048] = "z512 -z ";
	for (char i = 0; i < 24; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "-%c ", 'a' + i);
	for (char i = 0; i < 24; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "%c%u ", 'A' + i,
			65536 + 8192 * (unsigned)(i % 5));
	(void)snprintf(words + strlen(words), sizeof words - strlen(words), "~300000 -~ "); /* a loss */
	for (char i = 24; i-- > 0;)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "%c%u -%c ", 'a' + i,
			4096 + 512 * (unsigned)(i % 3), 'A' + i);
	return match_program_of(words);
}

Test(cluster_crossing, plans_are_made_so)
{
	struct match_program program = make_program();
	const struct seam_plan_header *header = &program.plan->header;
	uint64_t low = UINT64_MAX, high = 0, bytes = 0;
	for (uint32_t i = 0; i < header->slot_count; i++) {
		const struct seam_plan_slot *slot = &program.plan->slots[i];
		if (slot->end < header->positions)
			continue;
		const uint64_t offset = program.plan->offsets[(uint64_t)i * header->copies];
		low = offset < low ? offset : low;
		high = offset + slot->size_bytes > high ? offset + slot->size_bytes : high;
		bytes += slot->size_bytes;
	}
	cr_assert_eq(header->copies, 1);
	cr_assert_gt(bytes, 24 * 4096);
	cr_expect_eq(high - low, bytes, "gradients are spread over [%llu, %llu)", (unsigned long long)low,
		(unsigned long long)high);
	match_program_fini(&program);
}
