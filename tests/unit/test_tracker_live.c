/* test_tracker_live.c: a program that breaks an iteration off is found at its beginning by how much is live, where
 * sizes would lead it on. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "loaded_plan.h"
#include "planned.h"

#define FORWARD 12u
#define GRADIENTS 24u
#define OTHERS 100u

static struct match_player player;
static struct match_program program;

/* Three micro-batches whose sizes are equal; the first one makes gradients, which live to the end. Words: what the last
 * one does at first. */
static void set_up_with(const char *last)
{
	char words[4096] = "";
	for (unsigned batch = 0; batch < 3; batch++) {
		if (batch == 2)
			(void)strcat(words, last);
		for (unsigned i = 0; i < FORWARD; i++)
			(void)snprintf(words + strlen(words), 32, "%c%u ", 'A' + i, 4096 * (i + 1));
		for (unsigned i = 0; i < FORWARD; i++) {
			if (batch == 0)
				(void)snprintf(words + strlen(words), 32, "%c%u %c%u ", 'a' + 2 * i, 512 * (i + 1),
					'b' + 2 * i, 512 * (i + 1));
			(void)snprintf(words + strlen(words), 32, "-%c ", 'A' + (FORWARD - 1 - i));
		}
	}
	for (unsigned i = 0; i < GRADIENTS; i++)
		(void)snprintf(words + strlen(words), 32, "-%c ", 'a' + i);
	program = match_program_of(words);
	match_open(&player, "micro-batches", 1);
	match_add(&player, &program, true);
	seam__matcher_start(player.matcher);
}

static void set_up(void)
{
	set_up_with("");
}

static void tear_down(void)
{
	match_close(&player);
	match_program_fini(&program);
}

TestSuite(tracker_live, .init = set_up, .fini = tear_down);

/* The act by which a micro-batch begins; 3: gradients go. */
static uint32_t batch_at(unsigned batch)
{
	if (batch == 3)
		return program.count - GRADIENTS;
	uint32_t slot = batch == 0 ? 0 : batch * FORWARD + GRADIENTS, act = 0;
	while (program.acts[act].is_free || program.acts[act].slot != slot)
		act++;
	return act;
}

/* Does the acts; returns how many requests were served as other slots than the program means, or by none. */
static uint32_t go(uint64_t repetition, uint32_t first, uint32_t last)
{
	uint32_t wrong = 0;
	for (uint32_t act = first; act < last; act++) {
		(void)match_act(&player, &program, 0, act, repetition);
		if (program.acts[act].is_free)
			continue;
		const struct seam_plan_block *plan_block = player.blocks[player.count - 1].plan_block;
		wrong += plan_block == NULL ||
			plan_block->number / program.plan->header.copies != program.acts[act].slot;
	}
	return wrong;
}

/* The last block first, until so many are left. */
static void let_go(uint32_t left)
{
	while (player.count > left)
		match_free(&player, player.count - 1);
}

static void free_slot(uint32_t slot)
{
	uint32_t at = 0;
	while (player.blocks[at].slot != slot)
		at++;
	cr_assert_lt(at, player.count);
	match_free(&player, at);
}

static void make_others(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		player.blocks[player.count++] = (struct match_block){.slot = MATCH_NO_SLOT};
	seam__matcher_beside(player.matcher, (int)count);
}

Test(tracker_live, what_begins_anew_begins_at_the_beginning)
{
	for (uint64_t r = 0; r < 6; r += 2) {
		cr_expect_eq(go(r, 0, program.count), 0, "repetition %u", (unsigned)r);
		cr_expect_eq(go(r + 1, 0, batch_at(2)), 0, "up to the third micro-batch");
		let_go(0);
	}
	cr_expect_eq(go(6, 0, program.count), 0);
}

Test(tracker_live, what_others_serve_counts)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	match_block(&player, 0, program.plan->header.arena_bytes);
	cr_assert_gt(go(1, 0, batch_at(2)), 0);
	match_unblock(&player, 0);
	let_go(0);
	cr_expect_eq(go(2, 0, program.count), 0);
}

Test(tracker_live, what_always_stays_does_not_count)
{
	make_others(OTHERS);
	for (uint64_t r = 0; r < 2; r++)
		cr_assert_eq(go(r, 0, program.count), 0);
	cr_assert_eq(go(2, 0, batch_at(2)), 0);
	let_go(OTHERS);
	cr_expect_eq(go(3, 0, program.count), 0);
}

