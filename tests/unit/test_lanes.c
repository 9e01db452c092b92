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
