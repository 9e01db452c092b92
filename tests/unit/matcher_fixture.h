/* matcher_fixture.h: one matcher with one program, for the tests that ask it request by request. It is checked after
 * each step. Each Criterion test is a process of its own. */
#ifndef SEAM_TESTS_MATCHER_FIXTURE_H
#define SEAM_TESTS_MATCHER_FIXTURE_H

#include <criterion/criterion.h>

#include "match_program.h"
#include "planned.h"

#define UNUSED __attribute__((unused))

static struct match_player player UNUSED;
static struct match_program program UNUSED;

UNUSED static void open_with(const char *words)
{
	match_open(&player, words, 1);
	program = match_program_of(words);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
}

UNUSED static void close_all(void)
{
	match_close(&player);
	match_program_fini(&program);
}

UNUSED static void check_matcher(void)
{
	const char *broken = seam__matcher_check(player.matcher);
	cr_assert_null(broken, "%s", broken);
}

UNUSED static enum seam_miss ask_on(
	uint64_t bytes, uint64_t stream, uint32_t thread, struct seam_plan_block **ret_block)
{
	const struct seam_match_ask ask = {.bytes = bytes, .stream = stream, .thread = thread};
	const enum seam_miss miss = seam__matcher_alloc(player.matcher, &ask, ret_block);
	check_matcher();
	return miss;
}

UNUSED static struct seam_plan_block *hit(uint64_t bytes)
{
	struct seam_plan_block *plan_block = NULL;
	const enum seam_miss miss = ask_on(bytes, 0, 0, &plan_block);
	cr_assert_eq(miss, SEAM_MISS_NONE, "%llu bytes: miss %d", (unsigned long long)bytes, (int)miss);
	return plan_block;
}

UNUSED static void give(struct seam_plan_block *plan_block)
{
	cr_assert_eq(seam__matcher_find(player.matcher, plan_block->offset), plan_block);
	seam__matcher_free(player.matcher, plan_block);
	check_matcher();
}

UNUSED static struct seam_match_counts counts(void)
{
	struct seam_match_counts now;
	seam__matcher_get_counts(player.matcher, &now);
	return now;
}

#endif
