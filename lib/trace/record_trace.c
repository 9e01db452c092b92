/* record_trace.c: from a recorder's log to a trace.
 *
 * The log is copied segment by segment, without a lock: the one that is read is not used again meanwhile. Room for the
 * copy is made without one too: that takes as long as the log is large, and threads that record wait for `gather`. If
 * the oldest segments leave the log, the copy begins again. Everything else is done on the copy, in two passes: the
 * first counts the events and enters the strings, the second writes them to where they belong, since a trace is its own
 * file image.
 *
 * What makes T1-T6 hold: events are copied up to the first that is still being written; a block is known if the copy or
 * its residents have its allocation, and what is not known is left out; phases of all threads are brought into one
 * nesting.
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "record.h"
#include "recorder.h"
#include "strings.h"
#include "trace_format.h"

#define TRIES 4u /* the last one keeps everybody waiting */

/* Residents that may come while room is made. Without room for them 4 of 13 tries fail (bench/results/ablation.md). */
#define SPARE_RESIDENTS (2 * SEAM_RECORD_SEGMENT)

struct copy {
	struct seam_record_residents residents; /* live before `first` */
	struct seam_record_slot *slots;         /* of numbers first, first + 1, ...; `order` 0: lost */
	uint64_t first, count, capacity;
	const char (*names)[SEAM_RECORD_NAME_BYTES];
};

static struct seam_meta *meta(void)
{
	return seam__meta_process();
}

static void fini_copy(struct copy *copy)
{
	seam__record_residents_fini(&copy->residents);
	seam__meta_free(meta(), copy->slots, copy->capacity * sizeof *copy->slots);
	copy->slots = NULL;
}

/* How much there is from `newest` events before the end on, or (0) in all. With `gather`. */
static void measure(const struct seam_recorder *recorder, uint64_t newest, struct copy *copy, uint64_t *ret_residents)
{
	const uint64_t oldest = recorder->log.first * SEAM_RECORD_SEGMENT;
	const uint64_t drawn = atomic_load_explicit(&recorder->drawn, memory_order_relaxed);
	copy->capacity = drawn - oldest;
	if (newest != 0 && newest < copy->capacity)
		copy->capacity = newest;
	copy->first = drawn - copy->capacity + 1;
	*ret_residents = seam__record_residents_live(&recorder->log.residents) + SPARE_RESIDENTS;
}

static enum seam_rc make_room(struct copy *copy, uint64_t residents)
{
	const enum seam_rc rc = seam__record_residents_reserve(meta(), residents, &copy->residents);
	if (rc != SEAM_OK || copy->capacity == 0)
		return rc;
	copy->slots = seam__meta_array(meta(), copy->capacity, sizeof *copy->slots);
	return copy->slots != NULL ? SEAM_OK : SEAM_OOM_META;
}

/* Residents; and what has left the log while room was made is no part of the copy. False: they have become too many.
 * With `gather`. */
static bool begin_copy(const struct seam_recorder *recorder, struct copy *copy)
{
	copy->first = seam__bits_max(copy->first, recorder->log.first * SEAM_RECORD_SEGMENT + 1);
	return seam__record_residents_copy(&recorder->log.residents, &copy->residents);
}

static void copy_slot(const struct seam_record_slot *from, struct seam_record_slot *to)
{
	atomic_store_explicit(
		&to->order, atomic_load_explicit(&from->order, memory_order_relaxed), memory_order_relaxed);
	to->id = from->id;
	to->bytes = from->bytes;
	to->stream = from->stream;
	to->ticks = from->ticks;
	to->pool = from->pool;
	to->thread = from->thread;
	to->kind = from->kind;
	to->flags = from->flags;
}

/* What is there of a segment: passed over, as far as it lies before the copy, else copied. False at an event that is
 * still being written, and where the copy is full. segment: NULL: lost. */
static bool copy_segment(const struct seam_record_segment *segment, uint64_t number, struct copy *copy)
{
	uint64_t first = seam__record_log_first_order(number);
	uint32_t i = 0;
	if (first < copy->first) {
		uint64_t before = copy->first - first;
		i = before < SEAM_RECORD_SEGMENT ? (uint32_t)before : SEAM_RECORD_SEGMENT;
	}
	if (segment != NULL && i > 0)
		(void)seam__record_residents_pass(&copy->residents, segment->slots, first, i);
	for (; i < SEAM_RECORD_SEGMENT && copy->count < copy->capacity; i++, copy->count++) {
		if (segment == NULL)
			continue; /* lost; the copy is all zero there */
		if (!seam__record_slot_is(&segment->slots[i], first + i))
			return false;
		copy_slot(&segment->slots[i], &copy->slots[copy->count]);
	}
	return copy->count < copy->capacity;
}

/* Segment after segment, from the oldest in the log on. With `gather`, which is given up for each of them unless
 * `hold`. False: the log has moved on. */
