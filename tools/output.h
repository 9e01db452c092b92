/* output.h: writes a trace in the form that a file's name asks for. An old file is whole until the new one is.
 *
 * One thread.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>

#include <seam/trace.h>

#define OUTPUT_ERROR_BYTES 512

/* By the end of `path`: .seamtrace as it is; .seamtrace.zst in one zstd frame; .csv the lifetimes id,lower,upper,size,
 * stream, with the events' numbers as times. On failure false, with one line in `error`. */
bool output_write(const struct seam_trace *trace, const char *path, char error[OUTPUT_ERROR_BYTES]);

/* Whether the name has one of these ends. */
bool output_knows(const char *path);

#endif
