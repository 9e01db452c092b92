/* test_planned_prologue.c: a plan that says what a program asks for first: what stays gets its place from the first
 * request on, and all else is served at once. */
#include "prologue_fixture.h"
#include "learner.h"
#include "planned.h"

#include <stdlib.h>

TestSuite(planned_prologue, .init = make_plan, .fini = close_with_plan);

Test(planned_prologue, all_is_served_from_the_first_request_on)
{
	struct training training;
	open_with_plan(MIB(2048));
	cr_assert(is_expected());
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(LAYERS, LAYERS));
	make_parameters(&training);
	cr_expect_eq(get_plan_stats().hits, LAYERS);
	expect_served(&training, 4);
	cr_expect_eq(get_plan_stats().misses, 0);
	cr_expect_not(is_expected());
	const struct seam_arena *arena = &LIST_FIRST(&pool->runtime->active_plans)->arena;
	cr_expect_eq(arena->leased_bytes, arena->bytes, "something is in the plan's way");
	forget(&training);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(0, 0), "what stayed and is freed is nobody's any more");
}

Test(planned_prologue, a_few_strangers_change_nothing_for_the_others)
{
	struct training training;
	void *strangers[STRANGERS - 1];
	open_with_plan(MIB(2048));
	for (unsigned i = 0; i < STRANGERS - 1; i++)
		strangers[i] = must_alloc(MIB(5) + 12345, streams[0]);
	cr_assert(is_expected());
	cr_expect_eq(get_plan_stats().lent_bytes, 0, "they may stay");
	make_parameters(&training);
	expect_served(&training, 3);
	cr_expect_eq(get_plan_stats().misses, STRANGERS - 1);
	for (unsigned i = 0; i < STRANGERS - 1; i++)
		must_free(strangers[i]);
}

/* One in the place of another that goes, goes as well, as like as not: of another length of the same, perhaps. */
Test(planned_prologue, strangers_in_the_place_of_what_goes_have_what_is_idle)
{
	struct training training;
	void *strangers[STRANGERS - 1];
	open_with_plan(MIB(2048));
	make_parameters(&training);
	for (unsigned i = 0; i < STRANGERS - 1; i++)
		strangers[i] = must_alloc(MIB(5) + 12345, streams[0]);
	cr_assert(is_expected());
	cr_expect_leq(get_stats().reserved_bytes, needed_bytes(LAYERS, LAYERS) + needed_bytes(LAYERS, LAYERS) / 256);
	for (unsigned i = 0; i < STRANGERS - 1; i++)
		must_free(strangers[i]);
	expect_served(&training, 3);
}

/* The plan says how long a request lives that it has no place for; of a stranger behind it it says nothing. */
Test(planned_prologue, how_long_a_stranger_lives_is_not_known)
{
	struct training training;
	void *strangers[STRANGERS / 2];
	open_with_plan(MIB(2048));
	make_parameters(&training);
	for (unsigned i = 0; i < STRANGERS / 2; i++)
		strangers[i] = must_alloc(MIB(5) + 12345, streams[0]);
	const struct seam_matcher *matcher = LIST_FIRST(&pool->runtime->active_plans)->matcher;
	for (unsigned i = 0; i < LAYERS && seam__matcher_reach(matcher) == 0; i++) {
		must_free(must_alloc(MIB(1) + i * KIB(64), streams[0]));
		if (seam__matcher_reach(matcher) == 0)
			training.activations[i] = must_alloc(MIB(9) + i * KIB(256), streams[0]);
	}
	cr_assert(is_expected());
	cr_assert_neq(seam__matcher_reach(matcher), 0, "nothing was in the way of a slot: this tests nothing");
	must_free(must_alloc(MIB(5) + 12345, streams[0]));
	cr_expect_eq(seam__matcher_reach(matcher), 0);
	for (unsigned i = 0; i < STRANGERS / 2; i++)
		must_free(strangers[i]);
}

