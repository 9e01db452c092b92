/* replay.c: one run: set up, operations, end, figures. */
#include "replay.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "clock.h"
#include "content.h"
#include "samples.h"
#include "schedule.h"

#define PROGRESS_OPS ((size_t)64) /* where memory is real, that many may take some tenths of a second */

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
	uint64_t *streams;         /* driver handles */
	uint32_t streams_made;     /* streams[1 .. streams_made) are ours */
	struct seam_event *events; /* id 0: not created yet */
	struct samples allocs;
	struct samples frees;
	struct seam_clock clock;
	struct device_counts last; /* at the begin of the last iteration */
	bool oom;
	struct replay_result *result;
	char *error;
};

__attribute__((format(printf, 3, 4))) static enum seam_rc fail(const struct run *run, enum seam_rc rc,
                                                              const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(run->error, REPLAY_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return rc;
}

static enum seam_rc failed_call(const struct run *run, enum seam_rc rc, const char *what)
{
	struct seam_driver *driver = run->device.driver;
	int cu = atomic_load_explicit(&driver->last_error, memory_order_relaxed);
	if (rc != SEAM_DRIVER || cu == SEAM_CU_SUCCESS)
		return fail(run, rc, "%s: %s", what, seam_rc_text(rc));
	enum seam_drv_call call = (enum seam_drv_call)atomic_load_explicit(&driver->last_call, memory_order_relaxed);
	return fail(run, rc, "%s: %s: %s", what, seam__driver_call_name(call), driver->ops->error_text(driver, cu));
}

static enum seam_rc open_streams(struct run *run)
{
	uint32_t count = run->schedule.stream_count;
	run->streams = calloc(count, sizeof(*run->streams));
	run->events = calloc((size_t)run->schedule.event_count + 1, sizeof(*run->events));
	run->live = calloc((size_t)run->schedule.block_count + 1, sizeof(*run->live));
	if (run->streams == NULL || run->events == NULL || run->live == NULL)
		return fail(run, SEAM_OOM_META, "out of host memory");
	run->streams[0] = SEAM_STREAM_DEFAULT;
	device_mine_begin(&run->device);
	int cu = SEAM_CU_SUCCESS;
	for (run->streams_made = 1; run->streams_made < count && cu == SEAM_CU_SUCCESS; run->streams_made++)
		cu = seam__drv_stream_create(run->device.driver, SEAM_STREAM_NONBLOCKING,
		                             &run->streams[run->streams_made]);
	device_mine_end(&run->device);
	if (cu == SEAM_CU_SUCCESS)
		return SEAM_OK;
	run->streams_made--;
	return failed_call(run, seam__driver_rc(cu), "creating a stream");
}

static enum seam_rc open_run(struct run *run, const struct seam_trace *trace)
{
	const struct replay_options *options = run->options;
	enum seam_rc rc = schedule_build(trace, options->iterations, &run->schedule);
	if (rc != SEAM_OK)
		return fail(run, rc, "the trace cannot be replayed: %s", seam_rc_text(rc));
	uint64_t capacity_bytes = options->capacity_bytes;
	if (options->capacity_percent != 0)
		capacity_bytes = seam__bits_align_up(run->schedule.peak_live_bytes / 100 * options->capacity_percent + 1, 2 << 20);
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
	run->verifies = run->device.real;
	if (run->verifies) {
		rc = content_init(&run->content, &run->device, run->schedule.peak_live_bytes, options->pages_only);
		if (rc != SEAM_OK)
			return fail(run, rc, "memory for reading contents: %s", seam_rc_text(rc));
	}
	size_t count = run->schedule.block_count;
	if (!samples_init(&run->allocs, count) || !samples_init(&run->frees, count))
		return fail(run, SEAM_OOM_META, "out of host memory");
	struct ref_options ref = {
		.limit_bytes = run->device.emulated ? 0 : capacity_bytes,
		.config = options->config,
	};
	seam__clock_init(&run->clock);
	return ref_create(options->allocator, run->device.driver, &ref, run->error, &run->allocator);
}

static enum seam_rc do_alloc(struct run *run, const struct schedule_op *op)
{
	struct ref_request request = {
		.bytes = op->bytes > 0 ? op->bytes : 1,
		.stream = run->streams[op->stream],
		.private_id = op->private_id,
	};
	uint64_t va;
	uint64_t start = seam__clock_ticks();
	enum seam_rc rc = ref_alloc(run->allocator, &request, &va);
	uint64_t ticks = seam__clock_ticks() - start;
	run->result->requests++;
	if (rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA) {
		run->oom = true;
		return SEAM_OK;
	}
	if (rc != SEAM_OK)
		return failed_call(run, rc, "an allocation failed");
	samples_add(&run->allocs, ticks);
	run->live[op->target] = (struct live){.va = va, .bytes = request.bytes, .stream = op->stream};
	if (!run->verifies)
		return SEAM_OK;
	rc = content_fill(&run->content, op->target, va, request.bytes, request.stream);
	return rc == SEAM_OK ? rc : failed_call(run, rc, "filling a block");
}

/* Asks for the contents of a block on its stream, if contents are checked. */
static enum seam_rc read_block(struct run *run, uint32_t block, uint32_t stream)
{
	if (!run->verifies)
		return SEAM_OK;
	const struct live *live = &run->live[block];
	enum seam_rc rc = content_read(&run->content, block, live->va, live->bytes, run->streams[stream]);
	return rc == SEAM_OK ? rc : failed_call(run, rc, "reading a block");
}

static enum seam_rc do_free(struct run *run, uint32_t block, bool timed)
{
	struct live *live = &run->live[block];
	enum seam_rc rc = read_block(run, block, live->stream);
	if (rc != SEAM_OK)
		return rc;
	uint64_t start = seam__clock_ticks();
	rc = ref_free(run->allocator, live->va);
	uint64_t ticks = seam__clock_ticks() - start;
	if (rc != SEAM_OK)
		return failed_call(run, rc, "a free failed");
	if (timed)
		samples_add(&run->frees, ticks);
	live->va = 0;
	return SEAM_OK;
}

/* Makes `to` wait for what `from` has been given so far. */
static int order(struct run *run, uint64_t from, uint64_t to)
{
	struct seam_driver *driver = run->device.driver;
	struct seam_event event;
	int cu = seam__drv_event_create(driver, &event);
	if (cu != SEAM_CU_SUCCESS)
		return cu;
	cu = seam__drv_event_record(driver, event, from);
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_stream_wait_event(driver, to, event);
	int destroyed = seam__drv_event_destroy(driver, event);
	return cu != SEAM_CU_SUCCESS ? cu : destroyed;
}

/* The other stream really uses the block, behind its owner's work. */
static enum seam_rc do_record_stream(struct run *run, const struct schedule_op *op)
{
	const struct live *live = &run->live[op->target];
	enum seam_rc rc = ref_record_stream(run->allocator, live->va, run->streams[op->stream]);
	if (rc != SEAM_OK)
		return failed_call(run, rc, "recording a stream failed");
	if (!run->verifies || op->stream == live->stream)
		return SEAM_OK;
	device_mine_begin(&run->device);
	int cu = order(run, run->streams[live->stream], run->streams[op->stream]);
	device_mine_end(&run->device);
	if (cu != SEAM_CU_SUCCESS)
		return failed_call(run, seam__driver_rc(cu), "ordering two streams");
	return read_block(run, op->target, op->stream);
}

/* Edges and waits of the program itself. */
static int do_program(struct run *run, const struct schedule_op *op)
{
	struct seam_driver *driver = run->device.driver;
	uint64_t stream = run->streams[op->stream];
	struct seam_event *event = &run->events[op->kind == SCHEDULE_EVENT_RECORD || op->kind == SCHEDULE_EVENT_WAIT
	                                                ? op->target
	                                                : run->schedule.event_count];
	int cu = SEAM_CU_SUCCESS;
	switch (op->kind) {
	case SCHEDULE_EVENT_RECORD:
		if (event->id == 0)
			cu = seam__drv_event_create(driver, event);
		return cu != SEAM_CU_SUCCESS ? cu : seam__drv_event_record(driver, *event, stream);
	case SCHEDULE_EVENT_WAIT:
		return event->id == 0 ? cu : seam__drv_stream_wait_event(driver, stream, *event);
	case SCHEDULE_STREAM_SYNC:
		return seam__drv_stream_sync(driver, stream);
	case SCHEDULE_DEVICE_SYNC:
		return seam__drv_device_sync(driver);
	default:
		return cu;
	}
}

static void end_last(struct run *run)
{
	struct device_counts now;
	device_get_counts(&run->device, &now);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		now.calls[i] -= run->last.calls[i];
	run->result->memory_calls_last_iteration = device_calls_of(&now, SEAM_DRV_MEMORY);
	run->result->event_calls_last_iteration = device_calls_of(&now, SEAM_DRV_EVENT);
	run->result->last_complete = true;
}

static enum seam_rc do_op(struct run *run, const struct schedule_op *op)
{
	switch ((enum schedule_kind)op->kind) {
	case SCHEDULE_ALLOC:
		return do_alloc(run, op);
	case SCHEDULE_FREE:
		return do_free(run, op->target, true);
	case SCHEDULE_RECORD_STREAM:
		return do_record_stream(run, op);
	case SCHEDULE_EMPTY_CACHE:
		return ref_empty_cache(run->allocator);
	case SCHEDULE_LAST_BEGIN:
		device_get_counts(&run->device, &run->last);
		return SEAM_OK;
	case SCHEDULE_LAST_END:
		end_last(run);
		return SEAM_OK;
	case SCHEDULE_EVENT_RECORD:
	case SCHEDULE_EVENT_WAIT:
	case SCHEDULE_STREAM_SYNC:
	case SCHEDULE_DEVICE_SYNC: {
		device_mine_begin(&run->device);
		int cu = do_program(run, op);
		device_mine_end(&run->device);
		return cu == SEAM_CU_SUCCESS ? SEAM_OK : failed_call(run, seam__driver_rc(cu), "an event of the trace");
	}
	case SCHEDULE_POOL_RELEASE:
		return ref_release_private(run->allocator, op->target);
	case SCHEDULE_POOL_BEGIN:
	case SCHEDULE_POOL_END:
		return SEAM_OK; /* requests name their private pool themselves */
	}
	return SEAM_OK;
}

static enum seam_rc do_ops(struct run *run)
{
	const struct schedule *schedule = &run->schedule;
	const struct replay_options *options = run->options;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < schedule->op_count && rc == SEAM_OK && !run->oom; i++) {
		if (options->progress != NULL && i % PROGRESS_OPS == 0)
			options->progress(options->user, i, schedule->op_count);
		rc = do_op(run, &schedule->ops[i]);
	}
	return rc;
}

