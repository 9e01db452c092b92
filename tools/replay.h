/* replay.h: runs a trace through an allocator on a device, and measures.
 *
 * Not here: the command line (cmd_replay.c), output (report.h), what is repeated (stretch.h).
 *
 * What the figures mean:
 *   - a run stops at the first allocation that fails for want of memory; what can then not be known is marked so;
 *   - peak_reserved_bytes is the allocator's own account of what it took from the driver, at its highest;
 *   - times are of the allocator's call alone, and include what the emulator itself costs where the driver is called;
 *   - driver calls and their time leave out what the tool does itself (streams, events of the trace, contents);
 *   - the last iteration is the last repetition of the stretch.
 */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/plan.h>
#include <seam/seam.h>
#include <seam/trace.h>

#include "allocator.h"
#include "device.h"
#include "misses.h"
#include "perturb.h"
#include "planned.h"

#define REPLAY_ERROR_BYTES 320

#define REPLAY_SHOWN 64u /* iterations whose calls are kept one by one */

enum replay_planning { REPLAY_PLAN_NONE, REPLAY_PLAN_AUTO, REPLAY_PLAN_FILE };

struct replay_options {
	enum ref_kind allocator;
	enum device_kind device;
	enum device_memory memory;
	bool pages_only;           /* of contents, even where all would fit: see content.h */
	uint64_t capacity_bytes;   /* 0: the device's, see device.h; on a GPU the most that an allocator may take */
	uint32_t capacity_percent; /* instead, of the trace's peak of live bytes; 0: capacity_bytes holds */
	const char *cost_file;     /* see device.h */
	uint32_t iterations;       /* or SCHEDULE_STEPS: see schedule_build() */
	const struct seam_config *config; /* of seam; NULL: SEAM_CONF and defaults */
	enum replay_planning planning;    /* of seam */
	const struct seam_plan *plan;     /* REPLAY_PLAN_FILE; not owned */
	const char *plan_name;            /* its file, for errors */
	uint64_t host_ns; /* that the program takes before an operation where the trace does not say; 0: 10 us */
	bool no_marks;    /* steps and phases are not told to the pool */
	bool no_trim;     /* what is cached is not returned before the peaks of a plan are taken: see plan_driver.h */
	struct perturb perturb; /* count 0: as recorded */
	/* Called now and then; NULL for none. */
	void (*progress)(void *user, uint64_t done, uint64_t total);
	void *user;
};

/* What a plan did. */
struct replay_plan {
	enum replay_planning planning; /* NONE: nothing below means anything */
	uint64_t hits;                 /* requests that the plan served, dynamic ones too */
	uint64_t dynamic_hits;
	uint64_t misses; /* while a plan was in use */
	uint64_t misses_by_cause[SEAM_MISS_COUNT];
	uint64_t resyncs;
	uint64_t adoptions, drops;
	bool adopted;
	uint32_t adopted_at_iteration; /* the first plan: from 1; 0: before the first iteration, or between two */
	uint32_t adopted_after_steps;  /* marks of steps that had been passed by then */
	uint64_t last_hits;            /* of the requests of the last iteration */
	uint64_t last_requests;
	bool measured; /* the next two are valid: an iteration ended since the plan in use had served all of one; see
			  plan_driver.h */
	uint64_t peak_live_bytes; /* rounded up to chunks of 2 MiB */
	uint64_t peak_reserved_bytes;
	bool timed, dynamic_timed;               /* the next two are valid */
	double alloc_ns_p50;                     /* of requests that the plan had a place for */
	double dynamic_alloc_ns_p50;             /* of those whose place was found when they came */
	bool missed_timed;                       /* the next one is valid */
	double missed_alloc_ns_p50;              /* of requests that a plan in use did not serve */
	uint64_t static_requests[REPLAY_SHOWN];  /* by iteration: that the program does not call dynamic, */
	uint64_t static_hits[REPLAY_SHOWN];      /* and those of them that the plan served */
	uint64_t processor_ns;                   /* of background work, measured even where compute_ns is modelled */
	uint64_t steps;                          /* of background work */
	uint64_t compute_ns;                     /* of it, on the processor */
	uint64_t driver_ns;                      /* of it, in the driver */
	uint64_t waited_ns;                      /* by the program, for it */
	uint64_t host_ns;                        /* how long the whole run took the program */
	uint64_t background_calls[REPLAY_SHOWN]; /* memory calls by iteration */
	uint64_t background_ns[REPLAY_SHOWN];    /* driver time by iteration */
};

/* Where a run ran out of memory. */
struct replay_failure {
	uint64_t number;         /* of the request, from 1, among all of the schedule */
	uint64_t bytes;          /* asked for */
	uint64_t live_bytes;     /* before it, as requested */
	uint64_t reserved_bytes; /* by the allocator, after all that it tried */
};

struct replay_result {
	enum ref_kind allocator;
	char device[96];
	uint64_t requests;        /* allocations asked for, in all iterations */
	uint64_t requests_in_all; /* of the schedule: more than that where memory ran out */
	uint32_t iterations;
	uint64_t peak_live_bytes; /* of the whole schedule, as requested */
	uint64_t capacity_bytes;  /* of the device, where the options limit it; else 0 */
	bool oom;
	struct replay_failure failure; /* valid if oom */
	bool last_complete;            /* the last iteration ended */
	uint64_t peak_reserved_bytes;  /* valid unless oom */
	bool alloc_timed;              /* the next two are valid */
	bool free_timed;               /* the two after them are valid */
	double alloc_ns_p50, alloc_ns_p99;
	double free_ns_p50, free_ns_p99;
	uint64_t driver_calls[SEAM_DRV_COUNT];
	uint32_t ended;                      /* iterations that ended */
	uint64_t memory_calls[REPLAY_SHOWN]; /* of the first iterations, one by one */
	uint64_t iteration_driver_ns[REPLAY_SHOWN];
	uint64_t iteration_calls_ns[REPLAY_SHOWN]; /* see calls_ns */
	uint64_t calls_ns;                         /* of the processor, in all allocations and frees: call_time.h */
	uint32_t steps; /* marks of steps that were passed, those before the first iteration included */
	uint64_t step_calls[REPLAY_SHOWN];    /* memory calls of the first steps, one by one */
	uint64_t memory_calls_last_iteration; /* valid if last_complete, like the next */
	uint64_t event_calls_last_iteration;
	uint64_t driver_ns; /* valid unless oom */
	uint64_t states[REF_STATES];
	bool verified;         /* contents were checked, */
	bool verified_in_full; /* all of them, not pages only */
	uint64_t verified_bytes;
	struct replay_plan plan;
};

/* Out of memory is a result. A plan that is not one of this trace is SEAM_NOT_FOUND. error: REPLAY_ERROR_BYTES for one
 * line. Errors: those of device_open(), ref_create() and schedule_build(); SEAM_CORRUPT where contents were lost, a
 * structure's check failed, the emulator flagged a violation, or something was left on the device. */
SEAM_MUST_USE enum seam_rc replay_run(const struct seam_trace *trace, const struct replay_options *options, char *error,
	struct replay_result *ret_result);

#endif
