/* part_capture.c: what a stream capture shows, allows and forbids. */
#include "conf.h"
#include "tap.h"

static enum seam_capture_state state_of(uint64_t stream, uint64_t *id)
{
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	works(seam__drv_stream_capture(conf.d, stream, &state, id));
	return state;
}

void part_capture(void)
{
	uint64_t g = conf.g;
	uint64_t first_id = 0;
	uint64_t second_id = 0;
	uint64_t none = 0;
	uint64_t stream = conf_stream(SEAM_STREAM_NONBLOCKING);
	uint64_t other = conf_stream(SEAM_STREAM_NONBLOCKING);
	uint64_t va = conf_reserve(2 * g);
	struct seam_phys phys = conf_create(g);
	conf_map(va, phys, g);
	conf_write(va, g, 1);
	ok(state_of(stream, &none) == SEAM_CAPTURE_NONE, "a stream is not captured at first");
	works(seam__drv_capture_begin(conf.d, stream));
	ok(state_of(stream, &first_id) == SEAM_CAPTURE_ACTIVE, "a captured stream says so");
	ok(state_of(other, &none) == SEAM_CAPTURE_NONE, "another stream does not");
	ok(state_of(SEAM_STREAM_DEFAULT, &none) == SEAM_CAPTURE_NONE, "nor does the legacy stream");
	works(seam__drv_fill32(conf.d, va, 2, g / 4, stream));
	/* Memory calls and the work of other streams go on. */
	struct seam_phys more = conf_create(g);
	conf_map(va + g, more, g);
	works(seam__drv_fill32(conf.d, va + g, 3, 1, other));
	works(seam__drv_stream_sync(conf.d, other));
	conf_unmap(va + g, g);
	conf_release(more);
	works(seam__drv_stream_query(conf.d, other));
	works(seam__drv_capture_end(conf.d, stream));
	ok(state_of(stream, &none) == SEAM_CAPTURE_NONE, "a capture ends");
	ok(conf_holds(va, g, 1), "captured work does not run");
	works(seam__drv_capture_begin(conf.d, stream));
	ok(state_of(stream, &second_id) == SEAM_CAPTURE_ACTIVE, "a stream can be captured again");
	works(seam__drv_capture_end(conf.d, stream));
	ok(first_id != second_id && first_id != 0, "each capture has its own id");
	conf_unmap(va, g);
	conf_release(phys);
	conf_free(va, 2 * g);
	works(seam__drv_stream_destroy(conf.d, stream));
	works(seam__drv_stream_destroy(conf.d, other));
}

/* Asks a captured stream: the answer is an error, and the capture is lost. */
static void ask_captured(uint64_t stream, bool sync)
{
	uint64_t id = 0;
	works(seam__drv_capture_begin(conf.d, stream));
	if (sync)
		wants(SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, seam__drv_stream_sync(conf.d, stream));
	else
		wants(SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, seam__drv_stream_query(conf.d, stream));
	enum seam_capture_state state = state_of(stream, &id);
	tap_observe(state == SEAM_CAPTURE_INVALIDATED, "a captured stream that was asked is in state %d", (int)state);
	int cu = seam__drv_capture_end(conf.d, stream);
	tap_observe(cu == SEAM_CU_STREAM_CAPTURE_INVALIDATED, "the end of that capture is %d", cu);
	ok(state_of(stream, &id) == SEAM_CAPTURE_NONE, "it is over");
}

/* A stream that joins by an event has to be behind the end too, once it has got work. */
static void check_joins(uint64_t stream, uint64_t joined, struct seam_event event, uint64_t va)
{
	uint64_t id = 0;
	for (int row = 0; row < 3; row++) {
		bool works_there = row > 0;
		bool joins_again = row > 1;
		works(seam__drv_capture_begin(conf.d, stream));
		works(seam__drv_fill32(conf.d, va, 1, 1, stream));
		works(seam__drv_event_record(conf.d, event, stream));
		works(seam__drv_stream_wait_event(conf.d, joined, event));
		ok(state_of(joined, &id) == SEAM_CAPTURE_ACTIVE,
			"a stream that waits for a captured event is captured too");
		if (works_there)
			works(seam__drv_fill32(conf.d, va, 2, 1, joined));
		if (joins_again) {
			works(seam__drv_event_record(conf.d, event, joined));
			works(seam__drv_stream_wait_event(conf.d, stream, event));
		}
		if (works_there)
			wants(joins_again ? SEAM_CU_SUCCESS : SEAM_CU_STREAM_CAPTURE_UNJOINED,
				seam__drv_capture_end(conf.d, stream));
		else
			observes(SEAM_CU_SUCCESS, seam__drv_capture_end(conf.d, stream));
		ok(state_of(stream, &id) == SEAM_CAPTURE_NONE && state_of(joined, &id) == SEAM_CAPTURE_NONE,
			"the capture is over for both");
	}
}

