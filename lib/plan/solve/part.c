/* part.c: see part.h. First the pillars go, then every item gets the number of its stack (its set of streams) and of
 * its segment in time; a part is made for each pair that occurs. */
#include "part.h"

#include <string.h>

#include "bounds.h"
#include "cutter.h"
#include "region.h"

static bool any_fixed(const struct seam_problem *problem)
{
	for (uint32_t i = 0; i < problem->count; i++)
		if (problem->items[i].fixed_bytes != SEAM__ADDRESS_ANY)
			return true;
	return false;
}

static enum seam_rc add_part(struct seam_parts *parts, uint32_t stack)
{
	if (parts->count == parts->capacity) {
		uint32_t capacity = parts->capacity == 0 ? 8 : 2 * parts->capacity;
		struct seam_part *moved = seam__region_array(parts->whole->region, capacity, sizeof(*moved));

		if (moved == NULL)
			return SEAM_OOM_META;
		if (parts->count > 0)
			memcpy(moved, parts->parts, parts->count * sizeof(*moved));
		parts->parts = moved;
		parts->capacity = capacity;
	}
	parts->parts[parts->count++] = (struct seam_part){.stack = stack};
	return SEAM_OK;
}

/* Finds the stack's parts, which item belongs to which, and the parts' lengths: a part's time begins at its boundary
 * and is a line; without a boundary it is that of the whole. */
static enum seam_rc cut_stack(struct seam_cutter *cutter, uint32_t stack)
{
	const struct seam_problem *whole = cutter->whole;
	struct seam_parts *parts = cutter->parts;
	uint32_t first;
	uint32_t segments = seam__cutter_number_segments(cutter, stack, &first);

	for (uint32_t t = 0; t < whole->circle; t++)
		cutter->part_of_segment[t] = SEAM__ITEM_NONE;
	for (uint32_t i = 0; i < whole->count; i++) {
		const struct seam_item *item = &whole->items[i];
		uint32_t *part = &cutter->part_of_segment[cutter->segment[item->begin]];

		if (cutter->part_of[i] == SEAM__ITEM_NONE || cutter->stack_of_stream[item->stream] != stack)
			continue;
		if (*part == SEAM__ITEM_NONE) {
			enum seam_rc rc = add_part(parts, stack);

			if (rc != SEAM_OK)
				return rc;
			*part = parts->count - 1;
			parts->parts[*part].linear = segments > 0 || whole->linear;
			parts->parts[*part].length = segments > 0 ? 0 : whole->circle;
		}
		cutter->part_of[i] = *part;
		cutter->place_in[i] = parts->parts[*part].count++;
	}
	if (segments == 0)
		return SEAM_OK;
	/* Lengths and origins, by one walk along the positions from the first boundary. */
	for (uint32_t step = 0, t = first; step < whole->circle; step++, t = t + 1 == whole->circle ? 0 : t + 1) {
		uint32_t part = cutter->part_of_segment[cutter->segment[t]];

		if (part != SEAM__ITEM_NONE && parts->parts[part].length++ == 0)
			parts->parts[part].origin = t;
	}
	return SEAM_OK;
}

/* Streams of the part's stack, numbered anew: ret_number per stream of the whole. Returns how many. */
static uint32_t number_streams(const struct seam_cutter *cutter, uint32_t stack, uint32_t *ret_number)
{
	uint32_t count = 0;

	for (uint32_t s = 0; s < cutter->whole->streams; s++)
		ret_number[s] = cutter->stack_of_stream[s] == stack ? count++ : SEAM__ITEM_NONE;
	return count;
}

static void fill_item(const struct seam_cutter *cutter, struct seam_part *part, uint32_t i, const uint32_t *number)
{
	const struct seam_problem *whole = cutter->whole;
	struct seam_problem *problem = &part->problem;
	uint32_t at = problem->count;
	struct seam_item *item = seam__problem_add(problem, whole->items[i].size_bytes,
		seam__problem_distance(whole, part->origin, whole->items[i].begin), whole->items[i].span);
	uint32_t begin = item->begin;

	*item = whole->items[i];
	item->begin = begin;
	item->stream = number[item->stream];
	if (item->next != SEAM__ITEM_NONE)
		item->next = cutter->place_in[item->next];
	for (uint32_t s = 0; problem->holds != NULL && s < whole->streams; s++)
		if (number[s] != SEAM__ITEM_NONE)
			problem->holds[(size_t)at * problem->streams + number[s]] = seam__problem_hold(whole, i, s);
	part->items[at] = i;
}

static enum seam_rc fill_parts(struct seam_cutter *cutter)
{
	struct seam_parts *parts = cutter->parts;
	const struct seam_problem *whole = cutter->whole;

	for (uint32_t p = 0; p < parts->count; p++) {
		struct seam_part *part = &parts->parts[p];
		uint32_t streams = number_streams(cutter, part->stack, cutter->number);
		enum seam_rc rc = seam__problem_init_part(
			&part->problem, whole, part->count, part->length, part->linear, streams);

		part->items =
			rc == SEAM_OK ? seam__region_array(whole->region, part->count, sizeof(*part->items)) : NULL;
		if (part->items == NULL)
			return SEAM_OOM_META;
	}
	for (uint32_t i = 0, stack = SEAM__ITEM_NONE; i < whole->count; i++) {
		if (cutter->part_of[i] == SEAM__ITEM_NONE)
			continue;
		struct seam_part *part = &parts->parts[cutter->part_of[i]];
		if (part->stack != stack)
			(void)number_streams(cutter, stack = part->stack, cutter->number);
		fill_item(cutter, part, i, cutter->number);
	}
	return SEAM_OK;
}

