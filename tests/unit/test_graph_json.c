/* test_graph_json.c: operator graphs from JSON: the same graph as from CSV, and errors that name the value. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "graph_csv.h"
#include "graph_input.h"
#include "trace_sample.h"

static struct seam_graph graph;
static struct seam_trace_error error;

static void tear_down(void)
{
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(graph_json, .fini = tear_down);

static enum seam_rc read_text(const char *text)
{
	memset(&error, 0, sizeof(error));
	return graph_json_read(text, strlen(text), &error, &graph);
}

static void expect_equal(const struct seam_graph *a, const struct seam_graph *b)
{
	cr_assert_eq(a->nodes.count, b->nodes.count);
	cr_assert_eq(a->tensors.count, b->tensors.count);
	cr_assert_eq(a->arcs.count, b->arcs.count);
	cr_expect_eq(memcmp(a->sorted.items, b->sorted.items, a->sorted.count * sizeof(uint32_t)), 0);
	cr_expect_eq(memcmp(a->streams.items, b->streams.items, a->streams.count * sizeof(uint64_t)), 0);
	for (uint32_t t = 0; t < a->tensors.count; t++) {
		const struct seam_graph_tensor *left = seam__graph_tensor_at(a, t);
		const struct seam_graph_tensor *right = seam__graph_tensor_at(b, t);

		cr_expect_str_eq(seam__graph_text(left->name), seam__graph_text(right->name));
		cr_expect_eq(left->size_bytes, right->size_bytes);
		cr_expect_eq(left->producer, right->producer);
		cr_expect_eq(left->next, right->next);
		cr_assert_eq(left->consumer_count, right->consumer_count);
		cr_expect_eq(memcmp(seam__graph_consumers(a, left), seam__graph_consumers(b, right),
				     left->consumer_count * sizeof(uint32_t)),
			0);
	}
}

Test(graph_json, it_is_the_same_graph_as_in_csv)
{
	static const char csv[] =
		"node,a,0\nnode,7,3\nnode,c,3\ntensor,t,1024,a,7;c\ntensor,u,0,7,\ntensor,v,5,c,c\narc,a,c\ncontiguous,u;t\n";
	struct seam_graph other;

	cr_assert_eq(
		read_text(
			"{\"nodes\": [{\"id\": \"a\", \"stream\": 0}, {\"id\": 7, \"stream\": 3}, {\"id\": \"c\", \"stream\": 3}],"
			" \"tensors\": [{\"id\": \"t\", \"size\": 1024, \"from\": \"a\", \"to\": [7, \"c\"]},"
			"  {\"id\": \"u\", \"size\": 0, \"from\": 7}, {\"id\": \"v\", \"size\": 5, \"from\": \"c\", \"to\": [\"c\"]}],"
			" \"arcs\": [[\"a\", \"c\"]], \"contiguous\": [[\"u\", \"t\"]]}"),
		SEAM_OK, "%s", error.text);
	cr_assert_eq(graph_csv_read(csv, sizeof(csv) - 1, &error, &other), SEAM_OK, "%s", error.text);
	expect_equal(&graph, &other);
	seam__graph_fini(&other);
	seam__graph_fini(&graph);
}

struct bad {
	const char *text;
	enum seam_rc rc;
	const char *message;
};

#define NODE_A "{\"nodes\": [{\"id\": \"a\", \"stream\": 0}], "

static const struct bad bads[] = {
	{"{\"nodes\": [}", SEAM_FORMAT, "line 1, column 12: unexpected token near '}'"},
	{"[]", SEAM_CORRUPT, "the graph: is no object of nodes, tensors, arcs and contiguous"},
	{"{\"nodes\": [], \"tensors\": [], \"edges\": []}", SEAM_CORRUPT,
		"the graph: is no object of nodes, tensors, arcs and contiguous"},
	{"{\"tensors\": []}", SEAM_CORRUPT, "nodes: is missing"},
	{"{\"nodes\": 5}", SEAM_CORRUPT, "nodes: is no list"},
	{"{\"nodes\": [5]}", SEAM_CORRUPT, "nodes[0]: \"id\" is missing"},
	{"{\"nodes\": [{\"id\": 1.5}]}", SEAM_CORRUPT, "nodes[0]: an id is a string or a whole number"},
	{"{\"nodes\": [{\"id\": 1}]}", SEAM_CORRUPT, "nodes[0]: \"stream\" is no whole number of at least 0"},
	{"{\"nodes\": [{\"id\": 1, \"stream\": -1}]}", SEAM_CORRUPT,
		"nodes[0]: \"stream\" is no whole number of at least 0"},
	{"{\"nodes\": [{\"id\": 1, \"stream\": 1}, {\"id\": \"1\", \"stream\": 1}]}", SEAM_CORRUPT,
		"nodes[1]: this id stood before: '1'"},
	{NODE_A "\"tensors\": [{\"id\": 1, \"size\": 5, \"from\": \"b\"}]}", SEAM_CORRUPT,
		"tensors[0]: no node has this id: 'b'"},
	{NODE_A "\"tensors\": [{\"id\": 1, \"size\": \"5\", \"from\": \"a\"}]}", SEAM_CORRUPT,
		"tensors[0]: \"size\" is no whole number of at least 0"},
	{NODE_A "\"tensors\": [{\"id\": 1, \"size\": 5, \"from\": \"a\", \"to\": \"a\"}]}", SEAM_CORRUPT,
		"tensors[0]: \"to\" is no list"},
	{NODE_A "\"tensors\": [{\"id\": 1, \"size\": 5, \"from\": \"a\", \"to\": [\"a\", \"c\"]}]}", SEAM_CORRUPT,
		"tensors[0]: no node has this id: 'c'"},
	{NODE_A "\"tensors\": [], \"arcs\": [[\"a\"]]}", SEAM_CORRUPT, "arcs[0]: an arc is a list of two nodes"},
	{NODE_A "\"tensors\": [], \"arcs\": [[\"a\", \"a\"]]}", SEAM_CORRUPT,
		"arcs[0]: an arc from a node to itself: 'a'"},
	{NODE_A "\"tensors\": [], \"contiguous\": [1]}", SEAM_CORRUPT,
		"contiguous[0]: a contiguous constraint is a list of tensors"},
	{NODE_A "\"tensors\": [], \"contiguous\": [[], [1]]}", SEAM_CORRUPT,
		"contiguous[1]: no tensor has this id: '1'"},
	{"{\"nodes\": [{\"id\": 1, \"stream\": 1}, {\"id\": 2, \"stream\": 2}], \"tensors\": [], \"arcs\": [[1, 2], [2, 1]]}",
		SEAM_CORRUPT,
		"the graph: nodes wait for each other in a cycle, by arcs, tensors and the order of streams; one is '1'"},
};

Test(graph_json, errors_name_the_value)
{
	for (size_t b = 0; b < sizeof(bads) / sizeof(bads[0]); b++) {
		cr_expect_eq(read_text(bads[b].text), bads[b].rc, "%s", bads[b].text);
		cr_expect_str_eq(error.text, bads[b].message, "%s: %s", bads[b].text, error.text);
	}
}

Test(graph_json, what_is_meant_as_a_graph_is_known_by_its_beginning)
{
	cr_expect(graph_input_is(" \n{", 3));
	cr_expect(graph_input_is("# x\nnode,a,0", 12));
	cr_expect(graph_input_is("arc,", 4));
	cr_expect_not(graph_input_is("id,lower,upper,size\n", 20));
	cr_expect_not(graph_input_is("\x80\x02{", 3));
	cr_expect_not(graph_input_is("", 0));
	cr_expect_not(graph_input_is("[", 1));
}

Test(graph_json, a_file_is_read_by_its_content)
{
	char path[] = "/tmp/graph_jsonXXXXXX";
	char why[INPUT_ERROR_BYTES];
	int file = mkstemp(path);
	FILE *stream = fdopen(file, "w");

	cr_assert_not_null(stream);
	fputs("{\"nodes\": [{\"id\": 1, \"stream\": 1}], \"tensors\": []}", stream);
	fclose(stream);
	cr_expect(graph_input_is_file(path));
	cr_assert(graph_input_read(path, why, &graph), "%s", why);
	cr_expect_eq(graph.nodes.count, 1);
	seam__graph_fini(&graph);
	stream = fopen(path, "w");
	cr_assert_not_null(stream);
	fputs("node,a,0\nnode,b\n", stream);
	fclose(stream);
	cr_expect_not(graph_input_read(path, why, &graph));
	cr_expect_not_null(strstr(why, ": line 2: too few fields: 'node,b'"), "%s", why);
	remove(path);
	cr_expect_not(graph_input_is_file(path));
	cr_expect_not(graph_input_read(path, why, &graph));
}
