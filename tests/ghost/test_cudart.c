/* test_cudart.c: the fake runtime does what it says, and refuses the rest. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

#include "driver_cuda.h"
#include "fakecuda_control.h"
#include "tap.h"

#define MIB ((size_t)1048576)
#define MILLISECOND UINT64_C(1000000)

static void *must_alloc(size_t bytes)
{
	void *at = NULL;
	ok(cudaMalloc(&at, bytes) == cudaSuccess && at != NULL, "%zu bytes are allocated", bytes);
	return at;
}

static void part_memory(void)
{
	size_t before = 0;
	size_t after = 0;
	size_t total = 0;
	void *at = NULL;
	tap_part = "memory";
	ok(cudaMemGetInfo(&before, &total) == cudaSuccess && total == 64 * MIB,
		"the device has what the environment says");
	at = must_alloc(MIB);
	ok(cudaMemGetInfo(&after, &total) == cudaSuccess && before - after == MIB, "it has less then");
	ok(cudaFree(at) == cudaSuccess && cudaFree(NULL) == cudaSuccess, "memory, or none, is freed");
	ok(cudaMalloc(&at, 65 * MIB) == cudaErrorMemoryAllocation && at == NULL, "more than there is: out of memory");
	ok(cudaPeekAtLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaErrorMemoryAllocation &&
			cudaGetLastError() == cudaSuccess,
		"which is the last error until it was asked for");
	ok(cudaFree(&before) == cudaErrorInvalidValue, "what was not allocated cannot be freed");
	ok(strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0 &&
			strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0,
		"errors have texts");
	(void)cudaGetLastError();
}

static void part_same_device(void)
{
	char error[200];
	struct seam_driver *d = NULL;
	uint64_t va = 0;
	size_t before = 0;
	size_t after = 0;
	size_t total = 0;
	tap_part = "same device";
	ok(seam__cuda_create(0, error, sizeof error, &d) == SEAM_OK, "the CUDA backend opens it too");
	if (d == NULL)
		return;
	(void)cudaMemGetInfo(&before, &total);
	ok(seam__drv_direct_alloc(d, MIB, &va) == 0, "and allocates");
	ok(cudaMemGetInfo(&after, &total) == cudaSuccess && before - after == MIB, "which the runtime sees");
	ok(cudaMemset((void *)(uintptr_t)va, 7, MIB) == cudaSuccess, "and can use");
	ok(seam__drv_device_sync(d) == 0 && seam__drv_direct_free(d, va) == 0, "it is given back");
	seam__driver_destroy(d);
	ok(cudaDeviceSynchronize() == cudaSuccess, "the runtime keeps the device when the backend goes");
}

static void part_copies(void)
{
	static unsigned char host[256];
	static unsigned char back[256];
	unsigned char *device = must_alloc(256);
	struct cudaPointerAttributes attributes;
	void *locked = NULL;
	tap_part = "copies";
	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = (unsigned char)i;
	ok(cudaMemcpy(device, host, 256, cudaMemcpyHostToDevice) == cudaSuccess, "to the device");
	ok(cudaMemset(device + 3, 0xab, 14) == cudaSuccess, "a fill that ends and begins within words");
	ok(cudaMemcpy(device + 128, device, 64, cudaMemcpyDeviceToDevice) == cudaSuccess, "on it");
	ok(cudaMemcpy(back, device, 256, cudaMemcpyDefault) == cudaSuccess, "and back");
	memset(host + 3, 0xab, 14);
	memcpy(host + 128, host, 64);
	ok(memcmp(host, back, sizeof(host)) == 0, "every byte is right");
	ok(cudaMemcpy(back, device, 16, cudaMemcpyHostToDevice) == cudaErrorInvalidValue,
		"a kind that does not fit is refused");
	ok(cudaMallocHost(&locked, 4096) == cudaSuccess, "host memory");
	attributes.reserved[0] = 77;
	ok(cudaPointerGetAttributes(&attributes, locked) == cudaSuccess && attributes.type == cudaMemoryTypeHost,
		"is known as such");
	ok(attributes.reserved[0] == (FAKECUDART_MAJOR < 13 ? 77 : 0), "in the version's own layout");
	ok(cudaPointerGetAttributes(&attributes, device + 5) == cudaSuccess && attributes.type == cudaMemoryTypeDevice,
		"like the device's");
	ok(cudaPointerGetAttributes(&attributes, host) == cudaSuccess && attributes.type == cudaMemoryTypeUnregistered,
		"and any other");
	ok(cudaMemcpyAsync(locked, device, 256, cudaMemcpyDeviceToHost, NULL) == cudaSuccess &&
			cudaStreamSynchronize(NULL) == cudaSuccess && memcmp(locked, host, 256) == 0,
		"a copy to it, once it was waited for");
	ok(cudaFreeHost(locked) == cudaSuccess && cudaFree(device) == cudaSuccess, "all is given back");
	(void)cudaGetLastError();
}

static void count_call(cudaStream_t stream, cudaError_t error, void *argument)
{
	(void)stream;
	*(int *)argument += error == cudaSuccess;
}

/* Events with times, and functions of the host's in a stream. */
static void part_times(void)
{
	cudaStream_t stream = NULL;
	cudaEvent_t events[4];
	float ms = -1;
	int called = 0;
	tap_part = "times";
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
	for (int i = 0; i < 4; i++)
		ok(cudaEventCreateWithFlags(&events[i], i < 3 ? cudaEventDefault : cudaEventDisableTiming) ==
				cudaSuccess,
			"an event %s times", i < 3 ? "with" : "without");
	fakecuda_advance(20 * MILLISECOND);
	ok(cudaEventRecord(events[0], stream) == cudaSuccess && fakecuda_work(stream, 0, 0, 0, 3 * MILLISECOND) == 0 &&
			cudaEventRecord(events[1], stream) == cudaSuccess &&
			cudaEventRecord(events[3], stream) == cudaSuccess,
		"are recorded before and after work");
	ok(cudaEventElapsedTime(&ms, events[0], events[1]) == cudaErrorNotReady, "whose time is not known yet");
	ok(cudaEventSynchronize(events[1]) == cudaSuccess &&
			cudaEventElapsedTime(&ms, events[0], events[1]) == cudaSuccess && ms >= 3 && ms < 3.1F,
		"it took %.3f ms of the stream's time, not of the stream's rest before", (double)ms);
	ok(cudaEventElapsedTime(&ms, events[1], events[0]) == cudaSuccess && ms <= -3 && ms > -3.1F, "and backwards");
	ok(cudaEventElapsedTime(&ms, events[0], events[2]) == cudaErrorInvalidResourceHandle &&
			cudaEventElapsedTime(&ms, events[0], events[3]) == cudaErrorInvalidResourceHandle,
		"there is none of what was not recorded, or keeps no time");
	for (int i = 0; i < 4; i++)
		ok(cudaEventDestroy(events[i]) == cudaSuccess, "an event goes");
	ok(cudaStreamAddCallback(stream, count_call, &called, 0) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaSuccess && called == 1,
		"a function is called in the stream's order");
	ok(cudaStreamAddCallback(stream, count_call, &called, 1) == cudaErrorInvalidValue &&
			cudaStreamDestroy(stream) == cudaSuccess,
		"but not with flags");
	(void)cudaGetLastError();
}

