/* plan_driver.c: runs with a plan. */
#include "plan_driver.h"

#include <stdlib.h>

#include <seam/stats.h>

#include "bits.h"
#include "clock.h"
#include "virtual_time.h"
#include "learner.h"
#include "planned.h"
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
struct plan_driver_driver {
	uint64_t ns;
	uint64_t memory_calls;
};

struct plan_driver {
	struct run *run;
	struct seam_pool *pool;
	const struct seam_trace *trace;
	struct virtual_time clocks;
	bool works;                     /* there is background work to do */
	uint32_t idle_ops;              /* left until the next look */
	uint32_t thread;                /* that speaks */
	bool dynamic;                   /* between seam_dynamic_begin() and the end */
	struct plan_driver_driver mark; /* before the operation */
	uint32_t iteration;
	bool inside;                             /* of an iteration */
	bool whole;                              /* the plan was in use when the iteration began */
	uint32_t settling;                       /* whole iterations until measuring began */
	bool measuring;                          /* it has; figures.measured: and an iteration has ended since */
	uint64_t hits_asked, dynamic_hits_asked; /* before the request */
	uint64_t hits_begun, requests_begun;     /* at the iteration's begin */
	uint64_t live_bytes;
	struct samples planned, dynamics; /* requests that the plan had a place for, and those that it found one for */
	struct samples missed;            /* requests that a plan in use did not serve */
	bool open;                        /* a plan was in use before the request */
	struct replay_plan figures;
};

void plan_driver_configure(enum replay_planning planning, struct seam_config *config)
{
	if (planning == REPLAY_PLAN_AUTO)
		config->plan = SEAM_PLAN_INLINE;
	else if (config->plan == SEAM_PLAN_AUTO)
		config->plan = SEAM_PLAN_OFF;
}

static void look_at_driver(const struct plan_driver *plan_driver, struct plan_driver_driver *ret_driver)
{
	struct device_counts counts;
	device_get_counts(&plan_driver->run->device, &counts);
	*ret_driver = (struct plan_driver_driver){.memory_calls = device_calls_of(&counts, SEAM_DRV_MEMORY)};
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		if (seam__driver_call_class((enum seam_drv_call)i) != SEAM_DRV_COPY)
			ret_driver->ns += counts.ns[i];
}

static void note_adoption(struct plan_driver *plan_driver)
{
	struct replay_plan *figures = &plan_driver->figures;
	if (figures->adopted || plan_driver->pool->runtime->counts.adoptions == 0)
		return;
	figures->adopted = true;
	figures->adopted_after_steps = plan_driver->run->result->steps;
	figures->adopted_at_iteration = plan_driver->inside ? plan_driver->iteration + 1 : plan_driver->iteration;
}

/* A plan of the trace for this run: the same but for the streams, which are the device's here. */
static enum seam_rc use_plan(struct plan_driver *plan_driver, const struct seam_plan *plan)
{
	struct run *run = plan_driver->run;
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
	enum seam_rc rc = seam_plan_use(plan_driver->pool, &mine, error, sizeof error);
	free(streams);
	if (rc != SEAM_OK)
		return run_fail(
			run, rc, "%s: %s", run->options->plan_name, error[0] != '\0' ? error : seam_rc_text(rc));
	note_adoption(plan_driver);
	return SEAM_OK;
}

enum seam_rc plan_driver_create(struct run *run, const struct seam_trace *trace, struct plan_driver **ret_steer)
{
	struct plan_driver *plan_driver = calloc(1, sizeof(*plan_driver));
	if (plan_driver == NULL || !samples_init(&plan_driver->planned, run->schedule.block_count) ||
		!samples_init(&plan_driver->dynamics, run->schedule.block_count) ||
		!samples_init(&plan_driver->missed, run->schedule.block_count)) {
		plan_driver_destroy(plan_driver);
		return run_fail(run, SEAM_OOM_META, "out of host memory");
	}
	plan_driver->run = run;
	plan_driver->trace = trace;
	plan_driver->pool = ref_stitching_pool(run->allocator);
	plan_driver->works = seam_pool_config(plan_driver->pool)->plan == SEAM_PLAN_INLINE;
	plan_driver->figures.planning = run->options->planning;
	virtual_time_init(&plan_driver->clocks, run->options->host_ns != 0 ? run->options->host_ns : OWN_NS);
	enum seam_rc rc =
		run->options->planning == REPLAY_PLAN_FILE ? use_plan(plan_driver, run->options->plan) : SEAM_OK;
	if (rc == SEAM_OK)
		*ret_steer = plan_driver;
	else
		plan_driver_destroy(plan_driver);
	return rc;
}

