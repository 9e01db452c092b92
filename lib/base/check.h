/* check.h: assertions of the library's own invariants.
 *
 * Not here: validation of what a user passes; that returns SEAM_INVALID.
 * A check that fails means corrupted state: the process aborts, after the hook (if any) has run. The library itself
 * never prints; a core dump finds the failed expression in seam__check_message.
 *
 * SEAM_VERIFY       in every build
 * SEAM_ASSERT       where SEAM_CHECKS >= 1 (debug builds)
 * SEAM_ASSERT_DEEP  where SEAM_CHECKS >= 2: whole structures, for an expression that is an x_check() call: it names the
 *                   broken invariant, or is NULL
 */
#ifndef SEAM_BASE_CHECK_H
#define SEAM_BASE_CHECK_H

#include <stddef.h>

#ifndef SEAM_CHECKS
#define SEAM_CHECKS 0
#endif

typedef void (*seam_check_hook)(const char *expression, const char *file, int line);

/* Called on a failed check before the abort. NULL removes it. Set it before threads start. */
void seam__check_set_hook(seam_check_hook hook);

/* Never returns (unless the hook leaves by longjmp, as a test may). */
__attribute__((noreturn, cold)) void seam__check_failed(const char *expression, const char *file, int line);

/* Aborts with the invariant's name unless `broken` is NULL. */
static inline void seam__check_structure(const char *broken, const char *file, int line)
{
	if (__builtin_expect(broken != NULL, 0))
		seam__check_failed(broken, file, line);
}

#define SEAM_VERIFY(expression) \
	(__builtin_expect(!(expression), 0) ? seam__check_failed(#expression, __FILE__, __LINE__) : (void)0)

#if SEAM_CHECKS >= 1
#define SEAM_ASSERT(expression) SEAM_VERIFY(expression)
#else
#define SEAM_ASSERT(expression) ((void)sizeof(!(expression)))
#endif

#if SEAM_CHECKS >= 2
#define SEAM_ASSERT_DEEP(check_call) seam__check_structure((check_call), __FILE__, __LINE__)
#else
#define SEAM_ASSERT_DEEP(check_call) ((void)sizeof(check_call))
#endif

#endif
