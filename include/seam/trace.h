/* trace.h: the .seamtrace format and a reader and writer for it.
 *
 * A trace is the list of what a program asked of an allocator, in the order in which it asked: allocations and frees,
 * the edges that order streams, and marks (steps, phases, modules) that say where in the program it was.
 *
 * Not here: replaying (the command `seam replay`), importing other formats, recording inside a pool.
 *
 * The file, little-endian, no padding beyond what is written here:
 *
 *   header    struct seam_trace_header, 64 bytes
 *   events    event_count records of struct seam_trace_event, 56 bytes each, in time order
 *   strings   string_bytes bytes: zero-terminated UTF-8 strings, the first one empty; a string is named by its
 *             byte offset here
 *
 * The checksum is XXH64 (seed 0) of everything behind the header; the header's own fields are covered by
 * header_checksum, XXH64 of its first 56 bytes. A compressed trace (.seamtrace.zst) is this file in one zstd frame;
 * only the tools read it.
 *
 * Invariants of a valid trace, checked by seam_trace_check():
 *   T1  an id is allocated at most once while it is live; it is freed, and recorded on a stream, only while it is live
 *   T2  a free carries the size and the stream of its allocation
 *   T3  times never decrease
 *   T4  every string offset lies inside the string section and begins a string
 *   T5  phases nest, and an event's phase is the innermost open one; a wait names an event that was recorded before
 *   T6  every kind and flag is a known one
 * A trace may end with blocks live and phases open.
 */
#ifndef SEAM_TRACE_H
#define SEAM_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEAM_TRACE_MAGIC "SEAMTRC\n" /* the first 8 bytes of a file */
#define SEAM_TRACE_VERSION 1u

/* kind: what happened. What id, size and aux mean for each kind stands in the table. */
enum seam_trace_kind {
#define SEAM_TRACE_KIND(name, number, text) SEAM_TRACE_##name = number,
#include <seam/trace_kinds.def>
#undef SEAM_TRACE_KIND
};

/* flags of an event, or-ed */
#define SEAM_TRACE_DYNAMIC 0x01u  /* the size depends on data (an expert's load): not to be planned by its size */
#define SEAM_TRACE_RESIDENT 0x02u /* the block was live before recording began; its allocation stands first */
#define SEAM_TRACE_CAPTURE 0x04u  /* made while its stream was capturing */
#define SEAM_TRACE_FLAGS 0x07u    /* all of them */

struct seam_trace_header {
	char magic[8];         /* SEAM_TRACE_MAGIC */
	uint32_t version;      /* SEAM_TRACE_VERSION */
	uint32_t header_bytes; /* 64 */
	uint32_t event_bytes;  /* 56 */
	uint32_t device;       /* ordinal on the recorded machine */
	uint64_t event_count;
	uint64_t string_bytes;    /* at least 1: the empty string */
	uint32_t source;          /* string: what made the trace ("trace_model gpt2 ...", "pytorch snapshot") */
	uint32_t reserved;        /* 0 */
	uint64_t checksum;        /* of events and strings */
	uint64_t header_checksum; /* of the 56 bytes before it */
};

struct seam_trace_event {
	uint8_t kind; /* enum seam_trace_kind */
	uint8_t flags;
	uint16_t phase;      /* 0: none; else 1 + index of the innermost open phase in order of first appearance */
	uint32_t module;     /* string: the module that asked, or 0 */
	uint64_t id;         /* block, event or segment */
	uint64_t size;       /* bytes as requested, or see the kind */
	uint64_t stream;     /* 0: the default stream */
	uint64_t time_ns;    /* since the start of the trace */
	uint32_t thread;     /* small number, 0 for the first thread seen */
	uint32_t microbatch; /* 0: none or the first */
	uint32_t pool;       /* private pool, 0: none */
	uint32_t aux;        /* see the kind */
};

/* A trace in memory. Everything belongs to the trace; read-only for its users; may be shared between threads. */
struct seam_trace {
	struct seam_trace_header header;
	const struct seam_trace_event *events; /* header.event_count of them */
	const char *strings;                   /* header.string_bytes bytes */
};

/* What a reader found wrong, for a person. */
struct seam_trace_error {
	char text[200];  /* one line, no newline; "" when there was no error */
	uint64_t offset; /* byte in the input, or number of the event, as the text says */
};

/* seam_trace_read_file: reads and fully checks the file at `path`.
 * ret_trace: set on success only; free it with seam_trace_free(). error: may be NULL; else filled on failure.
 * Errors: SEAM_IO, SEAM_INVALID (a device, which may have no end), SEAM_FORMAT (not a trace), SEAM_VERSION,
 * SEAM_CORRUPT (truncated, checksum, T1-T6), SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_read_file(
	const char *path, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* The same from memory; `data` is copied and may be freed at once. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_read_memory(
	const void *data, size_t data_bytes, struct seam_trace_error *error, struct seam_trace **ret_trace);

SEAM_API void seam_trace_free(struct seam_trace *trace); /* NULL is allowed */

/* The string at `offset`, "" for 0. NULL if the offset names no string, and for no trace. */
SEAM_API const char *seam_trace_string(const struct seam_trace *trace, uint32_t offset);

/* Checks T1-T6. Returns NULL, or the name of the first broken one with `error` (may be NULL) filled; for no trace, or
 * without memory for the check, a text that says so. O(events). */
SEAM_API const char *seam_trace_check(const struct seam_trace *trace, struct seam_trace_error *error);

/* A trace under construction. One thread at a time. */
struct seam_trace_builder;

/* source: what makes the trace, as in its header; copied. ret_builder: to be destroyed below.
 * Errors: SEAM_OOM_META, SEAM_INVALID (over 4 GiB). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_builder_create(
	const char *source, uint32_t device, struct seam_trace_builder **ret_builder);
SEAM_API void seam_trace_builder_destroy(struct seam_trace_builder *builder); /* NULL is allowed */

/* Interns a string; equal strings give equal offsets. Errors: SEAM_OOM_META, SEAM_INVALID (over 4 GiB in all). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_builder_string(
	struct seam_trace_builder *builder, const char *text, uint32_t *ret_offset);

/* Appends a copy of the event. Nothing is checked but the memory. Errors: SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_builder_add(
	struct seam_trace_builder *builder, const struct seam_trace_event *event);

/* Checks T1-T6 and turns the builder's content into a trace; the builder is empty afterwards, and is unchanged on
 * error. Strings that were interned before stay valid for the next trace. Errors: SEAM_CORRUPT with `error` (may be
 * NULL) filled, SEAM_OOM_META. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_builder_finish(
	struct seam_trace_builder *builder, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* Writes `path` by way of a temporary file beside it that is renamed at the end: an old file is whole until the new one
 * is, and on failure as it was, with nothing beside it. An old file's mode is kept. A symbolic link is followed: the
 * file that it names is replaced, the link stays. All files of Seam, plans, snapshots and recordings alike, are written
 * so, and only regular ones: a pipe may wait for ever for its reader, or end the process by a signal. Errors: SEAM_IO,
 * with errno saying why (EISDIR; ENOTSUP: the path is a pipe, a device or a socket; ENOENT: or a link that leads
 * nowhere; EFBIG: more than the process may write). */
SEAM_API SEAM_MUST_USE enum seam_rc seam_trace_write_file(const struct seam_trace *trace, const char *path);

#ifdef __cplusplus
}
#endif
#endif
