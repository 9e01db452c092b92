/* planned_prelude.c: a program's first requests, where the plan that was given says which of them stay.
 *
 * What stays has one place each, one behind the other, in a stage of its own that is there when the program begins: so
 * it lies as densely as can be, and never where a slot lies. That stage is closed from its beginning: nothing else
 * comes to lie there, and what is freed goes back to the engine chunk by chunk. What does not stay may have whatever
 * the plan leaves idle.
 *
 * Requests are told by their sizes, in their order. One that is not the next is a stranger: it gets no slot, and where
 * it comes in the place of one that stays, and is likely to stay too, nothing that is idle either. Two that follow each
 * other a little further on say that the program has left some out. When a few more of them have come than of the
 * others the program is another one, or does something else: then the rest of the places goes back, and it is as if the
 * plan did not know what stays (planned_begin.c).
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "planned_impl.h"

#define STRANGERS 16u
#define WINDOW 8u /* so many of the next are passed over at most, where the program leaves some out */

static bool stays(const struct seam_plan_prologue *request)
{
	return (request->flags & SEAM_PLAN_STAYS) != 0;
}

static uint64_t place_bytes(const struct seam_plan_prologue *request)
{
	return seam__bits_align_up(request->size_bytes, SEAM_PLANNED_BYTES);
}

bool seam__prelude_is_due(const struct seam_runtime *runtime, const struct seam_plan *plan)
{
	return plan->header.prologue_count != 0 && runtime->engine->counts.live_blocks == 0;
}

void seam__prelude_forget(struct seam_runtime *runtime)
{
	struct seam_prelude *prelude = &runtime->prelude;
	seam__meta_free(runtime->meta, prelude->requests, prelude->count * sizeof *prelude->requests);
	*prelude = (struct seam_prelude){0};
}

/* The place of one that stays, which was made elsewhere, or is not made. */
static void give_place(struct seam_runtime *runtime, const struct seam_plan_prologue *request)
{
	struct seam_prelude *prelude = &runtime->prelude;
	seam__stage_give_back(runtime, prelude->stage, prelude->at_bytes, place_bytes(request));
	prelude->at_bytes += place_bytes(request);
}

/* Those that are next, up to this one, do not come any more. */
static void pass_over(struct seam_runtime *runtime, uint32_t behind)
{
	struct seam_prelude *prelude = &runtime->prelude;
	for (; prelude->next < behind; prelude->next++) {
		if (stays(&prelude->requests[prelude->next]))
			give_place(runtime, &prelude->requests[prelude->next]);
	}
}

void seam__prelude_end(struct seam_runtime *runtime)
{
	pass_over(runtime, runtime->prelude.count); /* 0 without one */
	seam__prelude_forget(runtime);
}

/* From here on the open plan serves as if it had had no prelude: what is missing may still be made. */
static void go_on_without(struct seam_runtime *runtime)
{
	struct seam_prelude *prelude = &runtime->prelude;
	struct seam_stage *stage = seam__stage_open(runtime);
	uint64_t missing_bytes = prelude->missing_bytes;
	for (uint32_t i = prelude->next; i < prelude->count; i++)
		missing_bytes += stays(&prelude->requests[i]) ? prelude->requests[i].size_bytes : 0;
	seam__prelude_end(runtime);
	seam__stage_expect(runtime, stage, missing_bytes, stage->long_positions);
	seam__stage_judge_anew(runtime, stage);
}

static bool is_next(const struct seam_plan_prologue *next, const struct seam_match_ask *ask)
{
	const bool dynamic = (next->flags & SEAM_PLAN_DYNAMIC) != 0;
	return dynamic == ask->dynamic && (dynamic || next->size_bytes == ask->bytes);
}

/* One that stays is made. NULL: without metadata it is made elsewhere. */
static struct seam_planned *place(
	struct seam_runtime *runtime, const struct seam_plan_prologue *request, struct seam_stream *stream)
{
	struct seam_prelude *prelude = &runtime->prelude;
	struct seam_planned *planned = NULL;
	if (seam__stage_user(runtime, prelude->stage, stream) >= 0)
		planned = seam__matcher_put(prelude->stage->matcher, prelude->at_bytes, request->size_bytes);
	if (planned == NULL) {
		give_place(runtime, request);
		prelude->missing_bytes += request->size_bytes;
	} else {
		prelude->at_bytes += place_bytes(request);
	}
	return planned;
}

/* The request is this slot's, whatever the lanes expect. */
static void find_slot(struct seam_runtime *runtime, uint32_t slot)
{
	struct seam_prelude *prelude = &runtime->prelude;
	if (slot != prelude->next_slot && slot != SEAM_PLAN_NO_SLOT)
		seam__matcher_start_slot(seam__stage_open(runtime)->matcher, slot);
	prelude->next_slot = slot == SEAM_PLAN_NO_SLOT ? slot : (slot + 1) % prelude->slot_count;
}

/* A stranger: the program may have left some out, or asked for something else in their place. If so, this is where the
 * request behind it is. 0: nowhere. */
static uint32_t find_ahead(const struct seam_prelude *prelude, const struct seam_match_ask *ask)
{
	for (uint32_t i = prelude->next + 1; i + 1 < prelude->count && i <= prelude->next + WINDOW; i++) {
		if (is_next(&prelude->requests[i], ask))
			return i + 1;
	}
	return 0;
}

