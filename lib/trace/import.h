/* import.h: foreign recordings of memory use, turned into traces.
 *
 * Not here: compressed files (the tools unpack them); the recordings' own meaning, which stands with each importer.
 * All calls: `data` is only read and may be freed at once; ret_trace is set on success only and freed by
 * seam_trace_free(); `error` (may be NULL) holds one line on failure. Pure and deterministic: the same bytes give the
 * same trace. Thread safe.
 */
#ifndef SEAM_IMPORT_H
#define SEAM_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <seam/trace.h>

#define SEAM_IMPORT_ANY_DEVICE (-1) /* the device with the most entries; the first of equals */

/* A PyTorch CUDA memory snapshot (a pickle) of any era; see import_snapshot.c for what becomes what.
 * device: its index in the snapshot, or SEAM_IMPORT_ANY_DEVICE.
 * Errors: SEAM_FORMAT (no plain pickle, or of something else), SEAM_CORRUPT, SEAM_VERSION (pickle protocol),
 * SEAM_NOT_FOUND (no such device), SEAM_INVALID (too large), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__import_snapshot(
	const void *data, size_t bytes, int device, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* Lifetimes as comma-separated values; see import_csv.c for the rules.
 * Errors: SEAM_FORMAT (no such header), SEAM_CORRUPT (a bad row; the text names the line), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__import_csv(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* RMM's log, comma-separated; see import_rmm.c for the rules.
 * Errors: SEAM_FORMAT (other columns), SEAM_CORRUPT (a bad line, which the text names), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__import_rmm(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* STAlloc's text log; see import_stalloc.c for the rules.
 * Errors: SEAM_CORRUPT (a bad line, which the text names), SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__import_stalloc(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace);

/* Does the first line look like one of such a log? */
bool seam__import_stalloc_is(const void *data, size_t bytes);

/* Any of these or a .seamtrace, told by its content. `device` matters for snapshots only.
 * Errors: those of the one that it is; SEAM_FORMAT where it is none. */
SEAM_MUST_USE enum seam_rc seam__import_any(
	const void *data, size_t bytes, int device, struct seam_trace_error *error, struct seam_trace **ret_trace);

#endif
