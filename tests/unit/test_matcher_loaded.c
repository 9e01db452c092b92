/* test_matcher_loaded.c: several loaded plans in one matcher: which is the current one, in which copy, and which one
 * goes.
 */
#include <criterion/criterion.h>

#include "match_program.h"
#include "matcher_state.h"
#include "meta.h"

static struct match_player player;

/* The program's loaded plan, which begins where the program says that an iteration ends. */
static void add_marked(const struct match_program *program, bool now)
{
	struct seam_loaded_plan *loaded;
	cr_assert_eq(seam__loaded_create(player.meta, program->plan, &loaded), SEAM_OK);
	seam__loaded_begins_at_mark(loaded);
	cr_assert_eq(seam__matcher_add(player.matcher, loaded, now), SEAM_OK);
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

/* All are told at once, whichever comes. Returns how often the loaded plan was switched. */
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
		cr_expect_eq(match_acts(&player, program, n, 0, program->count), 0, "iteration %u, of shape %u", n,
			order[n]);
		cr_expect_eq(
			seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 5 + order[n], "iteration %u", n);
	}
	const uint64_t switches = counts().switches;
	match_close(&player);
	for (unsigned i = 0; i < 3; i++)
		match_program_fini(&programs[i]);
	return switches;
}

Test(matcher_loaded_plans, a_step_tells_the_loaded_plan_by_the_first_request_that_differs)
{
	cr_expect_eq(expect_told_apart(true), 9, "twice from the second shape to one that begins as two do");
}

Test(matcher_loaded_plans, without_a_step_one_request_tells_nothing)
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
Test(matcher_loaded_plans, a_period_that_begins_as_another_loaded_plans_tells_the_loaded_plan)
{
	(void)expect_told_apart(false);
}

Test(matcher_loaded_plans, a_period_that_lacks_its_first_request_is_no_other_loaded_plans)
{
	struct match_program first = match_program_of(shapes[0]),
			     other = match_program_of("b2000 g7000 h8000 i9000 -b -g -h -i");
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

Test(matcher_loaded_plans, the_copy_goes_on_where_another_loaded_plan_does)
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
		const struct seam_loaded_plan *now = seam__matcher_loaded(player.matcher, 0);
		const uint64_t begun = now->frontier.position > now->positions / 2
			? now->frontier.copy
			: (now->frontier.copy + copies - 1) % copies;
		cr_expect_eq(seam__loaded_slots(now), program->plan->header.slot_count, "iteration %u", n);
		cr_expect_eq(begun, n % copies, "iteration %u: copy %lu", n, (unsigned long)begun);
	}
	match_close(&player);
	match_program_fini(&first);
	match_program_fini(&other);
}

/* Bytes that the plan has live at `at`, positions from the frontier's repetition on, of what began before `since`. */
static uint64_t old_bytes(const struct seam_loaded_plan *now, uint64_t since, uint64_t at)
{
	uint64_t bytes = 0;
	for (uint32_t slot = 0; slot < now->slots; slot++) {
		const struct seam_lifetime *lifetime = &now->lifetimes[slot];
		for (int64_t r = -(int64_t)now->copies; r <= 1; r++) {
			const int64_t base = r * now->positions;
			if (base + lifetime->begin < (int64_t)since && base + lifetime->end >= (int64_t)at)
				bytes += now->instances[slot * now->copies].bytes;
		}
	}
	return bytes;
}

/* Bytes of the places of one period, from the next request on, that blocked ranges lie in, if the frontier were `more`
 * copies on; each by the share of what lives from before that still does. */
static uint64_t blocked_bytes(const struct seam_loaded_plan *now, uint32_t more)
{
	uint64_t bytes = 0, since = now->frontier.position;
	while ((now->actions[since % now->positions] & 1) != 0)
		since++;
	for (uint64_t at = since; at < since + now->positions; at++) {
		const uint32_t action = now->actions[at % now->positions];
		if ((action & 1) != 0)
			continue; /* a free */
		const uint64_t copy = (now->frontier.copy + more + at / now->positions) % now->copies;
		const struct seam_plan_block *plan_block = &now->instances[(action >> 1) * now->copies + copy];
		bool is_blocked = false;
		for (uint32_t i = 0; i < player.blocked_count; i++)
			is_blocked |= player.blocked[i].begin_bytes < plan_block->offset + plan_block->bytes &&
				player.blocked[i].end_bytes > plan_block->offset;
		if (is_blocked && old_bytes(now, since, since) != 0)
			bytes += plan_block->bytes / 256 *
				(256 * old_bytes(now, since, at) / old_bytes(now, since, since));
	}
	return bytes;
}

