/* objects.c: see objects.h. */
#include "objects.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "meta.h"

/* The search over forbidden starts, in the order of their left ends. */
struct search {
	uint64_t start; /* nothing below is free any more, or all of it was looked at */
	uint64_t top;   /* no start above: the chain would reach over the object's end */
	enum seam__fit fit;
	uint64_t best;     /* start of the best gap so far */
	uint64_t best_gap; /* starts that it has, less one; UINT64_MAX: no gap yet */
	bool found;
};

static void fill_lanes(struct seam__objects *objects)
{
	const struct seam__problem *problem = objects->problem;

	for (uint32_t i = 0; i < problem->count; i++) {
		objects->lanes[i] = (struct seam__lane){problem->items[i].begin, problem->items[i].stream};
		for (uint32_t s = 0; s < problem->streams; s++)
			objects->holds[(size_t)s * problem->count + i] = seam__problem_hold(problem, i, s);
	}
}

enum seam_rc seam__objects_init(struct seam__objects *objects, const struct seam__problem *problem, uint64_t *offsets)
{
	struct seam__objects made = {.problem = problem, .offsets = offsets};
	size_t room = (size_t)problem->count + 1;

	made.lanes = seam__meta_array(problem->meta, room, sizeof(*made.lanes));
	made.holds = seam__meta_array(problem->meta, room * problem->streams, sizeof(*made.holds));
	made.order = seam__meta_array(problem->meta, room, sizeof(*made.order));
	made.list = seam__meta_array(problem->meta, room, sizeof(*made.list));
	*objects = made;
	if (made.lanes == NULL || made.holds == NULL || made.order == NULL || made.list == NULL) {
		seam__objects_fini(objects);
		return SEAM_OOM_META;
	}
	fill_lanes(objects);
	return SEAM_OK;
}

void seam__objects_fini(struct seam__objects *objects)
{
	if (objects->problem == NULL)
		return;
	struct seam_meta *meta = objects->problem->meta;
	size_t room = (size_t)objects->problem->count + 1;

	seam__meta_free(meta, objects->lanes, room * sizeof(*objects->lanes));
	seam__meta_free(meta, objects->holds, room * objects->problem->streams * sizeof(*objects->holds));
	seam__meta_free(meta, objects->order, room * sizeof(*objects->order));
	seam__meta_free(meta, objects->list, room * sizeof(*objects->list));
	seam__meta_free(meta, objects->forbidden, objects->forbidden_capacity * sizeof(*objects->forbidden));
	*objects = (struct seam__objects){0};
}

/* One item against many: its own side of seam__problem_conflict(). */
struct against {
	const struct seam__lane *lanes;
	const uint32_t *theirs; /* per item: its hold from this one's stream */
	const uint32_t *mine;   /* per stream */
	uint32_t begin;
	uint32_t circle;
};

static struct against against(const struct seam__objects *objects, uint32_t item)
{
	const struct seam__problem *problem = objects->problem;

	return (struct against){
		.lanes = objects->lanes,
		.theirs = &objects->holds[(size_t)objects->lanes[item].stream * problem->count],
		.mine = problem->holds == NULL ? &problem->items[item].span
					       : &problem->holds[(size_t)item * problem->streams],
		.begin = objects->lanes[item].begin,
		.circle = problem->circle,
	};
}

/* As seam__problem_conflict(), with less memory to look at and without a branch. */
static inline bool conflicts(const struct against *against, uint32_t other)
{
	const struct seam__lane lane = against->lanes[other];
	uint32_t ahead = lane.begin - against->begin;
	uint32_t back = against->begin - lane.begin;

	ahead += lane.begin < against->begin ? against->circle : 0;
	back += against->begin < lane.begin ? against->circle : 0;
	return (ahead < against->mine[lane.stream]) | (back < against->theirs[other]);
}

uint32_t seam__objects_open(struct seam__objects *objects, uint64_t size_bytes, uint32_t spanning)
{
	uint32_t number = objects->count;
	uint64_t low = number == 0 ? 0 : objects->list[number - 1].high_bytes;

	SEAM_VERIFY(number <= objects->problem->count);
	objects->list[number] = (struct seam__object){
		.low_bytes = low,
		.high_bytes = size_bytes == UINT64_MAX ? UINT64_MAX : low + size_bytes,
		.spanning = spanning,
		.first = objects->placed,
	};
	objects->count = number + 1;
	return number;
}

