/* verify.h: what the files of the validator (verify*.c) share: the stretch of a trace as a list of acts, and clocks.
 *
 * The validator believes nothing but the trace, the plan's fields, and what it computes here. It shares no code with
 * what makes plans: of this folder it includes plan_format.h (where bytes lie), bytemap.h and this alone (held by a
 * test).
 *
 * Not here: L0-L4, which is looked at before (plan_check.c); L5.
 * No locks: it reads immutable things and owns the rest.
 */
#ifndef SEAM_VERIFY_H
#define SEAM_VERIFY_H

#include <stdbool.h>

#include <seam/plan.h>

#include "grow.h"
#include "idmap.h"
#include "region.h"

/* What an event of the stretch does in every repetition. */
enum seam_act_kind {
	SEAM__ACT_NONE,  /* nothing to the plan: marks, uses of residents */
	SEAM__ACT_ALLOC, /* slot; one position */
	SEAM__ACT_FREE,  /* slot, of the repetition `lag` before, or NOBODY for an earlier dynamic request; one position
			  */
	SEAM__ACT_TOUCH, /* slot, of the repetition `lag` before, is used on stream */
	SEAM__ACT_RECORD,      /* record number `what`, on stream */
	SEAM__ACT_WAIT,        /* stream waits for record number `what` of the repetition `lag` (0 or 1) before */
	SEAM__ACT_STREAM_SYNC, /* of stream */
	SEAM__ACT_DEVICE_SYNC
};

struct seam_act {
	uint32_t kind; /* enum seam_act_kind */
	uint32_t what; /* slot or record */
	uint32_t lag;
	uint32_t stream; /* number by first appearance in the stretch */
};

/* A slot's block is used by another stream, in a repetition before that of its free. */
struct seam_older {
	uint32_t slot;
	uint32_t stream; /* number, as in acts */
};

#define SEAM__ACT_NOBODY UINT32_MAX

/* Edges that are captured into a graph order nothing when they are recorded. */
static inline bool seam__act_is_captured(const struct seam_trace_event *event)
{
	return (event->flags & SEAM_TRACE_CAPTURE) != 0 && event->kind >= SEAM_TRACE_EVENT_RECORD &&
		event->kind <= SEAM_TRACE_DEVICE_SYNC;
}

/* The stretch of the plan, matched with its slots. Events are numbers in the trace. */
struct seam_acts {
	struct seam_region *region; /* all arrays of the validator */
	const struct seam_trace *trace;
	const struct seam_plan *plan;
	struct seam_trace_error *error; /* may be NULL */
	/* Of every event of the trace: for an allocation its block's free; for a free or RECORD_STREAM its block's
	 * allocation; for an EVENT_WAIT the last record of the event before it; SEAM__ACT_NOBODY where there is none.
	 */
	uint32_t *partners;
	struct seam_act *items; /* one for each event in [first_event, last_event) */
	uint64_t count;         /* of items */
	uint32_t *slot_streams; /* per slot: stream number */
	struct seam_grow older; /* struct seam_older: uses before the stretch of blocks that are freed in it */
	uint32_t record_count;
	uint32_t stream_count;
};

/* Reads the stretch and matches it with the slots; see seam_plan_verify(). ret_acts: to be fini'd, also after an error.
 * Errors: SEAM_NOT_FOUND with the error filled, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__acts_init(const struct seam_trace *trace, const struct seam_plan *plan,
	struct seam_trace_error *error, struct seam_acts *ret_acts);
void seam__acts_fini(struct seam_acts *acts);

/* Fills the error: "the plan is not of this trace: event N: ...". Returns SEAM_NOT_FOUND. */
enum seam_rc seam__acts_differ(const struct seam_acts *acts, uint64_t event, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Part of seam__acts_init() (verify_seen.c): what the trace around the stretch shows of lifetimes that cross its ends
 * must be what the plan says; and waits for records of before the stretch are given the record that repeats them.
 * Errors: as seam__acts_init(). */
SEAM_MUST_USE enum seam_rc seam__acts_see(struct seam_acts *acts);

/* What is ordered behind what. A tick is the number of an act in the replay, from 1. A clock holds for every stream the
 * tick up to which its work is known to have passed. */
struct seam_clocks {
	uint32_t streams;
	uint32_t records;
	uint64_t *of_stream; /* [stream * streams + other] */
	uint64_t *of_host;   /* [other]: everything issued from now on is behind it */
	uint64_t
		*of_record; /* [(record + parity * records) * streams + other]: of this repetition and the one before */
	uint64_t *of_wait;  /* the plan's waits: [(first_ring[wait] + repetition % (lag + 1)) * streams + other] */
	uint64_t *first_ring;
	uint64_t rings;
};

/* In the region of the acts. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__clocks_init(struct seam_clocks *clocks, const struct seam_acts *acts);

/* RECORD, WAIT, STREAM_SYNC or DEVICE_SYNC at `tick` of `repetition`. */
void seam__clocks_act(struct seam_clocks *clocks, const struct seam_act *act, uint64_t repetition, uint64_t tick);

/* The runtime's part: slot `wait->waited` of `repetition` has ended at `tick` on `stream`: an event is recorded there;
 * and before slot `wait->waiter` of `repetition` is used, `stream` waits for it. */
void seam__clocks_record_wait(struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream,
	uint64_t repetition, uint64_t tick);
/* The same for another stream that used the slot. */
void seam__clocks_extend_wait(struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream,
	uint64_t repetition, uint64_t tick);
void seam__clocks_await(
	struct seam_clocks *clocks, const struct seam_plan *plan, uint32_t wait, uint32_t stream, uint64_t repetition);

/* Is what `stream` is given now behind everything that `other` was given up to `tick`? */
static inline bool seam__clocks_ordered(
	const struct seam_clocks *clocks, uint32_t stream, uint32_t other, uint64_t tick)
{
	return stream == other || clocks->of_stream[(uint64_t)stream * clocks->streams + other] >= tick ||
		clocks->of_host[other] >= tick;
}

/* Replays the acts 2k times and looks at every byte. Errors: SEAM_CORRUPT with the error filled, SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__acts_replay(const struct seam_acts *acts, struct seam_clocks *clocks);

#endif
