/* matcher_ranges.c: ranges of the arena: which are blocked, which are idle, and who lies there. */
#include "matcher_state.h"

#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"

static bool grow_blocked(struct seam_matcher *matcher, uint32_t count)
{
	if (count <= matcher->blocked_capacity)
		return true;
	const uint32_t capacity = count < 32 ? 64 : 2 * count;
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
	SEAM__BITS_BISECT(low, high, middle, matcher->blocked[middle].end <= at)
	return low;
}

bool seam__matcher_find_clear(const struct seam_matcher *matcher, struct seam_plan_block *plan_block)
{
	const uint32_t at = seam__matcher_blocked_at(matcher, plan_block->offset);
	if (at < matcher->blocked_count && matcher->blocked[at].begin < plan_block->offset + plan_block->bytes)
		return false;
	plan_block->clear = matcher->blocked_version;
	return true;
}

void seam__loaded_forget_clear(struct seam_loaded_plan *loaded)
{
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++)
		loaded->instances[n].clear = 0;
}

/* The blocked ranges [first, *ret_behind) are those of [begin, end). */
static uint32_t find_blocked(const struct seam_matcher *matcher, uint64_t begin, uint64_t end, uint32_t *ret_behind)
{
	const uint32_t first = seam__matcher_blocked_at(matcher, begin);
	uint32_t behind = first;
	for (; behind < matcher->blocked_count && matcher->blocked[behind].begin < end; behind++)
		SEAM_ASSERT(begin <= matcher->blocked[behind].begin && matcher->blocked[behind].end <= end);
	*ret_behind = behind;
	return first;
}

/* The instances have to be looked at again. */
static void begin_version(struct seam_matcher *matcher)
{
	if (++matcher->blocked_version != 0)
		return;
	matcher->blocked_version = 1;
	for (uint32_t i = 0; i < matcher->loaded_count; i++)
		seam__loaded_forget_clear(matcher->loaded_plans[i]);
}

/* All behind moves once, however many there are. */
enum seam_rc seam__matcher_block(struct seam_matcher *matcher, uint64_t begin, uint64_t end,
	const struct seam_plan_range *ranges, uint32_t count)
{
	uint32_t behind;
	const uint32_t first = find_blocked(matcher, begin, end, &behind);
	const uint32_t after = matcher->blocked_count - behind;
	if (!grow_blocked(matcher, first + count + after))
		return SEAM_OOM_META;
	if (count + behind - first != 0) /* an array of nothing may have no address */
		memmove(&matcher->blocked[first + count], &matcher->blocked[behind], after * sizeof *matcher->blocked);
	for (uint32_t i = 0; i < count; i++) {
		SEAM_ASSERT(ranges[i].begin_bytes >= (i == 0 ? begin : ranges[i - 1].end_bytes) &&
			ranges[i].begin_bytes < ranges[i].end_bytes && ranges[i].end_bytes <= end);
		matcher->blocked[first + i] = (struct seam_blocked){ranges[i].begin_bytes, ranges[i].end_bytes};
	}
	matcher->blocked_count = first + count + after;
	if (count != 0)
		begin_version(matcher);
	return SEAM_OK;
}

void seam__matcher_unblock(struct seam_matcher *matcher, uint64_t begin, uint64_t end)
{
	const enum seam_rc rc = seam__matcher_block(matcher, begin, end, NULL, 0);
	SEAM_ASSERT(rc == SEAM_OK); /* nothing is added */
	(void)rc;
}

uint64_t seam__matcher_blocked_bytes(const struct seam_matcher *matcher)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < matcher->blocked_count; i++)
		bytes += matcher->blocked[i].end - matcher->blocked[i].begin;
	return bytes;
}

/* The live block of the current loaded plan, no overdue block, that overlaps a range. */
struct search {
	const struct seam_loaded_plan *loaded;
	struct seam_plan_block *found;
	uint64_t times; /* the part of the circle that matters */
};

static bool find_live(void *user, uint32_t number)
{
	struct search *search = user;
	struct seam_plan_block *plan_block = &search->loaded->instances[number];
	if (plan_block->state != SEAM_PLANNED_LIVE)
		return false;
	search->found = plan_block;
	return true;
}

struct seam_plan_block *seam__matcher_around(struct seam_matcher *matcher, uint64_t offset)
{
	const struct seam_overdue_block *overdue_block = seam__overdue_behind(&matcher->overdue, offset);
	if (overdue_block != NULL && overdue_block->begin <= offset)
		return overdue_block->plan_block;
	const struct seam_overdue_block *off_plan = seam__overdue_behind(&matcher->off_plan.blocks, offset);
	if (off_plan != NULL && off_plan->begin <= offset)
		return off_plan->plan_block;
	struct search search = {.loaded = matcher->now};
	if (matcher->now != NULL) {
		search.times = seam__frontier_times(matcher->now, 0);
		(void)seam__loaded_overlapping(matcher->now, offset, offset + 1, &search.times, find_live, &search);
	}
	return search.found;
}

bool seam__matcher_is_waited(const struct seam_matcher *matcher, const struct seam_plan_block *plan_block)
{
	if (plan_block->loaded == SEAM_PLANNED_DYNAMIC)
		return false;
	const struct seam_loaded_plan *loaded = matcher->owners[plan_block->loaded];
	return !loaded->retired && loaded->waited[plan_block->number / loaded->copies] != 0;
}
