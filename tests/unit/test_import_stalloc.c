/* test_import_stalloc.c: STAlloc's log: calls, marks and modules, and each mistake with its line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "meta.h"
#include "trace_sample.h"
#include "trace_story.h"

struct good_row {
	const char *name;
	const char *log;
	const char *story;
};

static const struct good_row good[] = {
	{"calls", "1 0x10 100 0\n1 0x20 50 0x7\n0 0x10 100 0\n0 0x20 50 0x7\n",
		"A1:100=1 A2:50@7=2 F1:100=3 F2:50@7=4"},
	{"iterations",
		"1 0x10 9 0\nIteration Index : 0\n1 0x20 1 0\n0 0x20 1 0\nIteration Index : 1\n1 0x20 1 0\n0 0x20 1 0\nIteration Index : end\n0 0x10 9 0\n",
		"A1:9=1 A2:1=3 F2:1=4 |0:0=5 A3:1=6 F3:1=7 |1:0=8 F1:9=9"},
	{"phases and micro-batches",
		"Iteration Index : 3\nmicro-batch : F\n1 0x10 9 0\nmicro-batch : F\n1 0x20 9 0\nmicro-batch : B\n0 0x10 9 0\nmicro-batch : W\nIteration Index : end\nmicro-batch : F\n",
		"<forward=2 A1:9=3 forward>=4 <forward=4 A2:9#1=5 forward>=6 <backward=6 F1:9=7 backward>=8 <weight backward=8 weight backward>=9 |3:0=9"},
	{"modules",
		"a.0->Linear Layer : F-start\n1 0x10 1 0\na.0.in->Linear Layer : F-start\n1 0x20 1 0\na.0.in->Linear Layer : F-end\na.0->Linear Layer : F-end\n1 0x30 1 0\n",
		"A1:1(a.0)=2 A2:1(a.0.in)=4 A3:1=7"},
	{"an expert layer is dynamic, its shared expert and router are not",
		"l.1.mlp->MoELayer Layer : F-start\n1 0x10 1 0\nl.1.mlp.shared_experts->SharedExpertMLP Layer : F-start\n1 0x20 1 0\n"
		"l.1.mlp.shared_experts->SharedExpertMLP Layer : F-end\nl.1.mlp.router->TopKRouter Layer : F-start\n1 0x30 1 0\nl.1.mlp.router->TopKRouter Layer : F-end\n"
		"l.1.mlp.experts->SequentialMLP Layer : B-start\nx.linear_fc2->RowParallelLinear Layer : B-start\n1 0x40 1 0\nx.linear_fc2->RowParallelLinear Layer : B-end\n"
		"l.1.mlp.experts->SequentialMLP Layer : B-end\nl.1.mlp->MoELayer Layer : F-end\n1 0x50 1 0\n",
		"A1:1d(l.1.mlp)=2 A2:1(l.1.mlp.shared_experts)=4 A3:1(l.1.mlp.router)=7 A4:1d(x.linear_fc2)=11 A5:1=15"},
	{"modules that end out of turn",
		"a->A Layer : B-start\nb->B Layer : B-start\na->A Layer : B-end\n1 0x10 1 0\nb->B Layer : B-end\n1 0x20 1 0\n",
		"A1:1(b)=4 A2:1=6"},
	{"lines that mean nothing here",
		"Iteration Index : 0\ntoken_permutation : F-start\ntoken_dispatcher preprocess: F-end\nIteration Index : end\nmicro-batch : B\nq->Q Layer : F-end\n",
		"|0:0=4"},
	{"live before the log began", "0 0x90 7 0\n1 0x90 8 0\n", "A1:7r=0 F1:7=1 A2:8=2"},
	{"address 0", "1 0 0 0\n0 0 0 0\n1 0x1 1 0\n", "A1:1=3"},
	{"blank lines and carriage returns", "\r\n1 0x1 1 0\r\n\r\n0 0x1 1 0", "A1:1=2 F1:1=4"},
};

Test(import_stalloc, becomes_events)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct seam_trace *trace;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_stalloc(good[i].log, strlen(good[i].log), &error, &trace);
		cr_assert_eq(rc, SEAM_OK, "%s: %s", good[i].name, error.text);
		char *story = trace_story(trace, true);
		cr_expect_str_eq(story, good[i].story, "%s: %s", good[i].name, story);
		free(story);
		seam_trace_free(trace);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

struct bad_row {
	const char *log;
	uint64_t line;
	const char *says;
};

static const struct bad_row bad[] = {
	{"1 0x10 5\n", 1, "too few"},
	{"1 0x10 5 0 0\n", 1, "too many"},
	{"1 here 5 0\n", 1, "'here'"},
	{"1 0x10 -5 0\n", 1, "'-5'"},
	{"1 0x10 5 q\n", 1, "'q'"},
	{"2 0x10 5 0\n", 1, "no line"},
	{"\nprose\n", 2, "'prose'"},
	{"Iteration Index : soon\n", 1, "'soon'"},
	{"micro-batch : X\n", 1, "'X'"},
	{"a->A Layer : F-begin\n", 1, "'F-begin'"},
	{"a Layer : F-start\n", 1, "'a'"},
	{"->A Layer : F-start\n", 1, "'->A'"},
	{"a-> Layer : F-start\n", 1, "'a->'"},
	{"a->A Layers : F-start\n", 1, "'a->A'"},
	{"a->A Layer : F-end\n", 1, "not begun: 'a'"},
	{"1 0x10 5 0\n1 0x10 5 0\n", 2, "not freed since line 1"},
	{"1 0x10 5 0\n0 0x10 6 0\n", 2, "another size"},
	{"1 0x10 5 0\n0 0x10 5 0\n0 0x10 5 0\n", 3, "freed again, as in line 2"},
};

Test(import_stalloc, names_the_line_of_a_mistake)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_stalloc(bad[i].log, strlen(bad[i].log), &error, &trace);
		cr_expect_eq(rc, SEAM_CORRUPT, "%zu: %s", i, error.text);
		cr_expect_null(trace);
		cr_expect_eq(error.offset, bad[i].line, "%zu: %s", i, error.text);
		cr_expect(strstr(error.text, bad[i].says) != NULL, "%zu: %s", i, error.text);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(import_stalloc, refuses_modules_without_end)
{
	static const char line[] = "a->A Layer : F-start\n";
	const size_t bytes = 1001 * (sizeof(line) - 1);
	char *log = malloc(bytes);
	for (size_t i = 0; i < bytes; i++)
		log[i] = line[i % (sizeof(line) - 1)];
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_expect_eq(seam__import_stalloc(log, bytes, &error, &trace), SEAM_CORRUPT);
	cr_expect_eq(error.offset, 1001, "%s", error.text);
	free(log);
}

Test(import_stalloc, no_memory_leaves_nothing)
{
	static const char log[] =
		"0 0x6 1 0\nmicro-batch : F\na->A Layer : F-start\n1 0x5 1 0\n0 0x5 1 0x3\nIteration Index : end\n";
	enum seam_rc rc = SEAM_OOM_META;
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam__import_stalloc(log, sizeof(log) - 1, &error, &trace);
		cr_expect(rc == SEAM_OK || (rc == SEAM_OOM_META && error.text[0] != '\0'), "call %lu: %s",
			(unsigned long)n, seam_rc_name(rc));
		seam_trace_free(trace);
		cr_expect_eq(trace_sample_live_bytes(), 0, "call %lu", (unsigned long)n);
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}

/* Three iterations of two micro-batches, an activation, a temporary of an expert layer and a gradient in each; a weight
 * that stays and a block that goes at the very end. */
