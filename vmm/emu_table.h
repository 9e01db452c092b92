/* emu_table.h: handles that are never given out twice: a slot's index with its generation, looked up in O(1).
 *
 * Not here: what the handles mean. Guarded by the emulator's lock.
 * Invariant: ET1 every slot is free or holds an object, and count is the number that hold one.
 */
#ifndef SEAM_EMU_TABLE_H
#define SEAM_EMU_TABLE_H

#include <stdint.h>

struct seam_meta;
struct emu_slot;

/* All-zero is an empty table. */
struct emu_table {
	struct emu_slot *slots;
	uint32_t capacity;
	uint32_t count;
	uint32_t used;  /* slots that were ever taken */
	uint32_t freed; /* 1 + index of the newest free slot below `used`, or 0 */
};

void seam__emu_table_fini(struct emu_table *table, struct seam_meta *meta);

/* A handle for `object` (not NULL). 0: no metadata. */
__attribute__((warn_unused_result)) uint64_t seam__emu_table_add(
	struct emu_table *table, struct seam_meta *meta, void *object);
void *seam__emu_table_find(const struct emu_table *table, uint64_t id);  /* NULL: no such handle */
void seam__emu_table_remove(struct emu_table *table, uint64_t id);       /* must exist */
void *seam__emu_table_at(const struct emu_table *table, uint32_t index); /* the object in slot index < used, or NULL */

/* Name of a broken invariant, or NULL. */
const char *seam__emu_table_check(const struct emu_table *table);

#endif
