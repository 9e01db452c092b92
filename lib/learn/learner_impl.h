/* learner_impl.h: what the files behind learner.h share. With `work`. */
#ifndef SEAM_LEARNER_IMPL_H
#define SEAM_LEARNER_IMPL_H

#include "bits.h"
#include "learner.h"
#include "plan_cost.h"
#include "record.h"

static inline void seam__learner_stop(struct seam_learner *learner)
{
	seam__mutex_lock(&learner->engine->change);
	seam__mutex_lock(&learner->engine->lock);
}

static inline void seam__learner_go(struct seam_learner *learner)
{
	seam__mutex_unlock(&learner->engine->lock);
	seam__mutex_unlock(&learner->engine->change);
}

/* Raises learner->most_bytes to the limit of plans as the pool is now (plan_cost.h). A multiple of the granularity, as
 * reserved memory is. With the engine's `lock`. */
static inline void seam__learner_note_most(struct seam_learner *learner)
{
	const struct seam_engine *engine = learner->engine;
	/* Where peaks are counted anew this may be less than plans have added to it. */
	const uint64_t peak_bytes = engine->memory.reserved_peak_bytes;
	const uint64_t limit_bytes = seam__plan_cost_limit(
		peak_bytes - seam__bits_min(learner->raised_bytes, peak_bytes), engine->counts.live_bytes_peak);
	learner->most_bytes =
		seam__bits_max(learner->most_bytes, limit_bytes - limit_bytes % engine->memory.granularity_bytes);
}

/* Events and marked steps that were recorded so far. */
static inline struct seam_look_time seam__learner_time(const struct seam_learner *learner)
{
	struct seam_recorder_counts counts;
	seam__recorder_get_counts(learner->recorder, &counts);
	return (struct seam_look_time){counts.events, counts.steps};
}

/* If there is enough that is new in the recording: looks for kinds of iteration, and chooses the one to plan
 * (SEAM_LEARN_PLAN). False: there is not. */
bool seam__learner_look(struct seam_learner *learner);

/* The most and the least bytes live, as requested, behind one of the events [first, last) of a trace that frees nothing
 * from before it. */
struct seam_live_range {
	uint64_t peak_bytes, least_bytes;
};
struct seam_live_range seam__learner_range(const struct seam_trace *trace, uint64_t first, uint64_t last);

/* Plans the chosen kind around the residents as they lie now: survey, plan and loaded plan are set. Errors: those of
 * seam_plan_make(); SEAM_UNSUPPORTED: it would take more than most_bytes. */
SEAM_MUST_USE enum seam_rc seam__learner_plan(struct seam_learner *learner);

/* How long a period of so many requests may be placed, in steps instead of time in a deterministic pool, and how good
 * is good enough for what is live at its peak, of which so much comes and goes. */
struct seam_plan_options seam__learner_limits(
	const struct seam_learner *learner, uint64_t requests, uint64_t peak_bytes, uint64_t comes_bytes);

/* Whether the newest plan needs no more than there is, or hardly more than any plan of its period would. */
bool seam__learner_is_small(const struct seam_learner *learner, uint64_t room_bytes);

/* Whether it serves most of the program: larger iterations may be to come again. */
bool seam__learner_serves_most(const struct seam_learner *learner);

/* Whether it, made or refused (SEAM_UNSUPPORTED), costs memory. unlisted_bytes: of chunks of the open arena that the
 * survey does not list. */
bool seam__learner_is_dear(const struct seam_learner *learner, uint64_t unlisted_bytes, enum seam_rc rc);

/* learner_shapes.c: of the kinds that were found and not tried yet, the one that needs most memory of those that are
 * worth a plan and were not refused: it is the learner's `kind` now, and refused from here on. False: there is none. */
bool seam__learner_choose(struct seam_learner *learner);

/* Whether nearly all iterations of the recording are of kinds that come again, and that there is room for. */
bool seam__learner_knows_all(const struct seam_learner *learner);

