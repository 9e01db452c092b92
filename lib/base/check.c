/* check.c: what happens when an internal assertion fails. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>

static seam_check_hook check_hook;

/* Read by debuggers and core dumps, hence not static. */
extern char seam__check_message[256];
char seam__check_message[256];

void seam__check_set_hook(seam_check_hook hook)
{
	check_hook = hook;
}

void seam__check_failed(const char *expression, const char *file, int line)
{
	(void)snprintf(seam__check_message, sizeof(seam__check_message), "%s:%d: %s", file, line, expression);
	if (check_hook != NULL)
		check_hook(expression, file, line);
	abort();
}