/* Memory of the program's own that is page-locked, and copies of rows. */
static void part_registered(void)
{
	static unsigned char host[8192];
	static unsigned char back[64];
	struct cudaPointerAttributes attributes;
	void *device = must_alloc(4096);
	tap_part = "registered";
	ok(cudaHostRegister(host, 4096, cudaHostRegisterPortable) == cudaSuccess, "host memory is registered");
	ok(cudaPointerGetAttributes(&attributes, host + 5) == cudaSuccess && attributes.type == cudaMemoryTypeHost &&
			cudaPointerGetAttributes(&attributes, host + 5000) == cudaSuccess &&
			attributes.type == cudaMemoryTypeUnregistered,
		"and known as such, no more of it");
	ok(cudaHostRegister(host + 4000, 4096, 0) == cudaErrorHostMemoryAlreadyRegistered &&
			cudaFreeHost(host) == cudaErrorInvalidValue &&
			cudaHostUnregister(host + 1) == cudaErrorHostMemoryNotRegistered,
		"once; and it is not freed, nor a part of it given back");
	host[9] = 77;
	ok(fakecuda_work(NULL, 0, 0, 0, MILLISECOND) == 0 &&
			cudaMemcpyAsync(device, host, 4096, cudaMemcpyHostToDevice, NULL) == cudaSuccess &&
			cudaStreamQuery(NULL) == cudaErrorNotReady && cudaStreamSynchronize(NULL) == cudaSuccess,
		"a copy from it does not wait");
	ok(cudaHostUnregister(host) == cudaSuccess && cudaHostUnregister(host) == cudaErrorHostMemoryNotRegistered &&
			host[9] == 77 && fakecuda_violations() == 0,
		"it is given back once, as it was: %s", fakecuda_violation_text());
	ok(cudaMemcpy2DAsync(back, 16, device, 1024, 10, 4, cudaMemcpyDeviceToHost, NULL) == cudaSuccess &&
			back[9] == 77 && back[25] == 0,
		"rows are copied");
	ok(cudaMemcpy2DAsync(back, 8, device, 1024, 10, 4, cudaMemcpyDeviceToHost, NULL) == cudaErrorInvalidPitchValue,
		"but not over each other");
	ok(cudaFree(device) == cudaSuccess, "all is given back");
	(void)cudaGetLastError();
}

/* The compiler's own call. */
void __cudaRegisterVar(
	void **handle, char *host, char *device, const char *name, int external, size_t size, int constant, int global);

