/* trace_error.h: fills the public struct seam_trace_error.
 *
 * Not here: deciding what is an error. No state, no locks.
 */
#ifndef SEAM_TRACE_ERROR_H
#define SEAM_TRACE_ERROR_H

#include <seam/trace.h>

/* Formats one line into `error` (NULL is allowed: nothing happens) and notes where. Cut to the field's length. */
void seam__trace_error_set(struct seam_trace_error *error, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same for a code whose text says enough; returns the code. */
enum seam_rc seam__trace_error_rc(struct seam_trace_error *error, enum seam_rc rc);

#endif
