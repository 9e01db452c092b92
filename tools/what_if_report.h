/* what_if_report.h: answers for people, or as JSON (what-if.schema.json).
 *
 * JSON: one array, one object per trace and device, null for what running out of memory made unknowable.
 */
#ifndef TOOLS_WHAT_IF_REPORT_H
#define TOOLS_WHAT_IF_REPORT_H

#include <stddef.h>

#include "text.h"
#include "what_if.h"

/* Errors: SEAM_OOM_META, and those of the text. */
SEAM_MUST_USE enum seam_rc what_if_json(const struct what_if_answer *answers, size_t count, struct seam_text *text);
SEAM_MUST_USE enum seam_rc what_if_text(const struct what_if_answer *answers, size_t count, struct seam_text *text);

#endif
