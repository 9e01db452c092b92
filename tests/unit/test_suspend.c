/* test_suspend.c: when an open plan is suspended, given up or dropped, and when it is compared with the program again:
 * the rules of suspend.c at their limits. The active plan has no memory, and the runtime does not know it.
 */
#include <string.h>

#include "match_program.h"
#include "matcher.h"
#include "matcher_state.h"
#include "meta_fixture.h"
#include "planned_impl.h"
#include "random_problem.h"

#define SEEDS 400u
#define TURNS 60u

static struct seam_driver driver; /* of no calls */
static struct seam_engine engine;
static struct seam_runtime runtime;
static struct seam_active_plan active;

static void set_up_plan(void)
{
	set_up();
	memset(&driver, 0, sizeof driver);
	memset(&engine, 0, sizeof engine);
	engine.driver = &driver;
	memset(&runtime, 0, sizeof runtime);
	memset(&active, 0, sizeof active);
	runtime.engine = &engine;
	runtime.meta = meta;
	LIST_INIT(&runtime.active_plans);
	cr_assert_eq(seam__matcher_create(meta, &active.matcher), SEAM_OK);
}

static void tear_down_plan(void)
{
	seam__matcher_destroy(meta, active.matcher);
	tear_down();
}

TestSuite(suspend, .init = set_up_plan, .fini = tear_down_plan);

static uint64_t max_of(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* At the number, or one beside it. */
static uint64_t near(uint64_t *state, uint64_t number)
{
	return number + random_below(state, 3) - (number != 0);
}

static uint64_t draw_period(uint64_t *state)
{
	static const uint64_t periods[] = {1, 100, 1024, 2000, 5000};
	return max_of(1, near(state, periods[random_below(state, 5)]));
}

/* The runtime has the active plan open, with an arena of no bytes: it can be dropped. */
static void lay_open(void)
{
	static uint32_t busy[1];
	active.busy = busy;
	active.busy_count = 1;
	active.arena.state = SEAM_ARENA_OPEN;
	LIST_INIT(&runtime.active_plans);
	LIST_INSERT_HEAD(&runtime.active_plans, &active, link);
	runtime.open = true;
}

/* Each unknown request counts twenty known ones. */
Test(suspend, one_unknown_request_in_twenty_is_no_departure)
{
	uint32_t suspended = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed, departed = 0, last = 0;
		const uint64_t period = draw_period(&state), every = 1 + random_below(&state, 24);
		const uint64_t most = 20 * max_of(64, period / 16);
		runtime.counts.requests = 0;
		active = (struct seam_active_plan){.matcher = active.matcher, .long_positions = period};
		for (uint32_t turn = 0; turn < 20 * TURNS; turn++) {
			runtime.counts.requests += 1 + random_below(&state, every);
			departed -= min_of(departed, runtime.counts.requests - last);
			departed += 20;
			last = runtime.counts.requests;
			seam__active_depart(&runtime, &active);
			cr_assert_eq(active.suspended, departed > most, "seed %lu, turn %u", (unsigned long)seed, turn);
			if (!active.suspended)
				continue;
			departed = 0;
			active.suspended = false;
			suspended++;
		}
	}
	cr_assert_gt(suspended, SEEDS);
}

/* A learnt one, as soon as less than nothing is in the account; what it goes on with doubles each time, up to what is
 * kept. */
Test(suspend, a_learnt_plan_that_overdraws_the_account_is_suspended)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		const bool is_given = random_below(&state, 4) == 0;
		active = (struct seam_active_plan){.matcher = active.matcher,
			.long_positions = draw_period(&state),
			.made_at = is_given ? UINT64_MAX : random_below(&state, 1000)};
		int64_t price = 8 * (int64_t)min_of(active.long_positions, 8192);
		for (uint32_t turn = 0; turn < 8; turn++) {
			const uint64_t hits = random_below(&state, 3);
			runtime.counts.hits += hits;
			runtime.account.steps = (int64_t)random_below(&state, 3) - 1 - 8 * (int64_t)hits;
			const bool overdrawn = runtime.account.steps + 8 * (int64_t)hits < 0;
			active.suspended = random_below(&state, 8) == 0;
			const bool was_suspended = active.suspended, goes = overdrawn && !is_given && !was_suspended;
			seam__active_charge(&runtime, &active);
			price = goes ? (int64_t)min_of(2 * (uint64_t)price, 64 * active.long_positions) : price;
			cr_assert_eq(active.suspended, goes || was_suspended, "seed %lu, turn %u", (unsigned long)seed,
				turn);
			cr_assert(!goes || active.price_steps == price, "seed %lu, turn %u", (unsigned long)seed, turn);
			runtime.account.counted.hits = runtime.counts.hits;
		}
	}
}