/* Something else comes and goes at once, while what the first micro-batch made lives elsewhere. */
Test(tracker_live, what_others_serve_lives)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	cr_assert_eq(go(1, 0, batch_at(0) + FORWARD), 0);
	match_block(&player, 0, program.plan->header.arena_bytes);
	cr_assert_eq(go(1, FORWARD, batch_at(1)), GRADIENTS);
	match_unblock(&player, 0);
	cr_assert_eq(go(1, batch_at(1), batch_at(2)), 0);
	make_others(OTHERS);
	let_go(player.count - OTHERS);
	cr_expect_eq(go(1, batch_at(2), program.count), 0);
}

/* Gradients that were served elsewhere once outlive their iteration; they do not stay for that. */
Test(tracker_live, what_stays_a_little_longer_does_not_stay)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	cr_assert_eq(go(1, 0, FORWARD), 0);
	match_block(&player, 0, program.plan->header.arena_bytes);
	cr_assert_eq(go(1, FORWARD, batch_at(1)), GRADIENTS);
	match_unblock(&player, 0);
	cr_assert_eq(go(1, batch_at(1), batch_at(3)), 0);
	cr_assert_eq(go(2, 0, 1), 0);
	for (uint32_t i = 0; i < GRADIENTS; i++)
		free_slot(FORWARD + i);
	cr_assert_eq(go(2, 1, batch_at(2)), 0);
	make_others(OTHERS);
	let_go(player.count - OTHERS);
	cr_expect_eq(go(2, batch_at(2), program.count), 0);
}

/* Of what was live when the plan came nobody told: as long as it may go, what is live says nothing. */
Test(tracker_live, what_was_there_before_the_plan_does_not_count)
{
	cr_assert_eq(go(0, 0, batch_at(2)), 0);
	for (uint32_t i = 0; i < GRADIENTS; i++)
		seam__matcher_beside(player.matcher, -1);
	cr_expect_eq(go(0, batch_at(2), program.count), 0);
	cr_expect_eq(go(1, 0, batch_at(2)), 0);
	let_go(0);
	cr_expect_eq(go(2, 0, program.count), 0);
}

static void hear(uint32_t last)
{
	for (uint32_t act = 0; act < last; act++) {
		if (program.acts[act].is_free)
			continue;
		const struct seam_plan_slot *slot = &program.plan->slots[program.acts[act].slot];
		seam__matcher_hear(player.matcher,
			&(struct seam_match_ask){.bytes = slot->size_bytes,
				.stream = program.plan->streams[slot->stream],
				.thread = slot->thread});
	}
}

/* The plan comes into use in the midst of an iteration whose gradients are there already, and live on into the next
 * one. */
Test(tracker_live, what_was_there_when_the_plan_came_does_not_stay)
{
	hear(program.count);
	hear(batch_at(2));
	cr_assert_eq(go(1, batch_at(2), batch_at(3)), 0);
	cr_assert_eq(go(2, 0, batch_at(1)), 0);
	for (uint32_t i = 0; i < GRADIENTS; i++)
		seam__matcher_beside(player.matcher, -1);
	cr_assert_eq(go(2, batch_at(1), batch_at(2)), 0);
	make_others(OTHERS);
	let_go(player.count - OTHERS);
	cr_expect_eq(go(2, batch_at(2), program.count), 0);
}

/* As much lives beside as gradients do where the program says that its iterations end: more than the plan has live is
 * no reason to look there. */
Test(tracker_live, what_is_made_beside_leads_nobody_astray)
{
	cr_assert_eq(go(0, 0, batch_at(1)), 0);
	seam__matcher_step(player.matcher);
	cr_assert_eq(go(0, batch_at(1), program.count), 0);
	make_others(OTHERS);
	let_go(GRADIENTS);
	cr_expect_eq(go(1, 0, batch_at(3)), 0);
	let_go(0);
	cr_expect_eq(go(2, 0, program.count), 0);
}

/* A pass is broken off and a few gradients are gone, but most of them tell that the next one comes: not the one that
 * begins an iteration, where as much would be live. */