static void take_figures(struct run *run)
{
	struct replay_result *result = run->result;
	struct ref_stats stats;
	ref_get_stats(run->allocator, &stats);
	result->oom = run->oom;
	result->peak_reserved_bytes = stats.reserved_peak_bytes;
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
		return fail(run, SEAM_CORRUPT, "a check failed: %s", broken);
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; i < run->schedule.block_count && rc == SEAM_OK; i++)
		if (run->live[i].va != 0)
			rc = do_free(run, i, false);
	if (rc == SEAM_OK && run->verifies) {
		rc = content_drain(&run->content);
		if (rc != SEAM_OK)
			return failed_call(run, rc, "reading blocks");
		run->result->verified = true;
		run->result->verified_in_full = !run->content.pages_only;
		run->result->verified_bytes = run->content.checked_bytes;
		if (run->content.wrong_blocks != 0)
			return fail(run, SEAM_CORRUPT, "%s", run->content.first_wrong);
	}
	broken = rc == SEAM_OK ? ref_check(run->allocator) : NULL;
	return broken == NULL ? rc : fail(run, SEAM_CORRUPT, "a check failed: %s", broken);
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
		uint64_t lost_bytes = ref_destroy(run->allocator);
		close_streams(run);
		char error[DEVICE_ERROR_BYTES];
		enum seam_rc closed = device_close(&run->device, error);
		if (rc == SEAM_OK && closed != SEAM_OK)
			rc = fail(run, closed, "%s", error);
		if (rc == SEAM_OK && lost_bytes != 0)
			rc = fail(run, SEAM_CORRUPT, "%" PRIu64 " bytes were lost by the allocator", lost_bytes);
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
	struct replay_result result = {.allocator = options->allocator, .iterations = options->iterations};
	struct run run = {.options = options, .error = error, .result = &result};
	enum seam_rc rc = open_run(&run, trace);
	if (rc == SEAM_OK) {
		(void)device_label(&run.device, result.device, sizeof(result.device));
		result.peak_live_bytes = run.schedule.peak_live_bytes;
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
