/* report.h: the results of replays, as a table for people or as JSON.
 *
 * JSON: one array, one object per trace and allocator, null for what running out of memory made unknowable.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include <stddef.h>

#include "json.h"
#include "replay.h"
#include "table.h"
#include "text.h"

/* A result and the trace that it is of. */
struct report_row {
	const char *trace; /* name as given, not owned */
	struct replay_result result;
};

/* Errors: SEAM_OOM_META, and those of the text. */
SEAM_MUST_USE enum seam_rc report_json(const struct report_row *rows, size_t count, struct seam_text *text);
SEAM_MUST_USE enum seam_rc report_table(const struct report_row *rows, size_t count, struct seam_text *text);

#endif
