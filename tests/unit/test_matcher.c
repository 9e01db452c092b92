/* test_matcher.c: requests, frees and ranges of a matcher, one rule after the other. */
#include <stdio.h>
#include <string.h>

#include "matcher_fixture.h"
#include "match_idle.h"
#include "meta.h"
#include "planned.h"

/* Two blocks that share their memory: b after a. What is between them lives all the time. */
static const char *const taking_turns = "a4096 c8192 -a b4096 -b -c";

static enum seam_miss missed(uint64_t bytes)
{
	struct seam_plan_block *plan_block = NULL;
	const enum seam_miss miss = ask_on(bytes, 0, 0, &plan_block);
	cr_assert_neq(miss, SEAM_MISS_NONE, "%llu bytes: a hit", (unsigned long long)bytes);
	return miss;
}

Test(matcher, a_struct_is_one_cache_line)
{
	cr_assert_eq(sizeof(struct seam_plan_block), 64);
}

Test(matcher, without_a_loaded_plan_everything_misses)
{
	match_open(&player, "empty", 1);
	cr_assert_eq(missed(4096), SEAM_MISS_lost);
	cr_assert_null(seam__matcher_find(player.matcher, 0));
	cr_assert_null(seam__matcher_around(player.matcher, 0));
	cr_assert_eq(match_idle(player.matcher, 0, 4096), UINT64_MAX);
	match_close(&player);
}

Test(matcher, what_was_freed_in_time_makes_room)
{
	open_with(taking_turns);
	for (int r = 0; r < 4; r++) {
		struct seam_plan_block *a = hit(4096), *c = hit(8192);
		const uint64_t offset = a->offset;
		give(a);
		struct seam_plan_block *b = hit(4096);
		cr_assert_eq(b->offset, offset, "the plan shares nothing: this tests nothing");
		give(b);
		give(c);
	}
	cr_assert_eq(counts().hits, 12);
	cr_assert_eq(counts().overdue, 0);
	close_all();
}

Test(matcher, what_is_freed_late_keeps_its_place)
{
	open_with(taking_turns);
	struct seam_plan_block *a = hit(4096), *c = hit(8192);
	cr_assert_eq(missed(4096), SEAM_MISS_late); /* b, over a */
	cr_assert_eq(counts().overdue, 1);
	give(c);
	give(a);
	cr_assert_eq(counts().overdue, 0);
	a = hit(4096); /* the next repetition, as if nothing had been */
	c = hit(8192);
	give(a);
	give(hit(4096));
	give(c);
	close_all();
}

Test(matcher, what_is_held_keeps_its_place)
{
	open_with(taking_turns);
	struct seam_plan_block *a = hit(4096), *c = hit(8192);
	cr_assert_eq(seam__matcher_hold(player.matcher, a), SEAM_OK);
	cr_assert_eq(seam__matcher_find(player.matcher, a->offset), a);
	cr_assert_eq(counts().live, 2);
	cr_assert_eq(missed(4096), SEAM_MISS_late);
	give(a);
	give(c);
	cr_assert_eq(counts().live, 0);
	close_all();
}

Test(matcher, sizes_count_rounded_up)
{
	open_with("a4000 -a");
	struct seam_plan_block *a = hit(4096);
	cr_assert_eq(a->requested_bytes, 4096);
	give(a);
	give(hit(3585));
	cr_assert_eq(missed(3584), SEAM_MISS_size);
	close_all();
}

Test(matcher, an_extra_request_shifts_nothing)
{
	open_with("a4096 b8192 c16384 d1024 -a -b -c -d");
	give(hit(4096));
	cr_assert_eq(missed(99999), SEAM_MISS_size);
	give(hit(8192));
	give(hit(16384));
	give(hit(1024));
	cr_assert_eq(counts().resyncs, 1);
	close_all();
}

Test(matcher, requests_in_a_row_that_are_not_expected_are_lost_from_the_fifth_on)
{
	open_with("a4096 b8192 c16384 d1024 -a -b -c -d");
	give(hit(4096));
	for (uint32_t i = 1; i <= 8; i++)
		cr_expect_eq(missed(90000 + i * 512), i <= 4 ? SEAM_MISS_size : SEAM_MISS_lost, "request %u", i);
	close_all();
}

Test(matcher, a_request_of_another_size_shifts_nothing)
{
	open_with("a4096 b8192 c16384 d1024 -a -b -c -d");
	give(hit(4096));
	cr_assert_eq(missed(99999), SEAM_MISS_size);
	give(hit(16384));
	give(hit(1024));
	give(hit(4096));
	close_all();
}

