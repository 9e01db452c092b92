/* emu_capture.c: stream capture, and the calls that a capture forbids, querying and waiting for streams and the device,
 * or that end it: destroying a stream.
 *
 * Work that is captured does not run: it goes to a graph (emu_graph.c); what it touched is remembered for as long as
 * the capture lasts.
 */
#include "emu_state.h"

static _Atomic uint64_t last_capture_id;

static const uint64_t no_floors[SEAM_EMU_DEVICES]; /* in a capture nothing has passed */

bool seam__emu_capture_work(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count)
{
	if (!seam__emu_graph_add(e, stream, like, ranges, count, NULL))
		return false;
	stream->captured_number = ++e->next_number;
	return true;
}

void seam__emu_capture_leave(struct emu *e, struct emu_stream *stream)
{
	stream->capture = SEAM_CAPTURE_NONE;
	stream->capture_id = 0;
	stream->capture_origin = false;
	stream->captured_number = 0;
	if (stream->graph != NULL)
		seam__emu_graph_leave(e, stream);
	seam__emu_order_fini(&stream->captured_order, e->meta);
}

struct emu_mark *seam__emu_capture_mark(struct emu *e, struct emu_stream *stream)
{
	const struct emu_work like = {.kind = EMU_RECORD};
	struct emu_mark *mark = seam__slab_get(&e->mark_slab);
	if (mark == NULL)
		return NULL;
	*mark = (struct emu_mark){.references = 1};
	const struct emu_order_entry newest = {stream->id, stream->captured_number, stream->device->ordinal};
	if (seam__emu_order_merge(&mark->order, e->meta, &stream->captured_order, no_floors) &&
		seam__emu_order_add(&mark->order, e->meta, newest) &&
		seam__emu_graph_add(e, stream, &like, NULL, 0, mark))
		return mark;
	seam__emu_mark_put(e, mark);
	return NULL;
}

bool seam__emu_capture_join(struct emu *e, struct emu_stream *stream, uint64_t capture_id, struct emu_mark *mark)
{
	const struct emu_work like = {.kind = EMU_WAIT};
	bool joins = stream->capture == SEAM_CAPTURE_NONE;
	if (joins && !seam__emu_graph_enter(e, seam__emu_capture_origin(e, capture_id)->graph, stream))
		return false;
	if (!seam__emu_order_merge(&stream->captured_order, e->meta, &mark->order, no_floors) ||
		!seam__emu_graph_add(e, stream, &like, NULL, 0, mark)) {
		if (joins)
			seam__emu_capture_leave(e, stream);
		return false;
	}
	stream->capture = SEAM_CAPTURE_ACTIVE;
	stream->capture_id = capture_id;
	return true;
}

/* Whether everything that the capture has seen comes before what its first stream would get now. */
static bool is_joined(struct emu *e, const struct emu_stream *origin)
{
	const struct emu_stream *stream;
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		if (stream != origin && stream->capture_id == origin->capture_id &&
			stream->captured_number > seam__emu_order_get(&origin->captured_order, stream->id))
			return false;
	}
	return true;
}

int seam__emu_op_stream_capture(
	struct seam_driver *d, uint64_t handle, enum seam_capture_state *ret_state, uint64_t *ret_capture_id)
{
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	if (ret_state == NULL || ret_capture_id == NULL)
		return SEAM_CU_INVALID_VALUE;
	*ret_state = stream->capture;
	*ret_capture_id = stream->capture_id;
	return 0;
}

int seam__emu_op_capture_begin(struct seam_driver *d, uint64_t handle)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	if (stream == stream->device->legacy)
		return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture != SEAM_CAPTURE_NONE)
		return SEAM_CU_INVALID_VALUE;
	struct emu_graph *graph = seam__emu_graph_make(e);
	if (graph == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	bool entered = seam__emu_graph_enter(e, graph, stream);
	seam__emu_graph_put(e, graph); /* the stream holds it */
	if (!entered)
		return SEAM_CU_OUT_OF_MEMORY;
	stream->capture = SEAM_CAPTURE_ACTIVE;
	stream->capture_id = atomic_fetch_add(&last_capture_id, 1) + 1;
	stream->capture_origin = true;
	e->active_captures++;
	return 0;
}

