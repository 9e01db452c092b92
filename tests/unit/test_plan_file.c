/* test_plan_file.c: plans in files: what is read is what was written, and a failure leaves the old file. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "plan_format.h"
#include "plan_sample.h"
#include "trace_sample.h"

static char folder[64];

static void enter(void)
{
	(void)snprintf(folder, sizeof(folder), "plan_file_XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
}

static void leave(void)
{
	(void)unlink("a.plan");
	SEAM_VERIFY(chdir("..") == 0);
	SEAM_VERIFY(rmdir(folder) == 0);
}

TestSuite(plan_file, .init = enter, .fini = leave);

Test(plan_file, reads_what_it_wrote)
{
	struct seam_plan *plan = plan_sample_create();
	struct seam_plan *again;
	size_t bytes;
	size_t again_bytes;
	cr_assert_eq(seam_plan_write_file(plan, "a.plan"), SEAM_OK);
	cr_assert_eq(seam_plan_read_file("a.plan", NULL, &again), SEAM_OK);
	const void *image = seam__plan_image(plan, &bytes);
	const void *image_again = seam__plan_image(again, &again_bytes);
	cr_assert_eq(bytes, again_bytes);
	cr_assert_arr_eq(image, image_again, bytes);
	seam_plan_free(again);
	seam_plan_free(plan);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(plan_file, a_missing_or_foreign_file_is_one_line)
{
	struct seam_plan *plan = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_plan_read_file("a.plan", &error, &plan), SEAM_IO);
	cr_assert_str_eq(error.text, "cannot read: No such file or directory");
	cr_assert_eq(seam_plan_read_file(".", &error, &plan), SEAM_IO);
	cr_assert_eq(seam_plan_read_file("/dev/null", &error, &plan), SEAM_INVALID);
	struct seam_trace *trace = trace_sample_create();
	cr_assert_eq(seam_trace_write_file(trace, "a.plan"), SEAM_OK);
	cr_assert_eq(seam_plan_read_file("a.plan", &error, &plan), SEAM_FORMAT);
	cr_assert_str_eq(error.text, "not a plan: it does not begin with its magic bytes");
	cr_assert_null(plan);
	seam_trace_free(trace);
	cr_assert_eq(seam_plan_read_file(NULL, &error, &plan), SEAM_INVALID);
	cr_assert_eq(seam_plan_read_memory(NULL, 1, &error, &plan), SEAM_INVALID);
	cr_assert_eq(seam_plan_read_memory(NULL, 0, &error, &plan), SEAM_FORMAT);
	cr_assert_eq(seam_plan_write_file(NULL, "a.plan"), SEAM_INVALID);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(plan_file, a_folder_that_is_not_there_loses_nothing)
{
	struct seam_plan *plan = plan_sample_create();
	cr_assert_eq(seam_plan_write_file(plan, "missing/a.plan"), SEAM_IO);
	cr_assert_eq(errno, ENOENT);
	seam_plan_free(plan);
}
