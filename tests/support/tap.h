/* tap.h: the Test Anything Protocol in plain C: for suites that run where there is no test library.
 *
 * One program is one suite. Checks may be made from the main thread only.
 */
#ifndef SEAM_TESTS_TAP_H
#define SEAM_TESTS_TAP_H

#include <stdbool.h>

extern const char *tap_part; /* what the checks at hand belong to; a program sets it */

/* A check; its message is a printf format that says what should be so. Returns whether it is. */
#define ok(condition, ...) tap_check((condition), __FILE__, __LINE__, __VA_ARGS__)
__attribute__((format(printf, 4, 5))) bool tap_check(bool passed, const char *file, int line, const char *format, ...);

/* What nobody has promised: reported, never red. */
__attribute__((format(printf, 2, 3))) void tap_observe(bool expected, const char *format, ...);

__attribute__((format(printf, 1, 2))) void tap_note(const char *format, ...);

/* Prints the plan; returns the program's exit status. */
int tap_end(void);

#endif
