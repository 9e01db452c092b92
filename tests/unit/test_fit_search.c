/* test_fit_search.c: what searches find: against all recipes of small problems, and by rules for any. */
#include "fit_fixture.h"

#include <string.h>

TestSuite(fit_search, .fini = tear_down);

static struct fit_draw draw;

static struct seam_fit_front *search(const struct seam_fit_problem *problem, uint64_t work_limit, uint32_t exact)
{
	struct seam_fit_options options = {sizeof(options), work_limit, exact};
	struct seam_fit_front *front;
	cr_assert_eq(seam_fit_search(problem, &options, &front), SEAM_OK);
	return front;
}

/* Time of the answer; UINT64_MAX: nothing fits. */
static uint64_t answer(const struct seam_fit_front *front)
{
	return front->count == 0 ? UINT64_MAX : front->points[front->count - 1].prediction.ns;
}

static uint64_t answer_of(const struct seam_fit_problem *problem, uint64_t work_limit, uint32_t exact)
{
	struct seam_fit_front *front = search(problem, work_limit, exact);
	uint64_t ns = answer(front);
	seam_fit_front_free(front);
	return ns;
}

Test(fit_search, with_room_the_program_stays_as_it_is)
{
	struct seam_fit_problem problem = small_problem();
	struct seam_fit_front *front = search(&problem, 0, 0);
	cr_assert_gt(front->count, 1);
	const struct seam_fit_point *last = &front->points[front->count - 1];
	/* A chunk on the host is stepped while the next iteration computes: 10 less on the device. */
	cr_expect_leq(last->prediction.ns, 670);
	cr_expect_eq(last->prediction.recompute_ns, 0);
	cr_expect(front->complete);
	seam_fit_front_free(front);
}

/* By the public functions alone. */
static uint64_t best_of_all(const struct seam_fit_problem *problem, bool any_chunks)
{
	uint8_t treatments[8] = {0}, comes[8];
	uint64_t best_ns = UINT64_MAX;
	uint32_t all = 1u << 2 * problem->block_count, sets = 1u << problem->chunk_count;
	for (uint32_t i = 0; i < all * sets; i++) {
		uint32_t came = 0;
		for (uint32_t j = 0; j < problem->block_count; j++)
			treatments[j] = (uint8_t)(i % all >> 2 * j & 3);
		bool is_allowed = true, is_prefix = true;
		for (uint32_t j = 0; j < problem->chunk_count; j++) {
			comes[j] = i / all >> j & 1;
			is_allowed = is_allowed && !(comes[j] && problem->chunks[j].must_stay);
			is_prefix = is_prefix && (comes[j] || came == 0 || problem->chunks[j].must_stay);
			came += comes[j];
		}
		if (!is_allowed || (!is_prefix && !any_chunks))
			continue;
		for (uint32_t buffers = 1; buffers <= (came > 0 ? came : 1); buffers++)
			for (uint32_t ahead = 1; ahead <= 4; ahead++) {
				struct seam_fit_recipe recipe = {treatments, comes, buffers, ahead};
				struct seam_fit_schedule *schedule;
				struct seam_fit_prediction prediction;
				if (seam_fit_schedule(problem, &recipe, &schedule) != SEAM_OK)
					continue;
				cr_assert_eq(seam_fit_simulate(problem, schedule, NULL, &prediction), SEAM_OK);
				if (prediction.peak_bytes <= problem->budget_bytes && prediction.ns < best_ns)
					best_ns = prediction.ns;
				seam_fit_schedule_free(schedule);
			}
	}
	return best_ns;
}

Test(fit_search, nothing_is_faster_than_the_exact_answer, .timeout = 110)
{
	uint32_t fit = 0, optimal = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		fit_draw(seed, 1 + (uint32_t)(seed % 2), &draw);
		uint64_t best_ns = best_of_all(&draw.problem, false);
		uint64_t exact_ns = answer_of(&draw.problem, UINT64_MAX, 1);
		uint64_t found_ns = answer_of(&draw.problem, 0, 0);
		cr_expect_eq(
			exact_ns, best_ns, "seed %zu: %zu, not %zu", (size_t)seed, (size_t)exact_ns, (size_t)best_ns);
		cr_expect((found_ns == UINT64_MAX) == (best_ns == UINT64_MAX), "seed %zu", (size_t)seed);
		fit += best_ns != UINT64_MAX;
		optimal += best_ns != UINT64_MAX && found_ns == best_ns;
	}
	cr_expect_gt(fit, 20);
	cr_expect_geq(optimal * 100, fit * 95);
}

static void check_front(const struct seam_fit_problem *problem, const struct seam_fit_front *front, uint64_t seed)
{
	for (size_t i = 0; i < front->count; i++) {
		const struct seam_fit_point *point = &front->points[i];
		struct seam_fit_schedule *schedule;
		struct seam_fit_prediction again;
		cr_assert_eq(seam_fit_schedule(problem, &point->recipe, &schedule), SEAM_OK);
		const char *broken = seam_fit_check(problem, &point->recipe, schedule);
		cr_assert_null(broken, "seed %zu: %s", (size_t)seed, broken);
		cr_assert_eq(seam_fit_simulate(problem, schedule, NULL, &again), SEAM_OK);
		cr_assert_arr_eq(&again, &point->prediction, sizeof(again));
		cr_assert_leq(schedule->peak_bytes, problem->budget_bytes);
		cr_assert(problem->host_budget_bytes == 0 || schedule->host_bytes <= problem->host_budget_bytes);
		if (i > 0) {
			cr_assert_lt(again.ns, point[-1].prediction.ns);
			cr_assert_gt(again.peak_bytes, point[-1].prediction.peak_bytes);
		}
		seam_fit_schedule_free(schedule);
	}
}

