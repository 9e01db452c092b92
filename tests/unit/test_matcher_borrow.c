/* test_matcher_borrow.c: places that are borrowed from a plan, and what the plan asks for next. */
#include <string.h>

#include "matcher_fixture.h"
#include "match_idle.h"
#include "loaded_plan.h"
#include "planned.h"

/* 12 KiB of the arena may be borrowed. */
static void open_wide(const char *words)
{
	open_with(words);
	seam__matcher_set_bytes(player.matcher, 12288);
}

static enum seam_miss ask(uint64_t bytes, struct seam_plan_block **ret_block)
{
	return ask_on(bytes, 0, 0, ret_block);
}

/* A request that was missed may borrow a part of the very place that it missed. If the program begins the iteration
 * once more, that place is due again, and is not free. */
Test(matcher_borrow, a_missed_slot_that_is_asked_again_spares_what_was_borrowed)
{
	struct seam_plan_block *again = NULL;
	open_wide("a8192 -a b4096 -b");
	give(hit(8192));
	give(hit(4096));
	seam__matcher_step(player.matcher);
	give(hit(8192));
	struct seam_plan_block *b = hit(4096);
	cr_assert_eq(ask(8192, &again), SEAM_MISS_late);
	struct seam_plan_block *borrowed = seam__matcher_borrow(player.matcher, 8192);
	check_matcher();
	cr_assert_not_null(borrowed);
	cr_assert_lt(borrowed->offset, 8192, "it has nothing of the place that was missed: this tests nothing");
	give(b);
	seam__matcher_step(player.matcher);
	cr_assert_eq(ask(8192, &again), SEAM_MISS_late, "I2: the place is borrowed");
	give(borrowed);
	seam__matcher_step(player.matcher);
	give(hit(8192));
	close_all();
}

Test(matcher_borrow, place_that_is_due_now_is_borrowed_where_no_other_is)
{
	open_wide("a12288 -a b4096 -b");
	struct seam_plan_block *strange = NULL;
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	strange = seam__matcher_borrow(player.matcher, 7777);
	check_matcher();
	cr_assert_not_null(strange);
	cr_expect_eq(strange->bytes, 8192);
	struct seam_plan_block *a = NULL;
	cr_expect_eq(ask(12288, &a), SEAM_MISS_late, "I2: its place is given away");
	give(strange);
	give(hit(4096));
	give(hit(12288));
	close_all();
}

Test(matcher_borrow, the_place_of_a_slot_that_was_missed_is_not_due)
{
	open_wide("a8192 -a b4096 -b");
	struct seam_plan_block *again = NULL;
	give(hit(8192));
	struct seam_plan_block *b = hit(4096);
	const uint64_t rest = b->offset == 0 ? 4096 : 0;
	cr_expect_eq(ask(8192, &again), SEAM_MISS_late);
	cr_expect_eq(match_idle(player.matcher, rest, rest + 4096), UINT64_MAX,
		"only the slot that is served elsewhere lies there");
	give(b);
	give(hit(4096));
	cr_expect_lt(match_idle(player.matcher, rest, rest + 4096), 4, "it is due again");
	close_all();
}

/* y is due later than x: the pool is about to grow, but x's place is for later tries only. */
Test(matcher_borrow, what_is_due_later_is_given_away_first)
{
	open_with("x4096 y4096 z4096 -x -y -z");
	seam__matcher_set_bytes(player.matcher, 12288);
	struct seam_plan_block *x = hit(4096), *y = hit(4096), *z = hit(4096), *strange = NULL;
	const uint64_t first = x->offset;
	give(x);
	give(y);
	give(z);
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	strange = seam__matcher_borrow(player.matcher, 3333);
	check_matcher();
	cr_assert_not_null(strange);
	cr_expect_neq(strange->offset, first, "x is due now");
	x = hit(4096);
	cr_expect_eq(x->offset, first);
	give(x);
	give(strange);
	close_all();
}

static bool count_one(void *user, uint32_t number)
{
	(void)number;
	++*(uint32_t *)user;
	return false;
}

/* Of each KiB [first, end) the upper half is blocked: the gaps between are of 512 bytes. */
static void narrow(unsigned first, unsigned end)
{
	for (unsigned i = first; i < end; i++)
		cr_assert_eq(match_matcher_block(player.matcher, 1024 * i + 512, 1024 * i + 1024), SEAM_OK);
}