static bool copy_all(struct seam_recorder *recorder, bool hold, struct copy *copy)
{
	const struct seam_record_log *log = &recorder->log;
	bool more = copy->capacity > 0;
	for (uint64_t number = log->first; more; number++) {
		if (number < log->first)
			return false;
		struct seam_record_segment *segment = seam__record_log_segment(log, number);
		if (segment != NULL)
			segment->readers++;
		if (!hold)
			seam__mutex_unlock(&recorder->gather);
		more = copy_segment(segment, number, copy);
		if (!hold)
			seam__mutex_lock(&recorder->gather);
		if (segment != NULL)
			segment->readers--;
	}
	return true;
}

/* SEAM_BUSY: the log has moved on. */
static enum seam_rc try_copy(struct seam_recorder *recorder, uint64_t newest, bool hold, struct copy *copy)
{
	uint64_t residents;
	*copy = (struct copy){0};
	seam__mutex_lock(&recorder->gather);
	measure(recorder, newest, copy, &residents);
	if (!hold)
		seam__mutex_unlock(&recorder->gather);
	enum seam_rc rc = make_room(copy, residents);
	if (!hold)
		seam__mutex_lock(&recorder->gather);
	const bool is_copied = rc == SEAM_OK && begin_copy(recorder, copy) && copy_all(recorder, hold, copy);
	copy->names =
		(const char(*)[SEAM_RECORD_NAME_BYTES])recorder->contexts.names; /* of every phase that was copied */
	seam__mutex_unlock(&recorder->gather);
	if (is_copied)
		return SEAM_OK;
	fini_copy(copy);
	return rc != SEAM_OK ? rc : SEAM_BUSY;
}

/* A trace being written, or counted. */
struct writer {
	const struct copy *copy;
	const struct seam_clock *clock;
	struct seam_trace_event *events; /* NULL: only counted */
	uint64_t count;
	uint64_t start_ns, now_ns;
	struct seam_strings strings;
	uint32_t texts[SEAM_RECORD_NAMES];   /* strings of the names of phases; 0: none yet */
	uint16_t numbers[SEAM_RECORD_NAMES]; /* phases of the trace by name, from 1; 0: none yet */
	uint16_t phase_count;
	struct seam_record_phases phases; /* open now */
};

static uint16_t phase_now(const struct writer *writer)
{
	uint32_t count = writer->phases.count;
	return count == 0 ? 0 : writer->numbers[writer->phases.open[count - 1].name];
}

static void put(struct writer *writer, const struct seam_trace_event *event)
{
	if (writer->events != NULL)
		writer->events[writer->count] = *event;
	writer->count++;
}

static void put_residents(struct writer *writer)
{
	const struct seam_record_residents *residents = &writer->copy->residents;
	for (uint64_t i = 0; i < residents->count; i++) {
		const struct seam_record_resident *resident = &residents->items[i];
		if (resident->dead)
			continue;
		const struct seam_trace_event event = {
			.kind = SEAM_TRACE_ALLOC,
			.flags = resident->flags | SEAM_TRACE_RESIDENT,
			.id = resident->id,
			.size = resident->bytes,
			.stream = resident->stream,
			.thread = resident->thread,
			.pool = resident->pool,
		};
		put(writer, &event);
	}
}

static enum seam_rc enter_name(struct writer *writer, uint32_t name)
{
	if (writer->numbers[name] != 0)
		return SEAM_OK;
	writer->numbers[name] = ++writer->phase_count;
	return seam__strings_intern(&writer->strings, writer->copy->names[name], &writer->texts[name]);
}

static void put_phase(struct writer *writer, uint8_t kind, const struct seam_record_phase *phase)
{
	const struct seam_trace_event event = {
		.kind = kind,
		.phase = writer->numbers[phase->name],
		.time_ns = writer->now_ns,
		.thread = phase->thread,
		.aux = writer->texts[phase->name],
	};
	put(writer, &event);
}

static enum seam_rc begin_phase(struct writer *writer, uint32_t thread, uint32_t name)
{
	const struct seam_record_phase phase = {.thread = thread, .name = name};
	if (writer->phases.count == SEAM_RECORD_PHASES)
		return SEAM_OK;
	enum seam_rc rc = enter_name(writer, name);
	if (rc == SEAM_OK) {
		put_phase(writer, SEAM_TRACE_PHASE_BEGIN, &phase);
		seam__record_phases_begin(&writer->phases, thread, name);
	}
	return rc;
}

/* Phases of other threads that began inside it end for a moment. */
static void end_phase(struct writer *writer, uint32_t thread, uint32_t name)
{
	struct seam_record_phases *phases = &writer->phases;
	uint32_t place = seam__record_phases_find(phases, thread, name);
	if (place == phases->count)
		return;
	for (uint32_t i = phases->count; i-- > place;)
		put_phase(writer, SEAM_TRACE_PHASE_END, &phases->open[i]);
	seam__record_phases_remove(phases, place);
	for (uint32_t i = place; i < phases->count; i++)
		put_phase(writer, SEAM_TRACE_PHASE_BEGIN, &phases->open[i]);
}

