/* test_planned_figures.c: every figure of plans in the statistics: each cause of a miss provoked alone, and none that
 * stays zero. */
#include "core_fixture.h"
#include "match_program.h"

#include "emu.h"
#include "plan_format.h"
#include "matcher_state.h"
#include "planned.h"

#define ONE "4194304" /* MIB(4) */

/* Two blocks, one after the other at the same place, below one that lives as long as both. */
static const char *const words = "k2097152 a" ONE " -a b3145728 -b -k";

/* resident_bytes: what stays beside it. */
static void use_plan_beside(const char *text, uint64_t resident_bytes)
{
	struct match_program program = match_program_of(text);
	char error[200] = "";
	program.plan->header.resident_bytes = resident_bytes;
	seam__plan_seal(&program.plan->header);
	cr_assert_eq(seam_plan_use(pool, program.plan, error, sizeof error), SEAM_OK, "%s", error);
	match_program_fini(&program);
	check_pool();
}

static void use_plan(const char *text)
{
	use_plan_beside(text, 0);
}

/* What the program of `words` does in an iteration. */
static void iterate(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		void *k = must_alloc(MIB(2), NULL);
		must_free(must_alloc(MIB(4), NULL));
		must_free(must_alloc(MIB(3), NULL));
		must_free(k);
		check_pool();
	}
}

/* A pool in which the plan of `words` serves everything. */
static void open_served(const char *conf)
{
	open_pool(MIB(256), conf);
	use_plan(words);
	iterate(6);
	struct seam_plan_stats before = get_plan_stats();
	iterate(1);
	struct seam_plan_stats after = get_plan_stats();
	cr_assert_eq(after.hits - before.hits, 3);
	cr_assert_eq(after.misses, before.misses);
}

static uint64_t misses_by_cause(const struct seam_plan_stats *stats)
{
	uint64_t sum = 0;
#define SEAM_MISS(name, text) sum += stats->miss_##name;
#include "misses.def"
#undef SEAM_MISS
	return sum;
}

