/* fakecuda_kernel.c: code for the device: loaded, never read and never run.
 *
 * A launch is refused with CUDA_ERROR_NOT_SUPPORTED, and so is all that leads to one, so that no result can be taken
 * for one that was computed. With FAKECUDART_KERNELS=skip in the environment it succeeds, computes nothing and takes
 * the device as long as fakecuda_kernel_ns() said: for programs of which only the memory and the time matter.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "fakecuda.h"
#include "fakecuda_control.h"

#define KERNEL_REGISTERS 32 /* a thread: an ordinary kernel's */
#define KERNEL_VERSION 90

/* Every module is this one, and every function. */
static int module_handle;
static int function_handle;
static _Atomic uint64_t kernel_ns = FAKECUDA_KERNEL_NS;

EXPORTED uint64_t fakecuda_kernel_ns(uint64_t ns)
{
	return atomic_exchange(&kernel_ns, ns);
}

EXPORTED int fakecuda_skips_kernels(void)
{
	const char *mode = secure_getenv("FAKECUDART_KERNELS");
	return mode != NULL && strcmp(mode, "skip") == 0;
}

EXPORTED int fakecuda_kernel(void *stream)
{
	fake_count_launch();
	return fakecuda_skips_kernels() ? fakecuda_work(stream, 0, 0, 0, atomic_load(&kernel_ns))
					: CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult allowed(void)
{
	return fakecuda_skips_kernels() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_function(CUfunction function)
{
	CUresult cu = allowed();
	return cu == CUDA_SUCCESS && function == NULL ? CUDA_ERROR_INVALID_HANDLE : cu;
}

static CUresult load(CUmodule *module)
{
	CUresult cu = allowed();
	if (cu == CUDA_SUCCESS)
		*module = (CUmodule)(void *)&module_handle;
	return cu;
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	(void)path;
	return load(module);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	(void)image;
	return load(module);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, CUjit_option *options, void **values)
{
	(void)image;
	(void)count;
	(void)options;
	(void)values;
	return load(module);
}

CUresult cuModuleUnload(CUmodule module)
{
	return module == (CUmodule)(void *)&module_handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	(void)name;
	if (module != (CUmodule)(void *)&module_handle)
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)(void *)&function_handle;
	return CUDA_SUCCESS;
}

/* An attribute of the current device, which there is. */
static int device_attribute(const struct seam_driver *d, CUdevice_attribute what)
{
	int value = 0;
	(void)cuDeviceGetAttribute(&value, what, FAKE_HANDLE + d->ordinal);
	return value;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function)
{
	NEEDS_CONTEXT();
	CUresult cu = check_function(function);
	if (cu != CUDA_SUCCESS)
		return cu;
	switch ((int)what) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*value = device_attribute(fake_device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = device_attribute(fake_device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = KERNEL_REGISTERS;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*value = KERNEL_VERSION;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = -1;
		break;
	default:
		*value = 0;
		break;
	}
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
	NEEDS_CONTEXT();
	CUresult cu = check_function(function);
	if (cu == CUDA_SUCCESS && what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
		(value < 0 ||
			value > device_attribute(fake_device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)))
		cu = CUDA_ERROR_INVALID_VALUE;
	return cu;
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	(void)config;
	return check_function(function);
}

static int lesser(int a, int b)
{
	return a < b ? a : b;
}

/* Whole warps, the registers of an ordinary kernel, the shared memory that the driver keeps of each block. 0: a block
 * is too large. */
static int active_blocks(const struct seam_driver *d, int threads, size_t shared)
{
	int warp = device_attribute(d, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
	size_t reserved = (size_t)device_attribute(d, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
	size_t all_shared = (size_t)device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
	if (threads > device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK) ||
		shared > (size_t)device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))
		return 0;
	int whole = (threads + warp - 1) / warp * warp;
	int blocks = device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
	blocks = lesser(blocks, device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / whole);
	blocks = lesser(blocks,
		device_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / (whole * KERNEL_REGISTERS));
	return lesser(blocks, (int)(all_shared / (shared + reserved)));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int size, size_t shared)
{
	NEEDS_CONTEXT();
	CUresult cu = check_function(function);
	if (cu == CUDA_SUCCESS && size <= 0)
		cu = CUDA_ERROR_INVALID_VALUE;
	if (cu == CUDA_SUCCESS)
		*blocks = active_blocks(fake_device, size, shared);
	return cu;
}

static CUresult launch(CUfunction function, CUstream stream)
{
	NEEDS_CONTEXT();
	(void)fake_device;
	CUresult cu = check_function(function);
	return cu != CUDA_SUCCESS ? cu : as_result(fakecuda_kernel(stream));
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra)
{
	return launch(function, stream);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, CUstream stream, void **arguments)
{
	return launch(function, stream);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **arguments, void **extra)
{
	return launch(function, config->hStream);
}