/* Whether the request is the next, or the one behind what the last stranger was: what lies between is passed over. */
static bool comes(struct seam_runtime *runtime, const struct seam_match_ask *ask)
{
	struct seam_prelude *prelude = &runtime->prelude;
	const uint32_t ahead = prelude->ahead;
	prelude->ahead = 0;
	if (is_next(&prelude->requests[prelude->next], ask))
		return true;
	if (ahead == 0 || !is_next(&prelude->requests[ahead], ask)) {
		prelude->ahead = find_ahead(prelude, ask);
		return false;
	}
	pass_over(runtime, ahead);
	return true;
}

struct seam_planned *seam__prelude_alloc(
	struct seam_runtime *runtime, const struct seam_match_ask *ask, struct seam_stream *stream, uint64_t *ret_va)
{
	struct seam_prelude *prelude = &runtime->prelude;
	struct seam_planned *planned = NULL;
	prelude->is_stranger = !comes(runtime, ask);
	prelude->may_stay = stays(&prelude->requests[prelude->next]);
	if (prelude->is_stranger) {
		if (++prelude->strangers == STRANGERS) {
			seam__stage_open(runtime)->differs = true;
			go_on_without(runtime);
		}
		return NULL;
	}
	const struct seam_plan_prologue *next = &prelude->requests[prelude->next++];
	prelude->strangers -= prelude->strangers != 0;
	if (stays(next))
		planned = place(runtime, next, stream);
	else
		find_slot(runtime, next->slot);
	if (planned != NULL)
		*ret_va = prelude->stage->arena.view->va + planned->offset;
	const bool is_elsewhere = planned == NULL && stays(next);
	if (prelude->next == prelude->count)
		go_on_without(runtime);
	prelude->is_stranger = is_elsewhere;
	return planned;
}

static void count_places(void *user, struct seam_stage *stage)
{
	const struct seam_prelude *prelude = user;
	uint64_t at_bytes = 0;
	memset(stage->busy, 0, stage->busy_count * sizeof *stage->busy);
	for (uint32_t i = 0; i < prelude->count; i++) {
		const struct seam_plan_prologue *request = &prelude->requests[i];
		if (!stays(request))
			continue;
		const uint32_t last = seam__arena_chunk_at(&stage->arena, at_bytes + place_bytes(request) - 1);
		for (uint32_t chunk = seam__arena_chunk_at(&stage->arena, at_bytes); chunk <= last; chunk++)
			stage->busy[chunk]++;
		at_bytes += place_bytes(request);
	}
}

/* A stage with a place for each. Errors: SEAM_NOT_FOUND: none stays; those of seam__stage_prepare_fresh(),
 * seam__stage_shut(). */
static enum seam_rc make_places(struct seam_runtime *runtime, struct seam_prelude *prelude)
{
	struct seam_stage *stage = NULL;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < prelude->count; i++) {
		if (!stays(&prelude->requests[i]))
			continue;
		bytes += place_bytes(&prelude->requests[i]);
		prelude->missing_bytes -= prelude->requests[i].size_bytes;
	}
	enum seam_rc rc = bytes == 0 ? SEAM_NOT_FOUND : seam__stage_prepare_fresh(runtime, bytes, &stage);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__stage_shut(runtime, stage, count_places, prelude);
	if (rc == SEAM_OK)
		prelude->stage = stage;
	else
		seam__stage_discard(runtime, stage);
	return rc;
}

/* It has no places: the open plan serves as if it said nothing of them. */
static void begin_without(struct seam_runtime *runtime)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	if (seam__stage_from_start(runtime, stage))
		seam__matcher_start(stage->matcher);
}

/* The places are there. */
static void begin_with(struct seam_runtime *runtime)
{
	struct seam_stage *stage = seam__stage_open(runtime);
	seam__stage_expect(runtime, stage, 0, stage->long_positions);
	seam__stage_begin_settling(runtime, stage, stage->long_positions);
}

enum seam_rc seam__prelude_begin(struct seam_runtime *runtime, const struct seam_plan *plan)
{
	const uint32_t count = plan->header.prologue_count;
	struct seam_prelude prelude = {
		.count = count,
		.slot_count = plan->header.slot_count,
		.next_slot = SEAM_PLAN_NO_SLOT,
		.missing_bytes = plan->header.resident_bytes,
	};
	if (!seam__prelude_is_due(runtime, plan))
		return SEAM_OK;
	prelude.requests = seam__meta_array(runtime->meta, count, sizeof *prelude.requests);
	if (prelude.requests == NULL) {
		begin_without(runtime);
		return SEAM_OK;
	}
	memcpy(prelude.requests, plan->prologue, count * sizeof *prelude.requests);
	const enum seam_rc rc = make_places(runtime, &prelude);
	if (rc == SEAM_OK)
		runtime->prelude = prelude;
	else
		seam__meta_free(runtime->meta, prelude.requests, count * sizeof *prelude.requests);
	if (!runtime->open) { /* memory was short meanwhile */
		seam__prelude_end(runtime);
		return rc == SEAM_OK || rc == SEAM_BUSY ? SEAM_OOM_DEVICE : rc;
	}
	if (rc == SEAM_OK)
		begin_with(runtime);
	else
		begin_without(runtime);
	return SEAM_OK;
}
