/* fake_driver.h: a driver table for unit tests of what stands on streams: work passes when the test says so.
 *
 * It has streams (with ids, handles that are reused, capture, per-thread streams of a thread that the test names),
 * events, waits between streams, and direct and host memory without content. It has no virtual memory: those calls are
 * NULL. Not a judge: the emulator is. Not thread safe.
 */
#ifndef SEAM_TEST_FAKE_DRIVER_H
#define SEAM_TEST_FAKE_DRIVER_H

#include "driver.h"

#define FAKE_HANDLES 64u
#define FAKE_THREADS 4u

/* A stream as a thing of its own: it outlives its handle while it has work. */
struct fake_stream {
	uint64_t id;
	uint64_t submitted; /* pieces of work so far */
	uint64_t done;
	bool capturing;
	bool foreign; /* of another device */
};

struct fake_event {
	struct fake_stream *stream; /* NULL: never recorded */
	uint64_t position;          /* passed when stream->done reaches it */
	bool exists;
	bool foreign;
};

/* `to` may not go beyond position before `from` has reached from_position. */
struct fake_edge {
	struct fake_stream *from, *to;
	uint64_t from_position, position;
};

/* Direct or host memory: a range of addresses that nobody may touch. */
struct fake_memory {
	uint64_t va, bytes;
};

struct fake_driver {
	struct seam_driver base;
	struct fake_stream *named[FAKE_HANDLES]; /* by handle; 0 is the legacy stream */
	struct fake_stream *threads[FAKE_THREADS];
	struct fake_stream **all; /* every stream ever made */
	uint64_t all_count;
	struct fake_event *events; /* by id - 1 */
	uint64_t events_made, events_live;
	struct fake_edge *edges;
	uint64_t edge_count;
	unsigned thread;            /* who calls now */
	uint64_t syncs;             /* event_sync and device_sync that had to wait */
	struct fake_memory *memory; /* what is allocated */
	uint64_t memory_count;
	uint64_t memory_bytes;
	uint64_t capacity_bytes; /* of direct and host memory; 0: none */
	uint64_t next_va;
};

void fake_init(struct fake_driver *fake);
void fake_fini(struct fake_driver *fake);

/* A stream under the lowest free handle >= 3. */
uint64_t fake_stream_create(struct fake_driver *fake);
void fake_stream_destroy(struct fake_driver *fake, uint64_t handle);

/* What the handle means now to the current thread; NULL: nothing. */
struct fake_stream *fake_resolve(struct fake_driver *fake, uint64_t handle);

/* One more piece of work on the stream. Returns its position. */
uint64_t fake_work(struct fake_driver *fake, uint64_t handle);

/* Lets up to `count` pieces of work end, as far as edges allow. */
void fake_run(struct fake_driver *fake, struct fake_stream *stream, uint64_t count);

/* Lets everything end, on every stream. */
void fake_run_all(struct fake_driver *fake);

#endif
