/* layers.c: the solver "layers": items in memory layers, large sizes first. See solvers.h.
 *
 * A layer is a strip of addresses as high as one size, in which items of that size follow each other in time: the
 * HomoSize groups of STAlloc, section 5.1. An item goes where the strip became free last before it begins
 * (Algorithm 1); strips are what larger items leave idle, and only where none is free through the item's whole life is
 * a new layer put on top. A strip that is higher than what is put into it splits into a layer of that size and the
 * rest. STAlloc's groups by phases, which it packs before all this, are left out: with them plans are worse.
 *
 * Time is a circle: the idle window of a new layer reaches from the end of its first item around to that one's begin,
 * so what crosses the end of the period is nothing special. On a line there are two windows, before and behind.
 *
 * Idle windows stand in a tree by the position from which they are idle; every node knows the latest end in its
 * subtree, so the window that became idle last and stays so long enough is found in O(log windows). Windows that are
 * lower than the sizes at hand wait in a heap until the sizes have come down to them.
 */
#include "solvers.h"

#include <stdlib.h>

struct window;
static void window_augment(struct window *window);
#define RB_AUGMENT(window) window_augment(window)
#include "check.h"
#include "region.h"
#include "tree.h"

#define WINDOWS_PER_ITEM 3u /* what putting one item into one window can leave, or two and a rest */

/* Addresses [offset, offset + height) idle during positions [from, to). On a circle `to` may lie beyond the end. */
struct window {
	RB_ENTRY(window) link; /* valid while in the tree */
	uint64_t offset_bytes;
	uint64_t height_bytes;
	uint64_t from;
	uint64_t to;
	uint64_t latest; /* largest `to` in this subtree */
};

SEAM_TREE_HEAD(window_tree, struct window);

struct layers {
	const struct seam_problem *problem;
	uint64_t *offsets;        /* the answer */
	struct window_tree ready; /* high enough for every size still to come */
	struct window **waiting;  /* a heap, the highest first */
	uint32_t waiting_count;
	struct window *windows; /* all that there ever were */
	uint32_t window_count;
	uint64_t top_bytes; /* a new layer begins here */
};

/* By `from`; then the latest end first: the rightmost that lasts long enough is the shortest such. */
static int compare_windows(const struct window *a, const struct window *b)
{
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to > b->to ? -1 : 1;
	if (a->height_bytes != b->height_bytes)
		return a->height_bytes > b->height_bytes ? -1 : 1;
	if (a->offset_bytes != b->offset_bytes)
		return a->offset_bytes > b->offset_bytes ? -1 : 1;
	return 0;
}

SEAM_TREE_GENERATE(window_tree, window, link, compare_windows)

static void window_augment(struct window *window)
{
	const struct window *left = RB_LEFT(window, link);
	const struct window *right = RB_RIGHT(window, link);
	uint64_t latest = window->to;

	if (left != NULL && left->latest > latest)
		latest = left->latest;
	if (right != NULL && right->latest > latest)
		latest = right->latest;
	window->latest = latest;
}

/* The tree augments only what it turns: the way up is ours. */
static void augment_up(struct window *window)
{
	for (; window != NULL; window = RB_PARENT(window, link))
		window_augment(window);
}

static void make_ready(struct layers *layers, struct window *window)
{
	window->latest = window->to;
	RB_INSERT(window_tree, &layers->ready, window);
	augment_up(window);
}

static void take(struct layers *layers, struct window *window)
{
	uint64_t to = window->to;

	/* Its own end must have gone from the nodes above before it goes itself. */
	window->to = 0;
	augment_up(window);
	window->to = to;
	RB_REMOVE(window_tree, &layers->ready, window);
}

