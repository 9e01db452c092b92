/* host.c: pinned host memory as a source, and the sizes of its pool. See host.h. */
#include "host.h"

#include "clock.h"
#include "host_memory.h"
#include "numa.h"

#define KI UINT64_C(1024)
#define MI (KI * KI)

static int node_of(struct seam_driver *driver)
{
	int64_t node = -1;
	int cu = seam__drv_attribute(driver, SEAM_ATTR_HOST_NODE, &node);
	return cu == SEAM_CU_SUCCESS && node >= 0 && node < SEAM_NUMA_NODES ? (int)node : -1;
}

/* The driver's pages come from the calling thread's node: that of the device, for the length of the call. */
static int alloc_on_node(struct seam_host *host, uint64_t bytes, void **ret_pointer)
{
	int refused = 0;
	if (!host->asked)
		atomic_store_explicit(&host->figures.node, node_of(host->driver), memory_order_relaxed);
	host->asked = true;
	const int node = atomic_load_explicit(&host->figures.node, memory_order_relaxed);
	const bool prefers = node >= 0 && seam__numa_prefer(node, &refused);
	int cu = seam__drv_host_alloc(host->driver, bytes, ret_pointer);
	if (prefers) {
		seam__numa_forget();
		atomic_fetch_add_explicit(&host->figures.placed, cu == SEAM_CU_SUCCESS, memory_order_relaxed);
	}
	if (refused != 0)
		atomic_store_explicit(&host->figures.refused, refused, memory_order_relaxed);
	return cu;
}

static enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	struct seam_host *host = user;
	struct seam_host_memory memory;
	void *pointer = NULL;
	seam__host_memory_get(host->root, &memory);
	if (bytes > memory.room_bytes)
		return SEAM_OOM_HOST;
	const uint64_t begin_ns = seam__clock_ns();
	int cu = alloc_on_node(host, bytes, &pointer);
	seam__host_calls_count(&host->figures.allocs, seam__clock_ns() - begin_ns);
	if (cu == SEAM_CU_OUT_OF_MEMORY)
		return SEAM_OOM_HOST;
	if (cu == SEAM_CU_SUCCESS) {
		*ret_va = (uint64_t)(uintptr_t)pointer;
		seam__host_figures_piece(&host->figures, bytes);
	}
	return seam__driver_rc(cu);
}

static enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	struct seam_host *host = user;
	(void)bytes;
	const uint64_t begin_ns = seam__clock_ns();
	int cu = seam__drv_host_free(host->driver, seam__host_pointer(va));
	seam__host_calls_count(&host->figures.frees, seam__clock_ns() - begin_ns);
	return seam__driver_rc(cu);
}

enum seam_rc seam__host_init(struct seam_host *host, const struct seam_host_config *config, struct seam_driver *driver,
	struct seam_meta *meta)
{
	const struct seam_cache_source source = {
		.user = host, .segment_alloc = segment_alloc, .segment_free = segment_free};
	const struct seam_store_config store_config = {
		.name = "host",
		.rank = SEAM_RANK_HOST,
		.deterministic = config->deterministic,
		.verify_streams = config->verify_streams,
		.allows_none = true,
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
				.idle_share = 8,
				.limit_bytes = config->capacity_bytes,
				.oom = SEAM_OOM_HOST,
				.covers_frees = true,
			},
	};
	*host = (struct seam_host){
		.driver = driver, .root = config->root != NULL ? config->root : "", .figures.node = -1};
	return seam__store_init(&host->store, &source, &store_config, driver, meta);
}
