/* emu_event.c: events. The points of streams behind them: emu_mark.c.
 *
 * An event points at the mark of its newest record. Work that waits keeps the mark it saw, as in CUDA: a later record
 * does not change what was submitted before.
 */
#include "emu_state.h"

static struct emu_event *find_event(struct emu *e, struct seam_event event)
{
	return seam__emu_table_find(&e->event_table, event.id);
}

static int create(struct emu_device *device, struct seam_event *ret_event)
{
	struct emu *e = device->e;
	if (ret_event == NULL)
		return SEAM_CU_INVALID_VALUE;
	struct emu_event *event = seam__slab_get(&e->event_slab);
	if (event == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	*event = (struct emu_event){.device = device};
	event->id = seam__emu_table_add(&e->event_table, e->meta, event);
	if (event->id == 0) {
		seam__slab_put(&e->event_slab, event);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	ret_event->id = event->id;
	return 0;
}

int seam__emu_op_event_create(struct seam_driver *d, struct seam_event *ret_event)
{
	return create(seam__emu_device_of(d), ret_event);
}

int seam__emu_op_event_create_for(struct seam_driver *d, uint64_t handle, struct seam_event *ret_event)
{
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	return cu != 0 ? cu : create(stream->device, ret_event);
}

static void clear_event(struct emu *e, struct emu_event *event)
{
	if (event->mark != NULL)
		seam__emu_mark_put(e, event->mark);
	event->mark = NULL;
	event->capture_id = 0;
}

int seam__emu_op_event_destroy(struct seam_driver *d, struct seam_event event_id)
{
	struct emu *e = seam__emu_of(d);
	struct emu_event *event = find_event(e, event_id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	clear_event(e, event);
	seam__emu_table_remove(&e->event_table, event->id);
	seam__slab_put(&e->event_slab, event);
	return 0;
}

/* The event and the stream of a call; the stream is ready for work. */
static int find_both(struct emu_device *device, struct seam_event event_id, uint64_t handle,
	struct emu_event **ret_event, struct emu_stream **ret_stream)
{
	*ret_event = find_event(device->e, event_id);
	int cu = seam__emu_stream_find(device, handle, ret_stream);
	if (*ret_event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	return cu != 0 ? cu : seam__emu_stream_prepare(device->e, *ret_stream);
}

int seam__emu_op_event_record(struct seam_driver *d, struct seam_event event_id, uint64_t handle)
{
	struct emu *e = seam__emu_of(d);
	struct emu_event *event;
	struct emu_stream *stream;
	int cu = find_both(seam__emu_device_of(d), event_id, handle, &event, &stream);
	if (cu == 0 && event->device != stream->device)
		cu = SEAM_CU_INVALID_HANDLE;
	if (cu != 0)
		return cu;
	bool captured = stream->capture == SEAM_CAPTURE_ACTIVE;
	struct emu_mark *mark = captured ? seam__emu_capture_mark(e, stream) : seam__emu_mark_make(e, stream);
	if (mark == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (captured) {
		clear_event(e, event);
		event->capture_id = stream->capture_id;
		event->mark = mark;
		return 0;
	}
	if (STAILQ_EMPTY(&stream->queue)) {
		mark->resolved = true;
		mark->time_ns = stream->tail_ns;
	} else {
		struct emu_work *work = seam__emu_work_make(e, stream, EMU_RECORD);
		if (work == NULL) {
			seam__emu_mark_put(e, mark);
			return SEAM_CU_OUT_OF_MEMORY;
		}
		mark->references++;
		work->mark = mark;
		seam__emu_work_submit(e, work);
	}
	clear_event(e, event);
	event->mark = mark;
	event->recorded_ns = seam__emu_now(e);
	return 0;
}

int seam__emu_op_event_query(struct seam_driver *d, struct seam_event event_id)
{
	struct emu *e = seam__emu_of(d);
	struct emu_event *event = find_event(e, event_id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (event->capture_id != 0)
		return SEAM_CU_CAPTURED_EVENT;
	if (event->mark == NULL)
		return 0;
	if (!seam__emu_is_done(e, NULL, event->mark))
		return SEAM_CU_NOT_READY;
	seam__emu_host_learns(e, &event->mark->order, NULL);
	return seam__emu_device_of(d)->sticky;
}

int seam__emu_op_event_sync(struct seam_driver *d, struct seam_event event_id)
{
	struct emu *e = seam__emu_of(d);
	struct emu_event *event = find_event(e, event_id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (event->capture_id != 0)
		return SEAM_CU_CAPTURED_EVENT;
	struct emu_mark *mark = event->mark;
	if (mark == NULL)
		return 0;
	mark->references++; /* the event may be recorded again meanwhile */
	seam__emu_wait(e, NULL, mark);
	seam__emu_host_learns(e, &mark->order, NULL);
	seam__emu_mark_put(e, mark);
	return seam__emu_device_of(d)->sticky;
}

static int time_of(struct emu *e, const struct emu_event *event, uint64_t *ret_ns)
{
	if (event == NULL || event->mark == NULL || event->capture_id != 0)
		return SEAM_CU_INVALID_HANDLE;
	if (!seam__emu_is_done(e, NULL, event->mark))
		return SEAM_CU_NOT_READY;
	/* A stream that had nothing left to do was there before it was asked. */
	*ret_ns = event->mark->time_ns > event->recorded_ns ? event->mark->time_ns : event->recorded_ns;
	return 0;
}

int seam__emu_event_time(struct seam_driver *d, struct seam_event event_id, uint64_t *ret_ns)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	int cu = time_of(e, find_event(e, event_id), ret_ns);
	seam__mutex_unlock(&e->lock);
	return cu;
}

/* A captured event takes the stream that waits for it into the capture. */
static int wait_captured(struct emu *e, const struct emu_event *event, struct emu_stream *stream)
{
	if (seam__emu_capture_origin(e, event->capture_id) == NULL)
		return SEAM_CU_CAPTURED_EVENT;
	if (stream->capture != SEAM_CAPTURE_NONE && stream->capture_id != event->capture_id)
		return SEAM_CU_STREAM_CAPTURE_ISOLATION;
	return seam__emu_capture_join(e, stream, event->capture_id, event->mark) ? 0 : SEAM_CU_OUT_OF_MEMORY;
}

int seam__emu_op_stream_wait_event(struct seam_driver *d, uint64_t handle, struct seam_event event_id)
{
	struct emu *e = seam__emu_of(d);
	struct emu_event *event;
	struct emu_stream *stream;
	int cu = find_both(seam__emu_device_of(d), event_id, handle, &event, &stream);
	if (cu != 0)
		return cu;
	if (event->capture_id != 0)
		return wait_captured(e, event, stream);
	if (event->mark == NULL)
		return 0;
	if (stream->capture == SEAM_CAPTURE_ACTIVE) { /* the graph would depend on work outside it */
		stream->capture = SEAM_CAPTURE_INVALIDATED;
		return SEAM_CU_STREAM_CAPTURE_ISOLATION;
	}
	struct emu_work *work = seam__emu_work_make(e, stream, EMU_WAIT);
	if (work == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (!seam__emu_order_merge(&stream->order, e->meta, &event->mark->order, e->floors)) {
		seam__emu_work_drop(e, work);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	work->mark = event->mark;
	work->mark->references++;
	seam__emu_work_submit(e, work);
	return 0;
}

void seam__emu_events_fini(struct emu *e)
{
	for (uint32_t i = 0; i < e->event_table.used; i++) {
		struct emu_event *event = seam__emu_table_at(&e->event_table, i);
		if (event != NULL)
			clear_event(e, event);
	}
	seam__emu_table_fini(&e->event_table, e->meta);
	(void)seam__slab_fini(&e->event_slab);
	(void)seam__slab_fini(&e->mark_slab);
}