static void heap_push(struct layers *layers, struct window *window)
{
	uint32_t at = layers->waiting_count++;

	while (at > 0 && layers->waiting[(at - 1) / 2]->height_bytes < window->height_bytes) {
		layers->waiting[at] = layers->waiting[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	layers->waiting[at] = window;
}

static struct window *heap_pop(struct layers *layers)
{
	struct window *first = layers->waiting[0];
	struct window *last = layers->waiting[--layers->waiting_count];
	uint32_t at = 0;

	for (uint32_t child; (child = 2 * at + 1) < layers->waiting_count; at = child) {
		if (child + 1 < layers->waiting_count &&
			layers->waiting[child + 1]->height_bytes > layers->waiting[child]->height_bytes)
			child++;
		if (layers->waiting[child]->height_bytes <= last->height_bytes)
			break;
		layers->waiting[at] = layers->waiting[child];
	}
	layers->waiting[at] = last;
	return first;
}

/* A new window; nothing when it has no height or no time. */
static void add_window(struct layers *layers, uint64_t offset_bytes, uint64_t height_bytes, uint64_t from, uint64_t to,
	uint64_t size_bytes)
{
	if (height_bytes == 0 || from >= to)
		return;
	struct window *window = &layers->windows[layers->window_count++];
	*window = (struct window){.offset_bytes = offset_bytes, .height_bytes = height_bytes};
	/* Kept so that `from` lies on the circle: a query then finds it at its position or one turn later. */
	window->from = from >= layers->problem->circle ? from - layers->problem->circle : from;
	window->to = to - (from - window->from);
	if (height_bytes >= size_bytes)
		make_ready(layers, window);
	else
		heap_push(layers, window);
}

/* The window that became idle last before `begin` and stays idle until `end`, or NULL. */
static struct window *find(const struct layers *layers, uint64_t begin, uint64_t end)
{
	struct window *node = RB_ROOT(&layers->ready);
	struct window *subtree = NULL; /* the rightmost one known to hold an answer, all of it before `begin` */

	while (node != NULL) {
		if (node->from > begin) {
			node = RB_LEFT(node, link);
			continue;
		}
		/* The left subtree and this node begin early enough; what is right of it is better. */
		if (node->to >= end || (RB_LEFT(node, link) != NULL && RB_LEFT(node, link)->latest >= end))
			subtree = node;
		node = RB_RIGHT(node, link);
	}
	if (subtree == NULL || subtree->to >= end)
		return subtree;
	node = RB_LEFT(subtree, link);
	for (;;) {
		if (RB_RIGHT(node, link) != NULL && RB_RIGHT(node, link)->latest >= end)
			node = RB_RIGHT(node, link);
		else if (node->to >= end)
			return node;
		else
			node = RB_LEFT(node, link);
	}
}

/* Puts the item, at [begin, end) in the window's own count of turns, to its bottom. */
static void fill(struct layers *layers, uint32_t number, struct window *window, uint64_t begin, uint64_t end)
{
	uint64_t size = layers->problem->items[number].size_bytes;

	layers->offsets[number] = window->offset_bytes;
	take(layers, window);
	add_window(layers, window->offset_bytes, size, window->from, begin, size);
	add_window(layers, window->offset_bytes, size, end, window->to, size);
	add_window(layers, window->offset_bytes + size, window->height_bytes - size, window->from, window->to, size);
}

static void new_layer(struct layers *layers, uint32_t number)
{
	const struct seam_item *item = &layers->problem->items[number];
	uint64_t circle = layers->problem->circle;
	uint64_t end = (uint64_t)item->begin + item->span;
	uint64_t offset = layers->top_bytes;
	uint64_t size = item->size_bytes;

	layers->offsets[number] = offset;
	layers->top_bytes += size;
	if (layers->problem->linear) {
		add_window(layers, offset, size, 0, item->begin, size);
		add_window(layers, offset, size, end, circle, size);
	} else {
		add_window(layers, offset, size, end, item->begin + circle, size);
	}
}

static void place(struct layers *layers, uint32_t number)
{
	const struct seam_item *item = &layers->problem->items[number];
	uint64_t circle = layers->problem->circle;
	uint64_t begin = item->begin;
	uint64_t end = begin + item->span;

	while (layers->waiting_count > 0 && layers->waiting[0]->height_bytes >= item->size_bytes)
		make_ready(layers, heap_pop(layers));
	struct window *window = find(layers, begin, end);
	if (window == NULL && !layers->problem->linear) {
		/* One turn later: windows that begin behind the item and reach around to it. */
		begin += circle;
		end += circle;
		window = find(layers, begin, end);
	}
	if (window != NULL)
		fill(layers, number, window, begin, end);
	else
		new_layer(layers, number);
}

struct by_size {
	const struct seam_item *item;
	uint32_t number;
};

static int compare_sizes(const void *left, const void *right)
{
	const struct by_size *a = left;
	const struct by_size *b = right;

	if (a->item->size_bytes != b->item->size_bytes)
		return a->item->size_bytes > b->item->size_bytes ? -1 : 1;
	if (a->item->begin != b->item->begin)
		return a->item->begin < b->item->begin ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* One node per item. O(count log count). */
enum seam_rc seam__solve_layers(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	const uint32_t count = problem->count;
	const size_t windows = (size_t)count * WINDOWS_PER_ITEM;
	struct layers layers = {.problem = problem,
		.offsets = seam__region_array(problem->region, count, sizeof(*layers.offsets)),
		.ready = RB_INITIALIZER(&layers.ready),
		.waiting = seam__region_array(problem->region, windows, sizeof(struct window *)),
		.windows = seam__region_array(problem->region, windows, sizeof(*layers.windows))};
	struct by_size *order = seam__region_array(problem->region, count, sizeof(*order));
	uint32_t placed = 0;

	(void)argument;
	if (layers.offsets == NULL || layers.waiting == NULL || layers.windows == NULL || order == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < count; i++)
		order[i] = (struct by_size){.item = &problem->items[i], .number = i};
	qsort(order, count, sizeof(*order), compare_sizes);
	while (placed < count && layers.top_bytes < best->peak_bytes && seam__budget_spend(budget, 1))
		place(&layers, order[placed++].number);
	SEAM_ASSERT(layers.window_count <= windows);
	if (placed == count)
		(void)seam__placement_improve(best, problem, budget, layers.offsets);
	return SEAM_OK;
}
