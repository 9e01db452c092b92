/* learner.c: the steps of the background worker; see learner.h. Its looks are in learner_look.c, its plans in
 * learner_plan.c, its thread in learner_thread.c. */
#include "learner.h"

#include "bits.h"
#include "check.h"
#include "clock.h"
#include "learner_impl.h"
#include "planned_impl.h"

#define PLACE_NS UINT64_C(60000000)
#define MOST_PLACE_NS UINT64_C(1000000000)
#define PLACE_NODES UINT64_C(100000)
#define CAREFUL_STEPS 16u
#define MOST_OUTGROWN 4u /* plans in a row; then another look, later */
#define AT_ONCE \
	4u /* mappings made, or undone, in one step: as long may the program have to wait that changes some itself */

enum seam_rc seam__learner_init(struct seam_learner *learner)
{
	enum seam_rc rc = seam__mutex_init(&learner->work, "learner", SEAM_RANK_PLAN);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__mutex_init(&learner->sleep, "learner's sleep", SEAM_RANK_LEAF);
	if (rc == SEAM_OK) {
		rc = seam__cond_init(&learner->condition);
		if (rc != SEAM_OK)
			seam__mutex_fini(&learner->sleep);
	}
	if (rc != SEAM_OK)
		seam__mutex_fini(&learner->work);
	seam__looks_init(&learner->looks);
	learner->place_ns = PLACE_NS;
	learner->place_nodes = PLACE_NODES;
	return rc;
}

/* Forgets what was begun, but the stage. */
void seam__learner_reset(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	seam__iterations_fini(&learner->rhythm);
	learner->rhythm = (struct seam__iterations){0};
	seam__survey_fini(&pool->engine, &learner->survey);
	learner->survey = (struct seam_survey){0};
	seam_plan_free(learner->plan);
	learner->plan = NULL;
	seam__script_destroy(pool->meta, learner->script);
	learner->script = NULL;
	learner->state = SEAM_LEARN_IDLE;
}

/* The plan was good, but there was no memory for it, or the driver failed: its kind may be planned again. */
static void forget_refusal(struct seam_learner *learner)
{
	if (learner->refused_count != 0)
		learner->refused[--learner->refused_count % SEAM_LEARNER_REFUSED] = 0;
}

void seam__learner_give_up(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	learner->failures++;
	if (learner->state == SEAM_LEARN_BEGIN || learner->state == SEAM_LEARN_PREPARE)
		forget_refusal(learner);
	seam__looks_fail(&learner->looks, learner->looked);
	seam__learner_reset(pool);
}

/* How many mappings this step may make or undo: one, where the program has made some itself of late. It is likely to go
 * on. With `change`. */
static uint32_t at_once(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	const uint64_t made = pool->engine.memory.chunks_made + pool->engine.memory.views_made;
	if (made != learner->made)
		learner->careful_steps = CAREFUL_STEPS;
	else if (learner->careful_steps != 0)
		learner->careful_steps--;
	learner->made = made;
	return learner->careful_steps != 0 ? 1 : AT_ONCE;
}

static void plan(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	uint64_t start_ns = seam__clock_ns();
	enum seam_rc rc = seam__learner_plan(pool);
	learner->plan_ns += seam__clock_ns() - start_ns;
	if (rc == SEAM_OK) {
		learner->plans++;
		learner->state = SEAM_LEARN_BEGIN;
		seam__mutex_lock(&pool->engine.lock);
		const struct seam_stage *open = seam__learner_extends(pool);
		learner->fits = open != NULL && seam__script_bytes(learner->script) <= seam__stage_usable_bytes(open);
		seam__mutex_unlock(&pool->engine.lock);
		return;
	}
	if (rc == SEAM_UNSUPPORTED && learner->hardly && !learner->replaces) {
		learner->replaces = true; /* the same kind, in an arena of its own */
		return;
	}
	if (rc == SEAM_UNSUPPORTED) {
		/* It may have been made in too short a time: other iterations may come, or the machine may have more
		 * time. */
		learner->place_ns = seam__bits_min(learner->place_ns * 4, MOST_PLACE_NS);
		forget_refusal(learner);
	}
	if (rc != SEAM_OOM_META && seam__learner_choose(learner))
		return; /* another kind may do */
	seam__learner_give_up(pool);
}

/* A plan is in use: on to the next kind, of which a plan may lie in the same arena. */
static void go_on(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	if (learner->hardly)
		seam__learner_see_all(pool); /* that it hardly served without this one */
	learner->hardly = learner->replaces = false;
	learner->serves = true;
	if (seam__learner_choose(learner))
		learner->state = SEAM_LEARN_PLAN;
	else
		seam__learner_reset(pool);
}

/* The plan fits into the arena that is open: one more script. */
static void add_script(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	seam__mutex_lock(&pool->engine.lock);
	enum seam_rc rc = SEAM_BUSY;
	if (pool->planning.open)
		rc = seam__planned_add(pool, learner->script, false);
	seam__mutex_unlock(&pool->engine.lock);
	if (rc != SEAM_OK) {
		seam__learner_reset(pool);
		return;
	}
	learner->script = NULL; /* the matcher's */
	go_on(pool);
}