/* So many gaps that are too narrow lie below the first that is wide enough. */
static bool is_found_above(unsigned gaps)
{
	struct seam_plan_block *strange = NULL;
	open_with("x512 -x");
	seam__matcher_set_bytes(player.matcher, UINT64_C(1024) * gaps + 4096);
	narrow(0, gaps);
	cr_assert_neq(ask(1024, &strange), SEAM_MISS_NONE);
	strange = seam__matcher_borrow(player.matcher, 1024);
	const bool found = strange != NULL;
	if (found)
		give(strange);
	for (unsigned i = 0; i < gaps; i++)
		seam__matcher_unblock(player.matcher, 1024 * i + 512, 1024 * i + 1024);
	close_all();
	return found;
}

static struct seam_plan_block *borrow(uint64_t bytes, uint64_t *ret_steps)
{
	struct seam_plan_block *strange = NULL;
	cr_assert_neq(ask(bytes, &strange), SEAM_MISS_NONE);
	const uint64_t before = counts().steps;
	strange = seam__matcher_borrow(player.matcher, bytes);
	cr_assert_not_null(strange);
	*ret_steps = counts().steps - before;
	return strange;
}

/* A small one is freed far below, which says nothing of where a large one finds its place. */
Test(matcher_borrow, a_size_is_looked_for_where_one_like_it_was_found)
{
	uint64_t steps;
	open_with("x2048 -x");
	seam__matcher_set_bytes(player.matcher, 1024 * 1000 + 16384);
	narrow(0, 1000);
	struct seam_plan_block *low = borrow(512, &steps);
	struct seam_plan_block *high = borrow(4096, &steps);
	cr_expect_gt(steps, 900);
	for (int i = 0; i < 3; i++) {
		give(low);
		give(borrow(4096, &steps));
		cr_expect_lt(steps, 16);
		low = borrow(512, &steps);
		cr_expect_lt(steps, 16);
	}
	give(low), give(high);
	seam__matcher_unblock(player.matcher, 0, 1024 * 1000);
	close_all();
}

static void wait_for(unsigned periods)
{
	for (unsigned i = 0; i < periods; i++)
		give(hit(2048));
}

/* Above the second place, and below the first, lie more gaps than a few steps pass. */
Test(matcher_borrow, a_free_leads_the_search_for_its_size_back)
{
	uint64_t steps;
	open_with("x2048 -x");
	seam__matcher_set_bytes(player.matcher, 1024 * 5000);
	narrow(4, 80), narrow(88, 240), narrow(248, 5000);
	struct seam_plan_block *low = borrow(8192, &steps), *high = borrow(8192, &steps);
	cr_assert_lt(low->offset, high->offset);
	cr_assert_neq(ask(8192, &(struct seam_plan_block *){NULL}), SEAM_MISS_NONE);
	cr_assert_null(seam__matcher_borrow(player.matcher, 8192));
	give(low);
	wait_for(20);
	low = borrow(8192, &steps);
	cr_expect_lt(steps, 64, "the choice of a slot, and the place");
	give(high);
	high = borrow(8192, &steps);
	cr_expect_gt(high->offset, low->offset);
	give(low), give(high);
	seam__matcher_unblock(player.matcher, 0, 1024 * 5000);
	close_all();
}

/* Steps of a search in vain. */
static uint64_t steps_in_vain(uint64_t bytes)
{
	const uint64_t before = counts().steps;
	cr_assert_neq(ask(bytes, &(struct seam_plan_block *){NULL}), SEAM_MISS_NONE);
	cr_assert_null(seam__matcher_borrow(player.matcher, bytes));
	return counts().steps - before;
}

Test(matcher_borrow, a_search_in_vain_is_not_repeated_at_once)
{
	open_with("x2048 -x");
	seam__matcher_set_bytes(player.matcher, 1024 * 100);
	narrow(4, 100);
	cr_expect_gt(steps_in_vain(8192), 90);
	cr_expect_lt(steps_in_vain(8192), 64, "the choice of a slot alone");
	cr_expect_gt(steps_in_vain(7168), 90, "it was not looked for");
	cr_expect_lt(steps_in_vain(8192), 64);
	wait_for(10);
	cr_expect_gt(steps_in_vain(8192), 90, "twenty positions later");
	seam__matcher_unblock(player.matcher, 0, 1024 * 100);
	close_all();
}

