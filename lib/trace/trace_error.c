/* trace_error.c: see trace_error.h. */
#include "trace_error.h"

#include <stdarg.h>
#include <stdio.h>

void seam__trace_error_set(struct seam_trace_error *error, uint64_t offset, const char *format, ...)
{
	if (error == NULL)
		return;
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	/* Names from a foreign file may be quoted in it: keep it one line. */
	for (char *c = error->text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	error->offset = offset;
}

enum seam_rc seam__trace_error_rc(struct seam_trace_error *error, enum seam_rc rc)
{
	seam__trace_error_set(error, 0, "%s", seam_rc_text(rc));
	return rc;
}
