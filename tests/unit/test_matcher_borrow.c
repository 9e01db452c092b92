/* test_matcher_borrow.c: places that are borrowed from a plan, and what the plan asks for next. */
#include <string.h>

#include "matcher_fixture.h"
#include "script.h"
#include "planned.h"

/* 12 KiB of the arena may be borrowed. */
static void open_wide(const char *words)
{
	open_with(words);
	seam__matcher_set_bytes(player.matcher, 12288);
}

static enum seam_miss ask(uint64_t bytes, struct seam_planned **ret_planned)
{
	return ask_on(bytes, 0, 0, ret_planned);
}

/* A request that was missed may borrow a part of the very place that it missed. If the program begins the iteration
 * once more, that place is due again, and is not free. */
Test(matcher_borrow, a_missed_slot_that_is_asked_again_spares_what_was_borrowed)
{
	struct seam_planned *again = NULL;
	open_wide("a8192 -a b4096 -b");
	give(hit(8192));
	give(hit(4096));
	seam__matcher_step(player.matcher);
	give(hit(8192));
	struct seam_planned *b = hit(4096);
	cr_assert_eq(ask(8192, &again), SEAM_MISS_late);
	struct seam_planned *borrowed = seam__matcher_borrow(player.matcher, 8192, SEAM_BORROW_LONGEST);
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

Test(matcher_borrow, what_is_due_now_is_given_away_only_before_the_pool_grows)
{
	open_wide("a12288 -a b4096 -b");
	struct seam_planned *strange = NULL;
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	cr_expect_null(seam__matcher_borrow(player.matcher, 7777, SEAM_BORROW_IDLE), "a is due now");
	cr_expect_null(seam__matcher_borrow(player.matcher, 7777, SEAM_BORROW_LONGEST), "a is due now");
	strange = seam__matcher_borrow(player.matcher, 7777, SEAM_BORROW_ANY);
	check_matcher();
	cr_assert_not_null(strange);
	cr_expect_eq(strange->bytes, 8192);
	struct seam_planned *a = NULL;
	cr_expect_eq(ask(12288, &a), SEAM_MISS_late, "I2: its place is given away");
	give(strange);
	give(hit(4096));
	give(hit(12288));
	close_all();
}

Test(matcher_borrow, the_place_of_a_slot_that_was_missed_is_not_due)
{
	open_wide("a8192 -a b4096 -b");
	struct seam_planned *again = NULL;
	give(hit(8192));
	struct seam_planned *b = hit(4096);
	const uint64_t rest = b->offset == 0 ? 4096 : 0;
	cr_expect_eq(ask(8192, &again), SEAM_MISS_late);
	cr_expect_eq(seam__matcher_idle(player.matcher, rest, rest + 4096), UINT64_MAX,
		"only the slot that is served elsewhere lies there");
	give(b);
	give(hit(4096));
	cr_expect_lt(seam__matcher_idle(player.matcher, rest, rest + 4096), 4, "it is due again");
	close_all();
}

/* It would displace another long-lived block, which would displace a third, from one iteration to the next. */
Test(matcher_borrow, a_long_lived_block_rather_takes_the_places_of_short_lived_ones)
{
	open_with("x8192 y8192 s8192 -s t8192 -t -x -y");
	seam__matcher_set_bytes(player.matcher, 24576);
	struct seam_planned *late = hit(8192), *y = hit(8192), *s = hit(8192), *x = NULL;
	const uint64_t short_lived = s->offset;
	give(s);
	s = hit(8192);
	cr_assert_eq(s->offset, short_lived, "t lies elsewhere: this tests nothing");
	give(s);
	give(y);
	cr_assert_eq(ask_on(8192, 0, 0, &x), SEAM_MISS_late);
	cr_expect_null(seam__matcher_borrow(player.matcher, 8192, SEAM_BORROW_IDLE), "something is due everywhere");
	x = seam__matcher_borrow(player.matcher, 8192, SEAM_BORROW_LONGEST);
	check_matcher();
	cr_assert_not_null(x);
	cr_expect_eq(x->offset, short_lived);
	give(late);
	y = hit(8192);
	cr_expect_eq(ask_on(8192, 0, 0, &s), SEAM_MISS_late, "I2: x lies there");
	give(x);
	give(y);
	close_all();
}

/* y is due later than x: the pool is about to grow, but x's place is for later tries only. */
Test(matcher_borrow, what_is_due_later_is_given_away_first)
{
	open_with("x4096 y4096 z4096 -x -y -z");
	seam__matcher_set_bytes(player.matcher, 12288);
	struct seam_planned *x = hit(4096), *y = hit(4096), *z = hit(4096), *strange = NULL;
	const uint64_t first = x->offset;
	give(x);
	give(y);
	give(z);
	cr_assert_neq(ask(7777, &strange), SEAM_MISS_NONE);
	strange = seam__matcher_borrow(player.matcher, 3333, SEAM_BORROW_ANY);
	check_matcher();
	cr_assert_not_null(strange);
	cr_expect_neq(strange->offset, first, "x is due now");
	x = hit(4096);
	cr_expect_eq(x->offset, first);
	give(x);
	give(strange);
	close_all();
}

/* Pieces of 8 KiB. */
static struct seam_piece piece_at(const void *user, uint64_t offset)
{
	(void)user;
	return (struct seam_piece){offset & ~UINT64_C(8191), (offset | 8191) + 1};
}

/* How many pieces of the first `bytes` could be lent. */
static unsigned idle_pieces(uint64_t bytes, const struct seam_plan_range *blocked, unsigned blocked_count)
{
	unsigned idle = 0;
	for (uint64_t at = 0; at < bytes; at += 8192) {
		bool whole = seam__matcher_idle(player.matcher, at, at + 8192) != 0;
		for (unsigned i = 0; i < blocked_count; i++)
			whole &= blocked[i].end_bytes <= at || at + 8192 <= blocked[i].begin_bytes;
		idle += whole;
	}
	return idle;
}

/* x lies in half of the first piece, and half of two others is blocked. The smallest gap begins with a whole piece. */
Test(matcher_borrow, what_is_borrowed_leaves_pieces_whole)
{
	static const struct seam_plan_range blocked[] = {{20480, 24576}, {36864, 40960}};
	struct seam_planned *borrowed[5];
	open_with("x4096 -x");
	seam__matcher_set_bytes(player.matcher, 40960);
	for (unsigned i = 0; i < 2; i++)
		cr_assert_eq(
			seam__matcher_block(player.matcher, blocked[i].begin_bytes, blocked[i].end_bytes), SEAM_OK);
	struct seam_planned *x = hit(4096), *strange = NULL;
	cr_assert_eq(x->offset, 0);
	cr_assert_neq(ask(3333, &strange), SEAM_MISS_NONE);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = piece_at});
	cr_assert_eq(idle_pieces(40960, blocked, 2), 2);
	for (unsigned i = 0; i < 5; i++) {
		borrowed[i] = seam__matcher_borrow(player.matcher, i < 3 ? 3333 : 7777, SEAM_BORROW_ANY);
		check_matcher();
		cr_assert_not_null(borrowed[i]);
		cr_expect_eq(idle_pieces(40960, blocked, 2), i < 3 ? 2 : 4 - i, "%u: at %llu", i,
			(unsigned long long)borrowed[i]->offset);
	}
	for (unsigned i = 0; i < 5; i++)
		give(borrowed[i]);
	give(x);
	for (unsigned i = 0; i < 2; i++)
		seam__matcher_unblock(player.matcher, blocked[i].begin_bytes, blocked[i].end_bytes);
	close_all();
}

