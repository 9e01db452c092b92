/* replay.c: one run: set up, operations, end, figures. */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "clock.h"
#include "plan_fit.h"
#include "replay_run.h"
#include "plan_driver.h"

#define PROGRESS_OPS ((size_t)64) /* where memory is real, that many may take some tenths of a second */

static enum seam_rc open_streams(struct run *run)
{
	uint32_t count = run->schedule.stream_count;
	run->streams = calloc(count, sizeof(*run->streams));
	run->events = calloc((size_t)run->schedule.event_count + 1, sizeof(*run->events));
	run->live = calloc((size_t)run->schedule.block_count + 1, sizeof(*run->live));
	if (run->streams == NULL || run->events == NULL || run->live == NULL)
		return run_fail(run, SEAM_OOM_META, "out of host memory");
	run->streams[0] = SEAM_STREAM_DEFAULT;
	device_mine_begin(&run->device);
	int cu = SEAM_CU_SUCCESS;
	for (run->streams_made = 1; run->streams_made < count && cu == SEAM_CU_SUCCESS; run->streams_made++)
		cu = seam__drv_stream_create(
			run->device.driver, SEAM_STREAM_NONBLOCKING, &run->streams[run->streams_made]);
	device_mine_end(&run->device);
	if (cu == SEAM_CU_SUCCESS)
		return SEAM_OK;
	run->streams_made--;
	return run_failed_call(run, seam__driver_rc(cu), "creating a stream");
}

static enum seam_rc open_allocator(struct run *run, const struct seam_trace *trace, uint64_t limit_bytes)
{
	const struct replay_options *options = run->options;
	struct ref_options ref = {.limit_bytes = limit_bytes, .config = options->config};
	struct seam_config config;
	if (options->allocator == REF_SEAM) {
		seam_config_init(&config);
		if (options->config != NULL)
			config = *options->config;
		plan_driver_configure(options->planning, &config);
		ref.config = &config;
	}
	enum seam_rc rc = ref_create(options->allocator, run->device.driver, &ref, run->error, &run->allocator);
	if (rc != SEAM_OK || options->allocator != REF_SEAM || options->planning == REPLAY_PLAN_NONE)
		return rc;
	return plan_driver_create(run, trace, &run->plan_driver);
}

static enum seam_rc open_run(struct run *run, const struct seam_trace *trace)
{
	const struct replay_options *options = run->options;
	enum seam_rc rc = schedule_build(trace, options->iterations, &run->schedule);
	if (rc != SEAM_OK)
		return run_fail(run, rc, "the trace cannot be replayed: %s", seam_rc_text(rc));
	run->result->iterations = run->schedule.iterations;
	if (options->planning == REPLAY_PLAN_FILE && !plan_fits(options->plan, &run->schedule))
		return run_fail(run, SEAM_NOT_FOUND, "%s is a plan of another program", options->plan_name);
	rc = perturb_apply(&options->perturb, &run->schedule);
	if (rc != SEAM_OK)
		return run_fail(run, rc, "the trace cannot be disturbed: %s", seam_rc_text(rc));
	uint64_t capacity_bytes = options->capacity_bytes;
	if (options->capacity_percent != 0)
		capacity_bytes = seam__bits_align_up(
			run->schedule.peak_live_bytes / 100 * options->capacity_percent + 1, 2 << 20);
	run->result->capacity_bytes = capacity_bytes;
	struct device_options device = {
		.kind = options->device,
		.memory = options->memory,
		.capacity_bytes = capacity_bytes,
		.need_bytes = run->schedule.peak_live_bytes,
		.cost_file = options->cost_file,
	};
	rc = device_open(&device, run->error, &run->device);
	if (rc != SEAM_OK)
		return rc;
	rc = open_streams(run);
	if (rc != SEAM_OK)
		return rc;
	/* A GPU's memory always has contents, but comparing a whole run's takes minutes there: who wants it says so. */
	run->verifies = run->device.real && options->memory != DEVICE_MEMORY_AUTO;
	if (run->verifies) {
		rc = content_init(&run->content, &run->device, run->schedule.peak_live_bytes, options->pages_only);
		if (rc != SEAM_OK)
			return run_fail(run, rc, "memory for reading contents: %s", seam_rc_text(rc));
	}
	size_t count = run->schedule.block_count;
	if (!samples_init(&run->allocs, count) || !samples_init(&run->frees, count))
		return run_fail(run, SEAM_OOM_META, "out of host memory");
	seam__clock_init(&run->clock);
	call_time_init(&run->calls, run->clock.ns_per_tick);
	return open_allocator(run, trace, run->device.emulated ? 0 : capacity_bytes);
}

static enum seam_rc do_ops(struct run *run)
{
	const struct schedule *schedule = &run->schedule;
	const struct replay_options *options = run->options;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < schedule->op_count && rc == SEAM_OK && !run->oom; i++) {
		if (options->progress != NULL && i % PROGRESS_OPS == 0)
			options->progress(options->user, i, schedule->op_count);
		rc = run_op(run, &schedule->ops[i]);
	}
	run->result->calls_ns = (uint64_t)run->calls.ns;
	return rc;
}

