/* trace_text.h: foreign texts made fit for a trace: UTF-8 without control characters.
 *
 * No state, no locks.
 */
#ifndef SEAM_TRACE_TEXT_H
#define SEAM_TRACE_TEXT_H

#include <stddef.h>

#include <seam/trace.h>

#define SEAM_TRACE_TEXT_BYTES 255u /* longer ones are cut, at a character */

/* Interns `text`, which needs no final zero; what is no valid UTF-8, and control characters, become '?'.
 * Errors: those of seam_trace_builder_string(). */
SEAM_MUST_USE enum seam_rc seam__trace_text_intern(
	struct seam_trace_builder *builder, const char *text, size_t bytes, uint32_t *ret_offset);

#endif
