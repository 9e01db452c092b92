/* learner_plan.c: from a kind of iteration to a loaded plan, around what stays.
 *
 * Not here: which chunks its arena gets (learner_chunks.c).
 */
#include <stdlib.h>

#include "bits.h"
#include "learner.h"
#include "learner_impl.h"
#include "make.h"
#include "meta.h"
#include "planned_impl.h"
#include "trace_error.h"

#define REQUEST_NS UINT64_C(20000) /* more for each request: about the time in which the program makes it */
#define REQUEST_NODES UINT64_C(100)
#define PLAN_GAP 0.0025 /* of all that is live at the peak: so much above the lower bound is good enough */
#define LARGEST_PERCENT 95u
#define SMALL_SHARE 512u /* of its lower bound, that a plan may be above it: little beside what the engine loses */
#define PORTION 64u      /* chunks that are looked at under one `lock` */

/* Sorted serials of the blocks that stay. */
struct staying {
	uint64_t *serials;
	size_t count, capacity;
};

static int compare_serials(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

static bool stays(const struct staying *staying, uint64_t serial)
{
	return staying->count != 0 &&
		bsearch(&serial, staying->serials, staying->count, sizeof serial, compare_serials) != NULL;
}

static bool block_stays(void *user, const struct seam_block *block)
{
	return stays(user, block->serial);
}

/* What the model allocates before its period and never frees. */
static enum seam_rc find_staying(const struct seam_iteration_kind *kind, struct staying *staying)
{
	const struct seam_trace *trace = kind->model;
	size_t events = (size_t)trace->header.event_count;
	uint64_t *freed = seam__meta_array(seam__meta_process(), events + 1, sizeof *freed);
	staying->serials = seam__meta_array(seam__meta_process(), events + 1, sizeof *staying->serials);
	staying->capacity = events + 1;
	if (freed == NULL || staying->serials == NULL) {
		seam__meta_free(seam__meta_process(), freed, (events + 1) * sizeof *freed);
		return SEAM_OOM_META;
	}
	size_t frees = 0;
	for (size_t i = 0; i < events; i++) {
		if (trace->events[i].kind == SEAM_TRACE_FREE)
			freed[frees++] = trace->events[i].id;
	}
	qsort(freed, frees, sizeof *freed, compare_serials);
	for (size_t i = 0; i < kind->first_event; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_ALLOC &&
			(frees == 0 || bsearch(&event->id, freed, frees, sizeof *freed, compare_serials) == NULL))
			staying->serials[staying->count++] = event->id;
	}
	qsort(staying->serials, staying->count, sizeof *staying->serials, compare_serials);
	seam__meta_free(seam__meta_process(), freed, (events + 1) * sizeof *freed);
	return SEAM_OK;
}

/* Ranges of the arena that somebody occupies for good. */
struct taken {
	struct seam_plan_range *ranges;
	size_t count, capacity;
	const struct staying *staying;
	uint64_t unlisted_bytes; /* of chunks that the survey does not list */
	uint64_t room_bytes;     /* of the open arena; 0: there is to be another one */
	enum seam_rc rc;
};

static void take(struct taken *taken, uint64_t begin, uint64_t bytes)
{
	if (taken->count == taken->capacity) {
		size_t capacity = taken->capacity == 0 ? 256 : taken->capacity * 2;
		struct seam_plan_range *ranges = seam__meta_resize(seam__meta_process(), taken->ranges,
			taken->capacity * sizeof *ranges, capacity * sizeof *ranges);
		if (ranges == NULL) {
			taken->rc = SEAM_OOM_META;
			return;
		}
		taken->ranges = ranges;
		taken->capacity = capacity;
	}
	uint64_t end = seam__bits_align_up(begin + bytes, SEAM_BLOCK_BYTES);
	taken->ranges[taken->count++] = (struct seam_plan_range){begin, end};
}

static void take_planned(void *user, struct seam_plan_block *plan_block)
{
	struct taken *taken = user;
	if (stays(taken->staying, plan_block->serial))
		take(taken, plan_block->offset, plan_block->bytes);
}