void plan_driver_destroy(struct plan_driver *plan_driver)
{
	if (plan_driver == NULL)
		return;
	samples_fini(&plan_driver->planned);
	samples_fini(&plan_driver->dynamics);
	samples_fini(&plan_driver->missed);
	free(plan_driver);
}

/* A deterministic pool plans in steps of work, so that equal runs give equal results; then its steps must take equal
 * times too: what they take here, as far as it was measured: a plan by what was done for it (lib/plan/make/make.h),
 * which is never less. events: of the last recording that was looked at, before the step; state: likewise. */
static uint64_t modelled_ns(const struct seam_learner *learner, uint64_t events, enum seam_learning state)
{
	if (state == SEAM_LEARN_PLAN)
		return STEP_NS + learner->work_ns;
	if (state == SEAM_LEARN_PREPARE)
		return PREPARE_NS;
	return STEP_NS + (learner->recorded_events != events ? learner->recorded_events * EVENT_NS : 0);
}

/* The worker's chance. */
static void work(struct plan_driver *plan_driver)
{
	struct plan_driver_driver before;
	struct plan_driver_driver after;
	bool did = false;
	if (!virtual_time_is_free(&plan_driver->clocks))
		return;
	if (plan_driver->idle_ops > 0) {
		plan_driver->idle_ops--;
		return;
	}
	look_at_driver(plan_driver, &before);
	const struct seam_learner *learner = plan_driver->pool->learner;
	const uint64_t events = learner->recorded_events;
	const enum seam_learning state = learner->state;
	uint64_t start_ns = seam__clock_thread_ns();
	seam__pool_work(plan_driver->pool->learner, &did);
	uint64_t compute_ns = seam__clock_thread_ns() - start_ns;
	plan_driver->figures.processor_ns += compute_ns;
	if (seam_pool_config(plan_driver->pool)->deterministic != 0)
		compute_ns = did ? modelled_ns(learner, events, state) : 0;
	if (!did)
		plan_driver->idle_ops = IDLE_OPS;
	if (!did && compute_ns < LOOK_NS)
		return;
	look_at_driver(plan_driver, &after);
	virtual_time_step(&plan_driver->clocks, compute_ns, after.ns - before.ns);
	if (plan_driver->inside && plan_driver->iteration < REPLAY_SHOWN) {
		plan_driver->figures.background_ns[plan_driver->iteration] += after.ns - before.ns;
		plan_driver->figures.background_calls[plan_driver->iteration] +=
			after.memory_calls - before.memory_calls;
	}
}

/* The program waits for the device at the end of an iteration: time for the worker. */
static void wait_for_device(struct plan_driver *plan_driver)
{
	uint64_t steps = UINT64_MAX;
	while (plan_driver->works && !virtual_time_wait(&plan_driver->clocks) && steps != plan_driver->clocks.steps) {
		steps = plan_driver->clocks.steps;
		if (virtual_time_is_free(&plan_driver->clocks)) {
			plan_driver->idle_ops = 0;
			work(plan_driver);
		}
	}
	virtual_time_sync(&plan_driver->clocks);
}

/* The program's own time. The worker goes on beside it: step after step. */
static void go(struct plan_driver *plan_driver, uint64_t gap_ns)
{
	while (plan_driver->works && virtual_time_turn(&plan_driver->clocks, &gap_ns))
		work(plan_driver);
	virtual_time_go(&plan_driver->clocks, gap_ns);
	if (plan_driver->works)
		work(plan_driver);
}

