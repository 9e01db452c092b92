/* test_matcher_check.c: the validator of matchers names what is broken. Programs that do not keep to their plans bring
 * matchers into all states; in each of them every field that an invariant is about is made another one for a moment.
 */
#include "break_field.h"
#include "match_idle.h"
#include "match_program.h"
#include "matcher_state.h"
#include "random_problem.h"

#define SEEDS 40u
#define STEPS 300u
#define PROGRAMS 2u
#define MOST_LIVE 512u
#define INVARIANTS 7u

static struct match_player player;
static struct match_program programs[PROGRAMS];
static struct seam_matcher *matcher;

static const char *find_broken(void)
{
	return seam__matcher_check(matcher);
}

static uint64_t draw(uint64_t limit)
{
	return random_below(&player.random, limit);
}

static void ask_for_more(const struct match_program *program)
{
	const struct seam_plan_slot *like = &program->plan->slots[draw(program->plan->header.slot_count)];
	const struct match_block as = {.slot = MATCH_NO_SLOT};
	const struct seam_match_ask ask = {.bytes = 1 + draw(2 * like->size_bytes),
		.stream = program->plan->streams[like->stream],
		.thread = like->thread,
		.dynamic = draw(2) == 0};
	(void)match_ask(&player, &ask, &as);
}

/* Now and then it asks for more, leaves something out, frees or holds another block, has a range blocked, or is told of
 * a plan. */
static void take_step(uint64_t step)
{
	const uint32_t number = step < STEPS / 2 ? 0 : (uint32_t)(player.seed % PROGRAMS);
	const struct match_program *program = &programs[number];
	const uint32_t block = player.count == 0 ? 0 : (uint32_t)draw(player.count);
	const uint64_t chance = draw(60);
	if (chance < 6)
		ask_for_more(program);
	else if (chance < 8 && player.count != 0)
		match_free(&player, block);
	else if (chance < 10 && player.count != 0)
		match_hold(&player, block);
	else if (chance < 12 && player.blocked_count < MATCH_BLOCKED) {
		const uint64_t begin = draw(program->plan->header.arena_bytes / 512) * 512;
		match_block(&player, begin, begin + 512 * (1 + draw(16)));
	} else if (chance == 12)
		match_add(&player, &programs[draw(PROGRAMS)], draw(2) == 0);
	else if (chance == 13)
		seam__matcher_step(matcher);
	else if (chance > 16) /* else one is left out */
		(void)match_act(&player, program, number, (uint32_t)(step % program->count), step / program->count);
	while (player.count > MOST_LIVE / 2)
		match_free(&player, (uint32_t)draw(player.count));
}

static struct seam_plan_block *live[MOST_LIVE];
static uint32_t live_count;

static void note_live(void *user, struct seam_plan_block *plan_block)
{
	(void)user;
	uint32_t at = live_count++;
	cr_assert_leq(live_count, MOST_LIVE);
	for (; at != 0 && live[at - 1]->offset > plan_block->offset; at--)
		live[at] = live[at - 1];
	live[at] = plan_block;
}

/* Blocks that touch do not overlap, though one is larger than is counted. Where a list says how large a block is, too,
 * that is broken. */
static void break_live(void)
{
	live_count = 0;
	seam__matcher_each(matcher, note_live, NULL);
	for (uint32_t i = 0; i < live_count; i++) {
		const bool is_listed = live[i]->state != SEAM_PLANNED_LIVE || live[i]->loaded == SEAM_PLANNED_DYNAMIC;
		const uint64_t gap = i + 1 < live_count ? live[i + 1]->offset - live[i]->offset : 1 << 30;
		if (i + 1 < live_count)
			BREAK(live[i]->bytes, gap + 1, is_listed ? "H2" : "H1");
		if (gap != live[i]->bytes)
			BREAK(live[i]->bytes, gap, is_listed ? "H2" : "H5");
		if (is_listed)
			BREAK(live[i]->offset, live[i]->offset + 512, "H2");
	}
	BREAK(matcher->counts.live, matcher->counts.live + 1, "H5");
	BREAK(matcher->counts.live, matcher->counts.live - 1, "H5");
	BREAK(matcher->counts.live_bytes, matcher->counts.live_bytes + 512, "H5");
	BREAK(matcher->off_plan_count, matcher->off_plan_count + 1, "H5");
	BREAK(matcher->off_plan_count, matcher->off_plan_count - 1, "H5");
}

