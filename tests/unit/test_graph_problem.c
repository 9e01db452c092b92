/* test_graph_problem.c: the placement problem of an operator graph: two items conflict exactly when their tensors are
 * an unsafe pair, so thresholds lose nothing; and what solvers make of it keeps the contiguous constraints. */
#include <criterion/criterion.h>
#include <string.h>

#include "graph_csv.h"
#include "graph_problem.h"
#include "meta_fixture.h"
#include "random_graph.h"
#include "solver.h"

#define NODES_MAX 60u

TestSuite(graph_problem, .init = set_up, .fini = tear_down);

static struct random_graph_wish wish_of(uint64_t seed)
{
	return (struct random_graph_wish){.seed = seed,
		.shape = (uint32_t)seed % RANDOM_GRAPH_SHAPES,
		.nodes = 5 + (uint32_t)(seed * 13 % (NODES_MAX - 5)),
		.tensors = 10 + (uint32_t)(seed * 7 % 60),
		.streams = 1 + (uint32_t)(seed / 4 % 9),
		.contiguous = seed % 2 == 0};
}

Test(graph_problem, items_conflict_exactly_when_tensors_are_unsafe)
{
	static bool reaches[NODES_MAX * NODES_MAX];

	for (uint64_t seed = 0; seed < 150; seed++) {
		struct random_graph_wish wish = wish_of(seed);
		struct seam_graph graph;
		struct seam_problem problem;

		random_graph(&wish, &graph);
		cr_assert_eq(seam__graph_problem(&graph, meta, 1, false, &problem), SEAM_OK);
		naive_reachability(&graph, reaches);
		cr_assert_null(seam__problem_check(&problem), "seed %llu: %s", (unsigned long long)seed,
			seam__problem_check(&problem));
		for (uint32_t i = 0; i < problem.count; i++)
			for (uint32_t j = 0; j < problem.count; j++)
				if (i != j)
					cr_assert_eq(seam__problem_conflict(&problem, i, j),
						naive_unsafe(&graph, reaches, problem.items[i].request,
							problem.items[j].request),
						"seed %llu: t%u and t%u", (unsigned long long)seed,
						problem.items[i].request, problem.items[j].request);
		seam__problem_fini(&problem);
		seam__graph_fini(&graph);
	}
}

/* Tensors of all members of a chain, one behind the other, those of size 0 aside. */
static void expect_contiguous(
	const struct seam_graph *graph, const struct seam_problem *problem, const uint64_t *offsets)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		uint32_t tensor = seam__graph_tensor_at(graph, problem->items[i].request)->next;

		while (tensor != SEAM__GRAPH_NONE && seam__graph_tensor_at(graph, tensor)->size_bytes == 0)
			tensor = seam__graph_tensor_at(graph, tensor)->next;
		for (uint32_t j = 0; tensor != SEAM__GRAPH_NONE && j < problem->count; j++)
			if (problem->items[j].request == tensor)
				cr_expect_eq(offsets[j], offsets[i] + problem->items[i].size_bytes, "t%u behind t%u",
					tensor, problem->items[i].request);
	}
}

Test(graph_problem, solvers_keep_safety_and_contiguous_constraints)
{
	uint32_t bound = 0;

	for (uint64_t seed = 0; seed < 40; seed += 2) {
		struct random_graph_wish wish = wish_of(seed);
		struct seam_graph graph;
		struct seam_problem problem;
		struct seam_placement best;
		struct seam_budget budget;

		random_graph(&wish, &graph);
		cr_assert_eq(seam__graph_problem(&graph, meta, 8, false, &problem), SEAM_OK);
		for (int many = 0; many < 2; many++) {
			seam__budget_init(&budget);
			cr_assert_eq(seam__placement_init(&best, &problem), SEAM_OK);
			cr_assert_eq(seam__solver_run(seam__solver_find(many ? "floor-taw" : "size-first"), &problem,
					     &budget, &best),
				SEAM_OK);
			cr_expect_null(seam__problem_check_placement(&problem, best.offsets, best.peak_bytes));
			cr_expect_geq(best.peak_bytes, problem.lower_bytes);
			expect_contiguous(&graph, &problem, best.offsets);
		}
		bound += (seam__problem_features(&problem) & SEAM__HAS_LINKS) != 0;
		seam__problem_fini(&problem);
		seam__graph_fini(&graph);
	}
	cr_expect_gt(bound, 5, "problems with links");
}

Test(graph_problem, a_link_passes_over_what_has_no_size)
{
	static const char text[] = "node,a,0\ntensor,t,5,a,\ntensor,zero,0,a,\ntensor,u,8,a,\ncontiguous,t;zero;u\n";
	struct seam_graph graph;
	struct seam_problem problem;

	cr_assert_eq(graph_csv_read(text, strlen(text), NULL, &graph), SEAM_OK);
	cr_assert_eq(seam__graph_problem(&graph, meta, 4, false, &problem), SEAM_OK);
	cr_assert_eq(problem.count, 2);
	cr_expect_eq(problem.items[0].next, 1);
	cr_expect_eq(problem.items[1].request, 2);
	cr_expect_eq(problem.items[0].size_bytes, 8);
	cr_expect_eq(problem.items[1].size_bytes, 8);
	cr_expect_eq(problem.lower_bytes, 16);
	seam__problem_fini(&problem);
	seam__graph_fini(&graph);
}

Test(graph_problem, a_failed_allocation_is_reported)
{
	struct random_graph_wish wish = wish_of(8);
	struct seam_graph graph;

	random_graph(&wish, &graph);
	for (uint64_t n = 1;; n++) {
		struct seam_problem problem = {0};

		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__graph_problem(&graph, meta, 1, false, &problem);
		bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_expect_eq(rc, fired ? SEAM_OOM_META : SEAM_OK);
		seam__problem_fini(&problem);
		if (!fired)
			break;
	}
	seam__graph_fini(&graph);
}
