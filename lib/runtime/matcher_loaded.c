/* matcher_loaded.c: a matcher's life, its loaded plans, and where in the period somebody says that the program is. */
#include "matcher_state.h"

#include <string.h>

#include "check.h"
#include "meta.h"

enum seam_rc seam__matcher_create(struct seam_meta *meta, struct seam_matcher **ret_matcher)
{
	struct seam_matcher *matcher = seam__meta_alloc(meta, sizeof(*matcher));
	if (matcher == NULL)
		return SEAM_OOM_META;
	matcher->meta = meta;
	matcher->owner = SEAM_NOBODY;
	matcher->off_plan.until = UINT64_MAX;
	matcher->blocked_version = 1;
	seam__slab_init(&matcher->overdue_slab, meta, sizeof(struct seam_overdue_block));
	seam__slab_init(&matcher->off_plan_slab, meta, sizeof(struct seam_off_plan_block));
	*ret_matcher = matcher;
	return SEAM_OK;
}

void seam__matcher_destroy(struct seam_meta *meta, struct seam_matcher *matcher)
{
	if (matcher == NULL)
		return;
	for (uint32_t i = 0; i < SEAM_OWNERS; i++)
		seam__loaded_destroy(meta, matcher->owners[i]);
	(void)seam__slab_fini(&matcher->overdue_slab);
	(void)seam__slab_fini(&matcher->off_plan_slab);
	seam__off_plan_fini(&matcher->off_plan, meta);
	seam__meta_free(meta, matcher->blocked, matcher->blocked_capacity * sizeof(*matcher->blocked));
	seam__meta_free(meta, matcher, sizeof(*matcher));
}

void seam__matcher_forget(struct seam_matcher *matcher, struct seam_loaded_plan *loaded)
{
	matcher->owners[loaded->index] = NULL;
	seam__loaded_destroy(matcher->meta, loaded);
}

/* No block of it is LIVE: those that are left are overdue blocks. */
static void retire(struct seam_matcher *matcher, struct seam_loaded_plan *loaded)
{
	if (loaded->overdue == 0)
		seam__matcher_forget(matcher, loaded);
	else
		seam__loaded_retire(matcher->meta, loaded);
}

static void put_at(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, uint32_t at, uint32_t from)
{
	for (uint32_t i = from; i > at; i--)
		matcher->loaded_plans[i] = matcher->loaded_plans[i - 1];
	for (uint32_t i = from; i < at; i++)
		matcher->loaded_plans[i] = matcher->loaded_plans[i + 1];
	matcher->loaded_plans[at] = loaded;
}

/* A new repetition of the loaded plan, of the copy that the loaded plan before would be in: what lives into the next
 * iteration lies at the same places then. */
static void begin_repetition(struct seam_loaded_plan *loaded, const struct seam_loaded_plan *before, uint32_t position)
{
	uint32_t copy = loaded->used ? (loaded->frontier.copy + 1) % loaded->copies : 0;
	if (before != NULL && before != loaded && before->copies == loaded->copies) {
		const bool is_next =
			before->frontier.position > before->positions / 2 && position < loaded->positions / 2;
		copy = (before->frontier.copy + is_next) % loaded->copies;
	}
	const uint32_t ahead =
		loaded->used ? (copy + loaded->copies - 1 - loaded->frontier.copy) % loaded->copies + 1 : copy;
	loaded->frontier.base += (uint64_t)ahead * loaded->positions;
	loaded->frontier.copy = copy;
	loaded->frontier.position = position;
	loaded->frontier.at = loaded->frontier.base + position;
	loaded->used = true;
}

bool seam__matcher_switch(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, uint32_t position, bool cold)
{
	uint32_t from = 0;
	if (!seam__overdue_take_all(matcher))
		return false;
	while (matcher->loaded_plans[from] != loaded)
		from++;
	put_at(matcher, loaded, 0, from);
	begin_repetition(loaded, matcher->now, position);
	seam__cursors_reset(loaded, position, cold);
	matcher->counts.switches += matcher->now != NULL && matcher->now != loaded;
	matcher->now = loaded;
	matcher->owner = loaded->index;
	matcher->cursor = NULL;
	memset(matcher->vain, 0, sizeof matcher->vain); /* its positions are its own */
	seam__matcher_pass(matcher);
	return true;
}

static void take_out(struct seam_matcher *matcher, struct seam_loaded_plan *loaded)
{
	uint32_t at = 0;
	if (loaded == matcher->successor || loaded == matcher->replaced)
		matcher->successor = matcher->replaced = NULL;
	while (matcher->loaded_plans[at] != loaded)
		at++;
	put_at(matcher, loaded, --matcher->loaded_count, at);
	retire(matcher, loaded);
}

/* A loaded plan of the same kind of iteration, planned anew since. */
static struct seam_loaded_plan *find_forerunner(
	const struct seam_matcher *matcher, const struct seam_loaded_plan *loaded)
{
	for (uint32_t i = 0; i < matcher->loaded_count; i++) {
		if (seam__loaded_resembles(matcher->loaded_plans[i], loaded))
			return matcher->loaded_plans[i];
	}
	return NULL;
}

