/* test_tracker.c: cursors stay in step and find their places again: properties of generated programs. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "meta.h"
#include "random_problem.h"
#include "loaded_plan.h"
#include "planned.h"

#define SEEDS 60u

/* A kind of program. */
static const struct {
	const char *name;
	struct program_wish wish;
} kinds[] = {
	{"one cursor", {.slots = 40}},
	{"long lives", {.slots = 40, .lag = 3}},
	{"few sizes", {.slots = 60, .sizes = 4, .lag = 1}},
	{"streams", {.slots = 60, .streams = 3, .edges = 4, .lag = 1}},
	{"threads", {.slots = 60, .threads = 3, .lag = 1}},
	{"layers", {.slots = 10, .layers = 30, .residents = 3}},
	{"dynamic", {.slots = 40, .dynamics = 12, .modules = 4}},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct match_program make(size_t kind, uint64_t seed)
{
	struct program_wish wish = kinds[kind].wish;
	wish.seed = seed;
	wish.iterations = 6;
	return match_program(&wish);
}

/* A drawn program, and a player that stands with its matcher at the beginning of the plan. */
static struct match_program start(size_t kind, uint64_t seed, struct match_player *player)
{
	struct match_program program = make(kind, seed);
	match_open(player, kinds[kind].name, seed);
	match_add(player, &program, true);
	seam__matcher_start(player->matcher);
	return program;
}

Test(tracker, a_program_that_starts_with_its_plan_never_misses)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		uint64_t dynamic = 0, placed = 0;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_player player;
			struct match_program program = start(kind, seed, &player);
			player.unflagged = seed % 2 == 0;
			for (uint64_t r = 0; r < 5; r++) {
				const uint64_t missed = match_acts(&player, &program, r, 0, program.count);
				cr_expect_eq(missed, 0, "%s, seed %llu: %llu misses in repetition %llu",
					kinds[kind].name, (unsigned long long)seed, (unsigned long long)missed,
					(unsigned long long)r);
			}
			struct seam_match_counts counts;
			seam__matcher_get_counts(player.matcher, &counts);
			dynamic += player.dynamic_asked;
			placed += counts.dynamic_hits;
			match_close(&player);
			match_program_fini(&program);
		}
		cr_expect_geq(placed, dynamic / 4 * 3, "%s: %llu of %llu dynamic ones are placed", kinds[kind].name,
			(unsigned long long)placed, (unsigned long long)dynamic);
	}
}

static uint64_t live_of(const struct match_player *player)
{
	struct seam_match_counts counts;
	seam__matcher_get_counts(player->matcher, &counts);
	return counts.live;
}

/* Acts behind which the frontier is elsewhere, in one repetition. One whose block was served elsewhere says nothing,
 * nor do those up to the next request. */
static uint64_t count_elsewhere(struct match_player *player, const struct match_program *program, uint64_t r)
{
	uint64_t elsewhere = 0;
	bool sure = false;
	for (uint32_t act = 0; act < program->count; act++) {
		const uint64_t live = live_of(player);
		(void)match_act(player, program, 0, act, r);
		sure = (sure || !program->acts[act].is_free) && live_of(player) != live;
		elsewhere += sure && match_frontier(player->matcher) != r * program->count + act + 1;
	}
	return elsewhere;
}

/* Else its requests would not go the short way. */
Test(tracker, a_program_in_step_has_the_frontier_behind_every_act)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_player player;
			struct match_program program = start(kind, seed, &player);
			for (uint64_t r = 0; r < 5; r++)
				cr_expect_eq(count_elsewhere(&player, &program, r), 0, "%s, seed %llu, repetition %llu",
					kinds[kind].name, (unsigned long long)seed, (unsigned long long)r);
			match_close(&player);
			match_program_fini(&program);
		}
	}
}

Test(tracker, program_that_is_met_anywhere_hardly_misses_from_the_second_repetition_on)
{
	uint64_t late = 0;
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_program program = make(kind, seed);
			struct match_player player;
			match_open(&player, kinds[kind].name, seed);
			match_add(&player, &program, true);
			const uint32_t from = (uint32_t)(seed * 7919 % program.count);
			uint64_t total = 0;
			(void)match_acts(&player, &program, 0, from, program.count);
			(void)match_acts(&player, &program, 1, 0, from);
			for (uint64_t r = 1; r < 6; r++) {
				uint64_t missed = match_acts(&player, &program, r, from, program.count);
				missed += match_acts(&player, &program, r + 1, 0, from);
				total += missed;
			}
			cr_expect_leq(total, 2 * (uint64_t)program.plan->header.slot_count / 10, "%s, seed %llu",
				kinds[kind].name, (unsigned long long)seed);
			late += total;
			match_close(&player);
			match_program_fini(&program);
		}
	}
	cr_expect_leq(late, 16, "%llu misses in all", (unsigned long long)late);
}

