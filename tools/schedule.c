/* schedule.c: writes the repetitions of a trace out, or its steps as they are. */
#include "schedule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "lifetimes.h"
#include "slab.h"
#include "stretch.h"

/* A number of the trace, and the small number that stands for it. */
struct numbered {
	UT_hash_handle hh;
	uint64_t number;
	uint32_t index;
};

struct numbering {
	struct seam_slab slab;
	struct numbered *table;
	uint32_t count;
};

struct writer {
	const struct seam_trace *trace;
	struct lifetimes lifetimes;
	struct stretch stretch;
	struct schedule *out;
	size_t op_capacity;
	uint32_t *block;    /* per lifetime: its newest block, or LIFETIME_NONE */
	uint32_t *previous; /* per lifetime that goes out: its block of the repetition before */
	struct numbering streams;
	struct numbering events;
	uint32_t iteration;
	uint64_t live_bytes;
};

static enum seam_rc number_of(struct numbering *numbering, uint64_t number, uint32_t *ret_index)
{
	struct seam_meta *hash_meta = numbering->slab.meta;
	bool hash_failed = false;
	struct numbered *numbered;
	HASH_FIND(hh, numbering->table, &number, sizeof(number), numbered);
	if (numbered == NULL) {
		numbered = seam__slab_get(&numbering->slab);
		if (numbered == NULL)
			return SEAM_OOM_META;
		*numbered = (struct numbered){.number = number, .index = numbering->count};
		HASH_ADD(hh, numbering->table, number, sizeof(number), numbered);
		if (hash_failed)
			return SEAM_OOM_META;
		numbering->count++;
	}
	*ret_index = numbered->index;
	return SEAM_OK;
}

static void numbering_init(struct numbering *numbering)
{
	*numbering = (struct numbering){.count = 0};
	seam__slab_init(&numbering->slab, seam__meta_process(), sizeof(struct numbered));
}

static void numbering_fini(struct numbering *numbering)
{
	struct seam_meta *hash_meta = numbering->slab.meta;
	HASH_CLEAR(hh, numbering->table);
	(void)seam__slab_fini(&numbering->slab);
}

/* The numbers in order of their indexes. */
static enum seam_rc list_numbers(const struct numbering *numbering, uint64_t **ret_numbers)
{
	uint64_t *numbers = calloc((size_t)numbering->count + 1, sizeof(*numbers));
	if (numbers == NULL)
		return SEAM_OOM_META;
	for (const struct numbered *item = numbering->table; item != NULL; item = item->hh.next)
		numbers[item->index] = item->number;
	*ret_numbers = numbers;
	return SEAM_OK;
}

static enum seam_rc append(struct writer *writer, struct schedule_op op)
{
	struct schedule *out = writer->out;
	if (out->op_count == writer->op_capacity) {
		size_t capacity = writer->op_capacity * 2 + 1024;
		struct schedule_op *ops = realloc(out->ops, capacity * sizeof(*ops));
		if (ops == NULL)
			return SEAM_OOM_META;
		out->ops = ops;
		writer->op_capacity = capacity;
	}
	out->ops[out->op_count++] = op;
	return SEAM_OK;
}

/* The block that an event of this repetition means, or LIFETIME_NONE: none. */
static uint32_t block_now(const struct writer *writer, uint32_t lifetime)
{
	const struct lifetime *item = &writer->lifetimes.items[lifetime];
	if (writer->iteration == 0 || !stretch_comes_in(&writer->stretch, item))
		return writer->block[lifetime];
	uint32_t partner = writer->stretch.partner[lifetime];
	return partner == LIFETIME_NONE ? LIFETIME_NONE : writer->previous[partner];
}

static bool is_resident(const struct writer *writer, uint32_t lifetime)
{
	return stretch_goes_out(&writer->stretch, &writer->lifetimes.items[lifetime]) &&
		writer->stretch.partner[lifetime] == LIFETIME_NONE;
}

