/* test_log.c: which lines reach the callback, and how long ones are cut. */
#include <criterion/criterion.h>
#include <string.h>

#include "log.h"

static char last[SEAM_LOG_LINE_BYTES + 1];
static enum seam_log_level last_level;
static int lines;

static void note(void *user, enum seam_log_level level, const char *line)
{
	cr_assert_eq(user, last);
	lines++;
	last_level = level;
	strcpy(last, line);
}

Test(log, lines_arrive_formatted_with_their_level)
{
	seam_set_log_callback(note, last);
	static const enum seam_log_level levels[] = {SEAM_LOG_ERROR, SEAM_LOG_WARNING, SEAM_LOG_INFO, SEAM_LOG_DEBUG};
	for (int i = 0; i < 4; i++) {
		seam__log(levels[i], "line %d of %s", i, "four");
		cr_assert_eq(lines, i + 1);
		cr_assert_eq(last_level, levels[i], "line %d", i);
	}
	cr_assert_str_eq(last, "line 3 of four");
}

Test(log, nobody_listens_after_removal)
{
	seam_set_log_callback(NULL, NULL); /* the tests' own (on_check.c) */
	seam__log(SEAM_LOG_ERROR, "nothing");
	seam_set_log_callback(note, last);
	seam_set_log_callback(NULL, NULL);
	seam__log(SEAM_LOG_ERROR, "nothing");
	cr_assert_eq(lines, 0);
}

Test(log, long_lines_are_cut_and_say_so)
{
	seam_set_log_callback(note, last);
	for (int length = SEAM_LOG_LINE_BYTES - 2; length <= SEAM_LOG_LINE_BYTES + 1; length++) {
		seam__log(SEAM_LOG_INFO, "%*d", length, 7);
		size_t got = strlen(last);
		bool fits = length < SEAM_LOG_LINE_BYTES;
		cr_assert_eq(got, fits ? (size_t)length : SEAM_LOG_LINE_BYTES - 1, "a line of %d", length);
		cr_assert_eq(strcmp(last + got - 3, "...") != 0, fits, "a line of %d", length);
	}
}