enum seam_rc plan_driver_before(struct plan_driver *plan_driver, const struct schedule_op *op)
{
	if (op->kind == SCHEDULE_BEGIN || op->kind == SCHEDULE_STEP)
		wait_for_device(plan_driver);
	if (op->kind == SCHEDULE_BEGIN) {
		plan_driver->iteration = op->target;
		plan_driver->inside = true;
		plan_driver->whole = plan_driver->figures.adopted;
		plan_driver->hits_begun = plan_driver->pool->runtime->counts.hits;
		plan_driver->requests_begun = plan_driver->run->result->requests;
		return SEAM_OK;
	}
	if (op->kind == SCHEDULE_END)
		return SEAM_OK;
	go(plan_driver, op->gap_ns);
	enum seam_rc rc = SEAM_OK;
	if (op->thread != plan_driver->thread) {
		rc = seam__recorder_act_as(plan_driver->pool->recorder, op->thread);
		plan_driver->thread = op->thread;
	}
	plan_driver->dynamic = (op->flags & SCHEDULE_DYNAMIC) != 0;
	if (rc == SEAM_OK && plan_driver->dynamic)
		rc = seam_dynamic_begin(plan_driver->pool);
	look_at_driver(plan_driver, &plan_driver->mark);
	return rc == SEAM_OK ? rc : run_failed_call(plan_driver->run, rc, "speaking to the pool");
}

/* From here on the peaks are the plan's. */
static enum seam_rc start_measuring(struct plan_driver *plan_driver)
{
	struct replay_result *result = plan_driver->run->result;
	struct ref_stats stats;
	struct plan_driver_driver before, after;
	look_at_driver(plan_driver, &before);
	enum seam_rc rc = plan_driver->run->options->no_trim ? SEAM_OK : ref_empty_cache(plan_driver->run->allocator);
	if (rc != SEAM_OK)
		return run_failed_call(plan_driver->run, rc, "returning what is cached");
	look_at_driver(plan_driver, &after);
	plan_driver->run->step_calls += after.memory_calls - before.memory_calls; /* no step's */
	ref_get_stats(plan_driver->run->allocator, &stats);
	if (stats.reserved_peak_bytes > result->peak_reserved_bytes)
		result->peak_reserved_bytes = stats.reserved_peak_bytes;
	seam_stats_reset_peaks(plan_driver->pool);
	plan_driver->measuring = true;
	plan_driver->figures.peak_live_bytes = plan_driver->live_bytes;
	return SEAM_OK;
}

static enum seam_rc end_iteration(struct plan_driver *plan_driver)
{
	plan_driver->inside = false;
	plan_driver->figures.last_hits = plan_driver->pool->runtime->counts.hits - plan_driver->hits_begun;
	plan_driver->figures.last_requests = plan_driver->run->result->requests - plan_driver->requests_begun;
	plan_driver->figures.measured = plan_driver->measuring;
	if (!plan_driver->whole || plan_driver->measuring)
		return SEAM_OK;
	plan_driver->settling++;
	if (plan_driver->settling < SETTLING && plan_driver->figures.last_hits != plan_driver->figures.last_requests)
		return SEAM_OK;
	return start_measuring(plan_driver);
}

enum seam_rc plan_driver_after(struct plan_driver *plan_driver, const struct schedule_op *op)
{
	struct plan_driver_driver now;
	if (op->kind == SCHEDULE_BEGIN)
		return SEAM_OK;
	if (op->kind == SCHEDULE_END)
		return end_iteration(plan_driver);
	look_at_driver(plan_driver, &now);
	virtual_time_do(&plan_driver->clocks, now.ns - plan_driver->mark.ns,
		now.memory_calls != plan_driver->mark.memory_calls);
	note_adoption(plan_driver);
	if (!plan_driver->dynamic)
		return SEAM_OK;
	enum seam_rc rc = seam_dynamic_end(plan_driver->pool);
	return rc == SEAM_OK ? rc : run_failed_call(plan_driver->run, rc, "speaking to the pool");
}

/* Requests so far that a plan found a place for when they came. */
static uint64_t dynamic_hits(const struct seam_runtime *planning)
{
	struct seam_match_counts match = {0};
	if (planning->open)
		seam__matcher_get_counts(LIST_FIRST(&planning->active_plans)->matcher, &match);
	return planning->counts.dynamic_hits + match.dynamic_hits;
}

void plan_driver_asked(struct plan_driver *plan_driver)
{
	plan_driver->open = plan_driver->pool->runtime->open;
	plan_driver->hits_asked = plan_driver->pool->runtime->counts.hits;
	plan_driver->dynamic_hits_asked = dynamic_hits(plan_driver->pool->runtime);
}