static enum seam_rc write_alloc(struct writer *writer, uint32_t lifetime, struct schedule_op op)
{
	if (writer->iteration > 0 && is_resident(writer, lifetime))
		return SEAM_OK;
	if (writer->out->block_count == LIFETIME_NONE)
		return SEAM_INVALID;
	op.target = writer->out->block_count;
	enum seam_rc rc = append(writer, op);
	if (rc != SEAM_OK)
		return rc;
	writer->block[lifetime] = writer->out->block_count++;
	writer->live_bytes += op.bytes;
	if (writer->live_bytes > writer->out->peak_live_bytes)
		writer->out->peak_live_bytes = writer->live_bytes;
	return SEAM_OK;
}

/* A free or a use. */
static enum seam_rc write_touch(struct writer *writer, uint32_t lifetime, struct schedule_op op)
{
	uint32_t block = lifetime == LIFETIME_NONE ? LIFETIME_NONE : block_now(writer, lifetime);
	if (block == LIFETIME_NONE)
		return SEAM_OK;
	op.target = block;
	if (op.kind == SCHEDULE_FREE) {
		/* The block is the partner's where it came out of the repetition before, and may have another size. */
		uint32_t owner = lifetime;
		if (writer->block[lifetime] != block)
			owner = writer->stretch.partner[lifetime];
		writer->live_bytes -= writer->trace->events[writer->lifetimes.items[owner].alloc].size;
		if (owner == lifetime)
			writer->block[lifetime] = LIFETIME_NONE;
		else
			writer->previous[owner] = LIFETIME_NONE;
	}
	return append(writer, op);
}

/* Times of a program that ran, not numbers of lines or estimates. */
static bool has_times(const struct seam_trace *trace)
{
	static const char *const sources[] = {"pytorch snapshot", "seam "};
	const char *source = seam_trace_string(trace, trace->header.source);
	uint64_t count = trace->header.event_count;
	if (source == NULL || count == 0 || trace->events[count - 1].time_ns == 0)
		return false;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strncmp(source, sources[i], strlen(sources[i])) == 0)
			return true;
	return false;
}

static uint32_t gap_before(const struct writer *writer, uint32_t number)
{
	if (!writer->out->timed || number == 0)
		return 0;
	uint64_t gap_ns = writer->trace->events[number].time_ns - writer->trace->events[number - 1].time_ns;
	return gap_ns > UINT32_MAX ? UINT32_MAX : (uint32_t)gap_ns;
}

