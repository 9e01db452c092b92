/* test_trial.c: plans tried on recordings. A plan is of one period; the recording is that period three times, with
 * changes in one of them. */
#include <string.h>

#include "meta_fixture.h"

#include "match_program.h"
#include "random_problem.h"
#include "trial.h"

#define MOST_EVENTS 65536u
#define PERIODS 3u

TestSuite(trial, .init = set_up, .fini = tear_down);

static struct seam_trace_event events[MOST_EVENTS];
static uint64_t count;

/* Changes in the last period: sizes and lifetimes of so many requests of a thousand. */
struct change {
	uint32_t sizes;    /* another size */
	uint32_t lives;    /* freed a period later */
	uint32_t dynamics; /* so many requests more in each period depend on data, and are too large in the last one */
	bool privately;    /* for a private pool */
	bool breaks_off;   /* of all periods but the first and the last, after a third of them; steps are marked */
};

static void add(uint8_t kind, uint64_t id, const struct seam_plan_slot *slot, const struct seam_plan *plan)
{
	cr_assert_lt(count, MOST_EVENTS);
	events[count++] = (struct seam_trace_event){.kind = kind,
		.id = id,
		.size = slot->size_bytes,
		.stream = plan->streams[slot->stream],
		.flags = (slot->flags & SEAM_PLAN_DYNAMIC) != 0 ? SEAM_TRACE_DYNAMIC : 0,
		.thread = slot->thread};
}

/* Repetitions of the program, the last one changed. Block s of repetition r has number r * slots + s. */
static struct seam_trace record(const struct match_program *program, const struct change *change, uint64_t *state)
{
	const struct seam_plan *plan = program->plan;
	const uint64_t slots = plan->header.slot_count;
	static bool stays[MOST_EVENTS], lives[MOST_EVENTS];
	memset(stays, 0, sizeof stays);
	memset(lives, 0, sizeof lives);
	count = 0;
	for (uint64_t repetition = 0; repetition < PERIODS; repetition++) {
		const bool is_whole = !change->breaks_off || repetition == 0 || repetition == PERIODS - 1;
		for (uint32_t i = 0; i < (is_whole ? program->count : program->count / 3); i++) {
			const struct match_act *act = &program->acts[i];
			const uint64_t born = repetition - (act->is_free ? act->lag : 0), id = born * slots + act->slot;
			const bool is_last = repetition == PERIODS - 1;
			if (act->is_free) {
				if (born > repetition || stays[id] || !lives[id])
					continue; /* it was there before, lives on, or has gone */
				lives[id] = false;
				add(SEAM_TRACE_FREE, id, &plan->slots[act->slot], plan);
				continue;
			}
			add(SEAM_TRACE_ALLOC, id, &plan->slots[act->slot], plan);
			lives[id] = true;
			stays[id] = random_below(state, 1000) < (is_last ? change->lives : 0);
			if (is_last && random_below(state, 1000) < change->sizes)
				events[count - 1].size += 4096 * (1 + random_below(state, 1000));
			if (is_last && (events[count - 1].flags & SEAM_TRACE_DYNAMIC) != 0)
				events[count - 1].size += UINT64_C(1) << 40;
			events[count - 1].pool = is_last && change->privately;
		}
		for (uint64_t id = repetition * slots; !is_whole && id < (repetition + 1) * slots; id++) {
			if (lives[id])
				add(SEAM_TRACE_FREE, id, &plan->slots[id % slots], plan);
			lives[id] = false;
		}
		if (change->breaks_off)
			events[count++] = (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = repetition};
	}
	return (struct seam_trace){.header = {.event_count = count}, .events = events};
}

static struct seam_trial try_on(uint64_t seed, const struct change *change)
{
	uint64_t state = seed;
	const struct program_wish wish = {.seed = seed,
		.slots = 200,
		.iterations = 4,
		.dynamics = change->dynamics,
		.lag = change->breaks_off ? 0 : 1,
		.streams = 2,
		.threads = 1 + seed % 2};
	struct match_program program = match_program(&wish);
	const struct seam_trace recording = record(&program, change, &state);
	struct seam_trial trial;
	const uint64_t counted = program.count + change->breaks_off;
	cr_assert_eq(seam__trial_run(meta, program.plan, change->breaks_off, &recording, counted, &trial), SEAM_OK);
	match_program_fini(&program);
	return trial;
}

Test(trial, plan_of_the_same_period_serves_all_of_it)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_trial trial = try_on(seed, &(struct change){0});
		cr_expect_eq(trial.asked, 200, "seed %lu: %lu", (unsigned long)seed, (unsigned long)trial.asked);
		cr_expect_eq(
			trial.served, trial.asked, "seed %lu: %lu", (unsigned long)seed, (unsigned long)trial.served);
		cr_expect(seam__trial_is_good(&trial));
	}
}

