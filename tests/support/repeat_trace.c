/* repeat_trace.c: see repeat_trace.h. */
#include "repeat_trace.h"

#include <stdlib.h>

#include "schedule.h"

static enum seam_rc add_op(struct seam_trace_builder *builder, const struct schedule *schedule, size_t number,
	uint64_t *sizes, uint32_t *streams)
{
	static const uint8_t kinds[] = {[SCHEDULE_ALLOC] = SEAM_TRACE_ALLOC,
		[SCHEDULE_FREE] = SEAM_TRACE_FREE,
		[SCHEDULE_RECORD_STREAM] = SEAM_TRACE_RECORD_STREAM};
	const struct schedule_op *op = &schedule->ops[number];
	struct seam_trace_event event = {.time_ns = number};

	if (op->kind >= sizeof(kinds))
		return SEAM_OK;
	event.kind = kinds[op->kind];
	event.id = op->target;
	if (op->kind == SCHEDULE_ALLOC) {
		sizes[op->target] = op->bytes;
		streams[op->target] = op->stream;
		event.pool = op->private_id;
	}
	event.size = op->kind == SCHEDULE_RECORD_STREAM ? 0 : sizes[op->target];
	event.stream = schedule->streams[op->kind == SCHEDULE_FREE ? streams[op->target] : op->stream];
	return seam_trace_builder_add(builder, &event);
}

static struct seam_trace *finish(struct seam_trace_builder *builder, enum seam_rc rc)
{
	struct seam_trace *made = NULL;

	if (rc == SEAM_OK && seam_trace_builder_finish(builder, NULL, &made) != SEAM_OK)
		made = NULL;
	seam_trace_builder_destroy(builder);
	return made;
}

struct seam_trace *repeat_trace(const struct seam_trace *trace, uint32_t iterations)
{
	struct schedule schedule;
	struct seam_trace_builder *builder;
	uint64_t *sizes;
	uint32_t *streams;
	enum seam_rc rc;

	if (schedule_build(trace, iterations, &schedule) != SEAM_OK)
		return NULL;
	if (seam_trace_builder_create("repeated", 0, &builder) != SEAM_OK) {
		schedule_fini(&schedule);
		return NULL;
	}
	sizes = calloc((size_t)schedule.block_count + 1, sizeof(*sizes));
	streams = calloc((size_t)schedule.block_count + 1, sizeof(*streams));
	rc = sizes != NULL && streams != NULL ? SEAM_OK : SEAM_OOM_META;
	for (size_t i = 0; rc == SEAM_OK && i < schedule.op_count; i++)
		rc = add_op(builder, &schedule, i, sizes, streams);
	free(streams);
	free(sizes);
	schedule_fini(&schedule);
	return finish(builder, rc);
}

struct seam_trace *unmarked_trace(const struct seam_trace *trace)
{
	struct seam_trace_builder *builder;
	enum seam_rc rc;

	if (seam_trace_builder_create("unmarked", trace->header.device, &builder) != SEAM_OK)
		return NULL;
	rc = SEAM_OK;
	for (uint64_t e = 0; rc == SEAM_OK && e < trace->header.event_count; e++) {
		struct seam_trace_event event = trace->events[e];

		event.module = 0;
		event.phase = 0;
		if (event.kind == SEAM_TRACE_STEP || event.kind == SEAM_TRACE_PHASE_BEGIN ||
			event.kind == SEAM_TRACE_PHASE_END)
			continue;
		rc = seam_trace_builder_add(builder, &event);
	}
	return finish(builder, rc);
}
