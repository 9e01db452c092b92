/* record.c: see record.h: a recorder's life, its events, and what threads say. The log is record_log.h, thread contexts
 * are record_thread.h. */
#include "record.h"

#include "meta.h"
#include "recorder.h"

#define REQUESTS_A_STAMP 4u

enum seam_rc seam__recorder_create(
	struct seam_meta *meta, uint64_t limit_bytes, uint32_t device, struct seam_recorder **ret_recorder)
{
	if (limit_bytes < SEAM_RECORD_LEAST_BYTES)
		return SEAM_INVALID;
	struct seam_recorder *recorder = seam__meta_alloc(meta, sizeof *recorder);
	if (recorder == NULL)
		return SEAM_OOM_META;
	recorder->meta = meta;
	recorder->device = device;
	enum seam_rc rc = seam__record_log_init(&recorder->log, meta, limit_bytes);
	if (rc == SEAM_OK) {
		rc = seam__mutex_init(&recorder->gather, "recorder", SEAM_RANK_TRACE);
		if (rc != SEAM_OK)
			seam__record_log_fini(&recorder->log);
	}
	if (rc != SEAM_OK) {
		seam__meta_free(meta, recorder, sizeof *recorder);
		return rc;
	}
	seam__record_threads_init(&recorder->contexts, meta, &recorder->gather);
	seam__clock_start(&recorder->clock);
	*ret_recorder = recorder;
	return SEAM_OK;
}

void seam__recorder_destroy(struct seam_recorder *recorder)
{
	if (recorder == NULL)
		return;
	seam__record_threads_fini(&recorder->contexts);
	seam__record_log_fini(&recorder->log);
	seam__mutex_fini(&recorder->gather);
	seam__meta_free(recorder->meta, recorder, sizeof *recorder);
}

const struct seam_thread_context *seam__recorder_thread(struct seam_recorder *recorder)
{
	return &seam__record_thread_get(&recorder->contexts)->is;
}

enum seam_rc seam__recorder_act_as(struct seam_recorder *recorder, uint32_t number)
{
	return seam__record_thread_act(&recorder->contexts, number);
}

__attribute__((noinline, cold)) static void prepare(struct seam_recorder *recorder, uint64_t segment)
{
	seam__mutex_lock(&recorder->gather);
	seam__record_log_prepare(&recorder->log, segment);
	seam__mutex_unlock(&recorder->gather);
}

uint64_t seam__recorder_draw(struct seam_recorder *recorder)
{
	uint64_t drawn = atomic_load_explicit(&recorder->drawn, memory_order_relaxed);
	if (__builtin_expect(drawn % SEAM_RECORD_SEGMENT == 0, 0)) {
		uint64_t segment = drawn / SEAM_RECORD_SEGMENT;
		if (atomic_load_explicit(&recorder->log.end, memory_order_acquire) <= segment)
			prepare(recorder, segment);
	}
	atomic_store_explicit(&recorder->drawn, drawn + 1, memory_order_relaxed);
	return drawn + 1;
}

/* Reading the counter costs as much as all the rest of an event, so every fourth request does it, and every event that
 * is none. */
static uint64_t stamp(const struct seam_record *record)
{
	bool is_request = record->kind == SEAM_TRACE_ALLOC || record->kind == SEAM_TRACE_FREE;
	return !is_request || record->order % REQUESTS_A_STAMP == 1 ? seam__clock_ticks() : 0;
}

static void fill(struct seam_record_slot *slot, const struct seam_record *record, uint32_t thread, uint8_t flags)
{
	slot->id = record->id;
	slot->bytes = record->bytes;
	slot->stream = record->stream;
	slot->ticks = stamp(record);
	slot->pool = record->pool;
	slot->thread = thread;
	slot->kind = record->kind;
	slot->flags = flags;
	atomic_store_explicit(&slot->order, record->order, memory_order_release);
}

/* The segment is not in the log: it has left it while this thread stood still, or there was no memory for it. */
__attribute__((noinline, cold)) static void add_late(
	struct seam_recorder *recorder, const struct seam_record *record, uint32_t thread, uint8_t flags)
{
	uint64_t number = (record->order - 1) / SEAM_RECORD_SEGMENT;
	seam__mutex_lock(&recorder->gather);
	struct seam_record_segment *segment = seam__record_log_retired(&recorder->log, number);
	if (segment != NULL)
		fill(&segment->slots[(record->order - 1) % SEAM_RECORD_SEGMENT], record, thread, flags);
	else
		atomic_fetch_add_explicit(&recorder->log.lost, 1, memory_order_relaxed);
	seam__mutex_unlock(&recorder->gather);
}

