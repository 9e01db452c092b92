/* stitching.c: calls a pool through the public API, but for its creation on a driver that is there already. */
#include "stitching.h"

#include <stdlib.h>

#include <seam/stats.h>

#include "meta.h"
#include "opts.h"
#include "pool.h"

struct stitching {
	struct ref_allocator base;
	struct seam_meta *meta; /* of its own; the pool has another */
	struct seam_pool *pool;
};

static struct stitching *of(struct ref_allocator *allocator)
{
	return (struct stitching *)(void *)allocator;
}

struct seam_pool *ref_stitching_pool(struct ref_allocator *allocator)
{
	return of(allocator)->pool;
}

static void *pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

/* Makes a private pool known: requests name it themselves, so the route is closed at once. */
static enum seam_rc begin_private(struct seam_pool *pool, uint64_t id)
{
	enum seam_rc rc = seam_private_begin(pool, id, SEAM_ROUTE_THREAD, 0);
	return rc == SEAM_OK ? seam_private_end(pool, id) : rc;
}

static enum seam_rc stitching_alloc(
	struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va)
{
	struct seam_pool *pool = of(allocator)->pool;
	struct seam_request wanted = {
		.size = sizeof(wanted),
		.bytes = request->bytes,
		.stream = pointer(request->stream),
		.private_id = request->private_id,
	};
	void *block;
	enum seam_rc rc = seam_alloc_request(pool, &wanted, &block);
	if (rc == SEAM_NOT_FOUND && request->private_id != 0) {
		rc = begin_private(pool, request->private_id);
		if (rc == SEAM_OK)
			rc = seam_alloc_request(pool, &wanted, &block);
	}
	if (rc == SEAM_OK)
		*ret_va = (uint64_t)(uintptr_t)block;
	return rc;
}

static enum seam_rc stitching_free(struct ref_allocator *allocator, uint64_t va)
{
	return seam_free(of(allocator)->pool, pointer(va));
}

static enum seam_rc stitching_record_stream(struct ref_allocator *allocator, uint64_t va, uint64_t stream)
{
	return seam_record_stream(of(allocator)->pool, pointer(va), pointer(stream));
}

static enum seam_rc stitching_empty_cache(struct ref_allocator *allocator)
{
	return seam_trim(of(allocator)->pool, 0, NULL);
}

static enum seam_rc stitching_release_private(struct ref_allocator *allocator, uint64_t private_id)
{
	enum seam_rc rc = seam_private_release(of(allocator)->pool, private_id);
	return rc == SEAM_NOT_FOUND ? SEAM_OK : rc;
}

static void stitching_get_stats(const struct ref_allocator *allocator, struct ref_stats *ret_stats)
{
	const struct stitching *stitching = (const void *)allocator;
	struct seam_stats stats = {.size = sizeof(stats), .version = SEAM_STATS_VERSION};
	*ret_stats = (struct ref_stats){0};
	if (seam_stats_get(stitching->pool, &stats) != SEAM_OK)
		return; /* only in a child of the process, which a replay does not make */
	*ret_stats = (struct ref_stats){
		.reserved_bytes = stats.reserved_bytes,
		.reserved_peak_bytes = stats.reserved_bytes_peak,
		.live_bytes = stats.live_bytes,
		.live_blocks = stats.live_blocks,
		.retries = stats.retries,
		.states = {[REF_S1] = stats.s1,
			[REF_S1R] = stats.s1r,
			[REF_S2] = stats.s2,
			[REF_S3] = stats.s3,
			[REF_S4] = stats.s4,
			[REF_S5] = stats.s5},
	};
}

static const char *stitching_check(const struct ref_allocator *allocator)
{
	return seam__pool_check(((const struct stitching *)(const void *)allocator)->pool);
}

static uint64_t stitching_destroy(struct ref_allocator *allocator)
{
	struct stitching *stitching = of(allocator);
	struct seam_meta *meta = stitching->meta;
	seam_pool_destroy(stitching->pool);
	seam__meta_free(meta, stitching, sizeof(*stitching));
	return seam__meta_destroy(meta);
}

static const struct ref_ops stitching_ops = {
	.alloc = stitching_alloc,
	.free = stitching_free,
	.record_stream = stitching_record_stream,
	.empty_cache = stitching_empty_cache,
	.release_private = stitching_release_private,
	.get_stats = stitching_get_stats,
	.check = stitching_check,
	.destroy = stitching_destroy,
};

enum seam_rc ref_stitching_create(struct seam_driver *driver, const struct ref_options *options, char *error,
	struct ref_allocator **ret_allocator)
{
	struct seam_config given;
	struct seam_config config;
	if (options != NULL && options->config != NULL)
		given = *options->config;
	else
		seam_config_init(&given);
	if (options != NULL && options->limit_bytes != 0)
		given.capacity_bytes = options->limit_bytes;
	enum seam_rc rc = seam__opts_resolve(&given, getenv("SEAM_CONF"), error, REF_ERROR_BYTES, &config);
	if (rc != SEAM_OK)
		return rc;
	struct seam_meta *meta = seam__meta_create(0);
	struct stitching *stitching = meta != NULL ? seam__meta_alloc(meta, sizeof(*stitching)) : NULL;
	rc = SEAM_OOM_META;
	if (stitching != NULL) {
		stitching->base = (struct ref_allocator){.ops = &stitching_ops, .driver = driver};
		stitching->meta = meta;
		rc = seam__pool_create_on(driver, &config, &stitching->pool);
	}
	if (rc == SEAM_OK) {
		*ret_allocator = &stitching->base;
		return SEAM_OK;
	}
	seam__meta_free(meta, stitching, sizeof(*stitching));
	(void)seam__meta_destroy(meta);
	return rc;
}