/* What is as it should be makes up for what is not. */
Test(planned_prologue, strangers_now_and_then_are_more_than_would_be_borne_at_once)
{
	struct training training;
	open_with_plan(MIB(2048));
	interrupt(STRANGERS / 2);
	make_parameters(&training);
	interrupt(STRANGERS - 1);
	cr_assert(is_expected());
	expect_served(&training, 3);
	cr_expect_eq(get_plan_stats().misses, STRANGERS / 2 + STRANGERS - 1);
}

/* The program does something else in the midst of it: the plan serves nothing until it does again what the plan is of.
 */
Test(planned_prologue, behind_an_interruption_it_is_suspended)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	interrupt(STRANGERS);
	cr_assert_not(is_expected());
	cr_expect(LIST_FIRST(&pool->runtime->active_plans)->suspended, "states are still to be made");
	for (unsigned i = 0; i < 3; i++)
		train(&training);
	const struct seam_plan_stats before = get_plan_stats();
	train(&training);
	const struct seam_plan_stats after = get_plan_stats();
	cr_expect_geq(after.hits - before.hits, 3 * LAYERS);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_leq(get_stats().reserved_bytes, needed_bytes(LAYERS, LAYERS) + needed_bytes(LAYERS, LAYERS) / 8);
}

/* What it asks for then may stay, but a program that is not the plan's need not need as much. */
Test(planned_prologue, behind_an_interruption_it_has_no_more_than_the_plan)
{
	void *blocks[2 * LAYERS];
	open_with_plan(MIB(2048));
	interrupt(STRANGERS);
	cr_assert(LIST_FIRST(&pool->runtime->active_plans)->suspended);
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	cr_assert_leq(reserved_bytes, needed_bytes(LAYERS, LAYERS) + MIB(6), "one of them at a time");
	for (unsigned i = 0; i < 2 * LAYERS; i++) {
		blocks[i] = must_alloc(MIB(5) + i * KIB(70), streams[0]);
		check_pool();
	}
	cr_expect_eq(get_stats().reserved_bytes, reserved_bytes);
	for (unsigned i = 0; i < 2 * LAYERS; i++)
		must_free(blocks[i]);
}

Test(planned_prologue, where_nothing_stays_nothing_is_expected)
{
	const struct seam_plan_prologue temporary = {.size_bytes = MIB(1), .slot = SEAM_PLAN_NO_SLOT};
	struct seam_plan changed = *plan;
	changed.prologue = &temporary;
	changed.header.prologue_count = 1;
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	seam__plan_seal(&changed.header);
	cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
	cr_expect_not(is_expected());
}

/* What is asked for first is not told, but nothing is to be made either: the program begins where the plan does. */
Test(planned_prologue, where_there_are_no_places_it_begins_at_the_beginning)
{
	const struct seam_plan_prologue temporary = {.size_bytes = MIB(1), .slot = SEAM_PLAN_NO_SLOT};
	struct seam_plan changed = *plan;
	changed.prologue = &temporary;
	changed.header.prologue_count = 1;
	changed.header.resident_bytes = 0;
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	seam__plan_seal(&changed.header);
	cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
	cr_assert_not(is_expected());
	(void)must_alloc(plan->slots[0].size_bytes, streams[0]);
	cr_expect_eq(get_plan_stats().hits, 1);
}

/* All that stays was made, and is gone again, before the rest has come. */
Test(planned_prologue, what_was_made_may_go_before_it_is_over)
{
	const struct seam_plan_prologue requests[] = {
		{.size_bytes = MIB(1), .flags = SEAM_PLAN_STAYS, .slot = SEAM_PLAN_NO_SLOT},
		{.size_bytes = MIB(1), .slot = SEAM_PLAN_NO_SLOT}};
	struct seam_plan changed = *plan;
	bool did = false;
	changed.prologue = requests;
	changed.header.prologue_count = 2;
	changed.header.resident_bytes = MIB(1);
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:inline");
	seam__plan_seal(&changed.header);
	cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
	must_free(must_alloc(MIB(1), streams[0]));
	seam__pool_work(pool->learner, &did);
	check_pool();
	cr_expect(is_expected());
	must_free(must_alloc(MIB(1), streams[0]));
	cr_expect_not(is_expected());
}

