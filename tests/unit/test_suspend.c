/* test_suspend.c: when an open plan is suspended, given up or dropped, and when it is compared with the program again:
 * the rules of suspend.c at their limits. The active plan has no memory, and the runtime does not know it.
 */
#include <string.h>

#include "matcher.h"
#include "meta_fixture.h"
#include "planned_impl.h"
#include "random_problem.h"

#define SEEDS 400u
#define TURNS 60u

static struct seam_engine engine;
static struct seam_runtime runtime;
static struct seam_active_plan active;

static void set_up_plan(void)
{
	set_up();
	memset(&engine, 0, sizeof engine);
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
	return near(state, periods[random_below(state, 5)]);
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

/* Half a period is enough. */
Test(suspend, where_it_had_hardly_gone_on_it_is_compared_later)
{
	uint32_t longer = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed, wait = 0;
		const uint64_t period = draw_period(&state);
		active = (struct seam_active_plan){.matcher = active.matcher, .long_positions = period};
		for (uint32_t turn = 0; turn < 10; turn++) {
			runtime.recent.count = random_below(&state, 1000);
			runtime.counts.requests = 100000;
			active.resumed_at = 100000 - near(&state, period / 2);
			const bool in_vain = 100000 - active.resumed_at < period / 2;
			active.departed = 7;
			seam__active_suspend(&runtime, &active);
			longer += in_vain && wait != 0;
			wait = in_vain && wait != 0 ? 2 * wait : period / 16 + 1;
			cr_assert(active.wait == wait && active.compare_from == runtime.recent.count + wait, "seed %lu",
				(unsigned long)seed);
			cr_assert(active.suspended && active.departed == 0);
			cr_assert(active.suspended_at == runtime.recent.count && active.least_bytes == UINT64_MAX);
		}
	}
	cr_assert_gt(longer, SEEDS);
}

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
				min_of(more, random_below(&state, 3) == 0 ? more / 2 : near(&state, more / 20));
			const uint64_t dynamic = random_below(&state, 100);
			runtime.counts.requests += more + dynamic;
			runtime.counts.misses[SEAM_MISS_dynamic] += dynamic;
			runtime.counts.hits += more - missed;
			asked += more;
			hits += more - missed;
			const bool ends = asked >= enough;
			poor = !ends ? poor : 20 * (asked - hits) > asked ? poor + 1 : 0;
			cr_assert_eq(seam__active_judge(&runtime, &active), ends && poor >= 2, "seed %lu, turn %u",
				(unsigned long)seed, turn);
			gone += ends && poor >= 2;
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
	for (uint64_t seed = 1; seed <= 10 * SEEDS; seed++) {
		uint64_t state = seed;
		const uint64_t period = draw_period(&state), count = 1000000;
		const uint64_t ages[] = {period, 2 * period, 34 * period, period / 2};
		const uint64_t live_bytes = 1000 + random_below(&state, 4);
		active = (struct seam_active_plan){.matcher = active.matcher,
			.long_positions = period,
			.started = random_below(&state, 2) != 0,
			.suspended = true,
			.opened_at = count - near(&state, ages[random_below(&state, 4)]),
			.suspended_at = count - near(&state, ages[random_below(&state, 4)]),
			.compare_from = near(&state, count),
			.least_bytes = 1000 + random_below(&state, 4),
			.low_bytes = 1000 + random_below(&state, 4)};
		memset(&runtime.counts, 0, sizeof runtime.counts);
		runtime.recent.count = count;
		engine.counts.live_requested_bytes = live_bytes;
		const struct seam_active_plan before = active;
		cr_assert_not(seam__active_resume(&runtime, &active));
		const bool goes = !before.started && count - before.opened_at >= 34 * period;
		const bool is_over = !goes && count - before.suspended_at >= period;
		const uint64_t least_bytes = min_of(before.least_bytes, live_bytes);
		const uint64_t low_bytes = is_over ? least_bytes : before.low_bytes;
		const bool is_late = !before.started && count - before.opened_at >= 2 * period;
		const bool is_due = !goes && (live_bytes <= low_bytes || is_late) && count >= before.compare_from;
		cr_assert_eq(active.compare_from, is_due ? count + 16 : before.compare_from, "seed %lu",
			(unsigned long)seed);
		cr_assert_eq(active.low_bytes, low_bytes);
		cr_assert_eq(active.suspended_at, is_over ? count : before.suspended_at);
		cr_assert_eq(active.least_bytes, goes ? before.least_bytes : is_over ? live_bytes : least_bytes);
		compared += is_due;
		given_up += goes;
	}
	cr_assert(compared > SEEDS && given_up > SEEDS, "%u %u", compared, given_up);
}
