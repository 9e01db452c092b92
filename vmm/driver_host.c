/* driver_host.c: see driver_host.h. */
#include "driver_host.h"

#include <limits.h>

#include "clock.h"
#include "host_memory.h"

static struct seam_driver_host *host_of(struct seam_driver *d)
{
	return (struct seam_driver_host *)(void *)d; /* base is its first member */
}

static void note(struct seam_driver_host *host, enum seam_drv_call call, uint64_t ns)
{
	switch (call) {
	case SEAM_DRV_address_reserve:
	case SEAM_DRV_mem_create:
	case SEAM_DRV_mem_map:
	case SEAM_DRV_mem_set_access:
		seam__host_calls_count(&host->figures.allocs, ns);
		break;
	case SEAM_DRV_address_free:
	case SEAM_DRV_mem_unmap:
	case SEAM_DRV_mem_release:
		seam__host_calls_count(&host->figures.frees, ns);
		break;
	default:
		break;
	}
}

/* The device's calls, those of memory counted. */
#define SEAM_DRIVER(name, class, wait, params, args)                                                  \
	static int on_##name params                                                                   \
	{                                                                                             \
		struct seam_driver_host *host = host_of(d);                                           \
		const uint64_t begin_ns = SEAM_DRV_##class == SEAM_DRV_MEMORY ? seam__clock_ns() : 0; \
		d = host->device;                                                                     \
		int cu = seam__drv_##name args;                                                       \
		if (SEAM_DRV_##class == SEAM_DRV_MEMORY)                                              \
			note(host, SEAM_DRV_##name, seam__clock_ns() - begin_ns);                     \
		return cu;                                                                            \
	}
#include "driver.def"
#undef SEAM_DRIVER

/* Beyond what the control groups leave the system would kill the process. */
static int create_in_room(
	struct seam_driver *d, uint64_t bytes, const struct seam_phys_props *props, struct seam_phys *ret_phys)
{
	struct seam_driver_host *host = host_of(d);
	struct seam_host_memory memory;
	seam__host_memory_get(host->root, &memory);
	if (bytes > memory.room_bytes)
		return SEAM_CU_OUT_OF_MEMORY;
	int cu = on_mem_create(d, bytes, props, ret_phys);
	if (cu == SEAM_CU_SUCCESS) {
		seam__host_figures_piece(&host->figures, bytes);
		atomic_fetch_add_explicit(&host->figures.placed, 1, memory_order_relaxed);
	}
	return cu;
}

/* How much there is is not known beforehand: others have most of it, and come and go. */
static int no_info(struct seam_driver *d, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	(void)d;
	*ret_free_bytes = *ret_total_bytes = 0;
	return SEAM_CU_SUCCESS;
}

static void destroy(struct seam_driver *d)
{
	(void)d; /* whose struct it is in frees it */
}

static uint64_t clock_ns(struct seam_driver *d)
{
	return host_of(d)->device->ops->clock_ns(host_of(d)->device);
}

static const char *error_text(struct seam_driver *d, int cu)
{
	return host_of(d)->device->ops->error_text(host_of(d)->device, cu);
}

static const char *device_name(struct seam_driver *d)
{
	return host_of(d)->device->ops->device_name(host_of(d)->device);
}

static const struct seam_driver_ops plain_ops = {
	.name = "host",
	.destroy = destroy,
	.clock_ns = clock_ns,
	.error_text = error_text,
	.device_name = device_name,
#define SEAM_DRIVER(name, class, wait, params, args) .name = on_##name,
#include "driver.def"
#undef SEAM_DRIVER
};

#define NO_NODES "the driver makes no memory on nodes of the host"
#define NO_ROOM "out of memory when it was tried"

/* Tries one granule at an address, and gives it back. Returns why there is no such memory; NULL: there is. */
static const char *try_at(struct seam_driver_host *host, uint64_t va, uint64_t bytes)
{
	const struct seam_phys_props props = seam__driver_host_props(host);
	const struct seam_access access[2] = {
		{{SEAM_AT_DEVICE, host->device->ordinal}, SEAM_ACCESS_READWRITE}, {props.where, SEAM_ACCESS_READWRITE}};
	struct seam_phys phys;
	bool is_host = false;
	const char *why = "the driver maps no memory of nodes of the host";
	int cu = seam__drv_mem_create(host->device, bytes, &props, &phys);
	if (cu != SEAM_CU_SUCCESS)
		return cu == SEAM_CU_OUT_OF_MEMORY ? NO_ROOM : NO_NODES;
	cu = seam__drv_mem_map(host->device, va, bytes, 0, phys, 0);
	if (cu == SEAM_CU_SUCCESS) {
		why = "the driver lets no CPU into memory of nodes of the host";
		cu = seam__drv_mem_set_access(host->device, va, bytes, access, 2);
		if (cu == SEAM_CU_SUCCESS) {
			why = "the driver does not call memory of nodes of the host the host's";
			cu = seam__drv_is_host(host->device, va, &is_host);
		}
		SEAM_DRV_GIVE_BACK(seam__drv_mem_unmap(host->device, va, bytes));
	}
	SEAM_DRV_GIVE_BACK(seam__drv_mem_release(host->device, phys));
	return cu == SEAM_CU_SUCCESS && is_host ? NULL : cu == SEAM_CU_OUT_OF_MEMORY ? NO_ROOM : why;
}

static const char *try_all(struct seam_driver_host *host)
{
	const struct seam_phys_props props = seam__driver_host_props(host);
	int64_t supported = 0;
	uint64_t bytes = 0, va = 0;
	int cu = seam__drv_attribute(host->device, SEAM_ATTR_HOST_VMM_SUPPORTED, &supported);
	if (cu != SEAM_CU_SUCCESS || supported == 0)
		return NO_NODES;
	cu = seam__drv_granularity(host->device, &props, &bytes);
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_address_reserve(host->device, bytes, 0, 0, &va);
	if (cu != SEAM_CU_SUCCESS)
		return NO_ROOM;
	const char *why = try_at(host, va, bytes);
	SEAM_DRV_GIVE_BACK(seam__drv_address_free(host->device, va, bytes));
	return why;
}

const char *seam__driver_host_init(struct seam_driver_host *host, struct seam_driver *device, const char *root)
{
	int64_t node = -1;
	int cu = seam__drv_attribute(device, SEAM_ATTR_HOST_NODE, &node);
	*host = (struct seam_driver_host){.ops = plain_ops, .device = device, .root = root};
	/* A machine that does not say has one node. */
	host->node = cu == SEAM_CU_SUCCESS && node >= 0 && node <= INT_MAX ? (int)node : 0;
	atomic_store_explicit(&host->figures.node, host->node, memory_order_relaxed);
	host->ops.mem_create = create_in_room;
	host->ops.mem_info = no_info;
	seam__driver_init(&host->base, &host->ops, device->ordinal);
	return try_all(host);
}

struct seam_phys_props seam__driver_host_props(const struct seam_driver_host *host)
{
	return (struct seam_phys_props){.where = {SEAM_AT_HOST_NUMA, host->node}};
}