/* Sorts, and joins what touches. */
static void tidy(struct taken *taken)
{
	size_t count = 0;
	if (taken->count == 0)
		return;
	qsort(taken->ranges, taken->count, sizeof *taken->ranges, seam__ranges_compare);
	for (size_t i = 1; i < taken->count; i++) {
		struct seam_plan_range *last = &taken->ranges[count];
		if (taken->ranges[i].begin_bytes <= last->end_bytes)
			last->end_bytes = seam__bits_max(last->end_bytes, taken->ranges[i].end_bytes);
		else
			taken->ranges[++count] = taken->ranges[i];
	}
	taken->count = count + 1;
}

/* Who waits for `lock` may have it: it is held for some hundred steps at the most. */
static void let_others(struct seam_learner *learner, uint32_t step)
{
	if (step % PORTION != 0)
		return;
	seam__mutex_unlock(&learner->engine->lock);
	seam__mutex_lock(&learner->engine->lock);
}

/* A survey does not list what residents occupy wholly: chunks of the open arena that were lent to them, and are theirs
 * for good. listed: per chunk of the arena. */
static void take_unlisted(const struct seam_arena *arena, const uint8_t *listed, struct taken *taken)
{
	for (uint32_t i = 0; i < arena->count && taken->rc == SEAM_OK; i++) {
		if (listed[i] != 0)
			continue;
		take(taken, arena->chunks[i].offset, arena->chunks[i].bytes);
		taken->unlisted_bytes += arena->chunks[i].bytes;
	}
}

/* The pieces of residents, in the open arena, or (NULL) the one that will be. [both; drops lock] */
static enum seam_rc find_taken(struct seam_learner *learner, const struct seam_active_plan *active, struct taken *taken)
{
	const struct seam_survey *survey = &learner->survey;
	const size_t listed_count = active != NULL ? active->arena.count : 0;
	uint64_t *offsets = seam__meta_array(seam__meta_process(), (size_t)survey->count + 1, sizeof *offsets);
	uint8_t *listed = seam__meta_array(seam__meta_process(), listed_count + 1, sizeof *listed);
	uint64_t offset = 0;
	taken->rc = offsets != NULL && listed != NULL ? SEAM_OK : SEAM_OOM_META;
	for (uint32_t i = 0; i < survey->count && taken->rc == SEAM_OK; i++) {
		offsets[i] = active != NULL ? seam__learner_offset(&active->arena, &survey->chunks[i]) : offset;
		offset += survey->chunks[i].bytes;
		if (active != NULL && offsets[i] != UINT64_MAX)
			listed[survey->chunks[i].kept_at] = 1;
		let_others(learner, i);
	}
	for (uint32_t i = 0; i < survey->resident_count && taken->rc == SEAM_OK; i++) {
		const struct seam_surveyed_resident *resident = &survey->residents[i];
		uint64_t begin = offsets[resident->chunk_index];
		if (begin != UINT64_MAX)
			take(taken, begin + resident->offset_bytes, resident->bytes);
	}
	if (active != NULL && taken->rc == SEAM_OK)
		take_unlisted(&active->arena, listed, taken);
	if (active != NULL && taken->rc == SEAM_OK)
		seam__matcher_each(active->matcher, take_planned, taken);
	seam__meta_free(seam__meta_process(), offsets, ((size_t)survey->count + 1) * sizeof *offsets);
	seam__meta_free(seam__meta_process(), listed, (listed_count + 1) * sizeof *listed);
	tidy(taken);
	return taken->rc;
}

struct seam_plan_options seam__learner_limits(
	const struct seam_learner *learner, uint64_t requests, uint64_t peak_bytes, uint64_t comes_bytes)
{
	const double part_of_peak = comes_bytes == 0 ? 1 : (double)peak_bytes / (double)comes_bytes;
	return (struct seam_plan_options){
		.struct_bytes = sizeof(struct seam_plan_options),
		.time_limit_ns = learner->place_ns + requests * REQUEST_NS,
		.node_limit = learner->deterministic != 0 ? learner->place_nodes + requests * REQUEST_NODES : 0,
		.target_gap = PLAN_GAP * part_of_peak,
	};
}

