/* stream.h: which device work has passed: the streams that a pool has seen, and ticks instead of an event per free.
 *
 * A registry has one counter, the *tick*. A free is *stamped* with the current tick: no driver call. An event recorded
 * on a stream at tick t *covers* every stamp <= t of that stream; the tick then becomes t + 1. When the event has
 * passed, so has everything that it covers. So one event, recorded only when another stream or an unmapping asks,
 * answers for any number of frees.
 *
 * Not here: what the memory is, and who may have it. Policy: when to poll, order or wait.
 *
 * Streams are known by their driver id, not by their handle: a handle may be destroyed and given out again.
 *   - The legacy default stream has two handles (0 and 1) and one entry. - SEAM_STREAM_PER_THREAD has an entry per
 *   thread, and only that thread can record on it. A cover asked for by another
 *     thread answers SEAM_BUSY and is made up for when the owner next calls seam__streams_find().
 *   - A stream whose destruction was announced (seam__stream_destroyed) is covered a last time and passes as any other.
 *   - One that was found destroyed, or replaced under its handle, without notice is *lost*: nothing can be recorded on
 *   it any more.
 *     What events cover passes; the rest passes by seam__streams_wait_all_*() only.
 *   - SEAM_NO_STREAM has an entry like a stream, if the owner allows it: no work is ever on it, so what is stamped
 * there has passed. It stands for the host, which uses its memory without a stream.
 *   - On a stream that is being captured nothing is recorded or queried: its stamps stay until the capture has ended.
 *     Nor does the driver tell its id: one that is found during a capture has the first id that is told of its handle,
 *     so that where it is destroyed before that, without notice, its successor under the handle is taken for it. So is
 *     a successor that is captured when it is first seen, until its capture has ended.
 *
 * Invariants (seam__streams_check)
 *   ST1  passed <= covered < tick, and last_stamp <= tick, for every stream
 *   ST2  a stream's events have rising ticks, above passed and at most covered; the newest has covered's tick, unless
 *       covered = passed
 *   ST3  at most SEAM_STREAM_EVENTS events are queued per stream: the newest is recorded again rather than one added
 *   ST4  a stream is in the tree unless it is destroyed or lost
 *   ST5  indexes are unique, and rise along the list
 *
 * Locks: none inside. The lock of the pool that owns the registry guards everything here, but seam__wait_all_run(),
 * which is called without it. No other function waits, except in deterministic mode.
 *
 * Lifetime: a struct seam_stream that has been looked up is valid until the lock is dropped, or the next call that
 * takes the registry (find, destroyed, poll_all, ..._end, unref). Who keeps a pointer longer holds a reference. A dead
 * stream's entry goes when everything on it has passed and nobody refers to it; entries of streams that just fell
 * silent are swept when there are many. So memory stays bounded however many streams and threads a program makes.
 */
#ifndef SEAM_VMM_STREAM_H
#define SEAM_VMM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>

#include "driver.h"
#include "list.h"
#include "slab.h"
#include "tree.h"

struct seam_meta;
struct seam_streams;

#define SEAM_STREAM_EVENTS 32u
#define SEAM_NO_STREAM_HANDLE UINT64_MAX /* SEAM_NO_STREAM of seam.h */

/* An event recorded on a stream. */
struct seam_stream_event {
	TAILQ_ENTRY(seam_stream_event) link; /* in its stream's queue, or in the registry's idle list */
	struct seam_event event;
	uint64_t tick; /* covers the stamps <= tick; valid while queued */
	bool queued;
};

TAILQ_HEAD(seam_stream_events, seam_stream_event);

struct seam_stream {
	RB_ENTRY(seam_stream) by_handle; /* valid unless destroyed or lost */
	TAILQ_ENTRY(seam_stream) by_index;
	struct seam_streams *owner;
	uint64_t handle;     /* SEAM_STREAM_DEFAULT for both of the legacy stream's names */
	uint64_t id;         /* the driver's: unique for the life of the process; 0: not told yet */
	uint32_t index;      /* the lowest that was free when the stream was first seen */
	uint32_t references; /* seam__stream_ref() not yet given back */
	uint64_t last_stamp; /* tick of the newest stamp; 0: none */
	uint64_t covered;    /* every stamp <= covered has passed or is covered by a queued event */
	uint64_t passed;     /* every stamp <= passed is done */
	uint32_t queued;     /* length of events */
	bool capturing;      /* as the driver said when last asked */
	bool destroyed;      /* with notice */
	bool lost;           /* without notice */
	bool wanted;         /* per-thread stream: another thread asked for a cover */
	bool placed;         /* the driver was asked whether it is: */
	bool foreign; /* of another device: its events are recorded nowhere else, and waiting for the device does not
			 wait for it */
	struct seam_stream_events events; /* oldest first */
};

TAILQ_HEAD(seam_stream_list, seam_stream);
SEAM_TREE_HEAD(seam_stream_tree, struct seam_stream);

struct seam_streams {
	struct seam_driver *driver;
	uint64_t tick; /* >= 1 */
	bool deterministic;
	bool allows_none;         /* SEAM_NO_STREAM_HANDLE is no error; set by the owner after init */
	struct seam_stream *last; /* found last by handle; NULL, or in the tree and not per-thread */
	struct seam_stream_tree tree;
	struct seam_stream_list list; /* every entry, by index */
	uint32_t count;
	uint32_t sweep_at;              /* the count at which silent entries are looked for */
	struct seam_stream_events idle; /* to be recorded again */
	uint64_t events;                /* created and not destroyed: queued or idle */
	struct seam_slab stream_slab;
	struct seam_slab event_slab;
};

