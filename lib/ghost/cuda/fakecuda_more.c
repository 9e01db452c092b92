/* fakecuda_more.c: what PyTorch wants of a driver beyond the CUDA backend: a few calls more, and plain exported names.
 *
 * The names are those that libcaffe2_nvrtc.so links to. Not here: code for the device (fakecuda_kernel.c), but for what
 * links it, which is refused.
 */
#include <stdatomic.h>
#include <string.h>

#include "fakecuda.h"
#include "fakecuda_control.h"

static CUresult fake_device_count(int *count)
{
	if (fake_contexts[0].driver == NULL)
		return CUDA_ERROR_NOT_INITIALIZED;
	*count = 0;
	while (*count < SEAM_EMU_DEVICES && fake_contexts[*count].driver != NULL)
		++*count;
	return CUDA_SUCCESS;
}

/* PyTorch takes the device's number for its handle, which is true of real drivers. The backend's version is stricter.
 */
static CUdevice by_number(CUdevice device)
{
	return device >= 0 && device < SEAM_EMU_DEVICES ? device + FAKE_HANDLE : device;
}

static CUresult fake_attribute_by_number(int *value, CUdevice_attribute what, CUdevice device)
{
	return fake_device_attribute(value, what, by_number(device));
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	return fake_attribute_by_number(value, what, device);
}

/* Likewise. */
static CUresult fake_primary_state(CUdevice device, unsigned *flags, int *active)
{
	int ordinal = fake_ordinal(by_number(device));
	if (ordinal < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	*flags = 0;
	*active = fake_contexts[ordinal].retained != 0;
	return CUDA_SUCCESS;
}

/* Of memory that was mapped, one mapping: what the real driver answers too. */
static CUresult fake_address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr va)
{
	NEEDS_CONTEXT();
	uint64_t values[2] = {0, 0};
	int cu = fakecuda_range(va, &values[0], &values[1]);
	if (cu != 0)
		return as_result(cu);
	if (base != NULL)
		*base = values[0];
	if (bytes != NULL)
		*bytes = values[1];
	return CUDA_SUCCESS;
}

static CUresult fake_write_value32(CUstream stream, CUdeviceptr va, cuuint32_t value, unsigned flags)
{
	return flags != 0 ? CUDA_ERROR_NOT_SUPPORTED : fake_fill32(va, value, 1, stream);
}

static CUresult fake_mem_properties(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
	(void)prop;
	(void)handle;
	return CUDA_ERROR_NOT_SUPPORTED;
}

void *fake_find_more(const char *symbol, int version)
{
	void *found = NULL;
#define FAKECUDA_SYMBOL(field, name, since, type)              \
	if (strcmp(symbol, name) == 0 && version >= (since)) { \
		static const type function = fake_##field;     \
		memcpy(&found, &function, sizeof(found));      \
	}
#include "fakecuda_more.def"
#undef FAKECUDA_SYMBOL
	return found;
}

