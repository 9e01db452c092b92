/* safety_trace.c: see safety_trace.h.
 *
 * The edges of the period, repeated copies + 1 times, are walked from the last to the first. `behind[x][b]` then says,
 * for the point that the walk has reached, at which position at the earliest stream b is ordered behind the work that
 * stream x was given so far. A free asks for that and goes on. Nothing before a free can order anything behind it, so
 * there is nothing to settle first; and what is not ordered within copies + 1 periods is not within the circle.
 *
 * A record keeps a row of its own from its last wait back to itself.
 */
#include "safety_trace.h"

#include <string.h>

#include "check.h"
#include "problem.h"
#include "region.h"
#include "safety_ops.h"

#define NEVER UINT64_MAX
#define NO_ROW 0u

struct walk {
	struct seam_region *region;
	const struct seam_period_slots *slots;
	uint32_t *holds;
	struct seam_safety_ops ops; /* rows of a record: by parity of the repetition, or NO_ROW */
	uint64_t *behind;           /* [x * places + b] */
	uint64_t *rows;             /* row r (from 1) is rows[(r - 1) * places] and on */
	uint32_t row_count;         /* ever used */
	uint32_t row_capacity;
	uint32_t free_row; /* used before; its first value is the number of the next one; or NO_ROW */
};

/* A row that nobody has: its number, or NO_ROW where there is no memory. */
static uint32_t take_row(struct walk *walk)
{
	size_t row_bytes = walk->ops.places * sizeof(*walk->rows);
	uint32_t row = walk->free_row;

	if (row != NO_ROW) {
		walk->free_row = (uint32_t)walk->rows[(size_t)(row - 1) * walk->ops.places];
		return row;
	}
	if (walk->row_count == walk->row_capacity) {
		uint32_t capacity = walk->row_capacity == 0 ? 16 : 2 * walk->row_capacity;
		void *rows = seam__region_array(walk->region, capacity, row_bytes);

		if (rows == NULL)
			return NO_ROW;
		if (walk->row_capacity > 0)
			memcpy(rows, walk->rows, walk->row_capacity * row_bytes);
		walk->rows = rows;
		walk->row_capacity = capacity;
	}
	return ++walk->row_count;
}

/* The row of a record in a repetition, made at the first wait that is met. NULL: no memory. */
static uint64_t *get_row(struct walk *walk, struct seam_safety_op *record, uint32_t repetition)
{
	uint32_t *row = &record->rows[repetition % 2];
	bool is_new = *row == NO_ROW;

	if (is_new)
		*row = take_row(walk);
	if (*row == NO_ROW)
		return NULL;
	uint64_t *values = &walk->rows[(size_t)(*row - 1) * walk->ops.places];
	for (uint32_t b = 0; is_new && b < walk->ops.places; b++)
		values[b] = NEVER;
	return values;
}

static void take_least(uint64_t *values, const uint64_t *others, uint32_t count)
{
	for (uint32_t b = 0; b < count; b++)
		values[b] = others[b] < values[b] ? others[b] : values[b];
}

/* From here on back, what the record covers reaches stream `place` at `now`, and whom that reaches later. */
static enum seam_rc step_wait(struct walk *walk, const struct seam_safety_op *op, uint32_t repetition, uint64_t now)
{
	if (op->record == SEAM__ITEM_NONE || (op->before && repetition == 0))
		return SEAM_OK;
	uint64_t *row = get_row(walk, &walk->ops.items[op->record], op->before ? repetition - 1 : repetition);
	if (row == NULL)
		return SEAM_OOM_META;
	take_least(row, &walk->behind[(size_t)op->subject * walk->ops.places], walk->ops.places);
	row[op->subject] = now;
	return SEAM_OK;
}

static void step_record(struct walk *walk, struct seam_safety_op *op, uint32_t repetition)
{
	uint32_t *row = &op->rows[repetition % 2];

	if (*row == NO_ROW)
		return;
	take_least(&walk->behind[(size_t)op->subject * walk->ops.places],
		&walk->rows[(size_t)(*row - 1) * walk->ops.places], walk->ops.places);
	walk->rows[(size_t)(*row - 1) * walk->ops.places] = walk->free_row;
	walk->free_row = *row;
	*row = NO_ROW;
}

