/* ref_direct.c: requests handed to the driver as they come. */
#include "ref_direct.h"

#include "bits.h"
#include "ref_block.h"
#include "driver.h"
#include "meta.h"

struct direct {
	struct ref_allocator base;
	struct seam_meta *meta; /* of its own */
	uint64_t limit_bytes;   /* UINT64_MAX: none */
	struct ref_blocks blocks;
	struct ref_stats stats;
};

static struct direct *of(struct ref_allocator *allocator)
{
	return (struct direct *)(void *)allocator;
}

static enum seam_rc take(struct direct *direct, uint64_t bytes, struct ref_block **ret_block)
{
	struct ref_block *block = ref_block_create(&direct->blocks, 0, bytes);
	if (block == NULL)
		return SEAM_OOM_META;
	int cu = seam__drv_direct_alloc(direct->base.driver, bytes, &block->va);
	if (cu != SEAM_CU_SUCCESS) {
		ref_block_delete(&direct->blocks, block);
		return seam__driver_rc(cu);
	}
	block->allocated = true;
	if (ref_blocks_add_live(&direct->blocks, block) != SEAM_OK) {
		ref_ignore(seam__drv_direct_free(direct->base.driver, block->va));
		ref_block_delete(&direct->blocks, block);
		return SEAM_OOM_META;
	}
	*ret_block = block;
	return SEAM_OK;
}

static enum seam_rc direct_alloc(struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va)
{
	struct direct *direct = of(allocator);
	struct ref_stats *stats = &direct->stats;
	uint64_t bytes;
	enum seam_rc rc = SEAM_OOM_DEVICE;
	struct ref_block *block = NULL;
	if (seam__bits_try_align_up(request->bytes, REF_BLOCK_BYTES, &bytes) && bytes <= direct->limit_bytes &&
		stats->reserved_bytes <= direct->limit_bytes - bytes)
		rc = take(direct, bytes, &block);
	if (rc != SEAM_OK) {
		stats->states[REF_S5] += rc == SEAM_OOM_DEVICE;
		return rc;
	}
	stats->states[REF_S4]++;
	stats->live_blocks++;
	stats->live_bytes += bytes;
	stats->reserved_bytes += bytes;
	stats->reserved_peak_bytes = seam__bits_max(stats->reserved_peak_bytes, stats->reserved_bytes);
	*ret_va = block->va;
	return SEAM_OK;
}

static enum seam_rc direct_free(struct ref_allocator *allocator, uint64_t va)
{
	struct direct *direct = of(allocator);
	struct ref_block *block = ref_blocks_find_live(&direct->blocks, va);
	if (block == NULL)
		return SEAM_NOT_FOUND;
	int cu = seam__drv_direct_free(direct->base.driver, va);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	direct->stats.live_blocks--;
	direct->stats.live_bytes -= block->bytes;
	direct->stats.reserved_bytes -= block->bytes;
	ref_blocks_remove_live(&direct->blocks, block);
	ref_block_delete(&direct->blocks, block);
	return SEAM_OK;
}

static enum seam_rc direct_record_stream(struct ref_allocator *allocator, uint64_t va, uint64_t stream)
{
	(void)stream;
	return ref_blocks_find_live(&of(allocator)->blocks, va) != NULL ? SEAM_OK : SEAM_NOT_FOUND;
}

static enum seam_rc direct_empty_cache(struct ref_allocator *allocator)
{
	(void)allocator;
	return SEAM_OK;
}

static void direct_get_stats(const struct ref_allocator *allocator, struct ref_stats *ret_stats)
{
	*ret_stats = ((const struct direct *)(const void *)allocator)->stats;
}

static const char *direct_check(const struct ref_allocator *allocator)
{
	const struct direct *direct = (const void *)allocator;
	if (direct->stats.live_bytes != direct->stats.reserved_bytes)
		return "RF4 reserved memory is live memory";
	return ref_blocks_check(&direct->blocks);
}

static uint64_t direct_destroy(struct ref_allocator *allocator)
{
	struct direct *direct = of(allocator);
	uint64_t lost_bytes = 0;
	while (direct->blocks.live != NULL) {
		struct ref_block *block = direct->blocks.live;
		if (seam__drv_direct_free(direct->base.driver, block->va) != SEAM_CU_SUCCESS)
			lost_bytes += block->bytes;
		ref_blocks_remove_live(&direct->blocks, block);
		ref_block_delete(&direct->blocks, block);
	}
	ref_blocks_fini(&direct->blocks);
	struct seam_meta *meta = direct->meta;
	seam__meta_free(meta, direct, sizeof(*direct));
	return lost_bytes + seam__meta_destroy(meta);
}

static enum seam_rc direct_release_private(struct ref_allocator *allocator, uint64_t private_id)
{
	(void)allocator;
	(void)private_id;
	return SEAM_OK;
}

static const struct ref_ops direct_ops = {
	.alloc = direct_alloc,
	.free = direct_free,
	.record_stream = direct_record_stream,
	.empty_cache = direct_empty_cache,
	.release_private = direct_release_private,
	.get_stats = direct_get_stats,
	.check = direct_check,
	.destroy = direct_destroy,
};

enum seam_rc ref_direct_create(
	struct seam_driver *driver, const struct ref_options *options, struct ref_allocator **ret_allocator)
{
	struct seam_meta *meta = seam__meta_create(0);
	if (meta == NULL)
		return SEAM_OOM_META;
	struct direct *direct = seam__meta_alloc(meta, sizeof(*direct));
	if (direct == NULL) {
		(void)seam__meta_destroy(meta);
		return SEAM_OOM_META;
	}
	direct->base = (struct ref_allocator){.ops = &direct_ops, .driver = driver};
	direct->meta = meta;
	direct->limit_bytes = options != NULL && options->limit_bytes != 0 ? options->limit_bytes : UINT64_MAX;
	ref_blocks_init(&direct->blocks, meta);
	*ret_allocator = &direct->base;
	return SEAM_OK;
}
