/* host.c: pinned host memory as a source, and the sizes of its pool. See host.h. */
#include "host.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)

static enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	void *pointer = NULL;
	int cu = seam__drv_host_alloc(user, bytes, &pointer);
	if (cu == SEAM_CU_OUT_OF_MEMORY)
		return SEAM_OOM_HOST;
	if (cu == SEAM_CU_SUCCESS)
		*ret_va = (uint64_t)(uintptr_t)pointer;
	return seam__driver_rc(cu);
}

static enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	(void)bytes;
	return seam__driver_rc(seam__drv_host_free(user, seam__host_pointer(va)));
}

enum seam_rc seam__host_init(struct seam_store *store, const struct seam_host_config *config,
	struct seam_driver *driver, struct seam_meta *meta)
{
	const struct seam_cache_source source = {
		.user = driver, .segment_alloc = segment_alloc, .segment_free = segment_free};
	const struct seam_store_config store_config = {
		.name = "host",
		.rank = SEAM_RANK_HOST,
		.deterministic = config->deterministic,
		.verify_streams = config->verify_streams,
		.cache =
			{
				.granularity_bytes = 512,
				.small_max_bytes = 64 * KI,
				.small_segment_bytes = 1 * MI,
				/* Pinning costs time by the call and by the page: what is below 1 MiB shares 4 MiB, the
				   rest is pinned exactly. */
				.segment_bytes = 4 * MI,
				.exact_bytes = 1 * MI,
				.round_bytes = 4 * KI,
				.split_bytes = 512,
				.limit_bytes = config->capacity_bytes,
				.oom = SEAM_OOM_HOST,
			},
	};
	return seam__store_init(store, &source, &store_config, driver, meta);
}
