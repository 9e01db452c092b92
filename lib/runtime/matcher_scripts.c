/* matcher_scripts.c: a matcher's life, its scripts, and where in the period somebody says that the program is. */
#include "matcher_state.h"

#include "check.h"
#include "meta.h"

enum seam_rc seam__matcher_create(struct seam_meta *meta, struct seam_matcher **ret_matcher)
{
	struct seam_matcher *matcher = seam__meta_alloc(meta, sizeof(*matcher));
	if (matcher == NULL)
		return SEAM_OOM_META;
	matcher->meta = meta;
	matcher->owner = SEAM_NOBODY;
	matcher->loose.until = UINT64_MAX;
	seam__slab_init(&matcher->stray_slab, meta, sizeof(struct seam_stray));
	seam__slab_init(&matcher->loose_slab, meta, sizeof(struct seam_loose_block));
	*ret_matcher = matcher;
	return SEAM_OK;
}

void seam__matcher_destroy(struct seam_meta *meta, struct seam_matcher *matcher)
{
	if (matcher == NULL)
		return;
	for (uint32_t i = 0; i < SEAM_OWNERS; i++)
		seam__script_destroy(meta, matcher->owners[i]);
	(void)seam__slab_fini(&matcher->stray_slab);
	(void)seam__slab_fini(&matcher->loose_slab);
	seam__loose_fini(&matcher->loose, meta);
	seam__meta_free(meta, matcher->blocked, matcher->blocked_capacity * sizeof(*matcher->blocked));
	seam__meta_free(meta, matcher, sizeof(*matcher));
}

void seam__matcher_forget(struct seam_matcher *matcher, struct seam_script *script)
{
	matcher->owners[script->index] = NULL;
	seam__script_destroy(matcher->meta, script);
}

/* No block of it is LIVE: those that are left are strays. */
static void retire(struct seam_matcher *matcher, struct seam_script *script)
{
	matcher->forgotten++;
	if (script->strays == 0)
		seam__matcher_forget(matcher, script);
	else
		seam__script_retire(matcher->meta, script);
}

static void put_at(struct seam_matcher *matcher, struct seam_script *script, uint32_t at, uint32_t from)
{
	for (uint32_t i = from; i > at; i--)
		matcher->scripts[i] = matcher->scripts[i - 1];
	for (uint32_t i = from; i < at; i++)
		matcher->scripts[i] = matcher->scripts[i + 1];
	matcher->scripts[at] = script;
}

/* A new repetition of the script, of the copy that the script before would be in: what lives into the next iteration
 * lies at the same places then. */
static void begin_repetition(struct seam_script *script, const struct seam_script *before, uint32_t position)
{
	uint32_t copy = script->used ? (script->front.copy + 1) % script->copies : 0;
	if (before != NULL && before != script && before->copies == script->copies) {
		const bool is_next = before->front.position > before->positions / 2 && position < script->positions / 2;
		copy = (before->front.copy + is_next) % script->copies;
	}
	const uint32_t ahead =
		script->used ? (copy + script->copies - 1 - script->front.copy) % script->copies + 1 : copy;
	script->front.base += (uint64_t)ahead * script->positions;
	script->front.copy = copy;
	script->front.position = position;
	script->front.at = script->front.base + position;
	script->used = true;
}

bool seam__matcher_switch(struct seam_matcher *matcher, struct seam_script *script, uint32_t position, bool cold)
{
	uint32_t from = 0;
	if (!seam__strays_take_all(matcher))
		return false;
	while (matcher->scripts[from] != script)
		from++;
	put_at(matcher, script, 0, from);
	begin_repetition(script, matcher->now, position);
	seam__lanes_reset(script, position, cold);
	matcher->counts.switches += matcher->now != NULL && matcher->now != script;
	matcher->counts.repetitions++;
	matcher->now = script;
	matcher->owner = script->index;
	matcher->lane = NULL;
	matcher->missing = NULL;
	matcher->pending = NULL;
	matcher->reach = 0;
	return true;
}

/* Blocked ranges over an instance, up to too many. */
struct counting {
	struct seam_script *script;
	bool full;
};

static bool count_blocked(void *user, uint32_t number)
{
	struct counting *counting = user;
	counting->full = counting->script->instances[number].blocked == UINT16_MAX;
	counting->script->instances[number].blocked += !counting->full;
	return counting->full;
}

/* What is blocked is blocked for a new script too. False: too many ranges over one instance. */
static bool block_script(const struct seam_matcher *matcher, struct seam_script *script)
{
	struct counting counting = {script, false};
	for (uint32_t n = 0; n < script->slots * script->copies; n++)
		script->instances[n].blocked = 0;
	for (uint32_t b = 0; b < matcher->blocked_count && !counting.full; b++)
		(void)seam__script_overlapping(
			script, matcher->blocked[b].begin, matcher->blocked[b].end, count_blocked, &counting);
	return !counting.full;
}

static void note_streams(struct seam_matcher *matcher, const struct seam_script *script)
{
	if (matcher->some_script) {
		matcher->several_scripts = true;
	} else {
		matcher->some_script = true;
		matcher->some_stream = script->streams[0];
	}
	matcher->several_streams |= script->is_used;
	for (uint32_t i = 0; i < script->stream_count; i++)
		matcher->several_streams |= script->streams[i] != matcher->some_stream;
}

static void take_out(struct seam_matcher *matcher, struct seam_script *script)
{
	uint32_t at = 0;
	if (script == matcher->heir || script == matcher->elder)
		matcher->heir = matcher->elder = NULL;
	while (matcher->scripts[at] != script)
		at++;
	put_at(matcher, script, --matcher->script_count, at);
	retire(matcher, script);
}

