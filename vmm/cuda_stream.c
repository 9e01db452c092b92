/* cuda_stream.c: the table's calls on streams, events and copies on CUDA. */
#include "cuda_api.h"

static CUevent event_of(struct seam_event event)
{
	return (CUevent)(uintptr_t)event.id;
}

int seam__cuda_op_stream_create(struct seam_driver *d, enum seam_stream_kind kind, uint64_t *ret_stream)
{
	CUstream stream = NULL;
	unsigned flags = kind == SEAM_STREAM_NONBLOCKING ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
	CUresult cu = seam__cuda_of(d)->api->stream_create(&stream, flags);
	if (cu == CUDA_SUCCESS)
		*ret_stream = (uintptr_t)stream;
	return (int)cu;
}

int seam__cuda_op_stream_destroy(struct seam_driver *d, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->stream_destroy(seam__cuda_stream(stream));
}

#define OF_THREAD (UINT64_C(1) << 63) /* no id of the driver's has it */

/* A thread has one stream of its own, so its number will do, and is told during a capture, too. */
int seam__cuda_op_stream_id(struct seam_driver *d, uint64_t stream, uint64_t *ret_id)
{
	if (stream == SEAM_STREAM_PER_THREAD) {
		*ret_id = OF_THREAD | seam__driver_thread();
		return CUDA_SUCCESS;
	}
	unsigned long long id = 0;
	CUresult cu = seam__cuda_of(d)->api->stream_id(seam__cuda_stream(stream), &id);
	if (cu == CUDA_SUCCESS)
		*ret_id = id;
	return (int)cu;
}

int seam__cuda_op_stream_foreign(struct seam_driver *d, uint64_t stream, bool *ret_foreign)
{
	const struct cuda *c = seam__cuda_of(d);
	CUcontext context = c->context;
	CUresult cu = stream > SEAM_STREAM_PER_THREAD ? c->api->stream_context(seam__cuda_stream(stream), &context)
						      : CUDA_SUCCESS;
	if (cu == CUDA_SUCCESS)
		*ret_foreign = context != c->context;
	return (int)cu;
}

int seam__cuda_op_stream_capture(
	struct seam_driver *d, uint64_t stream, enum seam_capture_state *ret_state, uint64_t *ret_capture_id)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	cuuint64_t id = 0;
	CUresult cu = seam__cuda_of(d)->api->capture_info(seam__cuda_stream(stream), &status, &id);
	/* The legacy stream is never captured, but while a blocking stream is, the driver will not say so. */
	if (cu == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT && stream <= SEAM_STREAM_LEGACY) {
		cu = CUDA_SUCCESS;
		status = CU_STREAM_CAPTURE_STATUS_NONE;
	}
	if (cu != CUDA_SUCCESS)
		return (int)cu;
	*ret_state = (enum seam_capture_state)status; /* numbered alike */
	*ret_capture_id = status == CU_STREAM_CAPTURE_STATUS_NONE ? 0 : id;
	return 0;
}

int seam__cuda_op_capture_begin(struct seam_driver *d, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->capture_begin(seam__cuda_stream(stream), CU_STREAM_CAPTURE_MODE_RELAXED);
}

int seam__cuda_op_capture_end(struct seam_driver *d, uint64_t stream)
{
	const struct cuda_api *api = seam__cuda_of(d)->api;
	CUgraph graph = NULL;
	CUresult cu = api->capture_end(seam__cuda_stream(stream), &graph);
	if (graph == NULL)
		return (int)cu;
	CUresult dropped = api->graph_destroy(graph);
	return (int)(cu != CUDA_SUCCESS ? cu : dropped);
}

int seam__cuda_op_stream_query(struct seam_driver *d, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->stream_query(seam__cuda_stream(stream));
}

int seam__cuda_op_stream_sync(struct seam_driver *d, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->stream_sync(seam__cuda_stream(stream));
}

