/* trace_file.h: whole files in and out, so that a failure never leaves half a file.
 *
 * Not here: what stands in them. No state, no locks; two writers of one path: one of them wins, whole.
 */
#ifndef SEAM_TRACE_FILE_H
#define SEAM_TRACE_FILE_H

#include <stddef.h>

#include <seam/trace.h>

/* Reads all of `path` (a regular file or a pipe) into metadata memory of the process: ret_data of ret_bytes, to be
 * given back by seam__file_free().
 * Errors: SEAM_IO (errno says why; EFBIG: more than limit_bytes), SEAM_INVALID (a device), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__file_read(const char *path, size_t limit_bytes, void **ret_data, size_t *ret_bytes);

/* The same without a limit, and with `error` (may be NULL) filled on failure. Of a file that does not begin with
 * `magic` only a first piece is read. */
SEAM_MUST_USE enum seam_rc seam__file_read_all(
	const char *path, const char *magic, struct seam_trace_error *error, void **ret_data, size_t *ret_bytes);

void seam__file_free(void *data, size_t bytes); /* NULL is allowed */

/* Replaces `path` by these bytes through a temporary file beside it and a rename, and keeps its mode; on failure the
 * old file is as it was and the temporary one is gone. The one way in which Seam writes files, as
 * seam_trace_write_file() documents it: a link is followed, and only regular files are written. Never waits for another
 * process, and raises no signal. Errors: SEAM_IO (errno says why). */
SEAM_MUST_USE enum seam_rc seam__file_write(const char *path, const void *data, size_t bytes);

#endif
