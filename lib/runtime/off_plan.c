/* off_plan.c: see off_plan.h. */
#include "off_plan.h"

#include <string.h>

#include "bits.h"
#include "meta.h"

static void note_until(struct seam_off_plan *off_plan, uint64_t until)
{
	if (until > off_plan->until)
		return;
	off_plan->at_until = until == off_plan->until ? off_plan->at_until + 1 : 1;
	off_plan->until = until;
}

static void find_until(struct seam_off_plan *off_plan)
{
	off_plan->until = UINT64_MAX;
	off_plan->at_until = 0;
	for (uint32_t i = 0; i < off_plan->count; i++)
		note_until(off_plan, off_plan->entries[i].until);
}

bool seam__off_plan_reserve(struct seam_off_plan *off_plan, struct seam_meta *meta)
{
	if (off_plan->count < off_plan->capacity)
		return true;
	const uint32_t capacity = off_plan->capacity == 0 ? 64 : 2 * off_plan->capacity;
	const size_t bytes = sizeof(*off_plan->entries), run_bytes = sizeof(*off_plan->runs);
	if (off_plan->run_capacity < capacity) {
		struct seam_off_plan_run *runs = seam__meta_resize(
			meta, off_plan->runs, off_plan->run_capacity * run_bytes, capacity * run_bytes);
		if (runs == NULL)
			return false;
		off_plan->runs = runs;
		off_plan->run_capacity = capacity;
	}
	struct seam_off_plan_entry *larger =
		seam__meta_resize(meta, off_plan->entries, off_plan->capacity * bytes, capacity * bytes);
	if (larger == NULL)
		return false;
	off_plan->entries = larger;
	off_plan->capacity = capacity;
	return true;
}

void seam__off_plan_fini(struct seam_off_plan *off_plan, struct seam_meta *meta)
{
	seam__meta_free(meta, off_plan->entries, off_plan->capacity * sizeof(*off_plan->entries));
	seam__meta_free(meta, off_plan->runs, off_plan->run_capacity * sizeof(*off_plan->runs));
}

uint32_t seam__off_plan_behind(const struct seam_off_plan *off_plan, uint64_t offset)
{
	/* [low, low + count] has it; nobody can foretell which half, so there is no branch. */
	const struct seam_off_plan_entry *low = off_plan->entries;
	for (uint32_t count = off_plan->count, half; count != 0; count -= half) {
		half = (count + 1) / 2;
		low = low[half - 1].end <= offset ? low + half : low;
	}
	return (uint32_t)(low - off_plan->entries);
}

uint32_t seam__off_plan_run_behind(const struct seam_off_plan *off_plan, uint64_t offset)
{
	const struct seam_off_plan_run *low = off_plan->runs;
	for (uint32_t count = off_plan->run_count, half; count != 0; count -= half) {
		half = (count + 1) / 2;
		low = low[half - 1].end <= offset ? low + half : low;
	}
	return (uint32_t)(low - off_plan->runs);
}

static void open_run(struct seam_off_plan *off_plan, uint32_t at)
{
	memmove(&off_plan->runs[at + 1], &off_plan->runs[at], (off_plan->run_count - at) * sizeof(*off_plan->runs));
	off_plan->run_count++;
}

static void close_run(struct seam_off_plan *off_plan, uint32_t at)
{
	off_plan->run_count--;
	memmove(&off_plan->runs[at], &off_plan->runs[at + 1], (off_plan->run_count - at) * sizeof(*off_plan->runs));
}

/* [begin, end) is taken, and was not. There is room, for no run is without a block. */
static void take(struct seam_off_plan *off_plan, uint64_t begin, uint64_t end)
{
	const uint32_t at = seam__off_plan_run_behind(off_plan, begin);
	struct seam_off_plan_run *const next = &off_plan->runs[at];
	const bool joins_low = at > 0 && next[-1].end == begin,
		   joins_high = at < off_plan->run_count && next->begin == end;
	if (joins_low)
		next[-1].end = joins_high ? next->end : end;
	else if (joins_high)
		next->begin = begin;
	if (joins_low && joins_high) {
		close_run(off_plan, at);
	} else if (!joins_low && !joins_high) {
		open_run(off_plan, at);
		*next = (struct seam_off_plan_run){begin, end};
	}
}

