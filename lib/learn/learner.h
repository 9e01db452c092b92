/* learner.h: the background worker of a pool: from what it recorded to plans that serve.
 *
 * A state machine; every call of seam__pool_work() does one bounded piece:
 *
 *   - idle: is there enough that is new in the recording, and would a plan help (no plan yet, or it misses too much)?
 *     If so it looks for the periods of the recording (lib/plan/iterations/iterations.h), and chooses, of the kinds of
 *     iteration without a loaded plan, the one that needs most memory;
 *   - plan: where its residents lie (stitch/arena.h: survey), and a plan around them;
 *   - begin: the arena: chunks of the pool, those that residents occupy in part first, where the plan expects them
 *     (learner_chunks.c);
 *   - prepare: one mapping at a time;
 *   - wait: the active plan is open, and is tried on what the program does from then on, a period at a time (trial.h);
 *     then it starts on the program's own thread at a moment with few live bytes at which that does what was planned.
 *
 * Where an active plan is open already, a further plan becomes another loaded plan of it, around what lies there now;
 * its arena is extended if need be. All kinds that a look found are planned one after the other, and have the same
 * addresses for what lives from one iteration into the next (learner_shapes.c). An arena of its own, in place of the
 * open one, is for a plan that the open one has no addresses for. Where what is open does not know most of what it
 * misses, iterations are looked for by their form. A plan that misses much goes (lib/runtime/suspend.c), and all is
 * learnt again.
 *
 * The first plan holds memory that iterations of other kinds cannot use as freely any more, so it is made only where
 * plans would serve most of what the program does. Which kinds there is room for shows when they are planned, the
 * largest first: with `reuse:own`, where streams must not share, some need more memory than the program ever had, and
 * no plan of them is made. What they do is not served then, and does not count; what is left may be too little.
 *
 * Where the program marks no steps, a period is planned only if it is the iteration and no loop inside of one
 * (repetition.h). Where nothing counts as one until the window is twice as long as when something repeated first,
 * iterations may be of several lengths, and are looked for by their form too.
 *
 * When to look, and how far back, is one rule (look_schedule.h).
 *
 * Under pressure the engine asks for everything back (seam__planned_spare): an active plan that is being prepared is
 * given up, and the worker begins again later.
 *
 * With the option plan:auto a thread of the pool calls it; it is made when there is something to learn from and sleeps
 * until it is told that there is more. It has the program's own priority: a thread of a lower one that holds a lock
 * gets no processor on a busy machine, and the program waits for it. Its policy is SCHED_BATCH: where it is woken it
 * does not take the processor from who wakes it. It takes no more than a share of the process's processor time
 * (worker_share.h). In a deterministic pool the program's own threads do the work where they would wake that one. With
 * plan:inline the caller of seam__pool_work() does (replays with a virtual clock, tests).
 *
 * Locks: `work` (SEAM_RANK_PLAN, before the engine's) is held by whoever works; it guards everything here but `wake`,
 * `running`, `stop` and the condition, which belong to `sleep` (SEAM_RANK_LEAF).
 */
#ifndef SEAM_LEARNER_H
#define SEAM_LEARNER_H

#include <pthread.h>
#include <stdatomic.h>

#include <seam/plan.h>

#include "lockrank.h"
#include "look_schedule.h"
#include "planned.h"
#include "iterations.h"

enum seam_learning { SEAM_LEARN_IDLE, SEAM_LEARN_PLAN, SEAM_LEARN_BEGIN, SEAM_LEARN_PREPARE, SEAM_LEARN_WAIT };

#define SEAM_LEARNER_REFUSED 16u