CUresult cuDeviceGetCount(int *count)
{
	return fake_device_count(count);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
	int ordinal = fake_ordinal(device);
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	if (ordinal < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	int cu = seam__drv_mem_info(fake_contexts[ordinal].driver, &free_bytes, &total_bytes);
	fake_gpu_memory(&free_bytes, &total_bytes);
	*bytes = total_bytes;
	return as_result(cu);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	int from = fake_ordinal(device);
	int to = fake_ordinal(peer);
	if (from < 0 || to < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	*can = from != to && fake_have_peers();
	return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
	NEEDS_CONTEXT();
	static _Atomic uint64_t enabled[SEAM_EMU_DEVICES];
	const struct fake_context *to = fake_context_of(peer);
	if (flags != 0 || to == NULL)
		return flags != 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_CONTEXT;
	if (to->driver->ordinal == fake_device->ordinal)
		return CUDA_ERROR_INVALID_DEVICE;
	if (seam__emu_peer_enable(fake_device, to->driver->ordinal) != 0)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	uint64_t bit = UINT64_C(1) << to->driver->ordinal;
	return (atomic_fetch_or(&enabled[fake_device->ordinal], bit) & bit) != 0
		? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
		: CUDA_SUCCESS;
}

#define REGISTER_FLAGS (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP)

CUresult cuMemHostRegister(void *ptr, size_t bytes, unsigned flags)
{
	NEEDS_CONTEXT();
	if ((flags & ~(unsigned)REGISTER_FLAGS) != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	return as_result(seam__emu_host_register(fake_device, ptr, bytes));
}

CUresult cuMemHostUnregister(void *ptr)
{
	NEEDS_CONTEXT();
	return as_result(seam__emu_host_unregister(fake_device, ptr));
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	return fake_primary_state(device, flags, active);
}

/* What Triton, the compiler of torch.compile, asks beside code and launches. */
CUresult cuDriverGetVersion(int *version)
{
	return fake_driver_version(version);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	NEEDS_CONTEXT();
	*device = FAKE_HANDLE + fake_device->ordinal;
	return CUDA_SUCCESS;
}

/* Limits are of kernels, none of which runs. */
CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	NEEDS_CONTEXT();
	(void)fake_device;
	(void)limit;
	*value = 0;
	return fakecuda_skips_kernels() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	NEEDS_CONTEXT();
	(void)fake_device;
	(void)limit;
	(void)value;
	return fakecuda_skips_kernels() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	cuuint64_t id = 0;
	return fake_capture_info(stream, status, &id);
}

/* An address of the device's is the one by which a kernel reaches it; others are refused. */
CUresult cuPointerGetAttribute(void *value, CUpointer_attribute what, CUdeviceptr va)
{
	uint64_t base = 0;
	uint64_t bytes = 0;
	if (what != CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
		return CUDA_ERROR_NOT_SUPPORTED;
	int cu = fakecuda_range(va, &base, &bytes);
	if (cu != 0)
		cu = fakecuda_host_range((const void *)(uintptr_t)va, &base, &bytes);
	if (cu == 0)
		memcpy(value, &va, sizeof(va));
	return as_result(cu);
}

#define REFUSED(name, params)                    \
	CUresult name params                     \
	{                                        \
		return CUDA_ERROR_NOT_SUPPORTED; \
	}

#pragma GCC diagnostic ignored "-Wunused-parameter"
REFUSED(cuLinkAddData,
	(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned count,
		CUjit_option *options, void **values))
REFUSED(cuLinkComplete, (CUlinkState state, void **cubin, size_t *size))
REFUSED(cuLinkCreate, (unsigned count, CUjit_option *options, void **values, CUlinkState *state))
REFUSED(cuTensorMapEncodeTiled,
	(CUtensorMap * map, CUtensorMapDataType type, cuuint32_t rank, void *va, const cuuint64_t *dimensions,
		const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps,
		CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
		CUtensorMapFloatOOBfill fill))

/* What the installed cuDNN, which is asked what it would take (lib/ghost/stubs), wants to find in a driver before it
 * says that an engine compiled at run time is there. It does not call them. By plain names: CUDA's headers turn some
 * into others.
 */
#define FOUND(name)                                          \
	EXPORTED CUresult found_##name(void) __asm__(#name); \
	CUresult found_##name(void)                          \
	{                                                    \
		return CUDA_ERROR_NOT_SUPPORTED;             \
	}

FOUND(cuCtxPopCurrent)
FOUND(cuCtxPushCurrent)
FOUND(cuGetErrorName)
FOUND(cuKernelGetAttribute)
FOUND(cuKernelGetFunction)
FOUND(cuKernelSetAttribute)
FOUND(cuLibraryGetKernel)
FOUND(cuLibraryLoadData)
FOUND(cuLibraryLoadFromFile)
FOUND(cuLibraryUnload)
FOUND(cuLinkAddData)
FOUND(cuLinkCreate)
FOUND(cuLinkDestroy)
FOUND(cuOccupancyMaxPotentialClusterSize)
FOUND(cuStreamGetCtx)
