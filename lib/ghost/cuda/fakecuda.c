/* fakecuda.c: a libcuda.so.1 whose devices are the emulated ones, so that the CUDA backend is tested where no GPU is.
 *
 * It shows that the backend picks the right call with the arguments in the right order and types (every function here
 * is assigned to NVIDIA's own type for it), keeps a context current around each and puts the caller's back. It shows
 * nothing about the real driver's behaviour. The backend finds its calls by cuGetProcAddress only; the plain names at
 * the end are PyTorch's.
 *
 * Its environment stands in fakecuda_control.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakecuda.h"

#define FAKE_HOST_NUMA_VMM 141 /* has no name in the headers before CUDA 12.9 */

struct fake_context fake_contexts[SEAM_EMU_DEVICES];
_Thread_local CUcontext fake_current;
_Thread_local CUstreamCaptureMode fake_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

int fake_ordinal(CUdevice device)
{
	int ordinal = device - FAKE_HANDLE;
	return ordinal >= 0 && ordinal < SEAM_EMU_DEVICES && fake_contexts[ordinal].driver != NULL ? ordinal : -1;
}

struct fake_context *fake_context_of(CUcontext context)
{
	for (int i = 0; i < SEAM_EMU_DEVICES; i++) {
		if (context == (CUcontext)(void *)&fake_contexts[i] && fake_contexts[i].retained != 0)
			return &fake_contexts[i];
	}
	return NULL;
}

struct seam_driver *fake_driver(void)
{
	const struct fake_context *context = fake_context_of(fake_current);
	return context != NULL ? context->driver : NULL;
}

static struct seam_location location_of(const CUmemLocation *location)
{
	static const enum seam_location_kind kinds[] = {
		[CU_MEM_LOCATION_TYPE_DEVICE] = SEAM_AT_DEVICE,
		[CU_MEM_LOCATION_TYPE_HOST] = SEAM_AT_HOST,
		[CU_MEM_LOCATION_TYPE_HOST_NUMA] = SEAM_AT_HOST_NUMA,
		[CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT] = SEAM_AT_HOST_NUMA_CURRENT,
	};
	return (struct seam_location){.kind = kinds[location->type], .id = location->id};
}

static struct seam_phys_props props_of(const CUmemAllocationProp *prop)
{
	return (struct seam_phys_props){.where = location_of(&prop->location),
		.handle_types = (unsigned)prop->requestedHandleTypes,
		.gpu_direct_rdma = prop->allocFlags.gpuDirectRDMACapable != 0};
}

