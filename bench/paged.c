/* paged.c: see paged.h.
 *
 * A size is a number of chunks. Of each size as many views exist as are live at once; they stand one above the other,
 * and of n live blocks the lowest n are taken to be in use (README.md says why nothing is lost). So a view's idle
 * times, its *gaps*, are a matter of counting: a free opens a gap of the highest view in use, and the next begin that
 * reaches it closes it. A chunk of a view that stays mapped all through a gap saves a mapping. Which ones stay is the
 * question of offline caching with units of one size: where there are too many, those go that are needed last.
 */
#include "paged.h"

#include <stdbool.h>
#include <stdlib.h>

#include "meta.h"
#include "tree.h"

#define NONE UINT32_MAX

/* A begin, and the gap that it closes; or an end, and the gap that it opens. */
struct change {
	RB_ENTRY(change) link; /* a begin: while its gap is open and some of it is kept */
	uint32_t position;
	uint32_t kind;   /* number of the size */
	uint32_t place;  /* in the row */
	uint32_t closes; /* an end: the begin that closes its gap; NONE: the cut does */
	uint32_t below;  /* an end: the one whose gap was opened before, of the same size, and is open still; NONE: none
			  */
	bool begins;
	uint64_t kept_chunks; /* a begin: of its gap */
};

static int compare_places(const struct change *a, const struct change *b)
{
	return a->place < b->place ? -1 : a->place > b->place;
}

SEAM_TREE_HEAD(gaps, struct change);
SEAM_TREE_GENERATE(gaps, change, link, compare_places)

struct work {
	const struct seam_plan *plan;
	uint64_t *sizes;        /* ascending, in chunks; 0: what is smaller than a chunk */
	uint32_t *now;          /* per size: views in use */
	uint32_t *most;         /* per size, over the period */
	uint32_t *top;          /* per size: the end that opened the newest gap; NONE: none since the cut */
	struct change *changes; /* by position; ends first */
	uint32_t room;          /* slots */
	uint32_t size_count;
	uint32_t change_count;
	uint64_t cut_chunks; /* live before the first change, after turn() */
};

static uint64_t chunks_of(const struct seam_plan *plan, uint64_t bytes)
{
	return bytes / plan->header.chunk_bytes + (bytes % plan->header.chunk_bytes != 0);
}

static uint64_t size_of(const struct seam_plan *plan, const struct seam_plan_slot *slot)
{
	return slot->size_bytes < plan->header.chunk_bytes ? 0 : chunks_of(plan, slot->size_bytes);
}

static bool counts(const struct seam_plan_slot *slot)
{
	return (slot->flags & SEAM_PLAN_DYNAMIC) == 0;
}

static bool is_linear(const struct seam_plan *plan)
{
	return (plan->header.flags & SEAM_PLAN_LINEAR) != 0;
}

/* Blocks of the slot from periods before that are live before position 0. */
static uint32_t live_at_first(const struct seam_plan *plan, const struct seam_plan_slot *slot)
{
	return is_linear(plan) ? 0 : slot->end / plan->header.positions;
}

/* The most of its blocks that are live at once. */
static uint32_t live_at_once(const struct seam_plan *plan, const struct seam_plan_slot *slot)
{
	const uint32_t span = slot->end - slot->begin, positions = plan->header.positions;

	return span / positions + (span % positions != 0);
}

static int compare_sizes(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int compare_changes(const void *left, const void *right)
{
	const struct change *a = left, *b = right;

	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return a->begins - b->begins;
}

static void list_sizes(struct work *work)
{
	const struct seam_plan *plan = work->plan;
	uint32_t count = 1;

	work->sizes[0] = 0;
	for (uint32_t i = 0; i < plan->header.slot_count; i++)
		if (counts(&plan->slots[i]))
			work->sizes[count++] = size_of(plan, &plan->slots[i]);
	qsort(work->sizes, count, sizeof(*work->sizes), compare_sizes);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || work->sizes[i] != work->sizes[work->size_count - 1])
			work->sizes[work->size_count++] = work->sizes[i];
}

static void list_changes(struct work *work)
{
	const struct seam_plan *plan = work->plan;
	const uint32_t positions = plan->header.positions;

	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		const uint64_t size = size_of(plan, slot);

		if (!counts(slot) || size == 0)
			continue;
		const uint64_t *found = bsearch(&size, work->sizes, work->size_count, sizeof(size), compare_sizes);
		const uint32_t kind = (uint32_t)(found - work->sizes);

		work->now[kind] += live_at_first(plan, slot);
		work->changes[work->change_count++] =
			(struct change){.position = slot->begin, .kind = kind, .begins = true};
		if (!is_linear(plan) || slot->end < positions)
			work->changes[work->change_count++] =
				(struct change){.position = slot->end % positions, .kind = kind};
	}
	qsort(work->changes, work->change_count, sizeof(*work->changes), compare_changes);
}