Test(suspend, calls_of_the_driver_cost_where_a_learnt_plan_serves_and_what_is_kept_is_bounded)
{
	static const struct {
		bool is_suspended, is_given;
		int64_t calls_steps;
	} rows[] = {{true, false, 35}, {true, true, 35}, {false, true, 35}, {false, false, -35}};
	active.long_positions = 100;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		active.suspended = rows[i].is_suspended;
		active.made_at = rows[i].is_given ? UINT64_MAX : 3;
		runtime.account.steps = 0;
		engine.counts.allocs += 10;
		driver.counts[SEAM_DRV_mem_map].calls += 7;
		seam__active_pay(&runtime, &active);
		cr_expect_eq(runtime.account.steps, 10 * 4 + rows[i].calls_steps, "row %zu", i);
	}
	runtime.account.steps = 1000000;
	seam__active_pay(&runtime, &active);
	cr_assert_eq(runtime.account.steps, 6400);
}

Test(suspend, a_plan_that_is_suspended_begins_anew)
{
	runtime.recent.count = 777;
	active.departed = 7;
	active.low_bytes = 5;
	seam__active_suspend(&runtime, &active);
	cr_assert(active.suspended && active.departed == 0 && active.low_bytes == 5);
	cr_assert_eq(active.idle_from, 777);
}

/* Requests that come while it is suspended do not count, nor do those that are never asked of a plan. */
Test(suspend, a_plan_that_is_poor_for_two_periods_in_a_row_goes)
{
	uint32_t gone = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed, asked = 0, hits = 0, poor = 0;
		active = (struct seam_active_plan){.matcher = active.matcher, .long_positions = draw_period(&state)};
		const uint64_t enough = max_of(active.long_positions, 1024);
		memset(&runtime.counts, 0, sizeof runtime.counts);
		seam__active_judge_anew(&runtime, &active);
		for (uint32_t turn = 0; turn < TURNS; turn++) {
			const uint64_t more = random_below(&state, 3) == 0
				? random_below(&state, enough)
				: near(&state, enough - min_of(asked, enough));
			const uint64_t missed =
				min_of(more, random_below(&state, 3) == 0 ? more / 2 : near(&state, more / 10));
			const uint64_t dynamic = random_below(&state, 100), suspended = random_below(&state, 5000),
				       never = random_below(&state, 100);
			runtime.counts.requests += more + dynamic + suspended + never;
			runtime.counts.misses[SEAM_MISS_dynamic] += dynamic;
			runtime.counts.misses[SEAM_MISS_suspended] += suspended;
			runtime.counts.misses[SEAM_MISS_request] += never;
			runtime.counts.hits += more - missed;
			asked += more;
			hits += more - missed;
			const bool ends = asked >= enough;
			poor = !ends ? poor : 10 * (asked - hits) > asked ? poor + 1 : 0;
			const bool goes = ends && poor >= 2;
			lay_open();
			const bool is_dropped = seam__active_judge(&runtime, &active);
			cr_assert_eq(is_dropped, goes, "seed %lu, turn %u", (unsigned long)seed, turn);
			cr_assert_eq(runtime.open, !goes, "seed %lu, turn %u", (unsigned long)seed, turn);
			gone += goes;
			asked = ends ? 0 : asked;
			hits = ends ? 0 : hits;
		}
	}
	cr_assert_gt(gone, SEEDS);
}

