/* test_learner_chunks.c: which chunks the arena of a plan gets, and in which order. */
#include "learner_impl.h"

#include "core_fixture.h"

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

static void run_until_preparing(void)
{
	bool did = true;
	for (unsigned i = 0; i < 4000 && pool->learner.state != SEAM_LEARN_PREPARE; i++) {
		if (!did)
			iterate();
		seam__pool_work(pool, &did);
	}
	cr_assert_eq(pool->learner.state, SEAM_LEARN_PREPARE);
}

static bool is_of_kept(uint64_t number)
{
	struct seam_block_chunk chunks[KEPT_CHUNKS];
	size_t count = 0;
	cr_assert_ok(seam_block_chunks(pool, kept, chunks, KEPT_CHUNKS, &count));
	cr_assert_eq(count, KEPT_CHUNKS);
	for (size_t i = 0; i < count; i++) {
		if (chunks[i].chunk == number)
			return true;
	}
	return false;
}

/* It was made first, so its chunks are the first of all. */
Test(learner_chunks, what_is_occupied_between_iterations_comes_last)
{
	begin();
	run_until_preparing();
	const struct seam_arena *arena = &pool->learner.stage->arena;
	uint32_t found = 0;
	for (uint32_t i = 0; i < arena->count; i++) {
		if (!is_of_kept(arena->chunks[i].chunk->number))
			continue;
		found++;
		cr_expect_geq(i, arena->count - KEPT_CHUNKS, "chunk %u of %u", i, arena->count);
	}
	cr_expect_eq(found, KEPT_CHUNKS, "the plan does without: this tests nothing");
	close_pool();
}

static void note(uint64_t steps)
{
	seam__mutex_lock(&pool->learner.work);
	seam__learner_note_calm(pool, steps);
	seam__mutex_unlock(&pool->learner.work);
}

Test(learner_chunks, calm_is_when_little_is_live)
{
	begin();
	iterate();
	const struct seam_calm *calm = &pool->learner.calm;
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
	must_free(kept);
	note(2);
	cr_expect_eq(calm->count, all + KEPT_CHUNKS, "less is live");
	kept = must_alloc(MIB(2), NULL);
	close_pool();
}

Test(learner_chunks, without_metadata_what_is_known_stays)
{
	unsigned failed = 0;
	begin();
	iterate();
	note(1);
	const struct seam_calm *calm = &pool->learner.calm;
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