/* What is smaller than a chunk, in the chunks that it needs at least. */
static uint64_t small_chunks(const struct seam_plan *plan, uint64_t *live)
{
	const uint32_t positions = plan->header.positions;
	uint64_t bytes = 0, most = 0;

	for (uint32_t i = 0; i < plan->header.slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];

		if (!counts(slot) || size_of(plan, slot) != 0)
			continue;
		bytes += live_at_first(plan, slot) * slot->size_bytes;
		live[slot->begin] += slot->size_bytes;
		live[is_linear(plan) ? slot->end : slot->end % positions] -= slot->size_bytes;
	}
	for (uint32_t p = 0; p < positions; p++) {
		bytes += live[p];
		most = bytes > most ? bytes : most;
	}
	return chunks_of(plan, most);
}

/* Back to before the first change: views in use, and live in whole chunks. */
static uint64_t live_first(struct work *work)
{
	uint64_t live = 0;

	for (uint32_t s = 0; is_linear(work->plan) && s < work->size_count; s++)
		work->now[s] = 0; /* residents never end; around a circle everything is as it was */
	for (uint32_t s = 0; s < work->size_count; s++)
		live += work->now[s] * work->sizes[s];
	return live;
}

static void step(struct work *work, const struct change *change, uint64_t *live)
{
	if (!change->begins) {
		work->now[change->kind]--;
		*live -= work->sizes[change->kind];
		return;
	}
	*live += work->sizes[change->kind];
	if (++work->now[change->kind] > work->most[change->kind])
		work->most[change->kind] = work->now[change->kind];
}

static void sum_up(struct work *work, uint64_t small, struct seam_paged *paged)
{
	const struct seam_plan *plan = work->plan;
	uint64_t live = live_first(work), most = live;

	for (uint32_t s = 0; s < work->size_count; s++)
		work->most[s] = work->now[s];
	for (uint32_t i = 0; i < work->change_count; i++) {
		step(work, &work->changes[i], &live);
		most = live > most ? live : most;
	}
	*paged = (struct seam_paged){.chunks = most + small, .private_chunks = small, .size_chunks = small};
	for (uint32_t s = 0; s < work->size_count; s++)
		paged->size_chunks += work->most[s] * work->sizes[s];
	for (uint32_t i = 0; i < plan->header.slot_count; i++)
		if (counts(&plan->slots[i]))
			paged->private_chunks += live_at_once(plan, &plan->slots[i]) * size_of(plan, &plan->slots[i]);
	paged->capacity_chunks =
		paged->chunks > plan->header.lower_bound_chunks ? paged->chunks : plan->header.lower_bound_chunks;
}

/* Which change is at place `i` when the period begins behind change `cut - 1`. */
static struct change *at(const struct work *work, uint32_t cut, uint32_t i)
{
	const uint32_t behind = work->change_count - cut;

	return &work->changes[i < behind ? cut + i : i - behind];
}

/* Where most is live: what is idle there has the least room to stay. The views in use are those at the cut afterwards.
 */
static uint32_t find_cut(struct work *work)
{
	uint64_t live = live_first(work), most = live;
	uint32_t cut = 0;

	for (uint32_t i = 0; !is_linear(work->plan) && i < work->change_count; i++) {
		step(work, &work->changes[i], &live);
		if (live > most) {
			most = live;
			cut = i + 1;
		}
	}
	for (uint32_t i = 0; i < cut; i++)
		step(work, &work->changes[i], &live);
	work->cut_chunks = most;
	return cut;
}

/* Finds the gaps. Returns the chunks of those that cross the cut. */
static uint64_t match_gaps(struct work *work, uint32_t cut)
{
	uint64_t crossing = 0;

	for (uint32_t s = 0; s < work->size_count; s++)
		work->top[s] = NONE;
	for (uint32_t i = 0; i < work->change_count; i++) {
		struct change *change = at(work, cut, i);
		uint32_t *top = &work->top[change->kind];

		change->place = i;
		change->closes = NONE;
		if (!change->begins) {
			change->below = *top;
			*top = i;
		} else if (*top != NONE) {
			struct change *opened = at(work, cut, *top);

			opened->closes = i;
			*top = opened->below;
		} else {
			crossing += work->sizes[change->kind];
		}
	}
	return crossing;
}