enum seam_rc seam__matcher_add(struct seam_matcher *matcher, struct seam_loaded_plan *loaded, bool now)
{
	uint32_t index = 0;
	while (index < SEAM_OWNERS && matcher->owners[index] != NULL)
		index++;
	if (index == SEAM_OWNERS)
		return SEAM_OOM_META;
	/* What may fail comes first: switching to the loaded plan takes all that is live. */
	struct seam_loaded_plan *before = matcher->now;
	if (matcher->successor != NULL && before != matcher->replaced)
		take_out(matcher, matcher->replaced); /* nothing is waited for any more */
	struct seam_loaded_plan *forerunner = find_forerunner(matcher, loaded);
	const bool follows = before != NULL && forerunner == before;
	const bool waits = follows && !now && !seam__matcher_is_unmarked(matcher);
	const bool becomes = now || before == NULL || (follows && !waits);
	if (becomes && !seam__overdue_take_all(matcher))
		return SEAM_OOM_META;
	if (follows && matcher->successor != NULL)
		take_out(matcher, matcher->successor);
	if (forerunner != NULL && !follows)
		take_out(matcher, forerunner);
	else if (matcher->loaded_count == SEAM_LOADED_PLANS)
		take_out(matcher, matcher->loaded_plans[matcher->loaded_count - 1]);
	loaded->index = index;
	loaded->unmarked = follows ? before->unmarked : 0;
	matcher->owners[index] = loaded;
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++)
		loaded->instances[n].loaded = (uint8_t)index;
	seam__loaded_forget_clear(loaded);
	const uint32_t at = matcher->loaded_count == 0 ? 0 : 1;
	matcher->loaded_plans[matcher->loaded_count] = loaded;
	put_at(matcher, loaded, at, matcher->loaded_count++);
	if (becomes)
		SEAM_VERIFY(seam__matcher_switch(matcher, loaded, 0, true));
	if (waits) {
		matcher->replaced = before;
		matcher->successor = loaded;
	} else if (follows) {
		take_out(matcher, forerunner);
	}
	return SEAM_OK;
}

/* What waits becomes current if the one whose place it takes is. Without memory it goes on waiting. */
static void succeed(struct seam_matcher *matcher)
{
	matcher->successor->unmarked = matcher->replaced->unmarked;
	if (matcher->now != matcher->replaced || seam__matcher_switch(matcher, matcher->successor, 0, true))
		take_out(matcher, matcher->replaced);
}

void seam__matcher_succeed(struct seam_matcher *matcher)
{
	matcher->steps = true;
	if (matcher->now != NULL)
		matcher->now->unmarked = 0;
	if (matcher->successor != NULL)
		succeed(matcher);
}

void seam__matcher_succeed_unmarked(struct seam_matcher *matcher)
{
	if (matcher->successor != NULL && seam__matcher_is_unmarked(matcher))
		succeed(matcher);
}

uint32_t seam__matcher_loaded_count(const struct seam_matcher *matcher)
{
	return matcher->loaded_count;
}

const struct seam_loaded_plan *seam__matcher_loaded(const struct seam_matcher *matcher, uint32_t i)
{
	SEAM_ASSERT(i < matcher->loaded_count);
	return matcher->loaded_plans[i];
}

/* Where a repetition begins next: here, if the frontier is there. */
static uint64_t next_beginning(const struct seam_loaded_plan *loaded)
{
	return loaded->frontier.base + (loaded->frontier.position != 0 ? loaded->positions : 0);
}

void seam__matcher_start(struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = matcher->now;
	if (loaded != NULL && seam__frontier_move(matcher, next_beginning(loaded)))
		seam__cursors_put(loaded, loaded->frontier.base);
}

bool seam__matcher_start_at_mark(struct seam_matcher *matcher)
{
	struct seam_loaded_plan *loaded = matcher->now;
	if (loaded == NULL || !loaded->marks.all)
		return false;
	if (seam__frontier_leap(matcher, next_beginning(loaded)))
		seam__cursors_put(loaded, loaded->frontier.base);
	return true;
}

void seam__matcher_each(
	struct seam_matcher *matcher, void (*each)(void *user, struct seam_plan_block *plan_block), void *user)
{
	uint64_t left = matcher->counts.live - matcher->off_plan_count;
	for (struct seam_plan_block *p = matcher->now == NULL ? NULL : matcher->now->instances; left != 0; p++) {
		if (p->state == SEAM_PLANNED_LIVE) {
			each(user, p);
			left--;
		}
	}
	for (struct seam_overdue_block *s = seam__overdue_first(&matcher->overdue); s != NULL;
		s = seam__overdue_next(s))
		each(user, s->plan_block);
	struct seam_overdue_block *off_plan = seam__overdue_first(&matcher->off_plan.blocks);
	for (; off_plan != NULL; off_plan = seam__overdue_next(off_plan))
		each(user, off_plan->plan_block);
}