/* x is due now, and ends in a piece that is idle still: a large block begins with the next one. */
Test(matcher_borrow, a_large_block_breaks_as_few_pieces_as_can_be)
{
	struct seam_planned *strange = NULL;
	open_with("x12288 -x y4096 -y");
	seam__matcher_set_bytes(player.matcher, 40960);
	cr_assert_neq(ask(16384, &strange), SEAM_MISS_NONE);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = piece_at});
	cr_assert_eq(idle_pieces(40960, NULL, 0), 5);
	struct seam_planned *large = seam__matcher_borrow(player.matcher, 16384, SEAM_BORROW_LONGEST);
	check_matcher();
	cr_assert_not_null(large);
	cr_expect_geq(large->offset, 12288, "x is due");
	cr_expect_eq(idle_pieces(40960, NULL, 0), 3, "at %llu", (unsigned long long)large->offset);
	give(hit(12288));
	give(large);
	close_all();
}

/* Asks for what the plan does not have, so often that nobody knows where the program is. */
static void get_lost(void)
{
	struct seam_planned *strange = NULL;
	for (unsigned i = 0; i <= SEAM_RUN; i++)
		cr_assert_neq(ask(3333, &strange), SEAM_MISS_NONE);
}

static uint64_t borrow_once(uint64_t bytes)
{
	struct seam_planned *borrowed = seam__matcher_borrow(player.matcher, bytes, SEAM_BORROW_ANY);
	cr_assert_not_null(borrowed);
	check_matcher();
	const uint64_t offset = borrowed->offset;
	give(borrowed);
	return offset;
}

/* x's place is the only one in a piece that is in use anyway, and x is due. Who is lost does not come to x, as far as
 * anybody knows. */
Test(matcher_borrow, who_is_lost_leaves_pieces_whole_whatever_is_due)
{
	struct seam_planned *strange = NULL;
	open_with("x4096 -x");
	seam__matcher_set_bytes(player.matcher, 24576);
	cr_assert_eq(seam__matcher_block(player.matcher, 4096, 8192), SEAM_OK);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = piece_at});
	for (unsigned i = 0; i < SEAM_RUN; i++) {
		cr_assert_neq(ask(3333, &strange), SEAM_MISS_NONE);
		cr_expect_geq(borrow_once(3333), 8192, "a request more or less: x is due next");
	}
	cr_assert_eq(ask(3333, &strange), SEAM_MISS_lost);
	cr_expect_eq(borrow_once(3333), 0);
	cr_expect_geq(borrow_once(7777), 8192, "it is too large for what is left of that piece");
	struct seam_planned *x = hit(4096);
	cr_expect_eq(x->offset, 0);
	give(x);
	cr_assert_neq(ask(3333, &strange), SEAM_MISS_NONE);
	cr_expect_geq(borrow_once(3333), 8192, "it has found its place again");
	seam__matcher_unblock(player.matcher, 4096, 8192);
	close_all();
}

