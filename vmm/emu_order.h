/* emu_order.h: vector clocks: which work is known to come before a point of the program.
 *
 * Work that touches memory has a number, unique in its device and rising. An order holds, for each stream, the number
 * of the newest work of that stream that comes before: a sparse vector, sorted by stream, empty while nothing touches
 * memory. Each device has a floor: its numbers at or below that come before everything (it was idle and the host knew
 * it), and are dropped.
 *
 * Not here: the edges themselves; emu_stream.c and emu_event.c draw them.
 * Invariants: EO1 streams strictly rise; EO2 no number is 0. Guarded by the emulator's lock.
 */
#ifndef SEAM_EMU_ORDER_H
#define SEAM_EMU_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct seam_meta;

struct emu_order_entry {
	uint64_t stream_id;
	uint64_t number;
	uint32_t device; /* of the stream: whose floor counts */
};

/* All-zero is the empty order. */
struct emu_order {
	struct emu_order_entry *entries;
	uint32_t count;
	uint32_t capacity;
};

void seam__emu_order_fini(struct emu_order *order, struct seam_meta *meta);

/* The entry's stream has its number, or a newer one. False: no metadata, nothing changed. */
__attribute__((warn_unused_result)) bool seam__emu_order_add(
	struct emu_order *order, struct seam_meta *meta, struct emu_order_entry entry);

/* order = max of both, without what is at or below its device's floor. False: no metadata, nothing changed. */
__attribute__((warn_unused_result)) bool seam__emu_order_merge(
	struct emu_order *order, struct seam_meta *meta, const struct emu_order *other, const uint64_t *floors);

/* The entry's stream, if it has just that number, has an older one instead; 0: none. */
void seam__emu_order_lower(struct emu_order *order, struct emu_order_entry entry, uint64_t number);

/* The newest known work of a stream, or 0. */
uint64_t seam__emu_order_get(const struct emu_order *order, uint64_t stream_id);

/* True if every entry of `part` is at or below its device's floor, or known to `order`. */
bool seam__emu_order_covers(const struct emu_order *order, const struct emu_order *part, const uint64_t *floors);

/* Name of a broken invariant, or NULL. */
const char *seam__emu_order_check(const struct emu_order *order);

#endif