/* Since `before` the one cause has risen by `times`, and no other. */
#define cr_expect_missed(before, cause, times)                                                  \
	do {                                                                                    \
		struct seam_plan_stats now_stats = get_plan_stats();                            \
		cr_expect_eq(now_stats.miss_##cause - (before).miss_##cause, (times), #cause);  \
		cr_expect_eq(misses_by_cause(&now_stats) - misses_by_cause(&(before)), (times), \
			"another cause than " #cause);                                          \
		cr_expect_eq(now_stats.misses - (before).misses, (times));                      \
		cr_expect_eq(now_stats.requests, now_stats.hits + now_stats.misses);            \
	} while (0)

/* A plan that was given, of which nothing stays: the program is at its beginning. */
Test(planned_figures, the_first_request_hits_where_nothing_is_to_be_built_up)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	use_plan("k2097152 a4194304 -a b3145728 -b c1048576 -c d5242880 -d -k");
	for (unsigned i = 0; i < 2; i++) {
		void *k = must_alloc(MIB(2), NULL);
		must_free(must_alloc(MIB(4), NULL));
		must_free(must_alloc(MIB(3), NULL));
		must_free(must_alloc(MIB(1), NULL));
		must_free(must_alloc(MIB(5), NULL));
		must_free(k);
	}
	struct seam_plan_stats stats = get_plan_stats();
	cr_expect_eq(stats.hits, 10);
	cr_expect_eq(stats.misses, 0);
	close_pool();
}

Test(planned_figures, another_size_misses)
{
	open_served("chunk_bytes:2M");
	struct seam_plan_stats before = get_plan_stats();
	must_free(must_alloc(MIB(5), NULL));
	cr_expect_missed(before, size, 1);
	close_pool();
}

Test(planned_figures, where_nothing_is_as_expected_the_place_is_lost)
{
	open_served("chunk_bytes:2M");
	for (unsigned i = 0; i < 8; i++)
		must_free(must_alloc(MIB(9) + i * 512u, NULL));
	struct seam_plan_stats before = get_plan_stats();
	must_free(must_alloc(MIB(9), NULL));
	cr_expect_missed(before, lost, 1);
	iterate(6);
	cr_expect_gt(get_plan_stats().resyncs, before.resyncs);
	before = get_plan_stats();
	iterate(1);
	cr_expect_missed(before, lost, 0);
	close_pool();
}

Test(planned_figures, a_stream_that_the_plan_does_not_know_misses)
{
	open_served("chunk_bytes:2M");
	void *other = make_stream();
	struct seam_plan_stats before = get_plan_stats();
	must_free(must_alloc(MIB(4), other));
	cr_expect_missed(before, cursor, 1);
	close_pool();
}

Test(planned_figures, a_place_that_is_still_in_use_misses)
{
	open_served("chunk_bytes:2M");
	void *k = must_alloc(MIB(2), NULL), *kept = must_alloc(MIB(4), NULL);
	struct seam_plan_stats before = get_plan_stats();
	void *b = must_alloc(MIB(3), NULL);
	cr_expect_missed(before, late, 1);
	must_free(kept);
	must_free(b);
	must_free(k);
	close_pool();
}

Test(planned_figures, a_place_that_is_lent_misses)
{
	open_served("chunk_bytes:2M");
	uint64_t reserved = get_stats().reserved_bytes;
	void *strange = must_alloc(MIB(7), NULL); /* more than the plan has in one piece */
	cr_assert_eq(get_stats().reserved_bytes, reserved + MIB(2));
	cr_expect_eq(get_plan_stats().lent_bytes, MIB(6));
	struct seam_plan_stats before = get_plan_stats();
	const uint64_t lends = pool->runtime->counts.lends, collects = pool->runtime->counts.collects;
	cr_expect_eq(lends, 3);
	void *k = must_alloc(MIB(2), NULL);
	cr_expect_missed(before, gap, 1);
	cr_expect_eq(pool->runtime->counts.collects, collects, "nothing of it was free");
	must_free(strange);
	cr_expect_eq(pool->runtime->counts.collects, collects + 1, "three chunks side by side");
	must_free(k);
	iterate(2);
	before = get_plan_stats();
	iterate(1);
	cr_expect_missed(before, gap, 0);
	close_pool();
}

/* Wherever it is that metadata is lacking, the pool grows no more than with it. */
Test(planned_figures, lending_without_metadata_does_not_grow_the_pool)
{
	uint64_t drops = 0;
	for (unsigned n = 1; n <= 30; n++) {
		void *strange = NULL;
		open_served("chunk_bytes:2M");
		const uint64_t reserved = get_stats().reserved_bytes;
		seam__meta_fail_at(pool->engine.meta, n);
		const enum seam_rc rc = seam_alloc(pool, MIB(7), NULL, &strange);
		seam__meta_fail_at(pool->engine.meta, 0);
		cr_expect(rc == SEAM_OK || rc == SEAM_OOM_META, "call %u: %s", n, seam_rc_name(rc));
		cr_expect_leq(get_stats().reserved_bytes, reserved + MIB(2), "call %u", n);
		drops += get_plan_stats().drops;
		check_pool();
		if (rc == SEAM_OK)
			must_free(strange);
		close_pool();
	}
	cr_expect_gt(drops, 0, "no range could not be blocked: this tests nothing");
}

/* With fit and none what the plan leaves idle stays idle, whatever else is asked for. */
Test(planned_figures, only_with_stitch_is_what_a_plan_leaves_idle_lent_or_borrowed)
{
	static const char *const confs[] = {"chunk_bytes:2M,plan_reuse:fit", "chunk_bytes:2M,plan_reuse:none"};
	for (unsigned i = 0; i < 2; i++) {
		void *strange[3];
		open_served(confs[i]);
		for (unsigned n = 0; n < 3; n++)
			strange[n] = must_alloc(MIB(5) + n * MIB(1), NULL);
		cr_expect_eq(pool->runtime->counts.lends, 0, "%s", confs[i]);
		cr_expect_eq(get_plan_stats().borrows, 0, "%s", confs[i]);
		for (unsigned n = 0; n < 3; n++)
			must_free(strange[n]);
		close_pool();
	}
}

/* What lives long takes no place that is due before it is freed, as long as that costs the pool next to nothing: here
 * it would cost half as much again. */
Test(planned_figures, a_long_lived_block_that_is_displaced_does_not_make_the_pool_grow_by_much)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	use_plan("x8388608 y8388608 -y z8388608 -z -x");
	void *late = NULL;
	for (unsigned i = 0; i < 8; i++) {
		void *x = must_alloc(MIB(8), NULL);
		must_free(late); /* the last time behind the request that has its place */
		must_free(must_alloc(MIB(8), NULL));
		must_free(must_alloc(MIB(8), NULL));
		if (i == 6)
			late = x;
		else
			must_free(x);
		check_pool();
	}
	cr_expect_eq(get_plan_stats().miss_late, 3, "x; y and z, whose place x has");
	cr_expect_eq(get_plan_stats().borrows, 3);
	cr_expect_eq(get_stats().reserved_bytes, MIB(16));
	close_pool();
}