/* The program is somewhere in its second iteration: at the act that is returned. hears: see match_program.h. */
static uint32_t play_into_an_iteration(const struct match_program *program, uint32_t hears, uint64_t seed)
{
	const uint32_t first = (uint32_t)(seed * 7 % program->count);
	match_open(&player, "copy", seed);
	match_add(&player, program, true);
	seam__matcher_start(player.matcher);
	player.hears = hears;
	(void)match_acts(&player, program, 0, 0, program->count);
	(void)match_acts(&player, program, 1, 0, first);
	return first;
}

/* All that a player asks is served elsewhere, so nothing but blocked ranges lies in the arena. */
static uint32_t expect_the_copy_with_most_free(const struct match_program *program, uint64_t seed)
{
	const uint32_t first = play_into_an_iteration(program, 100, seed);
	for (uint64_t i = 0; i < 1 + seed % 5; i++) {
		const struct seam_plan_block *plan_block = &player.matcher->now->instances[(seed * 31 + i * 13) %
			(player.matcher->now->slots * player.matcher->now->copies)];
		match_block(&player, plan_block->offset, plan_block->offset + plan_block->bytes);
	}
	struct seam_loaded_plan *now = player.matcher->now;
	uint32_t chosen = 0;
	for (uint32_t more = 1; more < now->copies; more++)
		chosen = blocked_bytes(now, more) < blocked_bytes(now, chosen) ? more : chosen;
	const struct seam_frontier before = now->frontier;
	const struct seam_expected_slot *next = now->cursors[0].next;
	cr_assert(seam__matcher_choose_copy(player.matcher));
	match_check(&player);
	cr_expect_eq(now->frontier.position, before.position, "seed %lu", (unsigned long)seed);
	cr_expect_eq(now->frontier.copy, (before.copy + chosen) % now->copies, "seed %lu: %u of %u",
		(unsigned long)seed, now->frontier.copy, now->copies);
	cr_expect_eq(now->cursors[0].next, next, "seed %lu", (unsigned long)seed);
	player.hears = 0;
	const uint64_t requests = player.asked, hits = player.hits;
	const uint64_t misses = match_acts(&player, program, 1, first, program->count);
	cr_expect_eq(player.hits - hits + misses, player.asked - requests);
	cr_expect(player.blocked_count != 0 || misses == 0, "seed %lu: %lu misses", (unsigned long)seed,
		(unsigned long)misses);
	match_close(&player);
	return chosen;
}

Test(matcher_loaded_plans, the_copy_that_begins_to_serve_has_most_of_its_places_free)
{
	uint32_t moved = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct match_program program = match_program(&(struct program_wish){
			.seed = seed, .slots = 20, .iterations = 6, .lag = 1 + (uint32_t)seed % 3});
		moved += expect_the_copy_with_most_free(&program, seed) != 0;
		match_program_fini(&program);
	}
	cr_expect_gt(moved, 10, "%u of 60", moved);
}

/* Live blocks that are passed by become overdue blocks, which takes metadata. Nothing is lost where there is none. */
Test(matcher_loaded_plans, without_metadata_no_other_copy_is_chosen)
{
	uint32_t failed = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct match_program program =
			match_program(&(struct program_wish){.seed = seed, .slots = 20, .iterations = 6, .lag = 2});
		const uint32_t first = play_into_an_iteration(&program, 0, seed);
		const struct seam_loaded_plan *now = player.matcher->now;
		for (uint32_t slot = 0; slot < now->slots; slot++) {
			const struct seam_plan_block *place = &now->instances[slot * now->copies + now->frontier.copy];
			if (now->lifetimes[slot].begin >= now->frontier.position && player.blocked_count < 4)
				match_block(&player, place->offset, place->offset + place->bytes);
		}
		const uint64_t live = counts().live;
		seam__meta_fail_at(player.meta, 1);
		failed += !seam__matcher_choose_copy(player.matcher);
		seam__meta_fail_at(player.meta, 0);
		match_check(&player);
		cr_expect_eq(counts().live, live, "seed %lu", (unsigned long)seed);
		(void)match_acts(&player, &program, 1, first, program.count);
		match_close(&player);
		match_program_fini(&program);
	}
	cr_expect_gt(failed, 0, "nothing failed");
}

