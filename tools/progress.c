/* progress.c: see progress.h. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define FIRST_NS 500000000u
#define EVERY_NS 100000000u
#define BAR_WIDTH 30u

void progress_begin(struct progress *progress, const char *label)
{
	const char *terminal = getenv("TERM");
	*progress = (struct progress){0};
	(void)snprintf(progress->label, sizeof(progress->label), "%s", label);
	progress->terminal = isatty(STDERR_FILENO) && (terminal == NULL || strcmp(terminal, "dumb") != 0);
	progress->next_ns = seam__clock_ns() + FIRST_NS;
}

void progress_step(void *user, uint64_t done, uint64_t total)
{
	struct progress *progress = user;
	if (!progress->terminal)
		return;
	const uint64_t now_ns = seam__clock_ns();
	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + EVERY_NS;
	progress->drawn = true;
	if (total == 0) {
		fprintf(stderr, "\r\033[K%s: %llu", progress->label, (unsigned long long)done);
		return;
	}
	const double part = done >= total ? 1.0 : (double)done / (double)total;
	char bar[BAR_WIDTH + 1];
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		bar[i] = (double)i < part * BAR_WIDTH ? '#' : '.';
	bar[BAR_WIDTH] = '\0';
	fprintf(stderr, "\r\033[K%s [%s] %3d %%", progress->label, bar, (int)(part * 100));
}

void progress_end(struct progress *progress)
{
	if (progress->drawn)
		fputs("\r\033[K", stderr);
	progress->drawn = false;
}
