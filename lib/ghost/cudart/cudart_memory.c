/* cudart_memory.c: memory of the device and of the host, copies and fills.
 *
 * Copies move bytes where the emulated device has real memory. Where it only keeps books, what would bring bytes from
 * the device to the host is refused: there are none. Where kernels are passed over too, it brings zeros, so that a
 * program gets the same counts and sizes each time; more than 64 KiB, which no program reads as a number, are left as
 * they were, and do not take the host's memory. Pools of cudaMallocAsync are not modelled.
 */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "fakecuda_control.h"
#include "fakecudart.h"

#define ZEROED_BYTES ((size_t)65536)

cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
	CUdeviceptr va = 0;
	int error = rt_enter();
	*ptr = NULL;
	if (error == 0)
		error = rt_capture_guard();
	if (error == 0 && bytes != 0)
		error = (int)rt_driver->mem_alloc(&va, bytes);
	if (error == 0)
		*ptr = (void *)(uintptr_t)va;
	return rt_result(error);
}

cudaError_t cudaFree(void *ptr)
{
	int error = rt_enter();
	if (error == 0)
		error = rt_capture_guard();
	if (error == 0 && ptr != NULL)
		error = (int)rt_driver->mem_free((CUdeviceptr)(uintptr_t)ptr);
	return rt_result(error);
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
	RT_RETURN(rt_driver->mem_info(free_bytes, total_bytes));
}

cudaError_t cudaHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	if ((flags & ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped)) != 0)
		return rt_result(cudaErrorNotSupported);
	RT_RETURN(rt_driver->host_alloc(ptr, bytes, CU_MEMHOSTALLOC_PORTABLE));
}

cudaError_t cudaMallocHost(void **ptr, size_t bytes)
{
	return cudaHostAlloc(ptr, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *ptr)
{
	if (ptr == NULL)
		return cudaSuccess;
	RT_RETURN(rt_driver->host_free(ptr));
}

cudaError_t cudaHostRegister(void *ptr, size_t bytes, unsigned flags)
{
	RT_RETURN(cuMemHostRegister(ptr, bytes, flags));
}

cudaError_t cudaHostUnregister(void *ptr)
{
	RT_RETURN(cuMemHostUnregister(ptr));
}

static bool is_device(const void *at)
{
	uint64_t base;
	uint64_t bytes;
	return fakecuda_range((uint64_t)(uintptr_t)at, &base, &bytes) == 0;
}

static bool is_page_locked(const void *at)
{
	uint64_t base;
	uint64_t bytes;
	return fakecuda_host_range(at, &base, &bytes) == 0;
}

/* CUDA 12's caller has no room for what 13 reserves at the end. */
#if FAKECUDART_MAJOR < 13
#define POINTER_ATTRIBUTES_BYTES offsetof(struct cudaPointerAttributes, reserved)
#else
#define POINTER_ATTRIBUTES_BYTES sizeof(struct cudaPointerAttributes)
#endif

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *at)
{
	int error = rt_enter();
	if (error != 0)
		return rt_result(error);
	memset(attributes, 0, POINTER_ATTRIBUTES_BYTES);
	if (is_device(at)) {
		attributes->type = cudaMemoryTypeDevice;
		attributes->device = fakecuda_device_of((uint64_t)(uintptr_t)at);
		attributes->devicePointer = (void *)(uintptr_t)at;
	} else if (is_page_locked(at)) {
		attributes->type = cudaMemoryTypeHost;
		attributes->device = rt_device();
		attributes->hostPointer = (void *)(uintptr_t)at;
		attributes->devicePointer = (void *)(uintptr_t)at;
	} else {
		attributes->type = cudaMemoryTypeUnregistered;
		attributes->device = -2;
	}
	return cudaSuccess;
}

/* The bytes of a fill that the driver's fill by words cannot do: at most three at each end. They live for ever. */
static unsigned char patterns[256][4];
static pthread_once_t patterns_once = PTHREAD_ONCE_INIT;

static void make_patterns(void)
{
	for (int value = 0; value < 256; value++)
		memset(patterns[value], value, sizeof(patterns[value]));
}

static const unsigned char *pattern(unsigned char value)
{
	(void)pthread_once(&patterns_once, make_patterns);
	return patterns[value];
}

static int fill(void *at, unsigned char value, size_t bytes, CUstream stream)
{
	CUdeviceptr va = (CUdeviceptr)(uintptr_t)at;
	size_t head = (size_t)(-va & 3);
	head = head < bytes ? head : bytes;
	size_t words = (bytes - head) / 4;
	size_t tail = bytes - head - words * 4;
	int error = 0;
	if (head != 0)
		error = (int)rt_driver->copy_to_device(va, pattern(value), head, stream);
	if (error == 0 && words != 0)
		error = (int)rt_driver->fill32(va + head, value * 0x01010101u, words, stream);
	if (error == 0 && tail != 0)
		error = (int)rt_driver->copy_to_device(va + head + words * 4, pattern(value), tail, stream);
	return error;
}

