/* test_learner_spots.c: where in an arena chunks go in which something is likely to be when its plan comes into use. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "learner_impl.h"
#include "meta.h"

#define POSITIONS 100u
#define GONE 40u /* what crosses the end is gone by then */
#define MOST 64u
#define BYTES 512u /* of a chunk here */
#define NEWEST 8u
#define OLDER 4u

static struct seam_meta *meta;
static struct seam_plan_slot slots[MOST];
static uint64_t offsets[MOST];
static struct seam_plan_group groups[4];
static struct seam_plan_range ranges[4];
static struct seam_plan plan;
static struct seam_chosen chosen[MOST];
static uint32_t chunks;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	plan = (struct seam_plan){.header = {.copies = 1, .positions = POSITIONS},
		.slots = slots,
		.offsets = offsets,
		.groups = groups,
		.ranges = ranges};
}

static void tear_down(void)
{
	cr_expect_eq(seam__meta_destroy(meta), 0, "metadata was leaked");
}

TestSuite(learner_spots, .init = set_up, .fini = tear_down);

/* Chunks [first, behind) of an arena of equal ones, in positions [begin, end). */
static void add_slot(uint32_t first, uint32_t behind, uint32_t begin, uint32_t end)
{
	cr_assert_lt(plan.header.slot_count, MOST);
	slots[plan.header.slot_count] =
		(struct seam_plan_slot){.size_bytes = (uint64_t)(behind - first) * BYTES, .begin = begin, .end = end};
	offsets[plan.header.slot_count++] = (uint64_t)first * BYTES;
}

/* As long as it is live no other one is: it lies in the first chunk. Slots are added in the order of begin. */
static void add_crossing(void)
{
	add_slot(0, 1, POSITIONS - 1, POSITIONS + GONE);
}

static void add_chunks(uint32_t count, uint8_t restless)
{
	for (uint32_t i = 0; i < count; i++, chunks++)
		chosen[chunks] = (struct seam_chosen){.number = chunks, .bytes = BYTES, .restless = restless};
}

static void settle_from(uint32_t first)
{
	cr_assert_eq(seam__spots_settle(meta, &plan, chosen, first, chunks), SEAM_OK);
}

/* The chunks by number, as "0 1 2". */
static void expect_order(const char *expected)
{
	char is[MOST * 4] = "";
	for (uint32_t i = 0; i < chunks; i++)
		(void)snprintf(
			is + strlen(is), sizeof is - strlen(is), i == 0 ? "%u" : " %u", (unsigned)chosen[i].number);
	cr_expect_str_eq(is, expected);
}

Test(learner_spots, they_go_where_nothing_is_until_what_was_there_is_gone)
{
	add_slot(1, 3, 0, 10);
	add_slot(5, 8, 20, 60);
	add_slot(3, 5, GONE, 60); /* by then they are free */
	add_crossing();
	add_chunks(6, 0);
	add_chunks(2, NEWEST);
	settle_from(1);
	expect_order("0 1 2 6 7 3 4 5");
}

Test(learner_spots, those_that_come_first_stay)
{
	add_slot(4, 8, 0, 60);
	add_crossing();
	add_chunks(6, 0);
	add_chunks(2, NEWEST);
	settle_from(3);
	expect_order("0 1 2 3 4 5 6 7"); /* those in front of it would do, and there is one free behind them */
	chosen[6].restless = 0;
	settle_from(3);
	expect_order("0 1 2 7 3 4 5 6");
}

/* A hundred bytes that go on are worse than any number of slots that do not. */
Test(learner_spots, what_lives_on_counts_more_than_what_does_not)
{
	for (uint32_t i = 0; i < 20; i++)
		add_slot(2, 3, i, i + 1);
	add_slot(0, 2, 20, 60);
	add_slot(3, 6, 20, 60);
	add_crossing();
	add_chunks(5, 0);
	add_chunks(1, NEWEST);
	settle_from(0);
	expect_order("0 1 5 2 3 4");
}

/* All of a slot is displaced that has a chunk in its way. */
Test(learner_spots, the_smaller_one_is_displaced)
{
	add_slot(0, 2, 20, 60);
	add_slot(2, 6, 20, 60);
	add_crossing();
	add_chunks(5, 0);
	add_chunks(1, NEWEST);
	settle_from(0);
	expect_order("0 5 1 2 3 4");
}

Test(learner_spots, among_equal_places_the_last_is_taken)
{
	add_crossing();
	add_chunks(1, NEWEST);
	add_chunks(3, 0);
	settle_from(0);
	expect_order("1 2 3 0");
}

Test(learner_spots, the_newest_have_the_choice)
{
	add_slot(2, 6, 0, 60);
	add_crossing();
	add_chunks(2, NEWEST | OLDER); /* something was in them before, too */
	add_chunks(4, 0);
	add_chunks(2, OLDER);
	add_chunks(2, 0);
	settle_from(0);
	expect_order("2 3 4 5 8 9 0 1 6 7"); /* behind the slot there is room for all */
}

/* The older ones rather have something in their own way. */
Test(learner_spots, older_ones_do_not_move_the_newest_away)
{
	add_slot(7, 8, 0, 10);
	add_slot(8, 10, 10, 20);
	add_crossing();
	add_chunks(2, NEWEST);
	add_chunks(5, 0);
	add_chunks(3, OLDER);
	settle_from(0);
	expect_order("2 3 4 5 6 0 1 7 8 9");
}

