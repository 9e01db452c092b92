/* safety_trace.c: see safety_trace.h.
 *
 * The edges of the period, repeated copies + 1 times, are walked from the last to the first. `behind[x][b]` then says, for
 * the point that the walk has reached, at which position at the earliest stream b is ordered behind the work that stream
 * x was given so far. A free asks for that and goes on. Nothing before a free can order anything behind it, so there is
 * nothing to settle first; and what is not ordered within copies + 1 periods is not within the circle.
 *
 * A record keeps a row of its own from its last wait back to itself. Which record a wait is for is found once: that
 * before it in the trace. If it stands before the period, it is the corresponding one of the repetition before: as many
 * events earlier, of the same stream, with as many positions up to the period's end; where the trace has no such
 * record there is no edge. Events that were captured into a graph order nothing when they are recorded.
 */
#include "safety_trace.h"

#include "check.h"
#include "idmap.h"
#include "meta.h"

#define NEVER UINT64_MAX
#define STREAMS_MAX 65536u
#define NO_ROW 0u

struct op {
	uint8_t kind;     /* enum seam_trace_kind: FREE, EVENT_RECORD, EVENT_WAIT, STREAM_SYNC or DEVICE_SYNC */
	bool before;      /* a wait: its record is that of the repetition before */
	uint32_t subject; /* FREE: the request; else the stream's place */
	uint32_t record;  /* a wait: number of the record's op; SEAM__ITEM_NONE: none */
	uint32_t position;
	uint32_t rows[2]; /* a record: its row by parity of the repetition, or NO_ROW */
};

struct walk {
	const struct seam__safety_period *period;
	const struct seam__safety_request *requests;
	uint32_t *holds;
	uint32_t *place_of;      /* per stream number: its place; equal streams have one */
	uint32_t places;         /* streams in all: the numbered ones and those that occur in edges only */
	struct seam_idmap streams; /* stream: its place */
	struct op *ops;
	size_t op_count;
	size_t op_capacity;
	uint64_t *behind;        /* [x * places + b] */
	uint64_t *rows;          /* row r (from 1) is rows[(r - 1) * places] and on */
	uint32_t row_count;      /* ever used */
	uint32_t row_capacity;
	uint32_t free_row;       /* used before; its first value is the number of the next one; or NO_ROW */
};

static enum seam_rc find_place(struct walk *walk, uint64_t stream, uint32_t *ret_place)
{
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(&walk->streams, stream, &values);

	if (rc != SEAM_OK)
		return rc;
	if (values[0] == 0) {
		if (walk->places == STREAMS_MAX)
			return SEAM_INVALID;
		values[0] = ++walk->places;
	}
	*ret_place = (uint32_t)values[0] - 1;
	return SEAM_OK;
}

static bool is_edge(const struct seam_trace_event *event)
{
	return event->kind >= SEAM_TRACE_EVENT_RECORD && event->kind <= SEAM_TRACE_DEVICE_SYNC &&
	       (event->flags & SEAM_TRACE_CAPTURE) == 0;
}

static enum seam_rc add_op(struct walk *walk, const struct op *op)
{
	SEAM_ASSERT(walk->op_count < walk->op_capacity);
	walk->ops[walk->op_count++] = *op;
	return walk->op_count < SEAM__ITEM_NONE ? SEAM_OK : SEAM_INVALID;
}

/* Where positions are counted for same_record(): one period before the given one. */
static uint64_t counted_from(const struct seam__safety_period *period)
{
	uint64_t events = period->last_event - period->first_event;

	return period->first_event > events ? period->first_event - events : 0;
}

/* ret_counts[e - counted_from()]: allocations and frees from event e up to the period's end. */
static void count_positions(const struct seam__safety_period *period, uint32_t *ret_counts)
{
	const struct seam_trace_event *events = period->trace->events;
	uint64_t from = counted_from(period);
	uint32_t count = 0;

	ret_counts[period->last_event - from] = 0;
	for (uint64_t e = period->last_event; e-- > from;) {
		count += events[e].kind == SEAM_TRACE_ALLOC || events[e].kind == SEAM_TRACE_FREE;
		ret_counts[e - from] = count;
	}
}