static void break_overdue(void)
{
	for (struct seam_overdue_block *s = seam__overdue_first(&matcher->overdue); s != NULL;
		s = seam__overdue_next(s)) {
		BREAK(s->begin, s->begin + 1, "H2");
		BREAK(s->end, s->end + 1, "H2");
		BREAK(s->plan_block->state, SEAM_PLANNED_LIVE, "H2");
		BREAK(s->plan_block->state, SEAM_PLANNED_FREE, "H2");
		if (s->plan_block->loaded != SEAM_PLANNED_DYNAMIC)
			BREAK(s->plan_block->loaded, SEAM_PLANNED_DYNAMIC, "H2");
	}
	for (uint32_t i = 0; i < SEAM_OWNERS; i++) {
		struct seam_loaded_plan *owner = matcher->owners[i];
		if (owner == NULL)
			continue;
		BREAK(owner->overdue, owner->overdue + 1, "H2");
		if (owner->overdue == 0)
			continue;
		BREAK(owner->overdue, owner->overdue - 1, "H2");
		BREAK(matcher->owners[i], NULL, "H2");
	}
}

/* Whether the position before the frontier is in the instance's interval: position by position. */
static bool is_on_time(const struct seam_loaded_plan *loaded, uint32_t number)
{
	const struct seam_lifetime *lifetime = &loaded->lifetimes[number / loaded->copies];
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies,
		       base = (uint64_t)(number % loaded->copies) * loaded->positions;
	for (uint64_t at = lifetime->begin; at < lifetime->end; at++)
		if ((base + at + 1) % circle == loaded->frontier.at % circle)
			return true;
	return false;
}

/* An instance that is free becomes live, and is counted. */
static void break_on_time(struct seam_loaded_plan *loaded)
{
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		struct seam_plan_block *plan_block = &loaded->instances[n];
		if (plan_block->state != SEAM_PLANNED_FREE || plan_block->bytes == 0 ||
			loaded->places[loaded->address_slot_of[n]].number != n ||
			!match_idle(matcher, plan_block->offset, plan_block->offset + plan_block->bytes))
			continue;
		matcher->counts.live++;
		matcher->counts.live_bytes += plan_block->bytes;
		BREAK(plan_block->state, SEAM_PLANNED_LIVE, is_on_time(loaded, n) ? "" : "H2");
		matcher->counts.live--;
		matcher->counts.live_bytes -= plan_block->bytes;
	}
}

/* Positions until something is due in the place of the block; UINT64_MAX: never. */
static uint64_t due_in(const struct seam_loaded_plan *loaded, const struct seam_overdue_block *node)
{
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	uint64_t least = UINT64_MAX;
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		const struct seam_plan_block *plan_block = &loaded->instances[n];
		const uint64_t at = (uint64_t)(n % loaded->copies) * loaded->positions +
			loaded->lifetimes[n / loaded->copies].begin;
		const uint64_t in = (at + circle - loaded->frontier.at % circle) % circle;
		if (plan_block->offset < node->end && node->begin < plan_block->offset + plan_block->bytes)
			least = in < least ? in : least;
	}
	return least;
}

static void break_off_plan(const struct seam_loaded_plan *loaded)
{
	struct seam_overdue_block *node = seam__overdue_first(&matcher->off_plan.blocks);
	for (; node != NULL; node = seam__overdue_next(node)) {
		struct seam_off_plan_block *block = (struct seam_off_plan_block *)node;
		const uint64_t least = due_in(loaded, node);
		BREAK(node->end, node->end + 512, "H2");
		BREAK(block->plan_block.bytes, 1, "H2");
		if (least == UINT64_MAX || matcher->off_plan.blocks.count != 1)
			continue;
		BREAK(matcher->off_plan.until, matcher->off_plan.until + 1, "H2");
		const uint64_t until = block->until;
		block->until = loaded->frontier.at + least;
		BREAK(matcher->off_plan.until, block->until, "");
		block->until++;
		BREAK(matcher->off_plan.until, block->until, "H6");
		block->until = until;
	}
}

