/* cutter.c: see cutter.h. */
#include "cutter.h"

static bool is_pillar(const struct seam_problem *problem, uint32_t i)
{
	const struct seam_item *item = &problem->items[i];

	if (item->span < problem->circle || item->next != SEAM__ITEM_NONE)
		return false;
	for (uint32_t s = 0; problem->holds != NULL && s < problem->streams; s++)
		if (seam__problem_hold(problem, i, s) < problem->circle)
			return false;
	return true;
}

/* The last item of a chain must not be a pillar either: mark all that have a predecessor. */
void seam__cutter_find_pillars(struct seam_cutter *cutter)
{
	const struct seam_problem *whole = cutter->whole;
	struct seam_parts *parts = cutter->parts;

	for (uint32_t i = 0; i < whole->count; i++)
		cutter->part_of[i] = is_pillar(whole, i) ? 1 : 0;
	for (uint32_t i = 0; i < whole->count; i++)
		if (whole->items[i].next != SEAM__ITEM_NONE)
			cutter->part_of[whole->items[i].next] = 0;
	for (uint32_t i = 0; i < whole->count; i++) {
		if (cutter->part_of[i] == 1) {
			parts->pillars[parts->pillar_count++] = i;
			parts->pillar_bytes += whole->items[i].size_bytes;
		}
		cutter->part_of[i] = cutter->part_of[i] == 1 ? SEAM__ITEM_NONE : 0;
	}
}

/* For how many positions the item is held from some stream of its stack; SEAM__HOLD_ALWAYS: at all of them. */
static uint32_t longest_hold(const struct seam_cutter *cutter, uint32_t i)
{
	const struct seam_problem *whole = cutter->whole;
	uint32_t stack = cutter->stack_of_stream[whole->items[i].stream];
	uint32_t longest = whole->items[i].span;

	for (uint32_t s = 0; whole->holds != NULL && s < whole->streams; s++) {
		uint32_t hold = seam__problem_hold(whole, i, s);

		if (cutter->stack_of_stream[s] == stack && hold > longest)
			longest = hold;
	}
	if (whole->linear)
		return longest;
	return longest >= whole->circle ? SEAM__HOLD_ALWAYS : longest;
}

/* One more item crosses the `count` boundaries from `first` on (the boundary before position `first`). */
static void cross(const struct seam_cutter *cutter, uint32_t first, uint32_t count, uint32_t *around)
{
	uint32_t circle = cutter->whole->circle;
	uint64_t end = (uint64_t)first + count;

	if (first < circle)
		cutter->segment[first]++;
	*around += end > circle;
	if (end < circle)
		cutter->segment[end]--;
	else if (end > circle && !cutter->whole->linear)
		cutter->segment[end - circle]--;
}

/* Counts, for each boundary before a position, the items of the stack that are held across it. Returns false when some
 * item is always held: then every boundary is crossed. */
static bool count_crossings(const struct seam_cutter *cutter, uint32_t stack)
{
	const struct seam_problem *whole = cutter->whole;
	uint32_t around = 0; /* items held across boundary 0 */

	for (uint32_t t = 0; t < whole->circle; t++)
		cutter->segment[t] = 0;
	for (uint32_t i = 0; i < whole->count; i++) {
		const struct seam_item *item = &whole->items[i];

		if (cutter->part_of[i] == SEAM__ITEM_NONE || cutter->stack_of_stream[item->stream] != stack)
			continue;
		uint32_t hold = longest_hold(cutter, i);
		if (hold == SEAM__HOLD_ALWAYS)
			return false;
		if (hold > 1)
			cross(cutter, item->begin + 1, hold - 1, &around);
		if (item->next != SEAM__ITEM_NONE) { /* both in one part */
			uint32_t from = item->begin;
			uint32_t to = whole->items[item->next].begin;

			if (whole->linear && to < from) {
				from = to;
				to = item->begin;
			}
			cross(cutter, from + 1, seam__problem_distance(whole, from, to), &around);
		}
	}
	if (whole->linear)
		around = 0; /* what is held beyond the end meets nobody there */
	for (uint32_t t = 0; t < whole->circle; t++)
		cutter->segment[t] = around += cutter->segment[t];
	return true;
}

uint32_t seam__cutter_number_segments(const struct seam_cutter *cutter, uint32_t stack, uint32_t *ret_first)
{
	uint32_t circle = cutter->whole->circle;
	uint32_t *segment = cutter->segment;
	bool cut = count_crossings(cutter, stack);
	uint32_t count = 0;

	*ret_first = 0;
	for (uint32_t t = 0; t < circle; t++) {
		if (cut && segment[t] == 0) {
			if (count == 0)
				*ret_first = t;
			count++;
		}
		segment[t] = count;
	}
	/* What stands before the first boundary belongs to the last stretch. */
	for (uint32_t t = 0; t < circle; t++)
		segment[t] = count == 0 ? 0 : (segment[t] + count - 1) % count;
	return count;
}