/* Variables of the device's code. */
static void part_symbols(void)
{
	static char shadows[3];
	static char name[] = "variable";
	void *at[3] = {NULL, NULL, NULL};
	unsigned number = 0x01020304;
	size_t bytes = 0;
	tap_part = "symbols";
	for (int i = 0; i < 2; i++)
		__cudaRegisterVar(NULL, &shadows[i], name, name, 0, 16, 0, 0);
	ok(cudaGetSymbolAddress(&at[0], &shadows[0]) == cudaSuccess &&
			cudaGetSymbolAddress(&at[1], &shadows[1]) == cudaSuccess &&
			cudaGetSymbolAddress(&at[2], &shadows[0]) == cudaSuccess && at[0] == at[2] && at[0] != at[1],
		"each variable has its place");
	ok(cudaMemcpyToSymbol(&shadows[0], &number, 4, 12, cudaMemcpyHostToDevice) == cudaSuccess,
		"which is written to");
	number = 0;
	ok(cudaMemcpy(&number, (char *)at[0] + 12, 4, cudaMemcpyDeviceToHost) == cudaSuccess && number == 0x01020304,
		"and read");
	ok(cudaGetSymbolSize(&bytes, &shadows[1]) == cudaSuccess && bytes == 16 &&
			cudaMemcpyToSymbol(&shadows[1], &number, 4, 13, cudaMemcpyHostToDevice) ==
				cudaErrorInvalidValue,
		"not over its end");
	ok(cudaGetSymbolAddress(&at[2], &shadows[2]) == cudaErrorInvalidSymbol &&
			cudaGetLastError() == cudaErrorInvalidSymbol,
		"what was not registered is none");
	for (int i = 0; i < 2; i++)
		ok(cudaFree(at[i]) == cudaSuccess, "it is the device's memory");
}

static void part_events(void)
{
	cudaStream_t streams[2];
	cudaEvent_t event;
	int priority = 0;
	void *at = must_alloc(MIB);
	tap_part = "events";
	ok(cudaStreamCreateWithPriority(&streams[0], cudaStreamNonBlocking, -3) == cudaSuccess &&
			cudaStreamCreate(&streams[1]) == cudaSuccess,
		"streams");
	ok(cudaStreamGetPriority(streams[0], &priority) == cudaSuccess && priority == -3, "their priority is kept");
	ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess, "an event");
	ok(cudaEventQuery(event) == cudaSuccess, "that was not recorded has passed");
	ok(fakecuda_work(streams[0], (uint64_t)(uintptr_t)at, MIB, 1, 5 * MILLISECOND) == 0, "work");
	ok(cudaEventRecord(event, streams[0]) == cudaSuccess && cudaEventQuery(event) == cudaErrorNotReady,
		"is pending");
	ok(cudaGetLastError() == cudaErrorNotReady, "which is an error to forget");
	ok(cudaStreamWaitEvent(streams[1], event, 0) == cudaSuccess && cudaStreamQuery(streams[1]) == cudaErrorNotReady,
		"so is what waits for it");
	fakecuda_advance(6 * MILLISECOND);
	ok(cudaEventQuery(event) == cudaSuccess && cudaStreamQuery(streams[1]) == cudaSuccess,
		"until its time has passed");
	ok(fakecuda_work(streams[0], 0, 0, 0, MILLISECOND) == 0 && cudaEventRecord(event, streams[0]) == cudaSuccess &&
			cudaEventSynchronize(event) == cudaSuccess && cudaStreamQuery(streams[0]) == cudaSuccess,
		"or it was waited for");
	ok(cudaEventDestroy(event) == cudaSuccess && cudaEventDestroy(event) == cudaErrorInvalidResourceHandle,
		"an event is destroyed once");
	ok(cudaStreamDestroy(streams[0]) == cudaSuccess && cudaStreamDestroy(streams[1]) == cudaSuccess &&
			cudaFree(at) == cudaSuccess,
		"all is given back");
	(void)cudaGetLastError();
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
	ok(cudaStreamIsCapturing(stream, &status) == cudaSuccess, "a stream can be asked whether it is captured");
	return status;
}

static void part_capture(void)
{
	cudaStream_t stream;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	void *at = NULL;
	size_t nodes = 1;
	tap_part = "capture";
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
	ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess, "is captured");
	ok(status_of(stream) == cudaStreamCaptureStatusActive && status_of(NULL) == cudaStreamCaptureStatusNone,
		"and the default stream is not");
	ok(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess && cudaMalloc(&at, MIB) == cudaSuccess &&
			cudaFree(at) == cudaSuccess,
		"a relaxed thread may allocate meanwhile");
	ok(cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess && mode == cudaStreamCaptureModeRelaxed,
		"and goes back to its own mode");
	ok(cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != NULL, "the capture ends");
	ok(cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess && nodes == 0, "with an empty graph");
	ok(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess &&
			cudaGraphLaunch(executable, stream) == cudaSuccess,
		"which can be launched");
	ok(cudaGraphDestroy(graph) == cudaSuccess && cudaGraphExecDestroy(executable) == cudaSuccess &&
			cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue,
		"until it is destroyed");
	ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess &&
			cudaMalloc(&at, MIB) == cudaErrorStreamCaptureUnsupported,
		"another thread mode may not");
	ok(status_of(stream) == cudaStreamCaptureStatusInvalidated &&
			cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated && graph == NULL,
		"and spoils the capture");
	ok(status_of(stream) == cudaStreamCaptureStatusNone && cudaStreamDestroy(stream) == cudaSuccess,
		"which then is over");
	(void)cudaGetLastError();
}