void seam__recorder_add(struct seam_recorder *recorder, const struct seam_record *record)
{
	const struct seam_thread_context *context =
		record->context != NULL ? record->context : &seam__record_thread_get(&recorder->contexts)->is;
	uint8_t flags = record->flags;
	if (record->kind == SEAM_TRACE_ALLOC && context->dynamic_depth != 0)
		flags |= SEAM_TRACE_DYNAMIC;
	else if (__builtin_expect(record->kind == SEAM_TRACE_STEP, 0))
		atomic_fetch_add_explicit(&recorder->steps, 1, memory_order_relaxed);
	struct seam_record_slot *slot = seam__record_log_slot(&recorder->log, record->order);
	if (__builtin_expect(slot == NULL, 0)) {
		add_late(recorder, record, context->thread, flags);
		return;
	}
	fill(slot, record, context->thread, flags);
	/* Ahead, so that whoever draws the first number of the next segment need not, with the pool's lock. */
	if (__builtin_expect(record->order % SEAM_RECORD_SEGMENT == SEAM_RECORD_SEGMENT / 2, 0))
		prepare(recorder, record->order / SEAM_RECORD_SEGMENT + 1);
}

static void add_phase(struct seam_recorder *recorder, uint64_t order, uint8_t kind, uint8_t name)
{
	const struct seam_record record = {.order = order, .kind = kind, .id = name};
	seam__recorder_add(recorder, &record);
}

enum seam_rc seam__recorder_phase_begin(struct seam_recorder *recorder, uint64_t order, const char *text)
{
	struct seam_record_thread *context = seam__record_thread_get(&recorder->contexts);
	uint8_t name = 0;
	enum seam_rc rc = context->is.phase_depth == SEAM_RECORD_DEPTH ? SEAM_INVALID : SEAM_OK;
	if (rc == SEAM_OK && seam__record_thread_is_shared(context))
		rc = SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = seam__record_name(&recorder->contexts, text, &name);
	if (rc == SEAM_OK)
		context->phases[context->is.phase_depth++] = name;
	add_phase(recorder, order, rc == SEAM_OK ? SEAM_TRACE_PHASE_BEGIN : 0, name);
	return rc;
}

enum seam_rc seam__recorder_phase_end(struct seam_recorder *recorder, uint64_t order, const char *text)
{
	struct seam_record_thread *context = seam__record_thread_get(&recorder->contexts);
	uint8_t name = 0;
	enum seam_rc rc =
		context->is.phase_depth == 0 ? SEAM_INVALID : seam__record_name(&recorder->contexts, text, &name);
	if (rc == SEAM_OK && context->phases[context->is.phase_depth - 1] != name)
		rc = SEAM_INVALID;
	if (rc == SEAM_OK)
		context->is.phase_depth--;
	add_phase(recorder, order, rc == SEAM_OK ? SEAM_TRACE_PHASE_END : 0, name);
	return rc;
}

enum seam_rc seam__recorder_dynamic_begin(struct seam_recorder *recorder)
{
	struct seam_record_thread *context = seam__record_thread_get(&recorder->contexts);
	if (seam__record_thread_is_shared(context))
		return SEAM_OOM_META;
	if (context->is.dynamic_depth == UINT32_MAX)
		return SEAM_INVALID;
	context->is.dynamic_depth++;
	return SEAM_OK;
}

enum seam_rc seam__recorder_dynamic_end(struct seam_recorder *recorder)
{
	struct seam_record_thread *context = seam__record_thread_get(&recorder->contexts);
	if (context->is.dynamic_depth == 0)
		return SEAM_INVALID;
	context->is.dynamic_depth--;
	return SEAM_OK;
}

void seam__recorder_get_counts(struct seam_recorder *recorder, struct seam_recorder_counts *ret_counts)
{
	const struct seam_record_log *log = &recorder->log;
	seam__mutex_lock(&recorder->gather);
	struct seam_recorder_counts counts = {
		.events = atomic_load_explicit(&recorder->drawn, memory_order_relaxed),
		.lost = atomic_load_explicit(&log->lost, memory_order_relaxed) + log->residents.lost,
		.steps = atomic_load_explicit(&recorder->steps, memory_order_relaxed),
		.residents = seam__record_residents_live(&log->residents),
		.bytes = seam__record_log_bytes(log),
	};
	counts.log_events = counts.events - log->first * SEAM_RECORD_SEGMENT;
	seam__mutex_unlock(&recorder->gather);
	*ret_counts = counts;
}

const char *seam__recorder_check(struct seam_recorder *recorder)
{
	seam__mutex_lock(&recorder->gather);
	const char *broken = seam__record_log_check(&recorder->log);
	if (broken == NULL)
		broken = seam__record_threads_check(&recorder->contexts);
	seam__mutex_unlock(&recorder->gather);
	return broken;
}