Test(tracker_live, what_is_nearly_as_it_should_be_is_left_alone)
{
	cr_assert_eq(go(0, 0, batch_at(1)), 0);
	seam__matcher_step(player.matcher);
	cr_assert_eq(go(0, batch_at(1), program.count), 0);
	cr_assert_eq(go(1, 0, batch_at(1) + FORWARD), 0);
	for (uint32_t i = 0; i < 6; i++)
		free_slot(FORWARD + i);
	for (uint32_t i = 0; i < FORWARD; i++)
		free_slot(FORWARD + GRADIENTS + i);
	cr_expect_eq(go(1, batch_at(2), program.count), 0);
}

/* What outlives an iteration by more than one lies where the next one has it, and not where the one behind that would.
 */
Test(tracker_live, what_begins_anew_is_the_same_iteration)
{
	tear_down();
	set_up_with("z1000000 =z ");
	cr_assert_eq(program.plan->header.copies, 2);
	for (uint64_t r = 0; r < 4; r++) {
		cr_assert_eq(go(r, 0, program.count), 0);
		cr_assert_eq(go(r + 1, 0, batch_at(2)), 0);
		for (uint32_t i = player.count; i-- > 0;)
			if (player.blocks[i].repetition > r)
				match_free(&player, i);
		cr_expect_eq(player.count, 1);
	}
	cr_expect_eq(go(4, 0, program.count), 0);
}

/* A program that says that its iterations end in front of the second micro-batch begins anew there, where gradients
 * live. */
Test(tracker_live, what_begins_anew_begins_at_the_mark)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	cr_assert_eq(go(1, 0, batch_at(1)), 0);
	seam__matcher_step(player.matcher);
	cr_assert_eq(go(1, batch_at(1), batch_at(2) + FORWARD), 0);
	for (uint32_t i = 0; i < 1; i++)
		free_slot(FORWARD + i);
	for (uint32_t i = 0; i < FORWARD; i++)
		free_slot(2 * FORWARD + GRADIENTS + i);
	cr_expect_eq(go(2, batch_at(1), program.count), 0);
	let_go(0);
	cr_expect_eq(go(3, 0, program.count), 0);
}

/* So many gradients are gone that it is like no place of the plan. */
Test(tracker_live, what_is_like_nothing_is_left_alone)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	cr_assert_eq(go(1, 0, batch_at(1) + FORWARD), 0);
	for (uint32_t i = 0; i < GRADIENTS / 2; i++)
		free_slot(FORWARD + i);
	for (uint32_t i = 0; i < FORWARD; i++)
		free_slot(FORWARD + GRADIENTS + i);
	cr_expect_eq(go(1, batch_at(2), program.count), 0);
}

/* Gradients go one after the other, each before another request: as little is live as where a period begins. One
 * micro-batch is taken for the first one, no more. */
Test(tracker_live, iteration_whose_gradients_go_early_is_found_again)
{
	cr_assert_eq(go(0, 0, program.count), 0);
	cr_assert_eq(go(1, 0, batch_at(1)), 0);
	for (uint32_t act = batch_at(1); act < batch_at(2); act++) {
		cr_assert_eq(go(1, act, act + 1), 0);
		free_slot(FORWARD + act - batch_at(1));
	}
	cr_expect_leq(go(1, batch_at(2), program.count), FORWARD);
	cr_expect_eq(go(2, 0, program.count), 0);
}

/* The gradients go in another order than the plan says: much is freed that is not due, but the next request is where it
 * should be. */
Test(tracker_live, what_is_freed_in_another_order_is_in_step)
{
	for (uint64_t r = 0; r < 4; r++) {
		cr_expect_eq(go(r, 0, batch_at(3)), 0);
		let_go(0);
	}
}

Test(tracker_live, so_much_is_live_at_each_position)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 40,
			.iterations = 6,
			.lag = (uint32_t)seed % 4,
			.dynamics = (uint32_t)seed % 3};
		struct match_program other = match_program(&wish);
		struct seam_loaded_plan *loaded;
		cr_assert_eq(seam__loaded_create(player.meta, other.plan, &loaded), SEAM_OK);
		for (uint32_t p = 0; p < loaded->positions; p++) {
			uint32_t live = 0;
			for (uint32_t i = 0; i < loaded->slots; i++)
				for (uint64_t at = p; at < (uint64_t)(loaded->copies + 1) * loaded->positions;
					at += loaded->positions)
					live += loaded->lifetimes[i].begin < at && at <= loaded->lifetimes[i].end;
			cr_assert_eq(loaded->live_at[p], live, "seed %u, position %u", (unsigned)seed, p);
		}
		seam__loaded_destroy(player.meta, loaded);
		match_program_fini(&other);
	}
}
