/* loaded_places.c: a loaded plan's instances by address: the one that begins at an offset, those that overlap a range,
 * last users, memory of several streams. */
#include "loaded_plan.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "meta.h"

static int compare_by_address(const void *left, const void *right)
{
	const struct seam_by_address *a = left, *b = right;
	const int order = seam__bits_compare(a->begin, b->begin);
	return order != 0 ? order : seam__bits_compare(a->number, b->number);
}

/* The middle of [low, high) holds how far the stretch reaches, and when any of it is there. Returns the middle; NULL:
 * the stretch is empty. Recursion is as deep as the logarithm of the instances. */
static const struct seam_by_address *fill_lifetimes(struct seam_loaded_plan *loaded, uint32_t low, uint32_t high)
{
	if (low == high)
		return NULL;
	const uint32_t middle = low + (high - low) / 2;
	struct seam_by_address *by_address = &loaded->by_address_entries[middle];
	const struct seam_by_address *parts[] = {
		fill_lifetimes(loaded, low, middle), fill_lifetimes(loaded, middle + 1, high)};
	by_address->reach = by_address->end;
	by_address->times = seam__loaded_times(loaded, by_address->at, by_address->length);
	for (int i = 0; i < 2; i++) {
		if (parts[i] == NULL)
			continue;
		by_address->reach = seam__bits_max(by_address->reach, parts[i]->reach);
		by_address->times |= parts[i]->times;
	}
	return by_address;
}

struct visit {
	const struct seam_loaded_plan *loaded;
	uint64_t begin;
	uint64_t end;
	const uint64_t *times;
	bool (*visit)(void *user, uint32_t number);
	void *user;
};

static bool visit_stretch(const struct visit *v, uint32_t low, uint32_t high)
{
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct seam_by_address *by_address = &v->loaded->by_address_entries[middle];
		if (!seam__stretch_meets(by_address, v->begin, *v->times))
			return false;
		if (low < middle && visit_stretch(v, low, middle))
			return true;
		if (by_address->begin >= v->end)
			return false;
		if (by_address->end > v->begin && v->visit(v->user, by_address->number))
			return true;
		low = middle + 1;
	}
	return false;
}

bool seam__loaded_overlapping(const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end,
	const uint64_t *times, bool (*visit)(void *user, uint32_t number), void *user)
{
	static const uint64_t always = UINT64_MAX;
	const struct visit v = {loaded, begin, end, times != NULL ? times : &always, visit, user};
	return begin < end && visit_stretch(&v, 0, loaded->placed);
}

/* Where a stretch has a last user, so have all that contain it. */
void seam__loaded_note_last(struct seam_loaded_plan *loaded, const struct seam_plan_block *plan_block)
{
	const uint32_t at = loaded->placed_at[plan_block->number];
	for (uint32_t low = 0, high = loaded->placed; !loaded->has_last[at];) {
		const uint32_t middle = low + (high - low) / 2;
		loaded->has_last[middle] = true;
		if (middle < at)
			low = middle + 1;
		else
			high = middle;
	}
}

void seam__loaded_note_all(struct seam_loaded_plan *loaded)
{
	memset(loaded->has_last, 1, loaded->placed * sizeof(*loaded->has_last));
}

struct last {
	struct seam_loaded_plan *loaded;
	uint64_t begin;
	uint64_t end;
	bool (*each)(void *user, const struct seam_plan_block *last);
	void *user;
};

/* True: the instance still has a last user, or will have one. */
static bool see_last(const struct last *last, const struct seam_by_address *by_address)
{
	struct seam_plan_block *plan_block = &last->loaded->instances[by_address->number];
	if (plan_block->state != SEAM_PLANNED_FREE)
		return true;
	if (plan_block->stream == NULL || by_address->begin >= last->end || by_address->end <= last->begin)
		return plan_block->stream != NULL;
	if (last->each(last->user, plan_block))
		plan_block->stream = NULL;
	return plan_block->stream != NULL;
}

static bool see_lasts(const struct last *last, uint32_t low, uint32_t high);