static void part_graph(void)
{
	static unsigned char seen[6], more[6];
	cudaStream_t stream;
	cudaStream_t joined;
	cudaEvent_t event;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	void *source = NULL;
	void *target = NULL;
	void *locked = NULL;
	size_t nodes = 0;
	tap_part = "graph";
	ok(cudaMalloc(&source, MIB) == cudaSuccess && cudaMalloc(&target, MIB) == cudaSuccess &&
			cudaMallocHost(&locked, 6) == cudaSuccess &&
			cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess,
		"memory");
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
			cudaStreamCreateWithFlags(&joined, cudaStreamNonBlocking) == cudaSuccess,
		"two streams");
	ok(cudaMemset(target, 1, 6) == cudaSuccess && cudaMemset(source, 2, 6) == cudaSuccess &&
			cudaDeviceSynchronize() == cudaSuccess,
		"is filled");
	memset(locked, 9, 6);
	ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess &&
			cudaMemcpyAsync(target, source, 6, cudaMemcpyDeviceToDevice, stream) == cudaSuccess &&
			cudaMemsetAsync(target, 7, 1, stream) == cudaSuccess &&
			cudaEventRecord(event, stream) == cudaSuccess &&
			cudaStreamWaitEvent(joined, event, 0) == cudaSuccess &&
			cudaMemcpyAsync((char *)target + 5, locked, 1, cudaMemcpyHostToDevice, joined) == cudaSuccess &&
			cudaEventRecord(event, joined) == cudaSuccess &&
			cudaStreamWaitEvent(stream, event, 0) == cudaSuccess &&
			cudaStreamEndCapture(stream, &graph) == cudaSuccess,
		"copies and fills are captured, of a stream that joined too");
	ok(cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess && nodes == 3, "each is a node");
	ok(cudaMemcpy(seen, target, 6, cudaMemcpyDeviceToHost) == cudaSuccess && seen[0] == 1 && seen[5] == 1,
		"and not done yet");
	ok(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess &&
			cudaGraphLaunch(executable, stream) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaSuccess &&
			cudaMemcpy(seen, target, 6, cudaMemcpyDeviceToHost) == cudaSuccess && seen[0] == 7 &&
			seen[1] == 2 && seen[5] == 9,
		"a launch does them");
	ok(cudaMemset(source, 4, 6) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess &&
			cudaGraphLaunch(executable, stream) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaSuccess &&
			cudaMemcpy(more, target, 6, cudaMemcpyDeviceToHost) == cudaSuccess && more[0] == 7 &&
			more[1] == 4,
		"and another does them again");
	ok(cudaGraphExecDestroy(executable) == cudaSuccess && cudaFree(source) == cudaSuccess &&
			cudaFree(target) == cudaSuccess && cudaFreeHost(locked) == cudaSuccess &&
			cudaEventDestroy(event) == cudaSuccess,
		"all is given back");
	ok(cudaStreamDestroy(stream) == cudaSuccess && cudaStreamDestroy(joined) == cudaSuccess, "the streams too");
	(void)cudaGetLastError();
}

/* Whatever is asked with, what is answered can be divided by, where such a block can run at all. */
static void check_occupancy(void)
{
	static const int at_once[][3] = {{1, 0, 32}, {33, 0, 32}, {64, 0, 32}, {128, 0, 16}, {256, 49152, 4},
		{1000, 0, 2}, {1024, 0, 2}, {1024, 232448, 1}, {1025, 0, 0}, {32, 232449, 0}};
	static const int any;
	const void *kernel = &any;
	int blocks = 0;
	for (size_t i = 0; i < sizeof(at_once) / sizeof(at_once[0]); i++) {
		cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
			&blocks, kernel, at_once[i][0], (size_t)at_once[i][1]);
		ok(error == cudaSuccess && blocks == at_once[i][2], "%d blocks of %d threads and %d bytes at once",
			blocks, at_once[i][0], at_once[i][1]);
	}
	ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0) == cudaErrorInvalidValue,
		"no threads are no block");
	struct cudaFuncAttributes attributes;
	ok(cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess && attributes.maxThreadsPerBlock == 1024 &&
			attributes.numRegs > 0 && attributes.maxDynamicSharedSizeBytes == 49152,
		"a kernel has attributes");
	ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448) == cudaSuccess &&
			cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449) ==
				cudaErrorInvalidValue,
		"and as much shared memory as there is");
}