/* Ranges of the arena that somebody occupies for good: sorted, disjoint. */
struct seam_taken_ranges {
	const struct seam_plan_range *ranges;
	size_t count;
};

/* A block that lives into the next iteration: of a loaded plan, or of a model. */
struct seam_crossing {
	uint64_t bytes;
	uint64_t stream;
	uint64_t at;   /* position, or event */
	uint32_t slot; /* of the loaded plan */
	bool used;
};

struct seam_crossings {
	struct seam_crossing *items;
	size_t count, capacity;
};

/* Where blocks of a model are to lie: first those that live from one iteration into the next, then those with which the
 * iteration begins as that of a loaded plan does. */
struct seam_pins {
	struct seam_plan_fixed *items;
	size_t crossing_count;
	size_t count, room;
	struct seam_crossings wanted; /* of the model */
};

/* None yet, but what of the model could be pinned. O(events), without locks. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pins_init(const struct seam_iteration_kind *kind, struct seam_pins *ret_pins);

/* They lie where they do in `loaded`, copy by copy: one goes on in the copy that the other would be in. Nothing is
 * pinned where the arena is taken. With `change`: the loaded plan stays. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__pins_find(const struct seam_loaded_plan *loaded,
	const struct seam_iteration_kind *kind, const struct seam_taken_ranges *taken, struct seam_pins *pins);
void seam__pins_fini(struct seam_pins *pins); /* a zeroed one is allowed */

/* Which loaded plan of the open arena further ones follow in that; NULL: nothing crosses. With the engine's `lock`. */
const struct seam_loaded_plan *seam__pins_model(const struct seam_matcher *matcher);

/* Where a surveyed chunk lies in an open arena, UINT64_MAX if it does not. With `lock`. */
uint64_t seam__learner_offset(const struct seam_arena *arena, const struct seam_surveyed *surveyed);

/* [both; drops lock] An arena for the loaded plan: an active plan that is being prepared, or more chunks for the open
 * one. Errors: those of seam__arena_begin(); SEAM_NOT_FOUND also where the pool has grown since the survey, and would
 * have more than most_bytes then. */
SEAM_MUST_USE enum seam_rc seam__learner_begin(struct seam_learner *learner);

/* [both] An active plan whose arena is ready is open; where it takes the place of one that serves it starts at once.
 * *loaded: NULL once it is the active plan's. Errors: SEAM_OOM_META: it goes, and what was open may be gone. */
SEAM_MUST_USE enum seam_rc seam__learner_open(struct seam_learner *learner, struct seam_active_plan *active,
	struct seam_loaded_plan **loaded, uint64_t low_bytes);

/* [both; drops lock] The same for a plan that was given: chunks without live blocks, as few as it needs, and fresh
 * ones. Errors: as above; SEAM_NOT_FOUND also where the pool would reserve more than limit_bytes. */
SEAM_MUST_USE enum seam_rc seam__learner_begin_given(struct seam_learner *learner, uint64_t limit_bytes);

/* A plan comes into use with no more bytes live, above the least of a period, than this part of what comes and goes in
 * it. */
#define SEAM_REST_SHARE 128u

/* The open active plan, if the new plan is to become another loaded plan of it; else NULL. With the engine's `lock`. */
static inline struct seam_active_plan *seam__learner_extends(const struct seam_learner *learner)
{
	return learner->runtime->open && !learner->replaces ? LIST_FIRST(&learner->runtime->active_plans) : NULL;
}

/* [both] The active plan that is being prepared, and what waits, go. */
void seam__learner_give_way(struct seam_learner *learner);

/* It led to nothing: the next look comes when the window has doubled. */
void seam__learner_give_up(struct seam_learner *learner);

/* Name of the first broken invariant, or NULL. With `work`, while no request is served. */
const char *seam__learner_check(const struct seam_learner *learner);

/* Forgets what was begun, but the active plan. */
void seam__learner_reset(struct seam_learner *learner);

#endif
