/* fakecuda_stream.c: the fake driver's streams, events and copies. */
#include "fakecuda.h"

CUresult fake_stream_create(CUstream *stream, unsigned flags)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = seam__drv_stream_create(
		fake_device, flags == CU_STREAM_NON_BLOCKING ? SEAM_STREAM_NONBLOCKING : SEAM_STREAM_BLOCKING, &value);
	*stream = (CUstream)(uintptr_t)value;
	return as_result(cu);
}

CUresult fake_stream_destroy(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_destroy(fake_device, word(stream)));
}

CUresult fake_stream_id(CUstream stream, unsigned long long *id)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = seam__drv_stream_id(fake_device, word(stream), &value);
	*id = value;
	return as_result(cu);
}

CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
	NEEDS_CONTEXT();
	int ordinal = 0;
	int cu = seam__emu_stream_ordinal(fake_device, word(stream), &ordinal);
	if (cu == 0)
		*context = (CUcontext)(void *)&fake_contexts[ordinal];
	return as_result(cu);
}

CUresult fake_stream_query(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_query(fake_device, word(stream)));
}

CUresult fake_stream_sync(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_sync(fake_device, word(stream)));
}

/* In the handle of an event with times. The emulator's own numbers are smaller. */
#define TIMED (UINT64_C(1) << 63)

static struct seam_event event_of(CUevent event)
{
	return (struct seam_event){word(event) & ~TIMED};
}

CUresult fake_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
	NEEDS_CONTEXT();
	return as_result(flags != 0 ? 1 : seam__drv_stream_wait_event(fake_device, word(stream), event_of(event)));
}

CUresult fake_host_func(CUstream stream, CUhostFn function, void *argument)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_host_func(fake_device, word(stream), function, argument));
}

/* While a blocking stream is captured the driver will not speak of the legacy one. */
static _Thread_local CUcontext captures_blocking;

CUresult fake_capture_begin(CUstream stream, CUstreamCaptureMode mode)
{
	NEEDS_CONTEXT();
	if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	int cu = seam__drv_capture_begin(fake_device, word(stream));
	captures_blocking = cu == 0 ? fake_current : NULL;
	return as_result(cu);
}

CUresult fake_capture_end(CUstream stream, CUgraph *graph)
{
	NEEDS_CONTEXT();
	uint64_t id = 0;
	int cu = seam__emu_capture_keep(fake_device, word(stream), &id);
	captures_blocking = NULL;
	*graph = (CUgraph)(uintptr_t)id;
	return as_result(cu);
}

CUresult fake_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	NEEDS_CONTEXT();
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t value = 0;
	if (captures_blocking == fake_current && word(stream) <= 1)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	int cu = seam__drv_stream_capture(fake_device, word(stream), &state, &value);
	*status = (CUstreamCaptureStatus)state;
	*id = value;
	return as_result(cu);
}

CUresult fake_graph_destroy(CUgraph graph)
{
	/* A graph is of no context. */
	for (int i = 0; i < SEAM_EMU_DEVICES; i++) {
		if (fake_contexts[i].driver != NULL)
			return as_result(seam__emu_graph_destroy(fake_contexts[i].driver, word(graph)));
	}
	return CUDA_ERROR_NOT_INITIALIZED;
}

/* The CUDA backend has no use for times, and must say so. */
CUresult fake_event_create(CUevent *event, unsigned flags)
{
	NEEDS_CONTEXT();
	struct seam_event made = {0};
	int cu = flags != CU_EVENT_DISABLE_TIMING ? 1 : seam__drv_event_create(fake_device, &made);
	*event = (CUevent)(uintptr_t)made.id;
	return as_result(cu);
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	if ((flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING)) != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	CUresult cu = fake_event_create(event, CU_EVENT_DISABLE_TIMING);
	if (cu == CUDA_SUCCESS && (flags & CU_EVENT_DISABLE_TIMING) == 0)
		*event = (CUevent)(uintptr_t)(word(*event) | TIMED);
	return cu;
}

CUresult cuEventElapsedTime(float *ms, CUevent first, CUevent last)
{
	NEEDS_CONTEXT();
	uint64_t ns[2] = {0, 0};
	if ((word(first) & word(last) & TIMED) == 0)
		return CUDA_ERROR_INVALID_HANDLE;
	int cu = seam__emu_event_time(fake_device, event_of(first), &ns[0]);
	if (cu == 0)
		cu = seam__emu_event_time(fake_device, event_of(last), &ns[1]);
	if (cu == 0)
		*ms = (float)((double)(int64_t)(ns[1] - ns[0]) / 1e6);
	return as_result(cu);
}

CUresult fake_event_destroy(CUevent event)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_destroy(fake_device, event_of(event)));
}

CUresult fake_event_record(CUevent event, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_record(fake_device, event_of(event), word(stream)));
}

/* A capture in global mode on any thread would forbid this one: the backend has to have asked for the relaxed mode. */
CUresult fake_event_query(CUevent event)
{
	NEEDS_CONTEXT();
	if (fake_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return as_result(seam__drv_event_query(fake_device, event_of(event)));
}

CUresult fake_event_sync(CUevent event)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_sync(fake_device, event_of(event)));
}

CUresult fake_copy_to_device(CUdeviceptr va, const void *from, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_to_device(fake_device, va, from, bytes, word(stream)));
}

CUresult fake_copy_to_host(void *to, CUdeviceptr va, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_to_host(fake_device, to, va, bytes, word(stream)));
}

CUresult fake_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_on_device(fake_device, to, from, bytes, word(stream)));
}

CUresult fake_copy_between(
	CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	const struct fake_context *contexts[2] = {fake_context_of(to_context), fake_context_of(from_context)};
	if (contexts[0] == NULL || contexts[1] == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	return as_result(seam__drv_copy_between(
		fake_device, contexts[0]->driver, to, contexts[1]->driver, from, bytes, word(stream)));
}

CUresult fake_fill32(CUdeviceptr va, unsigned value, size_t words, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_fill32(fake_device, va, value, words, word(stream)));
}
