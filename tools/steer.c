/* steer.c: runs with a plan. */
#include "steer.h"

#include <stdlib.h>
#include <time.h>

#include <seam/stats.h>

#include "bits.h"
#include "pace.h"
#include "pool.h"
#include "record.h"
#include "stitching.h"

#define OWN_NS UINT64_C(10000)
#define CHUNK_BYTES (UINT64_C(2) << 20)
#define SETTLING 4u             /* iterations at most until the peaks are taken to be the plan's */
#define LOOK_NS UINT64_C(20000) /* a step that led to nothing and took less is none */
/* Of a deterministic pool: any step; one that maps, beside the driver; more for an event that is looked at. Plans say
 * themselves what they took. */
#define STEP_NS UINT64_C(20000)
#define PREPARE_NS UINT64_C(5000)
#define EVENT_NS UINT64_C(1000)
#define IDLE_OPS 16u /* between two looks whether there is background work, when there was none */

/* Driver time and memory calls so far. */
struct steer_driver {
	uint64_t ns;
	uint64_t memory_calls;
};

struct steer {
	struct run *run;
	struct seam_pool *pool;
	const struct seam_trace *trace;
	struct pace pace;
	bool works;               /* there is background work to do */
	uint32_t idle_ops;        /* left until the next look */
	uint32_t thread;          /* that speaks */
	bool dynamic;             /* between seam_dynamic_begin() and the end */
	struct steer_driver mark; /* before the operation */
	uint32_t iteration;
	bool inside;                             /* of an iteration */
	bool whole;                              /* the plan was in use when the iteration began */
	uint32_t settling;                       /* whole iterations until measuring began */
	bool measuring;                          /* it has; figures.measured: and an iteration has ended since */
	uint64_t hits_asked, dynamic_hits_asked; /* before the request */
	uint64_t hits_begun, requests_begun;     /* at the iteration's begin */
	uint64_t live_bytes;
	struct samples planned, dynamics; /* requests that the plan had a place for, and those that it found one for */
	struct replay_plan figures;
};

void steer_configure(enum replay_planning planning, struct seam_config *config)
{
	if (planning == REPLAY_PLAN_AUTO)
		config->plan = SEAM_PLAN_INLINE;
}

static void look_at_driver(const struct steer *steer, struct steer_driver *ret_driver)
{
	struct device_counts counts;
	device_get_counts(&steer->run->device, &counts);
	*ret_driver = (struct steer_driver){.memory_calls = device_calls_of(&counts, SEAM_DRV_MEMORY)};
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		if (seam__driver_call_class((enum seam_drv_call)i) != SEAM_DRV_COPY)
			ret_driver->ns += counts.ns[i];
}

static void note_adoption(struct steer *steer)
{
	struct replay_plan *figures = &steer->figures;
	if (figures->adopted || steer->pool->planning.counts.adoptions == 0)
		return;
	figures->adopted = true;
	figures->adopted_after_steps = steer->run->result->steps;
	figures->adopted_at_iteration = steer->inside ? steer->iteration + 1 : steer->iteration;
}

/* A plan of the trace for this run: the same but for the streams, which are the device's here. */
static enum seam_rc use_plan(struct steer *steer, const struct seam_plan *plan)
{
	struct run *run = steer->run;
	struct seam_plan mine = *plan;
	uint64_t *streams = calloc((size_t)plan->header.stream_count + 1, sizeof(*streams));
	char error[200] = "";
	if (streams == NULL)
		return run_fail(run, SEAM_OOM_META, "out of host memory");
	for (uint32_t i = 0; i < plan->header.stream_count; i++)
		for (uint32_t k = 0; k < run->schedule.stream_count; k++)
			if (run->schedule.streams[k] == plan->streams[i])
				streams[i] = run->streams[k];
	mine.streams = streams;
	enum seam_rc rc = seam_plan_use(steer->pool, &mine, error);
	free(streams);
	if (rc != SEAM_OK)
		return run_fail(
			run, rc, "%s: %s", run->options->plan_name, error[0] != '\0' ? error : seam_rc_text(rc));
	note_adoption(steer);
	return SEAM_OK;
}

