/* test_learner_chunks.c: which chunks the arena of a plan gets, and in which order. */
#include "learner_impl.h"

#include "core_fixture.h"
#include "learner.h"
#include "planned.h"

#define BLOCKS 16u
#define KEPT_CHUNKS 4u
#define RESIDENTS 1200u

static void *kept; /* from one iteration into the next, always in the same place */

static void iterate(void)
{
	void *blocks[BLOCKS];
	for (unsigned i = 0; i < BLOCKS; i++)
		blocks[i] = must_alloc(MIB(2) + i * KIB(512), NULL);
	must_free(kept);
	kept = must_alloc(KEPT_CHUNKS * MIB(2), NULL);
	for (unsigned i = 0; i < BLOCKS; i++)
		must_free(blocks[i]);
	cr_assert_ok(seam_step(pool));
}

static void begin(void)
{
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M");
	kept = must_alloc(KEPT_CHUNKS * MIB(2), NULL);
}

static void run_until(enum seam_learning state)
{
	bool did = true;
	for (unsigned i = 0; i < 4000 && pool->learner->state != state; i++) {
		if (!did)
			iterate();
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_eq(pool->learner->state, state);
}

static void run_until_preparing(void)
{
	run_until(SEAM_LEARN_PREPARE);
}

/* What a trim returned was missing when the plan was made. The program has taken it again since: with what was missing
 * there would be twice as much. */
Test(learner_chunks, what_was_missing_is_not_made_where_the_program_has_taken_it)
{
	begin();
	run_until(SEAM_LEARN_PLAN);
	const uint64_t most_bytes = pool->engine.memory.reserved_peak_bytes;
	cr_assert_ok(seam_trim(pool, 0, NULL));
	run_until(SEAM_LEARN_BEGIN);
	cr_assert_lt(pool->learner->survey.bytes, seam__loaded_bytes(pool->learner->loaded),
		"nothing is missing: this tests nothing");
	iterate();
	cr_assert_eq(pool->engine.memory.reserved_bytes, most_bytes, "it has not taken all: this tests nothing");
	run_until_preparing();
	cr_expect_eq(pool->engine.memory.reserved_peak_bytes, most_bytes);
	close_pool();
}

/* A program that returns all of it and takes it again is not planned for again and again. */
Test(learner_chunks, what_is_taken_each_time_is_given_up)
{
	begin();
	run_until(SEAM_LEARN_PLAN);
	const uint64_t failures = pool->learner->failures;
	unsigned again = 0;
	for (bool did; again < 100 && pool->learner->state == SEAM_LEARN_PLAN; again++) {
		cr_assert_ok(seam_trim(pool, 0, NULL));
		seam__pool_work(pool->learner, &did);
		cr_assert_eq(pool->learner->state, SEAM_LEARN_BEGIN);
		iterate();
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_gt(again, 1, "it was given up at once: this tests nothing");
	cr_expect_leq(again, 4);
	cr_expect_eq(pool->learner->failures, failures + 1);
	close_pool();
}

/* What the arena does without is left out, though it was chosen before a larger chunk covered the rest. */
Test(learner_chunks, no_more_is_chosen_than_is_needed)
{
	bool did = true;
	open_pool(MIB(1024), "plan:inline,chunk_bytes:32M,small_bytes:4K");
	void *first[] = {
		must_alloc(MIB(20), NULL), must_alloc(MIB(10), NULL), must_alloc(MIB(4), NULL)}; /* a chunk each */
	for (unsigned i = 0; i < 3; i++)
		must_free(first[i]);
	for (unsigned i = 0; i < 400 && pool->learner->state != SEAM_LEARN_PREPARE; i++) {
		if (!did) {
			must_free(must_alloc(MIB(26), NULL));
			for (unsigned k = 0; k < BLOCKS; k++)
				must_free(must_alloc(KIB(1600) + k * 512u, NULL));
			cr_assert_ok(seam_step(pool));
		}
		seam__pool_work(pool->learner, &did);
	}
	cr_assert_eq(pool->learner->state, SEAM_LEARN_PREPARE);
	const struct seam_arena *arena = &pool->learner->active->arena;
	const uint64_t surplus_bytes = arena->bytes - seam__loaded_bytes(pool->learner->loaded);
	for (uint32_t i = 0; i < arena->count; i++)
		cr_expect_gt(arena->chunks[i].bytes, surplus_bytes, "chunk %u of %u is not needed", i, arena->count);
	cr_expect_gt(surplus_bytes, 0, "nothing was left over: this tests nothing");
	close_pool();
}

/* Who destroys the pool waits for the worker. */
Test(learner_chunks, the_search_for_a_plan_ends_with_the_pool)
{
	begin();
	run_until(SEAM_LEARN_PLAN);
	__atomic_store_n(&pool->learner->stop, 1, __ATOMIC_RELAXED);
	bool did = false;
	seam__pool_work(pool->learner, &did);
	cr_assert_not_null(pool->learner->plan);
	cr_expect_neq(pool->learner->plan->header.flags & SEAM_PLAN_CANCELLED, 0);
	__atomic_store_n(&pool->learner->stop, 0, __ATOMIC_RELAXED);
	must_free(kept);
	close_pool();
}

static uint64_t process_bytes(void)
{
	struct seam_meta_stats stats;
	seam__meta_get_stats(seam__meta_process(), &stats);
	return stats.live_bytes;
}

/* Many blocks that stay, none beside another. */
static void keep_many(void **residents, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		residents[i] = must_alloc(KIB(64), NULL);
	for (unsigned i = 0; i < count; i += 2) {
		must_free(residents[i]);
		residents[i] = NULL;
	}
}

/* Of the memory that a plan is made in. The next look comes later, and makes the plan. */
Test(learner_chunks, every_failure_of_metadata_while_a_plan_is_made_leaves_nothing)
{
	unsigned failed = 0;
	bool is_over = false;
	for (uint64_t n = 1; !is_over; n += n < 30 ? 1 : n / 3) {
		const uint64_t bytes = process_bytes();
		bool did = false;
		void *residents[RESIDENTS];
		begin();
		keep_many(residents, RESIDENTS);
		run_until(SEAM_LEARN_PLAN);
		const uint64_t failures = pool->learner->failures;
		seam__meta_fail_at(seam__meta_process(), n);
		seam__pool_work(pool->learner, &did);
		is_over = seam__meta_fail_left(seam__meta_process()) != 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		const bool gave_up = pool->learner->failures == failures + 1;
		cr_assert_eq(pool->learner->state, gave_up ? SEAM_LEARN_IDLE : SEAM_LEARN_BEGIN);
		cr_assert(gave_up != is_over, "failure %llu", (unsigned long long)n);
		failed += gave_up;
		cr_assert(gave_up || pool->learner->survey.resident_count >= RESIDENTS / 2);
		check_pool();
		if (n % 8 == 1)
			run_until_preparing();
		must_free(kept);
		for (unsigned i = 1; i < RESIDENTS; i += 2)
			must_free(residents[i]);
		close_pool();
		cr_assert_eq(process_bytes(), bytes, "metadata left, failure %llu", (unsigned long long)n);
	}
	cr_expect_gt(failed, 20);
}

/* Blocks between which holes are stitched; the views stay when all of it is free. */
static void make_views(void)
{
	void *blocks[BLOCKS];
	for (unsigned holes = 2; holes <= 6; holes++) {
		for (unsigned i = 0; i < BLOCKS; i++)
			blocks[i] = must_alloc(MIB(2), NULL);
		for (unsigned i = 0; i < BLOCKS; i += 2)
			must_free(blocks[i]);
		must_free(must_alloc(holes * MIB(2), NULL));
		for (unsigned i = 1; i < BLOCKS; i += 2)
			must_free(blocks[i]);
	}
}

/* The mappings are those of views that nobody needs once the plan serves. */
Test(learner_chunks, a_plan_takes_the_mappings_of_views_that_are_idle)
{
	begin();
	make_views();
	const uint64_t views = get_stats().stitched_views;
	cr_assert_gt(views, 2);
	run_until(SEAM_LEARN_BEGIN);
	struct seam_memory *memory = &pool->engine.memory;
	const uint64_t limit = memory->mapping_limit;
	memory->mapping_limit = memory->mapping_count + seam__loaded_bytes(pool->learner->loaded) / MIB(2) - 4;
	bool did = true;
	unsigned steps = 0;
	for (; pool->learner->state == SEAM_LEARN_BEGIN; steps++) {
		const uint64_t before = pool->engine.counts.stitch_frees;
		seam__pool_work(pool->learner, &did);
		cr_expect_leq(pool->engine.counts.stitch_frees, before + 1, "one view a step");
	}
	cr_expect_gt(steps, 1);
	cr_expect_eq(pool->learner->state, SEAM_LEARN_PREPARE);
	memory->mapping_limit = limit;
	close_pool();
}

Test(learner_chunks, without_mappings_and_idle_views_there_is_no_plan)
{
	begin();
	run_until(SEAM_LEARN_BEGIN);
	struct seam_memory *memory = &pool->engine.memory;
	const uint64_t limit = memory->mapping_limit, failures = pool->learner->failures;
	memory->mapping_limit = memory->mapping_count;
	bool did = true;
	for (unsigned i = 0; i < 100 && pool->learner->state == SEAM_LEARN_BEGIN; i++)
		seam__pool_work(pool->learner, &did);
	cr_expect_eq(pool->learner->state, SEAM_LEARN_IDLE);
	cr_expect_eq(pool->learner->failures, failures + 1);
	memory->mapping_limit = limit;
	close_pool();
}

/* Else a plan would be made for which no chunk may be. */
Test(learner_chunks, what_no_plan_may_raise_is_whole_chunks)
{
	begin();
	struct seam_learner *learner = pool->learner;
	pool->engine.counts.live_bytes_peak = MIB(5120) - 512;
	seam__learner_note_most(learner);
	cr_expect_eq(learner->most_bytes, MIB(5128), "a 512th is 10 MiB");
	pool->engine.memory.reserved_peak_bytes = MIB(5140);
	seam__learner_note_most(learner);
	cr_expect_eq(learner->most_bytes, MIB(5144), "a 1,024th is 5 MiB");
	learner->raised_bytes = MIB(10);
	learner->most_bytes = 0;
	seam__learner_note_most(learner);
	cr_expect_eq(learner->most_bytes, MIB(5134), "plans took 10 MiB of it");
	pool->engine.memory.reserved_peak_bytes = MIB(8); /* peaks are counted anew, behind a trim */
	pool->engine.counts.live_bytes_peak = MIB(8);
	learner->most_bytes = 0;
	seam__learner_note_most(learner);
	cr_expect_eq(learner->most_bytes, MIB(8));
	close_pool();
}
