/* emu_work.c: work, the order of its ends in virtual time, waiting, and the thread that runs host functions.
 *
 * Most ends are known when work is submitted: start = max(now, end of what comes before), end = start + duration; the
 * timeline orders ends, and effects happen there. A copy that an engine does (emu_engine.c) stands in the timeline
 * first for when it is ready, then for its end, which others may move. A host function takes as long as it takes.
 * Behind both the stream's work stays queued until they are done, and so does what waits for that work. Only where a
 * host function runs is a wait a real one.
 *
 * Host functions run on one helper thread per device, without the lock, one after the other.
 */
#include <signal.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "emu_state.h"
#include "meta.h"

int seam__emu_timeline_compare(const struct emu_work *a, const struct emu_work *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

struct emu_work *seam__emu_work_make(struct emu *e, struct emu_stream *stream, enum emu_work_kind kind)
{
	struct emu_work *work = seam__slab_get(&e->work_slab);
	if (work == NULL)
		return NULL;
	*work = (struct emu_work){
		.kind = kind, .stream = stream, .number = ++e->next_number, .last_number = stream->last_number};
	work->ranges = work->inline_ranges;
	work->pins = work->inline_pins;
	stream->work_count++;
	return work;
}

struct emu_work *seam__emu_work_copy(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count)
{
	struct emu_work *work = seam__emu_work_make(e, stream, like->kind);
	if (work == NULL)
		return NULL;
	if (count > EMU_INLINE_RANGES) {
		work->ranges = seam__meta_array(e->meta, count, sizeof(ranges[0]));
		if (work->ranges == NULL) {
			work->ranges = work->inline_ranges;
			seam__emu_work_drop(e, work);
			return NULL;
		}
	}
	if (count > 0)
		memcpy(work->ranges, ranges, count * sizeof(ranges[0]));
	work->range_count = count;
	work->duration_ns = like->duration_ns;
	work->function = like->function;
	work->host = like->host;
	work->host_bytes = like->host_bytes;
	work->value = like->value;
	work->locked = like->locked;
	memcpy(work->between, like->between, sizeof(work->between));
	return work;
}

void seam__emu_work_drop(struct emu *e, struct emu_work *work)
{
	struct emu_stream *stream = work->stream;
	seam__emu_judge_unpin(work);
	if (work->pin_capacity != 0)
		seam__meta_free(e->meta, work->pins, work->pin_capacity * sizeof(work->pins[0]));
	if (work->ranges != work->inline_ranges)
		seam__meta_free(e->meta, work->ranges, work->range_count * sizeof(work->ranges[0]));
	if (work->mark != NULL)
		seam__emu_mark_put(e, work->mark);
	seam__slab_put(&e->work_slab, work);
	seam__emu_stream_put(e, stream);
}

static void set_tail(struct emu_stream *stream, uint64_t tail_ns)
{
	stream->tail_ns = tail_ns;
	if (stream->blocking)
		stream->device->blocking_tail_ns = seam__bits_max(stream->device->blocking_tail_ns, tail_ns);
}

/* Places the head of a stream in time. False: it has to stay at the head of the queue. */
static bool resolve(struct emu *e, struct emu_work *work)
{
	struct emu_stream *stream = work->stream;
	uint64_t start_ns = seam__bits_max(stream->tail_ns, work->submit_ns);
	switch (work->kind) {
	case EMU_WAIT:
		if (!work->mark->resolved)
			return false;
		set_tail(stream, seam__bits_max(stream->tail_ns, work->mark->time_ns));
		return true;
	case EMU_RECORD:
		work->mark->resolved = true;
		work->mark->time_ns = stream->tail_ns;
		return true;
	case EMU_HOST_FUNC:
		work->time_ns = start_ns;
		work->placed = true;
		RB_INSERT(emu_timeline, &e->timeline, work);
		return false;
	case EMU_TO_DEVICE:
	case EMU_TO_HOST:
		if (!seam__emu_engine_does(e, work))
			break;
		work->time_ns = start_ns;
		work->placed = true;
		RB_INSERT(emu_timeline, &e->timeline, work);
		return false;
	case EMU_LAUNCH:
	case EMU_ON_DEVICE:
	case EMU_BETWEEN:
	case EMU_FILL:
		break;
	}
	work->time_ns = start_ns + work->duration_ns;
	set_tail(stream, work->time_ns);
	RB_INSERT(emu_timeline, &e->timeline, work);
	return true;
}

/* Resolves as much of a queue as can be. True if something was. */
static bool drain(struct emu *e, struct emu_stream *stream)
{
	bool moved = false;
	struct emu_work *work;
	stream->work_count++; /* dropping its last work must not free it yet */
	while ((work = STAILQ_FIRST(&stream->queue)) != NULL && !work->placed && resolve(e, work)) {
		STAILQ_REMOVE_HEAD(&stream->queue, queued);
		moved = true;
		if (work->kind == EMU_WAIT || work->kind == EMU_RECORD)
			seam__emu_work_drop(e, work);
	}
	if (work == NULL)
		LIST_REMOVE(stream, stuck);
	seam__emu_stream_put(e, stream);
	return moved;
}

/* A mark that was resolved may move other streams. */
static void drain_all(struct emu *e)
{
	bool moved = true;
	while (moved) {
		struct emu_stream *stream;
		struct emu_stream *next;
		moved = false;
		LIST_FOREACH_SAFE(stream, &e->stuck_streams, stuck, next)
		moved |= drain(e, stream);
	}
}

/* The head of its stream's queue is done now. */
static void leave_queue(struct emu *e, struct emu_work *work)
{
	struct emu_stream *stream = work->stream;
	SEAM_ASSERT(STAILQ_FIRST(&stream->queue) == work);
	STAILQ_REMOVE_HEAD(&stream->queue, queued);
	set_tail(stream, seam__bits_max(stream->tail_ns, seam__emu_now(e)));
	if (STAILQ_EMPTY(&stream->queue))
		LIST_REMOVE(stream, stuck);
	seam__emu_work_drop(e, work);
	drain_all(e);
}

void seam__emu_work_submit(struct emu *e, struct emu_work *work)
{
	struct emu_stream *stream = work->stream;
	work->submit_ns = seam__emu_now(e);
	bool was_empty = STAILQ_EMPTY(&stream->queue);
	STAILQ_INSERT_TAIL(&stream->queue, work, queued);
	if (!was_empty)
		return;
	LIST_INSERT_HEAD(&e->stuck_streams, stream, stuck);
	(void)drain(e, stream);
	/* A host function or copy whose turn is now starts now: nobody need touch the clock again before. */
	seam__emu_clock_to(e, seam__emu_now(e));
}

/* Takes the first of the timeline and lets it happen. A host function goes to the helper thread, a copy that is ready
 * to its engine. */
static void finish_first(struct emu *e, struct emu_work *work)
{
	RB_REMOVE(emu_timeline, &e->timeline, work);
	if (work->time_ns > seam__emu_now(e))
		atomic_store_explicit(&e->now_ns, work->time_ns, memory_order_relaxed);
	if (work->kind == EMU_HOST_FUNC) {
		STAILQ_INSERT_TAIL(&e->host_queue, work, hosted);
		seam__cond_signal(&e->helper_wakes);
		return;
	}
	bool by_engine = seam__emu_engine_does(e, work);
	if (by_engine && !seam__emu_engine_runs(work)) {
		seam__emu_engine_join(e, work);
		return;
	}
	seam__emu_effect(e, work);
	if (by_engine) {
		seam__emu_engine_leave(e, work);
		leave_queue(e, work);
	} else {
		seam__emu_work_drop(e, work);
	}
}

void seam__emu_clock_to(struct emu *e, uint64_t ns)
{
	struct emu_work *work;
	while ((work = RB_MIN(emu_timeline, &e->timeline)) != NULL && work->time_ns <= ns)
		finish_first(e, work);
	if (ns > seam__emu_now(e))
		atomic_store_explicit(&e->now_ns, ns, memory_order_relaxed);
}

bool seam__emu_is_done(struct emu *e, const struct emu_stream *stream, const struct emu_mark *mark)
{
	uint64_t now = seam__emu_now(e);
	seam__emu_clock_to(e, now); /* what ends at this very moment has to have happened */
	if (mark != NULL)
		return mark->resolved && mark->time_ns <= now;
	return STAILQ_EMPTY(&stream->queue) && stream->tail_ns <= now;
}

void seam__emu_wait(struct emu *e, struct emu_stream *stream, struct emu_mark *mark)
{
	/* The lock is released while a host function runs: keep what is waited for. */
	if (stream != NULL)
		stream->work_count++;
	if (mark != NULL)
		mark->references++;
	while (!seam__emu_is_done(e, stream, mark)) {
		const struct emu_work *first = RB_MIN(emu_timeline, &e->timeline);
		if (mark != NULL && mark->resolved)
			seam__emu_clock_to(e, mark->time_ns);
		else if (mark == NULL && STAILQ_EMPTY(&stream->queue))
			seam__emu_clock_to(e, stream->tail_ns);
		else if (first != NULL)
			seam__emu_clock_to(e, first->time_ns);
		else
			seam__cond_wait(&e->changed, &e->lock);
	}
	if (mark != NULL)
		seam__emu_mark_put(e, mark);
	if (stream != NULL)
		seam__emu_stream_put(e, stream);
}

/* When the last of the device's streams is done; false: some wait for a host function, or for another device. */
static bool find_end(const struct emu_device *device, uint64_t *ret_end_ns)
{
	const struct emu_stream *stream;
	bool known = true;
	*ret_end_ns = 0;
	LIST_FOREACH(stream, &device->e->all_streams, all)
	{
		if (stream->device != device)
			continue;
		known &= STAILQ_EMPTY(&stream->queue);
		*ret_end_ns = seam__bits_max(*ret_end_ns, stream->tail_ns);
	}
	return known;
}

void seam__emu_wait_device(struct emu_device *device)
{
	struct emu *e = device->e;
	uint64_t end_ns;
	bool known;
	while (!(known = find_end(device, &end_ns)) || end_ns > seam__emu_now(e)) {
		const struct emu_work *first = RB_MIN(emu_timeline, &e->timeline);
		if (known)
			seam__emu_clock_to(e, end_ns);
		else if (first != NULL)
			seam__emu_clock_to(e, first->time_ns);
		else
			seam__cond_wait(&e->changed, &e->lock);
	}
	seam__emu_clock_to(e, seam__emu_now(e)); /* what ends at this very moment has to have happened */
}

static void *run_host_functions(void *argument)
{
	struct emu *e = argument;
	seam__mutex_lock(&e->lock);
	for (;;) {
		struct emu_work *work = STAILQ_FIRST(&e->host_queue);
		if (e->helper_stops)
			break;
		if (work == NULL) {
			seam__cond_wait(&e->helper_wakes, &e->lock);
			continue;
		}
		STAILQ_REMOVE_HEAD(&e->host_queue, hosted);
		seam__mutex_unlock(&e->lock);
		work->function(work->host);
		seam__mutex_lock(&e->lock);
		leave_queue(e, work);
		seam__cond_broadcast(&e->changed);
	}
	seam__mutex_unlock(&e->lock);
	return NULL;
}

/* Signals are for the program's own threads. */
bool seam__emu_helper_start(struct emu *e)
{
	sigset_t all;
	sigset_t old;
	if (e->helper_runs)
		return true;
	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &old) != 0)
		return false;
	e->helper_runs = pthread_create(&e->helper, NULL, run_host_functions, e) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e->helper_runs;
}

