/* test_trace_error.c: one line, whatever was quoted in it, cut to its room. */
#include <criterion/criterion.h>
#include <string.h>

#include "trace_error.h"

Test(trace_error, is_one_line_and_says_where)
{
	struct seam_trace_error error;
	seam__trace_error_set(&error, 42, "column '%s'", "a\nb\x1b[31m");
	cr_assert_str_eq(error.text, "column 'a?b?[31m'");
	cr_assert_eq(error.offset, 42);
}

Test(trace_error, is_cut_to_its_room)
{
	struct seam_trace_error error;
	char text[1000];
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	seam__trace_error_set(&error, 0, "%s", text);
	cr_assert_eq(strlen(error.text), sizeof(error.text) - 1);
}

Test(trace_error, may_be_unwanted)
{
	seam__trace_error_set(NULL, 0, "nobody asks");
	cr_assert_eq(seam__trace_error_rc(NULL, SEAM_OOM_META), SEAM_OOM_META);
	struct seam_trace_error error;
	cr_assert_eq(seam__trace_error_rc(&error, SEAM_INVALID), SEAM_INVALID);
	cr_assert_str_eq(error.text, seam_rc_text(SEAM_INVALID));
}