/* Starts [search->start, left) are free, if there are any. Returns whether the search is over. */
static bool meet_gap(struct search *search, uint64_t left)
{
	uint64_t end = left <= search->top ? left : search->top + 1; /* behind the last start of the gap */
	uint64_t gap;

	if (search->start >= end)
		return search->start > search->top;
	/* The gap is measured up to what forbids it, not to the last start that the object's end allows. */
	gap = left - search->start - 1;
	if (!search->found || gap < search->best_gap) {
		search->found = true;
		search->best = search->start;
		search->best_gap = gap;
	}
	return search->fit == SEAM__FIT_FIRST || gap == 0;
}

/* For one item: what stands in the object forbids the starts from its own offset less the item's size. */
static void search_single(
	const struct seam__objects *objects, const struct seam__object *object, uint32_t item, struct search *search)
{
	const struct seam__problem *problem = objects->problem;
	const struct against self = against(objects, item);
	uint64_t size = problem->items[item].size_bytes;

	for (uint32_t k = 0; k < object->count; k++) {
		uint32_t other = objects->order[object->first + k];
		uint64_t low;
		uint64_t high;

		if (!conflicts(&self, other))
			continue;
		low = objects->offsets[other];
		high = low + problem->items[other].size_bytes;
		if (low >= search->start + size && meet_gap(search, low - size + 1))
			return;
		if (high > search->start) {
			search->start = high;
			if (high > search->top)
				return;
		}
	}
	(void)meet_gap(search, object->high_bytes == UINT64_MAX ? UINT64_MAX : object->high_bytes - size + 1);
}

static enum seam_rc make_room(struct seam__objects *objects, size_t count)
{
	size_t capacity = objects->forbidden_capacity;
	void *moved;

	if (count <= capacity)
		return SEAM_OK;
	capacity = count > 2 * capacity ? count : 2 * capacity;
	moved = seam__meta_resize(objects->problem->meta, objects->forbidden,
		objects->forbidden_capacity * sizeof(*objects->forbidden), capacity * sizeof(*objects->forbidden));
	if (moved == NULL)
		return SEAM_OOM_META;
	objects->forbidden = moved;
	objects->forbidden_capacity = capacity;
	return SEAM_OK;
}

static int compare_forbidden(const void *left, const void *right)
{
	const struct seam__forbidden *a = left;
	const struct seam__forbidden *b = right;

	if (a->left_bytes != b->left_bytes)
		return a->left_bytes < b->left_bytes ? -1 : 1;
	return a->right_bytes < b->right_bytes ? -1 : a->right_bytes > b->right_bytes;
}

/* Avoid: the starts that one item of the chain, `before` bytes behind its head, forbids; appended at *count. */
static enum seam_rc forbid(
	struct seam__objects *objects, const struct seam__object *object, uint32_t item, uint64_t before, size_t *count)
{
	const struct seam__problem *problem = objects->problem;
	const struct against self = against(objects, item);
	uint64_t reach = before + problem->items[item].size_bytes; /* from the chain's start to the item's end */

	for (uint32_t k = 0; k < object->count; k++) {
		uint32_t other = objects->order[object->first + k];
		uint64_t low;
		uint64_t high;
		enum seam_rc rc;

		if (!conflicts(&self, other))
			continue;
		low = objects->offsets[other];
		high = low + problem->items[other].size_bytes;
		if (high <= before || high - before <= object->low_bytes)
			continue;
		rc = make_room(objects, *count + 1);
		if (rc != SEAM_OK)
			return rc;
		objects->forbidden[(*count)++] = (struct seam__forbidden){
			.left_bytes = low >= reach + object->low_bytes ? low - reach + 1 : object->low_bytes,
			.right_bytes = high - before,
		};
	}
	return SEAM_OK;
}

