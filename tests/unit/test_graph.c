/* test_graph.c: building operator graphs: what is refused, the order of nodes, contiguous constraints. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "graph.h"
#include "meta.h"
#include "random_graph.h"
#include "trace_sample.h"

static struct seam_graph graph;

static void set_up(void)
{
	seam__graph_init(&graph);
}

static void tear_down(void)
{
	seam__graph_fini(&graph);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(graph, .init = set_up, .fini = tear_down);

static enum seam_rc node(const char *name, uint64_t stream)
{
	return seam__graph_add_node(&graph, name, strlen(name), stream);
}

static enum seam_rc tensor(const char *name, uint64_t size, const char *from)
{
	return seam__graph_add_tensor(&graph, name, strlen(name), size, from, strlen(from));
}

static enum seam_rc consumer(const char *to)
{
	return seam__graph_add_consumer(&graph, to, strlen(to));
}

static enum seam_rc arc(const char *from, const char *to)
{
	return seam__graph_add_arc(&graph, from, strlen(from), to, strlen(to));
}

static enum seam_rc bind(const char *name)
{
	return seam__graph_bind(&graph, name, strlen(name));
}

#define OK(call) cr_assert_eq(call, SEAM_OK)
#define WRONG(call, text, name)                           \
	do {                                              \
		cr_expect_eq(call, SEAM_CORRUPT);         \
		cr_expect_str_eq(graph.wrong, text);      \
		cr_expect_str_eq(graph.wrong_name, name); \
	} while (0)

Test(graph, what_makes_no_sense_is_refused_by_name)
{
	OK(node("a", 0));
	OK(node("b", 5));
	OK(tensor("t", 8, "a"));
	OK(consumer("b"));
	WRONG(node("a", 1), "this id stood before:", "a");
	WRONG(node("", 1), "an id is empty", "");
	WRONG(tensor("t", 1, "a"), "this id stood before:", "t");
	WRONG(tensor("u", 1, "z"), "no node has this id:", "z");
	WRONG(consumer("b"), "a consumer stands twice:", "b");
	WRONG(consumer("y"), "no node has this id:", "y");
	WRONG(arc("a", "a"), "an arc from a node to itself:", "a");
	WRONG(arc("a", "x"), "no node has this id:", "x");
	WRONG(bind("w"), "no tensor has this id:", "w");
	OK(bind("t"));
	WRONG(bind("t"), "a tensor is in two contiguous constraints, or in one twice:", "t");
	WRONG(tensor("v", SEAM__GRAPH_BYTES_MAX - 7, "a"), "the sizes together exceed 2^60 bytes, at", "v");
}

Test(graph, positions_keep_the_order_of_addition_where_they_can)
{
	OK(node("late", 0));
	OK(node("early", 1));
	OK(node("next", 1));
	OK(arc("early", "late"));
	OK(seam__graph_finish(&graph));
	cr_expect_null(seam__graph_check(&graph));
	cr_expect_eq(seam__graph_node_at(&graph, 0)->position, 1);
	cr_expect_eq(seam__graph_node_at(&graph, 1)->position, 0);
	cr_expect_eq(seam__graph_node_at(&graph, 2)->position, 2);
	cr_expect_eq(seam__graph_node_at(&graph, 2)->order, 2, "in its stream");
}

Test(graph, a_cycle_names_a_node_on_it)
{
	OK(node("a", 0));
	OK(node("b", 1));
	OK(node("c", 2));
	OK(node("behind", 3));
	OK(node("d", 1)); /* after b by its stream */
	OK(arc("d", "c"));
	OK(arc("c", "b"));
	OK(arc("b", "behind"));
	cr_expect_eq(seam__graph_finish(&graph), SEAM_CORRUPT);
	cr_expect(strcmp(graph.wrong_name, "b") == 0 || strcmp(graph.wrong_name, "c") == 0 ||
			strcmp(graph.wrong_name, "d") == 0,
		"%s", graph.wrong_name);
}