/* The driver's own calls, which code that is compiled while a program runs comes by. */
static void check_modules(cudaStream_t stream)
{
	CUmodule module = NULL;
	CUfunction function = NULL;
	int number = 0;
	ok(cuModuleLoadData(&module, "") == CUDA_SUCCESS &&
			cuModuleGetFunction(&function, module, "any") == CUDA_SUCCESS,
		"code is loaded");
	ok(cuFuncGetAttribute(&number, CU_FUNC_ATTRIBUTE_NUM_REGS, function) == CUDA_SUCCESS && number == 32 &&
			cuOccupancyMaxActiveBlocksPerMultiprocessor(&number, function, 128, 0) == CUDA_SUCCESS &&
			number == 16,
		"and asked");
	CUdevice device = -1;
	CUdeviceptr seen = 0;
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	void *at = must_alloc(4096);
	ok(cuCtxGetDevice(&device) == CUDA_SUCCESS &&
			cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) == CUDA_SUCCESS &&
			number == 32 &&
			cuDeviceGetAttribute(&number, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ==
				CUDA_SUCCESS &&
			number == 9 && cuDriverGetVersion(&number) == CUDA_SUCCESS && number > 12000,
		"the device is asked by its handle and by its number");
	ok(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_NONE,
		"the stream is not being captured");
	ok(cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)at + 5) ==
				CUDA_SUCCESS &&
			seen == (CUdeviceptr)(uintptr_t)at + 5 &&
			cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
				(CUdeviceptr)(uintptr_t)&device) == CUDA_ERROR_INVALID_VALUE &&
			cudaFree(at) == cudaSuccess,
		"a kernel's pointers are told from others");
	uint64_t before = fakecuda_now();
	ok(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) == CUDA_SUCCESS &&
			cudaStreamSynchronize(stream) == cudaSuccess && fakecuda_now() - before >= 10000,
		"and launched");
	(void)unsetenv("FAKECUDART_KERNELS");
	ok(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED &&
			cuModuleLoadData(&module, "") == CUDA_ERROR_NOT_SUPPORTED,
		"but only where kernels are passed over");
	(void)setenv("FAKECUDART_KERNELS", "skip", 1);
	ok(cuModuleUnload(module) == CUDA_SUCCESS && cuModuleUnload(NULL) == CUDA_ERROR_INVALID_HANDLE,
		"it is given back");
}

/* A kernel holds its stream as long as was said, and a copy of another stream that waits for it. */
static void check_kernel_time(cudaStream_t stream)
{
	const dim3 one = {1, 1, 1};
	cudaStream_t other;
	cudaEvent_t begin;
	cudaEvent_t end;
	float ms = 0;
	void *host = NULL;
	void *at = NULL;
	ok(fakecuda_kernel_ns(7 * MILLISECOND) == FAKECUDA_KERNEL_NS, "a kernel takes 10 us unless told otherwise");
	ok(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess &&
			cudaEventCreateWithFlags(&begin, cudaEventDefault) == cudaSuccess &&
			cudaEventCreateWithFlags(&end, cudaEventDefault) == cudaSuccess &&
			cudaMalloc(&at, 4) == cudaSuccess && cudaMallocHost(&host, 4) == cudaSuccess,
		"a stream, events, memory");
	ok(cudaStreamSynchronize(stream) == cudaSuccess && cudaEventRecord(begin, stream) == cudaSuccess &&
			cudaLaunchKernel((const void *)&one, one, one, NULL, 0, stream) == cudaSuccess &&
			cudaLaunchKernel((const void *)&one, one, one, NULL, 0, stream) == cudaSuccess &&
			cudaEventRecord(end, stream) == cudaSuccess &&
			cudaStreamWaitEvent(other, end, 0) == cudaSuccess &&
			cudaMemcpyAsync(at, host, 4, cudaMemcpyHostToDevice, other) == cudaSuccess,
		"two kernels, and a copy behind them");
	ok(fakecuda_kernel_ns(FAKECUDA_KERNEL_NS) == 7 * MILLISECOND, "what comes later takes its own time");
	fakecuda_advance(13 * MILLISECOND);
	ok(cudaStreamQuery(other) == cudaErrorNotReady, "the copy waits for both");
	ok(cudaStreamSynchronize(other) == cudaSuccess && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess,
		"it comes behind them");
	ok(ms >= 14.0f && ms < 14.1f, "events tell how long they took: %g ms", (double)ms);
	ok(cudaFree(at) == cudaSuccess && cudaFreeHost(host) == cudaSuccess && cudaEventDestroy(begin) == cudaSuccess &&
			cudaEventDestroy(end) == cudaSuccess && cudaStreamDestroy(other) == cudaSuccess,
		"all of it goes");
}

static void part_kernels(void)
{
	const dim3 one = {1, 1, 1};
	cudaStream_t stream;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	void *managed = NULL;
	cudaEvent_t event;
	tap_part = "kernels";
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
	ok(cudaLaunchKernel((const void *)&one, one, one, NULL, 0, stream) == cudaErrorNotSupported &&
			cudaGetLastError() == cudaErrorNotSupported,
		"kernels are refused");
	(void)setenv("FAKECUDART_KERNELS", "skip", 1);
	uint64_t launches = fakecuda_launches();
	ok(cudaLaunchKernel((const void *)&one, one, one, NULL, 0, stream) == cudaSuccess &&
			fakecuda_launches() == launches + 1,
		"unless they are to be passed over, which is counted");
	ok(cudaStreamQuery(stream) == cudaErrorNotReady, "which takes a while");
	check_occupancy();
	check_kernel_time(stream);
	check_modules(stream);
	ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess &&
			cudaLaunchKernel((const void *)&one, one, one, NULL, 0, stream) == cudaSuccess &&
			cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
			cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess,
		"they are captured");
	uint64_t before = fakecuda_now();
	launches = fakecuda_launches();
	ok(cudaGraphLaunch(executable, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess &&
			fakecuda_now() - before >= 10000 && fakecuda_launches() == launches + 1,
		"and launched, passed over, for as long, counted as one");
	(void)unsetenv("FAKECUDART_KERNELS");
	ok(cudaGraphLaunch(executable, stream) == cudaErrorNotSupported, "but not otherwise");
	ok(cudaGraphDestroy(graph) == cudaSuccess && cudaGraphExecDestroy(executable) == cudaSuccess,
		"all is given back");
	ok(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming) == cudaErrorNotSupported &&
			cudaMallocManaged(&managed, MIB, cudaMemAttachGlobal) == cudaErrorNotSupported,
		"what is not modelled is refused");
	ok(cudaStreamSynchronize(stream) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess, "work ends");
	(void)cudaGetLastError();
}

