/* stream_wait.c: waits for the device without the pool's lock. See stream.h. */
#include <stddef.h>

#include "stream.h"
#include "stream_impl.h"

enum seam_rc seam__streams_uncaptured(struct seam_streams *streams)
{
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index)
	{
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
	return wait->done ? SEAM_OK : seam__driver_rc(cu);
}

void seam__streams_wait_all_end(struct seam_streams *streams, struct seam_wait_all *wait)
{
	if (!wait->done)
		return;
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index)
	{
		if (stream->foreign)
			continue;
		seam__stream_pass(stream, wait->tick);
		if (stream->covered < wait->tick)
			stream->covered = wait->tick;
	}
	seam__streams_sweep(streams, false);
}
