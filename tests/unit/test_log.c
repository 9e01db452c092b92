/* test_log.c: which lines reach the sink, and how long ones are cut. */
#include <criterion/criterion.h>
#include <string.h>

#include "log.h"

static char last[SEAM_LOG_LINE_BYTES + 1];
static int lines;

static void sink(void *user, enum seam_log_level level, const char *line)
{
	cr_assert_eq(user, last);
	cr_assert_lt(level, SEAM_LOG_LEVEL_COUNT);
	lines++;
	strcpy(last, line);
}

Test(log, only_urgent_enough_lines_pass)
{
	for (int threshold = 0; threshold < SEAM_LOG_LEVEL_COUNT; threshold++) {
		struct seam_log log = {sink, last, (enum seam_log_level)threshold};
		for (int level = 0; level < SEAM_LOG_LEVEL_COUNT; level++) {
			lines = 0;
			seam__log(&log, (enum seam_log_level)level, "level %d of %s", level, "four");
			cr_assert_eq(lines, level <= threshold, "level %d at threshold %d", level, threshold);
		}
		cr_assert(strncmp(last, "level ", 6) == 0);
	}
}

Test(log, nobody_listens)
{
	struct seam_log silent = {NULL, NULL, SEAM_LOG_DEBUG};
	seam__log(NULL, SEAM_LOG_ERROR, "nothing");
	seam__log(&silent, SEAM_LOG_ERROR, "nothing");
	cr_assert_eq(lines, 0);
}

Test(log, long_lines_are_cut_and_say_so)
{
	struct seam_log log = {sink, last, SEAM_LOG_DEBUG};
	for (int length = SEAM_LOG_LINE_BYTES - 2; length <= SEAM_LOG_LINE_BYTES + 1; length++) {
		seam__log(&log, SEAM_LOG_INFO, "%*d", length, 7);
		size_t got = strlen(last);
		bool fits = length < SEAM_LOG_LINE_BYTES;
		cr_assert_eq(got, fits ? (size_t)length : SEAM_LOG_LINE_BYTES - 1, "a line of %d", length);
		cr_assert_eq(strcmp(last + got - 3, "...") != 0, fits, "a line of %d", length);
	}
}

Test(log, levels_are_named)
{
	cr_assert_str_eq(seam__log_level_name(SEAM_LOG_ERROR), "error");
	cr_assert_str_eq(seam__log_level_name(SEAM_LOG_DEBUG), "debug");
	cr_assert_str_eq(seam__log_level_name(SEAM_LOG_LEVEL_COUNT), "?");
}
