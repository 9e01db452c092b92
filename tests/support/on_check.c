/* on_check.c: a failed internal check of the library tells the tester what failed before it aborts.
 *
 * The library itself never prints. Linked whole into every test program; the constructor needs no call.
 */
#include <stdio.h>

#include "check.h"

static void print_failure(const char *expression, const char *file, int line)
{
	fprintf(stderr, "%s:%d: internal check failed: %s\n", file, line, expression);
}

__attribute__((constructor)) static void install(void)
{
	seam__check_set_hook(print_failure);
}
