/* test_dynamic.c: groups of dynamic requests, and their reusable space against a naive oracle: every byte of memory, at
 * every position of a group's interval. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "dynamic.h"
#include "meta.h"
#include "random_problem.h"

#define REQUESTS 24u

static struct seam_meta *meta;
static struct seam_problem problem;
static struct seam_placement best;
static struct seam_dynamic dynamic;
static struct seam_dynamic_space space;
static struct seam_dynamic_request requests[REQUESTS];

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void clear(void)
{
	seam__dynamic_fini(&dynamic);
	seam__problem_fini(&problem);
}

static void tear_down(void)
{
	if (problem.meta != NULL)
		clear();
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(dynamic, .init = set_up, .fini = tear_down);

/* A static problem with its placement. */
static void place(uint64_t seed, uint32_t copies)
{
	struct random_wish wish = {.seed = seed,
		.count = 20 + (uint32_t)seed % 10,
		.features = (seed % 2 == 0 ? SEAM__HAS_WRAP : 0) | (seed % 3 == 0 ? SEAM__HAS_HOLDS : 0)};
	struct seam_budget budget;

	if (copies > 1)
		wish.features |= SEAM__HAS_WRAP;
	random_problem(&wish, meta, &problem);
	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__solver_run(seam__solver_find("start-first"), &problem, &budget, &best), SEAM_OK);
	space = (struct seam_dynamic_space){
		.problem = &problem, .offsets = best.offsets, .arena_bytes = best.peak_bytes, .copies = copies};
}

/* Intervals are drawn from few, so that there are groups. */
static void draw_requests(uint64_t seed)
{
	uint64_t state = seed;
	uint32_t period = problem.circle / space.copies;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		uint32_t layer = (uint32_t)random_below(&state, 5);
		uint32_t from = layer * period / 6;
		uint32_t most = problem.linear ? period - from : problem.circle;
		uint32_t span = 2 + (layer * 7 + (uint32_t)seed) % (most - 1);
		uint32_t begin = (uint32_t)random_below(&state, span);

		requests[i] = (struct seam_dynamic_request){
			.size_bytes = 1 + random_below(&state, 50),
			.from = from,
			.to = from + span,
			.begin = from + begin,
			.end = from + begin + 1 + (uint32_t)random_below(&state, span - begin),
			.layer_begin = layer,
			.layer_end = 9 - layer,
			.stream = random_below(&state, 5) == 0 ? SEAM__STREAM_NONE : layer % problem.streams,
		};
	}
}

/* Is the item in the way of somebody who uses memory on `stream` during the interval? Position by position. */
static bool in_the_way(const struct seam_item *item, uint32_t number, uint32_t begin, uint32_t span, uint32_t stream)
{
	uint32_t longest = item->span;

	if (item->stream != stream)
		return true;
	for (uint32_t s = 0; s < problem.streams; s++)
		longest = seam__problem_hold(&problem, number, s) > longest ? seam__problem_hold(&problem, number, s)
									    : longest;
	for (uint32_t step = 0; step < longest && step < problem.circle; step++)
		if ((problem.linear ? item->begin + step < problem.circle : true) &&
			(item->begin + step + problem.circle - begin) % problem.circle < span)
			return true;
	return false;
}

static void expect_space(const struct seam_plan_group *group, uint32_t stream, uint64_t seed)
{
	const uint64_t end = best.peak_bytes;
	uint32_t begin = group->begin + group->copy * (problem.circle / space.copies);
	const struct seam_plan_range *ranges = dynamic.ranges.items;
	uint8_t *used = calloc(end, 1);

	cr_assert_not_null(used);
	for (uint32_t i = 0; i < problem.count; i++)
		for (uint64_t n = 0; n < problem.items[i].size_bytes &&
			in_the_way(&problem.items[i], i, begin, group->end - group->begin, stream);
			n++)
			used[best.offsets[i] + n] = 1;
	for (uint32_t r = group->first_range; r < group->first_range + group->range_count; r++)
		for (uint64_t at = ranges[r].begin_bytes; at < ranges[r].end_bytes; at++) {
			cr_assert_eq(used[at], 0, "seed %llu: a byte in use, or twice", (unsigned long long)seed);
			used[at] = 2;
		}
	for (uint64_t at = 0; at < end; at++)
		cr_assert_neq(
			used[at], 0, "seed %llu: byte %llu is idle", (unsigned long long)seed, (unsigned long long)at);
	free(used);
}