/* The library never asks a captured stream for its id, and a thread's own stream is told apart without the driver. */
static void check_ids(uint64_t stream)
{
	uint64_t before = 0;
	uint64_t during = 0;
	uint64_t id = 0;
	works(seam__drv_stream_id(conf.d, SEAM_STREAM_PER_THREAD, &before));
	works(seam__drv_capture_begin(conf.d, SEAM_STREAM_PER_THREAD));
	works(seam__drv_stream_id(conf.d, SEAM_STREAM_PER_THREAD, &during));
	ok(before == during, "a thread's own stream has the same id while it is captured");
	works(seam__drv_capture_end(conf.d, SEAM_STREAM_PER_THREAD));
	works(seam__drv_capture_begin(conf.d, stream));
	observes(SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, seam__drv_stream_id(conf.d, stream, &during));
	enum seam_capture_state state = state_of(stream, &id);
	tap_note("observed: a captured stream that was asked for its id is in state %d", (int)state);
	int ended = seam__drv_capture_end(conf.d, stream);
	tap_note("observed: the end of that capture is %d", ended);
}

void part_capture_refusals(void)
{
	uint64_t id = 0;
	uint64_t stream = conf_stream(SEAM_STREAM_NONBLOCKING);
	uint64_t blocking = conf_stream(SEAM_STREAM_BLOCKING);
	struct seam_event event = conf_event();
	uint64_t va = 0;
	works(seam__drv_direct_alloc(conf.d, 4096, &va));
	check_joins(stream, blocking, event, va);
	works(seam__drv_direct_free(conf.d, va));
	wants(SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, seam__drv_capture_begin(conf.d, SEAM_STREAM_DEFAULT));
	check_ids(stream);
	ask_captured(stream, false);
	ask_captured(stream, true);
	works(seam__drv_capture_begin(conf.d, stream));
	observes(SEAM_CU_STREAM_CAPTURE_UNSUPPORTED, seam__drv_device_sync(conf.d));
	int ended = seam__drv_capture_end(conf.d, stream);
	tap_note("observed: the end of a capture during which the device was waited for is %d", ended);
	works(seam__drv_capture_begin(conf.d, stream));
	works(seam__drv_event_record(conf.d, event, stream));
	observes(SEAM_CU_CAPTURED_EVENT, seam__drv_event_query(conf.d, event));
	ended = seam__drv_capture_end(conf.d, stream);
	tap_note("observed: the end of a capture whose event was asked is %d", ended);
	works(seam__drv_capture_begin(conf.d, blocking));
	ok(state_of(SEAM_STREAM_DEFAULT, &id) == SEAM_CAPTURE_NONE,
		"the legacy stream's state may be asked while a blocking stream is captured");
	ok(state_of(blocking, &id) == SEAM_CAPTURE_ACTIVE, "and that does no harm to the capture");
	works(seam__drv_event_record(conf.d, event, stream));
	observes(SEAM_CU_STREAM_CAPTURE_IMPLICIT, seam__drv_event_record(conf.d, event, SEAM_STREAM_DEFAULT));
	ended = seam__drv_capture_end(conf.d, blocking);
	tap_note("observed: the end of a capture that the legacy stream met is %d", ended);
	conf_sync();
	works(seam__drv_stream_destroy(conf.d, stream));
	works(seam__drv_stream_destroy(conf.d, blocking));
	works(seam__drv_event_destroy(conf.d, event));
}
