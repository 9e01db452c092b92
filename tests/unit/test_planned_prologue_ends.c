/* test_planned_prologue_ends.c: the places for what a plan says to stay go back where the program is another one, where
 * the plan goes, and where something fails. */
#include "learner_impl.h"

#include "prologue_fixture.h"
#include "planned.h"

TestSuite(planned_prologue_ends, .init = make_plan, .fini = close_with_plan);

/* Another one, with requests of the same sizes among its own, has not fewer places than it has asked for, and no more.
 */
Test(planned_prologue_ends, another_program_gets_the_memory_back)
{
	struct training training;
	void *strangers[STRANGERS];
	open_with_plan(MIB(2048));
	training.parameters[0] = must_alloc(parameter_bytes(0), streams[0]);
	for (unsigned i = 0; i < STRANGERS; i++)
		strangers[i] = must_alloc(MIB(2), streams[1]);
	cr_expect_not(is_expected());
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(LAYERS, LAYERS) + (STRANGERS - 1) * MIB(2),
		"the last is where something should have stayed");
	for (unsigned i = 0; i < STRANGERS; i++)
		must_free(strangers[i]);
	cr_expect_eq(LIST_NEXT(LIST_FIRST(&pool->runtime->active_plans), link)->arena.leased_bytes, places_bytes(1, 0),
		"nor parts of the chunks that it is in");
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(1, 0));
	must_free(training.parameters[0]);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, needed_bytes(0, 0));
}

Test(planned_prologue_ends, a_plan_that_is_dropped_leaves_what_was_made)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	seam_plan_drop(pool);
	cr_expect_not(is_expected());
	check_pool();
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, chunks_of(places_bytes(LAYERS, 0)) * MIB(2));
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training.parameters[i]);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, 0);
}

/* Freed while its stream still works on it: nobody else gets the memory before. */
Test(planned_prologue_ends, what_its_stream_works_on_is_not_given_to_another)
{
	void *block;
	open_with_plan(needed_bytes(LAYERS, LAYERS)); /* so that all of it is needed */
	block = must_alloc(parameter_bytes(0), streams[1]);
	launch(streams[1], block, parameter_bytes(0), 1000000000);
	seam_plan_drop(pool);
	must_free(block);
	block = must_alloc(needed_bytes(LAYERS, LAYERS), streams[0]);
	launch(streams[0], block, needed_bytes(LAYERS, LAYERS), 1000);
	check_pool();
	must_free(block);
}

/* What is live then may be what the plan expects to be made. */
Test(planned_prologue_ends, a_program_that_has_begun_has_none)
{
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	void *block = must_alloc(MIB(1), streams[0]);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_not(is_expected());
	must_free(block);
	seam_plan_drop(pool);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect(is_expected(), "and one that begins anew has");
}

Test(planned_prologue_ends, a_second_plan_takes_the_place_of_the_first)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	seam_plan_drop(pool);
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_not(is_expected());
	train(&training);
	forget(&training);
}

/* It has room in the first one's arena. */
Test(planned_prologue_ends, a_second_plan_beside_the_first_does_not_begin_as_that_does)
{
	struct training training;
	open_with_plan(MIB(2048));
	cr_assert(is_expected());
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	cr_expect_eq(get_plan_stats().adoptions, 2);
	cr_expect_eq(get_plan_stats().drops, 0);
	cr_expect_not(is_expected());
	make_parameters(&training);
	train(&training);
	train(&training);
	forget(&training);
}

/* Used by another stream when it is freed: its chunk goes back when that has passed. */
Test(planned_prologue_ends, what_another_stream_uses_goes_back_behind_it)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	cr_assert_ok(seam_record_stream(pool, training.parameters[0], streams[1]));
	launch(streams[1], training.parameters[0], parameter_bytes(0), 1000000000);
	seam_plan_drop(pool);
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training.parameters[i]);
	check_pool();
	cr_assert_eq(seam__drv_stream_sync(driver, (uint64_t)(uintptr_t)streams[1]), SEAM_CU_SUCCESS);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, 0);
}

/* Blocks end anywhere in them, and only those that are idle as a whole can be lent. */
Test(planned_prologue_ends, chunks_of_a_plan_are_small_beside_it)
{
	open_with_streams(MIB(65536), "plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	const struct seam_active_plan *active;
	LIST_FOREACH(active, &pool->runtime->active_plans, link)
	{
		cr_expect_gt(active->arena.bytes, MIB(64));
		for (uint32_t i = 0; i < active->arena.count; i++)
			cr_expect_eq(active->arena.chunks[i].bytes, MIB(2), "%u", i);
	}
}

/* The pool does not grow beside memory that somebody else's work has left. */
Test(planned_prologue_ends, what_another_stream_has_left_serves_before_the_pool_grows)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	for (unsigned i = 0; i < LAYERS; i++) {
		cr_assert_ok(seam_record_stream(pool, training.parameters[i], streams[1 - i % 2]));
		launch(streams[1 - i % 2], training.parameters[i], parameter_bytes(i), 1000000000);
	}
	seam_plan_drop(pool);
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training.parameters[i]);
	const uint64_t reserved_bytes = get_stats().reserved_bytes;
	cr_assert_eq(reserved_bytes, needed_bytes(LAYERS, LAYERS));
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(seam__drv_stream_sync(driver, (uint64_t)(uintptr_t)streams[i]), SEAM_CU_SUCCESS);
	must_free(must_alloc(reserved_bytes, streams[0]));
	cr_expect_eq(get_stats().reserved_bytes, reserved_bytes);
}

