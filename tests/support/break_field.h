/* break_field.h: for the tests of validators: each field that an invariant is about is made another one for a moment,
 * and the validator names the invariant. Who includes it defines find_broken(). */
#ifndef SEAM_TESTS_BREAK_FIELD_H
#define SEAM_TESTS_BREAK_FIELD_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What the validator says of what is as it is now: NULL, or the name of an invariant, a colon, and more. */
static const char *find_broken(void);

#define BREAK_NUMBERS 16u
static unsigned broken_times[BREAK_NUMBERS]; /* by the number of the invariant that was named; 0: there was none */

/* invariant: its name; "": nothing is broken. */
static void expect_broken(const char *invariant, const char *what)
{
	const char *broken = find_broken();
	const char *text = broken != NULL ? broken : "";
	const size_t length = strcspn(text, ":");
	cr_assert(length == strlen(invariant) && memcmp(text, invariant, length) == 0, "%s: \"%s\", not \"%s\"", what,
		text, invariant);
	broken_times[length == 0 ? 0 : strtoul(text + 1, NULL, 10) % BREAK_NUMBERS]++;
}

/* The field has the value for a moment. All are evaluated before. */
#define BREAK(field, value, invariant)                          \
	do {                                                    \
		const char *break_name = (invariant);           \
		const __typeof__(field) break_saved = (field);  \
		(field) = (__typeof__(field))(value);           \
		expect_broken(break_name, #field " = " #value); \
		(field) = break_saved;                          \
	} while (0)

#endif
