/* fakecuda.h: what the parts of the fake driver share. */
#ifndef SEAM_FAKECUDA_H
#define SEAM_FAKECUDA_H

#pragma GCC visibility push(default)
#include <cudaTypedefs.h>
#pragma GCC visibility pop

#include "emu.h"

#define EXPORTED __attribute__((visibility("default")))

#define FAKE_HANDLE 70 /* of device 0; the others' follow. Not its number: they may differ */

/* One for each device that there is; its address is the handle of the device's primary context. */
struct fake_context {
	struct seam_driver
		*driver; /* NULL before cuInit, after the last context has gone, and of devices that there are not */
	int retained;
};
extern struct fake_context fake_contexts[SEAM_EMU_DEVICES];
extern _Thread_local CUcontext fake_current;
extern _Thread_local CUstreamCaptureMode fake_mode;

/* What every call but those on devices and contexts needs. */
#define NEEDS_CONTEXT()                                        \
	struct seam_driver *const fake_device = fake_driver(); \
	if (fake_device == NULL)                               \
	return fake_contexts[0].driver == NULL ? CUDA_ERROR_NOT_INITIALIZED : CUDA_ERROR_INVALID_CONTEXT

static inline CUresult as_result(int cu)
{
	return (CUresult)cu;
}

static inline uint64_t word(const void *handle)
{
	return (uint64_t)(uintptr_t)handle;
}

/* The retained primary context of that handle, or NULL. */
struct fake_context *fake_context_of(CUcontext context);

/* The device of this thread's current context, or NULL. */
struct seam_driver *fake_driver(void);

/* A kernel or a graph was asked for. */
void fake_count_launch(void);

/* The number of a device's handle, or -1. */
int fake_ordinal(CUdevice device);

/* The machine as the environment wants it; false: the environment cannot be understood. */
bool fake_configure(struct seam_emu_config *config);

/* Which GPU the environment wants the devices to be; its memory is their capacity unless that is not 0. false: there is
 * no such GPU. */
bool fake_gpu_configure(uint64_t *capacity_bytes);

/* Its name, as the driver has it. */
const char *fake_gpu_name(void);

/* One of its numbers; false: this one is not known of it, or no GPU is wanted. */
bool fake_gpu_attribute(CUdevice_attribute what, int *ret_value);

/* A program is told of no more memory than that GPU has, less a context. */
void fake_gpu_memory(uint64_t *free_bytes, uint64_t *total_bytes);

/* Whether devices can reach each other's memory. */
bool fake_have_peers(void);

/* From here on the time of each call is taken, if the environment wants that. */
void fake_time_calls(struct seam_driver *device);

/* A call of fakecuda_more.def in its newest version up to `version`, or NULL. */
void *fake_find_more(const char *symbol, int version);

CUresult fake_driver_version(int *version);
CUresult fake_device_attribute(int *value, CUdevice_attribute what, CUdevice device);
CUresult fake_stream_create(CUstream *stream, unsigned flags);
CUresult fake_stream_destroy(CUstream stream);
CUresult fake_stream_id(CUstream stream, unsigned long long *id);
CUresult fake_stream_context(CUstream stream, CUcontext *context);
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
CUresult fake_copy_between(
	CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t bytes, CUstream stream);
CUresult fake_fill32(CUdeviceptr va, unsigned value, size_t words, CUstream stream);

#endif
