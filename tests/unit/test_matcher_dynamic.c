/* test_matcher_dynamic.c: a request whose size depends on data lies where it fits best in what its group may use, as an
 * oracle finds it that tries every place, whatever else lies there.
 */
#include <criterion/criterion.h>

#include "match_program.h"
#include "random_problem.h"

#define SEEDS 60u
#define REPETITIONS 6u
#define UNIT 512u /* places and sizes are multiples of it */
#define KEPT 20u  /* of a hundred blocks that are to go so many stay for a while */

/* How much of all that the oracle looks at there is. */
struct seen {
	uint64_t placed, refused, beside_blocked, beside_overdue;
};

/* Where the gap at `at` ends, below `end`; `at`: something lies there. */
static uint64_t find_end(const struct match_player *player, uint64_t at, uint64_t end)
{
	for (uint32_t i = 0; i < player->count; i++) {
		const struct match_block *block = &player->blocks[i];
		if (block->plan_block != NULL && block->offset + block->bytes > at && block->offset < end)
			end = block->offset > at ? block->offset : at;
	}
	for (uint32_t i = 0; i < player->blocked_count; i++) {
		const struct seam_plan_range *blocked = &player->blocked[i];
		if (blocked->end_bytes > at && blocked->begin_bytes < end)
			end = blocked->begin_bytes > at ? blocked->begin_bytes : at;
	}
	return end;
}

/* The smallest gap that holds the bytes so far. */
struct best {
	uint64_t bytes, at, gap_bytes;
};

/* Tries a place: one that begins a gap is below all others of it. */
static void try(const struct match_player *player, const struct seam_plan_range *range, uint64_t at, struct best *best)
{
	if (at < range->begin_bytes || at >= range->end_bytes)
		return;
	const uint64_t gap_bytes = find_end(player, at, range->end_bytes) - at;
	const bool is_better = gap_bytes < best->gap_bytes || (gap_bytes == best->gap_bytes && at < best->at);
	if (gap_bytes >= best->bytes && is_better)
		*best = (struct best){best->bytes, at, gap_bytes};
}

/* Gaps begin where their range does, or where something ends. */
static struct best find_best(const struct match_player *player, const struct seam_plan *plan,
	const struct seam_plan_group *group, uint64_t bytes)
{
	struct best best = {(bytes + UNIT - 1) / UNIT * UNIT, SEAM_PLAN_NO_ADDRESS, UINT64_MAX};
	for (uint32_t r = group->first_range; r < group->first_range + group->range_count; r++) {
		const struct seam_plan_range *range = &plan->ranges[r];
		try(player, range, (range->begin_bytes + UNIT - 1) / UNIT * UNIT, &best);
		for (uint32_t i = 0; i < player->count; i++)
			if (player->blocks[i].plan_block != NULL)
				try(player, range, player->blocks[i].offset + player->blocks[i].bytes, &best);
		for (uint32_t i = 0; i < player->blocked_count; i++)
			try(player, range, player->blocked[i].end_bytes, &best);
	}
	return best;
}

/* Asks for another size than the plan saw, as the program does, and compares. */
static void ask_dynamic(struct match_player *player, const struct match_program *program, uint32_t number, uint64_t r,
	struct seen *seen)
{
	const struct seam_plan *plan = program->plan;
	const struct seam_plan_slot *slot = &plan->slots[number];
	const struct seam_plan_group *group = &plan->groups[slot->group + r % plan->header.copies];
	const struct seam_match_ask ask = {
		.bytes = 1 + random_below(&player->random, slot->size_bytes * 5 / 4),
		.stream = plan->streams[slot->stream],
		.thread = slot->thread,
		.dynamic = true,
	};
	const struct match_block as = {.slot = number, .repetition = r};
	const struct best best = find_best(player, plan, group, ask.bytes);
	const bool served = match_ask(player, &ask, &as);
	const struct seam_plan_block *plan_block = player->blocks[player->count - 1].plan_block;
	cr_expect_eq(served ? plan_block->offset : SEAM_PLAN_NO_ADDRESS, best.at,
		"seed %llu, repetition %llu, slot %u: %lld, not %lld", (unsigned long long)player->seed,
		(unsigned long long)r, number, served ? (long long)plan_block->offset : -1LL, (long long)best.at);
	seen->placed += served;
	seen->refused += !served;
	seen->beside_blocked += player->blocked_count != 0;
	struct seam_match_counts counts;
	seam__matcher_get_counts(player->matcher, &counts);
	seen->beside_overdue += counts.overdue != 0;
}

/* Blocks stay, and ranges are blocked and unblocked. */
static bool disturb(struct match_player *player, const struct match_program *program, uint32_t act)
{
	const uint64_t bytes = program->plan->header.arena_bytes / UNIT;
	if (random_below(&player->random, 20) == 0 && player->blocked_count < MATCH_BLOCKED) {
		const uint64_t begin = random_below(&player->random, bytes), more = random_below(&player->random, 64);
		match_block(player, begin * UNIT, (begin + 1 + more) * UNIT);
	}
	if (random_below(&player->random, 20) == 0 && player->blocked_count != 0)
		match_unblock(player, (uint32_t)random_below(&player->random, player->blocked_count));
	return program->acts[act].is_free && random_below(&player->random, 100) < KEPT;
}

static void play(struct match_player *player, const struct match_program *program, uint64_t r, struct seen *seen)
{
	const bool calm = r < 2; /* the frontier is in step first */
	for (uint32_t act = 0; act < program->count; act++) {
		const struct match_act *a = &program->acts[act];
		if (!calm && disturb(player, program, act))
			continue;
		if (!a->is_free && (program->plan->slots[a->slot].flags & SEAM_PLAN_DYNAMIC) != 0)
			ask_dynamic(player, program, a->slot, r, seen);
		else
			(void)match_act(player, program, 0, act, r);
	}
	while (player->count > 12)
		match_free(player, (uint32_t)random_below(&player->random, player->count));
}

Test(matcher_dynamic, what_depends_on_data_lies_where_it_fits_best)
{
	struct seen seen = {0};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 40,
			.iterations = 6,
			.lag = (uint32_t)(seed % 3),
			.dynamics = 16,
			.modules = 4};
		struct match_program program = match_program(&wish);
		struct match_player player;
		match_open(&player, "dynamic", seed);
		match_add(&player, &program, true);
		seam__matcher_set_bytes(player.matcher, program.plan->header.arena_bytes);
		seam__matcher_start(player.matcher);
		for (uint64_t r = 0; r < REPETITIONS; r++)
			play(&player, &program, r, &seen);
		match_close(&player);
		match_program_fini(&program);
	}
	cr_expect(seen.placed > 1000 && seen.refused > 100 && seen.beside_blocked > 1000 && seen.beside_overdue > 500);
}
