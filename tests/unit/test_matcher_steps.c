/* test_matcher_steps.c: which cursors go where when the program says that an iteration ends, against the rules of
 * matcher_steps.c as an oracle: programs of several threads that leave requests out, fall silent and break off.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "match_program.h"
#include "matcher_state.h"
#include "random_problem.h"

#define SEEDS 240u
#define ACTS 600u
#define MOST_CURSORS 16u
#define MOST_BLOCKS 200u

static const struct program_wish kinds[] = {
	{.slots = 24, .threads = 3},
	{.slots = 40, .threads = 3, .streams = 2, .lag = 1},
	{.slots = 16, .threads = 2, .lag = 2},
	{.slots = 30},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct model {
	struct match_player player;
	struct match_program program;
	uint64_t random, repetition;
	uint32_t act;
	uint32_t silent; /* this thread leaves out what it asks for; UINT32_MAX: none */
};

/* How often each thing was seen, of all seeds. */
static struct {
	unsigned in_step, noted, known, full, in_debt, behind, at_limit, near;
} seen;

static uint64_t draw(struct model *model, uint64_t limit)
{
	return random_below(&model->random, limit);
}

/* Where a cursor is to be. */
struct spot {
	const struct seam_expected_slot *next;
	uint64_t base;
	bool is_put; /* and is in step again */
};

static struct spot spot_of(const struct seam_cursor *cursor)
{
	return (struct spot){.next = cursor->next, .base = cursor->base};
}

/* The first slot of the cursor's that comes at `at` or later. */
static struct spot put(const struct seam_loaded_plan *loaded, const struct seam_cursor *cursor, uint64_t at)
{
	for (;; at++)
		for (uint32_t i = 0; i < cursor->count; i++)
			if (cursor->first[i].begin == at % loaded->positions)
				return (struct spot){&cursor->first[i], at - cursor->first[i].begin, true};
}

/* When the mark comes next: from an eighth of a period before the frontier on. */
static uint64_t find_mark(const struct seam_loaded_plan *loaded)
{
	uint64_t at = loaded->marks.at[0];
	while (at + loaded->positions / 8 < loaded->frontier.at)
		at += loaded->positions;
	return at;
}

/* Whether the cursor, which did not speak last, goes to the mark: it does not know where it is, or it is more than an
 * eighth of a period behind. */
static bool is_left_behind(const struct seam_loaded_plan *loaded, const struct seam_cursor *cursor, uint64_t mark)
{
	const uint64_t at = cursor->base + cursor->next->begin, back = loaded->positions / 8;
	seen.in_debt += cursor->debt != 0;
	seen.behind += cursor->debt == 0 && at + back < mark;
	seen.at_limit += cursor->debt == 0 && at + back == mark;
	seen.near += cursor->debt == 0 && at + back > mark;
	return cursor->debt != 0 || at + back < mark;
}

/* Where all cursors are to be behind a step; true: they are looked for. */
static bool foretell(const struct seam_matcher *matcher, struct spot *spots)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	const struct seam_cursor *last = matcher->cursor;
	const uint64_t mark = loaded->marks.all ? find_mark(loaded) : 0;
	const bool in_step = last == NULL || !loaded->marks.all ||
		(last->debt == 0 && last->base + last->next->begin >= mark && last->next->begin == loaded->marks.at[0]);
	for (uint32_t i = 0; i < loaded->cursor_count; i++) {
		const struct seam_cursor *cursor = &loaded->cursors[i];
		spots[i] = in_step || (cursor != last && !is_left_behind(loaded, cursor, mark))
			? spot_of(cursor)
			: put(loaded, cursor, mark);
	}
	seen.in_step += in_step && loaded->marks.all;
	return !in_step;
}

/* What is noted: where the last one that spoke is, if it is in step. */
static struct seam_marks foretell_marks(const struct seam_matcher *matcher)
{
	struct seam_marks marks = matcher->now->marks;
	bool known = false;
	if (marks.all || matcher->cursor == NULL || matcher->cursor->debt != 0)
		return marks;
	for (uint32_t i = 0; i < marks.count; i++)
		known |= marks.at[i] == matcher->cursor->next->begin;
	seen.known += known;
	seen.noted += !known;
	seen.full += !known && marks.count == SEAM_MARKS;
	if (!known && marks.count < SEAM_MARKS)
		marks.at[marks.count++] = matcher->cursor->next->begin;
	return marks;
}

static void step(struct model *model)
{
	struct seam_matcher *matcher = model->player.matcher;
	const struct seam_loaded_plan *loaded = matcher->now;
	struct spot spots[MOST_CURSORS];
	cr_assert_leq(loaded->cursor_count, MOST_CURSORS);
	const bool any = matcher->cursor != NULL;
	const struct seam_marks marks = foretell_marks(matcher);
	const uint64_t resyncs = matcher->counts.resyncs + foretell(matcher, spots);
	seam__matcher_step(matcher);
	match_check(&model->player);
	cr_assert_eq(matcher->counts.resyncs, resyncs);
	cr_assert(loaded->marks.count == marks.count && memcmp(loaded->marks.at, marks.at, sizeof(marks.at)) == 0);
	for (uint32_t i = 0; i < loaded->cursor_count; i++) {
		const struct seam_cursor *cursor = &loaded->cursors[i];
		cr_assert(cursor->next == spots[i].next && cursor->base == spots[i].base, "seed %lu: cursor %u",
			(unsigned long)model->player.seed, i);
		cr_assert(!spots[i].is_put || cursor->debt == 0);
		cr_assert(!any || cursor->stepped == cursor->history.heard);
	}
}