/* One request more than the plan has, anywhere in a period whose sizes differ. If its size is that of a slot nearby it
 * may take the slot's place and live too long there: one miss more. */
Test(tracker, after_an_extra_request_a_cursor_is_in_step_at_once)
{
	for (size_t kind = 0; kind < 2; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_program program = make(kind, seed);
			struct match_player player;
			match_open(&player, kinds[kind].name, seed);
			match_add(&player, &program, true);
			seam__matcher_start(player.matcher);
			for (uint64_t r = 0; r < 10; r++) {
				const uint32_t at = (uint32_t)((seed * 31 + r * 17) % program.count);
				const struct seam_plan_slot *like =
					&program.plan->slots[at % program.plan->header.slot_count];
				const struct seam_match_ask ask = {.bytes = r % 2 == 0 ? 777 + r : like->size_bytes,
					.stream = program.plan->streams[like->stream],
					.thread = like->thread};
				const struct match_block extra = {.slot = MATCH_NO_SLOT};
				uint64_t missed = match_acts(&player, &program, r, 0, at);
				missed += !match_ask(&player, &ask, &extra);
				uint32_t requests = 0, rest = at;
				for (; rest < program.count && requests < 3; rest++) {
					requests += !program.acts[rest].is_free;
					missed += !match_act(&player, &program, 0, rest, r);
				}
				cr_expect_leq(missed, 2 + r % 2,
					"%s, seed %llu: %llu misses after one request more, at %u", kinds[kind].name,
					(unsigned long long)seed, (unsigned long long)missed, at);
				for (uint32_t i = 0; i < player.count; i++)
					if (player.blocks[i].slot == MATCH_NO_SLOT) {
						match_free(&player, i);
						break;
					}
				missed = match_acts(&player, &program, r, rest, program.count);
				cr_expect_leq(missed, r % 2, "%s, seed %llu: %llu misses later, at %u",
					kinds[kind].name, (unsigned long long)seed, (unsigned long long)missed, at);
			}
			match_close(&player);
			match_program_fini(&program);
		}
	}
}

/* No plan has the size: it is none of their slots, and there is nothing to choose from. A few sizes look like one that
 * a plan has (seam__loaded_has). */
Test(tracker, a_size_that_no_plan_has_takes_no_steps)
{
	uint32_t chosen = 0, asked = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_player player;
		struct match_program program = start(0, seed, &player);
		uint64_t state = seed;
		for (uint32_t at = 0; at < program.count; at++) {
			struct seam_match_counts before, after;
			match_act(&player, &program, 0, at, 0);
			const struct seam_plan_slot *slot = &program.plan->slots[0];
			const struct seam_match_ask ask = {
				.bytes = (UINT64_C(1) << 40) + 512 * random_below(&state, 1000),
				.stream = program.plan->streams[slot->stream],
				.thread = slot->thread};
			seam__matcher_get_counts(player.matcher, &before);
			cr_assert_not(match_ask(&player, &ask, &(struct match_block){.slot = MATCH_NO_SLOT}));
			seam__matcher_get_counts(player.matcher, &after);
			chosen += after.steps != before.steps;
			asked++;
		}
		match_close(&player);
		match_program_fini(&program);
	}
	cr_assert(50 * chosen < asked, "%u of %u", chosen, asked);
}

/* Threads of one stream that swap what they do, as workers that are started anew may. */
Test(tracker, threads_that_change_their_roles_are_found_again)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct program_wish wish = {.seed = seed, .slots = 80, .threads = 2, .iterations = 6};
		struct match_program program = match_program(&wish);
		struct match_player player;
		match_open(&player, "roles", seed);
		match_add(&player, &program, true);
		seam__matcher_start(player.matcher);
		uint64_t missed = match_acts(&player, &program, 0, 0, program.count);
		cr_expect_eq(missed, 0, "seed %llu", (unsigned long long)seed);
		struct seam_plan_slot *slots = (struct seam_plan_slot *)(uintptr_t)program.plan->slots;
		for (uint32_t i = 0; i < program.plan->header.slot_count; i++)
			slots[i].thread = 1 - slots[i].thread;
		(void)match_acts(&player, &program, 1, 0, program.count);
		for (uint64_t r = 2; r < 4; r++) {
			missed = match_acts(&player, &program, r, 0, program.count);
			cr_expect_eq(missed, 0, "seed %llu: %llu misses in repetition %llu", (unsigned long long)seed,
				(unsigned long long)missed, (unsigned long long)r);
		}
		match_close(&player);
		match_program_fini(&program);
	}
}

