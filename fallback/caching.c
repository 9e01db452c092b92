/* caching.c: the sizes of the caching allocator for devices without virtual memory management. See caching.h. */
#include "caching.h"

#include "direct_source.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)
#define GRANULARITY_BYTES UINT64_C(512)
#define ROUND_BYTES (2 * MI)

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value != 0 ? value : fallback;
}

struct seam_cache_config seam__caching_cache_config(const struct seam_caching_config *config)
{
	return (struct seam_cache_config){
		.granularity_bytes = GRANULARITY_BYTES,
		.small_max_bytes = or_default(config->small_max_bytes, 1 * MI),
		.small_segment_bytes = or_default(config->small_segment_bytes, 2 * MI),
		.segment_bytes = or_default(config->segment_bytes, 20 * MI),
		.exact_bytes = or_default(config->exact_bytes, 10 * MI),
		.round_bytes = ROUND_BYTES,
		/* Cut always: a remainder too small for a large request still joins a neighbour that is freed beside
		   it. */
		.split_bytes = GRANULARITY_BYTES,
		.limit_bytes = config->capacity_bytes,
		.oom = SEAM_OOM_DEVICE,
		.reuse = config->reuse,
	};
}

enum seam_rc seam__caching_init(struct seam_store *store, const struct seam_caching_config *config,
	struct seam_driver *driver, struct seam_meta *meta)
{
	const struct seam_cache_source source = seam__direct_source(driver);
	const struct seam_store_config store_config = {
		.name = "caching",
		.rank = SEAM_RANK_DEVICE,
		.deterministic = config->deterministic,
		.verify_streams = config->verify_streams,
		.cache = seam__caching_cache_config(config),
	};
	return seam__store_init(store, &source, &store_config, driver, meta);
}
