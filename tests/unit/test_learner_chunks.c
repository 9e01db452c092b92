/* test_learner_chunks.c: which chunks the arena of a plan gets, and in which order. */
#include "learner_impl.h"

#include "core_fixture.h"
#include "learner.h"
#include "planned.h"

#define BLOCKS 16u
#define KEPT_CHUNKS 4u

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

/* 0: it is; 1: it was made next. */
static uint64_t behind_kept(uint64_t number)
{
	struct seam_block_chunk chunks[KEPT_CHUNKS];
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, kept, chunks, KEPT_CHUNKS, &count));
	cr_assert_eq(count, KEPT_CHUNKS);
	for (size_t i = 0; i < count; i++) {
		if (chunks[i].chunk == number)
			return 0;
	}
	return number - chunks[count - 1].chunk;
}

/* It was made first, so its chunks are the first of all. */
Test(learner_chunks, what_is_occupied_between_iterations_comes_last)
{
	begin();
	run_until_preparing();
	const struct seam_arena *arena = &pool->learner->stage->arena;
	uint32_t found = 0;
	for (uint32_t i = 0; i < arena->count; i++) {
		const uint64_t behind = behind_kept(arena->chunks[i].chunk->number);
		if (behind > 1) /* it may have the neighbour next time */
			continue;
		found++;
		cr_expect_geq(i, arena->count - KEPT_CHUNKS - 1, "chunk %u of %u", i, arena->count);
	}
	cr_expect_eq(found, KEPT_CHUNKS + 1, "the plan does without: this tests nothing");
	close_pool();
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
	cr_assert_lt(pool->learner->survey.bytes, seam__script_bytes(pool->learner->script),
		"nothing is missing: this tests nothing");
	iterate();
	cr_assert_eq(pool->engine.memory.reserved_bytes, most_bytes, "it has not taken all: this tests nothing");
	run_until_preparing();
	cr_expect_leq(pool->engine.memory.reserved_peak_bytes, most_bytes + most_bytes / SEAM_COST_NOISE_SHARE);
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

static void note(uint64_t steps)
{
	seam__mutex_lock(&pool->engine.lock);
	pool->runtime->steps = steps;
	seam__learner_note_calm(pool->learner);
	seam__mutex_unlock(&pool->engine.lock);
}

Test(learner_chunks, calm_is_when_little_is_live)
{
	begin();
	iterate();
	const struct seam_calm *calm = pool->learner->calm;
	note(0);
	cr_expect_null(calm->numbers, "no step is marked: who knows when an iteration ends?");
	note(1);
	cr_assert_not_null(calm->numbers);
	const uint32_t all = calm->count;
	void *more = must_alloc(MIB(8), NULL);
	note(2);
	cr_expect_eq(calm->steps, 1, "more is live");
	must_free(more);
	note(2);
	cr_expect_eq(calm->steps, 2);
	cr_expect_eq(calm->count, all);
	cr_expect_eq(calm[1].steps, 1, "one of each iteration is known");
	must_free(kept);
	note(2);
	cr_expect_eq(calm->count, all + KEPT_CHUNKS, "less is live");
	cr_expect_null(calm[1].numbers, "there it was more: that was no moment for it");
	kept = must_alloc(MIB(2), NULL);
	close_pool();
}

Test(learner_chunks, the_oldest_moment_makes_room)
{
	begin();
	iterate();
	const struct seam_calm *calm = pool->learner->calm;
	for (uint64_t steps = 1; steps <= SEAM_CALM_MOMENTS + 2; steps++)
		note(steps);
	for (uint32_t i = 0; i < SEAM_CALM_MOMENTS; i++)
		cr_expect_eq(calm[i].steps, SEAM_CALM_MOMENTS + 2 - i);
	close_pool();
}

/* Planning takes the worker several iterations. It can say nothing of them. */
Test(learner_chunks, moments_are_noted_while_a_plan_is_made)
{
	bool did = true;
	begin();
	while (pool->learner->state != SEAM_LEARN_PLAN) {
		if (!did)
			iterate();
		seam__pool_work(pool->learner, &did);
	}
	const struct seam_calm *calm = pool->learner->calm;
	const uint64_t steps = calm->steps;
	iterate();
	iterate();
	iterate();
	cr_expect_gt(calm->steps, steps);
	cr_expect_eq(calm->steps, pool->runtime->steps - 1, "since the newest step nothing was freed");
	check_pool();
	close_pool();
}

Test(learner_chunks, without_metadata_what_is_known_stays)
{
	unsigned failed = 0;
	begin();
	iterate();
	note(1);
	const struct seam_calm *calm = pool->learner->calm;
	const uint64_t *numbers = calm->numbers;
	cr_assert_not_null(numbers);
	for (unsigned nth = 1; calm->steps == 1; nth++) {
		seam__meta_fail_at(pool->meta, nth);
		note(2);
		seam__meta_fail_at(pool->meta, 0);
		check_pool();
		if (calm->steps != 1)
			break;
		cr_expect_eq(calm->numbers, numbers);
		failed++;
	}
	cr_expect_geq(failed, 3);
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
	const struct seam_arena *arena = &pool->learner->stage->arena;
	const uint64_t surplus_bytes = arena->bytes - seam__script_bytes(pool->learner->script);
	for (uint32_t i = 0; i < arena->count; i++)
		cr_expect_gt(arena->chunks[i].bytes, surplus_bytes, "chunk %u of %u is not needed", i, arena->count);
	cr_expect_gt(surplus_bytes, 0, "nothing was left over: this tests nothing");
	close_pool();
}

/* Two residents of 1.25 MiB: one at the end of its chunk, one at the beginning. */
struct ends {
	void *first, *second;
};

static struct ends begin_ends(void)
{
	struct ends ends;
	open_pool(MIB(1024), "plan:inline,chunk_bytes:2M,small_bytes:4K");
	void *before = must_alloc(KIB(768), NULL);
	ends.first = must_alloc(KIB(1280), NULL);
	ends.second = must_alloc(KIB(1280), NULL);
	must_free(before);
	return ends;
}

static void ask_in_turn(void)
{
	must_free(must_alloc(KIB(17800), NULL));
	for (unsigned i = 0; i < BLOCKS; i++)
		must_free(must_alloc(KIB(1600) + i * 512u, NULL));
	cr_assert_ok(seam_step(pool));
}

/* The first time that it is planned the n-th request for metadata fails; 0: none. False: the program is over before an
 * arena is prepared. */
static bool prepares_ends(uint64_t n)
{
	bool did = true;
	for (unsigned i = 0; i < 400 && pool->learner->state != SEAM_LEARN_PREPARE; i++) {
		if (!did)
			ask_in_turn();
		const bool plans = pool->learner->state == SEAM_LEARN_PLAN;
		seam__meta_fail_at(seam__meta_process(), plans ? n : 0);
		seam__pool_work(pool->learner, &did);
		seam__meta_fail_at(seam__meta_process(), 0);
		n = plans ? 0 : n;
	}
	return pool->learner->state == SEAM_LEARN_PREPARE;
}

/* What is free of their chunks, 0.75 MiB each, and 16 MiB between are one piece then: ten chunks do for 17.4 MiB, where
 * eleven are needed if the piece ends with a chunk. */
Test(learner_chunks, a_chunk_that_is_free_in_front_comes_last_where_that_spares_one)
{
	struct ends ends = begin_ends();
	cr_assert(prepares_ends(0));
	const struct seam_arena *arena = &pool->learner->stage->arena;
	cr_expect_eq(arena->count, 10);
	struct seam_block_chunk chunk;
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, ends.first, &chunk, 1, &count));
	cr_expect_eq(arena->chunks[arena->count - 1].chunk->number, chunk.chunk);
	run_background();
	for (unsigned i = 0; i < 4; i++)
		ask_in_turn();
	check_pool();
	struct seam_stats stats = get_stats();
	cr_expect_eq(stats.plan_adoptions, 1);
	cr_expect_geq(stats.plan_hits, 2 * (BLOCKS + 1));
	must_free(ends.first);
	must_free(ends.second);
	close_pool();
}

Test(learner_chunks, without_metadata_no_chunk_is_spared, .timeout = 120)
{
	unsigned longer = 0;
	for (uint64_t n = 1; n < 4096; n += 1 + n / 16) {
		struct seam_meta_stats before, after;
		seam__meta_get_stats(seam__meta_process(), &before);
		struct ends ends = begin_ends();
		const uint32_t count =
			prepares_ends(n) ? pool->learner->stage->arena.count : 0; /* 0: it gave up at once */
		cr_expect(count == 0 || count == 10 || count == 11, "%u chunks", count);
		longer += count == 11;
		run_background();
		ask_in_turn();
		check_pool();
		must_free(ends.first);
		must_free(ends.second);
		close_pool();
		seam__meta_get_stats(seam__meta_process(), &after);
		cr_expect_eq(after.live_bytes, before.live_bytes, "call %llu", (unsigned long long)n);
	}
	cr_expect_gt(longer, 0, "none failed where a chunk is spared: this tests nothing");
}
