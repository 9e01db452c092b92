/* loose.c: see loose.h. */
#include "loose.h"

#include <string.h>

#include "bits.h"
#include "meta.h"

static void find_until(struct seam_loose *loose)
{
	loose->until = UINT64_MAX;
	for (uint32_t i = 0; i < loose->count; i++)
		loose->until = seam__bits_min(loose->until, loose->entries[i].until);
}

bool seam__loose_reserve(struct seam_loose *loose, struct seam_meta *meta)
{
	if (loose->count < loose->capacity)
		return true;
	const uint32_t capacity = loose->capacity == 0 ? 64 : 2 * loose->capacity;
	const size_t bytes = sizeof(*loose->entries);
	struct seam_loose_entry *larger = seam__meta_resize(meta, loose->entries, loose->capacity * bytes, capacity * bytes);
	if (larger == NULL)
		return false;
	loose->entries = larger;
	loose->capacity = capacity;
	return true;
}

uint32_t seam__loose_behind(const struct seam_loose *loose, uint64_t offset)
{
	uint32_t low = 0, high = loose->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (loose->entries[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t seam__loose_find(const struct seam_loose *loose, uint64_t offset)
{
	const uint32_t at = seam__loose_behind(loose, offset);
	return at < loose->count && loose->entries[at].begin == offset ? at : loose->count;
}

void seam__loose_insert(struct seam_loose *loose, struct seam_loose_entry entry)
{
	const uint32_t at = seam__loose_behind(loose, entry.begin);
	memmove(&loose->entries[at + 1], &loose->entries[at], (loose->count - at) * sizeof(entry));
	loose->entries[at] = entry;
	loose->count++;
	loose->until = seam__bits_min(loose->until, entry.until);
}

void seam__loose_remove(struct seam_loose *loose, uint32_t at)
{
	const uint64_t until = loose->entries[at].until;
	loose->count--;
	memmove(&loose->entries[at], &loose->entries[at + 1], (loose->count - at) * sizeof(*loose->entries));
	if (until == loose->until)
		find_until(loose);
}

void seam__loose_expire(struct seam_loose *loose, struct seam_strays *strays, uint64_t at)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < loose->count; i++) {
		const struct seam_loose_entry *entry = &loose->entries[i];
		if (entry->until > at) {
			loose->entries[kept++] = *entry;
			continue;
		}
		struct seam_loose_block *block = entry->block;
		seam__strays_insert(strays, &block->stray);
		if (block->planned.state == SEAM_PLANNED_LIVE)
			block->planned.state = SEAM_PLANNED_LATE;
	}
	loose->count = kept;
	find_until(loose);
}

const char *seam__loose_check(const struct seam_loose *loose)
{
	uint64_t end = 0, until = UINT64_MAX;
	for (uint32_t i = 0; i < loose->count; i++) {
		const struct seam_loose_entry *entry = &loose->entries[i];
		const struct seam_planned *planned = &entry->block->planned;
		if (entry->begin >= entry->end || entry->begin < end || planned->offset != entry->begin ||
		    planned->offset + planned->bytes != entry->end)
			return "loose: order";
		end = entry->end;
		until = seam__bits_min(until, entry->until);
	}
	return until == loose->until ? NULL : "loose: until";
}