#define PASS 24u /* requests of a pass of a micro-batch, each freed at once */
#define RUN 4u   /* sizes by which a place is told */

static struct match_program make_micro_batches(void)
{
	char words[4096] = "";
	for (unsigned i = 0; i < 4 * PASS; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "a%u%s -a ",
			(1 + i % (2 * PASS)) * 4096, i / PASS % 2 != 0 ? "^1" : "");
	(void)snprintf(words + strlen(words), sizeof words - strlen(words), "z512 -z");
	return match_program_of(words);
}

/* Two micro-batches whose sizes are equal, forward in one thread and backward in another. A forward pass alone looks
 * like the first of them; in the next one the thread that was silent must not go on where it stopped, for the other has
 * left that behind. */
Test(tracker, a_thread_that_was_left_behind_goes_where_the_others_are)
{
	struct match_program program = make_micro_batches();
	struct match_player player;
	const uint32_t copies = program.plan->header.copies;
	match_open(&player, "micro-batches", 1);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
	cr_assert_eq(match_acts(&player, &program, 0, 0, program.count), 0);
	cr_assert_eq(match_acts(&player, &program, 1, 0, 2 * PASS), 0);
	cr_assert_eq(match_acts(&player, &program, 1, 4 * PASS, 6 * PASS), 0,
		"the backward pass is left out, forward comes once more");
	for (uint32_t i = 3 * PASS; i < 4 * PASS; i++) {
		const struct seam_match_ask ask = {.bytes = program.plan->slots[i].size_bytes, .thread = 1};
		const struct match_block as = {.slot = MATCH_NO_SLOT};
		const bool served = match_ask(&player, &ask, &as);
		const struct seam_plan_block *plan_block = player.blocks[player.count - 1].plan_block;
		if (i >= 3 * PASS + RUN - 1)
			cr_expect(served && plan_block->number / copies == i, "slot %u is served as %u", i,
				served ? plan_block->number / copies : UINT32_MAX);
		match_free(&player, player.count - 1);
	}
	match_close(&player);
	match_program_fini(&program);
}

/* Serves and frees the slots [first, last) as a thread asks for them; returns how many were served as something else,
 * or not at all. */
static uint32_t run_through(
	struct match_player *player, const struct match_program *program, uint32_t first, uint32_t last)
{
	uint32_t wrong = 0;
	for (uint32_t i = first; i < last; i++) {
		const struct seam_plan_slot *slot = &program->plan->slots[i];
		const struct seam_match_ask ask = {.bytes = slot->size_bytes, .thread = slot->thread};
		const struct match_block as = {.slot = MATCH_NO_SLOT};
		const bool served = match_ask(player, &ask, &as);
		const struct seam_plan_block *plan_block = player->blocks[player->count - 1].plan_block;
		wrong += !served || plan_block->number / program->plan->header.copies != i;
		match_free(player, player->count - 1);
	}
	return wrong;
}

/* The program is behind the frontier when it says that an iteration ends: the plan is for the iteration that begins,
 * not for the one that the frontier is in, where equal micro-batches would draw the cursor to the wrong one. */
Test(tracker, a_step_behind_the_frontier_begins_a_repetition_of_its_own)
{
	struct match_program program = make_micro_batches();
	struct match_player player;
	match_open(&player, "micro-batches", 1);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
	for (unsigned r = 0; r < 2; r++) {
		cr_assert_eq(run_through(&player, &program, 0, 4 * PASS + 1), 0);
		seam__matcher_step(player.matcher);
	}
	cr_assert_eq(run_through(&player, &program, 0, 4 * PASS), 0);
	cr_assert_eq(run_through(&player, &program, PASS, 2 * PASS), 0,
		"backward once more is taken for that of the next repetition");
	cr_assert_eq(run_through(&player, &program, 4 * PASS, 4 * PASS + 1), 0);
	seam__matcher_step(player.matcher);
	for (unsigned r = 0; r < 2; r++) {
		cr_expect_eq(run_through(&player, &program, 0, 4 * PASS + 1), 0, "repetition %u", r);
		seam__matcher_step(player.matcher);
	}
	match_close(&player);
	match_program_fini(&program);
}

#define SAVED 24u