/* A request of the first ones that has no metadata for its place is told from one of the same size that the plan has
 * next, though it is the last. */
Test(planned_prologue_ends, the_last_one_that_has_no_place_is_not_the_plans)
{
	const struct seam_plan_prologue requests[] = {{.size_bytes = plan->slots[0].size_bytes},
		{.size_bytes = plan->slots[1].size_bytes, .slot = 1},
		{.size_bytes = plan->slots[2].size_bytes, .flags = SEAM_PLAN_STAYS, .slot = SEAM_PLAN_NO_SLOT}};
	struct seam_plan changed = *plan;
	unsigned without = 0;
	bool left = false;
	changed.prologue = requests;
	changed.header.prologue_count = 3;
	changed.header.resident_bytes = requests[2].size_bytes;
	for (uint64_t n = 1; !left; n++) {
		void *stays = NULL;
		open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
		seam__plan_seal(&changed.header);
		cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
		cr_assert(is_expected());
		must_free(must_alloc(requests[0].size_bytes, streams[0]));
		must_free(must_alloc(requests[1].size_bytes, streams[0]));
		seam__meta_fail_at(pool->meta, n);
		while (seam_alloc(pool, requests[2].size_bytes, streams[0], &stays) != SEAM_OK)
			;
		left = seam__meta_fail_left(pool->meta) != 0;
		seam__meta_fail_at(pool->meta, 0);
		check_pool();
		cr_expect_not(is_expected());
		cr_expect_neq(seam__active_at(pool->runtime, (uint64_t)(uintptr_t)stays),
			LIST_FIRST(&pool->runtime->active_plans));
		without += get_plan_stats().miss_lost != 0;
		close_with_streams();
	}
	cr_expect_gt(without, 0);
	open_with_plan(MIB(2048));
}

static struct seam_driver_ops ops;
static const struct seam_driver_ops *ops_before;

/* Another thread is out of memory while the room is made. */
static int create_while_memory_is_short(
	struct seam_driver *device, uint64_t bytes, const struct seam_phys_props *props, struct seam_phys *ret_phys)
{
	if (pool->runtime->open) {
		seam__mutex_lock(&pool->engine.lock);
		seam__planned_drop(pool->runtime);
		seam__mutex_unlock(&pool->engine.lock);
	}
	return ops_before->mem_create(device, bytes, props, ret_phys);
}

Test(planned_prologue_ends, a_plan_that_is_gone_before_it_is_used_is_none)
{
	struct training training;
	char error[SEAM_OPTS_LINE_BYTES] = "";
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	ops_before = driver->ops;
	ops = *driver->ops;
	ops.mem_create = create_while_memory_is_short;
	driver->ops = &ops;
	cr_expect_eq(seam_plan_use(pool, plan, error, sizeof error), SEAM_OOM_DEVICE);
	driver->ops = ops_before;
	cr_expect_gt(strlen(error), 0);
	cr_expect_not(pool->runtime->open);
	cr_expect_not(is_expected());
	check_pool();
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_expect_eq(get_stats().reserved_bytes, 0);
	make_parameters(&training);
	train(&training);
	forget(&training);
}

static uint64_t spare(const struct seam_ask *ask, enum seam_spare what)
{
	seam__pool_stop(pool);
	const uint64_t bytes = seam__planned_spare(pool->runtime, ask, ask->bytes, what);
	seam__pool_go(pool);
	return bytes;
}

/* Blocks are held for both streams, and one of them uses what is idle: the other may have that, ordered behind it. */
Test(planned_prologue_ends, the_driver_is_asked_for_what_is_held_alone)
{
	struct training training;
	open_with_plan(MIB(2048));
	make_parameters(&training);
	train(&training);
	train(&training);
	struct seam_ask ask = {.group = &pool->engine.common, .class = SEAM_CLASS_LARGE, .bytes = MIB(8)};
	cr_assert_ok(seam__engine_stream(&pool->engine, (uint64_t)(uintptr_t)streams[1], &ask.stream));
	for (unsigned i = 0; i < 2; i++) {
		cr_assert_ok(seam_record_stream(pool, training.parameters[i], streams[1 - i]));
		launch(streams[1 - i], training.parameters[i], parameter_bytes(i), 1000000000);
		must_free(training.parameters[i]);
	}
	const _Atomic uint64_t *queries = &driver->counts[SEAM_DRV_event_query].calls;
	const uint64_t before = *queries;
	cr_expect_eq(spare(&ask, SEAM_SPARE_PASSED), 0);
	const uint64_t asked = *queries;
	cr_expect_eq(asked, before + 2);
	cr_expect_eq(spare(&ask, SEAM_SPARE_IDLE), MIB(8));
	cr_expect_eq(*queries, asked);
	cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
	cr_expect_eq(spare(&ask, SEAM_SPARE_PASSED), places_bytes(2, 0));
	for (unsigned i = 0; i < 2; i++)
		training.parameters[i] = must_alloc(parameter_bytes(i), streams[i]);
	forget(&training);
}

