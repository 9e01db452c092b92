/* test_lanes.c: how a lane stays in step and finds its place again: by generated programs, and rule by rule. */
#include <criterion/criterion.h>

#include "match_program.h"
#include "meta.h"
#include "random_problem.h"

#define SEEDS 60u

/* A kind of program. */
static const struct {
	const char *name;
	struct program_wish wish;
} kinds[] = {
	{"one lane", {.slots = 40}},
	{"long lives", {.slots = 40, .lag = 3}},
	{"few sizes", {.slots = 60, .sizes = 4, .lag = 1}},
	{"streams", {.slots = 60, .streams = 3, .edges = 4, .lag = 1}},
	{"threads", {.slots = 60, .threads = 3, .lag = 1}},
	{"layers", {.slots = 10, .layers = 30, .residents = 3}},
	{"dynamic", {.slots = 40, .dynamics = 10}},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct match_program make(size_t kind, uint64_t seed)
{
	struct program_wish wish = kinds[kind].wish;
	wish.seed = seed;
	wish.iterations = 6;
	return match_program(&wish);
}

Test(lanes, a_program_that_starts_with_its_plan_never_misses)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_program program = make(kind, seed);
			struct match_player player;
			match_open(&player, kinds[kind].name, seed);
			player.unflagged = seed % 2 == 0;
			match_add(&player, &program, true);
			seam__matcher_start(player.matcher);
			for (uint64_t r = 0; r < 5; r++) {
				const uint64_t missed = match_acts(&player, &program, r, 0, program.count);
				cr_expect_eq(missed, 0, "%s, seed %llu: %llu misses in repetition %llu", kinds[kind].name, (unsigned long long)seed,
				             (unsigned long long)missed, (unsigned long long)r);
			}
			match_close(&player);
			match_program_fini(&program);
		}
	}
}

Test(lanes, a_program_that_is_met_anywhere_does_not_miss_from_the_second_repetition_on)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct match_program program = make(kind, seed);
			struct match_player player;
			match_open(&player, kinds[kind].name, seed);
			match_add(&player, &program, true);
			const uint32_t from = (uint32_t)(seed * 7919 % program.count);
			(void)match_acts(&player, &program, 0, from, program.count);
			(void)match_acts(&player, &program, 1, 0, from);
			for (uint64_t r = 1; r < 6; r++) {
				uint64_t missed = match_acts(&player, &program, r, from, program.count);
				missed += match_acts(&player, &program, r + 1, 0, from);
				cr_expect_eq(missed, 0, "%s, seed %llu: %llu misses in repetition %llu", kinds[kind].name, (unsigned long long)seed,
				             (unsigned long long)missed, (unsigned long long)r);
			}
			match_close(&player);
			match_program_fini(&program);
		}
	}
}

/* One request more than the plan has, anywhere in a period whose sizes differ. If its size is that of a slot nearby it may take the slot's place
 * and live too long there: one miss more. */
Test(lanes, after_an_extra_request_a_lane_is_in_step_at_once)
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
				const struct seam_plan_slot *like = &program.plan->slots[at % program.plan->header.slot_count];
				const struct seam_match_ask ask = {.bytes = r % 2 == 0 ? 777 + r : like->size_bytes,
				                                   .stream = program.plan->streams[like->stream], .thread = like->thread};
				const struct match_block extra = {.slot = MATCH_NO_SLOT};
				uint64_t missed = match_acts(&player, &program, r, 0, at);
				missed += !match_ask(&player, &ask, &extra);
				uint32_t requests = 0, rest = at;
				for (; rest < program.count && requests < 3; rest++) {
					requests += !program.acts[rest].is_free;
					missed += !match_act(&player, &program, 0, rest, r);
				}
				cr_expect_leq(missed, 2 + r % 2, "%s, seed %llu: %llu misses after one request more, at %u", kinds[kind].name,
				              (unsigned long long)seed, (unsigned long long)missed, at);
				for (uint32_t i = 0; i < player.count; i++)
					if (player.blocks[i].slot == MATCH_NO_SLOT) {
						match_free(&player, i);
						break;
					}
				missed = match_acts(&player, &program, r, rest, program.count);
				cr_expect_leq(missed, r % 2, "%s, seed %llu: %llu misses later, at %u", kinds[kind].name, (unsigned long long)seed,
				             (unsigned long long)missed, at);
			}
			match_close(&player);
			match_program_fini(&program);
		}
	}
}

/* Threads of one stream that swap what they do, as workers that are started anew may. */
Test(lanes, threads_that_change_their_roles_are_found_again)
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
			cr_expect_eq(missed, 0, "seed %llu: %llu misses in repetition %llu", (unsigned long long)seed, (unsigned long long)missed,
			             (unsigned long long)r);
		}
		match_close(&player);
		match_program_fini(&program);
	}
}