static enum seam_rc search_chain(struct seam__objects *objects, const struct seam__object *object,
	const struct seam__chain *chain, struct search *search)
{
	const struct seam__problem *problem = objects->problem;
	uint64_t before = 0;
	size_t count = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint32_t i = chain->head; rc == SEAM_OK && i != SEAM__ITEM_NONE; i = problem->items[i].next) {
		rc = forbid(objects, object, i, before, &count);
		before += problem->items[i].size_bytes;
	}
	if (rc != SEAM_OK)
		return rc;
	if (count > 0)
		qsort(objects->forbidden, count, sizeof(*objects->forbidden), compare_forbidden);
	for (size_t k = 0; k < count; k++) {
		const struct seam__forbidden *forbidden = &objects->forbidden[k];

		if (forbidden->left_bytes > search->start && meet_gap(search, forbidden->left_bytes))
			return SEAM_OK;
		if (forbidden->right_bytes > search->start)
			search->start = forbidden->right_bytes;
	}
	(void)meet_gap(
		search, object->high_bytes == UINT64_MAX ? UINT64_MAX : object->high_bytes - chain->size_bytes + 1);
	return SEAM_OK;
}

enum seam_rc seam__objects_find(struct seam__objects *objects, uint32_t number, const struct seam__chain *chain,
	enum seam__fit fit, uint64_t *ret_offset)
{
	const struct seam__object *object = &objects->list[number];
	struct search search = {.start = object->low_bytes, .fit = fit, .best_gap = UINT64_MAX};

	if (object->high_bytes - object->low_bytes < chain->size_bytes)
		return SEAM_NOT_FOUND;
	search.top = object->high_bytes - chain->size_bytes;
	if (chain->length == 1) {
		if (object->spanning != SEAM__ITEM_NONE &&
			seam__problem_conflict(objects->problem, chain->head, object->spanning))
			return SEAM_NOT_FOUND;
		search_single(objects, object, chain->head, &search);
	} else {
		enum seam_rc rc = search_chain(objects, object, chain, &search);

		if (rc != SEAM_OK)
			return rc;
	}
	if (!search.found)
		return SEAM_NOT_FOUND;
	*ret_offset = search.best;
	return SEAM_OK;
}

/* Where in `order` an item at `offset` belongs: behind all that begin at or below it. */
static uint32_t place_in_order(const struct seam__objects *objects, const struct seam__object *object, uint64_t offset)
{
	uint32_t low = object->first;
	uint32_t high = object->first + object->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (objects->offsets[objects->order[middle]] <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void seam__objects_put(struct seam__objects *objects, uint32_t number, uint32_t head, uint64_t offset)
{
	struct seam__object *object = &objects->list[number];

	for (uint32_t i = head; i != SEAM__ITEM_NONE; i = objects->problem->items[i].next) {
		uint32_t place = place_in_order(objects, object, offset);

		memmove(&objects->order[place + 1], &objects->order[place],
			(size_t)(objects->placed - place) * sizeof(*objects->order));
		objects->order[place] = i;
		objects->offsets[i] = offset;
		objects->placed++;
		object->count++;
		for (uint32_t later = number + 1; later < objects->count; later++)
			objects->list[later].first++;
		offset += objects->problem->items[i].size_bytes;
	}
}

static const char *check_object(const struct seam__objects *objects, const struct seam__object *object)
{
	for (uint32_t k = 0; k < object->count; k++) {
		uint32_t item = objects->order[object->first + k];
		uint64_t offset = objects->offsets[item];

		if (offset < object->low_bytes ||
			offset + objects->problem->items[item].size_bytes > object->high_bytes)
			return "O2 inside";
		if (k > 0 && objects->offsets[objects->order[object->first + k - 1]] > offset)
			return "O2 order";
	}
	return NULL;
}

const char *seam__objects_check(const struct seam__objects *objects)
{
	uint64_t low = 0;
	uint32_t first = 0;

	for (uint32_t o = 0; o < objects->count; o++) {
		const struct seam__object *object = &objects->list[o];
		const char *broken = check_object(objects, object);

		if (object->low_bytes != low || object->first != first)
			return "O1 parts";
		if (broken != NULL)
			return broken;
		low = object->high_bytes;
		first += object->count;
	}
	return first == objects->placed ? NULL : "O1 placed";
}
