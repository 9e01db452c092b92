/* test_import_csv.c: CSV lifetimes: their order, and each mistake with its line. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import.h"
#include "meta.h"
#include "trace_sample.h"
#include "trace_story.h"

struct good_row {
	const char *name;
	const char *csv;
	const char *story;
};

static const struct good_row good[] = {
	{"one row is a resident", "id,lower,upper,size\na,3,7,100\n", "A1:100r=0"},
	{"frees before allocations", "id,lower,upper,size\na,0,5,1\nb,5,6,2\nc,6,9,3\n",
		"A1:1=0 F1:1=5 A2:2=5 F2:2=6 A3:3=6"},
	{"order of lines at equal times", "id,lower,upper,size\nb,2,4,2\na,2,4,1\nz,9,10,3\n",
		"A1:2=0 A2:1=0 F1:2=2 F2:1=2 A3:3=7"},
	{"residents", "id,lower,upper,size\nw,0,9,5\nx,1,2,6\ny,2,9,7\n", "A1:5r=0 A2:6=1 F2:6=2 A3:7=2"},
	{"several first residents", "id,lower,upper,size\nx,4,5,6\nw,0,9,5\nv,3,9,8\n",
		"A2:5r=0 A3:8r=3 A1:6=4 F1:6=5"},
	{"columns in another order", "stream,size,upper,id,lower\n7,10,2,a,1\n0,3,4,b,3\n",
		"A1:10@7=0 F1:10@7=1 A2:3=2"},
	{"carriage returns, blanks, a byte order mark", "\xef\xbb\xbfid , lower,upper,size\r\n\r\n a b ,0 , 1,4\r\n",
		"A1:4r=0"},
	{"no last newline", "id,lower,upper,size\na,0,1,4", "A1:4r=0"},
	{"largest numbers",
		"id,lower,upper,size,stream\na,9223372036854775806,9223372036854775807,18446744073709551615,9\n",
		"A1:18446744073709551615@9r=0"},
	{"times before 0", "id,lower,upper,size\na,0,2,1\nw,-1,3,2\nx,-5,-1,4\ny,-1,1,8\n",
		"A3:4=0 F3:4=4 A2:2=4 A4:8=4 A1:1=5 F4:8=6 F1:1=7"},
	{"the earliest time and the latest",
		"id,lower,upper,size\na,-9223372036854775808,9223372036854775807,1\nb,0,9223372036854775807,1\n",
		"A1:1r=0 A2:1r=9223372036854775808"},
	{"addresses are not used", "id,lower,upper,size,offset\na,0,2,100,0\nb,2,4,50,18446744073709551615\n",
		"A1:100=0 F1:100=2 A2:50=2"},
	{"all columns", "offset,stream,size,upper,lower,id\n512,7,10,2,1,a\n", "A1:10@7r=0"},
	{"no rows", "id,lower,upper,size\n", ""},
};

Test(import_csv, becomes_events)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct seam_trace *trace;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_csv(good[i].csv, strlen(good[i].csv), &error, &trace);
		cr_assert_eq(rc, SEAM_OK, "%s: %s", good[i].name, error.text);
		char *story = trace_story(trace, true);
		cr_assert_str_eq(story, good[i].story, "%s: %s", good[i].name, story);
		free(story);
		seam_trace_free(trace);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

struct bad_row {
	const char *csv;
	enum seam_rc rc;
	uint64_t line;
	const char *says;
};

#define HEAD "id,lower,upper,size\n"

static const struct bad_row bad[] = {
	{"", SEAM_FORMAT, 0, "no header"},
	{"\n\n", SEAM_FORMAT, 2, "no header"},
	{"id,lower,upper\n", SEAM_FORMAT, 1, "missing: 'size'"},
	{"id,lower,upper,size,size\n", SEAM_FORMAT, 1, "twice: 'size'"},
	{"id,lower,upper,size,alignment\n", SEAM_FORMAT, 1, "'alignment'"},
	{"id,lower,upper,size,stream,offset,more\n", SEAM_FORMAT, 1, "more than six"},
	{"id,lower,upper,size,offset,offset\n", SEAM_FORMAT, 1, "twice: 'offset'"},
	{"id,lower,upper,size,offset\na,0,1,4,-1\n", SEAM_CORRUPT, 2, "'-1'"},
	{"id,lower,upper,size,offset\na,0,1,4\n", SEAM_CORRUPT, 2, "too few"},
	{"1,2,3,4\n", SEAM_FORMAT, 1, "'1'"},
	{HEAD "a,1,2\n", SEAM_CORRUPT, 2, "too few"},
	{HEAD "a,1,2,3,4\n", SEAM_CORRUPT, 2, "too many"},
	{HEAD "a,1,2,3,4,5,6,7,8\n", SEAM_CORRUPT, 2, "too many"},
	{HEAD "a,1,2,3\n\nb,1,1,3\n", SEAM_CORRUPT, 4, "lower is not below upper"},
	{HEAD "a,2,1,3\n", SEAM_CORRUPT, 2, "lower is not below upper"},
	{HEAD "a,0,1,0\n", SEAM_CORRUPT, 2, "the size is 0"},
	{HEAD "a,-1,-1,4\n", SEAM_CORRUPT, 2, "lower is not below upper"},
	{HEAD "a,0,-1,4\n", SEAM_CORRUPT, 2, "lower is not below upper"},
	{HEAD "a,0,1,-4\n", SEAM_CORRUPT, 2, "'-4'"},
	{HEAD "a,-,1,4\n", SEAM_CORRUPT, 2, "empty"},
	{HEAD "a,--1,1,4\n", SEAM_CORRUPT, 2, "'--1'"},
	{HEAD "a,-9223372036854775809,1,4\n", SEAM_CORRUPT, 2, "beyond 64 bits"},
	{HEAD "a,0,9223372036854775808,4\n", SEAM_CORRUPT, 2, "beyond 64 bits"},
	{HEAD "a,0,1.5,4\n", SEAM_CORRUPT, 2, "'1.5'"},
	{HEAD "a,0,0x10,4\n", SEAM_CORRUPT, 2, "'0x10'"},
	{HEAD "a,0,,4\n", SEAM_CORRUPT, 2, "empty"},
	{HEAD "a,0,18446744073709551616,4\n", SEAM_CORRUPT, 2, "beyond 64 bits"},
	{HEAD ",0,1,4\n", SEAM_CORRUPT, 2, "id is empty"},
	{HEAD "\"a\",0,1,4\n", SEAM_CORRUPT, 2, "quotes"},
	{HEAD "a,0,1,4\nb,0,1,4\na,1,2,4\n", SEAM_CORRUPT, 4, "stood before: 'a'"},
};

Test(import_csv, names_the_line_of_a_mistake)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		char line[32];
		enum seam_rc rc = seam__import_csv(bad[i].csv, strlen(bad[i].csv), &error, &trace);
		cr_assert_eq(rc, bad[i].rc, "row %zu: %s, %s", i, seam_rc_name(rc), error.text);
		cr_assert_null(trace);
		(void)snprintf(line, sizeof(line), "line %llu: ", (unsigned long long)bad[i].line);
		cr_assert(strncmp(error.text, line, strlen(line)) == 0, "row %zu: %s", i, error.text);
		cr_assert(strstr(error.text, bad[i].says) != NULL, "row %zu: %s", i, error.text);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(import_csv, every_failed_allocation_is_a_value)
{
	static const char csv[] = HEAD "w,0,9,5\nx,1,2,6\ny,2,9,7\n";
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		struct seam_trace *trace = NULL;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__import_csv(csv, sizeof(csv) - 1, NULL, &trace);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		seam_trace_free(trace);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %llu", (unsigned long long)n);
	}
}
