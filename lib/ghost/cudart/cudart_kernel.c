/* cudart_kernel.c: code for the device: registered, never run.
 *
 * A launch is refused with cudaErrorNotSupported, so that no result can be taken for one that was computed. With
 * FAKECUDART_KERNELS=skip in the environment it succeeds, computes nothing and takes the device 10 us: for programs of
 * which only the memory matters.
 */
#include <stdlib.h>
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define KERNEL_NS UINT64_C(10000)

bool rt_skips_kernels(void)
{
	const char *mode = secure_getenv("FAKECUDART_KERNELS");
	return mode != NULL && strcmp(mode, "skip") == 0;
}

static int skip(cudaStream_t stream)
{
	if (!rt_skips_kernels())
		return cudaErrorNotSupported;
	const struct rt_node node = {.kind = RT_KERNEL};
	if (rt_capture_add_node(stream, &node))
		return 0;
	return fakecuda_work(stream, 0, 0, 0, KERNEL_NS);
}

cudaError_t cudaLaunchKernel(
	const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	(void)function;
	(void)grid;
	(void)block;
	(void)arguments;
	(void)shared;
	RT_RETURN(skip(stream));
}

cudaError_t cudaLaunchCooperativeKernel(
	const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
	return cudaLaunchKernel(
		function, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream);
}

/* The compiler's own calls, of which no header of CUDA's speaks to C. */
EXPORTED void **__cudaRegisterFatBinary(void *binary);
EXPORTED void __cudaRegisterFatBinaryEnd(void **handle);
EXPORTED void __cudaUnregisterFatBinary(void **handle);
EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
	void *thread, void *block, void *block_dim, void *grid_dim, int *warp_size);
EXPORTED void __cudaRegisterVar(
	void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global);
EXPORTED unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
EXPORTED cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
EXPORTED cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
EXPORTED cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream);

void **__cudaRegisterFatBinary(void *binary)
{
	static void *registered;
	(void)binary;
	return &registered;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *thread,
	void *block, void *block_dim, void *grid_dim, int *warp_size)
{
	(void)handle;
	(void)host;
	(void)device;
	(void)name;
	(void)limit;
	(void)thread;
	(void)block;
	(void)block_dim;
	(void)grid_dim;
	(void)warp_size;
}

void __cudaRegisterVar(
	void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global)
{
	(void)handle;
	(void)host;
	(void)device;
	(void)name;
	(void)external;
	(void)size;
	(void)constant;
	(void)global;
}

/* From the brackets of a launch to the launch itself. */
static _Thread_local struct {
	dim3 grid;
	dim3 block;
	size_t shared;
	struct CUstream_st *stream;
} configuration;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	memcpy(stream, &configuration.stream, sizeof(configuration.stream));
	return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = (cudaKernel_t)(uintptr_t)function;
	return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(
	cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}

/* What is not known of a kernel, for nothing reads its code: an ordinary one's. */
#define KERNEL_REGISTERS 32

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	(void)function;
	int dynamic = 0;
	int threads = 0;
	int error = rt_skips_kernels() ? rt_enter() : (int)cudaErrorNotSupported;
	if (error == 0)
		error = rt_attribute(rt_device(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &dynamic);
	if (error == 0)
		error = rt_attribute(rt_device(), CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads);
	if (error != 0)
		return rt_result(error);
	memset(attributes, 0, sizeof(*attributes));
	attributes->maxThreadsPerBlock = threads;
	attributes->numRegs = KERNEL_REGISTERS;
	attributes->binaryVersion = 90;
	attributes->ptxVersion = 90;
	attributes->maxDynamicSharedSizeBytes = dynamic;
	attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute what, int value)
{
	(void)function;
	int most = 0;
	int error = rt_skips_kernels() ? rt_enter() : (int)cudaErrorNotSupported;
	if (error == 0)
		error = rt_attribute(rt_device(), CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &most);
	if (error == 0 && what == cudaFuncAttributeMaxDynamicSharedMemorySize && (value < 0 || value > most))
		error = cudaErrorInvalidValue;
	return rt_result(error);
}

/* How many blocks of that many threads and that much shared memory a multiprocessor holds at once: whole warps, the
 * registers of KERNEL_REGISTERS a thread, the shared memory that the driver keeps of each block. 0: a block is too
 * large. */
static int active_blocks(int device, int threads, size_t shared, int *ret_blocks)
{
	static const CUdevice_attribute asked[] = {CU_DEVICE_ATTRIBUTE_WARP_SIZE,
		CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
		CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK,
		CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN};
	enum { WARP, BLOCK, THREADS, BLOCKS, REGISTERS, SHARED, RESERVED, OPTIN, COUNT };
	int is[COUNT];
	for (int i = 0; i < COUNT; i++) {
		int error = rt_attribute(device, asked[i], &is[i]);
		if (error != 0)
			return error;
	}
	*ret_blocks = 0;
	if (threads > is[BLOCK] || shared > (size_t)is[OPTIN])
		return 0;
	int whole = (threads + is[WARP] - 1) / is[WARP] * is[WARP];
	int by_shared = (int)((size_t)is[SHARED] / (shared + (size_t)is[RESERVED]));
	int blocks = is[BLOCKS];
	blocks = blocks < is[THREADS] / whole ? blocks : is[THREADS] / whole;
	blocks = blocks < is[REGISTERS] / (whole * KERNEL_REGISTERS) ? blocks
								     : is[REGISTERS] / (whole * KERNEL_REGISTERS);
	*ret_blocks = blocks < by_shared ? blocks : by_shared;
	return 0;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *function, int size, size_t shared, unsigned flags)
{
	(void)function;
	(void)flags;
	int error = rt_skips_kernels() ? rt_enter() : (int)cudaErrorNotSupported;
	if (error == 0)
		error = size > 0 ? active_blocks(rt_device(), size, shared, blocks) : (int)cudaErrorInvalidValue;
	return rt_result(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size, shared, 0);
}
