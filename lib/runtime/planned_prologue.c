/* planned_prologue.c: a program's first requests, where the plan that was given says which of them stay.
 *
 * What stays has one place each, one behind the other, in an active plan of its own that is there when the program
 * begins: so it lies as densely as can be, and never where a slot lies. That active plan is closed from its beginning:
 * nothing else comes to lie there, and what is freed goes back to the engine at once. What does not stay may
 * have whatever the plan leaves idle.
 *
 * Requests are told by their sizes, in their order. One that is not the next is a stranger: it gets no slot, and where
 * it comes in the place of one that stays, and is likely to stay too, nothing that is idle either. Two that follow each
 * other a little further on say that the program has left some out. When a few more of them have come than of the
 * others the program is another one, or does something else: then the rest of the places goes back, and if that is much
 * the plan is suspended (suspend.c).
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "planned_impl.h"

static bool stays(const struct seam_plan_prologue *request)
{
	return (request->flags & SEAM_PLAN_STAYS) != 0;
}

static uint64_t place_bytes(const struct seam_plan_prologue *request)
{
	return seam__bits_align_up(request->size_bytes, SEAM_PLANNED_BYTES);
}

bool seam__prologue_is_due(const struct seam_runtime *runtime, const struct seam_plan *plan)
{
	return plan->header.prologue_count != 0 && runtime->engine->counts.live_blocks == 0;
}

void seam__prologue_forget(struct seam_runtime *runtime)
{
	struct seam_prologue *prologue = &runtime->prologue;
	seam__meta_free(runtime->meta, prologue->requests, prologue->count * sizeof *prologue->requests);
	*prologue = (struct seam_prologue){0};
}

/* The place of one that stays, which was made elsewhere, or is not made. */
static void give_place(struct seam_runtime *runtime, const struct seam_plan_prologue *request)
{
	struct seam_prologue *prologue = &runtime->prologue;
	seam__active_give_back(runtime, prologue->active, prologue->at_bytes, place_bytes(request));
	prologue->at_bytes += place_bytes(request);
}

/* Those that are next, up to this one, do not come any more. */
static void pass_over(struct seam_runtime *runtime, uint32_t behind)
{
	struct seam_prologue *prologue = &runtime->prologue;
	for (; prologue->next < behind; prologue->next++) {
		if (stays(&prologue->requests[prologue->next]))
			give_place(runtime, &prologue->requests[prologue->next]);
	}
}

void seam__prologue_end(struct seam_runtime *runtime)
{
	pass_over(runtime, runtime->prologue.count); /* 0 without one */
	seam__prologue_forget(runtime);
}

/* What stays of the requests from `first` on. */
static uint64_t staying_bytes(const struct seam_plan_prologue *requests, uint32_t first, uint32_t count)
{
	uint64_t bytes = 0;
	for (uint32_t i = first; i < count; i++)
		bytes += stays(&requests[i]) ? requests[i].size_bytes : 0;
	return bytes;
}

uint64_t seam__prologue_missing(const struct seam_runtime *runtime, const struct seam_plan *plan)
{
	const uint32_t count = seam__prologue_is_due(runtime, plan) ? plan->header.prologue_count : 0;
	return plan->header.resident_bytes - staying_bytes(plan->prologue, 0, count);
}

/* From here on the open plan serves as if it had had no prologue. True: much that stays is missing. */
static bool go_on_without(struct seam_runtime *runtime)
{
	const struct seam_prologue *prologue = &runtime->prologue;
	struct seam_active_plan *active = seam__active_open(runtime);
	const uint64_t missing_bytes = staying_bytes(prologue->requests, prologue->next, prologue->count);
	seam__prologue_end(runtime);
	seam__active_judge_anew(runtime, active);
	return missing_bytes >= active->arena.bytes / SEAM_MISSING_SHARE;
}

static bool is_next(const struct seam_plan_prologue *next, const struct seam_match_ask *ask)
{
	const bool dynamic = (next->flags & SEAM_PLAN_DYNAMIC) != 0;
	return dynamic == ask->dynamic && (dynamic || next->size_bytes == ask->bytes);
}

/* One that stays is made. NULL: without metadata it is made elsewhere. */
static struct seam_plan_block *place(
	struct seam_runtime *runtime, const struct seam_plan_prologue *request, struct seam_stream *stream)
{
	struct seam_prologue *prologue = &runtime->prologue;
	struct seam_plan_block *plan_block = NULL;
	if (seam__active_user(runtime, prologue->active, stream) >= 0)
		plan_block = seam__matcher_put(prologue->active->matcher, prologue->at_bytes, request->size_bytes);
	if (plan_block == NULL) {
		give_place(runtime, request);
	} else {
		prologue->at_bytes += place_bytes(request);
	}
	return plan_block;
}

/* A stranger: the program may have left some out, or asked for something else in their place. If so, this is where the
 * request behind it is. 0: nowhere. */
