/* stream_wait.c: waits for device work without the pool's lock. See stream.h. */
#include <stddef.h>

#include "check.h"
#include "stream.h"
#include "stream_impl.h"

enum seam_rc seam__stream_wait_begin(struct seam_stream *stream, uint64_t stamp, struct seam_wait *ret_wait)
{
	if (seam__stream_passed(stream, stamp)) {
		*ret_wait = (struct seam_wait){.done = true};
		return SEAM_OK;
	}
	struct seam_stream_event *event = NULL;
	enum seam_rc rc = seam__stream_covering_event(stream, stamp, &event);
	if (rc != SEAM_OK)
		return rc;
	event->waiters++;
	seam__stream_ref(stream);
	*ret_wait = (struct seam_wait){.stream = stream, .event = event, .tick = event->tick};
	return SEAM_OK;
}

enum seam_rc seam__wait_run(struct seam_driver *driver, struct seam_wait *wait)
{
	if (wait->stream == NULL)
		return SEAM_OK;
	int cu = seam__drv_event_sync(driver, wait->event->event);
	wait->done = cu == SEAM_CU_SUCCESS;
	return wait->done ? SEAM_OK : seam__stream_rc(cu);
}

void seam__wait_end(struct seam_streams *streams, struct seam_wait *wait)
{
	if (wait->stream == NULL)
		return;
	if (wait->done)
		seam__stream_pass(wait->stream, wait->tick);
	struct seam_stream_event *event = wait->event;
	SEAM_ASSERT(event->waiters > 0);
	if (--event->waiters == 0 && !event->queued)
		TAILQ_INSERT_HEAD(&streams->idle, event, link);
	seam__stream_unref(wait->stream);
	*wait = (struct seam_wait){.done = wait->done};
}

enum seam_rc seam__streams_uncaptured(struct seam_streams *streams)
{
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index) {
		/* What is lost, or another thread's, cannot be asked. */
		enum seam_rc rc = seam__stream_reach(stream);
		if (rc != SEAM_OK && rc != SEAM_NOT_FOUND && rc != SEAM_BUSY)
			return rc;
	}
	return SEAM_OK;
}

enum seam_rc seam__streams_wait_all_begin(struct seam_streams *streams, struct seam_wait_all *ret_wait)
{
	enum seam_rc rc = seam__streams_uncaptured(streams);
	if (rc != SEAM_OK)
		return rc;
	*ret_wait = (struct seam_wait_all){.tick = streams->tick++};
	return SEAM_OK;
}

enum seam_rc seam__wait_all_run(struct seam_driver *driver, struct seam_wait_all *wait)
{
	int cu = seam__drv_device_sync(driver);
	wait->done = cu == SEAM_CU_SUCCESS;
	return wait->done ? SEAM_OK : seam__stream_rc(cu);
}

void seam__streams_wait_all_end(struct seam_streams *streams, struct seam_wait_all *wait)
{
	if (!wait->done)
		return;
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index) {
		seam__stream_pass(stream, wait->tick);
		if (stream->covered < wait->tick)
			stream->covered = wait->tick;
	}
	seam__streams_sweep(streams, false);
}