Test(fit_search, every_result_is_a_schedule_that_fits, .timeout = 110)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t state = seed;
		fit_draw(seed, program_between(&state, 1, 16), &draw);
		if (program_chance(&state, 50))
			draw.problem.host_budget_bytes = (uint64_t)program_between(&state, 1, 60) << 30;
		struct seam_fit_front *front = search(&draw.problem, 50000, 0);
		check_front(&draw.problem, front, seed);
		seam_fit_front_free(front);
	}
}

Test(fit_search, time_never_rises_as_the_budget_grows, .timeout = 110)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t state = seed;
		fit_draw(seed, program_between(&state, 1, 24), &draw);
		uint64_t most = 2 * draw.problem.budget_bytes, last_ns = UINT64_MAX;
		for (uint64_t i = 1; i <= 10; i++) {
			draw.problem.budget_bytes = most / 10 * i;
			uint64_t ns = answer_of(&draw.problem, 30000, 0);
			cr_expect_leq(ns, last_ns, "seed %zu, %zu tenths", (size_t)seed, (size_t)i);
			last_ns = ns;
		}
	}
}

Test(fit_search, the_least_bytes_are_enough)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		fit_draw(seed, 5, &draw);
		draw.problem.budget_bytes = 0;
		struct seam_fit_front *front = search(&draw.problem, 50000, 0);
		cr_assert_eq(front->count, 0);
		cr_assert_lt(front->least_bytes, UINT64_MAX);
		draw.problem.budget_bytes = front->least_bytes;
		seam_fit_front_free(front);
		cr_expect_neq(answer_of(&draw.problem, 50000, 0), UINT64_MAX);
		draw.problem.budget_bytes--;
		cr_expect_eq(answer_of(&draw.problem, 50000, 0), UINT64_MAX);
	}
}

Test(fit_search, the_same_is_found_again)
{
	fit_draw(3, 40, &draw);
	draw.problem.budget_bytes = UINT64_MAX;
	struct seam_fit_front *one = search(&draw.problem, 300000, 0), *other = search(&draw.problem, 300000, 0);
	cr_assert_eq(one->count, other->count);
	for (size_t i = 0; i < one->count; i++) {
		cr_expect_arr_eq(one->points[i].recipe.treatments, other->points[i].recipe.treatments, 40);
		cr_expect_arr_eq(
			&one->points[i].prediction, &other->points[i].prediction, sizeof(struct seam_fit_prediction));
	}
	cr_expect_not(one->complete);
	cr_expect_geq(one->work, 300000);
	cr_expect_leq(one->work, 310000, "one recipe beyond the limit");
	seam_fit_front_free(one);
	seam_fit_front_free(other);
}

Test(fit_search, a_program_without_blocks_or_chunks_has_one_recipe)
{
	const struct seam_fit_visit visit = HEAD;
	struct seam_fit_problem problem = small_problem();
	problem.visits = &visit;
	problem.visit_count = 1;
	problem.block_count = problem.chunk_count = 0;
	problem.blocks = NULL;
	problem.chunks = NULL;
	for (uint32_t exact = 0; exact < 2; exact++) {
		struct seam_fit_front *front = search(&problem, 0, exact);
		cr_assert_eq(front->count, 1);
		cr_expect_eq(front->points[0].prediction.ns, 50);
		cr_expect_eq(front->points[0].prediction.peak_bytes, 5);
		seam_fit_front_free(front);
	}
}

Test(fit_search, what_is_not_proven_is_not_exact)
{
	struct seam_fit_options options = {sizeof(options), 1000, 1};
	struct seam_fit_front *front = NULL;
	fit_draw(2, 30, &draw);
	draw.problem.budget_bytes = UINT64_MAX;
	cr_expect_eq(seam_fit_search(&draw.problem, &options, &front), SEAM_UNSUPPORTED);
	options.struct_bytes--;
	cr_expect_eq(seam_fit_search(&draw.problem, &options, &front), SEAM_INVALID);
	draw.problem.micro_batches = 0;
	cr_expect_eq(seam_fit_search(&draw.problem, NULL, &front), SEAM_INVALID);
	cr_expect_null(front);
}

Test(fit_search, without_memory_nothing_is_found, .timeout = 110)
{
	struct seam_fit_problem problem = small_problem();
	for (uint32_t exact = 0; exact < 2; exact++) {
		struct seam_fit_options options = {sizeof(options), 0, exact};
		enum seam_rc rc = SEAM_OOM_META;
		uint64_t n;
		for (n = 1; rc == SEAM_OOM_META; n++) {
			struct seam_fit_front *front = NULL;
			seam__meta_fail_at(seam__meta_process(), n);
			rc = seam_fit_search(&problem, &options, &front);
			cr_expect((rc == SEAM_OK) == (front != NULL));
			seam_fit_front_free(front);
		}
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect_eq(rc, SEAM_OK);
		cr_expect_gt(n, 20);
	}
}