struct seam_learner {
	struct seam_runtime *runtime;
	struct seam_engine *engine;     /* the runtime's */
	bool maps;                      /* the device has virtual memory management; else nothing is learnt */
	struct seam_meta *meta;         /* the pool's */
	struct seam_recorder *recorder; /* NULL: nothing is recorded, and nothing is learnt */
	enum seam_plan_mode mode;
	bool deterministic;
	struct seam_mutex work;
	_Atomic(enum seam_learning) state; /* written with `work` */
	struct seam_iterations rhythm;     /* PLAN */
	/* making the newest plan, estimated (lib/plan/make/make.h): for whom has a clock of his own */
	uint64_t work_ns;
	uint64_t most_bytes;      /* that the pool may reserve with a plan (plan_cost.h) */
	uint64_t raised_bytes;    /* by which learnt plans have raised the peak of what the pool has reserved */
	uint32_t outgrown;        /* plans in a row whose chunks were gone, or taken, before their arena was begun */
	uint64_t recorded_events; /* of the recording that `rhythm` was found in */
	uint32_t kind;            /* of `rhythm`: being planned */
	uint64_t tried;           /* a bit per kind: it was planned, or could not be, since the look */
	uint64_t roomless; /* a bit per kind: it could not be, since the look, for it needs more memory than there is.
			      It comes again all the same */
	struct seam_survey survey;       /* PLAN, BEGIN */
	struct seam_plan *plan;          /* BEGIN and later */
	struct seam_loaded_plan *loaded; /* BEGIN, PREPARE: ours */
	struct seam_active_plan *active; /* PREPARE: ours until it waits; NULL: the open one is extended */
	uint64_t rest_bytes; /* least that was live in the kind's newest iteration: the model has not all that lives
				across its end */
	uint64_t open_below_bytes;               /* hardly more than the least that is live in the period */
	uint64_t period_requests, period_events; /* of the newest plan */
	struct seam_look_time trial; /* WAIT: the next one is due (events: without marks; steps: with them) */
	uint32_t bad_trials;         /* WAIT: so many of the plan were bad (trial.h) */
	bool serves;                 /* when it looked last a plan was open */
	bool strange;                /* then: most of what it does not serve it does not know, and that is much */
	bool replaces;               /* the open arena has no room for more: the new plan gets an arena of its own */
	uint64_t given_arena_bytes;  /* of the plan that was given last */
	uint64_t surveyed_at;        /* the recorder's count of events when the chunks were surveyed for the plan */
	bool extends; /* BEGIN: planned around what lies in the open arena, not for an arena of its own */
	bool fits;    /* BEGIN: the loaded plan needs no more than the open arena has */
	uint64_t refused[SEAM_LEARNER_REFUSED]; /* fingerprints of models that could not be planned, and of those served
						   by a loaded plan */
	uint32_t refused_count;
	uint64_t known_events; /* length of a period whose plan has served well; 0: there is none */
	uint64_t repeats_from; /* events of the window in which something was seen to repeat first; 0: nothing was */
	bool proven;           /* at a look plans served well enough, and none went since */
	struct seam_look_schedule looks;
	struct seam_look_time looked;   /* when it searched last, */
	uint64_t window_events;         /* and how far back */
	uint64_t place_ns, place_nodes; /* of placing, and some more for each request; nodes in deterministic mode. More
					   where that led to nothing; tests make them less */
	uint64_t seen_misses, seen_displaced, seen_strange, seen_requests, seen_drops; /* when it looked last */
	_Atomic uint64_t plans; /* made; written with `work`, read by anyone, as the next two */
	_Atomic uint64_t failures;

	struct seam_mutex sleep;
	struct seam_cond condition;
	bool wake, running;
	int stop; /* atomic. Also cancels a plan that is being made */
	pthread_t thread;
};

/* Given to a learner, which does not own them. */
struct seam_learner_parts {
	struct seam_runtime *runtime;
	struct seam_engine *engine;     /* the runtime's */
	bool maps;                      /* the device has virtual memory management; else nothing is learnt */
	struct seam_meta *meta;         /* of all of it */
	struct seam_recorder *recorder; /* NULL: nothing is recorded, and nothing is learnt */
	enum seam_plan_mode mode;
	bool deterministic;
};

/* Nothing runs yet. The parts outlive the learner. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__learner_create(
	const struct seam_learner_parts *parts, struct seam_learner **ret_learner);

/* Stops the thread and waits for it, then frees what was begun. Without locks. */
void seam__learner_destroy(struct seam_learner *learner); /* NULL is allowed */

/* One piece of work. *ret_did: whether there was something to do. Errors are the pool's own business; what fails is
 * tried again later. */
void seam__pool_work(struct seam_learner *learner, bool *ret_did);

/* The plan comes into use, or waits for its moment (given_plan.c). error: why it is refused, empty where the code
 * says all. Errors: those of seam_plan_use(). Takes all locks. */
SEAM_MUST_USE enum seam_rc seam__learner_use(
	struct seam_learner *learner, const struct seam_plan *plan, struct seam_trace_error *error);

/* True: all that stays has been there for a period, and few bytes are live, so the arena of the plan that was given and
 * waits is to be made. With the engine's `lock`. */
bool seam__given_is_due(struct seam_runtime *runtime);

/* It is: makes the arena and opens it. While the worker plans nothing happens: a request does not wait for that, and
 * the next one comes here again. Takes all locks; makes driver calls. */
void seam__learner_place(struct seam_learner *learner);

/* Whatever plan is in use, or is about to be, goes. Takes all locks. */
void seam__learner_drop(struct seam_learner *learner);

/* There may be something to do: starts or wakes the thread (plan:auto). In a deterministic pool it is done here
 * instead. Without the pool's locks. */
void seam__learner_wake(struct seam_learner *learner);

#endif
