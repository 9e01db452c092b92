/* test_import_any.c: what a recording is, is told by its content. */
#include <criterion/criterion.h>
#include <string.h>

#include "import.h"
#include "trace_format.h"
#include "trace_sample.h"

struct row {
	const char *name;
	const char *data;
	size_t bytes;
	enum seam_rc rc;
	const char *says;
};

#define TEXT(text) (text), sizeof(text) - 1

static const struct row rows[] = {
	{"csv", TEXT("id,lower,upper,size\na,0,1,4\n"), SEAM_OK, NULL},
	{"a list of protocol 0", TEXT("(lp0\n."), SEAM_OK, NULL},
	{"a list of protocol 2", TEXT("\x80\x02]."), SEAM_OK, NULL},
	{"another pickle", TEXT("\x80\x02K\x01."), SEAM_FORMAT, "no memory snapshot"},
	{"cut magic", TEXT("SEAMTRC"), SEAM_FORMAT, "neither"},
	{"magic alone", TEXT("SEAMTRC\n"), SEAM_CORRUPT, "truncated"},
	{"nothing", TEXT(""), SEAM_FORMAT, "empty"},
	{"a zip", TEXT("PK\003\004....."), SEAM_FORMAT, "zip"},
	{"a gzip", TEXT("\037\213....."), SEAM_FORMAT, "gzip"},
	{"zeros", TEXT("\0\0\0\0,"), SEAM_FORMAT, "neither"},
	{"prose", TEXT("Dear reader\n"), SEAM_FORMAT, "neither"},
	{"other columns", TEXT("Name,Time\n"), SEAM_FORMAT, "'Name'"},
	{"a log of RMM", TEXT("Thread,Time,Action,Pointer,Size,Stream\n"), SEAM_OK, NULL},
	{"not all of its columns", TEXT("Thread,Time,Action\n"), SEAM_FORMAT, "one is missing"},
	{"a log of STAlloc", TEXT("1 0x10 5 0\n0 0x10 5 0\n"), SEAM_OK, NULL},
	{"one that begins with a mark", TEXT("\nIteration Index : 0\n"), SEAM_OK, NULL},
	{"a list of numbers", TEXT("1 2 3\n"), SEAM_FORMAT, "neither"},
};

Test(import_any, knows_its_kinds)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_trace *trace = NULL;
		struct seam_trace_error error = {0};
		enum seam_rc rc = seam__import_any(rows[i].data, rows[i].bytes, SEAM_IMPORT_ANY_DEVICE, &error, &trace);
		cr_assert_eq(rc, rows[i].rc, "%s: %s, %s", rows[i].name, seam_rc_name(rc), error.text);
		cr_assert_eq(trace != NULL, rc == SEAM_OK, "%s", rows[i].name);
		if (rows[i].says != NULL)
			cr_assert(strstr(error.text, rows[i].says) != NULL, "%s: %s", rows[i].name, error.text);
		seam_trace_free(trace);
	}
}

Test(import_any, knows_a_trace)
{
	struct seam_trace *trace = trace_sample_create();
	struct seam_trace *again;
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	cr_assert_eq(seam__import_any(image, bytes, SEAM_IMPORT_ANY_DEVICE, NULL, &again), SEAM_OK);
	cr_assert_eq(again->header.checksum, trace->header.checksum);
	seam_trace_free(again);
	seam_trace_free(trace);
}
