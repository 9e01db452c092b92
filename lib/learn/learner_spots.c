/* learner_spots.c: where in an arena restless chunks are least in the way.
 *
 * What was there before a plan and lives over the end of an iteration (an output that is held until the next one is
 * there, say) occupies its chunks until the program has come to where that is gone. What the plan has there until then
 * is displaced. Short-lived slots find another place, since the one that the plan has for what is held is empty; those
 * that live on when it is gone do not, and the pool grows for them. So the chunks in which something was at the same
 * moment lie together, where as few bytes as possible begin before what crosses the end is gone and end behind that,
 * and then as few slots as possible begin before that at all. Among equal places the last is best: the end of the arena
 * is needed for the shortest time.
 *
 * Not here: which chunks are restless and which an arena has (learner_chunks.c). No locks: pure.
 */
#include <string.h>

#include "bits.h"
#include "learner_impl.h"
#include "meta.h"

/* Addresses that the plan needs before what crosses the end is gone. */
struct need {
	uint64_t begin, end;
	bool lives_on; /* when it is gone */
};

/* What is in the way. */
struct harm {
	uint64_t longer_bytes; /* of what lives on */
	uint64_t shorter;      /* so many that do not */
};

/* Chunks that were put where they are: [first, behind). */
struct group {
	uint32_t first, behind;
	uint64_t offset, bytes;
};

struct search {
	const struct need *needs;
	size_t need_count;
	struct seam_chosen *chosen; /* from `begin` on */
	struct seam_chosen *rest;   /* without a group */
	uint64_t *offsets;          /* of those; one more than there are */
	struct harm *harms;         /* of the group before each of those, and behind them; one more */
	uint64_t begin;
	uint32_t count, rest_count;
	struct group groups[SEAM_CALM_MOMENTS]; /* in `rest` */
	uint32_t group_count;
};

/* The position by which all that was there before the period, of blocks as large as a chunk, is gone; 0: there is none.
 */
static uint32_t find_gone(const struct seam_plan *plan, uint64_t least_bytes)
{
	uint32_t gone = 0;
	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		if (slot->end > plan->header.positions && slot->size_bytes >= least_bytes &&
			(slot->flags & SEAM_PLAN_DYNAMIC) == 0)
			gone = (uint32_t)seam__bits_max(
				gone, seam__bits_min(slot->end - plan->header.positions, plan->header.positions));
	}
	return gone;
}

/* Dynamic requests may be anywhere in the ranges of their group. `needs` has room for all slots in all copies and all
 * ranges. */
static size_t list_needs(const struct seam_plan *plan, uint32_t gone, struct need *needs)
{
	const uint32_t copies = plan->header.copies;
	size_t count = 0;
	for (uint32_t i = 0; i < plan->header.slot_count && plan->slots[i].begin < gone; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		for (uint32_t c = 0; c < copies && (slot->flags & SEAM_PLAN_DYNAMIC) == 0; c++) {
			const uint64_t offset = plan->offsets[(size_t)i * copies + c];
			needs[count++] = (struct need){offset, offset + slot->size_bytes, slot->end > gone};
		}
	}
	for (uint32_t g = 0; g < plan->header.group_count; g++) {
		const struct seam_plan_group *group = &plan->groups[g];
		for (uint32_t r = 0; r < group->range_count && group->begin < gone; r++) {
			const struct seam_plan_range *range = &plan->ranges[group->first_range + r];
			needs[count++] = (struct need){range->begin_bytes, range->end_bytes, group->end > gone};
		}
	}
	return count;
}

static void add(struct harm *harm, const struct need *need)
{
	harm->longer_bytes += need->lives_on ? need->end - need->begin : 0;
	harm->shorter += !need->lives_on;
}

static void subtract(struct harm *harm, const struct need *need)
{
	harm->longer_bytes -= need->lives_on ? need->end - need->begin : 0;
	harm->shorter -= !need->lives_on;
}

static struct harm harm_at(const struct search *search, uint64_t offset, uint64_t bytes)
{
	struct harm harm = {0, 0};
	for (size_t i = 0; i < search->need_count; i++) {
		if (search->needs[i].begin < offset + bytes && offset < search->needs[i].end)
			add(&harm, &search->needs[i]);
	}
	return harm;
}

