/* emu_edges.c: the order that nobody asks for by an event: the edges that the legacy default stream draws by itself,
 * and what the host knows to have passed.
 *
 * Not here: events (emu_event.c), the judge of orders (emu_judge.c).
 */
#include "emu_state.h"

void seam__emu_host_learns(struct emu *e, const struct emu_order *order, const struct emu_stream *stream)
{
	const struct emu_order_entry last =
		stream != NULL ? seam__emu_newest_of(e, stream) : (struct emu_order_entry){0};
	if (order->count == 0 && last.number == 0)
		return;
	/* Without metadata the judge knows less than is true and may flag too much; it says nothing false for a program
	 * that has host memory left. */
	bool learnt = seam__emu_order_merge(&e->host_order, e->meta, order, e->floors);
	learnt = stream == NULL || (seam__emu_order_add(&e->host_order, e->meta, last) && learnt);
	(void)learnt;
	e->host_version++;
}

void seam__emu_host_learns_all(struct emu_device *device)
{
	struct emu *e = device->e;
	e->floors[device->ordinal] = e->touch_number;
	if (e->config.devices == 1) {
		seam__emu_order_fini(&e->host_order, e->meta); /* nothing in it is above the floor */
		return;
	}
	/* What its streams have waited for of other devices. */
	const struct emu_stream *stream;
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		if (stream->device == device)
			seam__emu_host_learns(e, &stream->order, NULL);
	}
}

/* All of `from` comes before everything that is submitted to `stream` from now on. */
static int take_order(struct emu *e, struct emu_stream *stream, const struct emu_stream *from)
{
	if (!seam__emu_order_merge(&stream->order, e->meta, &from->order, e->floors) ||
		!seam__emu_order_add(&stream->order, e->meta, seam__emu_newest_of(e, from)))
		return SEAM_CU_OUT_OF_MEMORY;
	return 0;
}

/* Makes `stream` wait for what is queued in `from`. Not for what is placed in time: that is a maximum of tails. */
static int wait_for_queue(struct emu *e, struct emu_stream *stream, struct emu_stream *from)
{
	struct emu_mark *mark = seam__emu_mark_make(e, from);
	if (mark == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	struct emu_work *record = seam__emu_work_make(e, from, EMU_RECORD);
	struct emu_work *wait = seam__emu_work_make(e, stream, EMU_WAIT);
	if (record == NULL || wait == NULL) {
		if (record != NULL)
			seam__emu_work_drop(e, record);
		if (wait != NULL)
			seam__emu_work_drop(e, wait);
		seam__emu_mark_put(e, mark);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	record->mark = mark;
	wait->mark = mark;
	mark->references++;
	seam__emu_work_submit(e, record);
	seam__emu_work_submit(e, wait);
	return 0;
}

/* Makes `stream` wait until tail_ns, behind what it has queued. */
static int wait_until(struct emu *e, struct emu_stream *stream, uint64_t tail_ns)
{
	if (tail_ns <= seam__emu_now(e) || tail_ns <= stream->tail_ns)
		return 0;
	struct emu_mark *mark = seam__slab_get(&e->mark_slab);
	if (mark == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	*mark = (struct emu_mark){.references = 1, .resolved = true, .time_ns = tail_ns};
	struct emu_work *wait = seam__emu_work_make(e, stream, EMU_WAIT);
	if (wait == NULL) {
		seam__emu_mark_put(e, mark);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	wait->mark = mark;
	seam__emu_work_submit(e, wait);
	return 0;
}

/* The legacy stream comes after all blocking ones of its device. */
static bool comes_before_legacy(const struct emu_stream *stream, const struct emu_stream *legacy)
{
	return stream != legacy && stream->blocking && stream->device == legacy->device;
}

static int prepare_legacy(struct emu *e, struct emu_stream *legacy)
{
	struct emu_stream *stream;
	struct emu_stream *next;
	LIST_FOREACH_SAFE(stream, &e->stuck_streams, stuck, next)
	{
		int cu = comes_before_legacy(stream, legacy) ? wait_for_queue(e, legacy, stream) : 0;
		if (cu != 0)
			return cu;
	}
	int cu = wait_until(e, legacy, legacy->device->blocking_tail_ns);
	if (cu != 0 || legacy->merged_number == e->touch_number)
		return cu;
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		cu = comes_before_legacy(stream, legacy) ? take_order(e, legacy, stream) : 0;
		if (cu != 0)
			return cu;
	}
	legacy->merged_number = e->touch_number;
	return 0;
}

/* A blocking stream comes after the legacy one. */
static int prepare_blocking(struct emu *e, struct emu_stream *stream)
{
	struct emu_stream *legacy = stream->device->legacy;
	int cu = STAILQ_EMPTY(&legacy->queue) ? 0 : wait_for_queue(e, stream, legacy);
	if (cu == 0)
		cu = wait_until(e, stream, legacy->tail_ns);
	if (cu == 0 && stream->merged_number != e->touch_number)
		cu = take_order(e, stream, legacy);
	if (cu == 0)
		stream->merged_number = e->touch_number;
	return cu;
}

/* What an operation of the legacy stream meets while a blocking stream is captured: 0, or an error that ends the
 * capture. */
static int guard_captures(struct emu *e, const struct emu_stream *stream)
{
	struct emu_stream *other;
	if (e->active_captures == 0 || stream != stream->device->legacy)
		return 0;
	bool met = false;
	LIST_FOREACH(other, &e->all_streams, all)
	{
		if (other->capture != SEAM_CAPTURE_ACTIVE || !other->blocking || other->device != stream->device)
			continue;
		other->capture = SEAM_CAPTURE_INVALIDATED;
		met = true;
	}
	return met ? SEAM_CU_STREAM_CAPTURE_IMPLICIT : 0;
}

int seam__emu_stream_prepare(struct emu *e, struct emu_stream *stream)
{
	if (stream->capture == SEAM_CAPTURE_ACTIVE)
		return 0;
	if (stream->capture == SEAM_CAPTURE_INVALIDATED)
		return SEAM_CU_STREAM_CAPTURE_INVALIDATED;
	int cu = guard_captures(e, stream);
	if (cu != 0)
		return cu;
	if (stream == stream->device->legacy)
		cu = prepare_legacy(e, stream);
	else if (stream->blocking)
		cu = prepare_blocking(e, stream);
	if (cu != 0 || stream->merged_host == e->host_version)
		return cu;
	if (!seam__emu_order_merge(&stream->order, e->meta, &e->host_order, e->floors))
		return SEAM_CU_OUT_OF_MEMORY;
	stream->merged_host = e->host_version;
	return 0;
}