/* A wait for everything. */
struct seam_wait_all {
	uint64_t tick; /* passes when the wait has succeeded */
	bool done;     /* run has succeeded */
};

/* Nothing is allocated or called yet. deterministic: polls wait instead of asking, so that the outcome does not depend
 * on time. driver and meta must outlive the registry. */
void seam__streams_init(
	struct seam_streams *streams, struct seam_driver *driver, struct seam_meta *meta, bool deterministic);

/* Destroys all events and entries. Waits for nothing: the caller has waited, or the device is gone. Returns how many
 * references were never given back: 0 unless there is a bug. */
uint64_t seam__streams_fini(struct seam_streams *streams);

/* The entry of a handle, made if there is none. O(1) and no driver call for the stream found last, unless `verify`:
 * that asks the driver for the handle's id (unless the stream is being captured) and, where it is a new one, gives the
 * old entry up as lost. Per-thread streams are told apart each time. Errors: SEAM_OOM_META, and the driver's
 * (SEAM_DRIVER for a handle that is no stream); SEAM_INVALID for SEAM_NO_STREAM_HANDLE where it is not allowed. */
SEAM_MUST_USE enum seam_rc seam__streams_find(
	struct seam_streams *streams, uint64_t handle, bool verify, struct seam_stream **ret_stream);

/* Keeps the entry. A matching unref may free it, if it is dead and passed. */
void seam__stream_ref(struct seam_stream *stream);
void seam__stream_unref(struct seam_stream *stream);

/* The stamp for what the stream's work so far may use. O(1), no driver call. A destroyed stream gets no more work: its
 * last cover answers for whatever is freed on it later. SEAM_NO_STREAM_HANDLE has none at all. */
static inline uint64_t seam__stream_stamp(struct seam_stream *stream)
{
	if (stream->destroyed || stream->handle == SEAM_NO_STREAM_HANDLE)
		return stream->last_stamp = stream->covered;
	return stream->last_stamp = stream->owner->tick;
}

/* Whether everything stamped <= stamp on the stream is known to be done. No driver call. */
static inline bool seam__stream_passed(const struct seam_stream *stream, uint64_t stamp)
{
	return stamp <= stream->passed || stream->last_stamp <= stream->passed;
}

/* Records an event if some stamp is not covered.
 * Errors: SEAM_CAPTURING; SEAM_BUSY (another thread's stream); SEAM_NOT_FOUND (lost); SEAM_OOM_META; the driver's.
 * Stamps then stay as they were. */
SEAM_MUST_USE enum seam_rc seam__stream_cover(struct seam_stream *stream);

/* Asks the queued events, oldest first, until one has not passed. Nothing passed is no error. In deterministic mode it
 * waits for all of them. Not done while the stream is known to be capturing. */
SEAM_MUST_USE enum seam_rc seam__stream_poll(struct seam_stream *stream);

/* Covers and polls every stream with unpassed stamps, but `except` (may be NULL). Streams that cannot be covered now
 * (capturing, another thread's, lost) are polled as far as they go. Goes on after an error, and returns the first. */
SEAM_MUST_USE enum seam_rc seam__streams_poll_all(struct seam_streams *streams, const struct seam_stream *except);

/* A wait for everything that was stamped before begin, on every stream of the device, lost ones included: begin and end
 * with the lock, run, which waits for the device, without. Needs no event and no memory. What is stamped on other
 * devices' streams is not waited for. begin: SEAM_CAPTURING if a known stream is being captured; the driver's errors.
 * run: the driver's. end: if run succeeded, the stamps have passed. */
SEAM_MUST_USE enum seam_rc seam__streams_wait_all_begin(struct seam_streams *streams, struct seam_wait_all *ret_wait);
SEAM_MUST_USE enum seam_rc seam__wait_all_run(struct seam_driver *driver, struct seam_wait_all *wait);
void seam__streams_wait_all_end(struct seam_streams *streams, struct seam_wait_all *wait);

/* SEAM_OK if no known stream is being captured; else SEAM_CAPTURING, or the driver's errors. */
SEAM_MUST_USE enum seam_rc seam__streams_uncaptured(struct seam_streams *streams);

/* Makes the work that `to` gets from now on start after everything stamped <= stamp on `from`: memory stamped so may
 * then be used on `to`, and is pending there. Errors: those of cover, for either stream. */
SEAM_MUST_USE enum seam_rc seam__stream_order(struct seam_stream *from, uint64_t stamp, struct seam_stream *to);

/* Whether every stream has passed what it stamped at or before `tick`. No driver call; O(streams). */
bool seam__streams_all_passed(const struct seam_streams *streams, uint64_t tick);

/* To be called before a stream is destroyed, for its last cover; the entry goes when it has passed.
 * SEAM_NOT_FOUND: never seen, which is no harm. Other errors are those of cover: the entry is then lost.
 * SEAM_INVALID: the legacy default stream, or none. */
SEAM_MUST_USE enum seam_rc seam__stream_destroyed(struct seam_streams *streams, uint64_t handle);

/* Name of the first broken invariant, or NULL. */
const char *seam__streams_check(const struct seam_streams *streams);

#endif
