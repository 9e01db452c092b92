/* test_learner_shapes.c: which kind of iteration is planned next, and whether plans would serve enough: the rules of
 * learner_shapes.c, at their limits and elsewhere.
 */
#include <criterion/criterion.h>
#include <string.h>

#include <seam/plan.h>

#include "learner_impl.h"
#include "random_problem.h"
#include "trace_program.h"

#define SEEDS 2000u
#define MODELS 6u
#define KINDS 4u

/* Drawn once: traces of programs, and the period of each. */
struct model {
	struct seam_trace *trace;
	uint64_t first, last, peak_bytes, fingerprint;
};

static struct model models[MODELS];

/* Most bytes live behind an event of the period. */
static uint64_t find_peak(const struct seam_trace *trace, uint64_t first, uint64_t last)
{
	uint64_t peak_bytes = 0;
	for (uint64_t i = first; i < last; i++) {
		uint64_t bytes = 0;
		for (uint64_t k = 0; k <= i; k++) {
			const struct seam_trace_event *event = &trace->events[k];
			bytes += event->kind == SEAM_TRACE_ALLOC ? event->size : 0;
			bytes -= event->kind == SEAM_TRACE_FREE ? event->size : 0;
		}
		peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
	}
	return peak_bytes;
}

/* The last two are of one peak. */
static void make_models(void)
{
	static struct program_truth truth;
	for (uint32_t i = 0; i < MODELS; i++) {
		const uint32_t seed = i == MODELS - 1 ? i - 1 : i;
		const struct program_wish wish = {
			.seed = 1 + seed, .slots = 6 + 3 * seed, .iterations = 3, .marks = i != seed};
		struct model *model = &models[i];
		model->trace = trace_program(&wish, &truth);
		model->first = truth.first_event;
		model->last = truth.first_event + truth.iteration_events;
		model->peak_bytes = find_peak(model->trace, model->first, model->last);
		cr_assert_eq(
			seam_plan_fingerprint(model->trace, model->first, model->last, &model->fingerprint), SEAM_OK);
	}
}

static void free_models(void)
{
	for (uint32_t i = 0; i < MODELS; i++)
		seam_trace_free(models[i].trace);
}

TestSuite(learner_shapes, .init = make_models, .fini = free_models);

/* A learner that found kinds, and what they cover. */
struct found {
	struct seam_learner learner;
	uint32_t models[KINDS];
	uint64_t covered[KINDS];
};

/* At the number, or one beside it. */
static uint64_t draw_near(uint64_t *state, uint64_t number)
{
	return number + random_below(state, 3) - (number != 0);
}

static void draw_found(struct found *found, uint64_t *state)
{
	struct seam_learner *learner = &found->learner;
	uint64_t all = 0;
	memset(found, 0, sizeof(*found));
	learner->rhythm.count = 1 + (uint32_t)random_below(state, KINDS);
	for (uint32_t i = 0; i < learner->rhythm.count; i++) {
		const uint32_t number = (uint32_t)random_below(state, MODELS);
		const struct model *model = &models[number];
		struct seam_iteration_kind *kind = &learner->rhythm.kinds[i];
		*kind = (struct seam_iteration_kind){.model = model->trace,
			.first_event = model->first,
			.last_event = model->last,
			.seen = 1 + (uint32_t)random_below(state, 12)};
		found->models[i] = number;
		found->covered[i] = kind->seen * (model->last - model->first);
		all += found->covered[i];
		learner->roomless |= random_below(state, 6) == 0 ? UINT64_C(1) << i : 0;
		learner->tried |= random_below(state, 6) == 0 ? UINT64_C(1) << i : 0;
		if (random_below(state, 6) == 0)
			learner->refused[learner->refused_count++] = model->fingerprint;
	}
	/* What lies behind the last ones means nothing. */
	for (uint32_t i = learner->rhythm.count; i < SEAM__ITERATION_KINDS_MAX; i++)
		learner->rhythm.kinds[i] = (struct seam_iteration_kind){.model = models[0].trace,
			.first_event = models[0].first,
			.last_event = models[0].last,
			.seen = 1000};
	for (uint32_t i = learner->refused_count; i < SEAM_LEARNER_REFUSED; i++)
		learner->refused[i] = models[i % MODELS].fingerprint;
	const uint64_t one = found->covered[random_below(state, learner->rhythm.count)];
	const uint64_t recorded[] = {16 * one, 16 * one + 15, 3 * all, 3 * all + 2, 3 * one, all, 2 * all};
	const uint64_t cut[] = {2 * all, 2 * one, 2 * one + 1, all, all * 8 / 7, one * 8 / 7, one};
	learner->recorded_events = draw_near(state, recorded[random_below(state, 7)]);
	learner->rhythm.cut_events = draw_near(state, cut[random_below(state, 7)]);
	learner->serves = random_below(state, 3) == 0;
}

