/* replay_bar.h: a run of a trace, with a bar that shows how far it is (progress.h).
 *
 * One thread.
 */
#ifndef TOOLS_REPLAY_BAR_H
#define TOOLS_REPLAY_BAR_H

#include "replay.h"

/* replay_run() of the trace that was read from `path`; options->progress and options->user are not looked at. */
SEAM_MUST_USE enum seam_rc replay_shown(const struct seam_trace *trace, const struct replay_options *options,
	const char *path, char *error, struct replay_result *ret_result);

#endif