/* The first place of the rest at or behind `offset`. */
static uint32_t place_at(const struct search *search, uint64_t offset)
{
	uint32_t low = 0, high = search->rest_count + 1;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (search->offsets[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What a group of so many bytes would have in its way, place by place. */
static void weigh_places(struct search *search, uint64_t bytes)
{
	memset(search->harms, 0, ((size_t)search->rest_count + 2) * sizeof *search->harms);
	for (size_t i = 0; i < search->need_count; i++) {
		const struct need *need = &search->needs[i];
		const uint32_t first = need->begin < bytes ? 0 : place_at(search, need->begin - bytes + 1),
			       behind = place_at(search, need->end);
		if (first < behind) {
			add(&search->harms[first], need);
			subtract(&search->harms[behind], need);
		}
	}
	for (uint32_t i = 1; i <= search->rest_count; i++) {
		search->harms[i].longer_bytes += search->harms[i - 1].longer_bytes;
		search->harms[i].shorter += search->harms[i - 1].shorter;
	}
}

/* A group in front of another one moves that: what is in its way then counts double, for that one is newer. None is put
 * into the midst of another. */
static void weigh_others(struct search *search, uint64_t bytes)
{
	for (uint32_t g = 0; g < search->group_count; g++) {
		const struct group *group = &search->groups[g];
		if (group->bytes == 0)
			continue;
		const struct harm stays = harm_at(search, group->offset, group->bytes),
				  moves = harm_at(search, group->offset + bytes, group->bytes);
		for (uint32_t i = 0; i <= search->rest_count; i++) {
			const struct harm *more = i <= group->first ? &moves : &stays;
			search->harms[i].longer_bytes += 2 * more->longer_bytes;
			search->harms[i].shorter += 2 * more->shorter;
			if (i > group->first && i < group->behind)
				search->harms[i].longer_bytes = UINT64_MAX / 2;
		}
	}
}

static uint32_t find_best(const struct search *search)
{
	uint32_t best = 0;
	for (uint32_t i = 1; i <= search->rest_count; i++) {
		const struct harm *harm = &search->harms[i], *least = &search->harms[best];
		if (harm->longer_bytes < least->longer_bytes ||
			(harm->longer_bytes == least->longer_bytes && harm->shorter <= least->shorter))
			best = i;
	}
	return best;
}

/* The newest moment at which something was in the chunk, from 0; SEAM_CALM_MOMENTS: none. */
static uint32_t moment_of(const struct seam_chosen *chosen)
{
	uint32_t moment = 0;
	while (moment < SEAM_CALM_MOMENTS && (chosen->restless >> (SEAM_CALM_MOMENTS - 1 - moment)) == 0)
		moment++;
	return moment;
}

/* The rest: all chunks but those of the moment. Returns the bytes of these. */
static uint64_t take_out(struct search *search, uint32_t moment)
{
	uint64_t offset = search->begin, bytes = 0;
	search->rest_count = 0;
	for (uint32_t i = 0; i < search->count; i++) {
		const uint32_t of = moment_of(&search->chosen[i]);
		if (of == moment) {
			bytes += search->chosen[i].bytes;
			continue;
		}
		if (of < moment) {
			struct group *group = &search->groups[of];
			if (group->bytes == 0)
				*group = (struct group){.first = search->rest_count, .offset = offset};
			group->bytes += search->chosen[i].bytes;
			group->behind = search->rest_count + 1;
		}
		search->rest[search->rest_count] = search->chosen[i];
		search->offsets[search->rest_count++] = offset;
		offset += search->chosen[i].bytes;
	}
	search->offsets[search->rest_count] = offset;
	return bytes;
}

/* The chunks of the moment come before that one of the rest. */
static void put_back(struct search *search, uint32_t moment, uint32_t before)
{
	struct seam_chosen *taken = &search->rest[search->rest_count]; /* there is room for all */
	uint32_t count = 0;
	for (uint32_t i = 0; i < search->count; i++) {
		if (moment_of(&search->chosen[i]) == moment)
			taken[count++] = search->chosen[i];
	}
	memcpy(search->chosen, search->rest, before * sizeof *search->rest);
	memcpy(&search->chosen[before], taken, count * sizeof *taken);
	memcpy(&search->chosen[before + count], &search->rest[before],
		(search->rest_count - before) * sizeof *search->rest);
}

/* The newest ones have the choice. */
static void settle(struct search *search)
{
	for (uint32_t moment = 0; moment < SEAM_CALM_MOMENTS; moment++) {
		memset(search->groups, 0, sizeof search->groups);
		search->group_count = moment;
		const uint64_t bytes = take_out(search, moment);
		if (bytes == 0)
			continue;
		weigh_places(search, bytes);
		weigh_others(search, bytes);
		put_back(search, moment, find_best(search));
	}
}

enum seam_rc seam__spots_settle(struct seam_meta *meta, const struct seam_plan *plan, struct seam_chosen *chosen,
	uint32_t first, uint32_t count)
{
	uint64_t begin = 0, least_bytes = UINT64_MAX;
	uint32_t restless = 0;
	for (uint32_t i = 0; i < count; i++) {
		begin += i < first ? chosen[i].bytes : 0;
		least_bytes = seam__bits_min(least_bytes, chosen[i].bytes);
		restless += chosen[i].restless != 0;
	}
	const uint32_t gone = restless == 0 ? 0 : find_gone(plan, least_bytes);
	if (gone == 0)
		return SEAM_OK;
	const size_t room = (size_t)count - first + 2;
	const size_t need_room = (size_t)plan->header.slot_count * plan->header.copies + plan->header.range_count + 1;
	struct need *needs = seam__meta_array(meta, need_room, sizeof *needs);
	struct search search = {
		.needs = needs,
		.chosen = &chosen[first],
		.rest = seam__meta_array(meta, room, sizeof *search.rest),
		.offsets = seam__meta_array(meta, room, sizeof *search.offsets),
		.harms = seam__meta_array(meta, room, sizeof *search.harms),
		.begin = begin,
		.count = count - first,
	};
	const bool has_memory = needs != NULL && search.rest != NULL && search.offsets != NULL && search.harms != NULL;
	if (has_memory) {
		search.need_count = list_needs(plan, gone, needs);
		settle(&search);
	}
	seam__meta_free(meta, needs, need_room * sizeof *needs);
	seam__meta_free(meta, search.rest, room * sizeof *search.rest);
	seam__meta_free(meta, search.offsets, room * sizeof *search.offsets);
	seam__meta_free(meta, search.harms, room * sizeof *search.harms);
	return has_memory ? SEAM_OK : SEAM_OOM_META;
}
