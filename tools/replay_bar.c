/* replay_bar.c: see replay_bar.h. */
#include "replay_bar.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"

enum seam_rc replay_shown(const struct seam_trace *trace, const struct replay_options *options, const char *path,
	char *error, struct replay_result *ret_result)
{
	struct progress progress;
	struct replay_options shown = *options;
	char label[48];
	const char *slash = strrchr(path, '/');
	shown.progress = progress_step;
	shown.user = &progress;
	(void)snprintf(
		label, sizeof(label), "%s: %.30s", ref_kind_name(options->allocator), slash != NULL ? slash + 1 : path);
	progress_begin(&progress, label);
	enum seam_rc rc = replay_run(trace, &shown, error, ret_result);
	progress_end(&progress);
	return rc;
}
