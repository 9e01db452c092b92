/* fakecuda.h: what the parts of the fake driver share. */
#ifndef SEAM_TESTS_FAKECUDA_H
#define SEAM_TESTS_FAKECUDA_H

#pragma GCC visibility push(default)
#include <cudaTypedefs.h>
#pragma GCC visibility pop

#include "emu.h"

#define EXPORTED __attribute__((visibility("default")))

#define FAKE_ORDINAL 7 /* the device's handle: not its number, they may differ */

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

/* The device as the environment wants it; false: the environment cannot be understood. */
bool fake_configure(struct seam_emu_config *config);

/* From here on the time of each call is taken, if the environment wants that. */
void fake_time_calls(struct seam_driver *device);

/* A call of fakecuda_more.def in its newest version up to `version`, or NULL. */
void *fake_find_more(const char *symbol, int version);

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