/* The event of the period that corresponds to record `record` of before it, or NEVER. */
static uint64_t same_record(const struct seam__safety_period *period, const uint32_t *counts, uint64_t record)
{
	const struct seam_trace_event *events = period->trace->events;
	uint64_t later = record + (period->last_event - period->first_event);
	uint64_t from = counted_from(period);

	if (period->linear || later < period->first_event || events[later].kind != SEAM_TRACE_EVENT_RECORD ||
	    events[later].stream != events[record].stream || !is_edge(&events[later]) ||
	    counts[record - from] - counts[period->first_event - from] != counts[later - from])
		return NEVER;
	return later;
}

/* Turns the events of the period into ops. `records`: id of an event to {1 + where it was recorded last}; `op_of`: per
 * event of the period, its op; `frees`: per event, 1 + the request that it frees. */
static enum seam_rc list_op(struct walk *walk, uint64_t e, struct seam_idmap *records, uint32_t *op_of,
                            const uint32_t *frees, uint64_t *wait_record)
{
	const struct seam__safety_period *period = walk->period;
	const struct seam_trace_event *event = &period->trace->events[e];
	uint64_t index = e - period->first_event;
	struct op op = {.kind = event->kind, .record = SEAM__ITEM_NONE, .position = period->positions[index]};
	uint64_t *values;
	enum seam_rc rc;

	if (frees[index] != 0) {
		op.kind = SEAM_TRACE_FREE;
		op.subject = frees[index] - 1;
		return add_op(walk, &op);
	}
	if (!is_edge(event))
		return SEAM_OK;
	rc = find_place(walk, event->stream, &op.subject);
	if (rc != SEAM_OK)
		return rc;
	op_of[index] = (uint32_t)walk->op_count;
	if (event->kind == SEAM_TRACE_EVENT_RECORD) {
		rc = seam__idmap_put(records, event->id, &values);
		if (rc != SEAM_OK)
			return rc;
		values[0] = e + 1;
	} else if (event->kind == SEAM_TRACE_EVENT_WAIT) {
		values = seam__idmap_find(records, event->id);
		wait_record[walk->op_count] = values == NULL ? NEVER : values[0] - 1;
	}
	return add_op(walk, &op);
}

/* Waits learn their records, now that every event of the period has its op. */
static void resolve_waits(struct walk *walk, const uint32_t *op_of, const uint32_t *counts, const uint64_t *wait_record)
{
	const struct seam__safety_period *period = walk->period;

	for (size_t o = 0; o < walk->op_count; o++) {
		struct op *op = &walk->ops[o];
		uint64_t record = wait_record[o];

		if (op->kind != SEAM_TRACE_EVENT_WAIT || record == NEVER)
			continue;
		op->before = record < period->first_event;
		if (op->before)
			record = same_record(period, counts, record);
		if (record != NEVER)
			op->record = op_of[record - period->first_event];
	}
}

/* Records before the period, for waits inside it. Only the last of each id matters. */
static enum seam_rc list_earlier_records(const struct seam__safety_period *period, struct seam_idmap *records)
{
	enum seam_rc rc = SEAM_OK;

	for (uint64_t e = 0; rc == SEAM_OK && e < period->first_event; e++) {
		const struct seam_trace_event *event = &period->trace->events[e];
		uint64_t *values;

		if (event->kind != SEAM_TRACE_EVENT_RECORD || !is_edge(event))
			continue;
		rc = seam__idmap_put(records, event->id, &values);
		if (rc == SEAM_OK)
			values[0] = e + 1;
	}
	return rc;
}

/* Events of the period that become ops. */
static size_t count_ops(const struct seam__safety_period *period)
{
	size_t count = 0;

	for (uint64_t e = period->first_event; e < period->last_event; e++)
		count += period->trace->events[e].kind == SEAM_TRACE_FREE || is_edge(&period->trace->events[e]);
	return count;
}

static enum seam_rc list_ops(struct walk *walk, uint32_t count)
{
	const struct seam__safety_period *period = walk->period;
	size_t events = (size_t)(period->last_event - period->first_event);
	uint32_t *op_of = seam__meta_array(period->meta, events + 1, sizeof(*op_of));
	uint32_t *frees = seam__meta_array(period->meta, events + 1, sizeof(*frees));
	uint64_t *wait_record = seam__meta_array(period->meta, walk->op_capacity, sizeof(*wait_record));
	size_t counted = (size_t)(period->last_event - counted_from(period)) + 1;
	uint32_t *counts = seam__meta_array(period->meta, counted, sizeof(*counts));
	struct seam_idmap records;
	enum seam_rc rc = SEAM_OOM_META;

