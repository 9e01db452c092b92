/* test_matcher_model.c: programs that do not keep to their plans, against the naive oracle of match_program.h: whatever
 * they do, no block overlaps a live one (H1), and everything that is asked about live blocks is answered rightly.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "bits.h"
#include "match_program.h"
#include "matcher_state.h"
#include "meta.h"
#include "random_problem.h"
#include "planned.h"

#define SEEDS 150u
#define STEPS 700u
#define PROGRAMS 3u
#define MOST_BLOCKS 300u

static const struct program_wish kinds[] = {
	{.slots = 24},
	{.slots = 24, .lag = 3},
	{.slots = 30, .sizes = 4, .lag = 1},
	{.slots = 30, .streams = 3, .edges = 4, .lag = 1},
	{.slots = 30, .threads = 3, .streams = 2, .lag = 1},
	{.slots = 8, .layers = 8, .residents = 3},
	{.slots = 20, .dynamics = 12},
	{.slots = 20, .dynamics = 8, .lag = 2, .threads = 2},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct model {
	struct match_player player;
	struct match_program programs[PROGRAMS];
	uint32_t number; /* of the program that runs */
	uint64_t repetition;
	bool done[2 * TRACE_PROGRAM_SLOTS]; /* acts of this repetition */
	uint32_t first;                     /* that is not done */
	uint32_t heat;                      /* so many steps in a hundred are not the program's */
	bool disorder;                      /* cursors run apart */
};

static uint64_t draw(struct model *model, uint64_t limit)
{
	return random_below(&model->player.random, limit);
}

static const struct match_program *program_of(const struct model *model)
{
	return &model->programs[model->number];
}

static bool same_cursor(const struct match_program *program, uint32_t a, uint32_t b)
{
	const struct seam_plan_slot *left = &program->plan->slots[program->acts[a].slot];
	const struct seam_plan_slot *right = &program->plan->slots[program->acts[b].slot];
	return left->stream == right->stream && left->thread == right->thread;
}

/* An act that may come now: the next, or the next of a cursor a little ahead. */
static uint32_t choose_act(struct model *model)
{
	const struct match_program *program = program_of(model);
	const uint32_t ahead = model->disorder ? (uint32_t)draw(model, 12) : 0;
	for (uint32_t act = model->first + ahead; act > model->first; act--) {
		if (act >= program->count || model->done[act])
			continue;
		bool may = true;
		for (uint32_t i = model->first; i < act && may; i++)
			may = model->done[i] || !same_cursor(program, i, act);
		if (may)
			return act;
	}
	return model->first;
}

static void pass_act(struct model *model, uint32_t act)
{
	const struct match_program *program = program_of(model);
	model->done[act] = true;
	while (model->first < program->count && model->done[model->first])
		model->first++;
	if (model->first == program->count) {
		model->first = 0;
		model->repetition++;
		memset(model->done, 0, sizeof(model->done));
	}
}

static void go_on(struct model *model)
{
	const uint32_t act = choose_act(model);
	(void)match_act(&model->player, program_of(model), model->number, act, model->repetition);
	pass_act(model, act);
}

static void ask_for_more(struct model *model, bool dynamic)
{
	const struct match_program *program = program_of(model);
	const struct seam_plan_slot *like = &program->plan->slots[draw(model, program->plan->header.slot_count)];
	const struct match_block as = {.program = model->number, .slot = MATCH_NO_SLOT};
	const struct seam_match_ask ask = {
		.bytes = draw(model, 2) == 0 ? like->size_bytes : 1 + draw(model, 100000),
		.stream = program->plan->streams[like->stream],
		.thread = draw(model, 10) == 0 ? 77 : like->thread,
		.dynamic = dynamic,
	};
	(void)match_ask(&model->player, &ask, &as);
}

static void switch_program(struct model *model)
{
	model->number = (uint32_t)draw(model, PROGRAMS);
	model->repetition++;
	model->first = 0;
	memset(model->done, 0, sizeof(model->done));
}

static void change_ranges(struct model *model)
{
	const uint64_t arena = program_of(model)->plan->header.arena_bytes + 512;
	if (model->player.blocked_count == MATCH_BLOCKED || (model->player.blocked_count != 0 && draw(model, 2) == 0)) {
		match_unblock(&model->player, (uint32_t)draw(model, model->player.blocked_count));
		return;
	}
	const uint64_t begin = draw(model, arena / 512) * 512;
	match_block(&model->player, begin, begin + 512 * (1 + draw(model, arena / 2048)));
}

static void begin_anew(struct model *model)
{
	struct seam_matcher *matcher = model->player.matcher;
	const uint64_t frontier = match_frontier(matcher);
	if (draw(model, 2) == 0)
		seam__matcher_start(matcher);
	else
		seam__matcher_start_slot(matcher, (uint32_t)draw(model, TRACE_PROGRAM_SLOTS));
	cr_assert_geq(match_frontier(matcher), frontier);
}

static void change_loaded_plans(struct model *model)
{
	struct seam_matcher *matcher = model->player.matcher;
	const struct seam_loaded_plan *before = matcher->now;
	switch (draw(model, 5)) {
	case 0:
	case 1:
		match_add(&model->player, &model->programs[draw(model, PROGRAMS)], draw(model, 2) == 0);
		break;
	case 2:
		begin_anew(model);
		break;
	default:
		seam__matcher_step(matcher);
	}
	/* What the last request was, and how long it would have lived, was said of the plan before. */
	cr_assert(matcher->now == before ||
		(matcher->reach == 0 && matcher->missing == NULL && matcher->pending == NULL &&
			matcher->cursor == NULL));
	match_check(&model->player);
}

