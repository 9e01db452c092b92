/* part_stream.c: streams, their ids, events, and what waits for what. Pending work is a host function at a gate. */
#include <pthread.h>

#include "conf.h"
#include "tap.h"

static uint64_t id_of(uint64_t stream)
{
	uint64_t id = 0;
	works(seam__drv_stream_id(conf.d, stream, &id));
	return id;
}

#define STREAMS 8

void part_streams(void)
{
	uint64_t streams[STREAMS];
	uint64_t ids[2 * STREAMS];
	bool apart = true;
	bool reused = false;
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = conf_stream(i % 2 != 0 ? SEAM_STREAM_BLOCKING : SEAM_STREAM_NONBLOCKING);
		ids[i] = id_of(streams[i]);
		works(seam__drv_stream_query(conf.d, streams[i]));
	}
	ok(id_of(streams[0]) == ids[0], "an id stays");
	for (int i = 0; i < STREAMS; i++) {
		works(seam__drv_stream_destroy(conf.d, streams[i]));
		uint64_t stream = conf_stream(SEAM_STREAM_NONBLOCKING);
		reused |= stream == streams[i];
		streams[i] = stream;
		ids[STREAMS + i] = id_of(stream);
	}
	for (int i = 0; i < 2 * STREAMS; i++) {
		for (int k = 0; k < i; k++)
			apart &= ids[i] != ids[k];
	}
	ok(apart, "ids are unique, also where a handle is given out again");
	tap_observe(reused, "a destroyed stream's handle was %sgiven out again", reused ? "" : "not ");
	ok(id_of(SEAM_STREAM_DEFAULT) == id_of(SEAM_STREAM_LEGACY), "the default stream and its explicit name are one");
	ok(id_of(SEAM_STREAM_DEFAULT) != id_of(streams[0]), "the default stream is none of the others");
	works(seam__drv_stream_sync(conf.d, SEAM_STREAM_DEFAULT));
	for (int i = 0; i < STREAMS; i++)
		works(seam__drv_stream_destroy(conf.d, streams[i]));
}

void part_events(void)
{
	struct conf_gate gate;
	uint64_t stream = conf_stream(SEAM_STREAM_NONBLOCKING);
	uint64_t other = conf_stream(SEAM_STREAM_NONBLOCKING);
	struct seam_event fresh = conf_event();
	struct seam_event before = conf_event();
	struct seam_event behind = conf_event();
	works(seam__drv_event_query(conf.d, fresh));
	works(seam__drv_event_sync(conf.d, fresh));
	works(seam__drv_stream_wait_event(conf.d, stream, fresh));
	works(seam__drv_event_record(conf.d, before, stream));
	conf_gate_close(&gate, stream);
	works(seam__drv_event_record(conf.d, behind, stream));
	works(seam__drv_event_sync(conf.d, before));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, behind));
	wants(SEAM_CU_NOT_READY, seam__drv_stream_query(conf.d, stream));
	works(seam__drv_stream_query(conf.d, other));
	works(seam__drv_stream_sync(conf.d, other));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.d, behind));
	ok(atomic_load(&gate.passed) == 1, "an event covers the work before it");
	works(seam__drv_event_query(conf.d, behind));
	works(seam__drv_stream_sync(conf.d, stream));
	/* Recorded again, it is about the new work only. */
	conf_gate_close(&gate, stream);
	works(seam__drv_event_record(conf.d, before, stream));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, before));
	works(seam__drv_event_record(conf.d, before, other));
	works(seam__drv_event_sync(conf.d, before));
	conf_gate_open(&gate);
	works(seam__drv_device_sync(conf.d));
	ok(atomic_load(&gate.passed) == 1, "waiting for the device waits for every stream");
	/* A destroyed stream's work still completes. */
	conf_gate_close(&gate, stream);
	works(seam__drv_event_record(conf.d, behind, stream));
	works(seam__drv_stream_destroy(conf.d, stream));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, behind));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.d, behind));
	ok(atomic_load(&gate.passed) == 1, "a destroyed stream's work completes");
	works(seam__drv_stream_destroy(conf.d, other));
	works(seam__drv_event_destroy(conf.d, fresh));
	works(seam__drv_event_destroy(conf.d, before));
	works(seam__drv_event_destroy(conf.d, behind));
}

