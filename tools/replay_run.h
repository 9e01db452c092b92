/* replay_run.h: a run while it goes on: what its parts share.
 *
 * Not here: the figures (replay.h).
 */
#ifndef TOOLS_REPLAY_RUN_H
#define TOOLS_REPLAY_RUN_H

#include "call_time.h"
#include "content.h"
#include "replay.h"
#include "samples.h"
#include "schedule.h"

struct plan_driver;

/* A block of the schedule while it is live. */
struct live {
	uint64_t va; /* 0: not live */
	uint64_t bytes;
	uint32_t stream; /* index */
};

struct run {
	const struct replay_options *options;
	struct schedule schedule;
	struct device device;
	struct ref_allocator *allocator;
	struct content content;
	bool verifies;
	struct live *live;         /* per block */
	uint64_t live_bytes;       /* of those that live, as requested */
	uint64_t *streams;         /* driver handles */
	uint32_t streams_made;     /* streams[1 .. streams_made) are ours */
	struct seam_event *events; /* id 0: not created yet */
	struct samples allocs;
	struct samples frees;
	struct seam_clock clock;
	struct call_time calls;          /* of the allocator */
	double calls_mark_ns;            /* at the begin of the iteration */
	struct device_counts mark;       /* at the begin of the iteration */
	uint64_t step_calls;             /* memory calls up to the newest mark of a step */
	struct plan_driver *plan_driver; /* NULL: no plan */
	bool oom;
	struct replay_result *result;
	char *error;
};

/* Writes the line for a person, and returns rc. */
__attribute__((format(printf, 3, 4))) enum seam_rc run_fail(
	const struct run *run, enum seam_rc rc, const char *format, ...);

/* The same with the driver's own word, if it was the driver. */
enum seam_rc run_failed_call(const struct run *run, enum seam_rc rc, const char *what);

/* One operation. Out of memory is run->oom. Errors: those of replay_run(). */
SEAM_MUST_USE enum seam_rc run_op(struct run *run, const struct schedule_op *op);

/* Frees the block if it lives. */
SEAM_MUST_USE enum seam_rc run_free_left(struct run *run, uint32_t block);

#endif
