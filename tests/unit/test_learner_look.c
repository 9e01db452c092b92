/* test_learner_look.c: whether what is open serves well enough that no new plan is wanted, what is known of a plan that
 * went, and how long a period may be planned: the rules of learner_look.c and learner_plan.c, at their limits.
 */
#include "core_fixture.h"

#include "learner_impl.h"
#include "loaded_plan.h"
#include "planned_impl.h"
#include "random_problem.h"

#define SEEDS 4000u
#define PERIOD 100u

static struct seam_active_plan active; /* nothing of it is looked at but whether it has started */

/* What a runtime has counted up to a moment. */
struct moment {
	uint64_t requests, misses, displaced, strange;
};

static struct moment draw_more(uint64_t *state, const struct moment *from)
{
	static const uint64_t limits[] = {0, PERIOD / 2, 2 * PERIOD, 1000, 16 * PERIOD, 20 * PERIOD};
	struct moment more = {.requests = limits[random_below(state, 6)] + random_below(state, 3)};
	const uint64_t shares[] = {
		more.requests, more.requests / 2, more.requests / 8, more.requests / 200, PERIOD / 2};
	more.misses = shares[random_below(state, 5)] + random_below(state, 3);
	more.misses = more.misses < more.requests ? more.misses : more.requests;
	const uint64_t strange[] = {0, more.misses / 2, more.requests / 16, more.misses};
	more.strange = strange[random_below(state, 4)] + random_below(state, 2);
	more.strange = more.strange < more.misses ? more.strange : more.misses;
	more.displaced = random_below(state, more.misses - more.strange + 1);
	return (struct moment){from->requests + more.requests, from->misses + more.misses,
		from->displaced + more.displaced, from->strange + more.strange};
}

static void set_counts(const struct moment *now)
{
	struct seam_planned_counts *counts = &pool->runtime->counts;
	memset(counts->misses, 0, sizeof counts->misses);
	counts->requests = now->requests;
	counts->hits = now->requests - now->misses;
	counts->misses[SEAM_MISS_late] = now->displaced;
	counts->misses[SEAM_MISS_lost] = now->strange / 2;
	counts->misses[SEAM_MISS_size] = now->strange - now->strange / 2;
	counts->misses[SEAM_MISS_cursor] = now->misses - now->strange - now->displaced;
}

/* What is to be known behind a look. */
struct wanted {
	bool proven, strange, serves, searches;
	struct moment seen;
};

/* seen: at the last look. Nothing is known of a plan before it has had two periods, or half a period of misses. */
static struct wanted judge(const struct moment *seen, const struct moment *started, const struct moment *now, bool open)
{
	const bool is_first = seen->requests <= started->requests;
	const struct moment *from = is_first ? started : seen;
	const uint64_t requests = now->requests - from->requests, strange = now->strange - from->strange;
	uint64_t misses = now->misses - from->misses;
	if (is_first)
		misses -= now->displaced - from->displaced;
	if (open && (!active.started || (requests < 2 * PERIOD && misses <= PERIOD / 2)))
		return (struct wanted){.seen = *from, .serves = true};
	return (struct wanted){
		.proven = open && 200 * misses <= requests,
		.strange = open && 2 * strange > misses - misses % 2 && 16 * strange > requests - requests % 16,
		.serves = open,
		.searches = !open || 200 * misses > requests,
		.seen = *now,
	};
}

