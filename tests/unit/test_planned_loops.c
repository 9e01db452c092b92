/* test_planned_loops.c: programs that mark no steps and whose iterations have loops inside: the plan that comes into
 * use is the iteration's. */
#include "core_fixture.h"

#include "planned.h"
#include "learner.h"

struct loops {
	const char *name;
	unsigned loops;      /* in an iteration: micro-batches, or layers */
	unsigned blocks;     /* each has so many */
	unsigned gradients;  /* blocks that the first one leaves to the end of the iteration */
	unsigned ends;       /* blocks at the end of the iteration: an optimizer's, or a loss */
	unsigned first_ends; /* more of them in the first iteration: states, which stay */
};

static void *many[64];
static unsigned many_count;

static void free_many(void)
{
	while (many_count > 0)
		must_free(many[--many_count]);
}

static void allocate(unsigned count, uint64_t bytes, uint64_t step_bytes)
{
	for (unsigned i = 0; i < count; i++)
		many[many_count++] = must_alloc(bytes + i * step_bytes, NULL);
}

/* Returns its requests. */
static unsigned iterate(const struct loops *wish, bool first)
{
	void *gradients[16];
	unsigned requests = 0;
	if (first) {
		for (unsigned i = 0; i < wish->first_ends; i++)
			(void)must_alloc(MIB(1) + i * KIB(4), NULL); /* the pool's destruction frees them */
	}
	for (unsigned l = 0; l < wish->loops; l++) {
		for (unsigned i = 0; i < wish->blocks; i += 2) {
			allocate(2, MIB(1) + i * KIB(64), KIB(32));
			if (i % 8 == 6)
				free_many();
		}
		free_many();
		for (unsigned i = 0; l == 0 && i < wish->gradients; i++)
			gradients[i] = must_alloc(MIB(3) + i * KIB(32), NULL);
		requests += wish->blocks;
		run_background();
	}
	allocate(wish->ends, MIB(5), KIB(96));
	free_many();
	for (unsigned i = 0; i < wish->gradients; i++)
		must_free(gradients[i]);
	run_background();
	return requests + wish->gradients + wish->ends;
}

static uint32_t slots_in_use(void)
{
	const struct seam_active_plan *open = LIST_FIRST(&pool->runtime->active_plans);
	return seam__loaded_slots(seam__matcher_loaded(open->matcher, 0));
}

/* An iteration that a plan of its own serves. */
static void expect_served(const struct loops *wish)
{
	uint64_t hits = get_plan_stats().hits;
	unsigned requests = iterate(wish, false);
	cr_assert(pool->runtime->open, "%s", wish->name);
	cr_expect_eq(
		slots_in_use(), requests, "%s: a plan of %u requests, not of %u", wish->name, slots_in_use(), requests);
	cr_expect_eq(get_plan_stats().hits - hits, requests, "%s: %u of %u are served", wish->name,
		(unsigned)(get_plan_stats().hits - hits), requests);
}

/* Iterations until a plan is in use, which is the iteration's. */
static void expect_whole(const struct loops *wish, unsigned most_iterations)
{
	unsigned iterations = 0;
	open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
	while (get_plan_stats().adoptions == 0 && iterations < most_iterations)
		(void)iterate(wish, iterations++ == 0);
	cr_assert_eq(get_plan_stats().adoptions, 1, "%s: not after %u iterations", wish->name, iterations);
	(void)iterate(wish, false);
	expect_served(wish);
	cr_expect_eq(get_plan_stats().adoptions, 1, "%s", wish->name);
	close_pool();
}

Test(planned_loops, an_iteration_without_loops_is_planned_within_six)
{
	const struct loops wish = {.name = "no loop", .loops = 1, .blocks = 600, .ends = 8, .first_ends = 20};
	expect_whole(&wish, 6);
}

Test(planned_loops, layers_are_no_iteration)
{
	const struct loops wish = {.name = "layers", .loops = 14, .blocks = 56, .ends = 24};
	expect_whole(&wish, 5);
}

/* Gradients stay from the first micro-batch on, as weights do: nothing tells the others from iterations until the
 * optimizer comes. Once the iteration is known its own plan serves it. */
Test(planned_loops, a_plan_of_micro_batches_gives_way_when_the_optimizer_has_come_twice)
{
	const struct loops wish = {
		.name = "micro-batches", .loops = 24, .blocks = 120, .gradients = 16, .ends = 24, .first_ends = 20};
	open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
	for (unsigned i = 0; i < 6; i++) {
		(void)iterate(&wish, i == 0);
		cr_assert(i != 0 || pool->runtime->open, "nothing is planned: this tests nothing");
		if (i == 0)
			cr_expect_eq(
				slots_in_use(), wish.blocks, "the optimizer has not come late: this tests nothing");
	}
	expect_served(&wish);
	expect_served(&wish);
	close_pool();
}

