/* test_graph_csv.c: operator graphs from text: what the rows mean, and that every error names its line. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "graph_csv.h"
#include "meta.h"
#include "trace_sample.h"

static struct seam_graph graph;
static struct seam_trace_error error;

static void tear_down(void)
{
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(graph_csv, .fini = tear_down);

static enum seam_rc read_text(const char *text)
{
	memset(&error, 0, sizeof(error));
	return graph_csv_read(text, strlen(text), &error, &graph);
}

Test(graph_csv, rows_become_a_graph)
{
	cr_assert_eq(read_text("# a graph\r\n\n contiguous , t2 ; t1\r\narc,one,three\n"
			       "node,one,0\nnode,two,7\nnode,three,7\n"
			       "tensor,t1,1024,one,two;three\ntensor,t2,0,two,"),
		SEAM_OK, "%s", error.text);
	cr_expect_null(seam__graph_check(&graph));
	cr_expect_eq(graph.nodes.count, 3);
	cr_expect_eq(graph.streams.count, 2);
	cr_expect_eq(((const uint64_t *)graph.streams.items)[1], 7);
	const struct seam_graph_tensor *t1 = seam__graph_tensor_at(&graph, 0);
	const struct seam_graph_tensor *t2 = seam__graph_tensor_at(&graph, 1);
	cr_expect_eq(t1->size_bytes, 1024);
	cr_expect_eq(t1->producer, 0);
	cr_expect_eq(t1->consumer_count, 2);
	cr_expect_eq(seam__graph_consumers(&graph, t1)[1], 2);
	cr_expect_eq(t2->next, 0);
	cr_expect(t1->is_next && !t2->is_next);
	cr_expect_eq(graph.arcs.count, 1);
	cr_expect_str_eq(seam__graph_text(t2->name), "t2");
	seam__graph_fini(&graph);
}

struct bad {
	const char *text;
	enum seam_rc rc;
	const char *message;
};

static const struct bad bads[] = {
	{"", SEAM_FORMAT, "no operator graph: its rows begin with node, tensor, arc or contiguous"},
	{"id,lower,upper,size\n", SEAM_FORMAT,
		"no operator graph: its rows begin with node, tensor, arc or contiguous"},
	{"node,a,0\nnodes,b,0\n", SEAM_CORRUPT,
		"line 2: a row begins with node, tensor, arc or contiguous; not 'nodes'"},
	{"node,a,0\nnode,b\n", SEAM_CORRUPT, "line 2: too few fields: 'node,b'"},
	{"node,a,0,1\n", SEAM_CORRUPT, "line 1: too many fields: 'node,a,0,1'"},
	{"node,a,x\n", SEAM_CORRUPT, "line 1: not a whole number of at least 0: 'x'"},
	{"node,a,\n", SEAM_CORRUPT, "line 1: a field is empty"},
	{"node,a,99999999999999999999\n", SEAM_CORRUPT, "line 1: a number beyond 64 bits: '99999999999999999999'"},
	{"node,a,0\nnode,a,1\n", SEAM_CORRUPT, "line 2: this id stood before: 'a'"},
	{"node,,1\n", SEAM_CORRUPT, "line 1: an id is empty"},
	{"node,\"a\",1\n", SEAM_CORRUPT, "line 1: quotes are not read: 'node,\"a\",1'"},
	{"tensor,t,5,a,a\nnode,b,0\n", SEAM_CORRUPT, "line 1: no node has this id: 'a'"},
	{"node,a,0\ntensor,t,5,a,a;c\n", SEAM_CORRUPT, "line 2: no node has this id: 'c'"},
	{"node,a,0\ntensor,t,5,a,a;a\n", SEAM_CORRUPT, "line 2: a consumer stands twice: 'a'"},
	{"node,a,0\ntensor,t,5,a,a;\n", SEAM_CORRUPT, "line 2: no node has this id:"},
	{"node,a,0\n\narc,a,b\n", SEAM_CORRUPT, "line 3: no node has this id: 'b'"},
	{"node,a,0\ncontiguous,t\n", SEAM_CORRUPT, "line 2: no tensor has this id: 't'"},
	{"node,a,0\ntensor,t,5,a,\ncontiguous,t;t\n", SEAM_CORRUPT,
		"line 3: a tensor is in two contiguous constraints, or in one twice: 't'"},
	{"node,a,0\nnode,b,1\narc,a,b\narc,b,a\n", SEAM_CORRUPT,
		"nodes wait for each other in a cycle, by arcs, tensors and the order of streams; one is 'a'"},
};

Test(graph_csv, errors_name_the_line)
{
	for (size_t b = 0; b < sizeof(bads) / sizeof(bads[0]); b++) {
		cr_expect_eq(read_text(bads[b].text), bads[b].rc, "%s", bads[b].text);
		cr_expect_str_eq(error.text, bads[b].message, "%s: %s", bads[b].text, error.text);
	}
}

Test(graph_csv, a_failed_allocation_is_reported)
{
	static const char text[] = "node,a,0\nnode,b,1\ntensor,t,5,a,b\ntensor,u,5,a,b\narc,a,b\ncontiguous,t;u\n";
	uint64_t n = 1;

	for (;; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		enum seam_rc rc = read_text(text);
		bool fired = seam__meta_fail_left(seam__meta_process()) == 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		if (rc == SEAM_OK)
			seam__graph_fini(&graph);
		if (!fired)
			break;
		cr_expect_eq(rc, SEAM_OOM_META, "allocation %llu: %s", (unsigned long long)n, error.text);
		cr_expect_neq(error.text[0], '\0');
	}
	cr_expect_gt(n, 10);
}