	seam__idmap_init(&records);
	if (op_of != NULL && frees != NULL && wait_record != NULL && counts != NULL) {
		count_positions(period, counts);
		rc = list_earlier_records(period, &records);
	}
	for (uint32_t i = 0; rc == SEAM_OK && i < count; i++)
		if (walk->requests[i].free_event != SEAM__SAFETY_NO_FREE)
			frees[walk->requests[i].free_event - period->first_event] = i + 1;
	for (uint64_t e = period->first_event; rc == SEAM_OK && e < period->last_event; e++)
		rc = list_op(walk, e, &records, op_of, frees, wait_record);
	if (rc == SEAM_OK)
		resolve_waits(walk, op_of, counts, wait_record);
	seam__idmap_fini(&records);
	seam__meta_free(period->meta, counts, counted * sizeof(*counts));
	seam__meta_free(period->meta, wait_record, walk->op_capacity * sizeof(*wait_record));
	seam__meta_free(period->meta, frees, (events + 1) * sizeof(*frees));
	seam__meta_free(period->meta, op_of, (events + 1) * sizeof(*op_of));
	return rc;
}

/* A row that nobody has: its number, or NO_ROW where there is no memory. */
static uint32_t take_row(struct walk *walk)
{
	size_t row_bytes = walk->places * sizeof(*walk->rows);
	uint32_t row = walk->free_row;

	if (row != NO_ROW) {
		walk->free_row = (uint32_t)walk->rows[(size_t)(row - 1) * walk->places];
		return row;
	}
	if (walk->row_count == walk->row_capacity) {
		uint32_t capacity = walk->row_capacity == 0 ? 16 : 2 * walk->row_capacity;
		void *rows = seam__meta_resize(walk->period->meta, walk->rows, walk->row_capacity * row_bytes,
		                               capacity * row_bytes);

		if (rows == NULL)
			return NO_ROW;
		walk->rows = rows;
		walk->row_capacity = capacity;
	}
	return ++walk->row_count;
}

/* The row of a record in a repetition, made at the first wait that is met. NULL: no memory. */
static uint64_t *get_row(struct walk *walk, struct op *record, uint32_t repetition)
{
	uint32_t *row = &record->rows[repetition % 2];
	bool is_new = *row == NO_ROW;
	uint64_t *values;

	if (is_new)
		*row = take_row(walk);
	if (*row == NO_ROW)
		return NULL;
	values = &walk->rows[(size_t)(*row - 1) * walk->places];
	for (uint32_t b = 0; is_new && b < walk->places; b++)
		values[b] = NEVER;
	return values;
}

static void take_least(uint64_t *values, const uint64_t *others, uint32_t count)
{
	for (uint32_t b = 0; b < count; b++)
		values[b] = others[b] < values[b] ? others[b] : values[b];
}

/* From here on back, what the record covers reaches stream `place` at `now`, and whom that reaches later. */
static enum seam_rc step_wait(struct walk *walk, const struct op *op, uint32_t repetition, uint64_t now)
{
	uint64_t *row;

	if (op->record == SEAM__ITEM_NONE || (op->before && repetition == 0))
		return SEAM_OK;
	row = get_row(walk, &walk->ops[op->record], op->before ? repetition - 1 : repetition);
	if (row == NULL)
		return SEAM_OOM_META;
	take_least(row, &walk->behind[(size_t)op->subject * walk->places], walk->places);
	row[op->subject] = now;
	return SEAM_OK;
}

static void step_record(struct walk *walk, struct op *op, uint32_t repetition)
{
	uint32_t *row = &op->rows[repetition % 2];

	if (*row == NO_ROW)
		return;
	take_least(&walk->behind[(size_t)op->subject * walk->places], &walk->rows[(size_t)(*row - 1) * walk->places],
	           walk->places);
	walk->rows[(size_t)(*row - 1) * walk->places] = walk->free_row;
	walk->free_row = *row;
	*row = NO_ROW;
}

/* The position at which stream `place` is ordered behind the request's last use; `end` is that of its free. */
static uint64_t released(const struct walk *walk, const struct seam__safety_request *request, uint32_t place,
                         uint64_t end)
{
	uint32_t own = walk->place_of[request->stream];
	uint64_t at = own == place ? end : walk->behind[(size_t)own * walk->places + place];

	for (uint32_t u = 0; u < request->user_count && at != NEVER; u++) {
		uint32_t user = walk->place_of[walk->period->users[request->first_user + u]];
		uint64_t from = user == place ? end : walk->behind[(size_t)user * walk->places + place];

		at = from > at ? from : at;
	}
	return at;
}

