/* matcher_check.c: a matcher's invariants; see matcher.h. */
#include "matcher_state.h"

/* The least of what is left of three rows of live blocks in order of address. */
struct rows {
	const struct seam_script *script; /* NULL: none */
	uint32_t at;                      /* in its instances by address */
	struct seam_stray *stray;
	const struct seam_loose *loose;
	uint32_t loose_at;
};

static const struct seam_planned *next_row(struct rows *rows)
{
	const struct seam_planned *best = NULL;
	while (rows->script != NULL && rows->at < rows->script->placed) {
		best = &rows->script->instances[rows->script->berths[rows->at].number];
		if (best->state == SEAM_PLANNED_LIVE)
			break;
		rows->at++;
		best = NULL;
	}
	uint32_t from = 0;
	if (rows->stray != NULL && (best == NULL || rows->stray->begin < best->offset)) {
		best = rows->stray->planned;
		from = 1;
	}
	if (rows->loose_at < rows->loose->count &&
		(best == NULL || rows->loose->entries[rows->loose_at].begin < best->offset)) {
		best = &rows->loose->entries[rows->loose_at].block->planned;
		from = 2;
	}
	if (from == 1)
		rows->stray = seam__strays_next(rows->stray);
	else if (from == 2)
		rows->loose_at++;
	else if (best != NULL)
		rows->at++;
	return best;
}

static const char *check_live(const struct seam_matcher *matcher)
{
	struct rows rows = {matcher->now, 0, seam__strays_first(&matcher->strays), &matcher->loose, 0};
	uint64_t end = 0, live = 0, bytes = 0;
	for (const struct seam_planned *p; (p = next_row(&rows)) != NULL; live++) {
		if (p->offset < end)
			return "H1";
		end = p->offset + p->bytes;
		bytes += p->bytes;
	}
	if (live != matcher->counts.live || bytes != matcher->counts.live_bytes)
		return "H5";
	return matcher->apart == matcher->strays.count + matcher->loose.count ? NULL : "H5";
}

static const char *check_strays(const struct seam_matcher *matcher)
{
	uint64_t owned[SEAM_OWNERS] = {0};
	if (seam__strays_check(&matcher->strays) != NULL || seam__loose_check(&matcher->loose) != NULL)
		return "H2";
	for (const struct seam_stray *s = seam__strays_first(&matcher->strays); s != NULL;
		s = seam__strays_next((void *)(uintptr_t)s)) {
		if (s->begin != s->planned->offset || s->end != s->begin + s->planned->bytes)
			return "H2";
		if (s->planned->state != SEAM_PLANNED_LATE && s->planned->state != SEAM_PLANNED_HELD)
			return "H2";
		if (s->planned->script != SEAM_DYNAMIC)
			owned[s->planned->script]++;
	}
	for (uint32_t i = 0; i < SEAM_OWNERS; i++)
		if (matcher->owners[i] != NULL ? matcher->owners[i]->strays != owned[i] : owned[i] != 0)
			return "H2";
	return NULL;
}

/* Every LIVE instance has the position before the front in its interval. */
static const char *check_around(const struct seam_script *script)
{
	const uint64_t circle = (uint64_t)script->positions * script->copies;
	const uint64_t front = (uint64_t)script->front.copy * script->positions + script->front.position;
	for (uint32_t n = 0; n < script->slots * script->copies; n++) {
		const struct seam_stretch *stretch = &script->stretches[n / script->copies];
		const uint64_t begin = (uint64_t)(n % script->copies) * script->positions + stretch->begin;
		const uint64_t since = (front + 2 * circle - 1 - begin) % circle;
		if (script->instances[n].state == SEAM_PLANNED_LIVE && since >= stretch->end - stretch->begin)
			return "H2";
	}
	return NULL;
}

struct loose_check {
	const struct seam_script *script;
	uint64_t left; /* positions from the front until the block is a stray */
};

static bool is_due(void *user, uint32_t number)
{
	const struct loose_check *check = user;
	return seam__script_due_in(check->script, number) < check->left;
}

/* An expected slot is not tested against loose blocks. */
static const char *check_loose(const struct seam_matcher *matcher)
{
	for (uint32_t i = 0; i < matcher->loose.count; i++) {
		const struct seam_loose_entry *entry = &matcher->loose.entries[i];
		const uint64_t front = matcher->now->front.at;
		struct loose_check check = {matcher->now, entry->until > front ? entry->until - front : 0};
		if (seam__script_overlapping(matcher->now, entry->begin, entry->end, is_due, &check))
			return "H6";
	}
	return NULL;
}

static const char *check_front(const struct seam_script *script)
{
	const struct seam_front *front = &script->front;
	if (front->position >= script->positions || front->at != front->base + front->position ||
		front->base % script->positions != 0)
		return "H3";
	if (front->base / script->positions % script->copies != front->copy)
		return "H3";
	return NULL;
}

static const char *check_ranges(const struct seam_matcher *matcher)
{
	for (uint32_t b = 0; b < matcher->blocked_count; b++)
		if (matcher->blocked[b].begin >= matcher->blocked[b].end ||
			(b != 0 && matcher->blocked[b - 1].end > matcher->blocked[b].begin))
			return "H4";
	return NULL;
}

static const char *check_blocked(const struct seam_matcher *matcher, const struct seam_script *script)
{
	for (uint32_t i = 0; i < script->placed; i++) {
		const struct seam_planned *p = &script->instances[script->berths[i].number];
		uint32_t blocked = 0;
		for (uint32_t b = 0; b < matcher->blocked_count; b++)
			blocked +=
				matcher->blocked[b].begin < p->offset + p->bytes && p->offset < matcher->blocked[b].end;
		if (blocked != p->blocked)
			return "H4";
	}
	return NULL;
}

static bool has_script(const struct seam_matcher *matcher, const struct seam_script *script)
{
	uint32_t i = 0;
	while (i < matcher->script_count && matcher->scripts[i] != script)
		i++;
	return i < matcher->script_count;
}

static const char *check_heir(const struct seam_matcher *matcher)
{
	if (matcher->heir == NULL && matcher->elder == NULL)
		return NULL;
	return matcher->heir != matcher->elder && has_script(matcher, matcher->heir) &&
			has_script(matcher, matcher->elder)
		? NULL
		: "H7";
}

const char *seam__matcher_check(const struct seam_matcher *matcher)
{
	const char *broken = check_strays(matcher);
	if (broken == NULL)
		broken = check_live(matcher);
	if (broken == NULL)
		broken = check_heir(matcher);
	if (broken == NULL)
		broken = check_ranges(matcher);
	for (uint32_t i = 0; broken == NULL && i < matcher->script_count; i++) {
		broken = seam__script_check(matcher->scripts[i]);
		if (broken == NULL)
			broken = check_blocked(matcher, matcher->scripts[i]);
	}
	if (broken == NULL && matcher->now != NULL)
		broken = check_around(matcher->now);
	if (broken == NULL && matcher->now != NULL)
		broken = check_loose(matcher);
	if (broken == NULL && matcher->now != NULL)
		broken = check_front(matcher->now);
	return broken;
}