/* True: the stretch still has such instances. */
static inline bool see_stretch(const struct last *last, uint32_t low, uint32_t high)
{
	const uint32_t middle = low + (high - low) / 2;
	return low < high && last->loaded->has_last[middle] &&
		(!seam__stretch_meets(&last->loaded->by_address_entries[middle], last->begin, UINT64_MAX) ||
			see_lasts(last, low, high));
}

/* The same of one that has, and that reaches behind the beginning. */
static bool see_lasts(const struct last *last, uint32_t low, uint32_t high)
{
	const uint32_t middle = low + (high - low) / 2;
	const struct seam_by_address *by_address = &last->loaded->by_address_entries[middle];
	const bool below = see_stretch(last, low, middle);
	const bool here = see_last(last, by_address);
	const uint32_t behind = middle + 1 + (high - middle - 1) / 2;
	const bool above = by_address->begin < last->end ? see_stretch(last, middle + 1, high)
							 : behind < high && last->loaded->has_last[behind];
	last->loaded->has_last[middle] = below || here || above;
	return below || here || above;
}

void seam__loaded_last(struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end,
	bool (*each)(void *user, const struct seam_plan_block *last), void *user)
{
	const struct last last = {loaded, begin, end, each, user};
	(void)see_stretch(&last, 0, loaded->placed);
}

static void fill_places(struct seam_loaded_plan *loaded, uint32_t *address_slot_of, uint32_t *placed_at)
{
	for (uint32_t p = 0; p <= loaded->address_mask; p++)
		loaded->places[p] = (struct seam_address_slot){UINT32_MAX, UINT32_MAX};
	for (uint32_t i = 0; i < loaded->placed; i++) {
		const struct seam_by_address *by_address = &loaded->by_address_entries[i];
		const uint32_t key = (uint32_t)(by_address->begin / SEAM_PLANNED_BYTES);
		uint32_t at = seam__address_hash(key) & loaded->address_mask;
		while (loaded->places[at].key != key && loaded->places[at].key != UINT32_MAX)
			at = (at + 1) & loaded->address_mask;
		loaded->places[at].key = key;
		address_slot_of[by_address->number] = at;
		placed_at[by_address->number] = i;
	}
}

/* An edge of an instance, to find where instances of several streams lie over each other. */
struct edge {
	uint64_t at;
	uint32_t stream;
	bool begins;
};

static int compare_edges(const void *left, const void *right)
{
	const struct edge *a = left, *b = right;
	const int order = seam__bits_compare(a->at, b->at);
	return order != 0 ? order : seam__bits_compare(a->begins, b->begins);
}

static void mark_mixed(const struct seam_plan *plan, struct seam_loaded_plan *loaded, struct edge *edges,
	uint64_t *mixed, uint32_t *open)
{
	uint32_t count = 0, streams = 0, ranges = 0;
	for (uint32_t i = 0; i < loaded->placed; i++) {
		const struct seam_by_address *by_address = &loaded->by_address_entries[i];
		const uint32_t slot = by_address->number / loaded->copies;
		/* What other streams use is as if it were of one more stream. */
		const uint32_t of[] = {plan->slots[slot].stream, plan->header.stream_count};
		for (unsigned i_of = 0; i_of < 1u + loaded->waited[slot]; i_of++) {
			edges[count++] = (struct edge){by_address->begin, of[i_of], true};
			edges[count++] = (struct edge){by_address->end, of[i_of], false};
		}
	}
	qsort(edges, count, sizeof(*edges), compare_edges);
	for (uint32_t e = 0; e < count; e++) {
		const uint32_t before = streams;
		uint32_t *use = &open[edges[e].stream];
		if (edges[e].begins)
			streams += (*use)++ == 0;
		else
			streams -= --*use == 0;
		if (before < 2 && streams >= 2)
			mixed[2 * ranges] = edges[e].at;
		if (before >= 2 && streams < 2) {
			mixed[2 * ranges + 1] = edges[e].at;
			ranges += mixed[2 * ranges] < edges[e].at;
		}
	}
	for (uint32_t i = 0, first = 0; i < loaded->placed; i++) {
		const struct seam_by_address *by_address = &loaded->by_address_entries[i];
		while (first < ranges && mixed[2 * first + 1] <= by_address->begin)
			first++;
		if (first < ranges && mixed[2 * first] < by_address->end)
			loaded->crosses[by_address->number / loaded->copies] = 1;
	}
}

