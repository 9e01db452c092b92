/* arena_fixture.h: an engine with one arena, for the tests of stitch/arena*.c and stitch/survey.c. */
#ifndef SEAM_TESTS_ARENA_FIXTURE_H
#define SEAM_TESTS_ARENA_FIXTURE_H

#include "arena.h"
#include "engine_fixture.h"

static struct seam_arena arena;

static inline void expect_arena(void)
{
	const char *broken = seam__arena_check(&engine, &arena);
	cr_expect_null(broken, "broken: %s", broken);
	expect_whole();
}

static inline void lock_both(void)
{
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
}

static inline void unlock_both(void)
{
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
}

static inline void set_up_arena(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
	arena = (struct seam_arena){0};
}

static inline void tear_down_arena(void)
{
	expect_arena();
	seam__arena_fini(&engine, &arena);
	close_engine();
}

/* Every live block stays. */
static inline bool all_stay(void *user, const struct seam_block *block)
{
	(void)user;
	return block->is == SEAM_IS_LIVE;
}

/* Those that are tagged stay. */
static inline bool tagged_stay(void *user, const struct seam_block *block)
{
	(void)user;
	return block->tag != 0;
}

static inline struct seam_survey survey_of(bool (*stays)(void *user, const struct seam_block *block))
{
	struct seam_survey survey;
	lock_both();
	cr_assert_eq(seam__survey_make(&engine, stays, NULL, &survey), SEAM_OK);
	unlock_both();
	return survey;
}

static inline void drop_survey(struct seam_survey *survey)
{
	seam__mutex_lock(&engine.lock);
	seam__survey_fini(&engine, survey);
	seam__mutex_unlock(&engine.lock);
}

static inline enum seam_rc begin(const uint64_t *numbers, uint32_t count, uint64_t fresh_mib, uint64_t reserve_mib)
{
	lock_both();
	enum seam_rc rc = seam__arena_begin(&engine, numbers, count, MIB(fresh_mib), MIB(2), MIB(reserve_mib), &arena);
	unlock_both();
	expect_arena();
	return rc;
}

/* An arena of all that a survey lists. */
static inline enum seam_rc begin_with_all(uint64_t fresh_mib)
{
	struct seam_survey survey = survey_of(all_stay);
	uint64_t numbers[64];
	cr_assert_leq(survey.count, 64);
	for (uint32_t i = 0; i < survey.count; i++)
		numbers[i] = survey.chunks[i].number;
	enum seam_rc rc = begin(numbers, survey.count, fresh_mib, 0);
	drop_survey(&survey);
	return rc;
}

static inline enum seam_rc prepare(uint32_t mappings)
{
	lock_both();
	enum seam_rc rc = seam__arena_prepare(&engine, &arena, mappings);
	unlock_both();
	expect_arena();
	return rc;
}

/* With `lock`. Returns the bytes. */
static inline uint64_t lease_all(void)
{
	seam__arena_open(&arena);
	return seam__arena_collect(&engine, &arena, 0, arena.count);
}

static inline uint64_t open_arena(void)
{
	seam__mutex_lock(&engine.lock);
	const uint64_t bytes = lease_all();
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	return bytes;
}

static inline void make_arena(uint64_t fresh_mib)
{
	cr_assert_eq(begin_with_all(fresh_mib), SEAM_OK);
	cr_assert_eq(prepare(64), SEAM_OK);
	cr_assert_neq(open_arena(), 0);
}

static inline uint64_t collect(uint32_t first, uint32_t count)
{
	seam__mutex_lock(&engine.lock);
	uint64_t bytes = seam__arena_collect(&engine, &arena, first, count);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	return bytes;
}

/* The entries of up to two streams; 0 ends the list. */
static inline uint32_t entries(uint64_t first, uint64_t second, struct seam_stream **streams)
{
	uint32_t count = 0;
	if (first != 0)
		cr_assert_eq(seam__engine_stream(&engine, first, &streams[count++]), SEAM_OK);
	if (second != 0)
		cr_assert_eq(seam__engine_stream(&engine, second, &streams[count++]), SEAM_OK);
	return count;
}

/* To a stream that nobody has to be waited for but those that the arena has joined. */
static inline uint64_t lend_to(uint32_t i, uint64_t stream)
{
	struct seam_stream *entry = NULL;
	seam__mutex_lock(&engine.lock);
	(void)entries(stream, 0, &entry);
	cr_assert_eq(seam__arena_join(&engine, &arena, entry), SEAM_OK);
	const uint64_t bytes = seam__arena_lend(&engine, &arena, i, 1, entry);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	return bytes;
}

static inline void close_after(const uint32_t *busy, uint64_t first, uint64_t second)
{
	struct seam_stream *streams[2];
	seam__mutex_lock(&engine.lock);
	uint32_t count = entries(first, second, streams);
	seam__arena_close(&engine, &arena, busy, streams, count);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
}

static inline void settle_after(uint64_t offset, uint64_t bytes, uint64_t first)
{
	struct seam_stream *streams[2];
	seam__mutex_lock(&engine.lock);
	uint32_t count = entries(first, 0, streams);
	seam__arena_settle(&engine, &arena, offset, bytes, streams, count);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
}

static inline enum seam_rc finish_part(uint32_t mappings)
{
	lock_both();
	enum seam_rc rc = seam__arena_finish(&engine, &arena, mappings);
	unlock_both();
	expect_arena();
	return rc;
}

static inline enum seam_rc finish(void)
{
	return finish_part(UINT32_MAX);
}

static inline enum seam_rc join(uint64_t stream)
{
	struct seam_stream *entry = NULL;
	seam__mutex_lock(&engine.lock);
	cr_assert_eq(seam__engine_stream(&engine, stream, &entry), SEAM_OK);
	enum seam_rc rc = seam__arena_join(&engine, &arena, entry);
	seam__mutex_unlock(&engine.lock);
	expect_arena();
	return rc;
}

/* A kernel that writes a range of the arena. */
static inline void plan_work(uint64_t offset, uint64_t bytes, uint64_t stream, uint64_t duration_ns)
{
	const struct seam_emu_range range = {arena.view->va + offset, bytes, true};
	cr_assert_eq(
		seam__emu_launch(driver, stream, &range, 1, duration_ns, 0), 0, "%s", seam__emu_violation_text(driver));
}

/* The gaps of a range in MiB, as text: "0-2 5-6". */
static inline void add_gap(void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
	char *text = user;
	size_t length = strlen(text);
	(void)snprintf(text + length, 200 - length, "%s%g-%g", length == 0 ? "" : " ",
		(double)begin_bytes / (double)MIB(1), (double)end_bytes / (double)MIB(1));
}

static inline const char *gaps_of(uint64_t begin_bytes, uint64_t end_bytes)
{
	static char text[200];
	text[0] = '\0';
	seam__mutex_lock(&engine.lock);
	seam__arena_gaps(&arena, begin_bytes, end_bytes, add_gap, text);
	seam__mutex_unlock(&engine.lock);
	return text;
}

static inline const char *gaps(void)
{
	return gaps_of(0, arena.bytes);
}

#endif
