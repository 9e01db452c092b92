/* test_unsafe_pairs.c: unsafe pairs of tensors: the papers' figure, and all three algorithms against reachability. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "graph_csv.h"
#include "meta_fixture.h"
#include "random_graph.h"
#include "unsafe_pairs.h"

#define NODES_MAX 60u

TestSuite(unsafe_pairs, .init = set_up, .fini = tear_down);

static enum seam_rc run(const struct seam_graph *graph, int algorithm, struct seam_pairs *pairs)
{
	return algorithm == 2 ? seam__safety_by_streams(graph, meta, pairs)
			      : seam__safety_by_nodes(graph, meta, algorithm == 1, pairs);
}

static const char *const names[] = {"1", "1_opt", "2"};

/* A graph with everything that SOMAS says of its figure 2: tensors a to i, streams 0 (nodes 1, 3), 1 (2, 4, 5, 6), 2
 * (7, 8). */
Test(unsafe_pairs, the_facts_of_the_papers_figure)
{
	static const char text[] =
		"node,1,0\nnode,2,1\nnode,3,0\nnode,4,1\nnode,5,1\nnode,6,1\nnode,7,2\nnode,8,2\n"
		"tensor,a,1,1,2;3\ntensor,b,1,1,7\ntensor,c,1,2,4\ntensor,d,1,4,5\ntensor,e,1,3,6;7\n"
		"tensor,f,1,4,6\ntensor,g,1,5,8\ntensor,h,1,7,8\ntensor,i,1,6,8\n";
	/* af: node 4 may run before 3. ha: node 7 may run before 2. hX: nothing of stream 1 is an ancestor of 7. */
	static const char *const unsafe[] = {"af", "ha", "be", "if", "hc", "hd", "hf", "hg", "hi"};
	static const char *const safe[] = {"ai", "ic", "id"};
	struct seam_graph graph;
	struct seam_trace_error error = {0};

	cr_assert_eq(graph_csv_read(text, strlen(text), &error, &graph), SEAM_OK, "%s", error.text);
	for (int algorithm = 0; algorithm < 3; algorithm++) {
		struct seam_pairs pairs;

		cr_assert_eq(run(&graph, algorithm, &pairs), SEAM_OK);
		for (size_t p = 0; p < sizeof(unsafe) / sizeof(unsafe[0]); p++)
			cr_expect(
				seam__pairs_has(&pairs, (uint32_t)(unsafe[p][0] - 'a'), (uint32_t)(unsafe[p][1] - 'a')),
				"%s: %s", names[algorithm], unsafe[p]);
		for (size_t p = 0; p < sizeof(safe) / sizeof(safe[0]); p++)
			cr_expect_not(
				seam__pairs_has(&pairs, (uint32_t)(safe[p][0] - 'a'), (uint32_t)(safe[p][1] - 'a')),
				"%s: %s", names[algorithm], safe[p]);
		seam__pairs_fini(&pairs);
	}
	seam__graph_fini(&graph);
}

static void compare(const struct random_graph_wish *wish, uint32_t *safe_pairs)
{
	static bool reaches[NODES_MAX * NODES_MAX];
	struct seam_graph graph;

	random_graph(wish, &graph);
	naive_reachability(&graph, reaches);
	for (int algorithm = 0; algorithm < 3; algorithm++) {
		struct seam_pairs pairs;

		cr_assert_eq(run(&graph, algorithm, &pairs), SEAM_OK);
		cr_assert_null(seam__pairs_check(&pairs));
		for (uint32_t i = 0; i < pairs.count; i++) {
			for (uint32_t j = 0; j < pairs.count; j++) {
				bool expected = i != j && naive_unsafe(&graph, reaches, i, j);

				cr_assert_eq(seam__pairs_has(&pairs, i, j), expected,
					"algorithm %s, seed %llu shape %u, t%u and t%u", names[algorithm],
					(unsigned long long)wish->seed, wish->shape, i, j);
				*safe_pairs += i < j && !expected;
			}
		}
		seam__pairs_fini(&pairs);
	}
	seam__graph_fini(&graph);
}

Test(unsafe_pairs, the_three_algorithms_say_what_reachability_says)
{
	uint32_t safe_pairs = 0;

	for (uint64_t seed = 0; seed < 120; seed++) {
		struct random_graph_wish wish = {.seed = seed,
			.shape = (uint32_t)seed % RANDOM_GRAPH_SHAPES,
			.nodes = 5 + (uint32_t)(seed * 13 % (NODES_MAX - 5)),
			.tensors = (uint32_t)(seed * 11 % 200),
			.streams = 1 + (uint32_t)(seed / 4 % 9)};

		compare(&wish, &safe_pairs);
	}
	cr_expect_gt(safe_pairs, 1000, "the graphs leave something to share");
}

Test(unsafe_pairs, a_stream_of_its_own_for_every_node)
{
	uint32_t safe_pairs = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct random_graph_wish wish = {.seed = seed, .shape = 3, .nodes = 40, .tensors = 50, .streams = 200};

		compare(&wish, &safe_pairs);
	}
	cr_expect_gt(safe_pairs, 100);
}

Test(unsafe_pairs, too_many_tensors_are_refused)
{
	struct seam_graph graph;
	struct seam_pairs pairs = {0};

	seam__graph_init(&graph);
	cr_assert_eq(seam__graph_add_node(&graph, "n", 1, 0), SEAM_OK);
	for (uint32_t t = 0; t <= SEAM__PAIRS_MAX; t++) {
		char name[16];

		cr_assert_eq(seam__graph_add_tensor(&graph, name, (size_t)sprintf(name, "%u", t), 1, "n", 1), SEAM_OK);
	}
	cr_assert_eq(seam__graph_finish(&graph), SEAM_OK);
	for (int algorithm = 0; algorithm < 3; algorithm++)
		cr_expect_eq(run(&graph, algorithm, &pairs), SEAM_UNSUPPORTED);
	seam__graph_fini(&graph);
}

Test(unsafe_pairs, a_failed_allocation_is_reported)
{
	struct random_graph_wish wish = {.seed = 4, .nodes = 20, .tensors = 20, .streams = 3};
	struct seam_graph graph;

	random_graph(&wish, &graph);
	for (int algorithm = 0; algorithm < 3; algorithm++) {
		for (uint64_t n = 1;; n++) {
			struct seam_pairs pairs = {0};

			seam__meta_fail_at(meta, n);
			enum seam_rc rc = run(&graph, algorithm, &pairs);
			bool fired = seam__meta_fail_left(meta) == 0;
			seam__meta_fail_at(meta, 0);
			cr_expect_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "algorithm %s allocation %llu",
				names[algorithm], (unsigned long long)n);
			seam__pairs_fini(&pairs);
			if (!fired)
				break;
		}
	}
	seam__graph_fini(&graph);
}