/* Two thousand slots share one address, one after the other: a place of theirs is found again in few steps. */
Test(matcher_borrow, slots_that_are_due_at_other_times_are_passed_over)
{
	static char words[2000 * 10];
	for (unsigned i = 0; i < 2000; i++)
		memcpy(&words[10 * i], "a4096 -a  ", 10);
	words[sizeof words - 1] = 0;
	open_with(words);
	const uint64_t times = seam__loaded_times(player.matcher->now, 300, 2);
	uint32_t seen = 0;
	(void)seam__loaded_overlapping(player.matcher->now, 0, 4096, &times, count_one, &seen);
	cr_expect_geq(seen, 2);
	cr_expect_lt(seen, 24, "%u", seen);
	close_all();
}

/* All slots were freed early: none needs its place, and the lowest will do. */
Test(matcher_borrow, a_search_ends_at_the_first_place)
{
	static const char names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	static char words[52 * 10];
	struct seam_plan_block *blocks[52];
	uint64_t steps;
	for (unsigned i = 0; i < 52; i++) {
		memcpy(&words[6 * i], (char[6]){names[i], '4', '0', '9', '6', ' '}, 6);
		memcpy(&words[6 * 52 + 3 * i], (char[3]){'-', names[i], ' '}, 3);
	}
	open_with(words);
	for (unsigned i = 0; i < 52; i++)
		blocks[i] = hit(4096);
	for (unsigned i = 52; i-- > 1;)
		give(blocks[i]);
	give(borrow(1111, &steps));
	cr_expect_lt(steps, 48, "the choice of a slot, and ten instances");
	give(blocks[0]);
	close_all();
}

Test(matcher_borrow, a_search_is_bounded)
{
	cr_expect(is_found_above(100));
	cr_expect_not(is_found_above(4200));
}

struct ranges {
	struct seam_plan_range at[16];
	size_t count, most;
};

static bool note_range(void *user, uint64_t begin, uint64_t end)
{
	struct ranges *ranges = user;
	cr_assert_lt(ranges->count, ranges->most);
	cr_expect_neq(match_idle(player.matcher, begin, end), 0, "somebody has it");
	ranges->at[ranges->count++] = (struct seam_plan_range){begin, end};
	return ranges->count == ranges->most;
}

static void expect_range(const struct ranges *ranges, size_t i, uint64_t begin, uint64_t end)
{
	cr_expect_eq(ranges->at[i].begin_bytes, begin, "range %zu begins at %llu", i,
		(unsigned long long)ranges->at[i].begin_bytes);
	cr_expect_eq(
		ranges->at[i].end_bytes, end, "range %zu ends at %llu", i, (unsigned long long)ranges->at[i].end_bytes);
}

/* All three lie in the first 8192 bytes. Idle for half a period (three positions) is what lies behind them, idle for a
 * quarter of that what z alone has too, and now all. */
Test(matcher_borrow, idle_ranges_come_by_the_time_that_they_are_idle_for)
{
	struct ranges ranges = {.most = 3};
	struct seam_plan_block *strange = NULL;
	open_with("x4096 -x y4096 -y z8192 -z");
	seam__matcher_set_bytes(player.matcher, 16384);
	give(hit(4096));
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	struct seam_match_counts before, after;
	seam__matcher_get_counts(player.matcher, &before);
	seam__matcher_each_idle(player.matcher, 4096, note_range, &ranges);
	seam__matcher_get_counts(player.matcher, &after);
	cr_assert_eq(ranges.count, 3, "until it is told to stop");
	cr_assert(after.steps >= before.steps + 3 && after.steps <= before.steps + 30, "and that is work: %lu",
		(unsigned long)(after.steps - before.steps));
	expect_range(&ranges, 0, 8192, 16384);
	expect_range(&ranges, 1, 4096, 16384);
	expect_range(&ranges, 2, 0, 16384);
	close_all();
}

Test(matcher_borrow, what_is_taken_or_too_narrow_is_no_idle_range)
{
	struct ranges ranges = {.most = 1};
	struct seam_plan_block *strange = NULL;
	open_with("x4096 -x");
	seam__matcher_set_bytes(player.matcher, 32768);
	cr_assert_eq(match_matcher_block(player.matcher, 6144, 8192), SEAM_OK);
	cr_assert_eq(match_matcher_block(player.matcher, 16384, 32768), SEAM_OK);
	struct seam_plan_block *x = hit(4096);
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	seam__matcher_each_idle(player.matcher, 4096, note_range, &ranges);
	cr_assert_eq(ranges.count, 1);
	expect_range(&ranges, 0, 8192, 16384);
	ranges = (struct ranges){.most = 16};
	seam__matcher_each_idle(player.matcher, 16384, note_range, &ranges);
	cr_expect_eq(ranges.count, 0);
	seam__matcher_unblock(player.matcher, 0, 32768);
	give(x);
	close_all();
}