#if FAKECUDART_MAJOR == 12
#define PROPERTIES "cudaGetDeviceProperties_v2"
#define PROPERTIES_BYTES 1032
#define THREADS_AT 624 /* maxThreadsPerMultiProcessor in CUDA 12 */
#define BLOCKS_AT 712  /* maxBlocksPerMultiProcessor */
#else
#define PROPERTIES "cudaGetDeviceProperties"
#define PROPERTIES_BYTES 1008
#define THREADS_AT 604
#define BLOCKS_AT 688
#endif

/* Numbers of attributes that mean nothing, or nothing any more. */
static bool is_reserved(int what)
{
	static const int reserved[] = {44, 92, 93, 94, 96, 104, 105, 107, 110, 122, 123, 124, 127, 128, 129, 132};
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (reserved[i] == what)
			return true;
	return false;
}

static void part_device(void)
{
	unsigned char properties[PROPERTIES_BYTES + 1];
	cudaError_t (*get)(void *, int) = NULL;
	void *found = dlsym(RTLD_DEFAULT, PROPERTIES);
	enum cudaDriverEntryPointQueryResult status;
	size_t total = 0;
	int threads = 0;
	int number = 0;
	tap_part = "device";
	memcpy(&get, &found, sizeof(get));
	memset(properties, 0x77, sizeof(properties));
	ok(get != NULL && get(properties, 0) == cudaSuccess, "the device's properties are told");
	memcpy(&total, properties + 288, sizeof(total));
	memcpy(&threads, properties + THREADS_AT, sizeof(threads));
	int grid[3];
	memcpy(grid, properties + 336, sizeof(grid));
	ok(grid[0] == 2147483647 && grid[1] == 65535 && grid[2] == 65535, "fields of three numbers too");
	ok(total == 64 * MIB && threads == 2048 && properties[PROPERTIES_BYTES] == 0x77,
		"in this version's layout (%zu bytes, %d threads)", total, threads);
	int blocks = 0;
	memcpy(&blocks, properties + BLOCKS_AT, sizeof(blocks));
	ok(cudaDeviceGetAttribute(&number, cudaDevAttrMaxBlocksPerMultiprocessor, 0) == cudaSuccess && number == 32 &&
			blocks == number,
		"a property is the driver's attribute");
	int unknown = 0;
	for (int i = cudaDevAttrMaxThreadsPerBlock; i <= cudaDevAttrHostNumaId; i++)
		unknown += !is_reserved(i) && cudaDeviceGetAttribute(&number, (enum cudaDeviceAttr)i, 0) != cudaSuccess;
	ok(unknown == 0, "%d attributes are not known", unknown);
	ok(cudaDeviceGetAttribute(&number, cudaDevAttrMax, 0) == cudaErrorInvalidValue, "what is none is not told");
	ok(cudaSetDevice(1) == cudaErrorInvalidDevice && cudaSetDevice(0) == cudaSuccess, "there is one device");
	ok(cudaRuntimeGetVersion(&number) == cudaSuccess && number / 1000 == FAKECUDART_MAJOR, "the version is %d",
		number);
	ok(cudaGetDriverEntryPointByVersion("cuMemCreate", &found, 12000, 0, &status) == cudaSuccess && found != NULL &&
			status == cudaDriverEntryPointSuccess,
		"a call of the driver is found");
	ok(cudaGetDriverEntryPointByVersion("cuNone", &found, 12000, 0, &status) == cudaSuccess &&
			status == cudaDriverEntryPointSymbolNotFound,
		"another is not");
#if FAKECUDART_MAJOR == 12
	cudaError_t (*find)(const char *, void **, unsigned long long, enum cudaDriverEntryPointQueryResult *) = NULL;
	void *finder = dlsym(RTLD_DEFAULT, "cudaGetDriverEntryPoint");
	memcpy(&find, &finder, sizeof(find));
	ok(find != NULL && find("cuMemMap", &found, 0, &status) == cudaSuccess && status == cudaDriverEntryPointSuccess,
		"and without a version, as PyTorch did before CUDA 13");
#endif
	(void)cudaGetLastError();
}