/* The most that can stay mapped through the gaps that do not cross the cut. */
static uint64_t keep(struct work *work, uint32_t cut, uint64_t capacity)
{
	struct gaps open = RB_INITIALIZER(&open);
	uint64_t live = work->cut_chunks, idle = 0, saved = 0;

	for (uint32_t i = 0; i < work->change_count; i++) {
		struct change *change = at(work, cut, i);
		const uint64_t size = work->sizes[change->kind];

		if (!change->begins) {
			live -= size;
			if (change->closes == NONE)
				continue;
			change = at(work, cut, change->closes);
			change->kept_chunks = size;
			idle += size;
			RB_INSERT(gaps, &open, change);
			continue;
		}
		live += size;
		if (change->kept_chunks > 0)
			RB_REMOVE(gaps, &open, change);
		idle -= change->kept_chunks;
		saved += change->kept_chunks;
		while (live + idle > capacity) {
			struct change *last =
				RB_MAX(gaps, &open); /* there is one: what is live alone is within the capacity */
			const uint64_t over = live + idle - capacity;
			const uint64_t lost = over < last->kept_chunks ? over : last->kept_chunks;

			last->kept_chunks -= lost;
			idle -= lost;
			if (last->kept_chunks == 0)
				RB_REMOVE(gaps, &open, last);
		}
	}
	return saved;
}

/* The least number of mappings that change. `capacity` and `views` without what is small. */
static uint64_t count_remapped(struct work *work, uint64_t capacity, uint64_t views)
{
	const uint32_t cut = find_cut(work);
	const uint64_t crossing = match_gaps(work, cut);
	uint64_t saved = keep(work, cut, capacity), begun = 0;

	for (uint32_t i = 0; i < work->change_count; i++)
		begun += work->changes[i].begins ? work->sizes[work->changes[i].kind] : 0;
	if (is_linear(work->plan))
		saved += capacity < views ? capacity : views; /* a chunk's first mapping is no change */
	else
		saved += crossing < capacity - work->cut_chunks ? crossing : capacity - work->cut_chunks;
	return begun - saved;
}

static enum seam_rc prepare(struct work *work, uint64_t **ret_live)
{
	struct seam_meta *meta = seam__meta_process();

	work->sizes = seam__meta_array(meta, work->room, sizeof(*work->sizes));
	work->now = seam__meta_array(meta, work->room, sizeof(*work->now));
	work->most = seam__meta_array(meta, work->room, sizeof(*work->most));
	work->top = seam__meta_array(meta, work->room, sizeof(*work->top));
	work->changes = seam__meta_array(meta, (size_t)work->room * 2, sizeof(*work->changes));
	*ret_live = seam__meta_array(meta, (size_t)work->plan->header.positions + 1, sizeof(**ret_live));
	return work->sizes == NULL || work->now == NULL || work->most == NULL || work->top == NULL ||
			work->changes == NULL || *ret_live == NULL
		? SEAM_OOM_META
		: SEAM_OK;
}

enum seam_rc seam__paged_init(const struct seam_plan *plan, struct seam_paged *ret_paged)
{
	struct seam_meta *meta = seam__meta_process();
	struct work work = {.plan = plan, .room = plan->header.slot_count + 1};
	uint64_t *live;
	enum seam_rc rc;

	if ((plan->header.flags & SEAM_PLAN_GRAPH) != 0)
		return SEAM_UNSUPPORTED;
	rc = prepare(&work, &live);
	if (rc == SEAM_OK) {
		const uint64_t small = small_chunks(plan, live);
		struct seam_paged paged;

		list_sizes(&work);
		list_changes(&work);
		sum_up(&work, small, &paged);
		paged.remapped_chunks = count_remapped(&work, paged.capacity_chunks - small, paged.size_chunks - small);
		*ret_paged = paged;
	}
	seam__meta_free(meta, live, ((size_t)plan->header.positions + 1) * sizeof(*live));
	seam__meta_free(meta, work.changes, (size_t)work.room * 2 * sizeof(*work.changes));
	seam__meta_free(meta, work.top, work.room * sizeof(*work.top));
	seam__meta_free(meta, work.most, work.room * sizeof(*work.most));
	seam__meta_free(meta, work.now, work.room * sizeof(*work.now));
	seam__meta_free(meta, work.sizes, work.room * sizeof(*work.sizes));
	return rc;
}