static enum seam_rc write_event(struct writer *writer, uint32_t number)
{
	static const uint8_t kinds[] = {
		[SEAM_TRACE_ALLOC] = SCHEDULE_ALLOC + 1,
		[SEAM_TRACE_FREE] = SCHEDULE_FREE + 1,
		[SEAM_TRACE_RECORD_STREAM] = SCHEDULE_RECORD_STREAM + 1,
		[SEAM_TRACE_EVENT_RECORD] = SCHEDULE_EVENT_RECORD + 1,
		[SEAM_TRACE_EVENT_WAIT] = SCHEDULE_EVENT_WAIT + 1,
		[SEAM_TRACE_STREAM_SYNC] = SCHEDULE_STREAM_SYNC + 1,
		[SEAM_TRACE_DEVICE_SYNC] = SCHEDULE_DEVICE_SYNC + 1,
		[SEAM_TRACE_POOL_BEGIN] = SCHEDULE_POOL_BEGIN + 1,
		[SEAM_TRACE_POOL_END] = SCHEDULE_POOL_END + 1,
		[SEAM_TRACE_POOL_RELEASE] = SCHEDULE_POOL_RELEASE + 1,
		[SEAM_TRACE_EMPTY_CACHE] = SCHEDULE_EMPTY_CACHE + 1,
		[SEAM_TRACE_STEP] = SCHEDULE_STEP + 1,
		[SEAM_TRACE_PHASE_BEGIN] = SCHEDULE_PHASE_BEGIN + 1,
		[SEAM_TRACE_PHASE_END] = SCHEDULE_PHASE_END + 1,
	};
	const struct seam_trace_event *event = &writer->trace->events[number];
	if (event->kind >= sizeof(kinds) || kinds[event->kind] == 0)
		return SEAM_OK;
	struct schedule_op op = {
		.kind = kinds[event->kind] - 1u,
		.target = event->pool,
		.private_id = event->pool,
		.thread = event->thread,
		.gap_ns = gap_before(writer, number),
	};
	enum seam_rc rc = number_of(&writer->streams, event->stream, &op.stream);
	if (rc != SEAM_OK)
		return rc;
	uint32_t lifetime = writer->lifetimes.of_event[number];
	switch (event->kind) {
	case SEAM_TRACE_ALLOC:
		op.bytes = event->size;
		op.flags = (event->flags & SEAM_TRACE_DYNAMIC) != 0 ? SCHEDULE_DYNAMIC : 0;
		return write_alloc(writer, lifetime, op);
	case SEAM_TRACE_FREE:
	case SEAM_TRACE_RECORD_STREAM:
		return write_touch(writer, lifetime, op);
	case SEAM_TRACE_EVENT_RECORD:
	case SEAM_TRACE_EVENT_WAIT:
		rc = number_of(&writer->events, event->id, &op.target);
		return rc == SEAM_OK ? append(writer, op) : rc;
	case SEAM_TRACE_PHASE_BEGIN:
	case SEAM_TRACE_PHASE_END:
		op.target = event->aux;
		return append(writer, op);
	default:
		return append(writer, op);
	}
}

static enum seam_rc write_range(struct writer *writer, uint32_t begin, uint32_t end)
{
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = begin; i < end && rc == SEAM_OK; i++)
		rc = write_event(writer, i);
	return rc;
}

/* What went out of the repetition before is what its partners mean in the next. */
static void hand_over(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->lifetimes.count; i++)
		if (stretch_goes_out(&writer->stretch, &writer->lifetimes.items[i]))
			writer->previous[i] = writer->block[i];
}

static enum seam_rc write_all(struct writer *writer, uint32_t iterations)
{
	const struct stretch *stretch = &writer->stretch;
	uint32_t unused;
	enum seam_rc rc = number_of(&writer->streams, 0, &unused);
	if (rc == SEAM_OK)
		rc = write_range(writer, 0, stretch->begin);
	for (uint32_t i = 0; i < iterations && rc == SEAM_OK; i++) {
		writer->iteration = i;
		hand_over(writer);
		rc = append(writer, (struct schedule_op){.kind = SCHEDULE_BEGIN, .target = i});
		if (rc == SEAM_OK)
			rc = write_range(writer, stretch->begin, stretch->end);
		if (rc == SEAM_OK)
			rc = append(writer, (struct schedule_op){.kind = SCHEDULE_END, .target = i});
	}
	return rc == SEAM_OK ? write_range(writer, stretch->end, (uint32_t)writer->trace->header.event_count) : rc;
}

/* As recorded: each step is an iteration. What is behind the last mark belongs to none. */
static enum seam_rc write_steps(struct writer *writer)
{
	const struct seam_trace *trace = writer->trace;
	uint32_t count = (uint32_t)trace->header.event_count;
	uint32_t end = count;
	while (end > 0 && trace->events[end - 1].kind != SEAM_TRACE_STEP)
		end--;
	end = end > 0 ? end : count;
	uint32_t unused;
	uint32_t iteration = 0;
	bool begins = true;
	enum seam_rc rc = number_of(&writer->streams, 0, &unused);
	for (uint32_t i = 0; i < end && rc == SEAM_OK; i++) {
		if (begins)
			rc = append(writer, (struct schedule_op){.kind = SCHEDULE_BEGIN, .target = iteration});
		if (rc == SEAM_OK)
			rc = write_event(writer, i);
		begins = trace->events[i].kind == SEAM_TRACE_STEP || i + 1 == end;
		if (rc == SEAM_OK && begins)
			rc = append(writer, (struct schedule_op){.kind = SCHEDULE_END, .target = iteration++});
	}
	writer->out->iterations = iteration;
	return rc == SEAM_OK ? write_range(writer, end, count) : rc;
}