static void part_control(void)
{
	void *at = NULL;
	uint64_t calls = fakecuda_calls("direct_alloc");
	uint64_t used = fakecuda_used_bytes();
	uint64_t ticks = fakecuda_ticks();
	tap_part = "control";
	at = must_alloc(MIB);
	ok(fakecuda_calls("direct_alloc") == calls + 1 && fakecuda_calls("no such") == 0, "calls are counted");
	ok(fakecuda_used_bytes() == used + MIB, "and memory");
	ok(fakecuda_ticks() > ticks, "and the time that the emulator takes");
	fakecuda_fail_at(1, cudaErrorMemoryAllocation);
	void *none = NULL;
	ok(cudaMalloc(&none, MIB) == cudaErrorMemoryAllocation && cudaMalloc(&none, MIB) == cudaSuccess,
		"a call can be made to fail");
	ok(fakecuda_violations() == 0, "nothing was done wrong: %s", fakecuda_violation_text());
	ok(fakecuda_work(NULL, 4096, 4096, 1, 1) == 0 && cudaDeviceSynchronize() != cudaSuccess &&
			fakecuda_violations() == 1 && strstr(fakecuda_violation_text(), "not mapped") != NULL,
		"what is wrong is told: %s", fakecuda_violation_text());
	fakecuda_clear_violations();
	ok(cudaDeviceSynchronize() == cudaSuccess && cudaFree(at) == cudaSuccess && cudaFree(none) == cudaSuccess,
		"and can be forgotten");
}

/* Work on memory that is gone when the graph that has captured it is launched. */
static void part_replay(void)
{
	cudaStream_t stream = NULL;
	cudaGraph_t graph = NULL;
	cudaGraphExec_t executable = NULL;
	tap_part = "replay";
	void *at = must_alloc(MIB);
	ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess &&
			cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess &&
			fakecuda_work(stream, (uint64_t)(uintptr_t)at, MIB, 1, 1) == 0 &&
			cudaStreamEndCapture(stream, &graph) == cudaSuccess &&
			cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess &&
			cudaGraphDestroy(graph) == cudaSuccess,
		"work is captured");
	ok(cudaGraphLaunch(executable, stream) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess &&
			fakecuda_violations() == 0,
		"and is right while its memory is there: %s", fakecuda_violation_text());
	ok(cudaFree(at) == cudaSuccess && cudaGraphLaunch(executable, stream) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaErrorIllegalAddress && fakecuda_violations() == 1,
		"but not when it is gone: %s", fakecuda_violation_text());
	fakecuda_clear_violations();
	ok(cudaGraphExecDestroy(executable) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess,
		"all is given back");
	(void)cudaGetLastError();
}

static void part_book(void)
{
	char host[16] = "seen";
	size_t free_bytes = 0;
	size_t total = 0;
	void *at = NULL;
	tap_part = "book";
	ok(cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && total == 200000 * MIB,
		"a device as large as one likes");
	at = must_alloc(100000 * MIB);
	ok(cudaMemcpy(at, host, 16, cudaMemcpyHostToDevice) == cudaSuccess, "what is copied to it goes nowhere");
	ok(cudaMemcpy(host, at, 16, cudaMemcpyDeviceToHost) == cudaErrorNotSupported, "and cannot be had back");
	(void)setenv("FAKECUDART_KERNELS", "skip", 1);
	ok(cudaMemcpy(host, at, 16, cudaMemcpyDeviceToHost) == cudaSuccess && host[0] == 0 && host[3] == 0,
		"but as zeros, where nothing is computed");
	(void)unsetenv("FAKECUDART_KERNELS");
	ok(cudaFree(at) == cudaSuccess, "it is freed");
}