Test(matcher_loaded_plans, a_new_loaded_plan_of_a_kind_takes_the_place_of_the_old_one)
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
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2, "one that is not current");
	cr_expect_eq(seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 5);
	add_marked(&programs[0], false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2, "the current one");
	cr_expect_eq(seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 5);
	add_marked(&programs[2], false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3, "one of another kind");
	match_check(&player);
	match_close(&player);
	for (unsigned i = 0; i < 3; i++)
		match_program_fini(&programs[i]);
}

static const struct seam_loaded_plan *loaded_at(uint32_t i)
{
	return seam__matcher_loaded(player.matcher, i);
}

/* Two programs; the first is current, and in the midst of an iteration: three blocks live. The program marks its steps.
 */
static void open_in_midst(struct match_program *first, struct match_program *other)
{
	match_open(&player, "successors", 1);
	*first = match_program_of(shapes[0]);
	*other = match_program_of(shapes[1]);
	add_marked(first, true);
	add_marked(other, false);
	seam__matcher_start(player.matcher);
	step();
	cr_assert_eq(match_acts(&player, first, 0, 0, 7), 0, "two blocks are freed, three live");
}

static void close_both(struct match_program *first, struct match_program *other)
{
	match_close(&player);
	match_program_fini(first);
	match_program_fini(other);
}

/* None waits any more: that one is current, beside the other program's. */
static void expect_at_step(const struct seam_loaded_plan *now)
{
	step();
	cr_expect_eq(loaded_at(0), now);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2);
}

Test(matcher_loaded_plans, what_follows_the_current_loaded_plan_waits_for_a_step)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	const struct seam_loaded_plan *replaced = loaded_at(0);
	add_marked(&first, false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3);
	cr_expect_eq(loaded_at(0), replaced);
	const struct seam_loaded_plan *successor = loaded_at(1);
	cr_expect_eq(match_acts(&player, &first, 0, 7, first.count), 0);
	cr_expect_eq(loaded_at(0), replaced, "nothing that was live is in anybody's way");
	step();
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2, "the elder is gone");
	cr_expect_eq(loaded_at(0), successor);
	(void)match_acts(&player, &first, 1, 0, first.count);
	step();
	cr_expect_eq(match_acts(&player, &first, 2, 0, first.count), 0, "it knows where the program is");
	close_both(&first, &other);
}

/* The program marks its steps no more. */
Test(matcher_loaded_plans, what_waits_for_a_step_in_vain_follows_where_a_repetition_ends)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	const struct seam_loaded_plan *replaced = loaded_at(0);
	add_marked(&first, false);
	const struct seam_loaded_plan *successor = loaded_at(1);
	cr_expect_eq(match_acts(&player, &first, 0, 7, first.count), 0);
	cr_expect_eq(match_acts(&player, &first, 1, 0, first.count), 0);
	cr_expect_eq(loaded_at(0), replaced, "up to the end of the second repetition");
	(void)match_acts(&player, &first, 2, 0, 1);
	cr_expect_eq(loaded_at(0), successor);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2, "the elder is gone");
	(void)match_acts(&player, &first, 2, 1, first.count);
	cr_expect_eq(match_acts(&player, &first, 3, 0, 7), 0);
	add_marked(&first, false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2, "the next one does not wait");
	cr_expect_neq(loaded_at(0), successor);
	(void)match_acts(&player, &first, 3, 7, first.count);
	step();
	add_marked(&first, false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3, "steps are marked again");
	close_both(&first, &other);
}

Test(matcher_loaded_plans, what_waits_in_vain_and_lacks_memory_follows_a_repetition_later)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	const struct seam_loaded_plan *replaced = loaded_at(0);
	add_marked(&first, false);
	(void)match_acts(&player, &first, 0, 7, 9); /* one stays */
	(void)match_acts(&player, &first, 1, 0, first.count);
	seam__meta_fail_at(player.meta, 1);
	(void)match_acts(&player, &first, 2, 0, 1);
	seam__meta_fail_at(player.meta, 0);
	match_check(&player);
	cr_expect_eq(loaded_at(0), replaced);
	(void)match_acts(&player, &first, 2, 1, first.count);
	(void)match_acts(&player, &first, 3, 0, 1);
	cr_expect_neq(loaded_at(0), replaced);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2);
	close_both(&first, &other);
}