enum seam_rc schedule_build(const struct seam_trace *trace, uint32_t iterations, struct schedule *ret_schedule)
{
	struct schedule schedule = {.iterations = iterations, .timed = has_times(trace)};
	struct writer writer = {.trace = trace, .out = &schedule};
	numbering_init(&writer.streams);
	numbering_init(&writer.events);
	enum seam_rc rc = lifetimes_build(trace, &writer.lifetimes);
	if (rc == SEAM_OK)
		rc = stretch_find(trace, &writer.lifetimes, &writer.stretch);
	if (rc == SEAM_OK) {
		size_t bytes = ((size_t)writer.lifetimes.count + 1) * sizeof(uint32_t);
		writer.block = malloc(bytes);
		writer.previous = malloc(bytes);
		if (writer.block == NULL || writer.previous == NULL) {
			rc = SEAM_OOM_META;
		} else {
			for (uint32_t i = 0; i < writer.lifetimes.count; i++)
				writer.block[i] = writer.previous[i] = LIFETIME_NONE;
			rc = iterations == SCHEDULE_STEPS ? write_steps(&writer) : write_all(&writer, iterations);
		}
	}
	if (rc == SEAM_OK)
		rc = list_numbers(&writer.streams, &schedule.streams);
	schedule.stream_count = writer.streams.count;
	schedule.event_count = writer.events.count;
	free(writer.block);
	free(writer.previous);
	numbering_fini(&writer.streams);
	numbering_fini(&writer.events);
	stretch_fini(&writer.stretch);
	lifetimes_fini(&writer.lifetimes);
	if (rc == SEAM_OK)
		*ret_schedule = schedule;
	else
		schedule_fini(&schedule);
	return rc;
}

void schedule_fini(struct schedule *schedule)
{
	free(schedule->ops);
	free(schedule->streams);
	*schedule = (struct schedule){0};
}

enum seam_rc schedule_measure(struct schedule *schedule)
{
	uint64_t *bytes = calloc((size_t)schedule->block_count + 1, sizeof(*bytes));
	uint64_t live_bytes = 0;
	if (bytes == NULL)
		return SEAM_OOM_META;
	schedule->peak_live_bytes = 0;
	for (size_t i = 0; i < schedule->op_count; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		if (op->kind == SCHEDULE_ALLOC) {
			bytes[op->target] = op->bytes;
			live_bytes += op->bytes;
			if (live_bytes > schedule->peak_live_bytes)
				schedule->peak_live_bytes = live_bytes;
		} else if (op->kind == SCHEDULE_FREE) {
			live_bytes -= bytes[op->target];
		}
	}
	free(bytes);
	return SEAM_OK;
}

const char *schedule_check(const struct schedule *schedule)
{
	uint8_t *state = calloc((size_t)schedule->block_count + 1, 1); /* 0: not yet, 1: live, 2: freed */
	const char *broken = NULL;
	for (size_t i = 0; i < schedule->op_count && broken == NULL && state != NULL; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		if (op->kind == SCHEDULE_ALLOC) {
			broken = op->target < schedule->block_count && state[op->target] == 0 ? NULL
											      : "O1 allocated once";
			if (broken == NULL)
				state[op->target] = 1;
		} else if (op->kind == SCHEDULE_FREE || op->kind == SCHEDULE_RECORD_STREAM) {
			broken = op->target < schedule->block_count && state[op->target] == 1 ? NULL
											      : "O1 used while live";
			if (broken == NULL && op->kind == SCHEDULE_FREE)
				state[op->target] = 2;
		}
	}
	free(state);
	return broken;
}