static uint32_t find_ahead(const struct seam_prologue *prologue, const struct seam_match_ask *ask)
{
	for (uint32_t i = prologue->next; i + 1 < prologue->count && i <= prologue->next + SEAM_PROLOGUE_WINDOW; i++) {
		if (is_next(&prologue->requests[i], ask))
			return i + 1;
	}
	return 0;
}

/* Whether the request is the next, or the one behind what the last stranger was: what lies between is passed over. */
static bool comes(struct seam_runtime *runtime, const struct seam_match_ask *ask)
{
	struct seam_prologue *prologue = &runtime->prologue;
	const uint32_t ahead = prologue->ahead;
	prologue->ahead = 0;
	if (is_next(&prologue->requests[prologue->next], ask))
		return true;
	if (ahead == 0 || !is_next(&prologue->requests[ahead], ask)) {
		prologue->ahead = find_ahead(prologue, ask);
		return false;
	}
	pass_over(runtime, ahead);
	return true;
}

struct seam_plan_block *seam__prologue_alloc(struct seam_runtime *runtime, const struct seam_match_ask *ask,
	struct seam_stream *stream, uint64_t *ret_va, bool *ret_departs)
{
	struct seam_prologue *prologue = &runtime->prologue;
	struct seam_plan_block *plan_block = NULL;
	prologue->is_stranger = !comes(runtime, ask);
	prologue->may_stay = stays(&prologue->requests[prologue->next]);
	if (prologue->is_stranger) {
		if (++prologue->strangers == SEAM_PROLOGUE_STRANGERS)
			*ret_departs = go_on_without(runtime);
		return NULL;
	}
	const struct seam_plan_prologue *next = &prologue->requests[prologue->next++];
	prologue->strangers -= prologue->strangers != 0;
	if (stays(next))
		plan_block = place(runtime, next, stream);
	else if (next->slot != SEAM_PLAN_NO_SLOT) /* it is this one, whatever the cursors expect */
		seam__matcher_start_slot(seam__active_open(runtime)->matcher, next->slot);
	if (plan_block != NULL)
		*ret_va = prologue->active->arena.view->va + plan_block->offset;
	const bool is_elsewhere = plan_block == NULL && stays(next);
	if (prologue->next == prologue->count)
		(void)go_on_without(runtime);
	prologue->is_stranger = is_elsewhere;
	return plan_block;
}

/* It never was open: nothing is counted yet. */
static void count_places(void *user, struct seam_active_plan *active)
{
	const struct seam_prologue *prologue = user;
	uint64_t at_bytes = 0;
	for (uint32_t i = 0; i < prologue->count; i++) {
		const struct seam_plan_prologue *request = &prologue->requests[i];
		if (!stays(request))
			continue;
		const uint32_t last = seam__arena_chunk_at(&active->arena, at_bytes + place_bytes(request) - 1);
		for (uint32_t chunk = seam__arena_chunk_at(&active->arena, at_bytes); chunk <= last; chunk++)
			active->busy[chunk]++;
		at_bytes += place_bytes(request);
	}
}

/* An active plan with a place for each; NULL: none stays. Errors: those of seam__active_prepare_fresh(),
 * seam__active_shut(). */
static enum seam_rc make_places(struct seam_runtime *runtime, struct seam_prologue *prologue)
{
	struct seam_active_plan *active = NULL;
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < prologue->count; i++)
		bytes += stays(&prologue->requests[i]) ? place_bytes(&prologue->requests[i]) : 0;
	if (bytes == 0)
		return SEAM_OK;
	enum seam_rc rc = seam__active_prepare_fresh(runtime, bytes, &active);
	if (rc != SEAM_OK)
		return rc;
	rc = seam__active_shut(runtime, active, count_places, prologue);
	if (rc == SEAM_OK)
		prologue->active = active;
	else
		seam__active_discard(runtime, active);
	return rc;
}

enum seam_rc seam__prologue_begin(struct seam_runtime *runtime, const struct seam_plan *plan)
{
	const uint32_t count = plan->header.prologue_count;
	struct seam_prologue prologue = {
		.count = count,
		.requests = seam__meta_array(runtime->meta, count, sizeof *prologue.requests),
	};
	if (prologue.requests == NULL)
		return SEAM_OOM_META;
	memcpy(prologue.requests, plan->prologue, count * sizeof *prologue.requests);
	const enum seam_rc rc = make_places(runtime, &prologue);
	if (prologue.active == NULL) {
		seam__meta_free(runtime->meta, prologue.requests, count * sizeof *prologue.requests);
		if (rc == SEAM_OK)
			seam__matcher_start(seam__active_open(runtime)->matcher);
		return rc;
	}
	runtime->prologue = prologue;
	if (!runtime->open) { /* memory was short meanwhile */
		seam__prologue_end(runtime);
		return SEAM_OOM_DEVICE;
	}
	return SEAM_OK;
}