Test(learner_spots, dynamic_requests_need_the_ranges_of_their_group)
{
	groups[0] = (struct seam_plan_group){.begin = 10, .end = 20, .first_range = 0, .range_count = 1};
	groups[1] = (struct seam_plan_group){.begin = GONE, .end = 50, .first_range = 1, .range_count = 1};
	ranges[0] = (struct seam_plan_range){3 * BYTES, 6 * BYTES};
	ranges[1] = (struct seam_plan_range){0, 3 * BYTES};
	plan.header.group_count = 2;
	plan.header.range_count = 2;
	add_slot(0, 6, 15, 16);
	slots[0].flags = SEAM_PLAN_DYNAMIC;
	offsets[0] = SEAM_PLAN_NO_ADDRESS;
	add_crossing();
	add_chunks(5, 0);
	add_chunks(1, NEWEST);
	settle_from(0);
	expect_order("0 1 5 2 3 4");
}

Test(learner_spots, without_anything_large_that_crosses_all_stay)
{
	add_slot(2, 4, 0, 10);
	add_slot(0, 1, POSITIONS - 1, POSITIONS); /* gone when the period begins again */
	add_chunks(2, 0);
	add_chunks(2, NEWEST);
	settle_from(0);
	expect_order("0 1 2 3");
	add_crossing();
	slots[2].size_bytes = BYTES - 1;
	settle_from(0);
	expect_order("0 1 2 3");
	slots[2].size_bytes = BYTES;
	settle_from(0);
	expect_order("2 3 0 1");
}

Test(learner_spots, without_metadata_all_stay)
{
	add_slot(1, 4, 0, 10);
	add_crossing();
	add_chunks(3, 0);
	add_chunks(1, NEWEST);
	for (unsigned nth = 1; nth <= 4; nth++) {
		seam__meta_fail_at(meta, nth);
		cr_expect_eq(seam__spots_settle(meta, &plan, chosen, 0, chunks), SEAM_OOM_META, "request %u", nth);
		seam__meta_fail_at(meta, 0);
		expect_order("0 1 2 3");
	}
	settle_from(0);
	expect_order("3 0 1 2");
}

static uint64_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

/* What is in the way of the restless chunks as they lie: bytes that live on, slots that do not. */
static void weigh(uint64_t *ret_bytes, uint64_t *ret_count)
{
	*ret_bytes = *ret_count = 0;
	for (uint32_t s = 0; s < plan.header.slot_count && slots[s].begin < GONE; s++) {
		uint64_t offset = 0;
		bool hit = false;
		for (uint32_t i = 0; i < chunks; offset += chosen[i++].bytes)
			hit |= chosen[i].restless != 0 && offset < offsets[s] + slots[s].size_bytes &&
				offsets[s] < offset + chosen[i].bytes;
		if (hit && slots[s].end > GONE)
			*ret_bytes += slots[s].size_bytes;
		else
			*ret_count += hit;
	}
}

/* Every place for the restless ones together is tried. */
Test(learner_spots, no_place_is_better)
{
	uint32_t inside = 0;
	for (uint32_t round = 0; round < 300; round++) {
		plan.header.slot_count = chunks = 0;
		for (uint32_t i = 0, begin = 0; i < 30; i++, begin += any(3)) {
			const uint32_t first = any(40); /* all over the arena */
			add_slot(first, first + 1 + any(6), begin, begin + 1 + any(50));
		}
		add_slot(0, 3, POSITIONS - 1, POSITIONS + GONE); /* as large as any chunk */
		const uint32_t restless = 1 + any(5);
		for (uint32_t i = 0; i < 20; i++)
			add_chunks(1, i % 4 == 0 && i / 4 < restless ? NEWEST : 0);
		for (uint32_t i = 0; i < chunks; i++)
			chosen[i].bytes = BYTES * (1 + any(3));
		struct seam_chosen calm[MOST], moved[MOST];
		uint32_t calm_count = 0, moved_count = 0;
		for (uint32_t i = 0; i < chunks; i++) {
			if (chosen[i].restless == 0)
				calm[calm_count++] = chosen[i];
			else
				moved[moved_count++] = chosen[i];
		}
		settle_from(0);
		inside += chosen[0].restless == 0 && chosen[chunks - 1].restless == 0;
		uint64_t bytes, count, other_bytes, other_count;
		weigh(&bytes, &count);
		for (uint32_t at = 0; at <= calm_count; at++) {
			memcpy(chosen, calm, at * sizeof *calm);
			memcpy(&chosen[at], moved, moved_count * sizeof *moved);
			memcpy(&chosen[at + moved_count], &calm[at], (calm_count - at) * sizeof *calm);
			weigh(&other_bytes, &other_count);
			cr_assert(bytes < other_bytes || (bytes == other_bytes && count <= other_count),
				"round %u: %llu bytes and %llu, before %u %llu and %llu", round,
				(unsigned long long)bytes, (unsigned long long)count, at,
				(unsigned long long)other_bytes, (unsigned long long)other_count);
		}
	}
	cr_expect_gt(inside, 50, "the best place is at one end nearly always: this tests little");
}
