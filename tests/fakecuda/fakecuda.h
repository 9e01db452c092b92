/* fakecuda.h: what the two halves of the fake driver share. */
#ifndef SEAM_TESTS_FAKECUDA_H
#define SEAM_TESTS_FAKECUDA_H

#include <cudaTypedefs.h>

#include "emu.h"

extern struct seam_driver *fake_device; /* NULL before cuInit, and after the context has gone */
extern struct CUctx_st *const fake_context;
extern _Thread_local CUcontext fake_current;
extern _Thread_local CUstreamCaptureMode fake_mode;

/* What every call but those on devices and contexts needs. */
#define NEEDS_CONTEXT()                                    \
	do {                                               \
		if (fake_device == NULL)                   \
			return CUDA_ERROR_NOT_INITIALIZED; \
		if (fake_current != fake_context)          \
			return CUDA_ERROR_INVALID_CONTEXT; \
	} while (0)

static inline CUresult as_result(int cu)
{
	return (CUresult)cu;
}

static inline uint64_t word(const void *handle)
{
	return (uint64_t)(uintptr_t)handle;
}

CUresult fake_stream_create(CUstream *stream, unsigned flags);
CUresult fake_stream_destroy(CUstream stream);
CUresult fake_stream_id(CUstream stream, unsigned long long *id);
CUresult fake_stream_query(CUstream stream);
CUresult fake_stream_sync(CUstream stream);
CUresult fake_stream_wait_event(CUstream stream, CUevent event, unsigned flags);
CUresult fake_host_func(CUstream stream, CUhostFn function, void *argument);
CUresult fake_capture_begin(CUstream stream, CUstreamCaptureMode mode);
CUresult fake_capture_end(CUstream stream, CUgraph *graph);
CUresult fake_capture_info(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id);
CUresult fake_graph_destroy(CUgraph graph);
CUresult fake_event_create(CUevent *event, unsigned flags);
CUresult fake_event_destroy(CUevent event);
CUresult fake_event_record(CUevent event, CUstream stream);
CUresult fake_event_query(CUevent event);
CUresult fake_event_sync(CUevent event);
CUresult fake_copy_to_device(CUdeviceptr va, const void *from, size_t bytes, CUstream stream);
CUresult fake_copy_to_host(void *to, CUdeviceptr va, size_t bytes, CUstream stream);
CUresult fake_copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult fake_fill32(CUdeviceptr va, unsigned value, size_t words, CUstream stream);

#endif