static void take_figures(struct run *run)
{
	struct replay_result *result = run->result;
	struct ref_stats stats;
	ref_get_stats(run->allocator, &stats);
	result->oom = run->oom;
	if (stats.reserved_peak_bytes > result->peak_reserved_bytes)
		result->peak_reserved_bytes = stats.reserved_peak_bytes; /* else the peak stood before a reset */
	memcpy(result->states, stats.states, sizeof(result->states));
	struct device_counts counts;
	device_get_counts(&run->device, &counts);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++) {
		result->driver_calls[i] = counts.calls[i];
		if (seam__driver_call_class((enum seam_drv_call)i) != SEAM_DRV_COPY)
			result->driver_ns += counts.ns[i];
	}
	seam__clock_sync(&run->clock);
	result->alloc_timed = run->allocs.count > 0;
	if (result->alloc_timed) {
		result->alloc_ns_p50 = samples_percentile(&run->allocs, &run->clock, 50);
		result->alloc_ns_p99 = samples_percentile(&run->allocs, &run->clock, 99);
	}
	result->free_timed = run->frees.count > 0;
	if (run->plan_driver != NULL)
		plan_driver_take_figures(run->plan_driver, &run->clock, &result->plan);
	if (result->free_timed) {
		result->free_ns_p50 = samples_percentile(&run->frees, &run->clock, 50);
		result->free_ns_p99 = samples_percentile(&run->frees, &run->clock, 99);
	}
}

/* Frees what is still live, compares all contents and looks at the allocator's books. */
static enum seam_rc finish(struct run *run)
{
	const char *broken = ref_check(run->allocator);
	if (broken != NULL)
		return run_fail(run, SEAM_CORRUPT, "a check failed: %s", broken);
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; i < run->schedule.block_count && rc == SEAM_OK; i++)
		rc = run_free_left(run, i);
	if (rc == SEAM_OK && run->verifies) {
		rc = content_drain(&run->content);
		if (rc != SEAM_OK)
			return run_failed_call(run, rc, "reading blocks");
		run->result->verified = true;
		run->result->verified_in_full = !run->content.pages_only;
		run->result->verified_bytes = run->content.checked_bytes;
		if (run->content.wrong_blocks != 0)
			return run_fail(run, SEAM_CORRUPT, "%s", run->content.first_wrong);
	}
	broken = rc == SEAM_OK ? ref_check(run->allocator) : NULL;
	return broken == NULL ? rc : run_fail(run, SEAM_CORRUPT, "a check failed: %s", broken);
}

static void close_streams(struct run *run)
{
	struct seam_driver *driver = run->device.driver;
	for (uint32_t i = 0; run->events != NULL && i < run->schedule.event_count; i++) {
		if (run->events[i].id == 0)
			continue;
		int ignored = seam__drv_event_destroy(driver, run->events[i]);
		(void)ignored; /* the device is checked for what is left */
	}
	for (uint32_t i = 1; i < run->streams_made; i++) {
		int ignored = seam__drv_stream_destroy(driver, run->streams[i]);
		(void)ignored;
	}
}

/* Takes everything down, whatever was set up. The first error stays. */
static enum seam_rc close_run(struct run *run, enum seam_rc rc)
{
	if (run->device.driver != NULL) {
		content_fini(&run->content);
		plan_driver_destroy(run->plan_driver);
		uint64_t lost_bytes = ref_destroy(run->allocator);
		close_streams(run);
		char error[DEVICE_ERROR_BYTES];
		enum seam_rc closed = device_close(&run->device, error);
		if (rc == SEAM_OK && closed != SEAM_OK)
			rc = run_fail(run, closed, "%s", error);
		if (rc == SEAM_OK && lost_bytes != 0)
			rc = run_fail(run, SEAM_CORRUPT, "%" PRIu64 " bytes were lost by the allocator", lost_bytes);
	}
	samples_fini(&run->allocs);
	samples_fini(&run->frees);
	free(run->live);
	free(run->streams);
	free(run->events);
	schedule_fini(&run->schedule);
	return rc;
}

enum seam_rc replay_run(const struct seam_trace *trace, const struct replay_options *options, char *error,
	struct replay_result *ret_result)
{
	struct replay_result result = {.allocator = options->allocator};
	struct run run = {.options = options, .error = error, .result = &result};
	enum seam_rc rc = open_run(&run, trace);
	if (rc == SEAM_OK) {
		(void)device_label(&run.device, result.device, sizeof(result.device));
		result.peak_live_bytes = run.schedule.peak_live_bytes;
		result.requests_in_all = run.schedule.block_count;
		rc = do_ops(&run);
	}
	if (rc == SEAM_OK) {
		take_figures(&run);
		rc = finish(&run);
	}
	rc = close_run(&run, rc);
	if (rc == SEAM_OK)
		*ret_result = result;
	return rc;
}
