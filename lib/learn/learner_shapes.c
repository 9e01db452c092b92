/* learner_shapes.c: programs of several shapes: which kind of iteration is planned next, and what plans of one arena
 * have in common.
 *
 * Only one iteration runs at a time, so the plans of all kinds lie over each other in one arena, which is as large as
 * the largest of them. The largest is planned first: the others fit then. What lives from one iteration into the next
 * (gradients, say) is still there when an iteration of another kind begins, so it gets the same addresses in every
 * plan. So does what is asked for before the first request that tells which kind it is: it lies where another plan has
 * it by then.
 *
 * Not here: plans (learner_plan.c), which loaded plan the program is in (matcher.h). With `work`.
 */
#include <stdlib.h>

#include "bits.h"
#include "idmap.h"
#include "learner.h"
#include "learner_impl.h"
#include "matcher_state.h"
#include "meta.h"

#define LEAST_SHARE                                                                                                    \
	16u /* a kind that is worth a plan covers one part in so many of the recording. Before the first plan is made, \
	       all such kinds together */
#define TOGETHER_SHARE 3u /* cover one in so many, */
#define REPEATED_SHARE 2u /* and one in so many of the iterations in it */
#define UNKNOWN_SHARE 8u

/* What is live behind event i of the trace, from what is live before it. */
static uint64_t live_behind(const struct seam_trace *trace, uint64_t i, uint64_t live_bytes)
{
	const struct seam_trace_event *event = &trace->events[i];
	if (event->kind == SEAM_TRACE_ALLOC)
		return live_bytes + event->size;
	return event->kind == SEAM_TRACE_FREE ? live_bytes - event->size : live_bytes;
}

struct seam_live_range seam__learner_range(const struct seam_trace *trace, uint64_t first, uint64_t last)
{
	struct seam_live_range range = {.least_bytes = UINT64_MAX};
	uint64_t live_bytes = 0;
	for (uint64_t i = 0; i < last; i++) {
		live_bytes = live_behind(trace, i, live_bytes);
		if (i < first)
			continue;
		range.peak_bytes = seam__bits_max(range.peak_bytes, live_bytes);
		range.least_bytes = seam__bits_min(range.least_bytes, live_bytes);
	}
	return range;
}

static uint64_t covered_by(const struct seam_iteration_kind *kind)
{
	return kind->seen * (kind->last_event - kind->first_event);
}

/* By all kinds that are worth a plan, but those that there is no room for. */
static uint64_t covered_together(const struct seam_learner *learner)
{
	uint64_t together = 0;
	for (uint32_t i = 0; i < learner->rhythm.count; i++) {
		uint64_t covered = (learner->roomless >> i & 1) == 0 ? covered_by(&learner->rhythm.kinds[i]) : 0;
		together += covered >= learner->recorded_events / LEAST_SHARE ? covered : 0;
	}
	return together;
}

bool seam__learner_knows_all(const struct seam_learner *learner)
{
	return covered_together(learner) >= learner->rhythm.cut_events - learner->rhythm.cut_events / UNKNOWN_SHARE;
}

/* Whether plans would serve much: the first one holds memory that other iterations cannot use as freely any more. */
static bool cover_enough(const struct seam_learner *learner)
{
	uint64_t together = covered_together(learner);
	return learner->serves ||
		(together >= learner->recorded_events / TOGETHER_SHARE &&
			together >= learner->rhythm.cut_events / REPEATED_SHARE);
}

static bool is_refused(const struct seam_learner *learner, uint64_t fingerprint)
{
	const uint64_t count = seam__bits_min(learner->refused_count, SEAM_LEARNER_REFUSED);
	for (uint64_t i = 0; i < count; i++) {
		if (learner->refused[i] == fingerprint)
			return true;
	}
	return false;
}

/* A plan of the kind would serve all but one request in SEAM_MISSED_SHARE of the iterations that it is of. One that
 * would not is the beginning of a program that keeps what it makes (a cache that fills): what is never freed is not
 * planned. */
static bool is_whole(const struct seam_iteration_kind *kind)
{
	const double planned = (double)(kind->last_event - kind->first_event) / 2;
	return SEAM_MISSED_SHARE * kind->lacking <= planned + kind->lacking;
}

/* Whether a kind may be planned. */
static bool is_wanted(const struct seam_learner *learner, uint32_t number, uint64_t *ret_fingerprint)
{
	const struct seam_iteration_kind *kind = &learner->rhythm.kinds[number];
	return (learner->tried >> number & 1) == 0 && is_whole(kind) &&
		covered_by(kind) >= learner->recorded_events / LEAST_SHARE &&
		seam_plan_fingerprint(kind->model, kind->first_event, kind->last_event, ret_fingerprint) == SEAM_OK &&
		!is_refused(learner, *ret_fingerprint);
}

