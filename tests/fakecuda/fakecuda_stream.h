/* fakecuda_stream.h: the fake driver's streams, events and copies. Part of fakecuda.c, of which it uses the statics. */
#ifndef SEAM_TESTS_FAKECUDA_STREAM_H
#define SEAM_TESTS_FAKECUDA_STREAM_H

static CUresult fake_stream_create(CUstream *stream, unsigned flags)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = seam__drv_stream_create(d, flags == CU_STREAM_NON_BLOCKING ? SEAM_STREAM_NONBLOCKING : SEAM_STREAM_BLOCKING,
	                                 &value);
	*stream = (CUstream)(uintptr_t)value;
	return as_result(cu);
}

static CUresult fake_stream_destroy(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_destroy(d, word(stream)));
}

static CUresult fake_stream_id(CUstream stream, unsigned long long *id)
{
	NEEDS_CONTEXT();
	uint64_t value = 0;
	int cu = seam__drv_stream_id(d, word(stream), &value);
	*id = value;
	return as_result(cu);
}

static CUresult fake_stream_query(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_query(d, word(stream)));
}

static CUresult fake_stream_sync(CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_sync(d, word(stream)));
}

static CUresult fake_stream_wait_event(CUstream stream, CUevent event, unsigned flags)
{
	NEEDS_CONTEXT();
	return as_result(flags != 0 ? 1 : seam__drv_stream_wait_event(d, word(stream), (struct seam_event){word(event)}));
}

static CUresult fake_host_func(CUstream stream, CUhostFn function, void *argument)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_stream_host_func(d, word(stream), function, argument));
}

/* While a blocking stream is captured the driver will not speak of the legacy one. */
static _Thread_local bool captures_blocking;

static CUresult fake_capture_begin(CUstream stream, CUstreamCaptureMode mode)
{
	NEEDS_CONTEXT();
	if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	int cu = seam__drv_capture_begin(d, word(stream));
	captures_blocking = cu == 0;
	return as_result(cu);
}

static CUresult fake_capture_end(CUstream stream, CUgraph *graph)
{
	NEEDS_CONTEXT();
	int cu = seam__drv_capture_end(d, word(stream));
	captures_blocking = false;
	*graph = cu == 0 ? (CUgraph)(void *)&retained : NULL;
	return as_result(cu);
}

static CUresult fake_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	NEEDS_CONTEXT();
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t value = 0;
	if (captures_blocking && word(stream) <= 1)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	int cu = seam__drv_stream_capture(d, word(stream), &state, &value);
	*status = (CUstreamCaptureStatus)state;
	*id = value;
	return as_result(cu);
}

static CUresult fake_graph_destroy(CUgraph graph)
{
	return graph == (CUgraph)(void *)&retained ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult fake_event_create(CUevent *event, unsigned flags)
{
	NEEDS_CONTEXT();
	struct seam_event made = {0};
	int cu = flags != CU_EVENT_DISABLE_TIMING ? 1 : seam__drv_event_create(d, &made);
	*event = (CUevent)(uintptr_t)made.id;
	return as_result(cu);
}

static CUresult fake_event_destroy(CUevent event)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_destroy(d, (struct seam_event){word(event)}));
}

static CUresult fake_event_record(CUevent event, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_record(d, (struct seam_event){word(event)}, word(stream)));
}

/* A capture in global mode on any thread would forbid this one: the backend has to have asked for the relaxed mode. */
static CUresult fake_event_query(CUevent event)
{
	NEEDS_CONTEXT();
	if (capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return as_result(seam__drv_event_query(d, (struct seam_event){word(event)}));
}

static CUresult fake_event_sync(CUevent event)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_event_sync(d, (struct seam_event){word(event)}));
}

static CUresult fake_copy_to_device(CUdeviceptr va, const void *from, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_to_device(d, va, from, bytes, word(stream)));
}

static CUresult fake_copy_to_host(void *to, CUdeviceptr va, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_to_host(d, to, va, bytes, word(stream)));
}

static CUresult fake_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_copy_on_device(d, to, from, bytes, word(stream)));
}

static CUresult fake_fill32(CUdeviceptr va, unsigned value, size_t words, CUstream stream)
{
	NEEDS_CONTEXT();
	return as_result(seam__drv_fill32(d, va, value, words, word(stream)));
}

#endif
