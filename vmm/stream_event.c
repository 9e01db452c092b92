/* stream_event.c: events on streams: recording, asking, ordering. See stream.h.
 *
 * Not here: which streams there are (stream.c), waits (stream_wait.c).
 */
#include <stddef.h>

#include "check.h"
#include "stream.h"
#include "stream_impl.h"

/* An event of another device's stream serves no other: it goes. */
static void give_event(struct seam_streams *streams, const struct seam_stream *stream, struct seam_stream_event *event)
{
	if (!stream->foreign) {
		TAILQ_INSERT_HEAD(&streams->idle, event, link);
		return;
	}
	/* A driver that has shut down refuses; then the event is gone with it. */
	int ignored = seam__drv_event_destroy(streams->driver, event->event);
	(void)ignored;
	seam__slab_put(&streams->event_slab, event);
	streams->events--;
}

void seam__stream_retire_event(
	struct seam_streams *streams, struct seam_stream *stream, struct seam_stream_event *event)
{
	TAILQ_REMOVE(&stream->events, event, link);
	stream->queued--;
	event->queued = false;
	give_event(streams, stream, event);
}

void seam__stream_pass(struct seam_stream *stream, uint64_t tick)
{
	if (tick > stream->passed)
		stream->passed = tick;
	struct seam_stream_event *event;
	while ((event = TAILQ_FIRST(&stream->events)) != NULL && event->tick <= stream->passed)
		seam__stream_retire_event(stream->owner, stream, event);
}

/* The handle may be of a stream that is gone: its id says whether it is. */
static bool is_gone_code(int cu)
{
	return cu == SEAM_CU_INVALID_HANDLE || cu == SEAM_CU_INVALID_VALUE || cu == SEAM_CU_CONTEXT_IS_DESTROYED;
}

int seam__stream_ask(struct seam_driver *driver, uint64_t handle, bool *ret_capturing, uint64_t *ret_id)
{
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t capture_id = 0;
	const int told = seam__drv_stream_capture(driver, handle, &state, &capture_id);
	*ret_capturing = state != SEAM_CAPTURE_NONE || seam__driver_rc(told) == SEAM_CAPTURING;
	if (*ret_capturing)
		return SEAM_CU_SUCCESS;
	if (told != SEAM_CU_SUCCESS && !is_gone_code(told))
		return told; /* it may be captured */
	const int cu = handle > SEAM_STREAM_PER_THREAD ? seam__drv_stream_id(driver, handle, ret_id) : SEAM_CU_SUCCESS;
	*ret_capturing = seam__driver_rc(cu) == SEAM_CAPTURING; /* begun since */
	if (*ret_capturing)
		return SEAM_CU_SUCCESS;
	return cu != SEAM_CU_SUCCESS ? cu : told;
}

enum seam_rc seam__stream_reach(struct seam_stream *stream)
{
	struct seam_driver *driver = stream->owner->driver;
	if (seam__stream_is_dead(stream) || stream->handle == SEAM_NO_STREAM_HANDLE)
		return SEAM_NOT_FOUND;
	uint64_t id = 0;
	int cu = SEAM_CU_SUCCESS;
	if (stream->handle == SEAM_STREAM_PER_THREAD)
		cu = seam__drv_stream_id(driver, stream->handle, &id);
	if (cu == SEAM_CU_SUCCESS && id != 0 && id != stream->id) {
		stream->wanted = true;
		return SEAM_BUSY;
	}
	bool capturing = false;
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__stream_ask(driver, stream->handle, &capturing, &id);
	if (cu == SEAM_CU_INVALID_HANDLE ||
		(cu == SEAM_CU_SUCCESS && !capturing && !seam__stream_take_id(stream, id))) {
		seam__stream_lose(stream);
		return SEAM_NOT_FOUND;
	}
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	stream->capturing = capturing;
	if (capturing)
		return SEAM_CAPTURING;
	cu = stream->placed ? SEAM_CU_SUCCESS : seam__drv_stream_foreign(driver, stream->handle, &stream->foreign);
	stream->placed = cu == SEAM_CU_SUCCESS;
	return seam__driver_rc(cu);
}

static enum seam_rc get_event(
	struct seam_streams *streams, const struct seam_stream *stream, struct seam_stream_event **ret_event)
{
	struct seam_stream_event *event = stream->foreign ? NULL : TAILQ_FIRST(&streams->idle);
	if (event != NULL) {
		TAILQ_REMOVE(&streams->idle, event, link);
		*ret_event = event;
		return SEAM_OK;
	}
	event = seam__slab_get(&streams->event_slab);
	if (event == NULL)
		return SEAM_OOM_META;
	*event = (struct seam_stream_event){0};
	int cu = stream->foreign ? seam__drv_event_create_for(streams->driver, stream->handle, &event->event)
				 : seam__drv_event_create(streams->driver, &event->event);
	if (cu != SEAM_CU_SUCCESS) {
		seam__slab_put(&streams->event_slab, event);
		return seam__driver_rc(cu);
	}
	streams->events++;
	*ret_event = event;
	return SEAM_OK;
}