enum seam_rc steer_create(struct run *run, const struct seam_trace *trace, struct steer **ret_steer)
{
	struct steer *steer = calloc(1, sizeof(*steer));
	if (steer == NULL || !samples_init(&steer->planned, run->schedule.block_count) ||
		!samples_init(&steer->dynamics, run->schedule.block_count)) {
		steer_destroy(steer);
		return run_fail(run, SEAM_OOM_META, "out of host memory");
	}
	steer->run = run;
	steer->trace = trace;
	steer->pool = ref_stitching_pool(run->allocator);
	steer->works = seam_pool_config(steer->pool)->plan == SEAM_PLAN_INLINE;
	steer->figures.planning = run->options->planning;
	pace_init(&steer->pace, run->options->host_ns != 0 ? run->options->host_ns : OWN_NS);
	enum seam_rc rc = run->options->planning == REPLAY_PLAN_FILE ? use_plan(steer, run->options->plan) : SEAM_OK;
	if (rc == SEAM_OK)
		*ret_steer = steer;
	else
		steer_destroy(steer);
	return rc;
}

void steer_destroy(struct steer *steer)
{
	if (steer == NULL)
		return;
	samples_fini(&steer->planned);
	samples_fini(&steer->dynamics);
	free(steer);
}

/* A deterministic pool plans in steps of work, so that equal runs give equal results; then its steps must take equal
 * times too: what they take here, as far as it was measured: a plan by what was done for it (lib/plan/make.h), which is
 * never less. events: of the last recording that was looked at, before the step; state: likewise. */
static uint64_t modelled_ns(const struct seam_learner *learner, uint64_t events, enum seam_learning state)
{
	if (state == SEAM_LEARN_PLAN)
		return STEP_NS + learner->work_ns;
	if (state == SEAM_LEARN_PREPARE)
		return PREPARE_NS;
	return STEP_NS + (learner->recorded_events != events ? learner->recorded_events * EVENT_NS : 0);
}