int seam__emu_capture_finish(struct emu_device *device, uint64_t handle, uint64_t *ret_id)
{
	struct emu *e = device->e;
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(device, handle, &stream);
	if (cu != 0)
		return cu;
	if (!stream->capture_origin)
		return stream->capture == SEAM_CAPTURE_NONE ? SEAM_CU_INVALID_VALUE : SEAM_CU_STREAM_CAPTURE_UNMATCHED;
	if (stream->capture == SEAM_CAPTURE_INVALIDATED)
		cu = SEAM_CU_STREAM_CAPTURE_INVALIDATED;
	else if (!is_joined(e, stream))
		cu = SEAM_CU_STREAM_CAPTURE_UNJOINED;
	else if (ret_id != NULL && !seam__emu_graph_keep(e, stream->graph))
		cu = SEAM_CU_OUT_OF_MEMORY;
	if (cu == 0 && ret_id != NULL)
		*ret_id = stream->graph->id;
	uint64_t capture_id = stream->capture_id;
	LIST_FOREACH(stream, &e->all_streams, all)
	{ /* those that joined leave with it */
		if (stream->capture_id == capture_id)
			seam__emu_capture_leave(e, stream);
	}
	e->active_captures--;
	return cu;
}

int seam__emu_op_capture_end(struct seam_driver *d, uint64_t handle)
{
	return seam__emu_capture_finish(seam__emu_device_of(d), handle, NULL);
}

int seam__emu_op_stream_destroy(struct seam_driver *d, uint64_t handle)
{
	struct emu *e = seam__emu_of(d);
	if (handle <= SEAM_STREAM_PER_THREAD)
		return SEAM_CU_INVALID_HANDLE;
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	if (stream->capture_origin)
		e->active_captures--;
	seam__emu_capture_leave(e, stream);
	seam__emu_stream_close(e, stream);
	return 0;
}

/* A stream that is asked about. While it is captured, the question itself ends the capture. */
static int find_asked(struct emu_device *device, uint64_t handle, struct emu_stream **ret_stream)
{
	int cu = seam__emu_stream_find(device, handle, ret_stream);
	if (cu != 0 || (*ret_stream)->capture == SEAM_CAPTURE_NONE)
		return cu;
	(*ret_stream)->capture = SEAM_CAPTURE_INVALIDATED;
	return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
}

int seam__emu_op_stream_id(struct seam_driver *d, uint64_t handle, uint64_t *ret_id)
{
	struct emu_device *device = seam__emu_device_of(d);
	struct emu_stream *stream;
	int cu = handle == SEAM_STREAM_PER_THREAD ? seam__emu_stream_find(device, handle, &stream)
						  : find_asked(device, handle, &stream);
	if (cu != 0)
		return cu;
	if (ret_id == NULL)
		return SEAM_CU_INVALID_VALUE;
	*ret_id = stream->id;
	return 0;
}

static bool blocking_are_done(const struct emu_device *device)
{
	const struct emu_stream *stream;
	LIST_FOREACH(stream, &device->e->stuck_streams, stuck)
	{
		if (stream->blocking && stream->device == device)
			return false;
	}
	return device->blocking_tail_ns <= seam__emu_now(device->e);
}

int seam__emu_op_stream_query(struct seam_driver *d, uint64_t handle)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *stream;
	int cu = find_asked(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	if (!seam__emu_is_done(e, stream, NULL) ||
		(stream == stream->device->legacy && !blocking_are_done(stream->device)))
		return SEAM_CU_NOT_READY;
	/* Only now: before, each question would leave work behind. */
	cu = seam__emu_stream_prepare(e, stream);
	if (cu != 0)
		return cu;
	seam__emu_host_learns(e, &stream->order, stream);
	return seam__emu_device_of(d)->sticky;
}

int seam__emu_op_stream_sync(struct seam_driver *d, uint64_t handle)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *stream;
	int cu = find_asked(seam__emu_device_of(d), handle, &stream);
	if (cu == 0)
		cu = seam__emu_stream_prepare(e, stream);
	if (cu != 0)
		return cu;
	/* The mark is of now: what others submit while we wait is not ours to wait for. */
	struct emu_mark *mark = seam__emu_mark_make(e, stream);
	if (mark == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	seam__emu_wait(e, stream, NULL);
	seam__emu_host_learns(e, &mark->order, NULL);
	seam__emu_mark_put(e, mark);
	return seam__emu_device_of(d)->sticky;
}

int seam__emu_op_device_sync(struct seam_driver *d)
{
	struct emu_device *device = seam__emu_device_of(d);
	const struct emu_stream *stream;
	LIST_FOREACH(stream, &device->e->all_streams, all)
	{
		if (stream->device == device && stream->capture != SEAM_CAPTURE_NONE)
			return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	}
	seam__emu_wait_device(device);
	seam__emu_host_learns_all(device);
	return seam__emu_device_of(d)->sticky;
}

void seam__emu_captures_fini(struct emu *e)
{
	struct emu_stream *stream = LIST_FIRST(&e->all_streams);
	while (stream != NULL) {
		bool held = stream->graph != NULL;
		if (held)
			seam__emu_capture_leave(e, stream);
		/* Its branches may have been anywhere in the list. */
		stream = held ? LIST_FIRST(&e->all_streams) : LIST_NEXT(stream, all);
	}
}
