/* schedule_trace.h: a schedule as a trace: repetitions written out, as if the program had been recorded for longer.
 *
 * Names are lost: modules, phases, and the marks of phases. Ids are new.
 */
#ifndef TOOLS_SCHEDULE_TRACE_H
#define TOOLS_SCHEDULE_TRACE_H

#include "schedule.h"

/* source: what the trace says about where it is from. Errors: SEAM_OOM_META, SEAM_CORRUPT (not a schedule of a valid
 * trace). */
SEAM_MUST_USE enum seam_rc schedule_trace(
	const struct schedule *schedule, const char *source, struct seam_trace **ret_trace);

#endif
