/* test_tracker_threads.c: which cursor a thread has. */
#include <stdio.h>
#include <string.h>

#include "matcher_fixture.h"
#include "matcher_state.h"
#include "planned.h"

Test(tracker_threads, thread_without_a_cursor_takes_one_that_expects_its_request)
{
	struct seam_plan_block *plan_block = NULL;
	open_with("a4096 b8192@7^1 -a -b");
	struct seam_plan_block *a = hit(4096);
	cr_assert_eq(ask_on(8192, 7, 5, &plan_block), SEAM_MISS_NONE); /* 5 instead of 1, which has not spoken */
	cr_assert_eq(ask_on(8192, 7, 6, &plan_block), SEAM_MISS_cursor);
	cr_assert_eq(ask_on(8192, 9, 0, &plan_block), SEAM_MISS_cursor);
	cr_assert_eq(counts().misses[SEAM_MISS_cursor], 2);
	give(a);
	give(plan_block);
	for (int r = 0; r < 2; r++)
		give(hit(4096));
	cr_assert_eq(ask_on(8192, 7, 6, &plan_block), SEAM_MISS_NONE);
	give(plan_block);
	close_all();
}

/* The second half of what two threads did comes from a third, which has no cursor. */
Test(tracker_threads, work_of_two_threads_that_moves_to_a_third_is_served)
{
	open_with("a4096 b8192^1 c1024 d2048^1 -a -b -c -d");
	for (uint32_t r = 0; r < 5; r++) {
		const uint32_t first = r < 2 ? 0 : 3, second = r < 2 ? 1 : 3;
		struct seam_plan_block *a = NULL, *b = NULL, *c = NULL, *d = NULL;
		cr_assert_eq(ask_on(4096, 0, 0, &a), SEAM_MISS_NONE);
		cr_assert_eq(ask_on(8192, 0, 1, &b), SEAM_MISS_NONE);
		cr_assert_eq(ask_on(1024, 0, first, &c), SEAM_MISS_NONE);
		cr_assert_eq(ask_on(2048, 0, second, &d), SEAM_MISS_NONE);
		give(a);
		give(b);
		give(c);
		give(d);
	}
	cr_expect_eq(counts().resyncs, 0);
	close_all();
}

Test(tracker_threads, thread_without_a_cursor_is_not_taken_for_what_is_due_much_later)
{
	char words[2048] = "a4096 -a";
	for (unsigned i = 0; i < 120; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), " %c512^1 -%c",
			(char)('A' + i % 26), (char)('A' + i % 26));
	open_with(words);
	struct seam_plan_block *plan_block = NULL;
	give(hit(4096));
	cr_expect_eq(ask_on(4096, 0, 2, &plan_block), SEAM_MISS_cursor, "a is due in the next iteration");
	cr_assert_eq(ask_on(512, 0, 1, &plan_block), SEAM_MISS_NONE);
	give(plan_block);
	close_all();
}

#define PAIRS 100u

/* What its cursor expects is in the repetition that is nearest to where the others are. */
Test(tracker_threads, thread_that_was_silent_is_met_in_the_nearest_repetition)
{
	char words[2048] = "x4096^1 -x";
	for (unsigned i = 0; i < PAIRS; i++)
		(void)strcat(words, " a512 -a");
	for (uint32_t pairs = 1; pairs < PAIRS; pairs++) {
		struct seam_plan_block *plan_block = NULL;
		open_with(words);
		cr_assert_eq(match_acts(&player, &program, 0, 0, program.count), 0);
		for (uint32_t i = 0; i < PAIRS + pairs; i++)
			give(hit(512));
		cr_assert_eq(ask_on(777, 0, 1, &plan_block), SEAM_MISS_size);
		const struct seam_match_ask ask = {.thread = 1};
		const uint64_t expected = seam__cursor_at(seam__tracker_cursor(player.matcher, &ask));
		const uint64_t frontier = match_frontier(player.matcher), period = program.count;
		cr_expect_eq(expected % period, 0);
		if (frontier - period > period / 4 * 3)
			cr_expect_leq(expected > frontier ? expected - frontier : frontier - expected, period / 2,
				"%u pairs: %llu, at %llu", pairs, (unsigned long long)expected,
				(unsigned long long)frontier);
		close_all();
	}
}

/* A request that depends on data has no size by which its cursor could be known: of those some are missed. */
Test(tracker_threads, program_whose_second_half_moves_to_another_thread_is_served)
{
	uint64_t dynamic_misses = 0, dynamic_requests = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const bool dynamic = seed % 2 == 0;
		const struct program_wish wish = {
			.seed = seed, .iterations = 6, .slots = 40, .dynamics = dynamic ? 10 : 0, .threads = 2};
		program = match_program(&wish);
		match_open(&player, "the second half moves", seed);
		match_add(&player, &program, true);
		seam__matcher_start(player.matcher);
		cr_assert_eq(match_acts(&player, &program, 0, 0, program.count), 0);
		player.moved_from = program.plan->header.slot_count / 2;
		for (uint64_t r = 1; r < 5; r++) {
			const uint64_t missed = match_acts(&player, &program, r, 0, program.count);
			cr_expect(dynamic || missed == 0, "seed %u, repetition %u", (unsigned)seed, (unsigned)r);
			dynamic_misses += dynamic ? missed : 0;
			dynamic_requests += dynamic ? program.plan->header.slot_count : 0;
		}
		close_all();
	}
	cr_expect_lt(dynamic_misses, dynamic_requests / 20, "%u of %u", (unsigned)dynamic_misses,
		(unsigned)dynamic_requests);
}