Test(graph, a_tensor_nobody_consumes_is_its_producers_workspace)
{
	OK(node("a", 0));
	OK(node("b", 0));
	OK(tensor("t", 8, "a"));
	OK(tensor("u", 8, "a"));
	OK(consumer("a"));
	OK(consumer("b"));
	OK(seam__graph_finish(&graph));
	const struct seam_graph_tensor *t = seam__graph_tensor_at(&graph, 0);
	cr_assert_eq(t->consumer_count, 1);
	cr_expect_eq(seam__graph_consumers(&graph, t)[0], 0);
	cr_expect_eq(seam__graph_tensor_at(&graph, 1)->consumer_count, 2);
	cr_expect_null(seam__graph_check(&graph));
}

Test(graph, checks_name_what_is_broken)
{
	OK(node("a", 0));
	OK(node("b", 0));
	OK(tensor("t", 8, "a"));
	OK(consumer("b"));
	OK(tensor("u", 8, "a"));
	seam__graph_begin_contiguous(&graph);
	OK(bind("t"));
	OK(bind("u"));
	OK(seam__graph_finish(&graph));
	cr_expect_null(seam__graph_check(&graph));
	seam__graph_tensor_at(&graph, 1)->next = 0;
	cr_expect_str_eq(seam__graph_check(&graph), "G2 successor");
	seam__graph_tensor_at(&graph, 0)->is_next = true;
	cr_expect_str_eq(seam__graph_check(&graph), "G2 chain");
	seam__graph_tensor_at(&graph, 0)->is_next = false;
	seam__graph_tensor_at(&graph, 1)->next = SEAM__GRAPH_NONE;
	seam__graph_node_at(&graph, 1)->position = 0;
	cr_expect_str_eq(seam__graph_check(&graph), "G3 edge");
	seam__graph_node_at(&graph, 1)->position = 2;
	cr_expect_str_eq(seam__graph_check(&graph), "G3 position");
	seam__graph_node_at(&graph, 1)->position = 1;
	seam__graph_node_at(&graph, 1)->stream = 7;
	cr_expect_str_eq(seam__graph_check(&graph), "G1 stream");
	seam__graph_node_at(&graph, 1)->stream = 0;
	seam__graph_tensor_at(&graph, 0)->producer = 2;
	cr_expect_str_eq(seam__graph_check(&graph), "G1 tensor");
}

/* Every place where memory may be missing: nothing leaks, and the error says so. */
Test(graph, a_failed_allocation_is_reported)
{
	for (uint64_t n = 1;; n++) {
		enum seam_rc rc = SEAM_OK;
		char name[8] = "n00";

		seam__graph_init(&graph);
		seam__meta_fail_at(seam__meta_process(), n);
		for (int k = 0; rc == SEAM_OK && k < 40; k++) {
			name[1] = (char)('a' + k / 10);
			name[2] = (char)('a' + k % 10);
			rc = node(name, (uint64_t)k % 3);
			if (rc == SEAM_OK)
				rc = tensor(name, 5, name);
			if (rc == SEAM_OK)
				rc = consumer("naa");
			if (rc == SEAM_OK && k > 0)
				rc = arc("naa", name);
		}
		if (rc == SEAM_OK)
			rc = seam__graph_finish(&graph);
		bool fired = seam__meta_fail_left(seam__meta_process()) == 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		seam__graph_fini(&graph);
		if (!fired)
			break;
		cr_expect_eq(rc, SEAM_OOM_META, "allocation %llu: %s", (unsigned long long)n, seam_rc_name(rc));
	}
	seam__graph_init(&graph);
}

Test(graph, random_ones_of_every_shape_hold_their_invariants)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct random_graph_wish wish = {.seed = seed,
			.shape = (uint32_t)seed % RANDOM_GRAPH_SHAPES,
			.nodes = 60,
			.tensors = 80,
			.streams = 1 + (uint32_t)seed % 7,
			.contiguous = true};

		seam__graph_fini(&graph);
		random_graph(&wish, &graph);
		cr_expect_null(seam__graph_check(&graph), "seed %llu", (unsigned long long)seed);
	}
}