/* One parameter is of another size, two come the other way round, one is not made. Those that are missed lie elsewhere.
 */
Test(planned_prologue, a_few_that_are_not_as_they_should_be_are_passed_over)
{
	struct training training = {.is_first = true};
	open_with_plan(MIB(2048));
	for (unsigned i = 0; i < LAYERS; i++) {
		const unsigned k = i == 5 ? 6 : i == 6 ? 5 : i;
		if (i != 9)
			training.parameters[k] = must_alloc(parameter_bytes(k) + (i == 1 ? MIB(1) : 0), streams[k % 2]);
		check_pool();
	}
	cr_assert(is_expected());
	/* The odd one and two behind it, where the program is found again: the second; one and two where two are
	 * swapped; one where one is left out. */
	cr_expect_eq(get_plan_stats().misses, 2 + 2 + 1, "%llu", (unsigned long long)get_plan_stats().misses);
	expect_served(&training, 3);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_leq(get_stats().reserved_bytes, needed_bytes(LAYERS, LAYERS) + needed_bytes(LAYERS, LAYERS) / 8);
	forget(&training);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(0, 0), "the places of those are nobody's either");
}

/* The plan's prologue with the first requests that do not stay once more, as after a beginning that is like another
 * part of the period. */
static struct seam_plan_prologue *twice(uint32_t requests, struct seam_plan *ret_changed)
{
	const uint32_t count = plan->header.prologue_count + requests;
	struct seam_plan_prologue *longer = calloc(count, sizeof *longer);
	cr_assert_not_null(longer);
	cr_assert_eq(plan->prologue[LAYERS].slot, 0);
	memcpy(longer, plan->prologue, (LAYERS + requests) * sizeof *longer);
	memcpy(longer + LAYERS + requests, plan->prologue + LAYERS, (count - LAYERS - requests) * sizeof *longer);
	*ret_changed = *plan;
	ret_changed->prologue = longer;
	ret_changed->header.prologue_count = count;
	return longer;
}

Test(planned_prologue, where_the_program_goes_on_is_known)
{
	struct training training;
	struct seam_plan changed;
	struct seam_plan_prologue *longer = twice(2 * LAYERS, &changed);
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	seam__plan_seal(&changed.header);
	cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
	make_parameters(&training);
	for (unsigned i = 0; i < LAYERS; i++) {
		for (unsigned k = 0; i == LAYERS / 2 && k < LAYERS; k++) /* which look like the way back */
			must_free(must_alloc(parameter_bytes(LAYERS - 1 - k), streams[0]));
		must_free(must_alloc(MIB(1) + i * KIB(64), streams[0]));
		must_free(must_alloc(MIB(9) + i * KIB(256), streams[0]));
	}
	expect_served(&training, 3);
	cr_expect_eq(get_plan_stats().misses, LAYERS);
	free(longer);
}

/* Before it has come to where the plan serves anything, nobody says that it serves too little. */
Test(planned_prologue, a_long_beginning_does_not_make_a_plan_poor)
{
	struct seam_plan changed = *plan;
	struct seam_plan_prologue requests[8 * LAYERS];
	for (unsigned i = 0; i < 8 * LAYERS; i++)
		requests[i] = (struct seam_plan_prologue){.size_bytes = MIB(32), .slot = SEAM_PLAN_NO_SLOT};
	requests[8 * LAYERS - 1].flags = SEAM_PLAN_STAYS;
	requests[8 * LAYERS - 1].size_bytes = MIB(1);
	changed.prologue = requests;
	changed.header.prologue_count = 8 * LAYERS;
	changed.header.resident_bytes = MIB(1);
	open_with_streams(MIB(4096), "chunk_bytes:2M,plan:off");
	seam__plan_seal(&changed.header);
	cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
	for (unsigned i = 0; i < 8 * LAYERS - 20; i++)
		must_free(must_alloc(MIB(32), streams[0]));
	for (unsigned i = 0; i < 19; i++)
		(void)must_alloc(MIB(32), streams[0]);
	cr_expect(pool->runtime->open);
	cr_expect(is_expected());
}