static void look(uint64_t seed)
{
	struct seam_learner *learner = pool->learner;
	struct seam_runtime *runtime = pool->runtime;
	uint64_t state = seed;
	const struct moment none = {0}, a = draw_more(&state, &none), b = draw_more(&state, &a),
			    now = draw_more(&state, &b);
	const bool is_first = random_below(&state, 2) == 0, open = random_below(&state, 4) != 0;
	const struct moment *seen = is_first ? &a : &b, *started = is_first ? &b : &a;
	set_counts(&now);
	learner->seen_requests = seen->requests;
	learner->seen_misses = seen->misses;
	learner->seen_displaced = seen->displaced;
	learner->seen_strange = seen->strange;
	runtime->started_requests = started->requests;
	runtime->started_misses = started->misses;
	runtime->started_displaced = started->displaced;
	runtime->started_strange = started->strange;
	learner->period_requests = PERIOD;
	learner->period_events = 7 + seed;
	learner->known_events = 0;
	learner->proven = learner->strange = false;
	learner->serves = true;
	learner->looks.next.events = 0; /* one is due */
	learner->looked.events = UINT64_MAX;
	active.started = random_below(&state, 8) != 0;
	runtime->open = open;
	if (open)
		LIST_INSERT_HEAD(&runtime->active_plans, &active, link);
	const struct wanted wanted = judge(seen, started, &now, open);
	cr_assert(seam__learner_look(learner));
	cr_assert(learner->proven == wanted.proven && learner->strange == wanted.strange &&
			learner->serves == wanted.serves,
		"seed %lu: proven %d, strange %d, serves %d", (unsigned long)seed, learner->proven, learner->strange,
		learner->serves);
	cr_assert_eq(learner->known_events, wanted.proven ? learner->period_events : 0);
	cr_assert(learner->seen_requests == wanted.seen.requests && learner->seen_misses == wanted.seen.misses &&
			learner->seen_displaced == wanted.seen.displaced &&
			learner->seen_strange == wanted.seen.strange,
		"seed %lu: another moment was seen", (unsigned long)seed);
	cr_assert((learner->looked.events != UINT64_MAX) == wanted.searches,
		"seed %lu: what comes of a plan counts from the look that searched", (unsigned long)seed);
	if (open)
		LIST_REMOVE(&active, link);
	runtime->open = false;
}

Test(learner_look, a_plan_that_misses_hardly_anything_is_proven)
{
	open_pool(MIB(64), "plan:inline");
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		look(seed);
	struct seam_runtime *runtime = pool->runtime;
	memset(&runtime->counts, 0, sizeof runtime->counts);
	runtime->started_requests = runtime->started_misses = 0;
	runtime->started_displaced = runtime->started_strange = 0;
	close_pool();
}

/* The window begins anew behind one that was proven; behind another the next look comes when it has doubled. */
Test(learner_look, a_plan_that_went_is_proven_no_more)
{
	open_pool(MIB(64), "plan:inline");
	struct seam_learner *learner = pool->learner;
	for (unsigned i = 0; i < 600; i++)
		must_free(must_alloc(MIB(1), NULL));
	learner->proven = true;
	learner->repeats_from = 5;
	for (unsigned drops = 1; drops <= 2; drops++) {
		const struct seam_look_time since = learner->looks.since;
		pool->runtime->counts.drops++;
		learner->refused_count = 3;
		(void)seam__learner_look(learner);
		cr_expect_not(learner->proven);
		cr_expect_eq(learner->refused_count, 0);
		cr_expect_eq(learner->seen_drops, drops);
		cr_expect_eq(learner->looks.since.events != since.events, drops == 1);
		cr_expect_eq(learner->repeats_from, 0);
	}
	pool->runtime->counts.drops = 0;
	close_pool();
}

Test(learner_look, larger_periods_may_be_planned_longer)
{
	struct seam_learner learner = {.place_ns = 1000, .place_nodes = 50};
	for (uint64_t requests = 0; requests <= 300; requests += 100) {
		for (int deterministic = 0; deterministic < 2; deterministic++) {
			learner.deterministic = deterministic != 0;
			const struct seam_plan_options options =
				seam__learner_limits(&learner, requests, 4000, requests * 10);
			cr_expect_eq(options.time_limit_ns, 1000 + 20000 * requests);
			cr_expect_eq(options.node_limit, deterministic != 0 ? 50 + 100 * requests : 0);
			cr_expect_float_eq(
				options.target_gap, 0.0025 * (requests == 0 ? 1 : 400 / (double)requests), 1e-12);
		}
	}
}

/* A learner whose newest plan has so many bytes. */
struct planned {
	struct seam_learner learner;
	struct seam_loaded_plan loaded;
	struct seam_plan plan;
};

static void set_planned(struct planned *planned, uint64_t bytes)
{
	*planned = (struct planned){.loaded = {.bytes = bytes}};
	planned->learner.loaded = &planned->loaded;
	planned->learner.plan = &planned->plan;
}

/* At a number, or one beside it. */
static uint64_t draw_near(uint64_t *state, uint64_t number)
{
	return number + random_below(state, 3) - (number != 0);
}