/* Blocks that are never freed have the places of two requests in three. */
Test(planned_figures, a_plan_that_serves_less_than_half_of_two_periods_goes)
{
	open_served("chunk_bytes:2M");
	void *kept[] = {must_alloc(MIB(2), NULL), must_alloc(MIB(4), NULL)};
	must_free(must_alloc(MIB(3), NULL));
	iterate(350);
	cr_expect_eq(get_plan_stats().drops, 0, "a period of 1,024 requests");
	iterate(700);
	cr_expect_eq(get_plan_stats().drops, 1);
	must_free(kept[0]);
	must_free(kept[1]);
	close_pool();
}

static void depart(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		must_free(must_alloc(MIB(5) + i * 512u, NULL));
	check_pool();
}

/* All of the arena but what its block has is free for a large request. When the program comes back the plan serves
 * again, without a call. */
Test(planned_figures, a_plan_that_is_departed_from_is_suspended_until_the_program_comes_back)
{
	open_served("chunk_bytes:2M");
	depart(80);
	const struct seam_plan_stats suspended = get_plan_stats();
	cr_expect_gt(suspended.miss_suspended, 0);
	depart(10);
	cr_expect_eq(get_plan_stats().borrows, suspended.borrows);
	cr_expect_eq(get_plan_stats().drops, 0);
	iterate(6);
	const struct seam_plan_stats before = get_plan_stats();
	const uint64_t calls = get_stats().memory_calls;
	iterate(3);
	cr_expect_eq(get_plan_stats().hits - before.hits, get_plan_stats().requests - before.requests);
	cr_expect_eq(get_stats().memory_calls, calls);
	cr_expect_eq(get_plan_stats().adoptions, suspended.adoptions);
	close_pool();
}

/* As soon as one is missed, known or not. A plan that was given goes on. */
Test(planned_figures, a_learnt_plan_that_has_cost_more_than_was_earned_is_suspended)
{
	open_served("chunk_bytes:2M");
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	pool->runtime->account.steps = -100000;
	iterate(3);
	depart(1);
	cr_assert_not(active->suspended, "given");
	active->made_at = 0; /* as if it were learnt */
	iterate(3);
	cr_assert_not(active->suspended, "all are served");
	depart(1);
	cr_assert(active->suspended && pool->runtime->account.steps < 0);
	iterate(3);
	cr_expect_gt(get_plan_stats().miss_suspended, 0, "nothing is earned yet");
	pool->runtime->account.steps = active->price_steps;
	iterate(6);
	cr_assert_not(active->suspended);
	void *late = must_alloc(MIB(2), NULL);
	pool->runtime->account.steps = -100000;
	void *again = must_alloc(MIB(2), NULL);
	cr_expect(active->suspended);
	must_free(late);
	must_free(again);
	close_pool();
}

/* Each time it waits for twice as much to be earned, but for no more than is ever kept. */
Test(planned_figures, a_learnt_plan_that_costs_too_much_waits_longer_each_time)
{
	open_served("chunk_bytes:2M");
	struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	const int64_t most = seam__account_most(active->long_positions);
	int64_t price = 8 * (int64_t)active->long_positions;
	active->made_at = 0;
	for (int turn = 0; turn < 6; turn++) {
		pool->runtime->account.steps = -100000;
		depart(1);
		cr_assert(active->suspended, "turn %d", turn);
		price = 2 * price < most ? 2 * price : most;
		cr_assert_eq(active->price_steps, price, "turn %d", turn);
		pool->runtime->account.steps = price;
		iterate(8);
		cr_assert_not(active->suspended, "turn %d", turn);
	}
	cr_assert_eq(price, most, "this tests nothing");
	cr_expect_eq(get_plan_stats().drops, 0);
	close_pool();
}

/* The next one has not spent what the last one overdrew. */
Test(planned_figures, a_plan_that_goes_leaves_no_debt)
{
	open_served("chunk_bytes:2M");
	LIST_FIRST(&pool->runtime->active_plans)->made_at = 0;
	pool->runtime->account.steps = -100000;
	seam_plan_drop(pool);
	cr_expect_eq(get_plan_stats().drops, 1);
	cr_expect_eq(pool->runtime->account.steps, 0);
	close_pool();
}

