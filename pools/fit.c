/* fit.c: see fit.h. */
#include "fit.h"

#include "check.h"

SEAM_TREE_GENERATE(seam_fit_tree, seam_block, by_size, seam__fit_compare)

void seam__fit_insert(struct seam_fit *fit, struct seam_block *block)
{
	SEAM_ASSERT(block->is == SEAM_IS_FREE);
	struct seam_block *same = RB_INSERT(seam_fit_tree, &fit->tree, block);
	SEAM_ASSERT(same == NULL);
	(void)same;
	fit->count++;
	fit->bytes += block->bytes;
}

void seam__fit_remove(struct seam_fit *fit, struct seam_block *block)
{
	RB_REMOVE(seam_fit_tree, &fit->tree, block);
	fit->count--;
	fit->bytes -= block->bytes;
}

struct seam_block *seam__fit_find(struct seam_fit *fit, uint64_t bytes)
{
	/* Not RB_NFIND: its key would be a whole block with a view; sizes alone decide here, and equal sizes lean to the first. */
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
		if (seam__fit_compare(at, key) > 0) {
			best = at;
			at = RB_LEFT(at, by_size);
		} else {
			at = RB_RIGHT(at, by_size);
		}
	}
	return best;
}

const char *seam__fit_check(struct seam_fit *fit)
{
	uint64_t count = 0, bytes = 0;
	struct seam_block *block, *last = NULL;
	RB_FOREACH(block, seam_fit_tree, &fit->tree) {
		if (block->is != SEAM_IS_FREE)
			return "F1: a block in the tree is not free";
		if (last != NULL && seam__fit_compare(last, block) >= 0)
			return "F1: the tree is out of order";
		last = block;
		count++;
		bytes += block->bytes;
	}
	return count == fit->count && bytes == fit->bytes ? NULL : "F2: count or bytes";
}