static CUresult fake_init(unsigned flags)
{
	const char *mode = secure_getenv("FAKECUDA");
	struct seam_emu_config config;
	if (flags != 0 || !fake_configure(&config))
		return CUDA_ERROR_INVALID_VALUE;
	if (mode != NULL && strcmp(mode, "none") == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (fake_contexts[0].driver != NULL)
		return CUDA_SUCCESS;
	if (seam__emu_create(&config, NULL, 0, &fake_contexts[0].driver) != SEAM_OK)
		return CUDA_ERROR_UNKNOWN;
	for (int i = 1; i < config.devices; i++) {
		if (seam__emu_open(fake_contexts[0].driver, i, &fake_contexts[i].driver) != SEAM_OK)
			return CUDA_ERROR_UNKNOWN;
	}
	for (int i = 0; i < SEAM_EMU_DEVICES && fake_contexts[i].driver != NULL; i++)
		fake_time_calls(fake_contexts[i].driver);
	return CUDA_SUCCESS;
}

CUresult fake_driver_version(int *version)
{
	*version = 12040;
	return CUDA_SUCCESS;
}

static CUresult fake_error_string(CUresult error, const char **text)
{
	if (error > 1000)
		return CUDA_ERROR_INVALID_VALUE;
	*text = "an error of the fake driver";
	return CUDA_SUCCESS;
}

static CUresult fake_device_get(CUdevice *device, int ordinal)
{
	if (fake_ordinal(FAKE_HANDLE + ordinal) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	*device = FAKE_HANDLE + ordinal;
	return CUDA_SUCCESS;
}

static CUresult fake_device_name(char *name, int length, CUdevice device)
{
	if (fake_ordinal(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	if (length <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	(void)snprintf(name, (size_t)length, "%s", fake_gpu_name());
	return CUDA_SUCCESS;
}

CUresult fake_device_attribute(int *value, CUdevice_attribute what, CUdevice device)
{
	if (fake_ordinal(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	if (fake_gpu_attribute(what, value))
		return CUDA_SUCCESS;
	switch ((int)what) {
#define FAKECUDA_ATTRIBUTE(name, number) \
	case name:                       \
		*value = (number);       \
		return CUDA_SUCCESS;
#include "fakecuda_attributes.def"
#undef FAKECUDA_ATTRIBUTE
	case FAKE_HOST_NUMA_VMM: {
		int64_t supported = 0;
		int cu = seam__drv_attribute(
			fake_contexts[fake_ordinal(device)].driver, SEAM_ATTR_HOST_VMM_SUPPORTED, &supported);
		*value = (int)supported;
		return as_result(cu);
	}
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*value = fake_ordinal(device);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult fake_primary_retain(CUcontext *context, CUdevice device)
{
	int ordinal = fake_ordinal(device);
	if (ordinal < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	fake_contexts[ordinal].retained++;
	*context = (CUcontext)(void *)&fake_contexts[ordinal];
	return CUDA_SUCCESS;
}

static CUresult fake_primary_release(CUdevice device)
{
	int ordinal = fake_ordinal(device);
	int retained = 0;
	if (ordinal < 0 || fake_contexts[ordinal].retained == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	fake_contexts[ordinal].retained--;
	for (int i = 0; i < SEAM_EMU_DEVICES; i++)
		retained += fake_contexts[i].retained;
	/* The contexts go together, with all that is in them, when nobody holds one. */
	for (int i = 0; retained == 0 && i < SEAM_EMU_DEVICES; i++) {
		seam__driver_destroy(fake_contexts[i].driver);
		fake_contexts[i].driver = NULL;
	}
	return CUDA_SUCCESS;
}

static CUresult fake_context_get(CUcontext *context)
{
	*context = fake_current;
	return CUDA_SUCCESS;
}

static CUresult fake_context_set(CUcontext context)
{
	fake_current = context;
	return CUDA_SUCCESS;
}

static CUresult fake_context_sync(void)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_device_sync(fake_device));
}

static CUresult fake_capture_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = fake_mode;
	fake_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static CUresult fake_mem_info(size_t *free_bytes, size_t *total_bytes)
{
	NEEDS_CONTEXT();
	uint64_t values[2] = {0, 0};
	int cu = seam__drv_mem_info(fake_device, &values[0], &values[1]);
	fake_gpu_memory(&values[0], &values[1]);
	*free_bytes = values[0];
	*total_bytes = values[1];
	return as_result(cu);
}

static CUresult fake_granularity(
	size_t *bytes, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
	uint64_t value = 0;
	const struct seam_phys_props props = props_of(prop);
	if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake_contexts[0].driver == NULL)
		return CUDA_ERROR_NOT_INITIALIZED;
	int cu = seam__drv_granularity(fake_contexts[0].driver, &props, &value);
	*bytes = value;
	return as_result(cu);
}

static CUresult fake_address_reserve(
	CUdeviceptr *va, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = flags != 0 ? 1 : seam__drv_address_reserve(fake_device, size, alignment, hint, &value);
	*va = value;
	return as_result(cu);
}

static CUresult fake_address_free(CUdeviceptr va, size_t size)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_address_free(fake_device, va, size));
}

static CUresult fake_mem_create(
	CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
	NEEDS_CONTEXT();
	struct seam_phys phys = {0};
	const struct seam_phys_props props = props_of(prop);
	int cu = flags != 0 || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED
		? 1
		: seam__drv_mem_create(fake_device, size, &props, &phys);
	*handle = phys.id;
	return as_result(cu);
}

static CUresult fake_mem_release(CUmemGenericAllocationHandle handle)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_mem_release(fake_device, (struct seam_phys){handle}));
}

static CUresult fake_mem_retain(CUmemGenericAllocationHandle *handle, void *address)
{
	NEEDS_CONTEXT();
	struct seam_phys phys = {0};
	int cu = seam__drv_mem_retain(fake_device, word(address), &phys);
	*handle = phys.id;
	return as_result(cu);
}

static CUresult fake_mem_map(
	CUdeviceptr va, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_mem_map(fake_device, va, size, offset, (struct seam_phys){handle}, flags));
}

static CUresult fake_mem_unmap(CUdeviceptr va, size_t size)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_mem_unmap(fake_device, va, size));
}

static CUresult fake_mem_set_access(CUdeviceptr va, size_t size, const CUmemAccessDesc *descriptors, size_t count)
{
	NEEDS_CONTEXT();
	struct seam_access access[8];
	if (count > 8)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		access[i] = (struct seam_access){
			location_of(&descriptors[i].location), (enum seam_access_mode)descriptors[i].flags};
	return as_result(seam__drv_mem_set_access(fake_device, va, size, access, count));
}

static CUresult fake_mem_get_access(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr va)
{
	NEEDS_CONTEXT();
	enum seam_access_mode mode = SEAM_ACCESS_NONE;
	const struct seam_location where = location_of(location);
	int cu = seam__drv_mem_get_access(fake_device, va, &where, &mode);
	*flags = (unsigned long long)mode;
	return as_result(cu);
}

static CUresult fake_pointer_attribute(void *value, CUpointer_attribute what, CUdeviceptr va)
{
	NEEDS_CONTEXT();
	bool host = false;
	const int cu = what != CU_POINTER_ATTRIBUTE_MEMORY_TYPE ? SEAM_CU_NOT_SUPPORTED
								: seam__drv_is_host(fake_device, va, &host);
	const unsigned kind = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	if (cu == 0)
		memcpy(value, &kind, sizeof(kind));
	return as_result(cu);
}

static CUresult fake_mem_export(
	void *shareable, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)
{
	NEEDS_CONTEXT();
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return as_result(
		seam__drv_mem_export(fake_device, (struct seam_phys){handle}, (enum seam_handle_type)type, shareable));
}

static CUresult fake_mem_import(CUmemGenericAllocationHandle *handle, void *os_handle, CUmemAllocationHandleType type)
{
	NEEDS_CONTEXT();
	struct seam_phys phys = {0};
	int descriptor = (int)(intptr_t)os_handle;
	const void *from = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? &descriptor : os_handle;
	int cu = seam__drv_mem_import(fake_device, (enum seam_handle_type)type, from, &phys);
	*handle = phys.id;
	return as_result(cu);
}

static CUresult fake_mem_alloc(CUdeviceptr *va, size_t bytes)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = seam__drv_direct_alloc(fake_device, bytes, &value);
	*va = value;
	return as_result(cu);
}

