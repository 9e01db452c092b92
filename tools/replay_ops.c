/* replay_ops.c: one operation of a run. */
#include "replay_run.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu.h"
#include "plan_driver.h"

enum seam_rc run_fail(const struct run *run, enum seam_rc rc, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(run->error, REPLAY_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return rc;
}

enum seam_rc run_failed_call(const struct run *run, enum seam_rc rc, const char *what)
{
	struct seam_driver *driver = run->device.driver;
	int cu = atomic_load_explicit(&driver->last_error, memory_order_relaxed);
	if (run->device.emulated && seam__emu_violations_all(driver) != 0)
		return run_fail(
			run, rc, "%s: the emulated device was misused: %.200s", what, seam__emu_violation_text(driver));
	if (rc != SEAM_DRIVER || cu == SEAM_CU_SUCCESS)
		return run_fail(run, rc, "%s: %s", what, seam_rc_text(rc));
	enum seam_drv_call call = (enum seam_drv_call)atomic_load_explicit(&driver->last_call, memory_order_relaxed);
	return run_fail(run, rc, "%s: %s: %s", what, seam__driver_call_name(call), driver->ops->error_text(driver, cu));
}

static void note_failure(struct run *run, uint64_t bytes)
{
	struct ref_stats stats;
	ref_get_stats(run->allocator, &stats);
	run->oom = true;
	run->result->failure = (struct replay_failure){
		.number = run->result->requests,
		.bytes = bytes,
		.live_bytes = run->live_bytes,
		.reserved_bytes = stats.reserved_bytes,
	};
}

static enum seam_rc do_alloc(struct run *run, const struct schedule_op *op)
{
	struct ref_request request = {
		.bytes = op->bytes > 0 ? op->bytes : 1,
		.stream = run->streams[op->stream],
		.private_id = op->private_id,
	};
	uint64_t va;
	if (run->plan_driver != NULL)
		plan_driver_asked(run->plan_driver);
	call_time_begin(&run->calls);
	enum seam_rc rc = ref_alloc(run->allocator, &request, &va);
	uint64_t ticks = call_time_end(&run->calls);
	run->result->requests++;
	if (rc == SEAM_OOM_DEVICE || rc == SEAM_OOM_VA) {
		note_failure(run, request.bytes);
		return SEAM_OK;
	}
	if (rc != SEAM_OK)
		return run_failed_call(run, rc, "an allocation failed");
	samples_add(&run->allocs, ticks);
	if (run->plan_driver != NULL)
		plan_driver_served(run->plan_driver, request.bytes, ticks);
	run->live_bytes += request.bytes;
	run->live[op->target] = (struct live){.va = va, .bytes = request.bytes, .stream = op->stream};
	if (!run->verifies)
		return SEAM_OK;
	rc = content_fill(&run->content, op->target, va, request.bytes, request.stream);
	return rc == SEAM_OK ? rc : run_failed_call(run, rc, "filling a block");
}

/* Asks for the contents of a block on its stream, if contents are checked. */
static enum seam_rc read_block(struct run *run, uint32_t block, uint32_t stream)
{
	if (!run->verifies)
		return SEAM_OK;
	const struct live *live = &run->live[block];
	enum seam_rc rc = content_read(&run->content, block, live->va, live->bytes, run->streams[stream]);
	return rc == SEAM_OK ? rc : run_failed_call(run, rc, "reading a block");
}

static enum seam_rc do_free(struct run *run, uint32_t block, bool timed)
{
	struct live *live = &run->live[block];
	enum seam_rc rc = read_block(run, block, live->stream);
	if (rc != SEAM_OK)
		return rc;
	call_time_begin(&run->calls);
	rc = ref_free(run->allocator, live->va);
	uint64_t ticks = call_time_end(&run->calls);
	if (rc != SEAM_OK)
		return run_failed_call(run, rc, "a free failed");
	if (timed)
		samples_add(&run->frees, ticks);
	if (run->plan_driver != NULL)
		plan_driver_freed(run->plan_driver, live->bytes);
	run->live_bytes -= live->bytes;
	live->va = 0;
	return SEAM_OK;
}

enum seam_rc run_free_left(struct run *run, uint32_t block)
{
	return run->live[block].va != 0 ? do_free(run, block, false) : SEAM_OK;
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
		return run_failed_call(run, rc, "recording a stream failed");
	if (!run->verifies || op->stream == live->stream)
		return SEAM_OK;
	device_mine_begin(&run->device);
	int cu = order(run, run->streams[live->stream], run->streams[op->stream]);
	device_mine_end(&run->device);
	if (cu != SEAM_CU_SUCCESS)
		return run_failed_call(run, seam__driver_rc(cu), "ordering two streams");
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

static void end_step(struct run *run)
{
	struct replay_result *result = run->result;
	struct device_counts now;
	device_get_counts(&run->device, &now);
	uint64_t memory_calls = device_calls_of(&now, SEAM_DRV_MEMORY);
	if (result->steps < REPLAY_SHOWN)
		result->step_calls[result->steps] = memory_calls - run->step_calls;
	run->step_calls = memory_calls;
	result->steps++;
}

static void begin_iteration(struct run *run)
{
	device_get_counts(&run->device, &run->mark);
	run->calls_mark_ns = run->calls.ns;
}

static void end_iteration(struct run *run, uint32_t iteration)
{
	struct replay_result *result = run->result;
	struct device_counts now;
	uint64_t driver_ns = 0;
	device_get_counts(&run->device, &now);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++) {
		now.calls[i] -= run->mark.calls[i];
		if (seam__driver_call_class((enum seam_drv_call)i) != SEAM_DRV_COPY)
			driver_ns += now.ns[i] - run->mark.ns[i];
	}
	uint64_t memory_calls = device_calls_of(&now, SEAM_DRV_MEMORY);
	if (iteration < REPLAY_SHOWN) {
		result->memory_calls[iteration] = memory_calls;
		result->iteration_driver_ns[iteration] = driver_ns;
		result->iteration_calls_ns[iteration] = (uint64_t)(run->calls.ns - run->calls_mark_ns);
	}
	result->ended = iteration + 1;
	if (iteration != result->iterations - 1)
		return;
	result->memory_calls_last_iteration = memory_calls;
	result->event_calls_last_iteration = device_calls_of(&now, SEAM_DRV_EVENT);
	result->last_complete = true;
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
	case SCHEDULE_BEGIN:
		begin_iteration(run);
		return SEAM_OK;
	case SCHEDULE_END:
		end_iteration(run, op->target);
		return SEAM_OK;
	case SCHEDULE_EVENT_RECORD:
	case SCHEDULE_EVENT_WAIT:
	case SCHEDULE_STREAM_SYNC:
	case SCHEDULE_DEVICE_SYNC: {
		device_mine_begin(&run->device);
		int cu = do_program(run, op);
		device_mine_end(&run->device);
		return cu == SEAM_CU_SUCCESS ? SEAM_OK
					     : run_failed_call(run, seam__driver_rc(cu), "an event of the trace");
	}
	case SCHEDULE_POOL_RELEASE:
		return ref_release_private(run->allocator, op->target);
	case SCHEDULE_POOL_BEGIN:
	case SCHEDULE_POOL_END:
		return SEAM_OK; /* requests name their private pool themselves */
	case SCHEDULE_STEP:
		end_step(run);
		return run->plan_driver != NULL ? plan_driver_mark(run->plan_driver, op) : SEAM_OK;
	case SCHEDULE_PHASE_BEGIN:
	case SCHEDULE_PHASE_END:
		return run->plan_driver != NULL ? plan_driver_mark(run->plan_driver, op) : SEAM_OK;
	}
	return SEAM_OK;
}

/* The program's threads, time and marks, and the worker's chance, are around every operation. */
enum seam_rc run_op(struct run *run, const struct schedule_op *op)
{
	if (run->plan_driver == NULL)
		return do_op(run, op);
	enum seam_rc rc = plan_driver_before(run->plan_driver, op);
	if (rc == SEAM_OK)
		rc = do_op(run, op);
	if (rc == SEAM_OK)
		rc = plan_driver_after(run->plan_driver, op);
	return rc;
}
