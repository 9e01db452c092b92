/* cuda_memory.c: the table's memory calls on CUDA: each one driver call, with its arguments translated. */
#include <string.h>

#include "cuda_api.h"

#define HOST_NUMA_ID ((CUdevice_attribute)134)  /* has no name in the headers before CUDA 12.3 */
#define HOST_NUMA_VMM ((CUdevice_attribute)141) /* nor this one before 12.9 */

static CUmemLocation location_of(const struct seam_location *where)
{
	CUmemLocation location = {.type = CU_MEM_LOCATION_TYPE_INVALID, .id = where->id};
	switch (where->kind) {
	case SEAM_AT_DEVICE:
		location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		break;
	case SEAM_AT_HOST:
		location.type = CU_MEM_LOCATION_TYPE_HOST;
		break;
	case SEAM_AT_HOST_NUMA:
		location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
		break;
	case SEAM_AT_HOST_NUMA_CURRENT:
		location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
		break;
	}
	return location;
}

static CUmemAllocationProp properties_of(const struct seam_phys_props *props)
{
	CUmemAllocationProp prop;
	memset(&prop, 0, sizeof(prop)); /* reserved bytes too */
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.requestedHandleTypes = (CUmemAllocationHandleType)props->handle_types;
	prop.location = location_of(&props->where);
	prop.allocFlags.gpuDirectRDMACapable = props->gpu_direct_rdma;
	return prop;
}

int seam__cuda_op_attribute(struct seam_driver *d, enum seam_drv_attribute what, int64_t *ret_value)
{
	static const CUdevice_attribute flags[] = {
		[SEAM_ATTR_VMM_SUPPORTED] = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
		[SEAM_ATTR_POSIX_FD_SUPPORTED] = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
		[SEAM_ATTR_FABRIC_SUPPORTED] = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
		[SEAM_ATTR_RDMA_SUPPORTED] = CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
	};
	const struct cuda *c = seam__cuda_of(d);
	int value = 0;
	int minor = 0;
	CUresult cu = CUDA_ERROR_INVALID_VALUE;
	switch (what) {
	case SEAM_ATTR_VMM_SUPPORTED:
	case SEAM_ATTR_POSIX_FD_SUPPORTED:
	case SEAM_ATTR_FABRIC_SUPPORTED:
	case SEAM_ATTR_RDMA_SUPPORTED:
		cu = c->api->device_attribute(&value, flags[what], c->device);
		break;
	case SEAM_ATTR_HOST_NODE:
		cu = c->api->device_attribute(&value, HOST_NUMA_ID, c->device);
		break;
	case SEAM_ATTR_HOST_VMM_SUPPORTED:
		cu = c->api->device_attribute(&value, HOST_NUMA_VMM, c->device);
		break;
	case SEAM_ATTR_DRIVER_VERSION:
		cu = c->api->driver_version(&value);
		break;
	case SEAM_ATTR_CHIP:
		cu = c->api->device_attribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, c->device);
		if (cu == CUDA_SUCCESS)
			cu = c->api->device_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, c->device);
		value = value * 10 + minor;
		break;
	}
	if (cu == CUDA_SUCCESS)
		*ret_value = value;
	return (int)cu;
}

int seam__cuda_op_mem_info(struct seam_driver *d, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	size_t free_bytes = 0;
	size_t total_bytes = 0;
	CUresult cu = seam__cuda_of(d)->api->mem_info(&free_bytes, &total_bytes);
	if (cu == CUDA_SUCCESS) {
		*ret_free_bytes = free_bytes;
		*ret_total_bytes = total_bytes;
	}
	return (int)cu;
}

int seam__cuda_op_granularity(struct seam_driver *d, const struct seam_phys_props *props, uint64_t *ret_bytes)
{
	size_t bytes = 0;
	const CUmemAllocationProp prop = properties_of(props);
	CUresult cu = seam__cuda_of(d)->api->granularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	if (cu == CUDA_SUCCESS)
		*ret_bytes = bytes;
	return (int)cu;
}

int seam__cuda_op_address_reserve(
	struct seam_driver *d, uint64_t bytes, uint64_t alignment_bytes, uint64_t hint_va, uint64_t *ret_va)
{
	CUdeviceptr va = 0;
	CUresult cu = seam__cuda_of(d)->api->address_reserve(&va, bytes, alignment_bytes, hint_va, /* flags= */ 0);
	if (cu == CUDA_SUCCESS)
		*ret_va = va;
	return (int)cu;
}

int seam__cuda_op_address_free(struct seam_driver *d, uint64_t va, uint64_t bytes)
{
	return (int)seam__cuda_of(d)->api->address_free(va, bytes);
}

int seam__cuda_op_mem_create(
	struct seam_driver *d, uint64_t bytes, const struct seam_phys_props *props, struct seam_phys *ret_phys)
{
	CUmemGenericAllocationHandle handle = 0;
	const CUmemAllocationProp prop = properties_of(props);
	CUresult cu = seam__cuda_of(d)->api->mem_create(&handle, bytes, &prop, /* flags= */ 0);
	if (cu == CUDA_SUCCESS)
		ret_phys->id = handle;
	return (int)cu;
}

int seam__cuda_op_mem_release(struct seam_driver *d, struct seam_phys phys)
{
	return (int)seam__cuda_of(d)->api->mem_release(phys.id);
}