static void begin(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	seam__pool_stop(pool);
	/* Addresses of the plan are those of the arena that it was made for; if that was dropped since, what stays lies
	 * elsewhere. */
	bool same = learner->extends == (seam__learner_extends(pool) != NULL);
	enum seam_rc rc = same ? seam__learner_begin(pool) : SEAM_NOT_FOUND;
	if (rc == SEAM_MAPPINGS) {
		seam__planned_sweep(pool, SEAM_SWEEP_ALL);
		rc = seam__learner_begin(pool);
	}
	seam__pool_go(pool);
	learner->outgrown = rc == SEAM_NOT_FOUND ? learner->outgrown + 1 : 0;
	if (rc == SEAM_OK)
		learner->state = SEAM_LEARN_PREPARE;
	else if (rc == SEAM_NOT_FOUND && learner->outgrown % MOST_OUTGROWN != 0)
		learner->state = SEAM_LEARN_PLAN; /* a chunk or the arena is gone: once more from the survey on */
	else
		seam__learner_give_up(pool);
}

/* With both locks. The stage waits for its moment. */
static void let_wait(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	struct seam_planning *planning = &pool->planning;
	planning->preparing = NULL;
	planning->waiting = learner->stage;
	planning->waiting_script = learner->script;
	planning->open_at_step = learner->marked;
	planning->open_below_bytes = learner->open_below_bytes;
	planning->open_by_allocs = pool->engine.counts.allocs + 2 * learner->period_requests;
	planning->give_up_by_allocs = planning->open_by_allocs + 2 * learner->period_requests;
	planning->compared_at = 0;
	learner->adoptions_before = planning->counts.adoptions;
	learner->stage = NULL;
	learner->script = NULL;
	learner->state = SEAM_LEARN_WAIT;
}

/* The open arena has grown, and holds the new script too. With both locks. */
static void take_grown(struct seam_pool *pool)
{
	if (pool->planning.open && seam__planned_grown(pool) == SEAM_OK &&
		seam__planned_add(pool, pool->learner.script, false) == SEAM_OK)
		pool->learner.script = NULL;
}

static bool prepare(struct seam_pool *pool)
{
	struct seam_learner *learner = &pool->learner;
	struct seam_planning *planning = &pool->planning;
	enum seam_rc rc = SEAM_NOT_FOUND;
	seam__pool_stop(pool);
	struct seam_stage *stage = learner->stage;
	if (stage == NULL && planning->open && !learner->replaces)
		stage = seam__stage_open(planning);
	else if (stage != planning->preparing)
		stage = learner->stage = NULL; /* memory was short: it is gone */
	if (stage != NULL)
		rc = seam__streams_uncaptured(&pool->engine.streams);
	bool captured = rc == SEAM_CAPTURING;
	if (captured)
		rc = SEAM_BUSY; /* nothing is mapped while a stream is captured */
	else if (rc == SEAM_OK)
		rc = seam__arena_prepare(&pool->engine, &stage->arena, at_once(pool));
	if (rc == SEAM_OK && learner->stage != NULL)
		let_wait(pool);
	else if (rc == SEAM_OK)
		take_grown(pool);
	else if (rc != SEAM_BUSY && learner->stage != NULL)
		seam__stage_discard(pool, learner->stage);
	seam__pool_go(pool);
	if (rc == SEAM_BUSY)
		return !captured;
	learner->stage = NULL;
	if (rc == SEAM_OK && learner->state != SEAM_LEARN_WAIT)
		go_on(pool);
	else if (rc != SEAM_OK)
		seam__learner_give_up(pool);
	return true;
}

/* Somebody opens what waits, or takes it away. */
static bool wait(struct seam_pool *pool)
{
	seam__mutex_lock(&pool->engine.lock);
	bool waiting = pool->planning.waiting != NULL;
	bool opened = pool->planning.counts.adoptions != pool->learner.adoptions_before;
	seam__mutex_unlock(&pool->engine.lock);
	if (!waiting && !opened) {
		forget_refusal(&pool->learner);
		seam__looks_fail(&pool->learner.looks, pool->learner.looked); /* its mappings were made in vain */
	}
	if (!waiting && opened)
		go_on(pool);
	else if (!waiting)
		seam__learner_reset(pool);
	return !waiting;
}

static bool sweep(struct seam_pool *pool)
{
	seam__mutex_lock(&pool->engine.lock);
	const struct seam_stage *first = LIST_FIRST(&pool->planning.stages);
	bool closed = first != NULL && (!pool->planning.open || LIST_NEXT(first, link) != NULL);
	seam__mutex_unlock(&pool->engine.lock);
	if (!closed)
		return false;
	seam__pool_stop(pool);
	uint64_t mappings = pool->engine.memory.mapping_count;
	seam__planned_sweep(pool, at_once(pool));
	bool did = mappings != pool->engine.memory.mapping_count;
	seam__pool_go(pool);
	return did;
}

static bool step(struct seam_pool *pool)
{
	enum seam_learning state = pool->learner.state;
	switch (state) {
	case SEAM_LEARN_IDLE:
		return pool->recorder != NULL && pool->config.plan != SEAM_PLAN_OFF && seam__learner_look(pool);
	case SEAM_LEARN_PLAN:
		plan(pool);
		return true;
	case SEAM_LEARN_BEGIN:
		if (pool->learner.fits)
			add_script(pool);
		else
			begin(pool);
		return true;
	case SEAM_LEARN_PREPARE:
		return prepare(pool);
	case SEAM_LEARN_WAIT:
		return wait(pool);
	}
	return false;
}

void seam__learner_freed(struct seam_pool *pool)
{
	const enum seam_learning state = pool->learner.state;
	if (state == SEAM_LEARN_PLAN || state == SEAM_LEARN_BEGIN)
		seam__learner_note_calm(pool);
}

void seam__pool_work(struct seam_pool *pool, bool *ret_did)
{
	*ret_did = false;
	if (pool->plain != NULL)
		return;
	seam__mutex_lock(&pool->learner.work);
	*ret_did = sweep(pool);
	*ret_did |= step(pool);
	seam__mutex_unlock(&pool->learner.work);
}
