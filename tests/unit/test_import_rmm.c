/* test_import_rmm.c: RMM's log: what becomes of its lines, and each mistake with its line. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "meta.h"
#include "trace_sample.h"
#include "trace_story.h"

#define HEAD "Thread,Time,Action,Pointer,Size,Stream\n"

struct good_row {
	const char *name;
	const char *log;
	const char *story;
};

static const struct good_row good[] = {
	{"one block", HEAD "9,10:00:00.000001,allocate,0x7f00,100,0x0\n9,10:00:00.000003,free,0x7f00,100,0x0\n",
		"A1:100=0 F1:100=2000"},
	{"pointers without 0x", HEAD "9,10:00:00,allocate,7f00,100,0\n9,10:00:01,free,7f00,100,0\n",
		"A1:100=0 F1:100=1000000000"},
	{"deallocate", HEAD "9,5.5,allocate,0x1,7,2\n9,5.75,deallocate,0x1,7,2\n", "A1:7@2=0 F1:7@2=250000000"},
	{"a colon before the fraction", HEAD "9,00:00:01:000500,allocate,0x1,7,2\n9,00:00:01:000501,free,0x1,7,2\n",
		"A1:7@2=0 F1:7@2=1000"},
	{"an address comes again", HEAD "1,0:0:0,allocate,0x1,7,0\n1,0:0:0,free,0x1,7,0\n1,0:0:0,allocate,0x1,8,0\n",
		"A1:7=0 F1:7=0 A2:8=0"},
	{"threads in order of appearance",
		HEAD "77,0:0:0,allocate,0x1,7,0\n5,0:0:0,free,0x1,7,0\n77,0:0:0,allocate,0x2,7,0\n",
		"A1:7=0 F1:7^1=0 A2:7=0"},
	{"live before the log began", HEAD "1,0:0:1,allocate,0x5,1,0\n1,0:0:2,free,0x9,3,4\n1,0:0:3,free,0x8,2,0\n",
		"A1:3@4r=0 A2:2r=0 A3:1=0 F1:3@4=1000000000 F2:2=2000000000"},
	{"freed on another stream", HEAD "1,0:0:1,allocate,0x5,1,2\n1,0:0:2,free,0x5,1,3\n",
		"A1:1@2=0 U1:1@3=1000000000 F1:1@2=1000000000"},
	{"a failure", HEAD "1,0:0:1,allocate failure,0x0,900,3\n", "OOM0:900@3=0"},
	{"null pointers", HEAD "1,0:0:1,allocate,(nil),0,0\n1,0:0:1,allocate,0x0,0,0\n1,0:0:1,free,nullptr,0,0\n", ""},
	{"midnight passes", HEAD "1,23:59:59,allocate,0x5,1,0\n1,00:00:01,free,0x5,1,0\n", "A1:1=0 F1:1=2000000000"},
	{"a thread that logs late", HEAD "1,0:0:5,allocate,0x5,1,0\n2,0:0:4,free,0x5,1,0\n", "A1:1=0 F1:1^1=0"},
	{"other order of columns", "Stream,Size,Pointer,Action,Time,Thread\n3,7,0x1,allocate,0:0:0,4\n", "A1:7@3=0"},
	{"blank lines, carriage returns, a byte order mark",
		"\xef\xbb\xbf"
		"Thread,Time,Action,Pointer,Size,Stream\r\n\r\n1 , 0:0:0 ,allocate,0x1,7,0\r\n",
		"A1:7=0"},
	{"no rows", HEAD, ""},
};

Test(import_rmm, becomes_events)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct seam_trace *trace;
		struct seam_trace_error error = {0};
		enum seam_rc rc =
			seam__import_any(good[i].log, strlen(good[i].log), SEAM_IMPORT_ANY_DEVICE, &error, &trace);
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
	enum seam_rc rc;
	uint64_t line;
	const char *says;
};

static const struct bad_row bad[] = {
	{"", SEAM_FORMAT, 0, "'"},
	{"Thread,Time,Action,Pointer,Size\n", SEAM_FORMAT, 1, "one is missing"},
	{"Thread,Time,Action,Pointer,Size,Size\n", SEAM_FORMAT, 1, "'Size'"},
	{"Thread,Time,Action,Pointer,Size,Stream,Stream\n", SEAM_FORMAT, 1, "'Stream'"},
	{"Thread,Time,Action,Pointer,Size,Lane\n", SEAM_FORMAT, 1, "'Lane'"},
	{HEAD "1,0:0:0,allocate,0x1,7\n", SEAM_CORRUPT, 2, "too few"},
	{HEAD "1,0:0:0,allocate,0x1,7,0,0\n", SEAM_CORRUPT, 2, "too many"},
	{HEAD "x,0:0:0,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "'x'"},
	{HEAD "1,0:0,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "no time"},
	{HEAD "1,0:0:0:0:0,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "no time"},
	{HEAD "1,0:99:0,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "'99'"},
	{HEAD "1,0:0:0.5x,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "'5x'"},
	{HEAD "1,99999999999999999,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "no time"},
	{HEAD "1,,allocate,0x1,7,0\n", SEAM_CORRUPT, 2, "empty"},
	{HEAD "1,0:0:0,realloc,0x1,7,0\n", SEAM_CORRUPT, 2, "'realloc'"},
	{HEAD "1,0:0:0,allocate,here,7,0\n", SEAM_CORRUPT, 2, "'here'"},
	{HEAD "1,0:0:0,allocate,0x1,-7,0\n", SEAM_CORRUPT, 2, "'-7'"},
	{HEAD "1,0:0:0,allocate,0x1,7,?\n", SEAM_CORRUPT, 2, "'?'"},
	{HEAD "1,0:0:0,allocate,0x1,7,0\n\n1,0:0:0,allocate,0x1,7,0\n", SEAM_CORRUPT, 4,
		"0x1 is allocated again, and not freed since line 2"},
	{HEAD "1,0:0:0,allocate,0x1,7,0\n1,0:0:0,free,0x1,8,0\n", SEAM_CORRUPT, 3,
		"another size than it was allocated with in line 2"},
	{HEAD "1,0:0:0,free,0x1,7,0\n1,0:0:0,free,0x1,7,0\n", SEAM_CORRUPT, 3, "freed again, as in line 2"},
};

Test(import_rmm, names_the_line_of_a_mistake)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_rmm(bad[i].log, strlen(bad[i].log), &error, &trace);
		cr_expect_eq(rc, bad[i].rc, "%zu: %s", i, error.text);
		cr_expect_null(trace);
		cr_expect_eq(error.offset, bad[i].line, "%zu: %s", i, error.text);
		cr_expect(strstr(error.text, bad[i].says) != NULL || bad[i].line == 0, "%zu: %s", i, error.text);
		cr_expect_neq(error.text[0], '\0', "%zu", i);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(import_rmm, no_memory_leaves_nothing)
{
	static const char log[] = HEAD "1,0:0:1,allocate,0x5,1,2\n1,0:0:2,free,0x5,1,3\n2,0:0:2,free,0x6,1,3\n";
	enum seam_rc rc = SEAM_OOM_META;
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam__import_rmm(log, sizeof(log) - 1, &error, &trace);
		cr_expect(rc == SEAM_OK || (rc == SEAM_OOM_META && error.text[0] != '\0'), "call %lu: %s",
			(unsigned long)n, seam_rc_name(rc));
		seam_trace_free(trace);
		cr_expect_eq(trace_sample_live_bytes(), 0, "call %lu", (unsigned long)n);
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}

/* Three blocks, one of them freed on another stream; one failure. */
Test(import_rmm, reads_a_whole_log)
{
	char data[4096];
	FILE *file = fopen(FIXTURES "/rmm.csv", "rb");
	cr_assert_not_null(file);
	size_t bytes = fread(data, 1, sizeof(data), file);
	(void)fclose(file);
	struct seam_trace *trace;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam__import_any(data, bytes, SEAM_IMPORT_ANY_DEVICE, &error, &trace), SEAM_OK, "%s", error.text);
	unsigned counts[256] = {0};
	for (uint64_t e = 0; e < trace->header.event_count; e++)
		counts[trace->events[e].kind]++;
	cr_expect(counts[SEAM_TRACE_ALLOC] == 3 && counts[SEAM_TRACE_FREE] == 3);
	cr_expect(counts[SEAM_TRACE_RECORD_STREAM] == 1 && counts[SEAM_TRACE_OOM] == 1);
	cr_expect_eq(trace->events[trace->header.event_count - 1].time_ns, UINT64_C(12663342000));
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
