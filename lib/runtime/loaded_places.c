/* loaded_places.c: a loaded plan's instances by address: the one that begins at an offset, those that overlap a range;
 * the slots whose end is waited for. */
#include "loaded_plan.h"

#include <stdlib.h>

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

bool seam__loaded_overlapping(const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end,
	const uint64_t *times, bool (*visit)(void *user, uint32_t number), void *user)
{
	const uint64_t when = times != NULL ? *times : UINT64_MAX;
	uint32_t steps = UINT32_MAX;
	struct seam_places_walk walk;
	seam__places_from_lowest(&walk, loaded);
	const struct seam_by_address *by_address;
	while (begin < end && (by_address = seam__places_next(&walk, begin, when, &steps)) != NULL &&
		by_address->begin < end)
		if (by_address->end > begin && visit(user, by_address->number))
			return true;
	return false;
}

static void fill_places(struct seam_loaded_plan *loaded, uint32_t *address_slot_of)
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
	}
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
	loaded->address_slot_of = address_slot_of;
	loaded->places = seam__meta_array(meta, capacity, sizeof(*loaded->places));
	loaded->waited = seam__meta_array(meta, loaded->slots, sizeof(*loaded->waited));
	if (address_slot_of == NULL || loaded->places == NULL || loaded->waited == NULL)
		return SEAM_OOM_META;
	fill_places(loaded, address_slot_of);
	for (uint32_t w = 0; w < plan->header.wait_count; w++)
		loaded->waited[plan->waits[w].waited] =
			(plan->slots[plan->waits[w].waited].flags & SEAM_PLAN_SHARED) != 0;
	return SEAM_OK;
}