Test(matcher, requests_that_are_dropped_are_passed_over)
{
	open_with("a4096 b8192 c16384 d1024 -a -b -c -d");
	give(hit(4096));
	give(hit(16384));
	give(hit(1024));
	give(hit(4096));
	cr_assert_eq(counts().misses[SEAM_MISS_size], 0);
	close_all();
}

Test(matcher, two_sizes_in_a_row_are_found_far_ahead)
{
	open_with("a1024 b2048 c3072 d4096 e5120 f6144 g7168 h8192 -a -b -c -d -e -f -g -h");
	give(hit(1024));
	cr_assert_eq(missed(6144), SEAM_MISS_size);
	struct seam_plan_block *g = hit(7168);
	cr_assert_eq(g->number, 6);
	give(g);
	give(hit(8192));
	give(hit(1024));
	close_all();
}

Test(matcher, neighbours_that_are_swapped_both_hit)
{
	open_with("a4096 b8192 c16384 d1024 -a -b -c -d");
	struct seam_plan_block *b = hit(8192), *a = hit(4096);
	cr_assert_eq(b->number, 1);
	cr_assert_eq(a->number, 0);
	struct seam_plan_block *d = hit(1024), *c = hit(16384);
	cr_assert_eq(d->number, 3);
	cr_assert_eq(c->number, 2);
	give(a), give(b), give(c), give(d);
	give(hit(4096));
	close_all();
}

Test(matcher, blocked_places_are_gaps_until_unblocked)
{
	open_with(taking_turns);
	cr_assert_eq(match_matcher_block(player.matcher, 0, 1 << 20), SEAM_OK);
	struct seam_plan_block *a = NULL;
	cr_assert_eq(ask_on(4096, 0, 0, &a), SEAM_MISS_gap);
	cr_assert_eq(a->state, SEAM_PLANNED_FREE);
	cr_assert_eq(seam__matcher_take(player.matcher, a), SEAM_MISS_gap);
	seam__matcher_unblock(player.matcher, 0, 1 << 20);
	cr_assert_eq(seam__matcher_take(player.matcher, a), SEAM_MISS_NONE);
	cr_assert_eq(a->requested_bytes, 4096);
	cr_assert_eq(counts().misses[SEAM_MISS_gap], 0);
	cr_assert_eq(counts().hits, 1);
	give(a);
	give(hit(8192));
	close_all();
}

Test(matcher, places_are_blocked_however_often_others_were_blocked_since_they_were_looked_at)
{
	open_with("a4096 -a b4096 -b");
	give(hit(4096)); /* b is not looked at before */
	for (uint32_t i = 1; i < UINT16_MAX; i++) {
		cr_assert_eq(match_matcher_block(player.matcher, 8192, 12288), SEAM_OK);
		seam__matcher_unblock(player.matcher, 8192, 12288);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct seam_plan_block *a = NULL;
		cr_assert_eq(match_matcher_block(player.matcher, 0, 512), SEAM_OK);
		match_check(&player);
		cr_assert_eq(ask_on(4096, 0, 0, &a), SEAM_MISS_gap);
		seam__matcher_unblock(player.matcher, 0, 512);
	}
	give(hit(4096));
	close_all();
}

Test(matcher, ranges_are_unblocked_together)
{
	open_with("a4096 -a");
	cr_assert_eq(match_matcher_block(player.matcher, 2048, 3072), SEAM_OK);
	cr_assert_eq(match_matcher_block(player.matcher, 0, 1024), SEAM_OK);
	cr_assert_eq(match_matcher_block(player.matcher, 3072, 8192), SEAM_OK);
	match_check(&player);
	seam__matcher_unblock(player.matcher, 0, 3072);
	match_check(&player);
	cr_assert_eq(seam__matcher_blocked_bytes(player.matcher), 8192 - 3072);
	struct seam_plan_block *a = NULL;
	cr_assert_eq(ask_on(4096, 0, 0, &a), SEAM_MISS_gap);
	seam__matcher_unblock(player.matcher, 3072, 8192);
	give(hit(4096));
	close_all();
}

Test(matcher, what_is_blocked_takes_the_place_of_what_was)
{
	open_with("a4096 -a");
	cr_assert_eq(match_matcher_block(player.matcher, 0, 512), SEAM_OK);
	cr_assert_eq(match_matcher_block(player.matcher, 512, 1024), SEAM_OK);
	cr_assert_eq(match_matcher_block(player.matcher, 5120, 8192), SEAM_OK);
	const struct seam_plan_range ranges[] = {{1024, 1536}, {2048, 4096}, {4096, 4608}};
	cr_assert_eq(seam__matcher_block(player.matcher, 512, 5120, ranges, 3), SEAM_OK);
	match_check(&player);
	cr_assert_eq(seam__matcher_blocked_bytes(player.matcher), 512 + 512 + 2048 + 512 + 3072);
	cr_assert_eq(seam__matcher_block(player.matcher, 0, 5120, ranges, 1), SEAM_OK);
	match_check(&player);
	cr_assert_eq(seam__matcher_blocked_bytes(player.matcher), 512 + 3072);
	seam__matcher_unblock(player.matcher, 0, 8192);
	cr_assert_eq(seam__matcher_blocked_bytes(player.matcher), 0);
	give(hit(4096));
	close_all();
}

