/* test_matcher_scripts.c: several scripts in one matcher: which is the current one, in which copy, and which one goes. */
#include <criterion/criterion.h>

#include "match_program.h"
#include "script.h"

static struct match_player player;

/* The program's script, which begins where the program says that an iteration ends. */
static void add_marked(const struct match_program *program, bool now)
{
	struct seam_script *script;
	cr_assert_eq(seam__script_create(player.meta, program->plan, &script), SEAM_OK);
	seam__script_begins_at_mark(script);
	cr_assert_eq(seam__matcher_add(player.matcher, script, now), SEAM_OK);
	match_check(&player);
}

static struct seam_match_counts counts(void)
{
	struct seam_match_counts counts;
	seam__matcher_get_counts(player.matcher, &counts);
	return counts;
}

static void step(void)
{
	seam__matcher_step(player.matcher);
	match_check(&player);
}

/* The third one begins as the first does. */
static const char *const shapes[] = {
	"a1000 b2000 c3000 d4000 e5000 -a -b -c -d -e",
	"a9000 b8000 c7000 d6000 e5500 f4500 -a -b -c -d -e -f",
	"a1000 b2000 c3500 d4500 e5900 f6900 g7900 -a -b -c -d -e -f -g",
};

/* All are told at once, whichever comes. Returns how often the script was switched. */
static uint64_t expect_told_apart(bool marked)
{
	struct match_program programs[3];
	match_open(&player, marked ? "shapes" : "no marks", 1);
	for (unsigned i = 0; i < 3; i++)
		programs[i] = match_program_of(shapes[i]);
	for (unsigned i = 0; i < 3; i++) {
		if (marked)
			add_marked(&programs[i], i == 0);
		else
			match_add(&player, &programs[i], i == 0);
	}
	seam__matcher_start(player.matcher);
	const unsigned order[] = {0, 1, 2, 0, 2, 2, 1, 0, 0, 2};
	for (unsigned n = 0; n < sizeof order / sizeof *order; n++) {
		const struct match_program *program = &programs[order[n]];
		if (marked && n != 0)
			step();
		cr_expect_eq(match_acts(&player, program, n, 0, program->count), 0, "iteration %u, of shape %u", n, order[n]);
		cr_expect_eq(seam__script_slots(seam__matcher_script(player.matcher, 0)), 5 + order[n], "iteration %u", n);
	}
	const uint64_t switches = counts().switches;
	match_close(&player);
	for (unsigned i = 0; i < 3; i++)
		match_program_fini(&programs[i]);
	return switches;
}

Test(matcher_scripts, a_step_tells_the_script_by_the_first_request_that_differs)
{
	cr_expect_eq(expect_told_apart(true), 9, "twice from the second shape to one that begins as two do");
}

Test(matcher_scripts, without_a_step_one_request_tells_nothing)
{
	struct match_program first = match_program_of(shapes[0]), other = match_program_of(shapes[1]);
	match_open(&player, "no step", 1);
	add_marked(&first, true);
	add_marked(&other, false);
	seam__matcher_start(player.matcher);
	cr_expect_eq(match_acts(&player, &other, 0, 0, 1), 1);
	cr_expect_eq(counts().switches, 0);
	match_close(&player);
	match_program_fini(&first);
	match_program_fini(&other);
}

/* An unmarked program that was as expected up to its period's end. */
Test(matcher_scripts, a_period_that_begins_as_another_scripts_tells_the_script)
{
	(void)expect_told_apart(false);
}

Test(matcher_scripts, a_period_that_lacks_its_first_request_is_no_other_scripts)
{
	struct match_program first = match_program_of(shapes[0]), other = match_program_of("b2000 g7000 h8000 i9000 -b -g -h -i");
	match_open(&player, "first lacks", 1);
	match_add(&player, &first, true);
	match_add(&player, &other, false);
	seam__matcher_start(player.matcher);
	cr_expect_eq(match_acts(&player, &first, 0, 0, first.count), 0);
	const uint64_t switches = counts().switches;
	cr_expect_eq(match_acts(&player, &first, 1, 1, 5), 0);
	cr_expect_eq(counts().switches, switches);
	match_close(&player);
	match_program_fini(&first);
	match_program_fini(&other);
}

/* Two programs whose blocks live for more than a period, with as many copies. */
static void make_long_lived(struct match_program *first, struct match_program *other)
{
	*first = match_program(&(struct program_wish){.seed = 1, .slots = 20, .iterations = 6, .lag = 2});
	cr_assert_gt(first->plan->header.copies, 1);
	for (uint64_t seed = 2;; seed++) {
		*other = match_program(&(struct program_wish){.seed = seed, .slots = 22, .iterations = 6, .lag = 2});
		if (other->plan->header.copies == first->plan->header.copies)
			return;
		match_program_fini(other);
		cr_assert_lt(seed, 100);
	}
}

Test(matcher_scripts, the_copy_goes_on_where_another_script_does)
{
	struct match_program first, other;
	make_long_lived(&first, &other);
	match_open(&player, "copies", 1);
	add_marked(&first, true);
	add_marked(&other, false);
	seam__matcher_start(player.matcher);
	const uint32_t copies = first.plan->header.copies;
	uint64_t iteration = 0;
	for (unsigned n = 0; n < 12; n++) {
		const struct match_program *program = n % 3 == 0 ? &first : &other;
		step();
		(void)match_acts(&player, program, iteration++, 0, program->count);
		const struct seam_script *now = seam__matcher_script(player.matcher, 0);
		const uint64_t begun = now->front.position > now->positions / 2 ? now->front.copy : (now->front.copy + copies - 1) % copies;
		cr_expect_eq(seam__script_slots(now), program->plan->header.slot_count, "iteration %u", n);
		cr_expect_eq(begun, n % copies, "iteration %u: copy %lu", n, (unsigned long)begun);
	}
	match_close(&player);
	match_program_fini(&first);
	match_program_fini(&other);
}

Test(matcher_scripts, a_new_script_of_a_kind_takes_the_place_of_the_old_one)
{
	struct match_program programs[3];
	match_open(&player, "forerunners", 1);
	for (unsigned i = 0; i < 3; i++)
		programs[i] = match_program_of(shapes[i]);
	add_marked(&programs[0], true);
	add_marked(&programs[1], false);
	seam__matcher_start(player.matcher);
	cr_assert_eq(match_acts(&player, &programs[0], 0, 0, 7), 0, "two blocks are freed, three live");
	add_marked(&programs[1], false);
	cr_expect_eq(seam__matcher_scripts(player.matcher), 2, "one that is not current");
	cr_expect_eq(seam__script_slots(seam__matcher_script(player.matcher, 0)), 5);
	add_marked(&programs[0], false);
	cr_expect_eq(seam__matcher_scripts(player.matcher), 2, "the current one");
	cr_expect_eq(seam__script_slots(seam__matcher_script(player.matcher, 0)), 5);
	add_marked(&programs[2], false);
	cr_expect_eq(seam__matcher_scripts(player.matcher), 3, "one of another kind");
	match_check(&player);
	match_close(&player);
	for (unsigned i = 0; i < 3; i++)
		match_program_fini(&programs[i]);
}
