/* test_matcher_borrow.c: places that are borrowed from a plan, and what the plan asks for next. */
#include <criterion/criterion.h>

#include "match_program.h"

static struct match_player player;
static struct match_program program;

static void check(void)
{
	const char *broken = seam__matcher_check(player.matcher);
	cr_assert_null(broken, "%s", broken);
}

static enum seam_miss ask(uint64_t bytes, struct seam_planned **ret_planned)
{
	const struct seam_match_ask asked = {.bytes = bytes};
	const enum seam_miss miss = seam__matcher_alloc(player.matcher, &asked, ret_planned);
	check();
	return miss;
}

static struct seam_planned *hit(uint64_t bytes)
{
	struct seam_planned *planned = NULL;
	const enum seam_miss miss = ask(bytes, &planned);
	cr_assert_eq(miss, SEAM_MISS_NONE, "%llu bytes: miss %d", (unsigned long long)bytes, (int)miss);
	return planned;
}

static void give(struct seam_planned *planned)
{
	seam__matcher_free(player.matcher, planned);
	check();
}

/* A request that was missed may borrow a part of the very place that it missed. If the program begins the iteration once more, that place is due
 * again, and is not free. */
Test(matcher_borrow, a_missed_slot_that_is_asked_again_spares_what_was_borrowed)
{
	static const char words[] = "a8192 -a b4096 -b";
	struct seam_planned *again = NULL;
	match_open(&player, words, 1);
	program = match_program_of(words);
	match_add(&player, &program, true);
	seam__matcher_set_bytes(player.matcher, 12288);
	seam__matcher_start(player.matcher);
	give(hit(8192));
	give(hit(4096));
	seam__matcher_step(player.matcher);
	give(hit(8192));
	struct seam_planned *b = hit(4096);
	cr_assert_eq(ask(8192, &again), SEAM_MISS_late);
	struct seam_planned *borrowed = seam__matcher_borrow(player.matcher, 8192, false);
	check();
	cr_assert_not_null(borrowed);
	cr_assert_lt(borrowed->offset, 8192, "it has nothing of the place that was missed: this tests nothing");
	give(b);
	seam__matcher_step(player.matcher);
	cr_assert_eq(ask(8192, &again), SEAM_MISS_late, "I2: the place is borrowed");
	give(borrowed);
	seam__matcher_step(player.matcher);
	give(hit(8192));
	match_close(&player);
	match_program_fini(&program);
}
