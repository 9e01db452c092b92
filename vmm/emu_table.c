/* emu_table.c: handles by slot and generation; see emu_table.h. */
#include "emu_table.h"

#include "check.h"
#include "meta.h"

struct emu_slot {
	void *object;        /* NULL: free */
	uint32_t generation; /* grows at every removal */
	uint32_t next_free;  /* valid while free */
};

void seam__emu_table_fini(struct emu_table *table, struct seam_meta *meta)
{
	seam__meta_free(meta, table->slots, table->capacity * sizeof(table->slots[0]));
	*table = (struct emu_table){0};
}

uint64_t seam__emu_table_add(struct emu_table *table, struct seam_meta *meta, void *object)
{
	uint32_t index;
	if (table->freed != 0) {
		index = table->freed - 1;
		table->freed = table->slots[index].next_free;
	} else {
		if (table->used == table->capacity) {
			uint32_t capacity = table->capacity == 0 ? 64 : table->capacity * 2;
			void *grown = seam__meta_resize(meta, table->slots, table->capacity * sizeof(table->slots[0]),
				capacity * sizeof(table->slots[0]));
			if (grown == NULL)
				return 0;
			table->slots = grown;
			table->capacity = capacity;
		}
		index = table->used++;
	}
	table->slots[index].object = object;
	table->count++;
	return (uint64_t)table->slots[index].generation << 32 | (index + 1);
}

static struct emu_slot *find_slot(const struct emu_table *table, uint64_t id)
{
	uint32_t index = (uint32_t)id - 1; /* 0 becomes the largest */
	if (index >= table->used)
		return NULL;
	struct emu_slot *slot = &table->slots[index];
	return slot->object != NULL && slot->generation == id >> 32 ? slot : NULL;
}

void *seam__emu_table_find(const struct emu_table *table, uint64_t id)
{
	const struct emu_slot *slot = find_slot(table, id);
	return slot != NULL ? slot->object : NULL;
}

void *seam__emu_table_at(const struct emu_table *table, uint32_t index)
{
	SEAM_ASSERT(index < table->used);
	return table->slots[index].object;
}

void seam__emu_table_remove(struct emu_table *table, uint64_t id)
{
	struct emu_slot *slot = find_slot(table, id);
	SEAM_VERIFY(slot != NULL);
	slot->object = NULL;
	slot->generation++;
	slot->next_free = table->freed;
	table->freed = (uint32_t)id;
	table->count--;
}

const char *seam__emu_table_check(const struct emu_table *table)
{
	uint32_t held = 0;
	uint32_t freed = 0;
	for (uint32_t i = 0; i < table->used; i++)
		held += table->slots[i].object != NULL;
	for (uint32_t at = table->freed; at != 0 && freed <= table->used; at = table->slots[at - 1].next_free)
		freed++;
	return held != table->count || held + freed != table->used ? "ET1 every slot is free or holds an object" : NULL;
}