Test(matcher, idle_is_what_the_plan_leaves)
{
	open_with(taking_turns);
	struct seam_plan_block *a = hit(4096), *c = hit(8192);
	const uint64_t begin = a->offset, end = begin + 4096;
	cr_assert_eq(match_idle(player.matcher, begin, end), 0, "live");
	give(a);
	cr_assert_eq(match_idle(player.matcher, begin, end), 1, "due now: b is next");
	struct seam_plan_block *b = hit(4096);
	give(b);
	cr_assert_eq(match_idle(player.matcher, begin, end), 1, "the free of c, then a");
	cr_assert_eq(match_idle(player.matcher, UINT64_C(1) << 30, UINT64_C(2) << 30), UINT64_MAX);
	cr_assert_eq(seam__matcher_around(player.matcher, c->offset + 8191), c);
	cr_assert_null(seam__matcher_around(player.matcher, begin));
	give(c);
	cr_assert_eq(match_idle(player.matcher, begin, end), 1, "a is next");
	close_all();
}

Test(matcher, another_loaded_plan_is_found_by_what_is_asked)
{
	open_with("a1000 b2000 c3000 d4000 e5000 -a -b -c -d -e");
	struct match_program other = match_program_of("a9000 b8000 c7000 d6000 e5500 f4500 -a -b -c -d -e -f");
	struct seam_plan_block *left = hit(1000);
	match_add(&player, &other, false);
	cr_assert_eq(seam__matcher_loaded_count(player.matcher), 2);
	(void)missed(9000);
	struct seam_plan_block *plan_block = NULL;
	cr_assert_eq(ask_on(8000, 0, 0, &plan_block), SEAM_MISS_NONE, "two that stand where an iteration begins");
	give(plan_block);
	give(hit(7000));
	cr_assert_eq(ask_on(6000, 0, 0, &plan_block), SEAM_MISS_NONE);
	cr_assert_eq(counts().switches, 1);
	cr_assert_eq(seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 6);
	cr_assert_eq(seam__matcher_find(player.matcher, left->offset), left, "a block of the other loaded plan");
	give(plan_block);
	give(hit(5500));
	give(left);
	cr_assert_eq(counts().overdue, 0);
	close_all();
	match_program_fini(&other);
}

Test(matcher, the_loaded_plan_that_was_current_longest_ago_goes)
{
	open_with("a4096 -a");
	struct match_program others[SEAM_LOADED_PLANS];
	struct seam_plan_block *a = hit(4096);
	for (uint32_t i = 0; i < SEAM_LOADED_PLANS; i++) {
		char words[64];
		(void)snprintf(words, sizeof words, "a%u b512 -a -b", 8192 * (i + 1));
		others[i] = match_program_of(words);
		match_add(&player, &others[i], false);
	}
	cr_assert_eq(seam__matcher_loaded_count(player.matcher), SEAM_LOADED_PLANS);
	cr_assert_eq(seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 1, "the current one stays");
	cr_assert_eq(seam__loaded_bytes(seam__matcher_loaded(player.matcher, 1)), 8192 * SEAM_LOADED_PLANS + 512,
		"the newest");
	cr_assert_eq(seam__loaded_bytes(seam__matcher_loaded(player.matcher, SEAM_LOADED_PLANS - 1)), 2 * 8192 + 512,
		"the first is gone");
	for (uint32_t i = 0; i < SEAM_LOADED_PLANS; i++)
		match_add(&player, &others[i], true);
	cr_assert_eq(seam__matcher_loaded_count(player.matcher), SEAM_LOADED_PLANS);
	give(a); /* of a loaded plan that is long gone */
	match_check(&player);
	close_all();
	for (uint32_t i = 0; i < SEAM_LOADED_PLANS; i++)
		match_program_fini(&others[i]);
}