/* Work in one stream waits for an event of another, and so do the bytes it writes. */
void part_order(void)
{
	struct conf_gate gate;
	uint64_t g = conf.g;
	uint64_t va = 0;
	void *host = NULL;
	uint64_t first = conf_stream(SEAM_STREAM_NONBLOCKING);
	uint64_t second = conf_stream(SEAM_STREAM_NONBLOCKING);
	struct seam_event passed = conf_event();
	struct seam_event done = conf_event();
	works(seam__drv_direct_alloc(conf.d, g, &va));
	/* Page-locked: a copy to other memory makes its caller wait until it is done. */
	if (!works(seam__drv_host_alloc(conf.d, sizeof(uint32_t), &host)))
		return;
	volatile uint32_t *found = host;
	*found = 0;
	works(seam__drv_fill32(conf.d, va, 1, g / 4, first));
	works(seam__drv_stream_sync(conf.d, first));
	conf_gate_close(&gate, first);
	works(seam__drv_fill32(conf.d, va, 2, g / 4, first));
	works(seam__drv_event_record(conf.d, passed, first));
	works(seam__drv_stream_wait_event(conf.d, second, passed));
	works(seam__drv_fill32(conf.d, va, 3, 1, second));
	works(seam__drv_copy_to_host(conf.d, host, va, sizeof(*found), second));
	works(seam__drv_event_record(conf.d, done, second));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, done));
	ok(*found == 0, "nothing has run ahead of the event");
	/* A later record does not change what waits already. */
	works(seam__drv_event_record(conf.d, passed, second));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.d, done));
	ok(!conf.has_contents || *found == 3, "the second stream came after the first: %u", *found);
	works(seam__drv_event_sync(conf.d, passed));
	works(seam__drv_direct_free(conf.d, va));
	works(seam__drv_host_free(conf.d, host));
	works(seam__drv_stream_destroy(conf.d, first));
	works(seam__drv_stream_destroy(conf.d, second));
	works(seam__drv_event_destroy(conf.d, passed));
	works(seam__drv_event_destroy(conf.d, done));
}

void part_legacy(void)
{
	struct conf_gate gate;
	uint64_t blocking = conf_stream(SEAM_STREAM_BLOCKING);
	uint64_t other = conf_stream(SEAM_STREAM_BLOCKING);
	uint64_t apart = conf_stream(SEAM_STREAM_NONBLOCKING);
	struct seam_event event = conf_event();
	/* The legacy stream comes after blocking ones. */
	conf_gate_close(&gate, blocking);
	works(seam__drv_event_record(conf.d, event, other));
	works(seam__drv_event_sync(conf.d, event));
	works(seam__drv_event_record(conf.d, event, apart));
	works(seam__drv_event_sync(conf.d, event));
	works(seam__drv_event_record(conf.d, event, SEAM_STREAM_DEFAULT));
	wants(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, event));
	/* And other blocking streams come after the legacy one, so after the gate too. */
	works(seam__drv_event_record(conf.d, event, other));
	observes(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, event));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.d, event));
	conf_sync();
	/* Blocking streams come after the legacy one; others do not. */
	conf_gate_close(&gate, SEAM_STREAM_DEFAULT);
	works(seam__drv_event_record(conf.d, event, apart));
	works(seam__drv_event_sync(conf.d, event));
	works(seam__drv_event_record(conf.d, event, blocking));
	observes(SEAM_CU_NOT_READY, seam__drv_event_query(conf.d, event));
	conf_gate_open(&gate);
	works(seam__drv_event_sync(conf.d, event));
	conf_sync();
	conf_gate_close(&gate, blocking);
	int cu = seam__drv_stream_query(conf.d, SEAM_STREAM_DEFAULT);
	tap_observe(cu == SEAM_CU_NOT_READY, "the legacy stream's query while a blocking stream is at work is %d", cu);
	conf_gate_open(&gate);
	works(seam__drv_stream_sync(conf.d, SEAM_STREAM_DEFAULT));
	tap_observe(atomic_load(&gate.passed) == 1, "waiting for the legacy stream %s for blocking ones",
		atomic_load(&gate.passed) == 1 ? "waits" : "does not wait");
	conf_sync();
	works(seam__drv_stream_destroy(conf.d, blocking));
	works(seam__drv_stream_destroy(conf.d, other));
	works(seam__drv_stream_destroy(conf.d, apart));
	works(seam__drv_event_destroy(conf.d, event));
}

static void *ask_id(void *argument)
{
	uint64_t *ids = argument;
	for (int i = 0; i < 2; i++) {
		if (seam__drv_stream_id(conf.d, SEAM_STREAM_PER_THREAD, &ids[i]) != SEAM_CU_SUCCESS)
			ids[i] = 0;
	}
	return NULL;
}

void part_per_thread(void)
{
	pthread_t thread;
	struct conf_gate gate;
	uint64_t theirs[2] = {0, 0};
	uint64_t mine = id_of(SEAM_STREAM_PER_THREAD);
	ok(mine == id_of(SEAM_STREAM_PER_THREAD) && mine != id_of(SEAM_STREAM_DEFAULT),
		"a thread's default stream is its own");
	if (pthread_create(&thread, NULL, ask_id, theirs) == 0)
		(void)pthread_join(thread, NULL);
	ok(theirs[0] != 0 && theirs[0] == theirs[1] && theirs[0] != mine, "another thread has another one");
	conf_gate_close(&gate, SEAM_STREAM_PER_THREAD);
	wants(SEAM_CU_NOT_READY, seam__drv_stream_query(conf.d, SEAM_STREAM_PER_THREAD));
	conf_gate_open(&gate);
	works(seam__drv_stream_sync(conf.d, SEAM_STREAM_PER_THREAD));
	ok(atomic_load(&gate.passed) == 1, "waiting for it waits for its work");
}