static void forget_plan(struct seam_learner *learner)
{
	seam_plan_free(learner->plan);
	learner->plan = NULL;
	seam__loaded_destroy(learner->meta, learner->loaded);
	learner->loaded = NULL;
}

/* The largest arena that costs nothing: the chunks that are there, and what may be added to the pool. */
static uint64_t affordable_bytes(const struct seam_learner *learner, uint64_t unlisted_bytes)
{
	const uint64_t most_bytes = learner->most_bytes, engine_bytes = learner->survey.engine_bytes;
	return learner->survey.bytes + unlisted_bytes + most_bytes - seam__bits_min(most_bytes, engine_bytes);
}

static enum seam_rc make_loaded(struct seam_learner *learner, uint64_t peak_bytes, const struct taken *taken,
	const struct seam_plan_fixed *fixed, size_t fixed_count)
{
	const struct seam_iteration_kind *kind = &learner->rhythm.kinds[learner->kind];
	struct seam_trace_error error = {0};
	struct seam_plan_options options = seam__learner_limits(learner, (kind->last_event - kind->first_event) / 2,
		peak_bytes, peak_bytes - seam__bits_min(kind->stays_bytes, peak_bytes));
	options.align_bytes = SEAM_BLOCK_BYTES;
	options.streams =
		learner->engine->policy.reuse == SEAM_REUSE_OWN ? SEAM_PLAN_STREAMS_EDGES : SEAM_PLAN_STREAMS_AUTO;
	options.period = SEAM_PLAN_PERIOD_GIVEN;
	options.first_event = kind->first_event;
	options.last_event = kind->last_event;
	options.cancel = &learner->stop;
	options.taken = taken->ranges;
	options.taken_count = taken->count;
	options.fixed = fixed;
	options.fixed_count = fixed_count;
	forget_plan(learner);
	uint64_t work_ns = 0;
	enum seam_rc rc = seam__plan_make(kind->model, &options, affordable_bytes(learner, taken->unlisted_bytes),
		&error, &work_ns, &learner->plan);
	learner->work_ns += work_ns;
	return rc == SEAM_OK ? seam__loaded_create(learner->meta, learner->plan, &learner->loaded) : rc;
}

bool seam__learner_is_small(const struct seam_learner *learner, uint64_t room_bytes)
{
	uint64_t least_bytes = learner->plan->header.lower_bound_bytes;
	return seam__loaded_bytes(learner->loaded) <=
		seam__bits_max(room_bytes, least_bytes + least_bytes / SMALL_SHARE);
}

static enum seam_rc make_plan(struct seam_learner *learner, const struct taken *taken, const struct seam_pins *pins)
{
	const struct seam_iteration_kind *kind = &learner->rhythm.kinds[learner->kind];
	const struct seam_live_range range = seam__learner_range(kind->model, kind->first_event, kind->last_event);
	const size_t counts[] = {pins->count, pins->crossing_count, 0};
	enum seam_rc rc = SEAM_INVALID;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		/* Its lifetimes may be others, and what is pinned may stand in the way of the rest: memory counts more
		 * than some misses. */
		if (rc == SEAM_OK ? seam__learner_is_small(learner, taken->room_bytes)
				  : rc != SEAM_INVALID && rc != SEAM_UNSUPPORTED)
			break;
		if (i == 0 || counts[i] != counts[i - 1])
			rc = make_loaded(learner, range.peak_bytes, taken, pins->items, counts[i]);
	}
	if (rc != SEAM_OK)
		return rc;
	learner->open_below_bytes = seam__bits_max(learner->rest_bytes, range.least_bytes) +
		(range.peak_bytes - range.least_bytes) / SEAM_REST_SHARE;
	learner->period_requests = seam__loaded_slots(learner->loaded);
	learner->period_events = kind->last_event - kind->first_event;
	if (kind->marked)
		seam__loaded_begins_at_mark(learner->loaded);
	return SEAM_OK;
}