void plan_driver_served(struct plan_driver *plan_driver, uint64_t bytes, uint64_t ticks)
{
	const struct seam_runtime *planning = plan_driver->pool->runtime;
	bool hit = planning->counts.hits != plan_driver->hits_asked;
	if (hit)
		samples_add(dynamic_hits(planning) != plan_driver->dynamic_hits_asked ? &plan_driver->dynamics
										      : &plan_driver->planned,
			ticks);
	else if (plan_driver->open)
		samples_add(&plan_driver->missed, ticks);
	if (!plan_driver->dynamic && plan_driver->inside && plan_driver->iteration < REPLAY_SHOWN) {
		plan_driver->figures.static_requests[plan_driver->iteration]++;
		plan_driver->figures.static_hits[plan_driver->iteration] += hit;
	}
	if (!plan_driver->run->schedule.timed)
		virtual_time_launch(&plan_driver->clocks, bytes);
	plan_driver->live_bytes += bytes;
	if (plan_driver->measuring && plan_driver->live_bytes > plan_driver->figures.peak_live_bytes)
		plan_driver->figures.peak_live_bytes = plan_driver->live_bytes;
}

void plan_driver_freed(struct plan_driver *plan_driver, uint64_t bytes)
{
	plan_driver->live_bytes -= bytes;
}

enum seam_rc plan_driver_mark(struct plan_driver *plan_driver, const struct schedule_op *op)
{
	enum seam_rc rc = SEAM_OK;
	if (plan_driver->run->options->no_marks)
		return SEAM_OK;
	if (op->kind == SCHEDULE_STEP)
		rc = seam_step(plan_driver->pool);
	else if (op->kind == SCHEDULE_PHASE_BEGIN)
		rc = seam_phase_begin(plan_driver->pool, seam_trace_string(plan_driver->trace, op->target));
	else
		rc = seam_phase_end(plan_driver->pool, seam_trace_string(plan_driver->trace, op->target));
	/* What is repeated may begin or end inside of a phase. */
	if (rc == SEAM_INVALID && op->kind == SCHEDULE_PHASE_END)
		rc = SEAM_OK;
	return rc == SEAM_OK ? rc : run_failed_call(plan_driver->run, rc, "a mark of the program");
}

void plan_driver_take_figures(
	struct plan_driver *plan_driver, const struct seam_clock *clock, struct replay_plan *ret_plan)
{
	struct replay_plan *figures = &plan_driver->figures;
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	struct seam_plan_stats plan = {.size = sizeof(plan), .version = SEAM_PLAN_STATS_VERSION};
	if (seam_stats_get(plan_driver->pool, &stats) != SEAM_OK ||
		seam_plan_stats_get(plan_driver->pool, &plan) != SEAM_OK)
		return; /* only in a child of the process, which a replay does not make */
	const uint64_t misses[] = {
#define SEAM_MISS(name, text) plan.miss_##name,
#include "misses.def"
#undef SEAM_MISS
	};
	for (size_t i = 0; i < SEAM_MISS_COUNT; i++)
		figures->misses_by_cause[i] = misses[i];
	figures->hits = plan.hits;
	figures->dynamic_hits = plan.dynamic_hits;
	figures->misses = plan.misses;
	figures->resyncs = plan.resyncs;
	figures->adoptions = plan.adoptions;
	figures->drops = plan.drops;
	figures->peak_live_bytes = seam__bits_align_up(figures->peak_live_bytes, CHUNK_BYTES);
	figures->peak_reserved_bytes = stats.reserved_bytes_peak;
	figures->timed = plan_driver->planned.count > 0;
	if (figures->timed)
		figures->alloc_ns_p50 = samples_percentile(&plan_driver->planned, clock, 50);
	figures->dynamic_timed = plan_driver->dynamics.count > 0;
	if (figures->dynamic_timed)
		figures->dynamic_alloc_ns_p50 = samples_percentile(&plan_driver->dynamics, clock, 50);
	figures->missed_timed = plan_driver->missed.count > 0;
	if (figures->missed_timed)
		figures->missed_alloc_ns_p50 = samples_percentile(&plan_driver->missed, clock, 50);
	figures->steps = plan_driver->clocks.steps;
	figures->compute_ns = plan_driver->clocks.compute_ns;
	figures->driver_ns = plan_driver->clocks.driver_ns;
	figures->waited_ns = plan_driver->clocks.waited_ns;
	figures->host_ns = plan_driver->clocks.host_ns;
	*ret_plan = *figures;
}