/* Both pieces are idle: that one goes where nothing is ever due. */
Test(matcher_borrow, who_is_lost_has_of_equal_pieces_the_one_that_is_due_later)
{
	open_with("x8192 -x");
	seam__matcher_set_bytes(player.matcher, 16384);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = piece_at});
	get_lost();
	cr_expect_eq(borrow_once(3333), 8192);
	cr_expect_eq(borrow_once(8192), 8192);
	close_all();
}

/* Pieces of 16 KiB, but those between 32 and 44 KiB. */
static struct seam_piece uneven_at(const void *user, uint64_t offset)
{
	static const uint64_t ends[] = {16384, 32768, 40960, 45056, 61440, 77824};
	struct seam_piece piece = {0, ends[0]};
	(void)user;
	for (unsigned i = 0; ends[i] <= offset; i++)
		piece = (struct seam_piece){ends[i], ends[i + 1]};
	return piece;
}

Test(matcher_borrow, small_pieces_in_the_midst_of_large_ones_are_found)
{
	struct seam_planned *strange = NULL;
	open_with("x4096 -x");
	seam__matcher_set_bytes(player.matcher, 77824);
	cr_assert_neq(ask(12288, &strange), SEAM_MISS_NONE);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = uneven_at});
	for (unsigned i = 0; i < 2; i++) {
		static const uint64_t bytes[] = {12288, 4096}, wanted[] = {32768, 40960};
		cr_expect_eq(borrow_once(bytes[i]), wanted[i], "%u", i);
	}
	close_all();
}

/* x outlives all others, and cannot have its own place. In one of two others lie a and c, in the other b; d lies over
 * both. */
Test(matcher_borrow, what_outlives_others_displaces_as_few_as_can_be)
{
	open_with("x8192 a8192 b8192 -a c8192 -c -b d16384 -d e16384 -e -x");
	seam__matcher_set_bytes(player.matcher, 24576);
	seam__matcher_set_pieces(player.matcher, &(struct seam_pieces){.at = piece_at});
	struct seam_planned *x = hit(8192), *a = hit(8192), *b = hit(8192);
	const uint64_t at = x->offset, place = b->offset;
	cr_assert_lt(a->offset, place, "the better place comes first: this tests nothing");
	give(a);
	struct seam_planned *c = hit(8192);
	cr_assert_eq(c->offset, a->offset);
	give(c);
	give(b);
	give(hit(16384));
	give(hit(16384));
	give(x);
	cr_assert_eq(seam__matcher_block(player.matcher, at, at + 8192), SEAM_OK);
	cr_assert_eq(ask(8192, &x), SEAM_MISS_gap);
	x = seam__matcher_borrow(player.matcher, 8192, SEAM_BORROW_LONGEST);
	check_matcher();
	cr_assert_not_null(x);
	cr_expect_eq(x->offset, place);
	give(x);
	seam__matcher_unblock(player.matcher, at, at + 8192);
	close_all();
}

/* x lives long, though less than half a period, and cannot have its own place. In the others lie s, soon and once, y a
 * few times, and c, again and again. */
Test(matcher_borrow, what_lives_long_displaces_few_rather_than_many_later_ones)
{
	static char words[16384] = "x8192 s8192 -s ";
	for (unsigned i = 0; i < 720; i++) {
		(void)strcat(words, i < 300 && i % 100 == 0 ? "y8192 c8192 -c " : "c8192 -c ");
		(void)strcat(words, i < 300 && i % 100 == 99 ? "-y " : "");
		(void)strcat(words, i == 299 ? "-x " : "");
	}
	open_with(words);
	seam__matcher_set_bytes(player.matcher, seam__script_bytes(seam__matcher_script(player.matcher, 0)));
	struct seam_planned *x = hit(8192), *s = hit(8192), *y = NULL;
	const uint64_t at = x->offset, place = s->offset;
	give(s);
	for (unsigned i = 0; i < 720; i++) {
		if (i < 300 && i % 100 == 0)
			y = hit(8192);
		struct seam_planned *c = hit(8192);
		cr_assert_neq(c->offset, place, "the better place is due later: this tests nothing");
		give(c);
		if (i < 300 && i % 100 == 99)
			give(y);
		if (i == 299)
			give(x);
	}
	cr_assert_eq(seam__matcher_block(player.matcher, at, at + 8192), SEAM_OK);
	cr_assert_eq(ask(8192, &x), SEAM_MISS_gap);
	x = seam__matcher_borrow(player.matcher, 8192, SEAM_BORROW_LONGEST);
	check_matcher();
	cr_assert_not_null(x);
	cr_expect_eq(x->offset, place);
	give(x);
	seam__matcher_unblock(player.matcher, at, at + 8192);
	close_all();
}
