/* test_off_plan.c: dynamic blocks by address, their runs and their earliest end, against plain arrays. */
#include <stdbool.h>

#include "break_field.h"
#include "off_plan.h"
#include "meta.h"

#define PLACES 64u
#define WIDTH 100u
#define ENDS 24u /* so few that some blocks have the same */

static struct seam_off_plan_block blocks[PLACES];
static uint64_t untils[PLACES];
static bool present[PLACES];
static struct seam_off_plan off_plan;

static uint32_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

static void setup(void)
{
	off_plan = (struct seam_off_plan){.until = UINT64_MAX};
	for (uint32_t i = 0; i < PLACES; i++)
		present[i] = false;
}

static void teardown(void)
{
	seam__off_plan_fini(&off_plan, seam__meta_process());
}

TestSuite(off_plan, .init = setup, .fini = teardown);

/* Three in four reach to the next place. */
static void insert(uint32_t i, uint64_t *state)
{
	const uint64_t begin = (uint64_t)i * WIDTH, bytes = next(state) % 4 != 0 ? WIDTH : WIDTH / 2;
	untils[i] = 10 + next(state) % ENDS;
	blocks[i] = (struct seam_off_plan_block){
		.node = {.begin = begin, .end = begin + bytes, .plan_block = &blocks[i].plan_block},
		.plan_block = {.offset = begin, .bytes = bytes, .state = SEAM_PLANNED_LIVE},
		.until = untils[i],
	};
	cr_assert(seam__off_plan_reserve(&off_plan, seam__meta_process()));
	seam__off_plan_insert(&off_plan, &blocks[i]);
	present[i] = true;
}

/* The runs, found block by block. */
static void expect_runs(void)
{
	uint32_t run = 0;
	uint64_t least = UINT64_MAX;
	for (uint32_t i = 0; i < PLACES; run++) {
		while (i < PLACES && !present[i])
			i++;
		if (i == PLACES)
			break;
		const uint64_t begin = blocks[i].plan_block.offset;
		uint64_t end = begin;
		for (; i < PLACES && present[i] && blocks[i].plan_block.offset == end; i++) {
			end += blocks[i].plan_block.bytes;
			least = untils[i] < least ? untils[i] : least;
		}
		cr_assert_lt(run, off_plan.run_count);
		cr_assert_eq(off_plan.runs[run].begin, begin);
		cr_assert_eq(off_plan.runs[run].end, end);
		cr_assert_eq(seam__off_plan_run_behind(&off_plan, begin), run);
		cr_assert_eq(seam__off_plan_run_behind(&off_plan, end - 1), run);
		cr_assert_eq(seam__off_plan_run_behind(&off_plan, end), run + 1);
	}
	cr_assert_eq(off_plan.run_count, run);
	cr_assert_eq(off_plan.until, least);
	cr_assert_null(seam__off_plan_check(&off_plan), "%s", seam__off_plan_check(&off_plan));
}

Test(off_plan, runs_are_as_long_as_can_be_whatever_comes_and_goes)
{
	uint64_t state = 1;
	expect_runs();
	for (uint32_t step = 0; step < 5000; step++) {
		const uint32_t i = next(&state) % PLACES;
		cr_assert_eq(seam__off_plan_find(&off_plan, (uint64_t)i * WIDTH), present[i] ? &blocks[i] : NULL);
		cr_assert_null(seam__off_plan_find(&off_plan, (uint64_t)i * WIDTH + 1));
		if (present[i]) {
			seam__off_plan_remove(&off_plan, &blocks[i]);
			present[i] = false;
		} else {
			insert(i, &state);
		}
		expect_runs();
	}
}

Test(off_plan, those_whose_time_is_over_become_overdue_blocks)
{
	uint64_t state = 2;
	for (uint32_t i = 0; i < PLACES; i++)
		insert(i, &state);
	for (uint64_t at = 9; at <= 10 + ENDS; at++) {
		struct seam_overdue overdue = {0};
		uint32_t over = 0;
		for (uint32_t i = 0; i < PLACES; i++) {
			over += present[i] && untils[i] <= at;
			present[i] = present[i] && untils[i] > at;
		}
		seam__off_plan_expire(&off_plan, &overdue, at);
		cr_assert_eq(overdue.count, over);
		for (uint32_t i = 0; i < PLACES; i++)
			cr_assert_eq(blocks[i].plan_block.state, present[i] ? SEAM_PLANNED_LIVE : SEAM_PLANNED_LATE);
		expect_runs();
	}
	cr_assert_eq(off_plan.blocks.count, 0);
}

static const char *find_broken(void)
{
	return seam__off_plan_check(&off_plan);
}

/* Each field in turn is another one. */
Test(off_plan, whatever_is_wrong_is_seen)
{
	uint64_t state = 3;
	for (uint32_t i = 0; i < PLACES; i += 1 + i % 3)
		insert(i, &state);
	cr_assert_null(seam__off_plan_check(&off_plan));
	const struct seam_off_plan_block *below = NULL;
	for (uint32_t i = 0; i < PLACES; below = &blocks[i++]) {
		if (!present[i])
			continue;
		struct seam_off_plan_block *block = &blocks[i];
		struct seam_overdue_block *node = &block->node;
		struct seam_plan_block *plan_block = &block->plan_block;
		BREAK(node->begin, node->begin + 1, "off-plan");
		BREAK(node->end, node->end - 1, "off-plan");
		BREAK(node->plan_block, &blocks[(i + 1) % PLACES].plan_block, "off-plan");
		BREAK(plan_block->offset, plan_block->offset + 1, "off-plan");
		BREAK(plan_block->bytes, plan_block->bytes + 1, "off-plan");
		BREAK(block->until, 0, "off-plan");
		if (block->until == off_plan.until)
			BREAK(block->until, block->until + 1, "off-plan");
		else
			BREAK(block->until, off_plan.until, "off-plan");
		/* As its block says, but empty, or over the one below. */
		const struct seam_off_plan_block before = *block;
		node->end = node->begin;
		plan_block->bytes = 0;
		expect_broken("off-plan", "as its block says");
		*block = before;
		if (below != NULL && below->node.end == node->begin) {
			node->begin = plan_block->offset -= 1;
			plan_block->bytes += 1;
			expect_broken("off-plan", "as its block says");
			*block = before;
		}
	}
	for (uint32_t i = 0; i < off_plan.run_count; i++) {
		BREAK(off_plan.runs[i].begin, off_plan.runs[i].begin + 1, "off-plan");
		BREAK(off_plan.runs[i].end, off_plan.runs[i].end + 1, "off-plan");
	}
	BREAK(off_plan.run_count, off_plan.run_count - 1, "off-plan");
	BREAK(off_plan.run_count, off_plan.run_count + 1, "off-plan");
	BREAK(off_plan.run_capacity, off_plan.blocks.count - 1, "off-plan");
	BREAK(off_plan.blocks.count, off_plan.blocks.count - 1, "off-plan");
	BREAK(off_plan.until, off_plan.until - 1, "off-plan");
	BREAK(off_plan.until, off_plan.until + 1, "off-plan");
	BREAK(off_plan.at_until, off_plan.at_until - 1, "off-plan");
	BREAK(off_plan.at_until, off_plan.at_until + 1, "off-plan");
	cr_assert_null(seam__off_plan_check(&off_plan));
}
