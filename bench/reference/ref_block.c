/* ref_block.c: blocks, their neighbours, and the ordered sets of free ones. */
#include "ref_block.h"

#include "bits.h"
#include "check.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_free(const struct ref_block *a, const struct ref_block *b)
{
	int order = compare_u64(a->stream, b->stream);
	if (order == 0)
		order = compare_u64(a->bytes, b->bytes);
	return order != 0 ? order : compare_u64(a->va, b->va);
}

static int compare_unmapped(const struct ref_block *a, const struct ref_block *b)
{
	int order = compare_u64(a->stream, b->stream);
	return order != 0 ? order : compare_u64(a->va, b->va);
}

SEAM_TREE_GENERATE(ref_free_set, ref_block, by_order, compare_free)
SEAM_TREE_GENERATE(ref_unmapped_set, ref_block, by_order, compare_unmapped)

void ref_blocks_init(struct ref_blocks *blocks, struct seam_meta *meta)
{
	*blocks = (struct ref_blocks){.meta = meta};
	seam__slab_init(&blocks->slab, meta, sizeof(struct ref_block));
	seam__slab_init(&blocks->use_slab, meta, sizeof(struct ref_use));
}

void ref_blocks_fini(struct ref_blocks *blocks)
{
	struct seam_meta *hash_meta = blocks->meta;
	HASH_CLEAR(by_va, blocks->live);
	(void)seam__slab_fini(&blocks->slab);
	(void)seam__slab_fini(&blocks->use_slab);
}

struct ref_block *ref_block_create(struct ref_blocks *blocks, uint64_t va, uint64_t bytes)
{
	struct ref_block *block = seam__slab_get(&blocks->slab);
	if (block != NULL)
		*block = (struct ref_block){.va = va, .bytes = bytes, .mapped = true};
	return block;
}

static void forget_uses(struct ref_blocks *blocks, struct ref_block *block)
{
	while (block->uses != NULL) {
		struct ref_use *use = block->uses;
		block->uses = use->next;
		seam__slab_put(&blocks->use_slab, use);
	}
}

void ref_block_delete(struct ref_blocks *blocks, struct ref_block *block)
{
	forget_uses(blocks, block);
	seam__slab_put(&blocks->slab, block);
}

enum seam_rc ref_blocks_add_live(struct ref_blocks *blocks, struct ref_block *block)
{
	struct seam_meta *hash_meta = blocks->meta;
	bool hash_failed = false;
	HASH_ADD(by_va, blocks->live, va, sizeof(block->va), block);
	return hash_failed ? SEAM_OOM_META : SEAM_OK;
}

void ref_blocks_remove_live(struct ref_blocks *blocks, struct ref_block *block)
{
	struct seam_meta *hash_meta = blocks->meta;
	HASH_DELETE(by_va, blocks->live, block);
}

struct ref_block *ref_blocks_find_live(const struct ref_blocks *blocks, uint64_t va)
{
	struct ref_block *block;
	HASH_FIND(by_va, blocks->live, &va, sizeof(va), block);
	return block;
}

enum seam_rc ref_block_use(struct ref_blocks *blocks, struct ref_block *block, uint64_t stream)
{
	for (const struct ref_use *use = block->uses; use != NULL; use = use->next)
		if (use->stream == stream)
			return SEAM_OK;
	struct ref_use *use = seam__slab_get(&blocks->use_slab);
	if (use == NULL)
		return SEAM_OOM_META;
	*use = (struct ref_use){.next = block->uses, .stream = stream};
	block->uses = use;
	return SEAM_OK;
}

struct ref_block *ref_block_cut(struct ref_blocks *blocks, struct ref_block *block, uint64_t bytes)
{
	SEAM_ASSERT(bytes < block->bytes);
	struct ref_block *front = ref_block_create(blocks, block->va, bytes);
	if (front == NULL)
		return NULL;
	front->pool = block->pool;
	front->range = block->range;
	front->stream = block->stream;
	front->mapped = block->mapped;
	front->prev = block->prev;
	front->next = block;
	if (front->prev != NULL)
		front->prev->next = front;
	block->prev = front;
	block->va += bytes;
	block->bytes -= bytes;
	return front;
}

static bool can_merge(const struct ref_block *block, const struct ref_block *neighbour)
{
	return neighbour != NULL && ref_block_is_usable(neighbour) && neighbour->mapped == block->mapped;
}