/* Two devices: device 0 is the current one at first. */
static void part_two(bool peers)
{
	static unsigned char seen[64];
	cudaStream_t stream = NULL;
	struct cudaPointerAttributes attributes;
	struct CUctx_st *contexts[2] = {NULL, NULL};
	char bus[2][16];
	int count = 0;
	int number = -1;
	int can = 7;
	unsigned flags = 0;
	size_t free_bytes[2] = {0, 0};
	size_t total = 0;
	tap_part = "two devices";
	ok(cudaGetDeviceCount(&count) == cudaSuccess && count == 2, "there are two");
	ok(cudaGetDevice(&number) == cudaSuccess && number == 0 && cudaSetDevice(2) == cudaErrorInvalidDevice,
		"and no third");
	unsigned char *first = must_alloc(MIB);
	ok(cuDevicePrimaryCtxGetState(1, &flags, &number) == CUDA_SUCCESS && number == 0,
		"the second has no context until it is wanted");
	ok(cudaSetDevice(1) == cudaSuccess && cudaGetDevice(&number) == cudaSuccess && number == 1,
		"it becomes the current one");
	unsigned char *second = must_alloc(2 * MIB);
	ok(cuCtxGetCurrent(&contexts[1]) == CUDA_SUCCESS, "which has a context of its own");
	ok(cudaMemGetInfo(&free_bytes[1], &total) == cudaSuccess && free_bytes[1] == 62 * MIB && total == 64 * MIB,
		"and memory");
	ok(cudaPointerGetAttributes(&attributes, first) == cudaSuccess && attributes.device == 0 &&
			cudaPointerGetAttributes(&attributes, second) == cudaSuccess && attributes.device == 1,
		"each address is some device's");
	ok(cudaMemset(second, 3, 64) == cudaSuccess &&
			cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess,
		"it works");
	ok(cudaDeviceSynchronize() == cudaSuccess &&
			cudaMemcpyPeerAsync(first, 0, second, 1, 64, stream) == cudaSuccess &&
			cudaStreamSynchronize(stream) == cudaSuccess &&
			cudaMemcpy(seen, first, 64, cudaMemcpyDefault) == cudaSuccess && seen[0] == 3 && seen[63] == 3,
		"and gives bytes to the other");
	ok(cudaDeviceCanAccessPeer(&can, 1, 0) == cudaSuccess && can == peers, "it can reach the other's memory: %d",
		can);
	ok(cudaDeviceEnablePeerAccess(0, 0) == (peers ? cudaSuccess : cudaErrorPeerAccessUnsupported) &&
			cudaDeviceEnablePeerAccess(0, 0) ==
				(peers ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessUnsupported),
		"that is enabled once, or not at all");
	ok(cudaDeviceGetPCIBusId(bus[0], 16, 0) == cudaSuccess && cudaDeviceGetPCIBusId(bus[1], 16, 1) == cudaSuccess &&
			strcmp(bus[0], bus[1]) != 0,
		"they have addresses on the bus");
	ok(cudaSetDevice(0) == cudaSuccess && cuCtxGetCurrent(&contexts[0]) == CUDA_SUCCESS &&
			contexts[0] != contexts[1],
		"the first is current again");
	ok(fakecuda_work(stream, 0, 0, 0, 1) == cudaErrorInvalidResourceHandle, "no kernel runs on the other's stream");
	ok(cuCtxSetCurrent(contexts[1]) == CUDA_SUCCESS && cudaGetDevice(&number) == cudaSuccess && number == 1,
		"the current context says which device it is");
	ok(cudaSetDevice(0) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess &&
			cudaFree(second) == cudaSuccess && cudaFree(first) == cudaSuccess && fakecuda_violations() == 0,
		"all is given back: %s", fakecuda_violation_text());
}

/* How a child ends that loads or stores one byte: 0, or the signal that killed it. */
static int touch(const void *at, bool write)
{
	volatile unsigned char *byte = (volatile unsigned char *)(uintptr_t)at;
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		(void)signal(SIGSEGV, SIG_DFL);
		if (write)
			*byte = 1;
		else
			(void)*byte;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Whether the CPU can touch memory of the device. */
static void part_touch(bool strict)
{
	void *device = must_alloc(4096);
	void *locked = NULL;
	const int ends = strict ? SIGSEGV : 0;
	tap_part = "touch";
	ok(cudaMallocHost(&locked, 4096) == cudaSuccess, "page-locked memory");
	for (int write = 0; write < 2; write++) {
		ok(touch(device, write != 0) == ends, "a %s of the device's memory ends by signal %d",
			write ? "store" : "load", ends);
		ok(touch(locked, write != 0) == 0, "one of page-locked memory does not");
	}
	ok(fakecuda_is_real() == 1, "there are contents");
	ok(cudaFreeHost(locked) == cudaSuccess && cudaFree(device) == cudaSuccess, "all is given back");
}

static void part_none(const char *why)
{
	int count = 7;
	void *at = NULL;
	tap_part = why;
	ok(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0, "no device");
	ok(cudaMalloc(&at, MIB) == cudaErrorNoDevice && at == NULL, "no memory");
	ok(fakecuda_work(NULL, 0, 0, 0, 1) == 3 && fakecuda_used_bytes() == 0, "nothing behind it");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	(void)setenv("FAKECUDA_CLOCK", "1", 1);
	(void)setenv("FAKECUDA_CAPACITY",
		strcmp(mode, "book") == 0            ? "204800000K"
			: strcmp(mode, "wrong") == 0 ? "64X"
						     : "64M",
		1);
	if (strcmp(mode, "book") == 0) {
		(void)setenv("FAKECUDA_MEMORY", "book", 1);
		part_book();
	} else if (strcmp(mode, "two") == 0 || strcmp(mode, "apart") == 0) {
		(void)setenv("FAKECUDA_DEVICES", "2", 1);
		(void)setenv("FAKECUDA_PEERS", strcmp(mode, "two") == 0 ? "all" : "none", 1);
		part_two(strcmp(mode, "two") == 0);
	} else if (strcmp(mode, "none") == 0) {
		(void)setenv("FAKECUDA", "none", 1);
		part_none("no device");
	} else if (strcmp(mode, "wrong") == 0) {
		part_none("no such capacity");
	} else {
		if (strcmp(mode, "strict") == 0)
			(void)setenv("FAKECUDA_MEMORY", "strict", 1);
		part_device();
		part_memory();
		part_same_device();
		part_copies();
		part_touch(strcmp(mode, "strict") == 0);
		part_events();
		part_times();
		part_registered();
		part_symbols();
		part_capture();
		part_graph();
		part_replay();
		part_kernels();
		part_control();
	}
	return tap_end();
}