int seam__cuda_op_mem_retain(struct seam_driver *d, uint64_t va, struct seam_phys *ret_phys)
{
	CUmemGenericAllocationHandle handle = 0;
	CUresult cu = seam__cuda_of(d)->api->mem_retain(&handle, (void *)(uintptr_t)va);
	if (cu == CUDA_SUCCESS)
		ret_phys->id = handle;
	return (int)cu;
}

int seam__cuda_op_mem_map(struct seam_driver *d, uint64_t va, uint64_t bytes, uint64_t offset_bytes,
	struct seam_phys phys, uint64_t flags)
{
	return (int)seam__cuda_of(d)->api->mem_map(va, bytes, offset_bytes, phys.id, flags);
}

int seam__cuda_op_mem_unmap(struct seam_driver *d, uint64_t va, uint64_t bytes)
{
	return (int)seam__cuda_of(d)->api->mem_unmap(va, bytes);
}

/* Locations per call: each peer is one. Why not more in pieces: half of a request must not be granted. */
#define ACCESS_LIMIT 64

int seam__cuda_op_mem_set_access(
	struct seam_driver *d, uint64_t va, uint64_t bytes, const struct seam_access *access, size_t count)
{
	CUmemAccessDesc descriptors[ACCESS_LIMIT];
	if (count > ACCESS_LIMIT)
		return SEAM_CU_INVALID_VALUE;
	memset(descriptors, 0, sizeof(descriptors));
	for (size_t i = 0; i < count; i++) {
		descriptors[i].location = location_of(&access[i].where);
		descriptors[i].flags = (CUmemAccess_flags)access[i].mode; /* numbered alike */
	}
	return (int)seam__cuda_of(d)->api->mem_set_access(va, bytes, descriptors, count);
}

int seam__cuda_op_mem_get_access(
	struct seam_driver *d, uint64_t va, const struct seam_location *where, enum seam_access_mode *ret_mode)
{
	unsigned long long flags = 0;
	const CUmemLocation location = location_of(where);
	CUresult cu = seam__cuda_of(d)->api->mem_get_access(&flags, &location, va);
	if (cu == CUDA_SUCCESS)
		*ret_mode = (enum seam_access_mode)flags;
	return (int)cu;
}

int seam__cuda_op_is_host(struct seam_driver *d, uint64_t va, bool *ret_host)
{
	unsigned kind = 0;
	CUresult cu = seam__cuda_of(d)->api->pointer_attribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, va);
	if (cu == CUDA_SUCCESS)
		*ret_host = kind == CU_MEMORYTYPE_HOST;
	return (int)cu;
}

int seam__cuda_op_mem_export(struct seam_driver *d, struct seam_phys phys, enum seam_handle_type type, void *ret_handle)
{
	_Static_assert(sizeof(CUmemFabricHandle) == 64, "what the contract says of FABRIC handles");
	union {
		int descriptor;
		CUmemFabricHandle fabric;
	} handle;
	memset(&handle, 0, sizeof(handle));
	CUresult cu =
		seam__cuda_of(d)->api->mem_export(&handle, phys.id, (CUmemAllocationHandleType)type, /* flags= */ 0);
	if (cu == CUDA_SUCCESS)
		memcpy(ret_handle, &handle,
			type == SEAM_HANDLE_FABRIC ? sizeof(handle.fabric) : sizeof(handle.descriptor));
	return (int)cu;
}

int seam__cuda_op_mem_import(
	struct seam_driver *d, enum seam_handle_type type, const void *handle, struct seam_phys *ret_phys)
{
	CUmemGenericAllocationHandle imported = 0;
	CUmemFabricHandle fabric;
	int descriptor = -1;
	void *os_handle = &fabric;
	if (type == SEAM_HANDLE_FABRIC) {
		memcpy(&fabric, handle, sizeof(fabric));
	} else { /* a descriptor is passed as the pointer itself */
		memcpy(&descriptor, handle, sizeof(descriptor));
		os_handle = (void *)(intptr_t)descriptor;
	}
	CUresult cu = seam__cuda_of(d)->api->mem_import(&imported, os_handle, (CUmemAllocationHandleType)type);
	if (cu == CUDA_SUCCESS)
		ret_phys->id = imported;
	return (int)cu;
}

int seam__cuda_op_direct_alloc(struct seam_driver *d, uint64_t bytes, uint64_t *ret_va)
{
	CUdeviceptr va = 0;
	CUresult cu = seam__cuda_of(d)->api->mem_alloc(&va, bytes);
	if (cu == CUDA_SUCCESS)
		*ret_va = va;
	return (int)cu;
}

int seam__cuda_op_direct_free(struct seam_driver *d, uint64_t va)
{
	return (int)seam__cuda_of(d)->api->mem_free(va);
}

int seam__cuda_op_host_alloc(struct seam_driver *d, uint64_t bytes, void **ret_ptr)
{
	void *ptr = NULL;
	/* Portable: pinned for every context, as the pool is one for all devices. */
	CUresult cu = seam__cuda_of(d)->api->host_alloc(&ptr, bytes, CU_MEMHOSTALLOC_PORTABLE);
	if (cu == CUDA_SUCCESS)
		*ret_ptr = ptr;
	return (int)cu;
}

int seam__cuda_op_host_free(struct seam_driver *d, void *ptr)
{
	return (int)seam__cuda_of(d)->api->host_free(ptr);
}