static bool is_worth_it(const struct found *found, uint32_t i)
{
	return found->covered[i] >= found->learner.recorded_events / 16;
}

/* By all kinds that are worth a plan and have room. */
static uint64_t cover(const struct found *found)
{
	uint64_t events = 0;
	for (uint32_t i = 0; i < found->learner.rhythm.count; i++)
		if (is_worth_it(found, i) && (found->learner.roomless & UINT64_C(1) << i) == 0)
			events += found->covered[i];
	return events;
}

static bool is_refused(const struct found *found, uint32_t i)
{
	bool refused = false;
	for (uint32_t k = 0; k < found->learner.refused_count; k++)
		refused |= found->learner.refused[k] == models[found->models[i]].fingerprint;
	return refused;
}

/* The one with the highest peak, the first of equal ones; KINDS: none. */
static uint32_t choose(const struct found *found)
{
	const struct seam_learner *learner = &found->learner;
	uint32_t chosen = KINDS;
	if (!learner->serves &&
		(cover(found) < learner->recorded_events / 3 || cover(found) < learner->rhythm.cut_events / 2))
		return KINDS;
	for (uint32_t i = 0; i < learner->rhythm.count; i++)
		if (is_worth_it(found, i) && !is_refused(found, i) && (learner->tried & UINT64_C(1) << i) == 0 &&
			(chosen == KINDS ||
				models[found->models[i]].peak_bytes > models[found->models[chosen]].peak_bytes))
			chosen = i;
	return chosen;
}

Test(learner_shapes, the_largest_kind_that_is_worth_a_plan_is_next)
{
	static struct found found;
	uint32_t chosen = 0, none = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t state = seed;
		draw_found(&found, &state);
		struct seam_learner *learner = &found.learner;
		const uint64_t tried = learner->tried;
		const uint32_t wanted = choose(&found), refused = learner->refused_count;
		const bool knows = cover(&found) >= learner->rhythm.cut_events - learner->rhythm.cut_events / 8;
		cr_assert_eq(seam__learner_knows_all(learner), knows, "seed %llu", (unsigned long long)seed);
		cr_assert_eq(seam__learner_choose(learner), wanted != KINDS, "seed %llu", (unsigned long long)seed);
		if (wanted != KINDS) {
			cr_assert_eq(learner->kind, wanted, "seed %llu: %u, not %u", (unsigned long long)seed,
				learner->kind, wanted);
			cr_assert_eq(learner->tried, tried | UINT64_C(1) << wanted);
			cr_assert_eq(learner->refused[refused], models[found.models[wanted]].fingerprint);
		}
		cr_assert_eq(learner->refused_count, refused + (wanted != KINDS));
		chosen += wanted != KINDS;
		none += wanted == KINDS;
	}
	cr_assert(chosen > SEEDS / 5 && none > SEEDS / 5, "%u %u", chosen, none);
}

/* Older ones are forgotten. */
Test(learner_shapes, the_last_ones_that_were_refused_are_known)
{
	static struct found found;
	struct seam_learner *learner = &found.learner;
	memset(&found, 0, sizeof(found));
	learner->serves = true;
	learner->rhythm.count = 1;
	learner->rhythm.kinds[0] = (struct seam_iteration_kind){
		.model = models[0].trace, .first_event = models[0].first, .last_event = models[0].last, .seen = 1};
	for (uint32_t others = 0; others <= 2 * SEAM_LEARNER_REFUSED; others++) {
		learner->refused_count = 0;
		learner->tried = 0;
		cr_assert(seam__learner_choose(learner));
		for (uint32_t i = 0; i < others; i++)
			learner->refused[learner->refused_count++ % SEAM_LEARNER_REFUSED] = 1 + i;
		learner->tried = 0;
		cr_expect_eq(seam__learner_choose(learner), others >= SEAM_LEARNER_REFUSED, "%u others", others);
		memset(learner->refused, 0, sizeof(learner->refused));
	}
}

/* Of any part of a trace. */
Test(learner_shapes, what_is_live_is_measured_behind_each_event)
{
	for (uint32_t i = 0; i < MODELS; i++) {
		const struct model *model = &models[i];
		for (uint64_t first = model->first; first < model->last; first += 5) {
			uint64_t peak_bytes = 0, least_bytes = UINT64_MAX;
			for (uint64_t e = first; e < model->last; e++) {
				const uint64_t bytes = find_peak(model->trace, e, e + 1);
				peak_bytes = bytes > peak_bytes ? bytes : peak_bytes;
				least_bytes = bytes < least_bytes ? bytes : least_bytes;
				const struct seam_live_range range = seam__learner_range(model->trace, first, e + 1);
				cr_assert_eq(range.peak_bytes, peak_bytes);
				cr_assert_eq(range.least_bytes, least_bytes);
			}
		}
	}
}