/* No loaded plan is there to be compared with: that it was due to be is seen by when it is again. */
Test(suspend, it_is_compared_with_the_program_while_few_bytes_are_live)
{
	uint32_t compared = 0, given_up = 0;
	for (uint64_t seed = 1; seed <= 20 * SEEDS; seed++) {
		uint64_t state = seed;
		const uint64_t period = draw_period(&state), count = 1000000;
		const uint64_t ages[] = {period, 17 * period, 34 * period};
		const uint64_t live_bytes = 1000 + random_below(&state, 4);
		active = (struct seam_active_plan){.matcher = active.matcher,
			.long_positions = period,
			.started = random_below(&state, 2) != 0,
			.suspended = true,
			.idle_from = count - near(&state, ages[random_below(&state, 3)]),
			.compare_from = near(&state, count),
			.low_bytes = 1000 + random_below(&state, 4)};
		memset(&runtime.counts, 0, sizeof runtime.counts);
		runtime.recent.count = count;
		engine.counts.live_requested_bytes = live_bytes;
		const struct seam_active_plan before = active;
		cr_assert_not(seam__active_resume(&runtime, &active));
		const bool goes = count - before.idle_from >= 34 * period;
		const bool is_low = live_bytes <= before.low_bytes;
		const bool is_late = count - before.idle_from >= 17 * period;
		const bool is_due = !goes && (is_low || is_late) && count >= before.compare_from;
		cr_assert_eq(active.compare_from, is_due ? count + 16 : before.compare_from, "seed %lu",
			(unsigned long)seed);
		cr_assert_eq(active.low_bytes, before.low_bytes);
		compared += is_due;
		given_up += goes;
	}
	cr_assert(compared > SEEDS && given_up > SEEDS, "%u %u", compared, given_up);
}

/* The steps that the matcher took, with so many in the account. 0: it was not told. */
static uint64_t tell_with(int64_t steps)
{
	struct seam_match_counts before, after;
	seam__matcher_get_counts(active.matcher, &before);
	runtime.account = (struct seam_account){.steps = steps};
	active.paid_steps = before.steps;
	active.compare_from = 0;
	active.suspended = true;
	const bool resumed = seam__active_resume(&runtime, &active);
	cr_assert_eq(resumed, !active.suspended);
	seam__matcher_get_counts(active.matcher, &after);
	seam__active_pay(&runtime, &active);
	cr_assert_eq(runtime.account.steps, steps - (int64_t)(after.steps - before.steps));
	return after.steps - before.steps;
}

static void ask_for(const struct match_program *program, uint32_t slot)
{
	const struct seam_plan_slot *asked = &program->plan->slots[slot];
	const struct seam_asked recent = {.bytes = asked->size_bytes,
		.stream = program->plan->streams[asked->stream],
		.thread = asked->thread,
		.plain = true};
	seam__recent_add(&runtime.recent, &recent);
}

/* An active plan that is open and suspended, of a program; its arena is open and has no bytes. */
static void open_active(struct match_player *player, const struct match_program *program)
{
	match_open(player, "told", 1);
	match_add(player, program, true);
	active = (struct seam_active_plan){.matcher = player->matcher,
		.long_positions = program->plan->header.slot_count,
		.started = true,
		.low_bytes = UINT64_MAX};
	lay_open();
}

/* Eight steps a slot to be told at all. No more is spent than is there, nor than sixteen a slot, but for the last
 * request. Behind a telling in vain there is none for five eighths of a period. */