static int copy_between(const struct rt_node *node, CUstream stream)
{
	CUcontext contexts[2] = {NULL, NULL};
	int error = rt_context(node->to_device, &contexts[0]);
	if (error == 0)
		error = rt_context(node->from_device, &contexts[1]);
	if (error != 0)
		return error;
	return (int)rt_driver->copy_between((CUdeviceptr)(uintptr_t)node->to, contexts[0],
		(CUdeviceptr)(uintptr_t)node->from, contexts[1], node->bytes, stream);
}

static int copy_to_host(const struct rt_node *node, CUstream stream)
{
	bool nothing = !fakecuda_is_real();
	if (nothing && !fakecuda_skips_kernels())
		return cudaErrorNotSupported;
	int error = (int)rt_driver->copy_to_host(node->to, (CUdeviceptr)(uintptr_t)node->from, node->bytes, stream);
	if (error == 0 && nothing && node->bytes <= ZEROED_BYTES)
		memset(node->to, 0, node->bytes);
	return error;
}

int rt_memory_do(const struct rt_node *node, CUstream stream)
{
	CUdeviceptr to = (CUdeviceptr)(uintptr_t)node->to;
	CUdeviceptr from = (CUdeviceptr)(uintptr_t)node->from;
	switch (node->kind) {
	case RT_COPY_ON_DEVICE:
		return (int)rt_driver->copy_on_device(to, from, node->bytes, stream);
	case RT_COPY_BETWEEN:
		return copy_between(node, stream);
	case RT_COPY_TO_DEVICE:
		return (int)rt_driver->copy_to_device(to, node->from, node->bytes, stream);
	case RT_COPY_TO_HOST:
		return copy_to_host(node, stream);
	case RT_FILL:
		return fill(node->to, node->value, node->bytes, stream);
	case RT_KERNEL:
		break;
	}
	return cudaErrorNotSupported;
}

/* pageable: of host memory that is the caller's again when the call returns. */
static int submit(const struct rt_node *node, bool pageable, CUstream stream)
{
	int error = rt_memory_do(node, stream);
	if (error != 0 || rt_capture_add_node(stream, node) || !pageable)
		return error;
	return (int)rt_driver->stream_sync(stream);
}

static int copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, CUstream stream)
{
	bool to_device = is_device(to);
	bool from_device = is_device(from);
	if (bytes == 0)
		return 0;
	/* A kind that does not fit the addresses is a mistake of the caller; the real runtime may let it pass. */
	if (kind != cudaMemcpyDefault &&
		(to_device != (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
			from_device != (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)))
		return cudaErrorInvalidValue;
	if (!to_device && !from_device) {
		memmove(to, from, bytes);
		return 0;
	}
	const struct rt_node node = {
		.kind = !to_device    ? RT_COPY_TO_HOST
			: from_device ? RT_COPY_ON_DEVICE
				      : RT_COPY_TO_DEVICE,
		.to = to,
		.from = from,
		.bytes = bytes,
	};
	return submit(&node,
		(to_device && !from_device && !is_page_locked(from)) || (!to_device && !is_page_locked(to)), stream);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	RT_RETURN(copy(to, from, bytes, kind, stream));
}

/* Row by row. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
	enum cudaMemcpyKind kind, cudaStream_t stream)
{
	int error = width > to_pitch || width > from_pitch ? (int)cudaErrorInvalidPitchValue : rt_enter();
	for (size_t row = 0; error == 0 && row < rows; row++)
		error = copy((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width, kind, stream);
	return rt_result(error);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	int error = rt_enter();
	if (error == 0)
		error = rt_capture_guard();
	if (error == 0)
		error = copy(to, from, bytes, kind, NULL);
	if (error == 0)
		error = (int)rt_driver->stream_sync(NULL);
	return rt_result(error);
}

cudaError_t cudaMemcpyPeerAsync(
	void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream)
{
	const struct rt_node node = {.kind = RT_COPY_BETWEEN,
		.to = to,
		.from = from,
		.bytes = bytes,
		.to_device = to_device,
		.from_device = from_device};
	RT_RETURN(submit(&node, false, stream));
}

cudaError_t cudaMemsetAsync(void *at, int value, size_t bytes, cudaStream_t stream)
{
	const struct rt_node node = {.kind = RT_FILL, .to = at, .bytes = bytes, .value = (unsigned char)value};
	RT_RETURN(submit(&node, false, stream));
}

cudaError_t cudaMemset(void *at, int value, size_t bytes)
{
	return cudaMemsetAsync(at, value, bytes, NULL);
}
