/* progress.h: a bar on standard error that shows how far a long job is; nothing where that is no terminal.
 *
 * It appears only after half a second, so that short jobs stay silent, and is gone at the end. One thread.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	char label[48];
	bool terminal;    /* standard error is one */
	bool drawn;       /* something has to be wiped at the end */
	uint64_t next_ns; /* not to be drawn before */
};

void progress_begin(struct progress *progress, const char *label);

/* A callback: `progress` is a struct progress. total 0: unknown. */
void progress_step(void *progress, uint64_t done, uint64_t total);

void progress_end(struct progress *progress);

#endif
