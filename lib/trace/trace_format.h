/* trace_format.h: between the bytes of a .seamtrace file and a struct seam_trace.
 *
 * A trace in memory is its own file image: one block of metadata memory with header, events and strings in the order
 * of the file. So reading is one copy and a check, and writing needs no encoding.
 *
 * Not here: files (trace_file.h), building (trace_builder.c), T1-T6 (trace_check.c).
 */
#ifndef SEAM_TRACE_FORMAT_H
#define SEAM_TRACE_FORMAT_H

#include <seam/trace.h>

/* A new trace with a zeroed image for so many events and string bytes; its header has magic, version and sizes set.
 * ret_events and ret_strings: where to fill it in; call seam__trace_seal() then. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__trace_create(uint64_t event_count, uint64_t string_bytes,
	struct seam_trace **ret_trace, struct seam_trace_event **ret_events, char **ret_strings);

/* Computes the checksums over what stands in the image now. */
void seam__trace_seal(struct seam_trace *trace, uint32_t source, uint32_t device);

/* The file image, valid as long as the trace. */
const void *seam__trace_image(const struct seam_trace *trace, size_t *ret_bytes);

/* T1-T6 one by one; see seam_trace_check(). Errors: SEAM_OOM_META, SEAM_CORRUPT with ret_broken set. */
SEAM_MUST_USE enum seam_rc seam__trace_verify(
	const struct seam_trace *trace, struct seam_trace_error *error, const char **ret_broken);

#endif