/* Forward in one thread, backward in another, and what follows in the first one again. */
static struct match_program make_two_threads(void)
{
	char words[4096] = "";
	for (unsigned i = 0; i < SAVED; i++)
		(void)snprintf(words + strlen(words), 32, "%c%u ", 'A' + i, 4096 * (i + 1));
	for (unsigned i = 0; i < 3 * SAVED; i++)
		(void)snprintf(words + strlen(words), 32, "a%u^1 -a ", 8192 * (i + 1));
	for (unsigned i = 0; i < SAVED; i++)
		(void)snprintf(words + strlen(words), 32, "-%c ", 'A' + i);
	(void)strcat(words, "y512 z1024 -y -z");
	return match_program_of(words);
}

static bool ask(struct match_player *player, uint64_t bytes)
{
	const struct match_block as = {.slot = MATCH_NO_SLOT};
	return match_ask(player, &(struct seam_match_ask){.bytes = bytes}, &as);
}

static bool ask_as(struct match_player *player, uint64_t bytes, uint32_t *ret_slot)
{
	const bool served = ask(player, bytes);
	const struct seam_plan_block *plan_block = player->blocks[player->count - 1].plan_block;
	const struct seam_loaded_plan *loaded = seam__matcher_loaded(player->matcher, 0);
	*ret_slot = served ? plan_block->number / loaded->copies : UINT32_MAX;
	return served;
}

Test(tracker, a_request_far_ahead_is_believed_when_it_is_not_alone)
{
	struct match_program program = make_two_threads();
	struct match_player player;
	uint32_t slot;
	match_open(&player, "two threads", 1);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
	cr_assert_eq(match_acts(&player, &program, 0, 0, program.count), 0);
	cr_assert_eq(match_acts(&player, &program, 1, 0, SAVED), 0);
	for (uint64_t bytes = 500; bytes <= 1000; bytes += 500) {
		const uint64_t r = bytes / 500, frontier = match_frontier(player.matcher);
		cr_expect_not(ask_as(&player, bytes, &slot), "as large as what follows backward, which has not come");
		cr_expect_eq(match_frontier(player.matcher), frontier);
		match_free(&player, player.count - 1);
		cr_expect_eq(match_acts(&player, &program, r, SAVED, program.count), 0);
		cr_assert_eq(match_acts(&player, &program, r + 1, 0, SAVED), 0);
	}
	cr_expect_not(ask_as(&player, 512, &slot));
	cr_expect(ask_as(&player, 1024, &slot) && slot == 4 * SAVED + 1, "there is no backward this time");
	match_close(&player);
	match_program_fini(&program);
}

#define LAYERS 20u
#define LAYER 53u /* acts forward */

/* Equal layers, longer than what a cursor remembers, with rows of equal requests; each saves a block, which is freed
 * backward. */
static struct match_program make_equal_layers(void)
{
	char words[8192] = "";
	for (unsigned l = 0; l < LAYERS; l++) {
		for (unsigned i = 0; i < 12; i++)
			(void)strcat(words, "a512 -a ");
		(void)snprintf(words + strlen(words), 160,
			"%c65536 a512 -a b176128 a512 -a c352256 d131072 a512 -a a21504 -a -b -c e65536 -e -d ",
			'A' + l);
		(void)strcat(words, "a4096 -a a8192 -a b65536 -b a24576 -a b65536 -b a49152 -a ");
		cr_assert_lt(strlen(words), sizeof words - 200);
	}
	for (unsigned l = LAYERS; l-- > 0;)
		(void)snprintf(words + strlen(words), 32, "a98304 -a -%c ", 'A' + l);
	return match_program_of(words);
}

/* The plan may be of an iteration that lacked one of them. */
Test(tracker, one_of_equal_requests_more_or_less_is_not_taken_for_a_layer)
{
	struct match_program program = make_equal_layers();
	struct match_player player;
	match_open(&player, "equal layers", 1);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
	cr_assert_eq(match_acts(&player, &program, 0, 0, program.count), 0);
	for (uint32_t i = 0; i < 2 * LAYER; i++) {
		const uint32_t at = 5 * LAYER + i / 2, r = 1 + i;
		const struct match_act *act = &program.acts[at];
		if (act->is_free)
			continue;
		uint64_t missed = match_acts(&player, &program, r, 0, at);
		cr_expect_eq(missed, 0, "%llu misses in front of act %u", (unsigned long long)missed, at);
		if (i % 2 == 0) {
			missed = !ask(&player, program.plan->slots[act->slot].size_bytes);
			match_free(&player, player.count - 1);
		}
		missed += match_acts(&player, &program, r, at + i % 2, program.count);
		cr_expect_leq(missed, 2, "%llu misses with one request %s, at act %u", (unsigned long long)missed,
			i % 2 == 0 ? "more" : "less", at);
	}
	match_close(&player);
	match_program_fini(&program);
}
