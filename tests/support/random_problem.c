/* random_problem.c: see random_problem.h. */
#include "random_problem.h"

#include <stdlib.h>

uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

/* Mostly short lifetimes, some long, a few all around. */
static uint32_t random_span(uint64_t *state, uint32_t circle, uint32_t begin, bool wraps)
{
	uint32_t most = wraps ? circle : circle - begin;
	uint64_t kind = random_below(state, 10);
	uint32_t limit = kind < 6 ? 1 + circle / 16 : kind < 9 ? 1 + circle / 3 : most;

	return 1 + (uint32_t)random_below(state, limit < most ? limit : most);
}

static void add_items(const struct random_wish *wish, uint64_t *state, struct seam_problem *problem)
{
	bool wraps = (wish->features & SEAM__HAS_WRAP) != 0;
	uint64_t align = problem->align_bytes;

	for (uint32_t i = 0; i < wish->count; i++) {
		uint32_t begin = (uint32_t)random_below(state, problem->circle);
		uint32_t span = random_span(state, problem->circle, begin, wraps);
		uint64_t size =
			wish->sizes != 0 ? 1 + 7 * random_below(state, wish->sizes) : 1 + random_below(state, 100);
		struct seam_item *item = seam__problem_add(problem, size * align, begin, span);

		item->stream = (uint32_t)random_below(state, problem->streams);
	}
}

/* Holds for other streams: the span and something more, at times for ever. */
static void lengthen_holds(uint64_t *state, struct seam_problem *problem)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *item = &problem->items[i];
		uint32_t most = problem->linear ? problem->circle - item->begin : problem->circle;

		for (uint32_t s = 0; s < problem->streams; s++) {
			uint32_t *hold = &problem->holds[(size_t)i * problem->streams + s];
			uint64_t kind = random_below(state, 4);

			if (s == item->stream || kind == 0)
				continue;
			*hold = kind == 1 ? SEAM__HOLD_ALWAYS
					  : item->span + (uint32_t)random_below(state, 1 + (most - item->span) / 2);
		}
	}
}

static bool may_fix(const struct seam_problem *problem, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++) {
		const struct seam_item *a = &problem->items[i];
		const struct seam_item *b = &problem->items[j];

		if (b->fixed_bytes != SEAM__ADDRESS_ANY && a->fixed_bytes < b->fixed_bytes + b->size_bytes &&
			b->fixed_bytes < a->fixed_bytes + a->size_bytes && seam__problem_conflict(problem, i, j))
			return false;
	}
	return true;
}

static void fix_some(uint64_t *state, struct seam_problem *problem)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		struct seam_item *item = &problem->items[i];

		if (random_below(state, 8) != 0 || item->next != SEAM__ITEM_NONE)
			continue;
		item->fixed_bytes = random_below(state, 300) * problem->align_bytes;
		if (!may_fix(problem, i))
			item->fixed_bytes = SEAM__ADDRESS_ANY;
	}
}

/* Chains of two or three neighbours in number, before any item is fixed. Linked items must be able to stand together.
 */
static void link_some(uint64_t *state, struct seam_problem *problem)
{
	for (uint32_t i = 0; i + 3 < problem->count; i += 4) {
		if (random_below(state, 3) != 0)
			continue;
		problem->items[i].next = i + 1;
		if (random_below(state, 2) == 0)
			problem->items[i + 1].next = i + 2;
	}
}

void random_problem(const struct random_wish *wish, struct seam_meta *meta, struct seam_problem *ret_problem)
{
	uint64_t state = wish->seed;
	uint32_t circle = 8 + 2 * wish->count;
	uint32_t streams = (wish->features & SEAM__HAS_HOLDS) != 0 ? 2 + (uint32_t)random_below(&state, 3) : 1;
	bool linear = (wish->features & SEAM__HAS_WRAP) == 0;

	if (seam__problem_init(ret_problem, meta, wish->count, circle, linear, streams,
		    wish->align_bytes == 0 ? 1 : wish->align_bytes) != SEAM_OK)
		abort();
	add_items(wish, &state, ret_problem);
	if ((wish->features & SEAM__HAS_HOLDS) != 0)
		lengthen_holds(&state, ret_problem);
	if ((wish->features & SEAM__HAS_LINKS) != 0)
		link_some(&state, ret_problem);
	if ((wish->features & SEAM__HAS_FIXED) != 0 && (wish->features & SEAM__HAS_LINKS) == 0)
		fix_some(&state, ret_problem);
	if (seam__problem_finish(ret_problem) != SEAM_OK || seam__problem_check(ret_problem) != NULL)
		abort();
}

/* Is `j`'s first position one at which `i` is held from `j`'s stream? */
static bool begins_while_held(const struct seam_problem *problem, uint32_t i, uint32_t j)
{
	const struct seam_item *a = &problem->items[i];
	uint32_t stream = problem->items[j].stream;
	uint32_t hold = problem->holds == NULL ? a->span : problem->holds[(size_t)i * problem->streams + stream];

	for (uint32_t step = 0; step < hold && step < problem->circle; step++)
		if ((a->begin + step) % problem->circle == problem->items[j].begin)
			return true;
	return false;
}

const char *naive_check_placement(const struct seam_problem *problem, const uint64_t *offsets, uint64_t peak_bytes)
{
	for (uint32_t i = 0; i < problem->count; i++) {
		const struct seam_item *a = &problem->items[i];

		if (offsets[i] + a->size_bytes > peak_bytes)
			return "above the peak";
		if (a->fixed_bytes != SEAM__ADDRESS_ANY && a->fixed_bytes != offsets[i])
			return "moved";
		if (offsets[i] % problem->align_bytes != 0)
			return "not aligned";
		if (a->next != SEAM__ITEM_NONE && offsets[a->next] != offsets[i] + a->size_bytes)
			return "link broken";
		for (uint32_t j = 0; j < problem->count; j++) {
			const struct seam_item *b = &problem->items[j];

			if (i != j && offsets[i] < offsets[j] + b->size_bytes &&
				offsets[j] < offsets[i] + a->size_bytes && begins_while_held(problem, i, j))
				return "overlap";
		}
	}
	return NULL;
}
