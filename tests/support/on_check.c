/* on_check.c: a failed internal check of the library tells the tester what failed before it aborts, and so does a line
 * of the log that says that there is a bug: metadata that is left is seen without assertions too.
 *
 * The library itself never prints. Linked whole into every test program; the constructor needs no call.
 */
#include <stdio.h>
#include <stdlib.h>

#include <seam/seam.h>

#include "check.h"

static void print_failure(const char *expression, const char *file, int line)
{
	fprintf(stderr, "%s:%d: internal check failed: %s\n", file, line, expression);
}

static void end_at_bug(void *user, enum seam_log_level level, const char *line)
{
	(void)user;
	if (level != SEAM_LOG_ERROR)
		return;
	fprintf(stderr, "%s\n", line);
	abort();
}

__attribute__((constructor)) static void install(void)
{
	seam__check_set_hook(print_failure);
	seam_set_log_callback(end_at_bug, NULL);
}
