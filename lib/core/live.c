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

static struct seam_found of_planned(struct seam_active_plan *active, struct seam_plan_block *plan_block)
{
	return (struct seam_found){
		.view = active->arena.view,
		.va = active->arena.view->va + plan_block->offset,
		.offset = plan_block->offset,
		.bytes = plan_block->bytes,
		.requested_bytes = plan_block->requested_bytes,
		.tag = plan_block->tag,
		.stream = plan_block->stream,
		.plan_block = plan_block,
		.active = active,
	};
}

bool seam__live_find(struct seam_pool *pool, uint64_t va, struct seam_found *ret_found)
{
	struct seam_active_plan *active = seam__active_at(pool->runtime, va);
	if (active != NULL) {
		struct seam_plan_block *plan_block = seam__matcher_find(active->matcher, va - active->arena.view->va);
		if (plan_block == NULL || plan_block->requested_bytes == 0)
			return false;
		*ret_found = of_planned(active, plan_block);
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
	struct seam_active_plan *active = seam__active_at(pool->runtime, va);
	if (active != NULL) {
		struct seam_plan_block *plan_block = seam__matcher_around(active->matcher, va - active->arena.view->va);
		if (plan_block == NULL || plan_block->requested_bytes == 0)
			return false;
		*ret_found = of_planned(active, plan_block);
		return true;
	}
	uint64_t at = 0;
	struct seam_block *block;
	while ((block = seam__live_next(&pool->engine.live, &at)) != NULL) {
		if (va - block->va < block->bytes) {
			*ret_found = of_block(block);
			return true;
		}
	}
	return false;
}