int seam__cuda_op_stream_wait_event(struct seam_driver *d, uint64_t stream, struct seam_event event)
{
	return (int)seam__cuda_of(d)->api->stream_wait_event(
		seam__cuda_stream(stream), event_of(event), CU_EVENT_WAIT_DEFAULT);
}

int seam__cuda_op_stream_host_func(struct seam_driver *d, uint64_t stream, void (*function)(void *), void *argument)
{
	return (int)seam__cuda_of(d)->api->host_func(seam__cuda_stream(stream), function, argument);
}

int seam__cuda_op_device_sync(struct seam_driver *d)
{
	return (int)seam__cuda_of(d)->api->context_sync();
}

int seam__cuda_op_event_create(struct seam_driver *d, struct seam_event *ret_event)
{
	CUevent event = NULL;
	CUresult cu = seam__cuda_of(d)->api->event_create(&event, CU_EVENT_DISABLE_TIMING);
	if (cu == CUDA_SUCCESS)
		ret_event->id = (uintptr_t)event;
	return (int)cu;
}

int seam__cuda_op_event_create_for(struct seam_driver *d, uint64_t stream, struct seam_event *ret_event)
{
	const struct cuda *c = seam__cuda_of(d);
	CUcontext context = NULL;
	CUevent event = NULL;
	CUresult cu = c->api->stream_context(seam__cuda_stream(stream), &context);
	if (cu == CUDA_SUCCESS)
		cu = c->api->context_set(context);
	if (cu != CUDA_SUCCESS)
		return (int)cu;
	cu = c->api->event_create(&event, CU_EVENT_DISABLE_TIMING);
	(void)c->api->context_set(c->context); /* can fail only where the driver is gone */
	if (cu == CUDA_SUCCESS)
		ret_event->id = (uintptr_t)event;
	return (int)cu;
}

int seam__cuda_op_event_destroy(struct seam_driver *d, struct seam_event event)
{
	return (int)seam__cuda_of(d)->api->event_destroy(event_of(event));
}

int seam__cuda_op_event_record(struct seam_driver *d, struct seam_event event, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->event_record(event_of(event), seam__cuda_stream(stream));
}

int seam__cuda_op_event_query(struct seam_driver *d, struct seam_event event)
{
	return (int)seam__cuda_of(d)->api->event_query(event_of(event));
}

int seam__cuda_op_event_sync(struct seam_driver *d, struct seam_event event)
{
	return (int)seam__cuda_of(d)->api->event_sync(event_of(event));
}

int seam__cuda_op_copy_to_device(struct seam_driver *d, uint64_t va, const void *from, uint64_t bytes, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->copy_to_device(va, from, bytes, seam__cuda_stream(stream));
}

int seam__cuda_op_copy_to_host(struct seam_driver *d, void *to, uint64_t va, uint64_t bytes, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->copy_to_host(to, va, bytes, seam__cuda_stream(stream));
}

int seam__cuda_op_copy_on_device(
	struct seam_driver *d, uint64_t to_va, uint64_t from_va, uint64_t bytes, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->copy_on_device(to_va, from_va, bytes, seam__cuda_stream(stream));
}

int seam__cuda_op_copy_between(struct seam_driver *d, struct seam_driver *to, uint64_t to_va, struct seam_driver *from,
	uint64_t from_va, uint64_t bytes, uint64_t stream)
{
	return (int)seam__cuda_of(d)->api->copy_between(to_va, seam__cuda_of(to)->context, from_va,
		seam__cuda_of(from)->context, bytes, seam__cuda_stream(stream));
}

int seam__cuda_op_fill32(struct seam_driver *d, uint64_t va, uint32_t value, uint64_t words, uint64_t stream)
{
	if (words == 0)
		return SEAM_CU_SUCCESS; /* the header does not say what the driver makes of nothing */
	return (int)seam__cuda_of(d)->api->fill32(va, value, words, seam__cuda_stream(stream));
}
