/* schedule_trace.c: writes the events of a schedule. */
#include "schedule_trace.h"

#include <stdlib.h>

struct tracer {
	const struct schedule *schedule;
	struct seam_trace_builder *builder;
	const struct schedule_op **allocs; /* per block */
	uint64_t time_ns;
	uint64_t steps;
};

static uint8_t kind_of(const struct schedule_op *op)
{
	static const uint8_t kinds[] = {
		[SCHEDULE_ALLOC] = SEAM_TRACE_ALLOC,
		[SCHEDULE_FREE] = SEAM_TRACE_FREE,
		[SCHEDULE_RECORD_STREAM] = SEAM_TRACE_RECORD_STREAM,
		[SCHEDULE_EVENT_RECORD] = SEAM_TRACE_EVENT_RECORD,
		[SCHEDULE_EVENT_WAIT] = SEAM_TRACE_EVENT_WAIT,
		[SCHEDULE_STREAM_SYNC] = SEAM_TRACE_STREAM_SYNC,
		[SCHEDULE_DEVICE_SYNC] = SEAM_TRACE_DEVICE_SYNC,
		[SCHEDULE_POOL_BEGIN] = SEAM_TRACE_POOL_BEGIN,
		[SCHEDULE_POOL_END] = SEAM_TRACE_POOL_END,
		[SCHEDULE_POOL_RELEASE] = SEAM_TRACE_POOL_RELEASE,
		[SCHEDULE_EMPTY_CACHE] = SEAM_TRACE_EMPTY_CACHE,
		[SCHEDULE_STEP] = SEAM_TRACE_STEP,
	};
	return op->kind < sizeof(kinds) ? kinds[op->kind] : 0;
}

static enum seam_rc add(struct tracer *tracer, const struct schedule_op *op)
{
	struct seam_trace_event event = {
		.kind = kind_of(op),
		.id = (uint64_t)op->target + 1,
		.stream = tracer->schedule->streams[op->stream],
		.time_ns = tracer->time_ns,
		.thread = op->thread,
		.pool = op->private_id,
	};
	switch ((enum schedule_kind)op->kind) {
	case SCHEDULE_ALLOC:
		tracer->allocs[op->target] = op;
		event.size = op->bytes;
		event.flags = (op->flags & SCHEDULE_DYNAMIC) != 0 ? SEAM_TRACE_DYNAMIC : 0;
		break;
	case SCHEDULE_FREE:
		event.size = tracer->allocs[op->target]->bytes;
		event.stream = tracer->schedule->streams[tracer->allocs[op->target]->stream];
		break;
	case SCHEDULE_POOL_BEGIN:
	case SCHEDULE_POOL_END:
	case SCHEDULE_POOL_RELEASE:
		event.id = 0;
		break;
	case SCHEDULE_STEP:
		event.id = tracer->steps++;
		break;
	default:
		break;
	}
	return seam_trace_builder_add(tracer->builder, &event);
}

static enum seam_rc add_all(struct tracer *tracer)
{
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < tracer->schedule->op_count && rc == SEAM_OK; i++) {
		const struct schedule_op *op = &tracer->schedule->ops[i];
		if (kind_of(op) == 0)
			continue;
		tracer->time_ns += tracer->schedule->timed ? op->gap_ns : 1;
		rc = add(tracer, op);
	}
	return rc;
}

enum seam_rc schedule_trace(const struct schedule *schedule, const char *source, struct seam_trace **ret_trace)
{
	struct tracer tracer = {.schedule = schedule};
	tracer.allocs = calloc((size_t)schedule->block_count + 1, sizeof(const struct schedule_op *));
	enum seam_rc rc = tracer.allocs != NULL ? seam_trace_builder_create(source, 0, &tracer.builder) : SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = add_all(&tracer);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_finish(tracer.builder, NULL, ret_trace);
	seam_trace_builder_destroy(tracer.builder);
	free(tracer.allocs);
	return rc;
}
