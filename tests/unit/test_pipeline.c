/* test_pipeline.c: the pipeline has an answer to every problem, whatever it has and however soon it must end; the same
 * one twice; and nothing is left when memory fails. */
#include <criterion/criterion.h>
#include <string.h>

#include "pipeline.h"
#include "problem_fixture.h"
#include "random_problem.h"

TestSuite(pipeline, .init = set_up, .fini = tear_down_problem);

static uint64_t run(uint64_t nodes, struct seam_placement *best, struct seam_pipeline_result *ret_result)
{
	struct seam_budget budget;

	seam__budget_init(&budget);
	budget.nodes_left = nodes;
	cr_assert_eq(seam__placement_init(best, &problem), SEAM_OK);
	cr_assert_eq(seam__pipeline_run(&problem, &budget, best, ret_result), SEAM_OK);
	return best->peak_bytes;
}

Test(pipeline, has_an_answer_to_every_problem)
{
	static const uint64_t nodes[] = {0, 100, 300000};

	for (uint64_t seed = 0; seed < 48; seed++) {
		struct random_wish wish = {.seed = seed,
			.count = (uint32_t)(seed % 4) * 12,
			.features = (unsigned)(seed / 3) & SEAM__HAS_ALL};

		random_problem(&wish, meta, &problem);
		for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
			struct seam_placement first;
			struct seam_placement second;
			struct seam_pipeline_result result;
			uint64_t peak = run(nodes[n], &first, &result);
			const char *broken = naive_check_placement(&problem, first.offsets, peak);

			cr_expect_null(broken, "seed %lu, %lu nodes: %s", (unsigned long)seed, (unsigned long)nodes[n],
				broken);
			cr_expect_geq(result.lower_bytes, problem.lower_bytes);
			cr_expect_geq(peak, result.lower_bytes, "seed %lu", (unsigned long)seed);
			cr_expect_eq(
				run(nodes[n], &second, &result), peak, "seed %lu: another answer", (unsigned long)seed);
		}
		seam__problem_fini(&problem);
	}
}

static void note(void *context, const char *solver, uint64_t peak_bytes)
{
	uint64_t *last = context;

	cr_expect_lt(peak_bytes, *last, "%s", solver);
	*last = peak_bytes;
}

Test(pipeline, progress_only_improves_and_ends_at_the_answer)
{
	struct random_wish wish = {.seed = 11, .count = 40, .features = SEAM__HAS_WRAP | SEAM__HAS_HOLDS};
	struct seam_placement best;
	struct seam_pipeline_result result;
	struct seam_budget budget;
	uint64_t last = UINT64_MAX;

	random_problem(&wish, meta, &problem);
	seam__budget_init(&budget);
	budget.nodes_left = 1000000;
	budget.progress = note;
	budget.progress_context = &last;
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_assert_eq(seam__pipeline_run(&problem, &budget, &best, &result), SEAM_OK);
	cr_expect_eq(last, best.peak_bytes);
}

Test(pipeline, streams_that_share_nothing_need_the_sum_of_their_peaks)
{
	struct seam_placement best;
	struct seam_pipeline_result result;

	cr_assert_eq(seam__problem_init(&problem, meta, 4, 8, true, 2, 1), SEAM_OK);
	for (uint32_t i = 0; i < 4; i++) {
		struct seam_item *item = seam__problem_add(&problem, 10 + i, 2 * i, 2);

		item->stream = i % 2;
		problem.holds[2 * i + (1 - i % 2)] = SEAM__HOLD_ALWAYS;
	}
	cr_assert_eq(seam__problem_finish(&problem), SEAM_OK);
	cr_expect_eq(run(UINT64_MAX, &best, &result), 12 + 13);
	cr_expect_eq(result.lower_bytes, 12 + 13);
	cr_expect(result.finished);
}

Test(pipeline, no_memory_leaves_nothing)
{
	struct random_wish wish = {.seed = 3, .count = 12, .features = SEAM__HAS_HOLDS};

	random_problem(&wish, meta, &problem);
	for (uint64_t n = 1; n < 400; n++) {
		struct seam_placement best;
		struct seam_pipeline_result result;
		struct seam_budget budget;

		seam__budget_init(&budget);
		budget.nodes_left = 20000;
		cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__pipeline_run(&problem, &budget, &best, &result);
		bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_expect(rc == SEAM_OK || (fired && rc == SEAM_OOM_META));
		if (best.peak_bytes != SEAM__PEAK_NONE)
			cr_expect_null(naive_check_placement(&problem, best.offsets, best.peak_bytes));
		if (!fired)
			break;
	}
}

Test(pipeline, one_solver_places_every_part_or_says_that_it_cannot)
{
	struct random_wish wish = {.seed = 4, .count = 20};
	struct seam_solver unable = *seam__solver_find("stack");
	struct seam_placement best;
	struct seam_pipeline_result result;
	struct seam_budget budget;
	uint64_t sum = 0;

	random_problem(&wish, meta, &problem);
	for (uint32_t i = 0; i < problem.count; i++)
		sum += problem.items[i].size_bytes;
	seam__budget_init(&budget);
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_expect_eq(seam__pipeline_run_one(&problem, seam__solver_find("stack"), &budget, &best, &result), SEAM_OK);
	cr_expect_leq(best.peak_bytes, sum);
	cr_expect_str_eq(result.solver, "stack");
	seam__problem_fini(&problem);

	wish.features = SEAM__HAS_LINKS;
	random_problem(&wish, meta, &problem);
	unable.can = 0;
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	cr_expect_eq(seam__pipeline_run_one(&problem, &unable, &budget, &best, &result), SEAM_UNSUPPORTED);
	cr_expect_eq(best.peak_bytes, SEAM__PEAK_NONE);
}

/* By all solvers, or by one. */
static uint64_t work_of(const char *solver, uint64_t nodes)
{
	struct seam_pipeline_result result;
	struct seam_placement best;
	struct seam_budget budget;
	uint64_t work_ns = 0;

	seam__budget_init(&budget);
	budget.nodes_left = nodes;
	budget.work_ns = &work_ns;
	cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
	if (solver == NULL)
		cr_assert_eq(seam__pipeline_run(&problem, &budget, &best, &result), SEAM_OK);
	else
		cr_assert_eq(
			seam__pipeline_run_one(&problem, seam__solver_find(solver), &budget, &best, &result), SEAM_OK);
	return work_ns;
}

Test(pipeline, work_is_what_is_done_and_the_same_each_time)
{
	struct random_wish wish = {.seed = 3, .count = 60, .features = SEAM__HAS_WRAP};
	uint64_t quick_ns;

	random_problem(&wish, meta, &problem);
	quick_ns = work_of(NULL, 0);
	cr_expect_gt(quick_ns, 0);
	cr_expect_gt(work_of(NULL, 100000), quick_ns);
	cr_expect_eq(work_of(NULL, 100000), work_of(NULL, 100000));
	cr_expect_gt(work_of("squeaky-wheel", 100000), work_of("squeaky-wheel", 100));
	cr_expect_gt(work_of("exact", 100000), work_of("exact", 100), "what it looks at");
	cr_expect_geq(work_of("peak-core", 100000), work_of("size-first", 100), "with those that it calls");
	seam__problem_fini(&problem);
}