Test(matcher, the_first_step_says_where_iterations_end)
{
	open_with("a1024 b2048 c3072 d4096 e5120 f6144 g7168 h8192 -a -b -c -d -e -f -g -h");
	for (uint64_t bytes = 1024; bytes <= 8192; bytes += 1024)
		give(hit(bytes));
	seam__matcher_step(player.matcher);
	for (uint64_t bytes = 1024; bytes <= 5120; bytes += 1024)
		give(hit(bytes)); /* and no more this time */
	seam__matcher_step(player.matcher);
	for (uint64_t bytes = 1024; bytes <= 8192; bytes += 1024)
		give(hit(bytes));
	seam__matcher_step(player.matcher);
	cr_assert_eq(counts().misses[SEAM_MISS_size], 0);
	close_all();
}

static void hear(uint64_t first, uint64_t second, uint64_t third)
{
	give(hit(first));
	give(hit(second));
	if (third != 0)
		give(hit(third));
	seam__matcher_step(player.matcher);
	check_matcher();
}

/* Both iterations begin alike. The second time the second one is cut short. */
Test(matcher, a_period_of_several_iterations_has_several_ends)
{
	open_with("a1024 b2048 c3072 -a -b -c d1024 e5120 f6144 -d -e -f");
	for (unsigned i = 0; i < 3; i++) {
		hear(1024, 2048, 3072);
		hear(1024, 5120, i == 1 ? 0 : 6144);
	}
	cr_expect_eq(counts().misses[SEAM_MISS_size], 0);
	cr_expect_eq(counts().misses[SEAM_MISS_lost], 0);
	cr_expect_leq(counts().resyncs, 2);
	close_all();
}

Test(matcher, a_start_begins_a_repetition)
{
	open_with("a1024 b2048 -a -b");
	struct seam_plan_block *a = hit(1024);
	seam__matcher_start(player.matcher);
	cr_assert_eq(counts().overdue, 1, "its free was due");
	cr_assert_eq(missed(1024), SEAM_MISS_late);
	give(a);
	give(hit(2048));
	close_all();
}

Test(matcher, what_has_no_memory_misses_and_changes_nothing)
{
	open_with(taking_turns);
	struct seam_plan_block *a = hit(4096), *c = hit(8192);
	seam__meta_fail_at(player.meta, 1);
	cr_assert_eq(missed(4096), SEAM_MISS_late, "a cannot become overdue");
	seam__meta_fail_at(player.meta, 1);
	cr_assert_eq(seam__matcher_hold(player.matcher, c), SEAM_OOM_META);
	seam__meta_fail_at(player.meta, 1);
	cr_assert_eq(match_matcher_block(player.matcher, 0, 4096), SEAM_OOM_META);
	cr_assert_null(seam__matcher_check(player.matcher));
	cr_assert_eq(seam__matcher_loaded_count(player.matcher), 1);
	give(a);
	give(c);
	close_all();
}

/* A slot ends as many repetitions behind the one that it begins in as there are copies. */
static bool ends_in_as_many_repetitions(const struct seam_loaded_plan *loaded)
{
	bool ends = false;
	for (uint32_t i = 0; i < loaded->slots; i++)
		ends |= loaded->lifetimes[i].end / loaded->positions >= loaded->copies;
	return ends;
}

/* Of a program in step: before each request what the plan has live is what is live. */
Test(matcher, what_the_plan_has_live_at_the_frontier)
{
	uint32_t crossing = 0, longest = 0;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = seed % 3 == 0 ? 100 : 1 + (uint32_t)seed % 7,
			.iterations = 4,
			.lag = (uint32_t)seed / 3 % 3};
		struct match_program drawn = match_program(&wish);
		match_open(&player, "live bytes", seed);
		match_add(&player, &drawn, true);
		for (uint64_t repetition = 0; repetition < 6; repetition++) {
			for (uint32_t act = 0; act < drawn.count; act++) {
				const uint64_t live_bytes = counts().live_bytes;
				const struct seam_loaded_plan *loaded = seam__matcher_loaded(player.matcher, 0);
				/* From the fourth repetition on blocks of all earlier ones are there. */
				if (repetition >= 3 && !drawn.acts[act].is_free)
					cr_assert_eq(seam__loaded_live_bytes(loaded), live_bytes,
						"seed %lu: act %u: %lu bytes, not %lu", (unsigned long)seed, act,
						(unsigned long)seam__loaded_live_bytes(loaded),
						(unsigned long)live_bytes);
				crossing += act == 0 && repetition == 5 && live_bytes != 0;
				longest += act == 0 && repetition == 5 && ends_in_as_many_repetitions(loaded);
				(void)match_act(&player, &drawn, 0, act, repetition);
			}
		}
		match_close(&player);
		match_program_fini(&drawn);
	}
	cr_assert_gt(crossing, 10, "next to nothing lives on: this tests little");
	cr_assert_gt(longest, 10, "%u: nothing lives on for long", longest);
}