bool seam__learner_choose(struct seam_learner *learner)
{
	uint64_t most_bytes = 0, chosen_fingerprint = 0;
	uint32_t chosen = UINT32_MAX;
	if (!cover_enough(learner))
		return false;
	for (uint32_t i = 0; i < learner->rhythm.count; i++) {
		const struct seam_iteration_kind *kind = &learner->rhythm.kinds[i];
		uint64_t fingerprint = 0,
			 bytes = seam__learner_range(kind->model, kind->first_event, kind->last_event).peak_bytes;
		if ((chosen != UINT32_MAX && bytes <= most_bytes) || !is_wanted(learner, i, &fingerprint))
			continue;
		most_bytes = bytes;
		chosen_fingerprint = fingerprint;
		chosen = i;
	}
	if (chosen == UINT32_MAX)
		return false;
	learner->refused[learner->refused_count++ % SEAM_LEARNER_REFUSED] = chosen_fingerprint;
	learner->tried |= UINT64_C(1) << chosen;
	learner->kind = chosen;
	return true;
}

static int compare_crossings(const void *left, const void *right)
{
	const struct seam_crossing *a = left, *b = right;
	return seam__bits_compare(a->at, b->at);
}

static enum seam_rc crossings_init(struct seam_crossings *crossings, size_t capacity)
{
	*crossings = (struct seam_crossings){.capacity = capacity};
	crossings->items = seam__meta_array(seam__meta_process(), crossings->capacity, sizeof *crossings->items);
	return crossings->items != NULL ? SEAM_OK : SEAM_OOM_META;
}

static void crossings_fini(struct seam_crossings *crossings)
{
	seam__meta_free(seam__meta_process(), crossings->items, crossings->capacity * sizeof *crossings->items);
}

static bool crosses(const struct seam_loaded_plan *loaded, const struct seam_expected_slot *expected)
{
	return expected->bytes != 0 && loaded->lifetimes[expected->slot].end >= loaded->positions;
}

static void find_in_loaded(const struct seam_loaded_plan *loaded, struct seam_crossings *crossings)
{
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		const struct seam_cursor *cursor = &loaded->cursors[l];
		for (const struct seam_expected_slot *expected = cursor->first;
			expected < cursor->first + cursor->count; expected++) {
			if (crosses(loaded, expected))
				crossings->items[crossings->count++] = (struct seam_crossing){
					.bytes =
						loaded->instances[seam__loaded_number(loaded, expected->slot, 0)].bytes,
					.stream = cursor->stream,
					.at = expected->begin,
					.slot = expected->slot,
				};
		}
	}
	qsort(crossings->items, crossings->count, sizeof *crossings->items, compare_crossings);
}

/* Blocks of the model's last repetition that are not freed in it. */
static enum seam_rc find_in_model(const struct seam_iteration_kind *kind, struct seam_crossings *crossings)
{
	const struct seam_trace *trace = kind->model;
	struct seam_idmap live;
	enum seam_rc rc = SEAM_OK;
	seam__idmap_init(&live);
	for (uint64_t i = kind->first_event; i < kind->last_event && rc == SEAM_OK; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_FREE)
			seam__idmap_remove(&live, event->id);
		else if (event->kind == SEAM_TRACE_ALLOC)
			rc = seam__idmap_set(&live, event->id, 0);
	}
	for (uint64_t i = kind->first_event; i < kind->last_event && rc == SEAM_OK; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_ALLOC && (event->flags & SEAM_TRACE_DYNAMIC) == 0 &&
			seam__idmap_find(&live, event->id) != NULL)
			crossings->items[crossings->count++] =
				(struct seam_crossing){.bytes = seam__bits_align_up(event->size, SEAM_PLANNED_BYTES),
					.stream = event->stream,
					.at = i};
	}
	seam__idmap_fini(&live);
	return rc;
}

static bool is_taken(const struct seam_taken_ranges *taken, uint64_t begin, uint64_t end)
{
	size_t low = 0, high = taken->count;
	SEAM__BITS_BISECT(low, high, middle, taken->ranges[middle].end_bytes <= begin)
	return low < taken->count && taken->ranges[low].begin_bytes < end;
}

static void pin(const struct seam_loaded_plan *loaded, uint32_t slot, uint64_t event,
	const struct seam_taken_ranges *taken, struct seam_pins *pins)
{
	for (uint32_t copy = 0; copy < loaded->copies; copy++) {
		const struct seam_plan_block *there = &loaded->instances[seam__loaded_number(loaded, slot, copy)];
		if (!is_taken(taken, there->offset, there->offset + there->bytes))
			pins->items[pins->count++] = (struct seam_plan_fixed){.event = event,
				.offset_bytes = there->offset,
				.room_bytes = there->bytes,
				.copy = copy};
	}
}

/* As many, on the same streams in the same order: only sizes differ. */
static bool are_alike(const struct seam_crossings *there, const struct seam_crossings *wanted)
{
	if (there->count != wanted->count)
		return false;
	for (size_t i = there->count; i-- > 0;) {
		if (there->items[i].stream != wanted->items[i].stream)
			return false;
	}
	return true;
}

