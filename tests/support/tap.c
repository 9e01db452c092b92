/* tap.c: prints TAP; see tap.h. */
#include "tap.h"

#include <stdarg.h>
#include <stdio.h>

const char *tap_part = "";
static unsigned count;
static unsigned failures;

bool tap_check(bool passed, const char *file, int line, const char *format, ...)
{
	va_list arguments;
	count++;
	failures += !passed;
	printf("%sok %u - %s: ", passed ? "" : "not ", count, tap_part);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	if (!passed)
		printf("# failed at %s:%d\n", file, line);
	fflush(stdout);
	return passed;
}

void tap_observe(bool expected, const char *format, ...)
{
	va_list arguments;
	char text[300];
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	count++;
	printf("# observed: %s: %s\n", tap_part, text);
	/* TODO makes a surprise visible without turning the run red; on what was expected it would read as a surprise.
	 */
	printf("%s %u - %s: %s%s\n", expected ? "ok" : "not ok", count, tap_part, text,
		expected ? "" : " # TODO not what was assumed");
	fflush(stdout);
}

void tap_note(const char *format, ...)
{
	va_list arguments;
	printf("# ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
}

int tap_end(void)
{
	printf("1..%u\n", count);
	if (failures != 0)
		printf("# %u of %u failed\n", failures, count);
	fflush(stdout);
	return failures != 0;
}
