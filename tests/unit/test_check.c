/* test_check.c: a failed check runs the hook and aborts; a good one does nothing. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static char seen[200];

static void remember(const char *expression, const char *file, int line)
{
	(void)snprintf(seen, sizeof(seen), "%s in %s:%d", expression, strrchr(file, '/') + 1, line > 0);
	/* Leaves with a status of its own only if the expression arrived whole: abort() would hide it. */
	if (strcmp(seen, "1 == 2 in test_check.c:1") == 0)
		raise(SIGUSR1);
}

Test(check, verify_passes)
{
	SEAM_VERIFY(1 + 1 == 2);
	SEAM_ASSERT(2 + 2 == 4);
	SEAM_ASSERT_DEEP((const char *)NULL);
	cr_assert(true);
}

Test(check, verify_aborts, .signal = SIGABRT)
{
	seam__check_set_hook(NULL);
	SEAM_VERIFY(1 == 2);
}

Test(check, the_hook_sees_the_expression, .signal = SIGUSR1)
{
	seam__check_set_hook(remember);
	SEAM_VERIFY(1 == 2);
}

Test(check, a_broken_structure_aborts, .signal = SIGABRT)
{
	seam__check_set_hook(NULL);
	seam__check_structure("an invariant", __FILE__, __LINE__);
}

#if SEAM_CHECKS >= 1
Test(check, assert_aborts_in_checked_builds, .signal = SIGABRT)
{
	seam__check_set_hook(NULL);
	SEAM_ASSERT(1 == 2);
}
#else
Test(check, assert_evaluates_nothing_in_other_builds)
{
	int calls = 0;
	SEAM_ASSERT(++calls == 2);
	cr_assert_eq(calls, 0);
}
#endif