Test(import_stalloc, reads_a_whole_log)
{
	char data[8192];
	FILE *file = fopen(FIXTURES "/mem_log_dev0.txt", "rb");
	cr_assert_not_null(file);
	size_t bytes = fread(data, 1, sizeof(data), file);
	(void)fclose(file);
	struct seam_trace *trace;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam__import_any(data, bytes, SEAM_IMPORT_ANY_DEVICE, &error, &trace), SEAM_OK, "%s", error.text);
	unsigned counts[256] = {0};
	unsigned dynamic = 0;
	for (uint64_t e = 0; e < trace->header.event_count; e++) {
		counts[trace->events[e].kind]++;
		dynamic += (trace->events[e].flags & SEAM_TRACE_DYNAMIC) != 0;
	}
	cr_expect_eq(counts[SEAM_TRACE_ALLOC], 2 + 3 * 2 * 3);
	cr_expect_eq(counts[SEAM_TRACE_FREE], 1 + 3 * 2 * 3);
	cr_expect_eq(counts[SEAM_TRACE_STEP], 3);
	cr_expect_eq(counts[SEAM_TRACE_PHASE_BEGIN], 3 * 4);
	cr_expect_eq(counts[SEAM_TRACE_PHASE_END], 3 * 4);
	cr_expect_eq(dynamic, 3 * 2);
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