/* Time to learn depends on the period and not on the age of the program. */
Test(planned_loops, a_dropped_plan_serves_again_within_six_periods_at_any_age)
{
	static const unsigned ages[] = {10, 100, 400};
	const struct loops wish = {.name = "no loop", .loops = 1, .blocks = 600, .ends = 8, .first_ends = 20};
	for (size_t i = 0; i < sizeof ages / sizeof *ages; i++) {
		unsigned periods = 0;
		open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
		for (unsigned age = 0; age < ages[i]; age++)
			(void)iterate(&wish, age == 0);
		cr_assert(pool->runtime->open);
		seam_plan_drop(pool);
		for (; !(pool->runtime->open && LIST_FIRST(&pool->runtime->active_plans)->started) && periods < 20;
			periods++)
			(void)iterate(&wish, false);
		cr_expect_leq(periods, 6, "dropped after %u iterations, it serves again after %u", ages[i], periods);
		close_pool();
	}
}

/* States of an optimizer, say: they lie where the plan that waits has its slots, and stay. */
Test(planned_loops, a_plan_in_whose_place_something_stays_does_not_start)
{
	const struct loops wish = {.name = "no loop", .loops = 1, .blocks = 600, .ends = 8, .first_ends = 20};
	open_pool(MIB(4096), "plan:inline,chunk_bytes:2M");
	unsigned iterations = 0;
	while (!pool->runtime->open && iterations < 20)
		(void)iterate(&wish, iterations++ == 0);
	cr_assert(pool->runtime->open);
	cr_assert_not(LIST_FIRST(&pool->runtime->active_plans)->started, "it is in use: this tests nothing");
	const uint64_t plans = pool->learner->plans;
	for (unsigned i = 0; i < 20; i++)
		(void)must_alloc(MIB(1) + i * KIB(4), NULL);
	for (iterations = 0; get_plan_stats().adoptions == 0 && iterations < 20; iterations++)
		(void)iterate(&wish, false);
	cr_assert_eq(get_plan_stats().adoptions, 1);
	cr_expect_gt(pool->learner->plans, plans, "the plan that was made before is in use");
	(void)iterate(&wish, false);
	expect_served(&wish);
	close_pool();
}

#define PAGES 8u
#define KEPT 8u /* iterations that a page stays, at most */

/* An iteration with a mark, which makes pages and frees those of `kept` iterations before. long_lived: its other blocks
 * live to its end; else one at a time. */
static void fill(unsigned number, unsigned kept, bool long_lived)
{
	static void *pages[KEPT][PAGES];
	if (number == 0)
		memset(pages, 0, sizeof pages);
	for (unsigned i = 0; i < 64; i++) {
		allocate(1, MIB(1) + i % 7 * KIB(64), 0);
		if (!long_lived)
			free_many();
	}
	for (unsigned i = 0; i < PAGES; i++) {
		void **page = &pages[number % kept][i];
		if (*page != NULL)
			must_free(*page);
		*page = must_alloc(MIB(2), NULL);
	}
	free_many();
	cr_assert_ok(seam_step(pool));
	run_background();
}

/* A cache that fills up: as long as nothing of it goes, a plan would not have its pages, one request in nine. */
Test(planned_loops, program_that_only_keeps_what_it_makes_is_not_planned_yet)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	must_free(must_alloc(MIB(512), NULL)); /* there is room for a plan at any time */
	unsigned number = 0;
	for (; number < KEPT; number++) {
		fill(number, KEPT, false);
		cr_expect_eq(pool->learner->plans, 0, "iteration %u", number);
	}
	for (; number < 20 && get_plan_stats().adoptions == 0; number++)
		fill(number, KEPT, false);
	cr_assert_eq(get_plan_stats().adoptions, 1);
	cr_expect_eq(slots_in_use(), 64 + PAGES);
	close_pool();
}

/* The same requests with other lifetimes: the plan would fail in every iteration. */
Test(planned_loops, plan_whose_own_requests_have_no_place_goes_after_two_trials)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	unsigned number = 0;
	while (!pool->runtime->open && number < 20)
		fill(number++, KEPT, false);
	cr_assert(pool->runtime->open);
	cr_assert(LIST_FIRST(&pool->runtime->active_plans)->on_trial, "it has passed: this tests nothing");
	const uint64_t plans = pool->learner->plans;
	unsigned trials = 0;
	while (pool->runtime->open && trials < 20) {
		fill(number++, KEPT, true);
		trials++;
	}
	cr_expect_leq(trials, 4, "%u iterations", trials);
	cr_expect_eq(get_plan_stats().adoptions, 0);
	for (; number < 60 && get_plan_stats().adoptions == 0; number++)
		fill(number, KEPT, true);
	cr_expect_eq(get_plan_stats().adoptions, 1);
	cr_expect_gt(pool->learner->plans, plans);
	close_pool();
}

/* All pages are younger than the plan when it is to start, and lie elsewhere than in their slots. */
Test(planned_loops, plan_in_most_of_whose_place_others_live_does_not_start)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	for (unsigned number = 0; number < 40; number++)
		fill(number, 2, false);
	cr_assert_gt(pool->learner->plans, 0, "nothing is planned: this tests nothing");
	cr_expect_eq(get_plan_stats().adoptions, 0);
	close_pool();
}