/* The n-th block of one is the n-th of the other, if they are alike; else the n-th of a size is the n-th of that size.
 * Of one that is larger in the new plan the place is not large enough. */
static void match(const struct seam_loaded_plan *loaded, struct seam_crossings *there,
	const struct seam_crossings *wanted, const struct seam_taken_ranges *taken, struct seam_pins *pins)
{
	const bool alike = are_alike(there, wanted);
	for (size_t w = 0; w < wanted->count; w++) {
		const struct seam_crossing *want = &wanted->items[w];
		if (alike) {
			const struct seam_crossing *have = &there->items[w];
			if (have->bytes >= want->bytes)
				pin(loaded, have->slot, want->at, taken, pins);
			continue;
		}
		for (size_t t = 0; t < there->count; t++) {
			struct seam_crossing *have = &there->items[t];
			if (have->used || have->bytes != want->bytes || have->stream != want->stream)
				continue;
			have->used = true;
			pin(loaded, have->slot, want->at, taken, pins);
			break;
		}
	}
}

/* The position of the first request that is another one in the model than in the loaded plan. pins: not NULL: what was
 * asked for before and is live there is pinned, but for what crosses. */
static uint32_t compare_beginnings(const struct seam_loaded_plan *loaded, const struct seam_iteration_kind *kind,
	uint32_t until, const struct seam_taken_ranges *taken, struct seam_pins *pins)
{
	uint32_t position = 0;
	for (uint64_t i = kind->first_event; i < kind->last_event; i++) {
		const struct seam_trace_event *event = &kind->model->events[i];
		if (event->kind != SEAM_TRACE_ALLOC)
			continue;
		while (position < loaded->positions && (loaded->actions[position] & 1) != 0)
			position++;
		if (position >= until)
			return position;
		const uint32_t slot = loaded->actions[position] >> 1;
		const struct seam_lifetime *lifetime = &loaded->lifetimes[slot];
		if (lifetime->group != SEAM_STATIC || (event->flags & SEAM_TRACE_DYNAMIC) != 0 ||
			loaded->instances[seam__loaded_number(loaded, slot, 0)].bytes !=
				seam__bits_align_up(event->size, SEAM_PLANNED_BYTES))
			return position;
		if (pins != NULL && lifetime->end > until && lifetime->end < loaded->positions)
			pin(loaded, slot, i, taken, pins);
		position++;
	}
	return position;
}

enum seam_rc seam__pins_init(const struct seam_iteration_kind *kind, struct seam_pins *ret_pins)
{
	enum seam_rc rc = crossings_init(&ret_pins->wanted, (size_t)(kind->last_event - kind->first_event));
	return rc == SEAM_OK ? find_in_model(kind, &ret_pins->wanted) : rc;
}

enum seam_rc seam__pins_find(const struct seam_loaded_plan *loaded, const struct seam_iteration_kind *kind,
	const struct seam_taken_ranges *taken, struct seam_pins *pins)
{
	struct seam_crossings there;
	pins->room = (pins->wanted.count + loaded->slots) * loaded->copies;
	pins->items = seam__meta_array(seam__meta_process(), pins->room, sizeof *pins->items);
	if (pins->items == NULL)
		return SEAM_OOM_META;
	enum seam_rc rc = crossings_init(&there, loaded->slots);
	if (rc != SEAM_OK)
		return rc;
	find_in_loaded(loaded, &there);
	match(loaded, &there, &pins->wanted, taken, pins);
	pins->crossing_count = pins->count;
	if (loaded->stream_count == 1)
		(void)compare_beginnings(
			loaded, kind, compare_beginnings(loaded, kind, loaded->positions, taken, NULL), taken, pins);
	crossings_fini(&there);
	return SEAM_OK;
}

void seam__pins_fini(struct seam_pins *pins)
{
	seam__meta_free(seam__meta_process(), pins->items, pins->room * sizeof *pins->items);
	crossings_fini(&pins->wanted);
	*pins = (struct seam_pins){0};
}

/* Of the loaded plans that lie in the arena, the one with most that crosses: the others have the same of it. */
const struct seam_loaded_plan *seam__pins_model(const struct seam_matcher *matcher)
{
	const struct seam_loaded_plan *best = NULL;
	uint64_t most_bytes = 0;
	for (uint32_t i = 0; i < seam__matcher_loaded_count(matcher); i++) {
		const struct seam_loaded_plan *loaded = seam__matcher_loaded(matcher, i);
		uint64_t bytes = 0;
		for (const struct seam_expected_slot *expected = loaded->expectations;
			expected < loaded->expectations + loaded->slots; expected++)
			bytes += crosses(loaded, expected) ? expected->bytes : 0;
		if (bytes > most_bytes)
			best = loaded;
		most_bytes = seam__bits_max(most_bytes, bytes);
	}
	return best;
}