static CUresult fake_mem_free(CUdeviceptr va)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_direct_free(fake_device, va));
}

static CUresult fake_host_alloc(void **ptr, size_t bytes, unsigned flags)
{
	NEEDS_CONTEXT();
	return as_result(flags != CU_MEMHOSTALLOC_PORTABLE ? 1 : seam__drv_host_alloc(fake_device, bytes, ptr));
}

static CUresult fake_host_free(void *ptr)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_host_free(fake_device, ptr));
}

/* A later version than the one offered has the same type, but for the calls whose type changed. */
static bool is_offered(const char *symbol, int version, int since)
{
	return version == since || (version > since && strcmp(symbol, "cuStreamGetCaptureInfo") != 0);
}

CUresult CUDAAPI cuGetProcAddress_v2(
	const char *symbol, void **pfn, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *status)
{
	const char *mode = secure_getenv("FAKECUDA");
	void *found = fake_find_more(symbol, version);
	/* Each function has NVIDIA's type for that version: what the backend will call it by. */
#define SEAM_CUDA_SYMBOL(field, name, exported, since, type)                                  \
	if (found == NULL && strcmp(symbol, name) == 0 && is_offered(name, version, since)) { \
		static const type function = fake_##field;                                    \
		memcpy(&found, &function, sizeof(found));                                     \
	}
#include "cuda_symbols.def"
#undef SEAM_CUDA_SYMBOL
	if (mode != NULL && strcmp(mode, "old") == 0 && strcmp(symbol, "cuStreamGetId") == 0)
		found = NULL;
	*pfn = found;
	if (status != NULL)
		*status = found != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return flags == CU_GET_PROC_ADDRESS_DEFAULT && found != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	return fake_context_get(context);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	return fake_context_set(context);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	return fake_device_get(device, ordinal);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	return fake_primary_retain(context, device);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	return fake_error_string(error, text);
}
