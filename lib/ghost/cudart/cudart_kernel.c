/* cudart_kernel.c: code for the device: registered, never run. The driver passes a launch over or refuses it
 * (fakecuda_kernel.c). */
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

static int launch(cudaStream_t stream)
{
	static const struct rt_node node = {.kind = RT_KERNEL};
	int error = fakecuda_kernel(stream);
	if (error == 0)
		(void)rt_capture_add_node(stream, &node);
	return error;
}

cudaError_t cudaLaunchKernel(
	const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream)
{
	(void)function;
	(void)grid;
	(void)block;
	(void)arguments;
	(void)shared;
	RT_RETURN(launch(stream));
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
EXPORTED char __cudaInitModule(void **handle);
EXPORTED void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
	void *thread, void *block, void *block_dim, void *grid_dim, int *warp_size);
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

/* For managed variables: says that they are there. */
char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
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

/* The driver knows all functions alike. */
static CUfunction function_of(const void *function)
{
	return (CUfunction)(uintptr_t)function;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	static const CUfunction_attribute asked[] = {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
		CU_FUNC_ATTRIBUTE_NUM_REGS, CU_FUNC_ATTRIBUTE_PTX_VERSION, CU_FUNC_ATTRIBUTE_BINARY_VERSION,
		CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT};
	int is[sizeof(asked) / sizeof(asked[0])];
	int error = rt_enter();
	for (size_t i = 0; error == 0 && i < sizeof(is) / sizeof(is[0]); i++)
		error = (int)cuFuncGetAttribute(&is[i], asked[i], function_of(function));
	if (error != 0)
		return rt_result(error);
	memset(attributes, 0, sizeof(*attributes));
	attributes->maxThreadsPerBlock = is[0];
	attributes->numRegs = is[1];
	attributes->ptxVersion = is[2];
	attributes->binaryVersion = is[3];
	attributes->maxDynamicSharedSizeBytes = is[4];
	attributes->preferredShmemCarveout = is[5];
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute what, int value)
{
	RT_RETURN(cuFuncSetAttribute(function_of(function), (CUfunction_attribute)(int)what, value));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, const void *function, int size, size_t shared, unsigned flags)
{
	(void)flags;
	RT_RETURN(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function_of(function), size, shared));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, size, shared, 0);
}
