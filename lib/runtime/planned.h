/* planned.h: requests served from plans: what happens between a matcher, its arena and the engine.
 *
 * An *active plan* is an arena with the matcher of its loaded plans: being prepared, open (it is suspended until it
 * has started, and may be later), or closed. Only an open one serves. A pool has at most one that is open; active plans
 * that were closed while blocks of theirs were live wait behind it until those are freed.
 *
 * Bytes of an open arena that are not leased are blocked in the matcher, chunk by chunk: what residents occupy (no slot
 * lies there), what blocks from before the plan still occupy, and chunks that are lent. Idle chunks are lent to the
 * engine when it would grow otherwise, those first that no slot needs for long, and collected when a slot needs
 * them and they are free again. Before that the driver is asked about blocks that are held for other streams: what
 * closed active plans held is the engine's then.
 *
 * A plan cannot do harm: where mappings, addresses or memory run short, the active plan is closed (dropped) before an
 * allocation fails. While the program does what no loaded plan knows, and until it has done what the plan is of, the
 * active plan is suspended (suspend.c); one that misses more than one request in ten in two periods in a row, or serves
 * nothing for many, is dropped.
 *
 * Not here: how an active plan comes to be (learner.h), when a slot is safe (matcher.h).
 *
 * Invariants (seam__planned_check)
 *   Q1  the open active plan is the first; its arena is OPEN; the others are CLOSED and have live or held blocks, or
 *       wait to be finished
 *   Q2  matcher and arena keep theirs, and the matcher has blocked exactly the gaps of an open arena, none of a
 *       suspended one
 *   Q3  the engine's account of planned blocks, and of those that are pending, is the sum over the active plans
 *   Q4  first requests are expected only while an active plan is open, and some are left; the active plan of their
 *       places is closed
 *   Q5  a suspended active plan is open and has lent nothing; what another one has lent is what its chunks say
 *   Q6  blocks that other streams use are as many as `recorded`, and there is room to hold all; held ones are freed
 *   Q7  the streams of an active plan are distinct; none is ordered behind what the other was not given yet, or behind
 *       more joins than there were; the last uses keep theirs, are of those streams, and of the past
 *   Q8  no loaded plan of the open one has a longer period than it says, or uses chunks that it has not
 *   Q9  every request is a hit or has one cause of a miss; no less was counted by now than when a plan started
 *   Q10 one that has not started is suspended, and has no block; one that has is not on trial
 *   Q11 the account of work knows of no more requests, hits and driver calls than there were
 *
 * Locks: the engine's `lock` for everything but what says [both] (`change` too; drops `lock` meanwhile).
 */
#ifndef SEAM_PLANNED_H
#define SEAM_PLANNED_H

#include "account.h"
#include "arena.h"
#include "last_uses.h"
#include "matcher.h"
#include "recent.h"
#include "uses.h"

struct seam_request;
struct seam_thread_context;

/* In the order of the options' names in options.def. */
enum seam_plan_mode { SEAM_PLAN_AUTO, SEAM_PLAN_OFF, SEAM_PLAN_INLINE };
enum seam_plan_reuse { SEAM_PLAN_REUSE_STITCH, SEAM_PLAN_REUSE_FIT, SEAM_PLAN_REUSE_NONE };

struct seam_active_plan {
	LIST_ENTRY(seam_active_plan) link;
	struct seam_arena arena;
	struct seam_matcher *matcher;
	uint32_t *busy;               /* per chunk of the arena; for closing, which must not fail */
	uint32_t busy_count;          /* at least the chunks of an arena that is open */
	struct seam_plan_range *gaps; /* room for those of the chunks whose leases have changed */
	uint32_t gap_capacity;
	uint32_t usable; /* so many chunks are mapped and were leased then; those behind them are blocked */
	struct seam_plan_block **held; /* freed (requested_bytes is 0), but other streams still use them */
	uint32_t held_count;
	uint32_t held_capacity;       /* at least `recorded` */
	uint32_t recorded;            /* blocks with uses, live or held: a free needs no memory */
	uint64_t next_poll;           /* in the engine's count of allocations: when the driver is asked again */
	struct seam_stream **streams; /* that have used the arena, or were lent some of it; referenced */
	uint64_t *joined;             /* per stream: the version of the arena's joins that it is ordered behind */
	uint64_t *behind; /* [stream * stream_capacity + other]: the stamp of the other that it is ordered behind */
	uint64_t *latest; /* per stream: for whoever counts them (users.c) */
	struct seam_last_uses last_uses; /* by the streams' numbers */
	bool notes_uses; /* a free is noted there: several streams ask, or have blocks that went while others used them
			  */
	uint32_t stream_count, stream_capacity;
	struct seam_stream *joined_last; /* of them, that was ordered last, */
	uint64_t
		joined_version; /* behind this version of the joins: while both are the same nothing is to be ordered */
	uint64_t lent_bytes;
	uint64_t long_positions;            /* requests of a period, of the loaded plan that has most */
	uint64_t judged_asked, judged_hits; /* of the pool's counts, when it was last judged */
	uint32_t poor;                      /* so many periods in a row before that it missed more than one in ten */