Test(matcher_loaded_plans, of_those_that_wait_the_newest_follows)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	add_marked(&first, false);
	add_marked(&first, false);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3, "the other one that waited is gone");
	const struct seam_loaded_plan *successor = loaded_at(1);
	expect_at_step(successor);
	close_both(&first, &other);
}

Test(matcher_loaded_plans, what_is_current_at_once_is_waited_for_by_none)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	add_marked(&first, false);
	add_marked(&first, true);
	match_check(&player);
	cr_expect_eq(
		seam__matcher_loaded_count(player.matcher), 2, "neither the elder nor the one that waited is there");
	const struct seam_loaded_plan *now = loaded_at(0);
	expect_at_step(now);
	close_both(&first, &other);
}

/* Another loaded plan has become current meanwhile: it stays. */
Test(matcher_loaded_plans, the_elder_goes_at_a_step_though_it_is_not_current)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	cr_assert_eq(match_acts(&player, &first, 0, 7, first.count), 0);
	step();
	add_marked(&first, false);
	cr_expect_eq(match_acts(&player, &other, 1, 0, 3), 0);
	const struct seam_loaded_plan *now = loaded_at(0);
	cr_assert_eq(seam__loaded_slots(now), 6, "the other one is not current: this tests nothing");
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3);
	cr_expect_eq(match_acts(&player, &other, 1, 3, other.count), 0);
	expect_at_step(now);
	close_both(&first, &other);
}

/* It was looked up, before the step. */
Test(matcher_loaded_plans, one_that_waited_and_is_current_is_followed_in_turn)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	add_marked(&first, false);
	struct seam_loaded_plan *successor = player.matcher->successor;
	cr_assert(seam__matcher_switch(player.matcher, successor, 0, true));
	match_check(&player);
	add_marked(&first, false);
	cr_expect_eq(loaded_at(0), successor);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3, "the eldest is gone");
	step();
	cr_expect_neq(loaded_at(0), successor);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2);
	close_both(&first, &other);
}

Test(matcher_loaded_plans, what_lacks_memory_to_follow_does_at_the_next_step)
{
	struct match_program first, other;
	open_in_midst(&first, &other);
	const struct seam_loaded_plan *replaced = loaded_at(0);
	add_marked(&first, false);
	seam__meta_fail_at(player.meta, 1);
	step();
	seam__meta_fail_at(player.meta, 0);
	cr_expect_eq(loaded_at(0), replaced, "what is live cannot become overdue");
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 3);
	step();
	cr_expect_neq(loaded_at(0), replaced);
	cr_expect_eq(seam__matcher_loaded_count(player.matcher), 2);
	close_both(&first, &other);
}

/* What is found only behind much that is left out may well be another loaded plan's: one without what stands between.
 */
Test(matcher_loaded_plans, a_leap_tells_the_loaded)
{
	struct match_program once = match_program_of(
		"a1000 b2000 k51000 l3000 m53000 n54000 o55000 p56000 q57000 r58000 s59000 t60000 u61000 v62000 w63000 "
		"c3000 d4000 e5000 f6000 g7000 h8000 i9000 j10000 -a -b -c -d -e -f -g -h -i -j -k -l -m -n -o -p -q -r -s -t "
		"-u -v -w");
	struct match_program loop = match_program_of(
		"a1000 b2000 c3000 d4000 e5000 f6000 g7000 h8000 i9000 j10000 -a -b -c -d -e -f -g -h -i -j");
	match_open(&player, "a leap", 1);
	match_add(&player, &loop, false);
	match_add(&player, &once, true);
	seam__matcher_start(player.matcher);
	cr_expect_eq(match_acts(&player, &once, 0, 0, once.count), 0);
	(void)match_acts(&player, &loop, 1, 0, loop.count);
	cr_expect_eq(seam__loaded_slots(seam__matcher_loaded(player.matcher, 0)), 10);
	cr_expect_eq(match_acts(&player, &loop, 2, 0, loop.count), 0);
	match_close(&player);
	match_program_fini(&once);
	match_program_fini(&loop);
}