bool seam__learner_serves_most(const struct seam_learner *learner)
{
	const uint64_t bytes = seam__loaded_bytes(learner->loaded) + learner->plan->header.resident_bytes;
	return learner->extends || seam__learner_knows_all(learner) ||
		bytes >= learner->most_bytes / 100 * LARGEST_PERCENT;
}

bool seam__learner_is_dear(const struct seam_learner *learner, uint64_t unlisted_bytes, enum seam_rc rc)
{
	return rc == SEAM_UNSUPPORTED ||
		(rc == SEAM_OK && seam__loaded_bytes(learner->loaded) > affordable_bytes(learner, unlisted_bytes));
}

/* The pool can have what a plan may cost; see plan_cost.h. Other processes use the device too. With `change`. */
static bool has_room(const struct seam_memory *memory)
{
	uint64_t room_bytes = seam__memory_room(memory), free_bytes = 0, device_bytes = 0;
	if (seam__drv_mem_info(memory->driver, &free_bytes, &device_bytes) == SEAM_CU_SUCCESS)
		room_bytes = seam__bits_min(room_bytes, free_bytes);
	return memory->reserved_bytes + room_bytes >= seam__plan_cost_room(memory->reserved_peak_bytes);
}

/* What stays, and where it lies: the survey, what is taken of the arena, and what further loaded plans have in common
 * with those that are open. With `change` all the time, so that chunks and loaded plans stay. */
static enum seam_rc look_around(
	struct seam_learner *learner, struct staying *staying, struct taken *taken, struct seam_pins *pins)
{
	const struct seam_loaded_plan *loaded = NULL;
	seam__mutex_lock(&learner->engine->change);
	const bool has = has_room(&learner->engine->memory);
	seam__mutex_lock(&learner->engine->lock);
	seam__learner_note_most(learner);
	learner->surveyed_at = seam__learner_time(learner).events;
	enum seam_rc rc = SEAM_UNSUPPORTED;
	if (has || seam__learner_extends(learner) != NULL) /* what fits the open arena costs nothing more */
		rc = seam__survey_make(learner->engine, block_stays, staying, &learner->survey);
	const struct seam_active_plan *open = seam__learner_extends(learner);
	learner->extends = open != NULL;
	if (rc == SEAM_OK)
		rc = find_taken(learner, open, taken);
	if (open != NULL) {
		taken->room_bytes = seam__active_usable_bytes(open);
		loaded = seam__pins_model(open->matcher);
	}
	seam__mutex_unlock(&learner->engine->lock);
	if (rc == SEAM_OK && loaded != NULL)
		rc = seam__pins_find(loaded, &learner->rhythm.kinds[learner->kind],
			&(struct seam_taken_ranges){taken->ranges, taken->count}, pins);
	seam__mutex_unlock(&learner->engine->change);
	return rc;
}

enum seam_rc seam__learner_plan(struct seam_learner *learner)
{
	struct staying staying = {0};
	struct taken taken = {.staying = &staying};
	struct seam_pins pins = {0};
	seam__survey_fini(learner->engine, &learner->survey);
	learner->survey = (struct seam_survey){0};
	forget_plan(learner);
	learner->work_ns = 0;

	enum seam_rc rc = find_staying(&learner->rhythm.kinds[learner->kind], &staying);
	if (rc == SEAM_OK)
		rc = seam__pins_init(&learner->rhythm.kinds[learner->kind], &pins);
	if (rc == SEAM_OK)
		rc = look_around(learner, &staying, &taken, &pins);
	if (rc == SEAM_OK)
		rc = make_plan(learner, &taken, &pins);
	seam__meta_free(seam__meta_process(), staying.serials, staying.capacity * sizeof *staying.serials);
	seam__pins_fini(&pins);
	seam__meta_free(seam__meta_process(), taken.ranges, taken.capacity * sizeof *taken.ranges);
	if (seam__learner_is_dear(learner, taken.unlisted_bytes, rc)) {
		learner->roomless |= UINT64_C(1) << learner->kind;
		return SEAM_UNSUPPORTED;
	}
	return rc == SEAM_OK && !seam__learner_serves_most(learner) ? SEAM_UNSUPPORTED : rc;
}