Test(dynamic, groups_may_use_what_is_idle_and_all_of_it)
{
	for (uint64_t seed = 0; seed < 48; seed++) {
		place(seed, 1 + seed % 2);
		draw_requests(seed);
		cr_assert_eq(seam__dynamic_init(&space, requests, REQUESTS, &dynamic), SEAM_OK);
		cr_expect_null(seam__dynamic_check(&dynamic, &space, requests), "seed %llu: %s",
			(unsigned long long)seed, seam__dynamic_check(&dynamic, &space, requests));
		for (uint32_t i = 0; i < REQUESTS; i++)
			for (uint32_t copy = 0; copy < space.copies; copy++)
				expect_space((const struct seam_plan_group *)dynamic.groups.items +
						dynamic.group_of[i] + copy,
					requests[i].stream, seed);
		clear();
	}
}

/* One static item of 8 at 0 during [2, 4). */
static void one_item(void)
{
	cr_assert_eq(seam__problem_init(&problem, meta, 2, 12, true, 1, 1), SEAM_OK);
	(void)seam__problem_add(&problem, 8, 2, 2);
	(void)seam__problem_add(&problem, 20, 10, 2);
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	best.offsets[0] = 0;
	best.offsets[1] = 0;
	best.peak_bytes = 20;
	space = (struct seam_dynamic_space){
		.problem = &problem, .offsets = best.offsets, .arena_bytes = 20, .copies = 1};
}

static const struct seam_plan_group *group_of(uint32_t request)
{
	return (const struct seam_plan_group *)dynamic.groups.items + dynamic.group_of[request];
}

Test(dynamic, a_group_is_of_one_pair_of_layers_and_one_interval)
{
	one_item();
	requests[0] = (struct seam_dynamic_request){
		.size_bytes = 5, .begin = 1, .end = 3, .from = 0, .to = 5, .layer_begin = 1};
	requests[1] = requests[0];
	requests[1].begin = 2;
	requests[1].end = 5;
	requests[2] = requests[0];
	requests[2].layer_end = 4;
	requests[3] = requests[0];
	requests[3].begin = 3;
	requests[3].end = 4;
	requests[4] = (struct seam_dynamic_request){
		.size_bytes = 5, .begin = 6, .end = 8, .from = 6, .to = 9, .layer_begin = 1};
	cr_assert_eq(seam__dynamic_init(&space, requests, 5, &dynamic), SEAM_OK);
	cr_expect_eq(dynamic.groups.count, 3);
	cr_expect_eq(group_of(0), group_of(1));
	cr_expect_eq(group_of(0)->slot_count, 3);
	cr_expect_eq(group_of(0)->planned_bytes, 10, "two of three at once");
	cr_expect_eq(group_of(2)->slot_count, 1);
	cr_expect_eq(group_of(0)->range_count, 1);
	cr_expect_eq(((const struct seam_plan_range *)dynamic.ranges.items)[group_of(0)->first_range].begin_bytes, 8);
	cr_expect_eq(((const struct seam_plan_range *)dynamic.ranges.items)[group_of(4)->first_range].begin_bytes, 0);
	cr_expect_eq(((const struct seam_plan_range *)dynamic.ranges.items)[group_of(4)->first_range].end_bytes, 20);
}

Test(dynamic, nothing_has_no_groups_and_a_failed_allocation_leaves_nothing)
{
	one_item();
	cr_assert_eq(seam__dynamic_init(&space, NULL, 0, &dynamic), SEAM_OK);
	cr_expect_eq(dynamic.groups.count, 0);
	seam__dynamic_fini(&dynamic);
	memset(requests, 0, sizeof(requests));
	requests[0] = (struct seam_dynamic_request){.size_bytes = 5, .begin = 1, .end = 3, .from = 0, .to = 5};
	uint64_t failed = 0;
	enum seam_rc rc = SEAM_OOM_META;
	while (rc != SEAM_OK) {
		seam__meta_fail_at(meta, failed + 1);
		rc = seam__dynamic_init(&space, requests, 1, &dynamic);
		seam__meta_fail_at(meta, 0);
		cr_assert(rc == SEAM_OK || rc == SEAM_OOM_META, "allocation %llu", (unsigned long long)failed + 1);
		failed += rc != SEAM_OK;
	}
	cr_expect_geq(failed, 5);
}
