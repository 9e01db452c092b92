/* trial.c: a recording asked of a plan's matcher; see trial.h. */
#include "trial.h"

#include "idmap.h"
#include "matcher.h"
#include "meta.h"

/* Blocks by their ids: the first value is the matcher's block; 0: served elsewhere. */
struct trying {
	struct seam_matcher *matcher;
	struct seam_idmap blocks;
};

/* A plan can be asked for it. */
static bool is_plain(const struct seam_trace_event *event)
{
	return (event->flags & (SEAM_TRACE_RESIDENT | SEAM_TRACE_CAPTURE)) == 0 && event->pool == 0 && event->size != 0;
}

/* *ret_miss: SEAM_MISS_NONE where the plan serves it. */
static enum seam_rc begin_block(struct trying *trying, const struct seam_trace_event *event, enum seam_miss *ret_miss)
{
	const struct seam_match_ask ask = {
		event->size, event->stream, event->thread, (event->flags & SEAM_TRACE_DYNAMIC) != 0};
	uint64_t *values = NULL;
	const enum seam_rc rc = seam__idmap_put(&trying->blocks, event->id, &values);
	if (rc != SEAM_OK)
		return rc;
	struct seam_plan_block *plan_block = NULL;
	*ret_miss = seam__matcher_alloc(trying->matcher, &ask, &plan_block);
	values[0] = *ret_miss == SEAM_MISS_NONE ? (uint64_t)(uintptr_t)plan_block : 0;
	if (*ret_miss != SEAM_MISS_NONE)
		seam__matcher_beside(trying->matcher, 1);
	return SEAM_OK;
}

static void end_block(struct trying *trying, uint64_t id)
{
	const uint64_t *values = seam__idmap_find(&trying->blocks, id);
	if (values == NULL)
		return; /* from before the recording, or not plain */
	if (values[0] != 0)
		seam__matcher_free(trying->matcher, (struct seam_plan_block *)(uintptr_t)values[0]);
	else
		seam__matcher_beside(trying->matcher, -1);
	seam__idmap_remove(&trying->blocks, id);
}

static enum seam_rc try_events(
	struct trying *trying, const struct seam_trace *recording, uint64_t events, struct seam_trial *trial)
{
	const uint64_t count = recording->header.event_count;
	for (uint64_t i = 0; i < count; i++) {
		const struct seam_trace_event *event = &recording->events[i];
		enum seam_miss miss = SEAM_MISS_NONE;
		if (event->kind == SEAM_TRACE_STEP)
			seam__matcher_step(trying->matcher);
		else if (event->kind == SEAM_TRACE_FREE)
			end_block(trying, event->id);
		if (event->kind != SEAM_TRACE_ALLOC || !is_plain(event))
			continue;
		const enum seam_rc rc = begin_block(trying, event, &miss);
		if (rc != SEAM_OK)
			return rc;
		const bool counts = i + events >= count && miss != SEAM_MISS_dynamic;
		trial->asked += counts;
		trial->known += counts && !seam__miss_is_unknown(miss);
		trial->served += counts && miss == SEAM_MISS_NONE;
	}
	return SEAM_OK;
}

static enum seam_rc load(
	struct seam_meta *meta, const struct seam_plan *plan, bool begins_at_mark, struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = NULL;
	enum seam_rc rc = seam__loaded_create(meta, plan, &loaded);
	if (rc != SEAM_OK)
		return rc;
	if (begins_at_mark)
		seam__loaded_begins_at_mark(loaded);
	seam__matcher_set_bytes(matcher, seam__loaded_bytes(loaded));
	rc = seam__matcher_add(matcher, loaded, true);
	if (rc != SEAM_OK)
		seam__loaded_destroy(meta, loaded);
	return rc;
}

enum seam_rc seam__trial_run(struct seam_meta *meta, const struct seam_plan *plan, bool begins_at_mark,
	const struct seam_trace *recording, uint64_t events, struct seam_trial *ret_trial)
{
	struct trying trying = {0};
	*ret_trial = (struct seam_trial){0};
	enum seam_rc rc = seam__matcher_create(meta, &trying.matcher);
	if (rc != SEAM_OK)
		return rc;
	seam__idmap_init(&trying.blocks);
	rc = load(meta, plan, begins_at_mark, trying.matcher);
	if (rc == SEAM_OK)
		rc = try_events(&trying, recording, events, ret_trial);
	seam__idmap_fini(&trying.blocks);
	seam__matcher_destroy(meta, trying.matcher);
	return rc;
}