static enum seam_rc find_crossings(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	for (uint32_t w = 0; w < plan->header.wait_count; w++) {
		if ((plan->slots[plan->waits[w].waited].flags & SEAM_PLAN_SHARED) == 0)
			continue;
		loaded->waited[plan->waits[w].waited] = 1;
		loaded->is_used = true;
	}
	if ((plan->header.stream_count < 2 && !loaded->is_used) || loaded->placed == 0)
		return SEAM_OK;
	const size_t count = (loaded->is_used ? 4 : 2) * (size_t)loaded->placed;
	const size_t stream_count = (size_t)plan->header.stream_count + 1;
	struct edge *edges = seam__meta_array(meta, count, sizeof(*edges));
	uint64_t *mixed = seam__meta_array(meta, count + 2, sizeof(*mixed));
	uint32_t *open = seam__meta_array(meta, stream_count, sizeof(*open));
	const bool failed = edges == NULL || mixed == NULL || open == NULL;
	if (!failed)
		mark_mixed(plan, loaded, edges, mixed, open);
	seam__meta_free(meta, edges, count * sizeof(*edges));
	seam__meta_free(meta, mixed, (count + 2) * sizeof(*mixed));
	seam__meta_free(meta, open, stream_count * sizeof(*open));
	return failed ? SEAM_OOM_META : SEAM_OK;
}

static enum seam_rc sort_placed(struct seam_meta *meta, struct seam_loaded_plan *loaded)
{
	const uint32_t count = loaded->slots * loaded->copies;
	loaded->by_address_entries = seam__meta_array(meta, count, sizeof(*loaded->by_address_entries));
	if (loaded->by_address_entries == NULL)
		return SEAM_OOM_META;
	for (uint32_t n = 0; n < count; n++) {
		const struct seam_plan_block *plan_block = &loaded->instances[n];
		const struct seam_lifetime *lifetime = &loaded->lifetimes[n / loaded->copies];
		if (plan_block->offset == SEAM_PLAN_NO_ADDRESS)
			continue;
		loaded->by_address_entries[loaded->placed++] = (struct seam_by_address){
			.begin = plan_block->offset,
			.end = plan_block->offset + plan_block->bytes,
			.at = seam__loaded_circle_at(loaded, n),
			.length = lifetime->end - lifetime->begin,
			.number = n,
		};
	}
	qsort(loaded->by_address_entries, loaded->placed, sizeof(*loaded->by_address_entries), compare_by_address);
	(void)fill_lifetimes(loaded, 0, loaded->placed);
	return SEAM_OK;
}

enum seam_rc seam__loaded_index_places(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	const enum seam_rc rc = sort_placed(meta, loaded);
	if (rc != SEAM_OK)
		return rc;
	uint32_t capacity = 16;
	while (capacity < 2 * (uint64_t)loaded->placed)
		capacity *= 2;
	loaded->address_mask = capacity - 1;
	uint32_t *address_slot_of = seam__meta_array(meta, loaded->slots * loaded->copies, sizeof(*address_slot_of));
	uint32_t *placed_at = seam__meta_array(meta, loaded->slots * loaded->copies, sizeof(*placed_at));
	loaded->address_slot_of = address_slot_of;
	loaded->placed_at = placed_at;
	loaded->has_last = seam__meta_array(meta, loaded->slots * loaded->copies, sizeof(*loaded->has_last));
	loaded->places = seam__meta_array(meta, capacity, sizeof(*loaded->places));
	loaded->crosses = seam__meta_array(meta, loaded->slots, sizeof(*loaded->crosses));
	loaded->waited = seam__meta_array(meta, loaded->slots, sizeof(*loaded->waited));
	if (address_slot_of == NULL || placed_at == NULL || loaded->has_last == NULL || loaded->places == NULL ||
		loaded->crosses == NULL || loaded->waited == NULL)
		return SEAM_OOM_META;
	fill_places(loaded, address_slot_of, placed_at);
	return find_crossings(meta, plan, loaded);
}
