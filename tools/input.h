/* input.h: opens a recording of any kind that Seam reads, compressed or not, as a trace.
 *
 * One thread.
 */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdbool.h>

#include <seam/trace.h>

#include "import.h"
#include "unpack.h"

#define INPUT_ERROR_BYTES 512

/* `path` ("-": standard input) is a .seamtrace, a PyTorch snapshot or CSV lifetimes, told by its content, as it is or
 * in zstd or xz. device: of a snapshot; SEAM_IMPORT_ANY_DEVICE. On failure false, with one line in `error` that begins
 * with the path. On success seam_trace_free(). */
bool input_read(const char *path, int device, char error[INPUT_ERROR_BYTES], struct seam_trace **ret_trace);

/* The same of any device, and a recording without a single allocation is refused too. */
bool input_read_program(const char *path, char error[INPUT_ERROR_BYTES], struct seam_trace **ret_trace);

/* The two halves of it, for who has to look at the content first. Failures as above; on success unpacked_fini(). */
bool input_unpack(const char *path, char error[INPUT_ERROR_BYTES], struct unpacked *ret_unpacked);
bool input_import(const char *path, const struct unpacked *unpacked, int device, char error[INPUT_ERROR_BYTES],
	struct seam_trace **ret_trace);

#endif