void seam__emu_helper_stop(struct emu *e)
{
	if (!e->helper_runs)
		return;
	seam__mutex_lock(&e->lock);
	e->helper_stops = true;
	seam__cond_signal(&e->helper_wakes);
	seam__mutex_unlock(&e->lock);
	(void)pthread_join(e->helper, NULL);
}

void seam__emu_work_fini(struct emu *e)
{
	struct emu_work *work;
	struct emu_stream *stream;
	while ((work = RB_MIN(emu_timeline, &e->timeline)) != NULL) {
		RB_REMOVE(emu_timeline, &e->timeline, work);
		if (!work->placed) /* such still heads its stream's queue */
			seam__emu_work_drop(e, work);
	}
	while ((stream = LIST_FIRST(&e->stuck_streams)) != NULL) {
		LIST_REMOVE(stream, stuck);
		stream->work_count++;
		while ((work = STAILQ_FIRST(&stream->queue)) != NULL) {
			STAILQ_REMOVE_HEAD(&stream->queue, queued);
			seam__emu_work_drop(e, work);
		}
		seam__emu_stream_put(e, stream);
	}
	(void)seam__slab_fini(&e->work_slab);
}

const char *seam__emu_work_check(struct emu *e)
{
	struct emu_work *work;
	struct emu_stream *stream;
	RB_FOREACH(work, emu_timeline, &e->timeline)
	{
		if (work->time_ns < seam__emu_now(e))
			return "E4 no work in the timeline ends before now";
	}
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		work = STAILQ_FIRST(&stream->queue);
		if (work != NULL && !work->placed && (work->kind != EMU_WAIT || work->mark->resolved))
			return "E4 a queue waits at its head";
		if (seam__emu_order_check(&stream->order) != NULL)
			return seam__emu_order_check(&stream->order);
	}
	return NULL;
}