static void step_free(struct walk *walk, uint32_t number, uint64_t end)
{
	const struct seam__safety_period *period = walk->period;
	const struct seam__safety_request *request = &walk->requests[number];
	uint64_t circle = (uint64_t)period->copies * period->position_count;

	for (uint32_t s = 0; s < period->stream_count; s++) {
		uint64_t at = released(walk, request, walk->place_of[s], end);

		SEAM_ASSERT(at > request->begin);
		if (at != NEVER && at - request->begin <= circle)
			walk->holds[(size_t)number * period->stream_count + s] = (uint32_t)(at - request->begin);
	}
}

static enum seam_rc step(struct walk *walk, struct op *op, uint32_t repetition)
{
	uint64_t now = (uint64_t)repetition * walk->period->position_count + op->position;

	switch (op->kind) {
	case SEAM_TRACE_FREE:
		if (walk->requests[op->subject].lag == repetition)
			step_free(walk, op->subject, now);
		return SEAM_OK;
	case SEAM_TRACE_EVENT_WAIT:
		return step_wait(walk, op, repetition, now);
	case SEAM_TRACE_EVENT_RECORD:
		step_record(walk, op, repetition);
		return SEAM_OK;
	default:
		/* The host waited: what it issues from here on, to anyone, is behind. */
		for (uint32_t x = 0; x < walk->places; x++)
			for (uint32_t b = 0; (x == op->subject || op->kind == SEAM_TRACE_DEVICE_SYNC) && b < walk->places; b++)
				walk->behind[(size_t)x * walk->places + b] = now;
		return SEAM_OK;
	}
}

static enum seam_rc walk_back(struct walk *walk)
{
	size_t values = (size_t)walk->places * walk->places;
	enum seam_rc rc = SEAM_OK;

	walk->behind = seam__meta_array(walk->period->meta, values, sizeof(*walk->behind));
	if (walk->behind == NULL)
		return SEAM_OOM_META;
	for (size_t v = 0; v < values; v++)
		walk->behind[v] = NEVER;
	for (uint32_t r = walk->period->linear ? 1 : walk->period->copies + 1; rc == SEAM_OK && r-- > 0;)
		for (size_t o = walk->op_count; rc == SEAM_OK && o-- > 0;)
			rc = step(walk, &walk->ops[o], r);
	seam__meta_free(walk->period->meta, walk->behind, values * sizeof(*walk->behind));
	return rc;
}

/* What no free in the walk changes: held for ever. */
static void hold_all(const struct walk *walk, uint32_t count)
{
	const struct seam__safety_period *period = walk->period;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t s = 0; s < period->stream_count; s++)
			walk->holds[(size_t)i * period->stream_count + s] =
				period->linear ? period->position_count - walk->requests[i].begin : SEAM__HOLD_ALWAYS;
}

enum seam_rc seam__safety_holds(const struct seam__safety_period *period, const struct seam__safety_request *requests,
                                uint32_t count, uint32_t *ret_holds)
{
	struct walk walk = {.period = period, .requests = requests, .holds = ret_holds,
	                    .op_capacity = count_ops(period) + 1};
	enum seam_rc rc = SEAM_OK;

	if (count == 0)
		return SEAM_OK;
	hold_all(&walk, count);
	seam__idmap_init(&walk.streams);
	walk.ops = seam__meta_array(period->meta, walk.op_capacity, sizeof(*walk.ops));
	walk.place_of = seam__meta_array(period->meta, period->stream_count, sizeof(*walk.place_of));
	if (walk.ops == NULL || walk.place_of == NULL)
		rc = SEAM_OOM_META;
	for (uint32_t s = 0; rc == SEAM_OK && s < period->stream_count; s++)
		rc = find_place(&walk, period->streams[s], &walk.place_of[s]);
	if (rc == SEAM_OK)
		rc = list_ops(&walk, count);
	if (rc == SEAM_OK)
		rc = walk_back(&walk);
	seam__meta_free(period->meta, walk.rows, (size_t)walk.row_capacity * walk.places * sizeof(*walk.rows));
	seam__meta_free(period->meta, walk.place_of, period->stream_count * sizeof(*walk.place_of));
	seam__meta_free(period->meta, walk.ops, walk.op_capacity * sizeof(*walk.ops));
	seam__idmap_fini(&walk.streams);
	return rc;
}
