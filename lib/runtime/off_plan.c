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

static struct seam_off_plan_block *block_of(struct seam_overdue_block *node)
{
	return (struct seam_off_plan_block *)node; /* its first member */
}

static void find_until(struct seam_off_plan *off_plan)
{
	off_plan->until = UINT64_MAX;
	off_plan->at_until = 0;
	struct seam_overdue_block *node = seam__overdue_first(&off_plan->blocks);
	for (; node != NULL; node = seam__overdue_next(node))
		note_until(off_plan, block_of(node)->until);
}

/* A block is at most one run more, whether it comes or goes. */
bool seam__off_plan_reserve(struct seam_off_plan *off_plan, struct seam_meta *meta)
{
	if (off_plan->blocks.count < off_plan->run_capacity)
		return true;
	const uint32_t capacity = off_plan->run_capacity == 0 ? 64 : 2 * off_plan->run_capacity;
	struct seam_off_plan_run *runs = seam__meta_resize(
		meta, off_plan->runs, off_plan->run_capacity * sizeof(*runs), capacity * sizeof(*runs));
	if (runs == NULL)
		return false;
	off_plan->runs = runs;
	off_plan->run_capacity = capacity;
	return true;
}

void seam__off_plan_fini(struct seam_off_plan *off_plan, struct seam_meta *meta)
{
	seam__meta_free(meta, off_plan->runs, off_plan->run_capacity * sizeof(*off_plan->runs));
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

struct seam_off_plan_block *seam__off_plan_find(const struct seam_off_plan *off_plan, uint64_t offset)
{
	return block_of(seam__overdue_find(&off_plan->blocks, offset));
}

void seam__off_plan_insert(struct seam_off_plan *off_plan, struct seam_off_plan_block *block)
{
	seam__overdue_insert(&off_plan->blocks, &block->node);
	take(off_plan, block->node.begin, block->node.end);
	note_until(off_plan, block->until);
}

static void leave(struct seam_off_plan *off_plan, struct seam_off_plan_block *block)
{
	seam__overdue_remove(&off_plan->blocks, &block->node);
	give_back(off_plan, block->node.begin, block->node.end);
}

void seam__off_plan_remove(struct seam_off_plan *off_plan, struct seam_off_plan_block *block)
{
	leave(off_plan, block);
	if (block->until == off_plan->until && --off_plan->at_until == 0)
		find_until(off_plan);
}

void seam__off_plan_expire(struct seam_off_plan *off_plan, struct seam_overdue *overdue, uint64_t at)
{
	struct seam_overdue_block *next;
	for (struct seam_overdue_block *node = seam__overdue_first(&off_plan->blocks); node != NULL; node = next) {
		struct seam_off_plan_block *block = block_of(node);
		next = seam__overdue_next(node);
		if (block->until > at)
			continue;
		leave(off_plan, block);
		seam__overdue_insert(overdue, node);
		block->plan_block.state = SEAM_PLANNED_LATE;
	}
	find_until(off_plan);
}

/* Whether runs are what the blocks say. */
static bool are_runs_right(const struct seam_off_plan *off_plan)
{
	struct seam_overdue_block *node = seam__overdue_first(&off_plan->blocks);
	for (uint32_t run = 0; run < off_plan->run_count; run++) {
		uint64_t at = off_plan->runs[run].begin;
		if (node == NULL || node->begin != at || (run != 0 && off_plan->runs[run - 1].end == at))
			return false;
		for (; node != NULL && node->begin == at; node = seam__overdue_next(node))
			at = node->end;
		if (off_plan->runs[run].end != at)
			return false;
	}
	return node == NULL && off_plan->run_capacity >= off_plan->blocks.count;
}

const char *seam__off_plan_check(const struct seam_off_plan *off_plan)
{
	uint64_t until = UINT64_MAX, at_until = 0;
	if (seam__overdue_check(&off_plan->blocks) != NULL)
		return "off-plan: order";
	struct seam_overdue_block *node = seam__overdue_first(&off_plan->blocks);
	for (; node != NULL; node = seam__overdue_next(node)) {
		const struct seam_off_plan_block *block = block_of(node);
		if (node->plan_block != &block->plan_block || block->plan_block.offset != node->begin ||
			block->plan_block.offset + block->plan_block.bytes != node->end)
			return "off-plan: order";
		at_until = block->until < until ? 1 : at_until + (block->until == until);
		until = seam__bits_min(until, block->until);
	}
	if (until != off_plan->until || at_until != off_plan->at_until)
		return "off-plan: until";
	return are_runs_right(off_plan) ? NULL : "off-plan: runs";
}
