/* live.c: finds the live block at an address, whoever serves it. */
#include "pool.h"
#include "planned.h"

static struct seam_found of_block(struct seam_block *block)
{
	return (struct seam_found){
		.view = block->view,
		.va = block->va,
		.offset = block->offset,
		.bytes = block->bytes,
		.requested_bytes = block->requested_bytes,
		.tag = block->tag,
		.stream = block->stream,
		.block = block,
	};
}

static struct seam_found of_planned(struct seam_stage *stage, struct seam_planned *planned)
{
	return (struct seam_found){
		.view = stage->arena.view,
		.va = stage->arena.view->va + planned->offset,
		.offset = planned->offset,
		.bytes = planned->bytes,
		.requested_bytes = planned->requested_bytes,
		.tag = planned->tag,
		.stream = planned->stream,
		.planned = planned,
		.stage = stage,
	};
}

bool seam__live_find(struct seam_pool *pool, uint64_t va, struct seam_found *ret_found)
{
	struct seam_stage *stage = seam__stage_at(pool->runtime, va);
	if (stage != NULL) {
		struct seam_planned *planned = seam__matcher_find(stage->matcher, va - stage->arena.view->va);
		if (planned == NULL || planned->requested_bytes == 0)
			return false;
		*ret_found = of_planned(stage, planned);
		return true;
	}
	struct seam_block *block = seam__engine_find(&pool->engine, va);
	if (block != NULL)
		*ret_found = of_block(block);
	return block != NULL;
}

/* An index by range would cost every allocation; who asks holds a pointer into a block, and asks seldom. */
bool seam__live_around(struct seam_pool *pool, uint64_t va, struct seam_found *ret_found)
{
	if (seam__live_find(pool, va, ret_found))
		return true;
	struct seam_stage *stage = seam__stage_at(pool->runtime, va);
	if (stage != NULL) {
		struct seam_planned *planned = seam__matcher_around(stage->matcher, va - stage->arena.view->va);
		if (planned == NULL || planned->requested_bytes == 0)
			return false;
		*ret_found = of_planned(stage, planned);
		return true;
	}
	for (struct seam_block *block = pool->engine.live; block != NULL; block = block->by_va.next) {
		if (va - block->va < block->bytes) {
			*ret_found = of_block(block);
			return true;
		}
	}
	return false;
}