Test(trial, plan_of_other_sizes_is_refused)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_trial trial = try_on(seed, &(struct change){.sizes = 300});
		cr_expect_not(
			seam__trial_is_good(&trial), "seed %lu: %lu", (unsigned long)seed, (unsigned long)trial.served);
		cr_expect_not(seam__trial_is_bad(&trial), "seed %lu: it was another iteration", (unsigned long)seed);
	}
}

/* Sizes and order are as planned: only what lies in the way of others tells. */
Test(trial, plan_of_shorter_lifetimes_is_refused)
{
	uint32_t refused = 0, bad = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_trial trial = try_on(seed, &(struct change){.lives = 300});
		cr_expect_lt(trial.served, trial.asked, "seed %lu", (unsigned long)seed);
		cr_expect_geq(trial.known, trial.served, "seed %lu", (unsigned long)seed);
		refused += !seam__trial_is_good(&trial);
		bad += seam__trial_is_bad(&trial);
	}
	cr_expect_geq(refused, 30);
	cr_expect_geq(bad, 30, "%u: they are the plan's own requests", bad);
}

/* Behind an iteration that was broken off the mark says that the next one begins. */
Test(trial, mark_says_where_the_period_begins)
{
	uint64_t served = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_trial trial = try_on(seed, &(struct change){.breaks_off = true});
		cr_expect_eq(trial.asked, 200);
		served += trial.served;
	}
	cr_expect_geq(served, 40 * 200, "%lu", (unsigned long)served);
}

/* Where all sizes are the same nothing else says it. */
Test(trial, mark_says_it_where_sizes_do_not)
{
	uint64_t state = 1;
	struct match_program program =
		match_program_of("a4096 b4096 -b c4096 d4096 -c e4096 -e f4096 -d -f g4096 -a h4096 -g -h i4096 -i");
	const struct seam_trace recording = record(&program, &(struct change){.breaks_off = true}, &state);
	struct seam_trial trial;
	cr_assert_eq(seam__trial_run(meta, program.plan, true, &recording, program.count + 1, &trial), SEAM_OK);
	cr_expect_eq(trial.asked, 9);
	cr_expect_eq(trial.served, 9);
	match_program_fini(&program);
}

Test(trial, request_that_no_plan_is_asked_for_does_not_count)
{
	const struct seam_trial trial = try_on(1, &(struct change){.privately = true});
	cr_expect_eq(trial.asked, 0);
	cr_expect_not(seam__trial_is_good(&trial), "nothing was tried");
}

/* Where a plan has no room for them the engine serves them: that is no fault of the plan. */
Test(trial, request_that_depends_on_data_and_has_no_place_does_not_count)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		const struct seam_trial trial = try_on(seed, &(struct change){.dynamics = 40});
		cr_expect_eq(trial.asked, 200, "seed %lu: %lu", (unsigned long)seed, (unsigned long)trial.asked);
		cr_expect(
			seam__trial_is_good(&trial), "seed %lu: %lu", (unsigned long)seed, (unsigned long)trial.served);
	}
}

Test(trial, one_request_in_twenty_may_miss)
{
	cr_expect(seam__trial_is_good(&(struct seam_trial){.asked = 20, .served = 19}));
	cr_expect_not(seam__trial_is_good(&(struct seam_trial){.asked = 19, .served = 18}));
	cr_expect(seam__trial_is_good(&(struct seam_trial){.asked = 1, .served = 1}));
}

Test(trial, trial_of_the_plans_own_iteration_that_it_does_not_serve_is_bad)
{
	cr_expect(seam__trial_is_bad(&(struct seam_trial){.asked = 20, .known = 19, .served = 18}));
	cr_expect_not(seam__trial_is_bad(&(struct seam_trial){.asked = 20, .known = 18, .served = 18}));
	cr_expect_not(seam__trial_is_bad(&(struct seam_trial){.asked = 20, .known = 20, .served = 19}), "it is good");
	cr_expect_not(seam__trial_is_bad(&(struct seam_trial){0}), "nothing was tried");
}

/* Every allocation of metadata fails once; nothing is left behind (the fixture looks). */
Test(trial, trial_without_metadata_says_so)
{
	const struct program_wish wish = {.seed = 7, .slots = 60, .iterations = 4};
	struct match_program program = match_program(&wish);
	uint64_t state = 7, failed = 0;
	const struct seam_trace recording = record(&program, &(struct change){0}, &state);
	for (uint64_t n = 1;; n++) {
		struct seam_trial trial;
		seam__meta_fail_at(meta, n);
		const enum seam_rc rc = seam__trial_run(meta, program.plan, false, &recording, program.count, &trial);
		const bool was_reached = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		if (!was_reached) {
			cr_expect_eq(rc, SEAM_OK);
			cr_expect_eq(trial.served, 60);
			break;
		}
		failed += rc == SEAM_OOM_META;
	}
	cr_expect_geq(failed, 3);
	match_program_fini(&program);
}