/* Whether it is known where the block was allocated; a free has the size, stream and pool of that (T2). */
static bool know_block(const struct copy *copy, struct seam_trace_event *event)
{
	struct seam_trace_event block;
	if (event->id < copy->first) {
		const struct seam_record_resident *resident = seam__record_residents_find(&copy->residents, event->id);
		if (resident == NULL)
			return false;
		block = (struct seam_trace_event){
			.size = resident->bytes, .stream = resident->stream, .pool = resident->pool};
	} else {
		const struct seam_record_slot *slot = &copy->slots[event->id - copy->first];
		if (event->id - copy->first >= copy->count || !seam__record_slot_is(slot, event->id) ||
			slot->kind != SEAM_TRACE_ALLOC)
			return false;
		block = (struct seam_trace_event){.size = slot->bytes, .stream = slot->stream, .pool = slot->pool};
	}
	if (event->kind == SEAM_TRACE_FREE) {
		event->size = block.size;
		event->stream = block.stream;
		event->pool = block.pool;
	}
	return true;
}

static enum seam_rc put_event(struct writer *writer, const struct seam_record_slot *slot)
{
	uint64_t ns = slot->ticks == 0 ? 0 : seam__clock_ticks_to_ns(writer->clock, slot->ticks) - writer->start_ns;
	/* Numbers are drawn before the counter is read, so that times of different threads may cross (T3). */
	if (ns > writer->now_ns && ns <= INT64_MAX)
		writer->now_ns = ns;
	if (slot->kind == SEAM_TRACE_PHASE_BEGIN)
		return begin_phase(writer, slot->thread, (uint32_t)slot->id);
	if (slot->kind == SEAM_TRACE_PHASE_END) {
		end_phase(writer, slot->thread, (uint32_t)slot->id);
		return SEAM_OK;
	}
	struct seam_trace_event event = {
		.kind = slot->kind,
		.flags = slot->flags,
		.phase = phase_now(writer),
		.id = slot->id,
		.size = slot->bytes,
		.stream = slot->stream,
		.time_ns = writer->now_ns,
		.thread = slot->thread,
		.pool = slot->pool,
	};
	bool names_block = slot->kind == SEAM_TRACE_FREE || slot->kind == SEAM_TRACE_RECORD_STREAM;
	if (!names_block || know_block(writer->copy, &event))
		put(writer, &event);
	return SEAM_OK;
}

static void start_time(struct writer *writer)
{
	for (uint64_t i = 0; i < writer->copy->count; i++) {
		const struct seam_record_slot *slot = &writer->copy->slots[i];
		if (seam__record_slot_is(slot, writer->copy->first + i) && slot->ticks != 0) {
			writer->start_ns = seam__clock_ticks_to_ns(writer->clock, slot->ticks);
			return;
		}
	}
}

/* One pass. */
static enum seam_rc write_all(struct writer *writer)
{
	const struct copy *copy = writer->copy;
	const struct seam_record_phases *before = &copy->residents.phases;
	enum seam_rc rc = SEAM_OK;
	writer->count = 0;
	writer->now_ns = 0;
	writer->phases.count = 0;
	put_residents(writer);
	for (uint32_t i = 0; i < before->count && rc == SEAM_OK; i++)
		rc = begin_phase(writer, before->open[i].thread, before->open[i].name);
	for (uint64_t i = 0; i < copy->count && rc == SEAM_OK; i++) {
		const struct seam_record_slot *slot = &copy->slots[i];
		if (seam__record_slot_is(slot, copy->first + i) && slot->kind != 0)
			rc = put_event(writer, slot);
	}
	return rc;
}

static enum seam_rc write_trace(
	struct writer *writer, const char *source, uint32_t device, struct seam_trace **ret_trace)
{
	uint32_t source_text = 0;
	struct seam_trace *trace;
	char *strings;
	enum seam_rc rc = seam__strings_intern(&writer->strings, source, &source_text);
	if (rc == SEAM_OK)
		rc = write_all(writer);
	if (rc == SEAM_OK)
		rc = seam__trace_create(
			writer->count, writer->strings.section.count, &trace, &writer->events, &strings);
	if (rc != SEAM_OK)
		return rc;
	rc = write_all(writer);
	SEAM_VERIFY(
		rc == SEAM_OK && writer->count == trace->header.event_count); /* names are entered: nothing can fail */
	memcpy(strings, writer->strings.section.items, writer->strings.section.count);
	seam__trace_seal(trace, source_text, device);
	*ret_trace = trace;
	return SEAM_OK;
}

enum seam_rc seam__recorder_trace(
	struct seam_recorder *recorder, uint64_t events, const char *source, struct seam_trace **ret_trace)
{
	struct copy copy;
	struct seam_clock clock = recorder->clock;
	enum seam_rc rc = SEAM_BUSY;
	for (unsigned i = 0; i < TRIES && rc == SEAM_BUSY; i++)
		rc = try_copy(recorder, events, i + 1 == TRIES, &copy);
	if (rc != SEAM_OK)
		return rc;
	seam__clock_sync(&clock);
	struct writer writer = {.copy = &copy, .clock = &clock};
	rc = seam__strings_init(&writer.strings);
	if (rc == SEAM_OK) {
		start_time(&writer);
		rc = write_trace(&writer, source, recorder->device, ret_trace);
		seam__strings_fini(&writer.strings);
	}
	fini_copy(&copy);
	return rc;
}
