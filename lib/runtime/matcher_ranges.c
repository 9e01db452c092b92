/* matcher_ranges.c: ranges of the arena: which are blocked, which are idle, and who lies there. */
#include "matcher_state.h"

#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"

static bool is_full(void *user, uint32_t number)
{
	const struct seam_script *script = user;
	return script->instances[number].blocked == UINT16_MAX;
}

static bool raise(void *user, uint32_t number)
{
	const struct seam_script *script = user;
	script->instances[number].blocked++;
	return false;
}

static bool fall(void *user, uint32_t number)
{
	const struct seam_script *script = user;
	SEAM_ASSERT(script->instances[number].blocked != 0);
	script->instances[number].blocked--;
	return false;
}

static bool visit_all(
	const struct seam_matcher *matcher, uint64_t begin, uint64_t end, bool (*visit)(void *user, uint32_t number))
{
	for (uint32_t i = 0; i < matcher->script_count; i++)
		if (seam__script_overlapping(matcher->scripts[i], begin, end, visit, matcher->scripts[i]))
			return true;
	return false;
}

static bool grow_blocked(struct seam_matcher *matcher)
{
	if (matcher->blocked_count < matcher->blocked_capacity)
		return true;
	const uint32_t capacity = matcher->blocked_capacity == 0 ? 64 : 2 * matcher->blocked_capacity;
	const size_t bytes = sizeof(*matcher->blocked);
	struct seam_blocked *larger =
		seam__meta_resize(matcher->meta, matcher->blocked, matcher->blocked_capacity * bytes, capacity * bytes);
	if (larger == NULL)
		return false;
	matcher->blocked = larger;
	matcher->blocked_capacity = capacity;
	return true;
}

uint32_t seam__matcher_blocked_at(const struct seam_matcher *matcher, uint64_t at)
{
	uint32_t low = 0, high = matcher->blocked_count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (matcher->blocked[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum seam_rc seam__matcher_block(struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	SEAM_ASSERT(begin < end);
	if (!grow_blocked(matcher) || visit_all(matcher, begin, end, is_full))
		return SEAM_OOM_META;
	const uint32_t at = seam__matcher_blocked_at(matcher, begin);
	SEAM_ASSERT(at == matcher->blocked_count || end <= matcher->blocked[at].begin);
	memmove(&matcher->blocked[at + 1], &matcher->blocked[at],
		(matcher->blocked_count - at) * sizeof(*matcher->blocked));
	matcher->blocked[at] = (struct seam_blocked){begin, end};
	matcher->blocked_count++;
	(void)visit_all(matcher, begin, end, raise);
	return SEAM_OK;
}

void seam__matcher_unblock(struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	const uint32_t first = seam__matcher_blocked_at(matcher, begin);
	uint32_t behind = first;
	for (; behind < matcher->blocked_count && matcher->blocked[behind].begin < end; behind++) {
		const struct seam_blocked *blocked = &matcher->blocked[behind];
		SEAM_ASSERT(begin <= blocked->begin && blocked->end <= end);
		(void)visit_all(matcher, blocked->begin, blocked->end, fall);
	}
	if (behind == first)
		return; /* an array of nothing may have no address */
	memmove(&matcher->blocked[first], &matcher->blocked[behind],
		(matcher->blocked_count - behind) * sizeof(*matcher->blocked));
	matcher->blocked_count -= behind - first;
}

uint64_t seam__matcher_blocked_bytes(const struct seam_matcher *matcher)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < matcher->blocked_count; i++)
		bytes += matcher->blocked[i].end - matcher->blocked[i].begin;
	return bytes;
}

/* The live block of the current script, no stray, that overlaps a range. */
struct search {
	const struct seam_script *script;
	const struct seam_planned *missing; /* see seam_matcher */
	struct seam_planned *found;
	uint64_t soonest; /* positions until an instance is due */
	bool lives;       /* one is there */
};

static bool find_live(void *user, uint32_t number)
{
	struct search *search = user;
	struct seam_planned *planned = &search->script->instances[number];
	if (planned->state != SEAM_PLANNED_LIVE)
		return false;
	search->found = planned;
	return true;
}

struct seam_planned *seam__matcher_around(struct seam_matcher *matcher, uint64_t offset)
{
	const struct seam_stray *stray = seam__strays_behind(&matcher->strays, offset);
	if (stray != NULL && stray->begin <= offset)
		return stray->planned;
	const uint32_t loose = seam__loose_behind(&matcher->loose, offset);
	if (loose < matcher->loose.count && matcher->loose.entries[loose].begin <= offset)
		return &matcher->loose.entries[loose].block->planned;
	struct search search = {.script = matcher->now};
	if (matcher->now != NULL)
		(void)seam__script_overlapping(matcher->now, offset, offset + 1, find_live, &search);
	return search.found;
}

/* When an instance is due next, counted from the front; true when it is live. One that was missed just now, and is
 * being served elsewhere, is not due before its next repetition: not at all, as far as this request goes. */
static bool measure_due(void *user, uint32_t number)
{
	struct search *search = user;
	const struct seam_script *script = search->script;
	if (script->instances[number].state != SEAM_PLANNED_FREE) {
		search->lives = true;
		return true;
	}
	if (search->missing != &script->instances[number])
		search->soonest = seam__bits_min(search->soonest, seam__script_due_in(script, number));
	return false;
}

uint64_t seam__matcher_idle(struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	struct search search = {.script = matcher->now, .missing = matcher->missing, .soonest = UINT64_MAX};
	if (matcher->apart != 0 && seam__apart_overlaps(matcher, begin, end))
		return 0;
	if (matcher->now != NULL)
		(void)seam__script_overlapping(matcher->now, begin, end, measure_due, &search);
	return search.lives ? 0 : seam__bits_max(1, search.soonest);
}

struct last {
	const struct seam_script *script;
	void (*each)(void *user, const struct seam_planned *last);
	void *user;
};

static bool see_last(void *user, uint32_t number)
{
	const struct last *last = user;
	const struct seam_planned *planned = &last->script->instances[number];
	if (planned->state == SEAM_PLANNED_FREE && planned->stream != NULL)
		last->each(last->user, planned);
	return false;
}

void seam__matcher_last(const struct seam_matcher *matcher, uint64_t begin, uint64_t end,
	void (*each)(void *user, const struct seam_planned *last), void *user)
{
	for (uint32_t i = 0; i < matcher->script_count; i++) {
		struct last last = {matcher->scripts[i], each, user};
		(void)seam__script_overlapping(last.script, begin, end, see_last, &last);
	}
}

bool seam__matcher_is_waited(const struct seam_matcher *matcher, const struct seam_planned *planned)
{
	if (planned->script == SEAM_DYNAMIC)
		return false;
	const struct seam_script *script = matcher->owners[planned->script];
	return !script->retired && script->waited[planned->number / script->copies] != 0;
}

uint64_t seam__matcher_forgotten(const struct seam_matcher *matcher)
{
	return matcher->forgotten;
}
