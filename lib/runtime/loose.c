/* loose.c: see loose.h. */
#include "loose.h"

#include <string.h>

#include "bits.h"
#include "meta.h"

static void note_until(struct seam_loose *loose, uint64_t until)
{
	if (until > loose->until)
		return;
	loose->at_until = until == loose->until ? loose->at_until + 1 : 1;
	loose->until = until;
}

static void find_until(struct seam_loose *loose)
{
	loose->until = UINT64_MAX;
	loose->at_until = 0;
	for (uint32_t i = 0; i < loose->count; i++)
		note_until(loose, loose->entries[i].until);
}

bool seam__loose_reserve(struct seam_loose *loose, struct seam_meta *meta)
{
	if (loose->count < loose->capacity)
		return true;
	const uint32_t capacity = loose->capacity == 0 ? 64 : 2 * loose->capacity;
	const size_t bytes = sizeof(*loose->entries), run_bytes = sizeof(*loose->runs);
	if (loose->run_capacity < capacity) {
		struct seam_loose_run *runs =
			seam__meta_resize(meta, loose->runs, loose->run_capacity * run_bytes, capacity * run_bytes);
		if (runs == NULL)
			return false;
		loose->runs = runs;
		loose->run_capacity = capacity;
	}
	struct seam_loose_entry *larger =
		seam__meta_resize(meta, loose->entries, loose->capacity * bytes, capacity * bytes);
	if (larger == NULL)
		return false;
	loose->entries = larger;
	loose->capacity = capacity;
	return true;
}

void seam__loose_fini(struct seam_loose *loose, struct seam_meta *meta)
{
	seam__meta_free(meta, loose->entries, loose->capacity * sizeof(*loose->entries));
	seam__meta_free(meta, loose->runs, loose->run_capacity * sizeof(*loose->runs));
}

uint32_t seam__loose_behind(const struct seam_loose *loose, uint64_t offset)
{
	/* [low, low + count] has it; nobody can foretell which half, so there is no branch. */
	const struct seam_loose_entry *low = loose->entries;
	for (uint32_t count = loose->count, half; count != 0; count -= half) {
		half = (count + 1) / 2;
		low = low[half - 1].end <= offset ? low + half : low;
	}
	return (uint32_t)(low - loose->entries);
}

uint32_t seam__loose_run_behind(const struct seam_loose *loose, uint64_t offset)
{
	const struct seam_loose_run *low = loose->runs;
	for (uint32_t count = loose->run_count, half; count != 0; count -= half) {
		half = (count + 1) / 2;
		low = low[half - 1].end <= offset ? low + half : low;
	}
	return (uint32_t)(low - loose->runs);
}

static void open_run(struct seam_loose *loose, uint32_t at)
{
	memmove(&loose->runs[at + 1], &loose->runs[at], (loose->run_count - at) * sizeof(*loose->runs));
	loose->run_count++;
}

static void close_run(struct seam_loose *loose, uint32_t at)
{
	loose->run_count--;
	memmove(&loose->runs[at], &loose->runs[at + 1], (loose->run_count - at) * sizeof(*loose->runs));
}

/* [begin, end) is taken, and was not. There is room, for no run is without a block. */
static void take(struct seam_loose *loose, uint64_t begin, uint64_t end)
{
	const uint32_t at = seam__loose_run_behind(loose, begin);
	struct seam_loose_run *const next = &loose->runs[at];
	const bool joins_low = at > 0 && next[-1].end == begin,
		   joins_high = at < loose->run_count && next->begin == end;
	if (joins_low)
		next[-1].end = joins_high ? next->end : end;
	else if (joins_high)
		next->begin = begin;
	if (joins_low && joins_high) {
		close_run(loose, at);
	} else if (!joins_low && !joins_high) {
		open_run(loose, at);
		*next = (struct seam_loose_run){begin, end};
	}
}

/* [begin, end) is free, and was all taken. */
static void give_back(struct seam_loose *loose, uint64_t begin, uint64_t end)
{
	const uint32_t at = seam__loose_run_behind(loose, begin);
	struct seam_loose_run *const run = &loose->runs[at];
	const bool low_stays = run->begin<begin, high_stays = run->end> end;
	if (low_stays && high_stays) {
		open_run(loose, at);
		run[0].end = begin;
		run[1].begin = end;
	} else if (low_stays) {
		run->end = begin;
	} else if (high_stays) {
		run->begin = end;
	} else {
		close_run(loose, at);
	}
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
	take(loose, entry.begin, entry.end);
	note_until(loose, entry.until);
}

void seam__loose_remove(struct seam_loose *loose, uint32_t at)
{
	const uint64_t until = loose->entries[at].until;
	give_back(loose, loose->entries[at].begin, loose->entries[at].end);
	loose->count--;
	memmove(&loose->entries[at], &loose->entries[at + 1], (loose->count - at) * sizeof(*loose->entries));
	if (until == loose->until && --loose->at_until == 0)
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
		give_back(loose, entry->begin, entry->end);
		seam__strays_insert(strays, &block->stray);
		if (block->planned.state == SEAM_PLANNED_LIVE)
			block->planned.state = SEAM_PLANNED_LATE;
	}
	loose->count = kept;
	find_until(loose);
}

/* Whether runs are what the entries say. */
static bool are_runs_right(const struct seam_loose *loose)
{
	uint32_t runs = 0;
	for (uint32_t i = 0; i < loose->count; i++) {
		const struct seam_loose_entry *entry = &loose->entries[i];
		if (runs == loose->run_count || loose->runs[runs].begin != entry->begin)
			return false;
		while (++i < loose->count && loose->entries[i].begin == loose->entries[i - 1].end)
			;
		if (loose->runs[runs++].end != loose->entries[--i].end)
			return false;
	}
	return runs == loose->run_count && loose->run_capacity >= loose->capacity;
}

const char *seam__loose_check(const struct seam_loose *loose)
{
	uint64_t end = 0, until = UINT64_MAX;
	uint32_t at_until = 0;
	for (uint32_t i = 0; i < loose->count; i++) {
		const struct seam_loose_entry *entry = &loose->entries[i];
		const struct seam_planned *planned = &entry->block->planned;
		if (entry->begin >= entry->end || entry->begin < end || planned->offset != entry->begin ||
			planned->offset + planned->bytes != entry->end)
			return "loose: order";
		end = entry->end;
		at_until = entry->until < until ? 1 : at_until + (entry->until == until);
		until = seam__bits_min(until, entry->until);
	}
	if (until != loose->until || at_until != loose->at_until)
		return "loose: until";
	return are_runs_right(loose) ? NULL : "loose: runs";
}
