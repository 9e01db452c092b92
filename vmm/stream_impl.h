/* stream_impl.h: what the three files of the stream registry share. Nobody else includes it.
 *
 * The lock of stream.h guards all of it.
 */
#ifndef SEAM_VMM_STREAM_IMPL_H
#define SEAM_VMM_STREAM_IMPL_H

#include "stream.h"

static inline bool seam__stream_is_dead(const struct seam_stream *stream)
{
	return stream->destroyed || stream->lost;
}

/* What the driver says of a handle: whether the stream is being captured and, where it is not, its id (of a captured
 * one the driver tells none). The ids of the legacy and of per-thread streams are left alone. Returns the driver's
 * code: INVALID_HANDLE if the stream is gone. A capture that another thread begins meanwhile may be lost. */
SEAM_MUST_USE int seam__stream_ask(struct seam_driver *driver, uint64_t handle, bool *ret_capturing, uint64_t *ret_id);

/* The id that is told of the stream's handle. One whose id was not told yet has it from here on. False: the id is
 * another stream's. */
static inline bool seam__stream_take_id(struct seam_stream *stream, uint64_t id)
{
	if (stream->id == 0)
		stream->id = id;
	return stream->id == id;
}

/* Whether work can be put behind this stream now: it still is what its handle names, on this thread, and is not being
 * captured. Errors: SEAM_NOT_FOUND (dead; lost from now on if it was not; no stream), SEAM_BUSY (another thread's),
 * SEAM_CAPTURING, the driver's. */
SEAM_MUST_USE enum seam_rc seam__stream_reach(struct seam_stream *stream);

/* Records an event on a stream that was reached. The tick moves on. Errors: SEAM_OOM_META, the driver's: nothing has
 * changed. */
SEAM_MUST_USE enum seam_rc seam__stream_record(struct seam_stream *stream);

/* The oldest event that covers the stamp, recorded now if there is none. The stamp has not passed. Errors: those of
 * cover. */
SEAM_MUST_USE enum seam_rc seam__stream_covering_event(
	struct seam_stream *stream, uint64_t stamp, struct seam_stream_event **ret_event);

/* Every stamp <= tick is done: the events that say no more than that leave the queue. */
void seam__stream_pass(struct seam_stream *stream, uint64_t tick);

/* Takes a queued event out of the queue: it is idle. */
void seam__stream_retire_event(
	struct seam_streams *streams, struct seam_stream *stream, struct seam_stream_event *event);

/* Gives the stream up as destroyed without notice. It is not dead yet. */
void seam__stream_lose(struct seam_stream *stream);

/* Frees the entries of dead streams on which nothing is pending and which nobody refers to; with live_too, of any such
 * stream. */
void seam__streams_sweep(struct seam_streams *streams, bool live_too);

#endif