Test(planned_figures, a_suspended_plan_hears_of_steps)
{
	open_served("chunk_bytes:2M");
	const struct seam_active_plan *active = LIST_FIRST(&pool->runtime->active_plans);
	depart(80);
	cr_assert(active->suspended);
	cr_assert(seam__matcher_is_unmarked(active->matcher));
	cr_assert_ok(seam_step(pool));
	cr_expect_not(seam__matcher_is_unmarked(active->matcher));
	close_pool();
}

/* Requests that may fail for want of metadata, of sizes that the plan has or has not. */
static void ask_and_free(bool known, unsigned count)
{
	static const uint64_t sizes[] = {MIB(2), MIB(4), MIB(3)};
	for (unsigned i = 0; i < count; i++) {
		void *ptr = NULL;
		if (seam_alloc(pool, known ? sizes[i % 3] : MIB(5) + i * 512u, NULL, &ptr) == SEAM_OK)
			must_free(ptr);
		check_pool();
	}
}

/* The n-th metadata call of all that suspending and going on makes fails. */
Test(planned_figures, without_metadata_a_departed_plan_is_suspended_or_dropped)
{
	unsigned suspended = 0;
	for (unsigned n = 1; n <= 40; n++) {
		open_served("chunk_bytes:2M");
		void *lent = must_alloc(MIB(7), NULL);
		ask_and_free(false, 60);
		seam__meta_fail_at(pool->meta, n);
		ask_and_free(false, 20);
		ask_and_free(true, 60);
		seam__meta_fail_at(pool->meta, 0);
		suspended += get_plan_stats().miss_suspended != 0;
		ask_and_free(true, 30);
		must_free(lent);
		ask_and_free(true, 30);
		close_pool();
	}
	cr_expect_gt(suspended, 0, "this tests nothing");
}

Test(planned_figures, a_plan_that_serves_stays_while_the_pool_grows)
{
	open_served("chunk_bytes:2M");
	iterate(4);
	must_free(must_alloc(MIB(12), NULL));
	cr_expect_eq(get_plan_stats().drops, 0);
	close_pool();
}

Test(planned_figures, requests_that_are_not_for_plans_miss)
{
	static const uint32_t flags[] = {SEAM_CONTIGUOUS, SEAM_NO_STITCH, SEAM_NO_WAIT};
	open_served("chunk_bytes:2M");
	struct seam_plan_stats before = get_plan_stats();
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
		struct seam_request request = {.size = sizeof request, .bytes = MIB(2), .flags = flags[i]};
		void *ptr = NULL;
		cr_assert_ok(seam_alloc_request(pool, &request, &ptr));
		must_free(ptr);
	}
	cr_assert_ok(seam_private_begin(pool, 7, SEAM_ROUTE_ALL, 0));
	must_free(must_alloc(MIB(2), NULL));
	cr_assert_ok(seam_private_end(pool, 7));
	cr_expect_missed(before, request, 4);
	close_pool();
}

Test(planned_figures, a_stream_that_cannot_be_ordered_misses)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	must_free(must_alloc(MIB(2), NULL)); /* the pool knows the stream */
	use_plan(words);
	struct seam_plan_stats before = get_plan_stats();
	for (unsigned i = 0; i < 12 && get_plan_stats().miss_order == before.miss_order; i++) {
		before = get_plan_stats();
		seam__meta_fail_at(
			pool->meta, 1); /* fails for the list of the arena's streams, once the place is known */
		static const uint64_t sizes[] = {MIB(2), MIB(4), MIB(3)};
		void *ptr = NULL;
		enum seam_rc rc = seam_alloc(pool, sizes[i % 3], NULL, &ptr);
		seam__meta_fail_at(pool->meta, 0);
		if (rc == SEAM_OK)
			must_free(ptr);
		check_pool();
	}
	cr_expect_missed(before, order, 1);
	iterate(3);
	close_pool();
}

/* The highest value of every figure at any note() so far. */
static struct seam_plan_stats seen;

static void note(void)
{
	const struct seam_plan_stats now = get_plan_stats();
#define SEAM_PLAN_STAT(name, kind, text) seen.name = now.name > seen.name ? now.name : seen.name;
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
}