/* [begin, end) is free, and was all taken. */
static void give_back(struct seam_off_plan *off_plan, uint64_t begin, uint64_t end)
{
	const uint32_t at = seam__off_plan_run_behind(off_plan, begin);
	struct seam_off_plan_run *const run = &off_plan->runs[at];
	const bool low_stays = run->begin<begin, high_stays = run->end> end;
	if (low_stays && high_stays) {
		open_run(off_plan, at);
		run[0].end = begin;
		run[1].begin = end;
	} else if (low_stays) {
		run->end = begin;
	} else if (high_stays) {
		run->begin = end;
	} else {
		close_run(off_plan, at);
	}
}

uint32_t seam__off_plan_find(const struct seam_off_plan *off_plan, uint64_t offset)
{
	const uint32_t at = seam__off_plan_behind(off_plan, offset);
	return at < off_plan->count && off_plan->entries[at].begin == offset ? at : off_plan->count;
}

void seam__off_plan_insert(struct seam_off_plan *off_plan, struct seam_off_plan_entry entry)
{
	const uint32_t at = seam__off_plan_behind(off_plan, entry.begin);
	memmove(&off_plan->entries[at + 1], &off_plan->entries[at], (off_plan->count - at) * sizeof(entry));
	off_plan->entries[at] = entry;
	off_plan->count++;
	take(off_plan, entry.begin, entry.end);
	note_until(off_plan, entry.until);
}

void seam__off_plan_remove(struct seam_off_plan *off_plan, uint32_t at)
{
	const uint64_t until = off_plan->entries[at].until;
	give_back(off_plan, off_plan->entries[at].begin, off_plan->entries[at].end);
	off_plan->count--;
	memmove(&off_plan->entries[at], &off_plan->entries[at + 1],
		(off_plan->count - at) * sizeof(*off_plan->entries));
	if (until == off_plan->until && --off_plan->at_until == 0)
		find_until(off_plan);
}

void seam__off_plan_expire(struct seam_off_plan *off_plan, struct seam_overdue *overdue, uint64_t at)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < off_plan->count; i++) {
		const struct seam_off_plan_entry *entry = &off_plan->entries[i];
		if (entry->until > at) {
			off_plan->entries[kept++] = *entry;
			continue;
		}
		struct seam_off_plan_block *block = entry->block;
		give_back(off_plan, entry->begin, entry->end);
		seam__overdue_insert(overdue, &block->overdue_block);
		if (block->plan_block.state == SEAM_PLANNED_LIVE)
			block->plan_block.state = SEAM_PLANNED_LATE;
	}
	off_plan->count = kept;
	find_until(off_plan);
}

/* Whether runs are what the entries say. */
static bool are_runs_right(const struct seam_off_plan *off_plan)
{
	uint32_t runs = 0;
	for (uint32_t i = 0; i < off_plan->count; i++) {
		const struct seam_off_plan_entry *entry = &off_plan->entries[i];
		if (runs == off_plan->run_count || off_plan->runs[runs].begin != entry->begin)
			return false;
		while (++i < off_plan->count && off_plan->entries[i].begin == off_plan->entries[i - 1].end)
			;
		if (off_plan->runs[runs++].end != off_plan->entries[--i].end)
			return false;
	}
	return runs == off_plan->run_count && off_plan->run_capacity >= off_plan->capacity;
}

const char *seam__off_plan_check(const struct seam_off_plan *off_plan)
{
	uint64_t end = 0, until = UINT64_MAX;
	uint32_t at_until = 0;
	for (uint32_t i = 0; i < off_plan->count; i++) {
		const struct seam_off_plan_entry *entry = &off_plan->entries[i];
		const struct seam_plan_block *plan_block = &entry->block->plan_block;
		if (entry->begin >= entry->end || entry->begin < end || plan_block->offset != entry->begin ||
			plan_block->offset + plan_block->bytes != entry->end)
			return "off-plan: order";
		end = entry->end;
		at_until = entry->until < until ? 1 : at_until + (entry->until == until);
		until = seam__bits_min(until, entry->until);
	}
	if (until != off_plan->until || at_until != off_plan->at_until)
		return "off-plan: until";
	return are_runs_right(off_plan) ? NULL : "off-plan: runs";
}