/* There is no room for what stays: there never was any for the plan. */
Test(planned_prologue_ends, where_memory_is_short_nothing_is_kept)
{
	struct training training;
	open_with_streams(needed_bytes(LAYERS, 0), "chunk_bytes:2M,plan:off");
	cr_expect_eq(seam_plan_use(pool, plan, NULL, 0), SEAM_OOM_DEVICE);
	cr_expect_not(is_expected());
	cr_expect_not(pool->runtime->open);
	make_parameters(&training);
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training.parameters[i]);
}

static void count_one(void *user, struct seam_active_plan *active)
{
	(*(unsigned *)user)++;
	active->busy[0] = 1;
}

/* What is free in the chunks of an active plan is anybody's until it is shut: no place may lie on it. */
Test(planned_prologue_ends, a_active_plan_somebody_was_served_from_has_no_places)
{
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
	for (unsigned i = 0; i < 2; i++) {
		struct seam_active_plan *active = NULL;
		unsigned counted = 0;
		seam__pool_stop(pool);
		cr_assert_ok(seam__active_prepare_fresh(pool->runtime, MIB(4), &active));
		seam__pool_go(pool);
		void *block = must_alloc(MIB(1), streams[0]);
		if (i == 1) { /* freed again, but its stream still works on it */
			launch(streams[0], block, MIB(1), 1000000000);
			must_free(block);
		}
		seam__pool_stop(pool);
		enum seam_rc rc = seam__active_shut(pool->runtime, active, count_one, &counted);
		cr_assert_eq(rc, SEAM_BUSY, "%u: %s", i, seam_rc_name(rc));
		cr_expect_eq(counted, 0);
		seam__active_discard(pool->runtime, active);
		seam__pool_go(pool);
		check_pool();
		if (i == 0)
			must_free(block);
		cr_assert_eq(seam__drv_stream_sync(driver, (uint64_t)(uintptr_t)streams[0]), SEAM_CU_SUCCESS);
		cr_assert_ok(seam_trim(pool, 0, NULL));
		cr_expect_eq(get_stats().reserved_bytes, 0);
	}
}

/* Whatever fails: the plan is in use or it is not, and the program gets what it asks for. */
static void run_after_failure(enum seam_rc rc)
{
	struct training training;
	cr_assert(rc == SEAM_OK || !pool->runtime->open, "%s", seam_rc_name(rc));
	check_pool();
	make_parameters(&training);
	train(&training);
	train(&training);
	forget(&training);
	close_with_streams();
}

Test(planned_prologue_ends, every_failure_of_metadata_leaves_a_whole_pool)
{
	bool left = false;
	unsigned refused = 0;
	for (uint64_t n = 1; !left; n++) {
		open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
		seam__meta_fail_at(pool->meta, n);
		enum seam_rc rc = seam_plan_use(pool, plan, NULL, 0);
		left = seam__meta_fail_left(pool->meta) != 0;
		seam__meta_fail_at(pool->meta, 0);
		refused += rc != SEAM_OK;
		cr_expect_eq(is_expected(), rc == SEAM_OK);
		run_after_failure(rc);
	}
	cr_expect_gt(refused, 2);
	open_with_plan(MIB(2048));
}

Test(planned_prologue_ends, every_failure_of_the_driver_leaves_a_whole_pool)
{
	bool left = false;
	unsigned refused = 0;
	for (uint64_t n = 1; !left; n += n < 200 ? 7 : 1) {
		open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
		seam__driver_fail_at(driver, n, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		enum seam_rc rc = seam_plan_use(pool, plan, NULL, 0);
		left = driver->fail_countdown > 0;
		seam__driver_fail_at(driver, 0, 0, 0);
		refused += rc != SEAM_OK;
		cr_expect_eq(is_expected(), rc == SEAM_OK);
		run_after_failure(rc);
	}
	cr_expect_gt(refused, 2);
	open_with_plan(MIB(2048));
}

/* One that has no metadata for its place is made elsewhere. */
Test(planned_prologue_ends, every_failure_of_a_request_leaves_a_whole_pool)
{
	bool left = false;
	for (uint64_t n = 1; !left; n++) {
		struct training training = {.is_first = true};
		open_with_plan(MIB(2048));
		seam__meta_fail_at(pool->meta, n);
		for (unsigned i = 0; i < LAYERS; i++) {
			while (seam_alloc(pool, parameter_bytes(i), streams[i % 2], &training.parameters[i]) != SEAM_OK)
				;
			check_pool();
		}
		left = seam__meta_fail_left(pool->meta) != 0;
		seam__meta_fail_at(pool->meta, 0);
		train(&training);
		forget(&training);
		close_with_streams();
	}
	open_with_plan(MIB(2048));
}