/* The position at which stream `place` is ordered behind the slot's last use; `end` is that of its free. */
static uint64_t released(const struct walk *walk, const struct seam_period_slot *slot, uint32_t place, uint64_t end)
{
	const uint32_t *users = walk->slots->users.items;
	uint32_t own = walk->ops.place_of[slot->stream];
	uint64_t at = own == place ? end : walk->behind[(size_t)own * walk->ops.places + place];

	for (uint32_t u = 0; u < slot->user_count && at != NEVER; u++) {
		uint32_t user = walk->ops.place_of[users[slot->first_user + u]];
		uint64_t from = user == place ? end : walk->behind[(size_t)user * walk->ops.places + place];

		at = from > at ? from : at;
	}
	return at;
}

static void step_free(struct walk *walk, uint32_t number, uint64_t end)
{
	const struct seam_period_slots *slots = walk->slots;
	const struct seam_period_slot *slot = seam__slot_at(slots, number);
	uint64_t circle = (uint64_t)slots->copies * slots->position_count;

	for (uint32_t s = 0; s < slots->streams.count; s++) {
		uint64_t at = released(walk, slot, walk->ops.place_of[s], end);

		SEAM_ASSERT(at > slot->begin);
		if (at != NEVER && at - slot->begin <= circle)
			walk->holds[(size_t)number * slots->streams.count + s] = (uint32_t)(at - slot->begin);
	}
}

static enum seam_rc step(struct walk *walk, struct seam_safety_op *op, uint32_t repetition)
{
	uint64_t now = (uint64_t)repetition * walk->slots->position_count + op->position;

	switch (op->kind) {
	case SEAM_TRACE_FREE:
		if (seam__slot_at(walk->slots, op->subject)->lag == repetition)
			step_free(walk, op->subject, now);
		return SEAM_OK;
	case SEAM_TRACE_EVENT_WAIT:
		return step_wait(walk, op, repetition, now);
	case SEAM_TRACE_EVENT_RECORD:
		step_record(walk, op, repetition);
		return SEAM_OK;
	default:
		/* The host waited: what it issues from here on, to anyone, is behind. */
		for (uint32_t x = 0; x < walk->ops.places; x++)
			for (uint32_t b = 0;
				(x == op->subject || op->kind == SEAM_TRACE_DEVICE_SYNC) && b < walk->ops.places; b++)
				walk->behind[(size_t)x * walk->ops.places + b] = now;
		return SEAM_OK;
	}
}

static enum seam_rc walk_back(struct walk *walk)
{
	size_t values = (size_t)walk->ops.places * walk->ops.places;
	enum seam_rc rc = SEAM_OK;

	walk->behind = seam__region_array(walk->region, values, sizeof(*walk->behind));
	if (walk->behind == NULL)
		return SEAM_OOM_META;
	for (size_t v = 0; v < values; v++)
		walk->behind[v] = NEVER;
	for (uint32_t r = walk->slots->period.linear ? 1 : walk->slots->copies + 1; rc == SEAM_OK && r-- > 0;)
		for (size_t o = walk->ops.count; rc == SEAM_OK && o-- > 0;)
			rc = step(walk, &walk->ops.items[o], r);
	return rc;
}

/* What no free in the walk changes: held for ever. */
static void hold_all(const struct walk *walk)
{
	const struct seam_period_slots *slots = walk->slots;

	for (uint32_t i = 0; i < seam__slots_count(slots); i++)
		for (uint32_t s = 0; s < slots->streams.count; s++)
			walk->holds[(size_t)i * slots->streams.count + s] = slots->period.linear
				? slots->position_count - seam__slot_at(slots, i)->begin
				: SEAM__HOLD_ALWAYS;
}

enum seam_rc seam__safety_holds(struct seam_region *region, const struct seam_period_slots *slots, uint32_t *ret_holds)
{
	struct walk walk = {.region = region, .slots = slots, .holds = ret_holds};

	hold_all(&walk);
	enum seam_rc rc = seam__safety_ops_init(region, slots, &walk.ops);
	if (rc == SEAM_OK)
		rc = walk_back(&walk);
	seam__safety_ops_fini(&walk.ops);
	return rc;
}