/* An iteration with one request whose size is another one each time. */
static void iterate_unevenly(uint64_t dynamic_bytes)
{
	void *kept[20];
	for (unsigned k = 0; k < 20; k++)
		kept[k] = must_alloc(MIB(3) + k * 512u, NULL);
	for (unsigned k = 0; k < 10; k++)
		must_free(kept[k]);
	cr_assert_ok(seam_dynamic_begin(pool));
	void *dynamic = must_alloc(dynamic_bytes, NULL);
	cr_assert_ok(seam_dynamic_end(pool));
	for (unsigned k = 10; k < 20; k++)
		must_free(kept[k]);
	must_free(dynamic);
	cr_assert_ok(seam_step(pool));
}

/* A pool with a plan of its own, for requests that depend on data too, that is in step with the program. The first
 * attempt to make its arena fails. */
static void learn_uneven(const char *conf)
{
	open_pool(MIB(512), conf);
	for (unsigned i = 0; i < 100 && get_plan_stats().adoptions == 0; i++) {
		iterate_unevenly(MIB(1) + i * 100000u % MIB(2));
		if (get_plan_stats().failures == 0)
			seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
		run_background();
		seam__driver_fail_at(driver, 0, 0, 0);
		note();
	}
	cr_assert_eq(get_plan_stats().failures, 1);
	cr_assert_eq(get_plan_stats().made, 2);
	cr_assert_eq(get_plan_stats().adoptions, 1);
	for (unsigned i = 0; i < 4; i++)
		iterate_unevenly(MIB(1) + i * 100000u);
	note();
}

/* With plan_reuse:none there is never room for them. */
Test(planned_figures, requests_that_depend_on_data_hit_where_there_is_room)
{
	static const struct {
		const char *conf;
		uint64_t hits;
	} rows[] = {
		{"plan:inline,chunk_bytes:2M", 1},
		{"plan:inline,chunk_bytes:2M,plan_reuse:fit", 1},
		{"plan:inline,chunk_bytes:2M,plan_reuse:none", 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		learn_uneven(rows[i].conf);
		const struct seam_plan_stats before = get_plan_stats();
		iterate_unevenly(MIB(2) - 77777);
		const struct seam_plan_stats after = get_plan_stats();
		cr_expect_eq(after.dynamic_hits - before.dynamic_hits, rows[i].hits, "%s", rows[i].conf);
		cr_expect_eq(after.hits - before.hits, 20 + rows[i].hits, "%s", rows[i].conf);
		cr_expect_missed(before, dynamic, 1 - rows[i].hits);
		iterate_unevenly(MIB(200));
		cr_expect_missed(after, dynamic, 1);
		close_pool();
	}
}

/* Two plans that differ; what neither knows; a drop. */
static void play_plans(void)
{
	open_served("chunk_bytes:2M");
	use_plan("x1048576 -x y2097152 z524288 -y -z");
	cr_expect_eq(get_plan_stats().loaded_plans, 2);
	for (unsigned i = 0; i < 6; i++) {
		must_free(must_alloc(MIB(1), NULL));
		void *y = must_alloc(MIB(2), NULL), *z = must_alloc(KIB(512), NULL);
		note();
		must_free(y);
		must_free(z);
	}
	iterate(6);
	void *late = must_alloc(MIB(2), NULL); /* where the next one is to lie */
	must_free(must_alloc(MIB(4), NULL));
	must_free(must_alloc(MIB(3), NULL));
	iterate(1);
	must_free(late);
	iterate(3);
	must_free(must_alloc(MIB(2), NULL)); /* its iteration's other requests do not come */
	iterate(3);
	uint64_t reserved = get_stats().reserved_bytes;
	void *large = must_alloc(reserved + MIB(2), NULL); /* more than the plan has in one piece */
	note();
	must_free(large);
	seam_plan_drop(pool);
	cr_expect_eq(get_plan_stats().loaded_plans + get_plan_stats().arena_bytes + get_plan_stats().lent_bytes, 0);
	cr_expect_eq(get_plan_stats().drops, 1);
	note();
	close_pool();
}

/* Causes of misses have tests of their own. */
Test(planned_figures, no_figure_stays_zero)
{
	learn_uneven("plan:inline,chunk_bytes:2M");
	close_pool();
	play_plans();
#define SEAM_PLAN_STAT(name, kind, text) cr_expect(seen.name != 0 || strncmp(#name, "miss_", 5) == 0, #name);
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
}