/* The program does, or somebody does to it, what the plan does not know. */
static void disturb(struct model *model)
{
	struct match_player *player = &model->player;
	const uint32_t block = player->count == 0 ? 0 : (uint32_t)draw(model, player->count);
	switch (draw(model, 13)) {
	case 0:
	case 1:
		ask_for_more(model, false);
		break;
	case 2:
		ask_for_more(model, true);
		break;
	case 3:
		pass_act(model, model->first); /* dropped, or freed late */
		break;
	case 4:
	case 5:
		if (player->count != 0)
			match_free(player, block);
		break;
	case 6:
		if (player->count != 0)
			match_hold(player, block);
		break;
	case 7:
		change_ranges(model);
		break;
	case 8:
		change_loaded_plans(model);
		break;
	case 9:
		if (draw(model, 5) == 0)
			switch_program(model);
		break;
	case 10:
		player->lacks_metadata = true;
		seam__meta_fail_at(player->meta, 1 + draw(model, 3)); /* and the program goes on */
		for (uint32_t step = 0; step < 20; step++)
			go_on(model);
		seam__meta_fail_at(player->meta, 0);
		player->lacks_metadata = false;
		break;
	default: {
		const uint64_t at = draw(model, 2) == 0 && player->count != 0 ? player->blocks[block].offset
									      : draw(model, 4096) * 512;
		const uint64_t begin = at + (draw(model, 3) == 0 ? draw(model, 512) : 0);
		match_look(player, begin, begin + 1 + draw(model, 1 << 20));
	}
	}
}

static void enter(struct model *model, uint64_t seed)
{
	struct program_wish wish = kinds[seed % KINDS];
	memset(model, 0, sizeof(*model));
	match_open(&model->player, "model", seed);
	wish.iterations = 6;
	for (uint32_t p = 0; p < PROGRAMS; p++) {
		wish.seed = seed * PROGRAMS + p;
		model->programs[p] = match_program(&wish);
	}
	match_add(&model->player, &model->programs[0], true);
	model->heat = (uint32_t[]){2, 10, 30, 60}[draw(model, 4)];
	model->disorder = draw(model, 2) == 0;
	model->player.unflagged = draw(model, 2) == 0;
	model->player.takes = draw(model, 2) == 0;
	model->player.borrows = (uint32_t[]){0, 3, 10}[draw(model, 3)];
	model->player.hears = (uint32_t[]){0, 0, 10}[draw(model, 3)];
	for (uint32_t p = 0; p < PROGRAMS; p++)
		model->player.arena_bytes =
			seam__bits_max(model->player.arena_bytes, model->programs[p].plan->header.arena_bytes);
	model->player.arena_bytes += 512 * draw(model, 64);
	seam__matcher_set_bytes(model->player.matcher, model->player.arena_bytes);
}

static void leave(struct model *model)
{
	match_close(&model->player);
	for (uint32_t p = 0; p < PROGRAMS; p++)
		match_program_fini(&model->programs[p]);
}

static void take_step(struct model *model)
{
	if (draw(model, 100) < model->heat)
		disturb(model);
	else
		go_on(model);
	while (model->player.count > MOST_BLOCKS)
		match_free(&model->player, (uint32_t)draw(model, model->player.count));
}

Test(matcher_model, whatever_a_program_does_nothing_overlaps)
{
	static struct model model;
	uint64_t asked = 0, hits = 0, dynamic_hits = 0, switches = 0, overdue = 0, gaps = 0, borrowed = 0, compared = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct seam_match_counts counts;
		enter(&model, seed);
		for (uint32_t step = 0; step < STEPS; step++) {
			take_step(&model);
			seam__matcher_get_counts(model.player.matcher, &counts);
			overdue = overdue > counts.overdue ? overdue : counts.overdue;
		}
		asked += model.player.asked;
		hits += model.player.hits;
		dynamic_hits += counts.dynamic_hits;
		switches += counts.switches;
		gaps += counts.misses[SEAM_MISS_gap];
		borrowed += model.player.borrowed;
		compared += model.player.compared;
		leave(&model);
	}
	/* It would be easy never to overlap. */
	cr_assert_gt(hits * 3, asked, "%llu hits of %llu", (unsigned long long)hits, (unsigned long long)asked);
	cr_assert_gt(borrowed, 1000);
	cr_assert_gt(compared, 100);
	cr_assert(dynamic_hits > 100 && switches > 50 && overdue > 20 && gaps > 100, "%llu %llu %llu %llu",
		(unsigned long long)dynamic_hits, (unsigned long long)switches, (unsigned long long)overdue,
		(unsigned long long)gaps);
}

/* Disturbed for a while, then let alone: what is left of the disturbance has been freed. */
Test(matcher_model, a_program_that_is_let_alone_is_in_step_again)
{
	static struct model model;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		enter(&model, seed);
		for (uint32_t step = 0; step < STEPS; step++)
			take_step(&model);
		while (model.player.blocked_count != 0)
			match_unblock(&model.player, 0);
		while (model.player.count != 0)
			match_free(&model.player, 0);
		match_add(&model.player, program_of(&model), false); /* it may have gone */
		model.disorder = false;
		model.player.borrows = model.player.hears = 0;
		const struct match_program *program = program_of(&model);
		uint64_t missed = 0;
		for (uint64_t r = 0; r < 5; r++) {
			missed = 0;
			for (uint32_t act = 0; act < program->count; act++)
				missed += !match_act(&model.player, program, model.number, act, 1000000 + r);
		}
		cr_expect_eq(missed, 0, "seed %llu: %llu misses", (unsigned long long)seed, (unsigned long long)missed);
		leave(&model);
	}
}