Test(learner_look, a_plan_is_small_that_fits_or_needs_hardly_more_than_any)
{
	static const uint64_t rooms[] = {0, 1000, 51200, 51300, 51301, 60000};
	static struct planned planned;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		const uint64_t least_bytes = 51200, room_bytes = rooms[random_below(&state, 6)];
		set_planned(&planned, draw_near(&state, random_below(&state, 2) == 0 ? room_bytes : 51300));
		planned.plan.header.lower_bound_bytes = least_bytes;
		cr_assert_eq(seam__learner_is_small(&planned.learner, room_bytes),
			planned.loaded.bytes <= room_bytes || planned.loaded.bytes <= 51300, "%lu of %lu",
			(unsigned long)planned.loaded.bytes, (unsigned long)room_bytes);
	}
}

/* Nineteen in twenty of what the pool has had at most, what stays included: unless nothing else is to come. */
Test(learner_look, a_plan_of_a_small_part_of_the_program_does_not_serve_most)
{
	static struct planned planned;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		const uint64_t resident_bytes = random_below(&state, 3) * 400;
		set_planned(&planned, draw_near(&state, 1900 - resident_bytes));
		planned.plan.header.resident_bytes = resident_bytes;
		planned.learner.most_bytes = 2000 + random_below(&state, 2) * 99;
		planned.learner.extends = random_below(&state, 4) == 0;
		const bool knows_all = random_below(&state, 4) == 0;
		planned.learner.rhythm.cut_events = knows_all ? 0 : 8;
		cr_assert_eq(seam__learner_serves_most(&planned.learner),
			planned.learner.extends || knows_all || planned.loaded.bytes + resident_bytes >= 1900);
	}
}

/* It may have the chunks that are there, and what the pool may grow by; that is nothing where the pool is as large as
 * it may be, or larger. */
Test(learner_look, a_plan_that_needs_more_than_the_pool_may_have_is_dear)
{
	static const enum seam_rc others[] = {SEAM_INVALID, SEAM_OOM_META, SEAM_OOM_DEVICE, SEAM_NOT_FOUND};
	static struct planned planned;
	uint64_t dear = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		const uint64_t chunks_bytes = 3000 + random_below(&state, 3), most_bytes = 512 * (8 + seed % 4),
			       unlisted_bytes = random_below(&state, 3) * 700;
		const uint64_t engine_bytes = draw_near(&state, most_bytes - random_below(&state, 2) * 900);
		const uint64_t grows_bytes = engine_bytes < most_bytes ? most_bytes - engine_bytes : 0;
		set_planned(&planned, draw_near(&state, chunks_bytes + unlisted_bytes + grows_bytes));
		planned.learner.most_bytes = most_bytes;
		planned.learner.survey.bytes = chunks_bytes;
		planned.learner.survey.engine_bytes = engine_bytes;
		const bool is_dear = planned.loaded.bytes > chunks_bytes + unlisted_bytes + grows_bytes;
		cr_assert_eq(seam__learner_is_dear(&planned.learner, unlisted_bytes, SEAM_OK), is_dear, "seed %lu",
			(unsigned long)seed);
		cr_assert(seam__learner_is_dear(&planned.learner, unlisted_bytes, SEAM_UNSUPPORTED));
		for (size_t i = 0; i < sizeof others / sizeof *others; i++)
			cr_assert_not(seam__learner_is_dear(&planned.learner, unlisted_bytes, others[i]));
		dear += is_dear;
	}
	cr_expect(dear > SEEDS / 5 && dear < SEEDS / 2, "%lu", (unsigned long)dear);
}

/* Once all that stays has been there for a period, at the next moment with few live bytes. */
Test(learner_look, the_arena_of_a_given_plan_is_due_when_what_stays_has_been_there)
{
	static struct seam_runtime runtime;
	static struct seam_engine engine;
	struct seam_loaded_plan loaded = {.slots = PERIOD};
	runtime.engine = &engine;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		const struct seam_given given = {.loaded = &loaded,
			.above_bytes = 10 + random_below(&state, 3),
			.below_bytes = 12 + random_below(&state, 3),
			.from_allocs = 999 + random_below(&state, 3)};
		const uint64_t live_bytes = 9 + random_below(&state, 7);
		runtime.given = given;
		engine.counts.allocs = 1000;
		engine.counts.live_requested_bytes = live_bytes;
		const bool lacks = live_bytes < given.above_bytes;
		cr_assert_eq(seam__given_is_due(&runtime),
			!lacks && live_bytes <= given.below_bytes && given.from_allocs <= 1000, "seed %lu",
			(unsigned long)seed);
		cr_assert_eq(runtime.given.from_allocs, lacks ? 1000 + PERIOD : given.from_allocs);
	}
}