static uint64_t processor_ns(void)
{
	struct timespec now = {0};
	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The worker's chance. */
static void work(struct steer *steer)
{
	struct steer_driver before;
	struct steer_driver after;
	bool did = false;
	if (!pace_is_free(&steer->pace))
		return;
	if (steer->idle_ops > 0) {
		steer->idle_ops--;
		return;
	}
	look_at_driver(steer, &before);
	const struct seam_learner *learner = &steer->pool->learner;
	const uint64_t events = learner->recorded_events;
	const enum seam_learning state = learner->state;
	uint64_t start_ns = processor_ns();
	seam__pool_work(steer->pool, &did);
	uint64_t compute_ns = processor_ns() - start_ns;
	if (seam_pool_config(steer->pool)->deterministic != 0)
		compute_ns = did ? modelled_ns(learner, events, state) : 0;
	if (!did)
		steer->idle_ops = IDLE_OPS;
	if (!did && compute_ns < LOOK_NS)
		return;
	look_at_driver(steer, &after);
	pace_step(&steer->pace, compute_ns, after.ns - before.ns);
	if (steer->inside && steer->iteration < REPLAY_SHOWN) {
		steer->figures.background_ns[steer->iteration] += after.ns - before.ns;
		steer->figures.background_calls[steer->iteration] += after.memory_calls - before.memory_calls;
	}
}

/* The program waits for the device at the end of an iteration: time for the worker. */
static void wait_for_device(struct steer *steer)
{
	uint64_t steps = UINT64_MAX;
	while (steer->works && !pace_wait(&steer->pace) && steps != steer->pace.steps) {
		steps = steer->pace.steps;
		if (pace_is_free(&steer->pace)) {
			steer->idle_ops = 0;
			work(steer);
		}
	}
	pace_sync(&steer->pace);
}

/* The program's own time. The worker goes on beside it: step after step. */
static void go(struct steer *steer, uint64_t gap_ns)
{
	while (steer->works && pace_turn(&steer->pace, &gap_ns))
		work(steer);
	pace_go(&steer->pace, gap_ns);
	if (steer->works)
		work(steer);
}

enum seam_rc steer_before(struct steer *steer, const struct schedule_op *op)
{
	if (op->kind == SCHEDULE_BEGIN || op->kind == SCHEDULE_STEP)
		wait_for_device(steer);
	if (op->kind == SCHEDULE_BEGIN) {
		steer->iteration = op->target;
		steer->inside = true;
		steer->whole = steer->figures.adopted;
		steer->hits_begun = steer->pool->planning.counts.hits;
		steer->requests_begun = steer->run->result->requests;
		return SEAM_OK;
	}
	if (op->kind == SCHEDULE_END)
		return SEAM_OK;
	go(steer, op->gap_ns);
	enum seam_rc rc = SEAM_OK;
	if (op->thread != steer->thread) {
		rc = seam__recorder_act_as(steer->pool->recorder, op->thread);
		steer->thread = op->thread;
	}
	steer->dynamic = (op->flags & SCHEDULE_DYNAMIC) != 0;
	if (rc == SEAM_OK && steer->dynamic)
		rc = seam_dynamic_begin(steer->pool);
	look_at_driver(steer, &steer->mark);
	return rc == SEAM_OK ? rc : run_failed_call(steer->run, rc, "speaking to the pool");
}

/* From here on the peaks are the plan's. */
static enum seam_rc start_measuring(struct steer *steer)
{
	struct replay_result *result = steer->run->result;
	struct ref_stats stats;
	struct steer_driver before, after;
	look_at_driver(steer, &before);
	enum seam_rc rc = steer->run->options->no_trim ? SEAM_OK : ref_empty_cache(steer->run->allocator);
	if (rc != SEAM_OK)
		return run_failed_call(steer->run, rc, "returning what is cached");
	look_at_driver(steer, &after);
	steer->run->step_calls += after.memory_calls - before.memory_calls; /* no step's */
	ref_get_stats(steer->run->allocator, &stats);
	if (stats.reserved_peak_bytes > result->peak_reserved_bytes)
		result->peak_reserved_bytes = stats.reserved_peak_bytes;
	seam_stats_reset_peaks(steer->pool);
	steer->measuring = true;
	steer->figures.peak_live_bytes = steer->live_bytes;
	return SEAM_OK;
}

static enum seam_rc end_iteration(struct steer *steer)
{
	steer->inside = false;
	steer->figures.last_hits = steer->pool->planning.counts.hits - steer->hits_begun;
	steer->figures.last_requests = steer->run->result->requests - steer->requests_begun;
	steer->figures.measured = steer->measuring;
	if (!steer->whole || steer->measuring)
		return SEAM_OK;
	steer->settling++;
	if (steer->settling < SETTLING && steer->figures.last_hits != steer->figures.last_requests)
		return SEAM_OK;
	return start_measuring(steer);
}

enum seam_rc steer_after(struct steer *steer, const struct schedule_op *op)
{
	struct steer_driver now;
	if (op->kind == SCHEDULE_BEGIN)
		return SEAM_OK;
	if (op->kind == SCHEDULE_END)
		return end_iteration(steer);
	look_at_driver(steer, &now);
	pace_do(&steer->pace, now.ns - steer->mark.ns, now.memory_calls != steer->mark.memory_calls);
	note_adoption(steer);
	if (!steer->dynamic)
		return SEAM_OK;
	enum seam_rc rc = seam_dynamic_end(steer->pool);
	return rc == SEAM_OK ? rc : run_failed_call(steer->run, rc, "speaking to the pool");
}

/* Requests so far that a plan found a place for when they came. */
static uint64_t dynamic_hits(const struct seam_planning *planning)
{
	struct seam_match_counts match = {0};
	if (planning->open)
		seam__matcher_get_counts(LIST_FIRST(&planning->stages)->matcher, &match);
	return planning->counts.dynamic_hits + match.dynamic_hits;
}

void steer_asked(struct steer *steer)
{
	steer->hits_asked = steer->pool->planning.counts.hits;
	steer->dynamic_hits_asked = dynamic_hits(&steer->pool->planning);
}

void steer_served(struct steer *steer, uint64_t bytes, uint64_t ticks)
{
	const struct seam_planning *planning = &steer->pool->planning;
	if (planning->counts.hits != steer->hits_asked)
		samples_add(dynamic_hits(planning) != steer->dynamic_hits_asked ? &steer->dynamics : &steer->planned,
			ticks);
	if (!steer->run->schedule.timed)
		pace_launch(&steer->pace, bytes);
	steer->live_bytes += bytes;
	if (steer->measuring && steer->live_bytes > steer->figures.peak_live_bytes)
		steer->figures.peak_live_bytes = steer->live_bytes;
}

void steer_freed(struct steer *steer, uint64_t bytes)
{
	steer->live_bytes -= bytes;
}

enum seam_rc steer_mark(struct steer *steer, const struct schedule_op *op)
{
	enum seam_rc rc = SEAM_OK;
	if (steer->run->options->no_marks)
		return SEAM_OK;
	if (op->kind == SCHEDULE_STEP)
		rc = seam_step(steer->pool);
	else if (op->kind == SCHEDULE_PHASE_BEGIN)
		rc = seam_phase_begin(steer->pool, seam_trace_string(steer->trace, op->target));
	else
		rc = seam_phase_end(steer->pool, seam_trace_string(steer->trace, op->target));
	/* What is repeated may begin or end inside of a phase. */
	if (rc == SEAM_INVALID && op->kind == SCHEDULE_PHASE_END)
		rc = SEAM_OK;
	return rc == SEAM_OK ? rc : run_failed_call(steer->run, rc, "a mark of the program");
}

void steer_take_figures(struct steer *steer, const struct seam_clock *clock, struct replay_plan *ret_plan)
{
	struct replay_plan *figures = &steer->figures;
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	if (seam_stats_get(steer->pool, &stats) != SEAM_OK)
		return; /* only in a child of the process, which a replay does not make */
	const uint64_t misses[] = {
#define SEAM_MISS(name, text) stats.plan_miss_##name,
#include "misses.def"
#undef SEAM_MISS
	};
	for (size_t i = 0; i < SEAM_MISS_COUNT; i++)
		figures->misses_by_cause[i] = misses[i];
	figures->hits = stats.plan_hits;
	figures->dynamic_hits = stats.plan_dynamic_hits;
	figures->misses = stats.plan_misses;
	figures->resyncs = stats.plan_resyncs;
	figures->adoptions = stats.plan_adoptions;
	figures->drops = stats.plan_drops;
	figures->peak_live_bytes = seam__bits_align_up(figures->peak_live_bytes, CHUNK_BYTES);
	figures->peak_reserved_bytes = stats.reserved_bytes_peak;
	figures->timed = steer->planned.count > 0;
	if (figures->timed)
		figures->alloc_ns_p50 = samples_percentile(&steer->planned, clock, 50);
	figures->dynamic_timed = steer->dynamics.count > 0;
	if (figures->dynamic_timed)
		figures->dynamic_alloc_ns_p50 = samples_percentile(&steer->dynamics, clock, 50);
	figures->steps = steer->pace.steps;
	figures->compute_ns = steer->pace.compute_ns;
	figures->driver_ns = steer->pace.driver_ns;
	figures->waited_ns = steer->pace.waited_ns;
	figures->host_ns = steer->pace.host_ns;
	*ret_plan = *figures;
}
