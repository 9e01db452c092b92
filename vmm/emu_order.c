/* emu_order.c: sparse vector clocks; see emu_order.h. */
#include "emu_order.h"

#include <string.h>

#include "meta.h"

void seam__emu_order_fini(struct emu_order *order, struct seam_meta *meta)
{
	seam__meta_free(meta, order->entries, order->capacity * sizeof(order->entries[0]));
	*order = (struct emu_order){0};
}

static bool make_room(struct emu_order *order, struct seam_meta *meta, uint32_t count)
{
	if (count <= order->capacity)
		return true;
	uint32_t capacity = order->capacity < 4 ? 4 : order->capacity * 2;
	if (capacity < count)
		capacity = count;
	void *grown = seam__meta_resize(meta, order->entries, order->capacity * sizeof(order->entries[0]),
		capacity * sizeof(order->entries[0]));
	if (grown == NULL)
		return false;
	order->entries = grown;
	order->capacity = capacity;
	return true;
}

/* The first entry whose stream is not less. */
static uint32_t find_place(const struct emu_order *order, uint64_t stream_id)
{
	uint32_t low = 0;
	uint32_t high = order->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (order->entries[middle].stream_id < stream_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool seam__emu_order_add(struct emu_order *order, struct seam_meta *meta, struct emu_order_entry entry)
{
	if (entry.number == 0)
		return true;
	uint32_t place = find_place(order, entry.stream_id);
	if (place == order->count || order->entries[place].stream_id != entry.stream_id) {
		if (!make_room(order, meta, order->count + 1))
			return false;
		memmove(&order->entries[place + 1], &order->entries[place],
			(order->count - place) * sizeof(order->entries[0]));
		order->entries[place] = entry;
		order->count++;
	} else if (order->entries[place].number < entry.number) {
		order->entries[place].number = entry.number;
	}
	return true;
}

/* Drops what everything comes after. */
static void prune(struct emu_order *order, const uint64_t *floors)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < order->count; i++) {
		if (order->entries[i].number > floors[order->entries[i].device])
			order->entries[kept++] = order->entries[i];
	}
	order->count = kept;
}

bool seam__emu_order_merge(
	struct emu_order *order, struct seam_meta *meta, const struct emu_order *other, const uint64_t *floors)
{
	if (other->count == 0)
		return true;
	prune(order, floors);
	if (!make_room(order, meta, order->count + other->count))
		return false;
	for (uint32_t i = 0; i < other->count; i++) {
		const struct emu_order_entry *entry = &other->entries[i];
		/* Cannot fail: there is room for all of them. */
		if (entry->number > floors[entry->device] && !seam__emu_order_add(order, meta, *entry))
			return false;
	}
	return true;
}

void seam__emu_order_lower(struct emu_order *order, struct emu_order_entry entry, uint64_t number)
{
	uint32_t i = 0;
	while (i < order->count && order->entries[i].stream_id != entry.stream_id)
		i++;
	if (i == order->count || order->entries[i].number != entry.number)
		return;
	order->entries[i].number = number;
	if (number != 0)
		return;
	order->count--;
	memmove(&order->entries[i], &order->entries[i + 1], (order->count - i) * sizeof(order->entries[0]));
}

uint64_t seam__emu_order_get(const struct emu_order *order, uint64_t stream_id)
{
	uint32_t place = find_place(order, stream_id);
	if (place == order->count || order->entries[place].stream_id != stream_id)
		return 0;
	return order->entries[place].number;
}

bool seam__emu_order_covers(const struct emu_order *order, const struct emu_order *part, const uint64_t *floors)
{
	for (uint32_t i = 0; i < part->count; i++) {
		const struct emu_order_entry *entry = &part->entries[i];
		if (entry->number > floors[entry->device] &&
			seam__emu_order_get(order, entry->stream_id) < entry->number)
			return false;
	}
	return true;
}

const char *seam__emu_order_check(const struct emu_order *order)
{
	for (uint32_t i = 0; i < order->count; i++) {
		if (i != 0 && order->entries[i - 1].stream_id >= order->entries[i].stream_id)
			return "EO1 streams strictly rise";
		if (order->entries[i].number == 0)
			return "EO2 no number is 0";
	}
	return order->count > order->capacity ? "an order holds more than it has room for" : NULL;
}