	/* The program has departed from the plan (suspend.c). */
	bool suspended;        /* it serves nothing, and has nothing but its live blocks */
	bool on_trial;         /* it may not start yet (lib/learn/trial.h) */
	bool started;          /* it has come into use; until then it is suspended, and nothing is counted */
	uint32_t departed;     /* rises with requests that no loaded plan knows, falls with all */
	uint64_t departed_at;  /* number of the request by which it is right */
	uint64_t marked_at;    /* recent.count when the program marked a step last */
	uint64_t idle_from;    /* recent.count when it was opened, got a loaded plan, passed its trial or was suspended
				  last */
	uint64_t compare_from; /* recent.count from which on it is compared again with what the program does */
	int64_t price_steps;   /* without these in the account it does not go on; 0: it has not overdrawn that. They
				double each time that it does, up to all that is kept */
	uint64_t paid_steps;   /* of the matcher's, that the account knows of */
	uint64_t low_bytes;    /* few enough live bytes, as requested, to start or to go on */
	uint64_t made_at;      /* serials of blocks that are younger than the plan; UINT64_MAX: it was given */
};

LIST_HEAD(seam_active_plans, seam_active_plan);

struct seam_planned_counts {
	uint64_t requests; /* made while an active plan was open that had started */
	uint64_t hits, dynamic_hits;
	uint64_t misses[SEAM_MISS_COUNT];
	uint64_t refused_dynamic; /* dynamic hits that plan_reuse:none does not allow */
	uint64_t adoptions, drops;
	uint64_t lends, collects;
	uint64_t borrows;
	uint64_t resyncs, switches; /* of active plans that are gone */
};

/* What a plan that was given says of the program's first requests (planned_prologue.c), as long as they are as it says.
 */
struct seam_prologue {
	struct seam_active_plan *active;     /* closed. What stays goes there; NULL: it is over, or there is none */
	struct seam_plan_prologue *requests; /* a copy */
	uint32_t count, next;
	uint64_t at_bytes;  /* in the active plan's arena: the place of the next that stays */
	uint32_t strangers; /* requests that were not among them, less the ones since that were */
	uint32_t ahead;   /* if the last one was that which stands before this one, the program has left some out; 0: it
			     was not */
	bool is_stranger; /* the last one was, or one that stays and got no place */
	bool may_stay;    /* it came where one that stays was expected */
};

/* A plan that was given and waits for what stays; its arena is made then (seam__given_is_due()). */
struct seam_given {
	struct seam_loaded_plan *loaded; /* NULL: there is none */
	uint64_t above_bytes;            /* live, as requested: with less something that stays is missing */
	uint64_t below_bytes;            /* live, as requested: the arena is made with no more */
	uint64_t from_allocs;            /* in the engine's count: nothing will have been missing for a period */
};

struct seam_runtime {
	struct seam_engine *engine; /* the pool's */
	struct seam_meta *meta;     /* the pool's */
	enum seam_plan_reuse reuse;
	uint64_t steps; /* that the program has marked */
	struct seam_active_plans active_plans;
	bool open; /* the first of them is; requests are matched */
	struct seam_prologue prologue;
	struct seam_planned_counts counts;
	struct seam_account account;
	struct seam_active_plan *preparing; /* the learner's; taken away from it under pressure */
	struct seam_given given;
	uint64_t started_requests, started_misses, started_displaced,
		started_strange;   /* of the counts, when an active plan started last */
	struct seam_recent recent; /* requests that no plan served */
};

/* Misses of slots whose place was occupied. */
static inline uint64_t seam__planned_displaced(const struct seam_planned_counts *counts)
{
	return counts->misses[SEAM_MISS_late] + counts->misses[SEAM_MISS_gap];
}

/* Misses of what no loaded plan expected. */
static inline uint64_t seam__planned_strange(const struct seam_planned_counts *counts)
{
	return counts->misses[SEAM_MISS_lost] + counts->misses[SEAM_MISS_size];
}