/* The next act of the program, if its thread is not silent. */
static void go_on(struct model *model)
{
	const struct match_act *act = &model->program.acts[model->act];
	if (act->is_free || model->program.plan->slots[act->slot].thread != model->silent)
		(void)match_act(&model->player, &model->program, 0, model->act, model->repetition);
	if (++model->act == model->program.count) {
		model->act = 0;
		model->repetition++;
	}
}

static void disturb(struct model *model)
{
	const struct match_block none = {.slot = MATCH_NO_SLOT};
	const struct seam_match_ask ask = {.bytes = 1 + draw(model, 100000)};
	switch (draw(model, 5)) {
	case 0: /* the iteration is broken off */
		step(model);
		model->act = 0;
		model->repetition++;
		break;
	case 1:
		model->act = (model->act + (uint32_t)draw(model, model->program.count)) % model->program.count;
		break;
	case 2:
		model->silent = draw(model, 2) == 0 ? UINT32_MAX : (uint32_t)draw(model, 3);
		break;
	case 3:
		(void)match_ask(&model->player, &ask, &none);
		break;
	default:
		step(model);
	}
}

Test(matcher_steps, cursors_go_to_the_mark_unless_they_are_near_it)
{
	static struct model model;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct program_wish wish = kinds[seed % KINDS];
		memset(&model, 0, sizeof(model));
		model.random = wish.seed = seed;
		model.silent = UINT32_MAX;
		wish.iterations = 6;
		match_open(&model.player, "steps", seed);
		model.program = match_program(&wish);
		match_add(&model.player, &model.program, true);
		step(&model);
		seam__matcher_start(model.player.matcher);
		if (draw(&model, 4) != 0)
			seam__loaded_begins_at_mark(model.player.matcher->now);
		const bool often = draw(&model, 4) == 0; /* it is in step all the time, and says so wherever it is */
		for (uint32_t i = 0; i < ACTS; i++) {
			if (often && draw(&model, 2) == 0)
				step(&model);
			if (!often && draw(&model, 15) == 0)
				disturb(&model);
			else
				go_on(&model);
			if (model.act == 0 && draw(&model, 2) == 0)
				step(&model);
			while (model.player.count > MOST_BLOCKS)
				match_free(&model.player, (uint32_t)draw(&model, model.player.count));
		}
		match_close(&model.player);
		match_program_fini(&model.program);
	}
	cr_expect(seen.in_step > 100 && seen.noted > 100 && seen.known > 20 && seen.full > 10, "%u %u %u %u",
		seen.in_step, seen.noted, seen.known, seen.full);
	cr_expect(seen.in_debt > 100 && seen.behind > 100 && seen.at_limit > 10 && seen.near > 100, "%u %u %u %u",
		seen.in_debt, seen.behind, seen.at_limit, seen.near);
}

/* Every cursor expects what comes from the slot on, which is near the frontier: an eighth of a period behind it, or in
 * front of it. */
Test(matcher_steps, a_slot_that_somebody_knows_is_next_for_all_cursors)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		static struct match_player player;
		struct program_wish wish = kinds[seed % KINDS];
		wish.seed = seed;
		wish.iterations = 6;
		match_open(&player, "slots", seed);
		struct match_program program = match_program(&wish);
		const uint32_t slots = program.plan->header.slot_count;
		seam__matcher_start_slot(player.matcher, 0); /* of no plan */
		match_add(&player, &program, true);
		for (uint64_t r = 0; r < 3; r++) {
			(void)match_acts(&player, &program, r, 0, program.count);
			const struct seam_loaded_plan *loaded = player.matcher->now;
			const uint32_t slot = (uint32_t)random_below(&player.random, slots + 1);
			uint64_t at = slot < slots ? loaded->lifetimes[slot].begin : 0;
			while (at + loaded->positions / 8 < loaded->frontier.at)
				at += loaded->positions;
			struct spot spots[MOST_CURSORS];
			for (uint32_t i = 0; i < loaded->cursor_count; i++)
				spots[i] = slot < slots ? put(loaded, &loaded->cursors[i], at)
							: spot_of(&loaded->cursors[i]);
			seam__matcher_start_slot(player.matcher, slot);
			match_check(&player);
			for (uint32_t i = 0; i < loaded->cursor_count; i++)
				cr_assert(loaded->cursors[i].next == spots[i].next &&
					loaded->cursors[i].base == spots[i].base);
		}
		match_close(&player);
		match_program_fini(&program);
	}
}
