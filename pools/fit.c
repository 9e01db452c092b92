/* fit.c: see fit.h. */
#include "fit.h"

#include "check.h"

SEAM_TREE_GENERATE(seam_fit_tree, seam_block, by_size, seam__block_compare)

void seam__fit_look(struct seam_fit *fit, struct seam_block *block)
{
	if (block->fresh == 0)
		return;
	fit->fresh[block->fresh - 1] = NULL;
	block->fresh = 0;
	if (seam__extent_measure(block))
		seam__extents_insert(&fit->extents, block);
}

void seam__fit_index(struct seam_fit *fit)
{
	for (uint32_t i = 0; i < SEAM_FIT_FRESH; i++) {
		if (fit->fresh[i] != NULL)
			seam__fit_look(fit, fit->fresh[i]);
	}
}

static void keep_fresh(struct seam_fit *fit, struct seam_block *block)
{
	uint32_t place = fit->fresh_next;
	if (fit->fresh[place] != NULL)
		seam__fit_look(fit, fit->fresh[place]);
	fit->fresh[place] = block;
	block->fresh = (uint8_t)(place + 1);
	fit->fresh_next = (place + 1) % SEAM_FIT_FRESH;
}

void seam__fit_insert(struct seam_fit *fit, struct seam_block *block)
{
	SEAM_ASSERT(block->is == SEAM_IS_FREE && block->fresh == 0 && !block->at_border);
	struct seam_block *same = RB_INSERT(seam_fit_tree, &fit->tree, block);
	SEAM_ASSERT(same == NULL);
	(void)same;
	fit->count++;
	fit->bytes += block->bytes;
	block->slot_count = 0;
	if (seam__extent_may_be(block))
		keep_fresh(fit, block);
}

void seam__fit_remove(struct seam_fit *fit, struct seam_block *block)
{
	RB_REMOVE(seam_fit_tree, &fit->tree, block);
	fit->count--;
	fit->bytes -= block->bytes;
	if (block->slot_count != 0)
		seam__extents_remove(&fit->extents, block);
	if (block->fresh != 0)
		fit->fresh[block->fresh - 1] = NULL;
	block->fresh = 0;
	if (block->at_border)
		TAILQ_REMOVE(&fit->borders, block, border);
	block->at_border = false;
}

struct seam_block *seam__fit_find(struct seam_fit *fit, uint64_t bytes)
{
	/* Not RB_NFIND: its key would be a whole block with a view; sizes alone decide here, and equal sizes lean to
	 * the first. */
	struct seam_block *at = RB_ROOT(&fit->tree), *best = NULL;
	while (at != NULL) {
		if (at->bytes >= bytes) {
			best = at;
			at = RB_LEFT(at, by_size);
		} else {
			at = RB_RIGHT(at, by_size);
		}
	}
	return best;
}

uint64_t seam__fit_largest(struct seam_fit *fit)
{
	const struct seam_block *block = RB_MAX(seam_fit_tree, &fit->tree);
	return block != NULL ? block->bytes : 0;
}

struct seam_block *seam__fit_next(struct seam_fit *fit, struct seam_block *block)
{
	return block == NULL ? RB_MIN(seam_fit_tree, &fit->tree) : RB_NEXT(seam_fit_tree, &fit->tree, block);
}

struct seam_block *seam__fit_behind(struct seam_fit *fit, const struct seam_block *key)
{
	struct seam_block *at = RB_ROOT(&fit->tree), *best = NULL;
	while (at != NULL) {
		if (seam__block_compare(at, key) > 0) {
			best = at;
			at = RB_LEFT(at, by_size);
		} else {
			at = RB_RIGHT(at, by_size);
		}
	}
	return best;
}

static const char *check_places(const struct seam_fit *fit)
{
	for (uint32_t i = 0; i < SEAM_FIT_FRESH; i++) {
		if (fit->fresh[i] != NULL && fit->fresh[i]->fresh != i + 1)
			return "F3: a fresh block is not where it says";
	}
	return NULL;
}

static const char *check_kind(const struct seam_fit *fit, const struct seam_block *block)
{
	uint32_t first = 0;
	if (block->fresh != 0)
		return fit->fresh[block->fresh - 1] == block ? NULL : "F3: a fresh block is not where it says";
	bool whole = seam__extent_may_be(block) && seam__block_whole_slots(block, &first) != 0;
	return whole == (block->slot_count != 0) ? NULL : "F3: a block with a whole chunk is no extent";
}

const char *seam__fit_check(struct seam_fit *fit)
{
	uint64_t count = 0, bytes = 0, extents = 0;
	struct seam_block *block, *last = NULL;
	RB_FOREACH(block, seam_fit_tree, &fit->tree)
	{
		if (block->is != SEAM_IS_FREE)
			return "F1: a block in the tree is not free";
		if (last != NULL && seam__block_compare(last, block) >= 0)
			return "F1: the tree is out of order";
		const char *broken = check_kind(fit, block);
		if (broken != NULL)
			return broken;
		last = block;
		count++;
		bytes += block->bytes;
		extents += block->slot_count != 0;
	}
	if (count != fit->count || bytes != fit->bytes)
		return "F2: count or bytes";
	if (extents != fit->extents.count)
		return "F3: count of extents";
	const char *broken = check_places(fit);
	return broken != NULL ? broken : seam__extents_check(&fit->extents);
}