Test(suspend, the_matcher_is_told_what_the_account_pays_for)
{
	const struct program_wish wish = {.seed = 9, .slots = 300, .iterations = 4};
	struct match_program program = match_program(&wish);
	struct seam_matcher *const empty = active.matcher;
	const uint32_t slots = program.plan->header.slot_count;
	struct match_player player;
	open_active(&player, &program);
	for (uint32_t i = 0; i < 2 * slots; i++)
		ask_for(&program, 0); /* known, and not what comes next */
	cr_assert_eq(tell_with(8 * (int64_t)slots - 1), 0);
	cr_assert_eq(active.compare_from, runtime.recent.count + 16, "what was not told was not in vain");
	for (uint32_t each = 8; each < 32; each += 3) {
		const uint64_t most = min_of(each, 16) * slots;
		const uint64_t spent = tell_with((int64_t)each * slots);
		cr_assert(spent >= most && spent < most + SEAM_CHOICE_STEPS + SEAM_HEAR_STEPS, "%u a slot", each);
		cr_assert_eq(active.compare_from, runtime.recent.count + slots / 8 * 5);
		cr_assert(active.suspended);
	}
	for (uint32_t i = 0; i < 2 * slots; i++)
		ask_for(&program, i % slots);
	active.price_steps = 64 * (int64_t)slots;
	cr_assert_eq(tell_with(active.price_steps - 1), 0, "it has overdrawn the account before");
	const uint64_t spent = tell_with(active.price_steps);
	cr_assert(spent >= 4 * (uint64_t)slots && spent < 8 * (uint64_t)slots);
	cr_assert(!active.suspended, "where it is known it serves");
	active.matcher = empty;
	match_close(&player);
	match_program_fini(&program);
}

/* The matcher expects the first request of a new period, with all that was live left to the old one. */
static void expect_beginning(const struct seam_matcher *matcher)
{
	const struct seam_loaded_plan *loaded = matcher->now;
	cr_assert_eq(loaded->frontier.position, 0);
	for (uint32_t i = 0; i < loaded->cursor_count; i++)
		cr_assert_eq(loaded->cursors[i].next, loaded->cursors[i].first);
	cr_assert_eq(loaded->unmarked, 0);
}

/* At a mark that the plan's period begins at, with few live bytes, before anything is asked for, if the account is not
 * overdrawn, and has what a plan that has overdrawn it needs. */
Test(suspend, it_goes_on_at_a_mark)
{
	const struct program_wish wish = {.seed = 9, .slots = 30, .iterations = 4};
	struct match_program program = match_program(&wish);
	struct seam_matcher *const empty = active.matcher;
	struct match_player player;
	open_active(&player, &program);
	const uint64_t period = active.long_positions;
	active.low_bytes = 1000;
	uint32_t resumed = 0;
	for (uint64_t state = 1, turn = 0; turn < 100 * SEEDS; turn++) {
		const bool is_marked = random_below(&state, 4) != 0, is_asked = random_below(&state, 4) == 0;
		const bool is_far = random_below(&state, 2) != 0;
		if (turn == SEEDS)
			seam__loaded_begins_at_mark(player.matcher->now);
		active.started = random_below(&state, 8) != 0;
		active.suspended = true;
		active.idle_from = runtime.recent.count;
		engine.counts.live_requested_bytes = 999 + random_below(&state, 3);
		if (is_far) /* where it was suspended */
			(void)seam__frontier_move(player.matcher, player.matcher->now->frontier.at + 7);
		player.matcher->now->unmarked = 0;
		ask_for(&program, 0);
		if (is_marked)
			seam__planned_step(&runtime);
		if (is_asked)
			ask_for(&program, 0);
		active.price_steps = random_below(&state, 2) == 0 ? 3 * (int64_t)period : 0;
		active.compare_from = UINT64_MAX; /* it is not told */
		const int64_t steps = active.price_steps + (int64_t)random_below(&state, 3) - 1;
		runtime.account = (struct seam_account){.steps = steps, .counted = runtime.account.counted};
		const bool is_due = turn >= SEEDS && active.started && is_marked && !is_asked &&
			engine.counts.live_requested_bytes <= 1000 && steps >= active.price_steps;
		cr_assert_eq(seam__active_resume(&runtime, &active), is_due, "turn %lu", (unsigned long)turn);
		cr_assert_eq(active.suspended, !is_due);
		if (is_due)
			expect_beginning(player.matcher);
		resumed += is_due;
	}
	cr_assert_gt(resumed, SEEDS);
	active.matcher = empty;
	match_close(&player);
	match_program_fini(&program);
}