/* A script of the same kind of iteration, planned anew since. */
static struct seam_script *find_forerunner(const struct seam_matcher *matcher, const struct seam_script *script)
{
	for (uint32_t i = 0; i < matcher->script_count; i++) {
		if (seam__script_resembles(matcher->scripts[i], script))
			return matcher->scripts[i];
	}
	return NULL;
}

enum seam_rc seam__matcher_add(struct seam_matcher *matcher, struct seam_script *script, bool now)
{
	uint32_t index = 0;
	while (index < SEAM_OWNERS && matcher->owners[index] != NULL)
		index++;
	if (index == SEAM_OWNERS || !block_script(matcher, script))
		return SEAM_OOM_META;
	/* What may fail comes first: switching to the script takes all that is live. */
	struct seam_script *before = matcher->now;
	if (matcher->heir != NULL && before != matcher->elder)
		take_out(matcher, matcher->elder); /* nothing is waited for any more */
	struct seam_script *forerunner = find_forerunner(matcher, script);
	const bool follows = before != NULL && forerunner == before;
	const bool waits = follows && !now && !seam__matcher_is_unmarked(matcher);
	const bool becomes = now || before == NULL || (follows && !waits);
	if (becomes && !seam__strays_take_all(matcher))
		return SEAM_OOM_META;
	if (follows && matcher->heir != NULL)
		take_out(matcher, matcher->heir);
	if (forerunner != NULL && !follows)
		take_out(matcher, forerunner);
	else if (matcher->script_count == SEAM_SCRIPTS)
		take_out(matcher, matcher->scripts[matcher->script_count - 1]);
	script->index = index;
	script->unmarked = follows ? before->unmarked : 0;
	matcher->owners[index] = script;
	for (uint32_t n = 0; n < script->slots * script->copies; n++)
		script->instances[n].script = (uint8_t)index;
	const uint32_t at = matcher->script_count == 0 ? 0 : 1;
	matcher->scripts[matcher->script_count] = script;
	put_at(matcher, script, at, matcher->script_count++);
	note_streams(matcher, script);
	if (becomes)
		SEAM_VERIFY(seam__matcher_switch(matcher, script, 0, true));
	if (waits) {
		matcher->elder = before;
		matcher->heir = script;
	} else if (follows) {
		take_out(matcher, forerunner);
	}
	return SEAM_OK;
}

/* What waits becomes current if the one whose place it takes is. Without memory it goes on waiting. */
static void succeed(struct seam_matcher *matcher)
{
	matcher->heir->unmarked = matcher->elder->unmarked;
	if (matcher->now != matcher->elder || seam__matcher_switch(matcher, matcher->heir, 0, true))
		take_out(matcher, matcher->elder);
}

void seam__matcher_succeed(struct seam_matcher *matcher)
{
	matcher->steps = true;
	if (matcher->now != NULL)
		matcher->now->unmarked = 0;
	if (matcher->heir != NULL)
		succeed(matcher);
}

void seam__matcher_succeed_unmarked(struct seam_matcher *matcher)
{
	if (matcher->heir != NULL && seam__matcher_is_unmarked(matcher))
		succeed(matcher);
}

uint32_t seam__matcher_scripts(const struct seam_matcher *matcher)
{
	return matcher->script_count;
}

const struct seam_script *seam__matcher_script(const struct seam_matcher *matcher, uint32_t i)
{
	SEAM_ASSERT(i < matcher->script_count);
	return matcher->scripts[i];
}

enum seam_rc seam__matcher_clear(struct seam_matcher *matcher)
{
	if (!seam__strays_take_all(matcher))
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < matcher->script_count; i++)
		retire(matcher, matcher->scripts[i]);
	matcher->heir = matcher->elder = NULL;
	matcher->script_count = 0;
	matcher->now = NULL;
	matcher->owner = SEAM_NOBODY;
	matcher->lane = NULL;
	matcher->missing = NULL;
	matcher->pending = NULL;
	matcher->reach = 0;
	return SEAM_OK;
}

/* The front and every lane go to `at`, where a repetition begins. */
static void start_at(struct seam_matcher *matcher, uint64_t at)
{
	struct seam_script *script = matcher->now;
	if (!seam__front_move(matcher, at))
		return;
	seam__lanes_put(script, script->front.base);
}

void seam__matcher_warm(struct seam_matcher *matcher)
{
	struct seam_script *script = matcher->now;
	for (uint32_t l = 0; script != NULL && l < script->lane_count; l++)
		if (script->lanes[l].cold)
			seam__lane_put(script, &script->lanes[l], script->front.at);
}

void seam__matcher_start(struct seam_matcher *matcher)
{
	const struct seam_script *script = matcher->now;
	if (script != NULL)
		start_at(matcher, script->front.base + (script->front.position != 0 ? script->positions : 0));
}

void seam__matcher_start_behind(struct seam_matcher *matcher, uint64_t at)
{
	const struct seam_script *script = matcher->now;
	if (script == NULL)
		return;
	uint64_t to = (at / script->positions + 1) * script->positions;
	while (to < script->front.at)
		to += (uint64_t)script->copies * script->positions;
	start_at(matcher, to);
}

void seam__matcher_each(
	struct seam_matcher *matcher, void (*each)(void *user, struct seam_planned *planned), void *user)
{
	uint64_t left = matcher->counts.live - matcher->apart;
	for (struct seam_planned *p = matcher->now == NULL ? NULL : matcher->now->instances; left != 0; p++) {
		if (p->state == SEAM_PLANNED_LIVE) {
			each(user, p);
			left--;
		}
	}
	for (struct seam_stray *s = seam__strays_first(&matcher->strays); s != NULL; s = seam__strays_next(s))
		each(user, s->planned);
	for (uint32_t i = 0; i < matcher->loose.count; i++)
		each(user, &matcher->loose.entries[i].block->planned);
}