/* No plan is in use. engine: a pool's, or one that is all zero: then none ever is; meta: the same pool's. Both outlive
 * the runtime. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__runtime_create(struct seam_meta *meta, struct seam_engine *engine,
	enum seam_plan_reuse reuse, struct seam_runtime **ret_runtime);

/* A live block as the API's questions see it, whoever serves it. */
struct seam_found {
	struct seam_view *view;
	uint64_t va, offset, bytes; /* offset: in the view */
	uint64_t requested_bytes, tag;
	struct seam_stream *stream;
	struct seam_block *block; /* one of these two is NULL */
	struct seam_plan_block *plan_block;
	struct seam_active_plan *active; /* of plan_block */
};

/* What loaded plans can use of an open arena: a loaded plan that needs more is not for it yet. */
static inline uint64_t seam__active_usable_bytes(const struct seam_active_plan *active)
{
	const struct seam_arena *arena = &active->arena;
	return active->usable == 0 ? 0
				   : arena->chunks[active->usable - 1].offset + arena->chunks[active->usable - 1].bytes;
}

/* The active plan whose arena `va` lies in, or NULL. */
static inline struct seam_active_plan *seam__active_at(const struct seam_runtime *runtime, uint64_t va)
{
	struct seam_active_plan *active;
	LIST_FOREACH(active, &runtime->active_plans, link)
	{
		if (va - active->arena.view->va < active->arena.bytes)
			return active;
	}
	return NULL;
}

/* Serves a request from the open active plan. It must be one for the common memory without flags, and not captured.
 * SEAM_MISS_NONE: *ret_va is its address. Else nothing has happened, and the miss is counted. The caller gives the
 * block its serial. thread context: as seam__recording_thread(). */
enum seam_miss seam__planned_alloc(struct seam_runtime *runtime, const struct seam_request *request,
	struct seam_stream *stream, const struct seam_thread_context *context, struct seam_plan_block **ret_block,
	uint64_t *ret_va);

/* Serves a request that the open active plan has just missed out of what its plan leaves idle, where that disturbs less
 * than anything else: no driver call. False: the engine is to serve it. */
bool seam__planned_borrow(struct seam_runtime *runtime, const struct seam_ask *ask, const struct seam_request *request,
	struct seam_plan_block **ret_block, uint64_t *ret_va);

/* A request was made that the open active plan is not asked for: it is counted, if that has started. */
void seam__planned_pass(struct seam_runtime *runtime, enum seam_miss why);

/* Frees the planned block at `va`. False: there is none. ret_serial: its number. */
bool seam__planned_free(struct seam_runtime *runtime, uint64_t va, uint64_t *ret_serial);

/* The engine has served the request that the open active plan was asked for last. */
void seam__planned_beside(struct seam_runtime *runtime);

/* The engine freed a block at [offset, offset + bytes) of a view while an active plan is open: what of it lies in the
 * arena's chunks is the arena's again at once. Left to the engine it would be handed out to what the plan missed, and
 * what is missed there would go on being missed. */
void seam__planned_recover(struct seam_runtime *runtime, const struct seam_view *view, uint64_t offset, uint64_t bytes);

/* The planned block is used on `stream` too. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__planned_record(
	struct seam_runtime *runtime, const struct seam_found *found, struct seam_stream *stream);

/* Looks at held blocks; what has passed is free. */
void seam__planned_poll(struct seam_runtime *runtime);

/* The same, once the driver has been asked what has passed. */
void seam__planned_poll_streams(struct seam_runtime *runtime);

/* An iteration ends. */
void seam__planned_step(struct seam_runtime *runtime);

/* ---- active plans ---- */

/* An active plan without arena or loaded plans. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__active_create(struct seam_runtime *runtime, struct seam_active_plan **ret_active);

/* [both; drops lock] An active plan of fresh chunks for so many bytes, ready to be opened. Errors: those of
 * seam__active_create(), seam__arena_begin() and seam__arena_prepare(). */
SEAM_MUST_USE enum seam_rc seam__active_prepare_fresh(
	struct seam_runtime *runtime, uint64_t bytes, struct seam_active_plan **ret_active);

/* [both] An active plan that was never opened goes, with whatever its arena holds. */
void seam__active_discard(struct seam_runtime *runtime, struct seam_active_plan *active);

/* Opens an active plan whose arena is READY with its first loaded plan. It is suspended: it starts when the program
 * does what the plan is of (suspend.c), or with seam__planned_start(). low_bytes: so few live bytes, as requested, are
 * the first moment for that. An open active plan is closed first. Errors: SEAM_OOM_META: active plan and loaded plan
 * are the caller's still (another open active plan may be gone), and the active plan is for seam__active_discard(). */