void ref_pool_merge(struct ref_blocks *blocks, struct ref_block *block)
{
	struct ref_block *next = block->next;
	if (can_merge(block, next)) {
		ref_pool_remove(next);
		block->bytes += next->bytes;
		block->next = next->next;
		if (block->next != NULL)
			block->next->prev = block;
		ref_block_delete(blocks, next);
	}
	struct ref_block *prev = block->prev;
	if (can_merge(block, prev)) {
		ref_pool_remove(prev);
		block->va = prev->va;
		block->bytes += prev->bytes;
		block->prev = prev->prev;
		if (block->prev != NULL)
			block->prev->next = block;
		ref_block_delete(blocks, prev);
	}
}

void ref_pool_insert(struct ref_blocks *blocks, struct ref_block *block)
{
	ref_pool_merge(blocks, block);
	if (block->mapped)
		RB_INSERT(ref_free_set, &block->pool->free, block);
	else
		RB_INSERT(ref_unmapped_set, &block->pool->unmapped, block);
}

void ref_pool_remove(struct ref_block *block)
{
	if (block->mapped)
		RB_REMOVE(ref_free_set, &block->pool->free, block);
	else
		RB_REMOVE(ref_unmapped_set, &block->pool->unmapped, block);
}

static struct ref_block *same_stream(struct ref_block *block, uint64_t stream)
{
	return block != NULL && block->stream == stream ? block : NULL;
}

struct ref_block *ref_pool_find(struct ref_pool *pool, uint64_t stream, uint64_t bytes)
{
	struct ref_block wanted = {.stream = stream, .bytes = bytes};
	return same_stream(RB_NFIND(ref_free_set, &pool->free, &wanted), stream);
}

struct ref_block *ref_pool_find_next(struct ref_block *block)
{
	return same_stream(RB_NEXT(ref_free_set, &block->pool->free, block), block->stream);
}

struct ref_block *ref_pool_unmapped(struct ref_pool *pool, uint64_t stream)
{
	struct ref_block wanted = {.stream = stream};
	return same_stream(RB_NFIND(ref_unmapped_set, &pool->unmapped, &wanted), stream);
}

struct ref_block *ref_pool_unmapped_next(struct ref_block *block)
{
	return same_stream(RB_NEXT(ref_unmapped_set, &block->pool->unmapped, block), block->stream);
}

struct ref_block *ref_pool_first(struct ref_pool *pool)
{
	return RB_MIN(ref_free_set, &pool->free);
}

struct ref_block *ref_pool_after(struct ref_block *block)
{
	return RB_NEXT(ref_free_set, &block->pool->free, block);
}

/* RB1 to RB3 for one block. */
static const char *check_block(const struct ref_block *block)
{
	const struct ref_block *next = block->next;
	if (block->prev != NULL && block->prev->next != block)
		return "RB1 neighbours point at each other";
	if (next != NULL &&
		(next->prev != block || next->va != block->va + block->bytes || next->range != block->range ||
			next->pool != block->pool || next->stream != block->stream))
		return "RB1 neighbours touch and belong together";
	if (ref_block_is_usable(block) && can_merge(block, next))
		return "RB2 free neighbours are merged";
	if (block->bytes == 0 || !seam__bits_is_aligned(block->bytes, REF_BLOCK_BYTES))
		return "RB3 sizes are multiples of 512";
	return NULL;
}

const char *ref_pool_check(const struct ref_pool *pool)
{
	struct ref_pool *sets = (struct ref_pool *)(uintptr_t)pool; /* the tree macros take no const */
	const char *broken = NULL;
	struct ref_block *block;
	RB_FOREACH(block, ref_free_set, &sets->free)
	{
		if (broken == NULL && (block->pool != pool || !block->mapped || !ref_block_is_usable(block)))
			broken = "RB4 the free set holds free, mapped blocks";
		if (broken == NULL)
			broken = check_block(block);
	}
	RB_FOREACH(block, ref_unmapped_set, &sets->unmapped)
	{
		if (broken == NULL &&
			(block->pool != pool || block->mapped || block->range == NULL || !ref_block_is_usable(block)))
			broken = "RB4 the unmapped set holds unmapped blocks of ranges";
		if (broken == NULL)
			broken = check_block(block);
	}
	return broken;
}

const char *ref_blocks_check(const struct ref_blocks *blocks)
{
	for (const struct ref_block *block = blocks->live; block != NULL; block = block->by_va.next) {
		if (!block->allocated || !block->mapped)
			return "RB4 the index holds live blocks";
		const char *broken = check_block(block);
		if (broken != NULL)
			return broken;
	}
	return NULL;
}