static enum seam_rc finish_parts(struct seam_parts *parts)
{
	for (uint32_t p = 0; p < parts->count; p++) {
		struct seam_part *part = &parts->parts[p];
		enum seam_rc rc = seam__problem_finish(&part->problem);

		if (rc != SEAM_OK)
			return rc;
		if (part->problem.lower_bytes > parts->stack_lower[part->stack])
			parts->stack_lower[part->stack] = part->problem.lower_bytes;
	}
	parts->lower_bytes = parts->pillar_bytes;
	for (uint32_t s = 0; s < parts->stacks; s++)
		parts->lower_bytes += parts->stack_lower[s];
	if (parts->whole->lower_bytes > parts->lower_bytes)
		parts->lower_bytes = parts->whole->lower_bytes;
	return SEAM_OK;
}

static enum seam_rc cut(struct seam_cutter *cutter)
{
	struct seam_parts *parts = cutter->parts;

	if (!cutter->together)
		seam__cutter_find_pillars(cutter);
	/* stack_of_stream is zeroed: where all is together there is one. */
	parts->stacks = cutter->together ? 1 : seam__bounds_sets(parts->whole, cutter->stack_of_stream);
	parts->stack_lower =
		seam__region_array(parts->whole->region, parts->whole->streams, sizeof(*parts->stack_lower));
	if (parts->stack_lower == NULL)
		return SEAM_OOM_META;
	for (uint32_t stack = 0; stack < parts->stacks; stack++) {
		enum seam_rc rc = cut_stack(cutter, stack);

		if (rc != SEAM_OK)
			return rc;
	}
	enum seam_rc rc = fill_parts(cutter);

	return rc == SEAM_OK ? finish_parts(parts) : rc;
}

static enum seam_rc get_scratch(struct seam_cutter *cutter)
{
	const struct seam_problem *whole = cutter->whole;
	struct seam_region *region = whole->region;

	cutter->parts->pillars = seam__region_array(region, whole->count, sizeof(uint32_t));
	cutter->number = seam__region_array(region, whole->streams, sizeof(uint32_t));
	cutter->stack_of_stream = seam__region_array(region, whole->streams, sizeof(uint32_t));
	cutter->part_of = seam__region_array(region, whole->count, sizeof(uint32_t));
	cutter->place_in = seam__region_array(region, whole->count, sizeof(uint32_t));
	cutter->segment = seam__region_array(region, whole->circle, sizeof(uint32_t));
	cutter->part_of_segment = seam__region_array(region, whole->circle, sizeof(uint32_t));
	return cutter->parts->pillars != NULL && cutter->number != NULL && cutter->stack_of_stream != NULL &&
			cutter->part_of != NULL && cutter->place_in != NULL && cutter->segment != NULL &&
			cutter->part_of_segment != NULL
		? SEAM_OK
		: SEAM_OOM_META;
}

enum seam_rc seam__parts_init(const struct seam_problem *whole, struct seam_parts *ret_parts)
{
	struct seam_parts made = {.whole = whole};
	struct seam_cutter cutter = {.parts = &made, .whole = whole, .together = any_fixed(whole)};
	enum seam_rc rc = SEAM_OK;

	if (whole->count > 0) {
		rc = get_scratch(&cutter);
		if (rc == SEAM_OK)
			rc = cut(&cutter);
	}
	if (rc == SEAM_OK)
		*ret_parts = made;
	return rc;
}

void seam__parts_join(const struct seam_parts *parts, const struct seam_placement *placed, uint64_t *ret_offsets)
{
	uint64_t base = 0;

	for (uint32_t i = 0; i < parts->pillar_count; i++) {
		ret_offsets[parts->pillars[i]] = base;
		base += parts->whole->items[parts->pillars[i]].size_bytes;
	}
	/* Parts stand in the order of their stacks. */
	for (uint32_t p = 0, next; p < parts->count; p = next) {
		uint64_t height = 0;

		for (next = p; next < parts->count && parts->parts[next].stack == parts->parts[p].stack; next++) {
			const struct seam_part *part = &parts->parts[next];

			for (uint32_t i = 0; i < part->count; i++)
				ret_offsets[part->items[i]] = base + placed[next].offsets[i];
			height = placed[next].peak_bytes > height ? placed[next].peak_bytes : height;
		}
		base += height;
	}
}

const char *seam__parts_check(const struct seam_parts *parts)
{
	uint64_t items = parts->pillar_count;

	for (uint32_t p = 0; p < parts->count; p++) {
		const struct seam_part *part = &parts->parts[p];

		items += part->count;
		if (part->problem.count != part->count || part->stack >= parts->stacks)
			return "PA1 count";
		if (p > 0 && part->stack < parts->parts[p - 1].stack)
			return "PA2 order of stacks";
		if (seam__problem_check(&part->problem) != NULL)
			return "PA3 part";
		for (uint32_t q = 0; q < p; q++)
			for (uint32_t i = 0; i < part->count && parts->parts[q].stack == part->stack; i++)
				for (uint32_t j = 0; j < parts->parts[q].count; j++)
					if (seam__problem_conflict(
						    parts->whole, part->items[i], parts->parts[q].items[j]))
						return "PA2 parts that meet";
	}
	return items == (parts->whole == NULL ? 0 : parts->whole->count) ? NULL : "PA1 items";
}