static void break_ranges(void)
{
	for (uint32_t b = 0; b < matcher->blocked_count; b++) {
		BREAK(matcher->blocked[b].begin, matcher->blocked[b].end, "H4");
		if (b + 1 < matcher->blocked_count)
			BREAK(matcher->blocked[b].end, matcher->blocked[b + 1].begin + 1, "H4");
	}
	for (uint32_t l = 0; l < matcher->loaded_count; l++) {
		struct seam_loaded_plan *loaded = matcher->loaded_plans[l];
		for (uint32_t i = 0; i < loaded->placed; i++) {
			struct seam_plan_block *p = &loaded->instances[loaded->by_address_entries[i].number];
			bool is_blocked = false;
			for (uint32_t b = 0; b < matcher->blocked_count; b++)
				is_blocked |= p->offset < matcher->blocked[b].end &&
					matcher->blocked[b].begin < p->offset + p->bytes;
			BREAK(p->clear, matcher->blocked_version, is_blocked ? "H4" : "");
		}
	}
}

static void break_plans(void)
{
	static struct seam_loaded_plan other;
	struct seam_loaded_plan *first = matcher->loaded_plans[0];
	if (matcher->successor == NULL) {
		BREAK(matcher->successor, first, "H7");
		BREAK(matcher->replaced, first, "H7");
	} else {
		BREAK(matcher->successor, NULL, "H7");
		BREAK(matcher->replaced, NULL, "H7");
		BREAK(matcher->replaced, matcher->successor, "H7");
		BREAK(matcher->successor, &other, "H7");
		BREAK(matcher->replaced, &other, "H7");
	}
	/* In one field of the newest plan, for each plan is looked at. */
	struct seam_loaded_plan *last = matcher->loaded_plans[matcher->loaded_count - 1];
	BREAK(last->cursors[0].base, last->cursors[0].base + 1, "C2");
}

/* Nothing is live: else what is live is not on time. */
static void break_frontier(struct seam_frontier *frontier, const struct seam_loaded_plan *loaded)
{
	const struct seam_frontier as_it_was = *frontier;
	BREAK(frontier->at, frontier->at + 1, "H3");
	BREAK(frontier->base, frontier->base + 1, "H3");
	frontier->at++;
	BREAK(frontier->base, frontier->base + 1, "H3");
	*frontier = as_it_was;
	frontier->at = frontier->base + loaded->positions;
	BREAK(frontier->position, loaded->positions, "H3");
	*frontier = as_it_was;
	frontier->copy = (frontier->copy + 1) % loaded->copies;
	expect_broken(loaded->copies == 1 ? "" : "H3", "another copy");
	*frontier = as_it_was;
}

static void break_each(void)
{
	expect_broken("", "as it is");
	break_live();
	break_overdue();
	break_ranges();
	if (matcher->now == NULL)
		return;
	break_on_time(matcher->now);
	break_off_plan(matcher->now);
	break_plans();
	expect_broken("", "as it was");
}

Test(matcher_check, names_what_is_broken)
{
	static const struct program_wish kinds[] = {
		{.slots = 24, .lag = 2}, {.slots = 20, .dynamics = 12}, {.slots = 24, .streams = 2, .threads = 2}};
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct program_wish wish = kinds[seed % (sizeof kinds / sizeof *kinds)];
		match_open(&player, "check", seed);
		matcher = player.matcher;
		wish.iterations = 6;
		for (uint32_t p = 0; p < PROGRAMS; p++) {
			wish.seed = seed * PROGRAMS + p;
			programs[p] = match_program(&wish);
			match_add(&player, &programs[p], p == 0);
		}
		seam__matcher_set_bytes(matcher, programs[0].plan->header.arena_bytes + 8192);
		player.borrows = 5;
		for (uint64_t step = 0; step < STEPS; step++) {
			take_step(step);
			if (step % 16 == 0)
				break_each();
		}
		while (player.count != 0)
			match_free(&player, 0);
		break_frontier(&matcher->now->frontier, matcher->now);
		match_close(&player);
		for (uint32_t p = 0; p < PROGRAMS; p++)
			match_program_fini(&programs[p]);
	}
	for (unsigned i = 1; i <= INVARIANTS; i++)
		cr_expect_gt(broken_times[i], 20, "H%u: %u", i, broken_times[i]);
}