enum seam_rc seam__stream_record(struct seam_stream *stream)
{
	struct seam_streams *streams = stream->owner;
	struct seam_stream_event *event = NULL;
	if (stream->queued >= SEAM_STREAM_EVENTS) {
		/* The host runs far ahead: later passing of the newest stamps is cheaper than a queue without end. */
		event = TAILQ_LAST(&stream->events, seam_stream_events);
	} else {
		enum seam_rc rc = get_event(streams, stream, &event);
		if (rc != SEAM_OK)
			return rc;
	}
	int cu = seam__drv_event_record(streams->driver, event->event, stream->handle);
	if (cu != SEAM_CU_SUCCESS) {
		if (!event->queued)
			give_event(streams, stream, event);
		return seam__driver_rc(cu);
	}
	event->tick = streams->tick++;
	stream->covered = event->tick;
	stream->wanted = false;
	if (!event->queued) {
		event->queued = true;
		TAILQ_INSERT_TAIL(&stream->events, event, link);
		stream->queued++;
	}
	return SEAM_OK;
}

enum seam_rc seam__stream_cover(struct seam_stream *stream)
{
	if (stream->last_stamp <= stream->covered)
		return SEAM_OK;
	enum seam_rc rc = seam__stream_reach(stream);
	return rc == SEAM_OK ? seam__stream_record(stream) : rc;
}

enum seam_rc seam__stream_poll(struct seam_stream *stream)
{
	struct seam_driver *driver = stream->owner->driver;
	if (stream->capturing && seam__stream_reach(stream) != SEAM_OK && stream->capturing)
		return SEAM_OK;
	struct seam_stream_event *event = TAILQ_LAST(&stream->events, seam_stream_events);
	if (stream->owner->deterministic && event != NULL) {
		int cu = seam__drv_event_sync(driver, event->event);
		if (cu != SEAM_CU_SUCCESS)
			return seam__driver_rc(cu);
		seam__stream_pass(stream, event->tick);
	}
	while ((event = TAILQ_FIRST(&stream->events)) != NULL) {
		int cu = seam__drv_event_query(driver, event->event);
		if (cu == SEAM_CU_NOT_READY)
			break;
		if (cu != SEAM_CU_SUCCESS)
			return seam__driver_rc(cu);
		seam__stream_pass(stream, event->tick);
	}
	return SEAM_OK;
}

enum seam_rc seam__streams_poll_all(struct seam_streams *streams, const struct seam_stream *except)
{
	enum seam_rc first = SEAM_OK;
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index)
	{
		if (stream == except || stream->last_stamp <= stream->passed)
			continue;
		enum seam_rc rc = seam__stream_cover(stream);
		if (rc == SEAM_CAPTURING)
			continue;
		if (rc == SEAM_BUSY || rc == SEAM_NOT_FOUND)
			rc = SEAM_OK;
		enum seam_rc polled = seam__stream_poll(stream);
		rc = rc != SEAM_OK ? rc : polled;
		first = first != SEAM_OK ? first : rc;
	}
	seam__streams_sweep(streams, false);
	return first;
}

enum seam_rc seam__stream_covering_event(
	struct seam_stream *stream, uint64_t stamp, struct seam_stream_event **ret_event)
{
	if (stamp > stream->last_stamp)
		stamp = stream->last_stamp;
	if (stamp > stream->covered) {
		enum seam_rc rc = seam__stream_cover(stream);
		if (rc != SEAM_OK)
			return rc;
	}
	struct seam_stream_event *event;
	TAILQ_FOREACH(event, &stream->events, link)
	if (event->tick >= stamp)
		break;
	SEAM_VERIFY(event != NULL);
	*ret_event = event;
	return SEAM_OK;
}

enum seam_rc seam__stream_order(struct seam_stream *from, uint64_t stamp, struct seam_stream *to)
{
	if (from == to || seam__stream_passed(from, stamp))
		return SEAM_OK;
	enum seam_rc rc = seam__stream_reach(to);
	if (rc != SEAM_OK)
		return rc;
	struct seam_stream_event *event = NULL;
	rc = seam__stream_covering_event(from, stamp, &event);
	if (rc != SEAM_OK)
		return rc;
	return seam__driver_rc(seam__drv_stream_wait_event(from->owner->driver, to->handle, event->event));
}