SEAM_MUST_USE enum seam_rc seam__planned_open(struct seam_runtime *runtime, struct seam_active_plan *active,
	struct seam_loaded_plan *loaded, uint64_t low_bytes);

/* The open active plan is suspended, and serves from here on: it leases what is free. The driver is asked only which
 * streams have passed, where freed blocks wait for that. Errors: SEAM_OOM_META: it has been dropped. */
SEAM_MUST_USE enum seam_rc seam__planned_start(struct seam_runtime *runtime);

/* The open active plan has stood its trial, and may start: the time that it has for that begins now. */
void seam__planned_pass_trial(struct seam_runtime *runtime);

/* One more loaded plan for the open active plan, which has room for it; current from now on, or when
 * seam__matcher_add() says. Errors: SEAM_OOM_META: it is the caller's still. */
SEAM_MUST_USE enum seam_rc seam__planned_add(struct seam_runtime *runtime, struct seam_loaded_plan *loaded, bool now);

/* An active plan whose arena is READY is closed before it was open, with so many blocks to come in each of its chunks
 * as count() sets in active->busy: those stay leased until as many have been released. With `lock`. Errors:
 * SEAM_OOM_META; SEAM_BUSY: somebody else has some of its memory, or work on it is pending: it is for
 * seam__active_discard(). */
SEAM_MUST_USE enum seam_rc seam__active_shut(struct seam_runtime *runtime, struct seam_active_plan *active,
	void (*count)(void *user, struct seam_active_plan *active), void *user);

/* Adds chunks to the arena of the open active plan, as seam__arena_extend() does; they are blocked until
 * seam__planned_grown(). [both; drops lock] Errors: those of seam__arena_extend(); SEAM_OOM_META: the active plan may
 * have been dropped. */
SEAM_MUST_USE enum seam_rc seam__planned_extend(
	struct seam_runtime *runtime, const uint64_t *numbers, uint32_t count, uint64_t fresh_bytes);

/* The arena of the open active plan has grown by chunks that are mapped now: leases them. Errors: SEAM_OOM_META: the
 * active plan has been dropped. */
SEAM_MUST_USE enum seam_rc seam__planned_grown(struct seam_runtime *runtime);

/* Closes the open active plan. Live blocks stay valid. */
void seam__planned_drop(struct seam_runtime *runtime);

#define SEAM_SWEEP_ALL UINT32_MAX

/* [both; drops lock] Frees what closed active plans held for streams that have passed, and finishes those that nothing
 * uses any more: unmaps so many chunks at most. */
void seam__planned_sweep(struct seam_runtime *runtime, uint32_t mappings);

/* ---- the first requests ---- */

/* A plan whose residents are made when it is open needs their places: so much less than this part of its arena may be
 * missing. */
#define SEAM_MISSING_SHARE 64u

/* Bytes of what the plan expects to stay that would still be made beside the arena, and that it does not say when. */
uint64_t seam__prologue_missing(const struct seam_runtime *runtime, const struct seam_plan *plan);

/* [both; drops lock] A plan that was given has just been opened, and its prologue is due: room for all that it says to
 * stay. Errors: those of making room, SEAM_BUSY (another thread was served meanwhile): the plan is to be dropped;
 * SEAM_OOM_DEVICE: memory was short meanwhile, and the plan may be gone. */
SEAM_MUST_USE enum seam_rc seam__prologue_begin(struct seam_runtime *runtime, const struct seam_plan *plan);

/* Whether the plan has one that would begin now. */
bool seam__prologue_is_due(const struct seam_runtime *runtime, const struct seam_plan *plan);

/* One of the first requests. Not NULL: it is one that stays, and has its place. Else it is for the plan, unless it is a
 * stranger. *ret_departs: set where it was one too many, and much that stays is missing: the plan is to be suspended.
 */
struct seam_plan_block *seam__prologue_alloc(struct seam_runtime *runtime, const struct seam_match_ask *ask,
	struct seam_stream *stream, uint64_t *ret_va, bool *ret_departs);

/* It is over: what has not been made has no place any more. With `lock`. */
void seam__prologue_end(struct seam_runtime *runtime);

/* The engine's hook: see engine.h. [both] */
uint64_t seam__planned_spare(void *runtime, const struct seam_ask *ask, uint64_t bytes, enum seam_spare what);

/* The plan that was given goes, if one waits. */
void seam__given_forget(struct seam_runtime *runtime);

/* The engine is gone or about to go: frees what the active plans hold beside it. */
void seam__runtime_destroy(struct seam_runtime *runtime); /* NULL is allowed */

const char *seam__planned_check(struct seam_runtime *runtime);

#endif
