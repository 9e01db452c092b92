/* test_follower.c: when a program that is not served yet does what a plan says. */
#include <criterion/criterion.h>

#include "follower.h"
#include "match_program.h"
#include "planned.h"

#define CHAIN 12u

static struct match_player player;
static struct match_program program;
static struct seam_follower follower;

/* Twelve blocks of different sizes, of which no more than two are live at a time. */
static const char chain[] =
	"a1024 b2048 -a c3072 -b d4096 -c e5120 -d f6144 -e g7168 -f h8192 -g i9216 -h j10240 -i k11264 -j l12288 -k -l";

static void open_chain(void)
{
	match_open(&player, chain, 1);
	program = match_program_of(chain);
	match_add(&player, &program, true);
	follower = (struct seam_follower){0};
}

static void close_chain(void)
{
	match_close(&player);
	match_program_fini(&program);
}

static bool hear(uint64_t bytes)
{
	const struct seam_match_ask ask = {.bytes = bytes};
	const bool follows = seam__follower_hear(&follower, player.matcher, &ask);
	const char *broken = seam__matcher_check(player.matcher);
	cr_assert_null(broken, "%s", broken);
	return follows;
}

/* The chain's requests; each block is freed behind so many later ones, 0: never. Returns after how many it was
 * believed; UINT32_MAX: it was not. */
static uint32_t run(uint32_t requests, uint32_t freed_after)
{
	for (uint32_t i = 0; i < requests; i++) {
		if (hear(1024 * (i % CHAIN + 1)))
			return i;
		seam__follower_serve(&follower, 4096 * (uint64_t)(i + 1));
		if (freed_after != 0 && i + 1 >= freed_after)
			seam__follower_free(&follower, player.matcher, 4096 * (uint64_t)(i + 2 - freed_after));
	}
	return UINT32_MAX;
}

Test(follower, a_program_that_does_what_the_plan_says_is_believed_within_a_period)
{
	open_chain();
	cr_expect_lt(run(3 * CHAIN, 2), 2 * CHAIN);
	close_chain();
}

/* Parameters and states: the sizes of what comes and goes later, in the same order, but they stay. */
Test(follower, a_program_that_frees_nothing_is_not_believed)
{
	open_chain();
	cr_expect_eq(run(20 * CHAIN, 0), UINT32_MAX);
	close_chain();
}

Test(follower, what_is_freed_much_later_than_the_plan_says_is_no_evidence)
{
	open_chain();
	cr_expect_eq(run(20 * CHAIN, 15), UINT32_MAX);
	close_chain();
}

/* Between what is there to stay something may come and go. */
Test(follower, a_program_that_keeps_every_second_block_is_not_believed)
{
	open_chain();
	for (uint32_t i = 0; i < 20 * CHAIN; i++) {
		cr_assert(!hear(1024 * (i % CHAIN + 1)));
		seam__follower_serve(&follower, 4096 * (uint64_t)(i + 1));
		if (i % 4 >= 2)
			seam__follower_free(&follower, player.matcher, 4096 * (uint64_t)i);
	}
	close_chain();
}

/* What was as the plan says does not count any more once something was not. */
Test(follower, a_request_that_the_plan_does_not_know_ends_it)
{
	open_chain();
	for (uint32_t i = 0; follower.in_step < 4 || follower.returned < 2; i++) {
		cr_assert_lt(i, 3 * CHAIN);
		cr_assert(!hear(1024 * (i % CHAIN + 1)));
		seam__follower_serve(&follower, 4096 * (uint64_t)(i + 1));
		if (i > 0)
			seam__follower_free(&follower, player.matcher, 4096 * (uint64_t)i);
	}
	cr_expect(follower.found);
	cr_expect(!hear(777 * 1024));
	cr_expect(!follower.found);
	cr_expect_eq(follower.in_step, 0);
	cr_expect_eq(follower.returned, 0);
	close_chain();
}

/* Following leaves nothing behind: nothing is live, and the plan serves as ever. */
Test(follower, nothing_is_live_of_what_was_only_followed)
{
	struct seam_match_counts counts;
	struct seam_plan_block *plan_block = NULL;
	open_chain();
	(void)run(CHAIN, 2);
	seam__matcher_get_counts(player.matcher, &counts);
	cr_expect_eq(counts.live, 0);
	cr_expect_eq(counts.overdue, 0);
	seam__matcher_start(player.matcher);
	for (uint32_t i = 0; i < CHAIN; i++) {
		const struct seam_match_ask ask = {.bytes = 1024 * (i + 1)};
		cr_assert_eq(seam__matcher_alloc(player.matcher, &ask, &plan_block), SEAM_MISS_NONE);
		seam__matcher_free(player.matcher, plan_block);
	}
	close_chain();
}

/* Which of a plan's slots outlive the iteration that they are made in: of a period of one, and of one of two. */
struct valley_row {
	const char *words;
	uint64_t goes_on[2]; /* sizes; all others do not */
};

static const struct valley_row valley_rows[] = {
	{"-g t1048576 g4096 -t u512 -u", {4096, 0}},
	{"t1048576 g4096 -t u512 -u -g v1048576 h8192 -v w512 -w -h", {4096, 8192}},
	{"t1048576 g4096 -t u512 w256 -u -w -g", {4096, 0}},
	{"a1048576 b4096 -b -a c2048 -c", {0, 0}},
};

Test(follower, what_outlives_an_iteration_is_known)
{
	for (size_t r = 0; r < sizeof(valley_rows) / sizeof(valley_rows[0]); r++) {
		const struct valley_row *row = &valley_rows[r];
		struct seam_plan_block *plan_block[26] = {NULL};
		match_open(&player, row->words, 1);
		program = match_program_of(row->words);
		match_add(&player, &program, true);
		seam__matcher_start(player.matcher);
		for (uint32_t i = 0; i < program.count; i++) {
			const struct match_act *act = &program.acts[i];
			if (act->is_free) {
				if (plan_block[act->slot] != NULL)
					seam__matcher_free(player.matcher, plan_block[act->slot]);
				plan_block[act->slot] = NULL;
				continue;
			}
			const uint64_t bytes = program.plan->slots[act->slot].size_bytes;
			const struct seam_match_ask ask = {.bytes = bytes};
			cr_assert_eq(seam__matcher_alloc(player.matcher, &ask, &plan_block[act->slot]), SEAM_MISS_NONE,
				"%s", row->words);
			const bool expected = bytes == row->goes_on[0] || bytes == row->goes_on[1];
			cr_expect_eq(seam__matcher_goes_on(player.matcher, plan_block[act->slot]), expected,
				"%s: %llu bytes", row->words, (unsigned long long)bytes);
		}
		for (uint32_t i = 0; i < 26; i++)
			if (plan_block[i] != NULL)
				seam__matcher_free(player.matcher, plan_block[i]);
		close_chain();
	}
}
