/* stream.c: the registry of streams: who is known, found, dead, and forgotten. See stream.h.
 *
 * Not here: events and what they say (stream_event.c), waits (stream_wait.c).
 */
#include "stream.h"

#include <inttypes.h>
#include <stddef.h>

#include "check.h"
#include "log.h"
#include "stream_impl.h"

#define SWEEP_AT_LEAST 64u

/* The per-thread default streams share a handle: there the id tells them apart. */
static uint64_t key_id(const struct seam_stream *stream)
{
	return stream->handle == SEAM_STREAM_PER_THREAD ? stream->id : 0;
}

static int compare_handles(const struct seam_stream *a, const struct seam_stream *b)
{
	if (a->handle != b->handle)
		return a->handle < b->handle ? -1 : 1;
	return (key_id(a) > key_id(b)) - (key_id(a) < key_id(b));
}

SEAM_TREE_GENERATE(seam_stream_tree, seam_stream, by_handle, compare_handles)

static bool is_silent(const struct seam_stream *stream)
{
	return stream->references == 0 && stream->last_stamp <= stream->passed;
}

static void leave_tree(struct seam_stream *stream)
{
	RB_REMOVE(seam_stream_tree, &stream->owner->tree, stream);
	if (stream->owner->last == stream)
		stream->owner->last = NULL;
}

void seam__stream_lose(struct seam_stream *stream)
{
	seam__log(SEAM_LOG_INFO,
		"stream %#" PRIx64 " can be followed no more: what was freed on it waits for the whole device",
		stream->handle);
	leave_tree(stream);
	stream->lost = true;
	stream->capturing = false;
}

static void free_entry(struct seam_stream *stream)
{
	struct seam_streams *streams = stream->owner;
	while (!TAILQ_EMPTY(&stream->events))
		seam__stream_retire_event(streams, stream, TAILQ_FIRST(&stream->events));
	if (!seam__stream_is_dead(stream))
		leave_tree(stream);
	TAILQ_REMOVE(&streams->list, stream, by_index);
	streams->count--;
	seam__slab_put(&streams->stream_slab, stream);
}

void seam__streams_sweep(struct seam_streams *streams, bool live_too)
{
	struct seam_stream *stream, *next;
	TAILQ_FOREACH_SAFE(stream, &streams->list, by_index, next)
	if (is_silent(stream) && (live_too || seam__stream_is_dead(stream)))
		free_entry(stream);
}

void seam__streams_init(
	struct seam_streams *streams, struct seam_driver *driver, struct seam_meta *meta, bool deterministic)
{
	*streams = (struct seam_streams){
		.driver = driver, .tick = 1, .deterministic = deterministic, .sweep_at = SWEEP_AT_LEAST};
	RB_INIT(&streams->tree);
	TAILQ_INIT(&streams->list);
	TAILQ_INIT(&streams->idle);
	seam__slab_init(&streams->stream_slab, meta, sizeof(struct seam_stream));
	seam__slab_init(&streams->event_slab, meta, sizeof(struct seam_stream_event));
}

uint64_t seam__streams_fini(struct seam_streams *streams)
{
	uint64_t leaked = 0;
	struct seam_stream *stream;
	while ((stream = TAILQ_FIRST(&streams->list)) != NULL) {
		leaked += stream->references;
		free_entry(stream);
	}
	struct seam_stream_event *event;
	while ((event = TAILQ_FIRST(&streams->idle)) != NULL) {
		TAILQ_REMOVE(&streams->idle, event, link);
		/* A driver that has shut down refuses; then the event is gone with it. */
		int cu = seam__drv_event_destroy(streams->driver, event->event);
		(void)cu;
		seam__slab_put(&streams->event_slab, event);
	}
	seam__slab_fini(&streams->stream_slab);
	seam__slab_fini(&streams->event_slab);
	return leaked;
}

static struct seam_stream *look_up(struct seam_streams *streams, uint64_t handle, uint64_t id)
{
	struct seam_stream key = {.handle = handle, .id = id};
	return RB_FIND(seam_stream_tree, &streams->tree, &key);
}

static enum seam_rc add(struct seam_streams *streams, uint64_t handle, uint64_t id, struct seam_stream **ret_stream)
{
	if (streams->count >= streams->sweep_at) {
		seam__streams_sweep(streams, true);
		streams->sweep_at = streams->count < SWEEP_AT_LEAST / 2 ? SWEEP_AT_LEAST : streams->count * 2;
	}
	struct seam_stream *stream = seam__slab_get(&streams->stream_slab);
	if (stream == NULL)
		return SEAM_OOM_META;
	*stream = (struct seam_stream){.owner = streams,
		.handle = handle,
		.id = id,
		.placed = handle <= SEAM_STREAM_PER_THREAD || handle == SEAM_NO_STREAM_HANDLE};
	TAILQ_INIT(&stream->events);
	struct seam_stream *place;
	TAILQ_FOREACH(place, &streams->list, by_index)
	{
		if (place->index != stream->index)
			break;
		stream->index++;
	}
	if (place != NULL)
		TAILQ_INSERT_BEFORE(place, stream, by_index);
	else
		TAILQ_INSERT_TAIL(&streams->list, stream, by_index);
	streams->count++;
	(void)RB_INSERT(seam_stream_tree, &streams->tree, stream);
	*ret_stream = stream;
	return SEAM_OK;
}

static enum seam_rc find_per_thread(struct seam_streams *streams, struct seam_stream **ret_stream)
{
	uint64_t id = 0;
	int cu = seam__drv_stream_id(streams->driver, SEAM_STREAM_PER_THREAD, &id);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	struct seam_stream *stream = look_up(streams, SEAM_STREAM_PER_THREAD, id);
	if (stream == NULL)
		return add(streams, SEAM_STREAM_PER_THREAD, id, ret_stream);
	if (stream->wanted) {
		stream->wanted = false;
		/* A kindness to another thread: whether it works now is not this caller's concern. */
		enum seam_rc rc = seam__stream_cover(stream);
		(void)rc;
	}
	*ret_stream = stream;
	return SEAM_OK;
}

static enum seam_rc find_none(struct seam_streams *streams, struct seam_stream **ret_stream)
{
	if (!streams->allows_none)
		return SEAM_INVALID;
	struct seam_stream *stream = look_up(streams, SEAM_NO_STREAM_HANDLE, 0);
	enum seam_rc rc = stream == NULL ? add(streams, SEAM_NO_STREAM_HANDLE, 0, &stream) : SEAM_OK;
	if (rc == SEAM_OK)
		streams->last = *ret_stream = stream;
	return rc;
}

enum seam_rc seam__streams_find(
	struct seam_streams *streams, uint64_t handle, bool verify, struct seam_stream **ret_stream)
{
	if (handle == SEAM_STREAM_LEGACY)
		handle = SEAM_STREAM_DEFAULT;
	verify = verify && handle != SEAM_STREAM_DEFAULT && handle != SEAM_NO_STREAM_HANDLE;
	struct seam_stream *stream = streams->last;
	if (stream != NULL && stream->handle == handle && !verify) {
		*ret_stream = stream;
		return SEAM_OK;
	}
	if (handle == SEAM_STREAM_PER_THREAD)
		return find_per_thread(streams, ret_stream);
	if (handle == SEAM_NO_STREAM_HANDLE)
		return find_none(streams, ret_stream);
	stream = look_up(streams, handle, 0);
	if (stream == NULL || verify) {
		uint64_t id = 0;
		bool capturing = false;
		int cu = seam__stream_ask(streams->driver, handle, &capturing, &id);
		bool other = cu == SEAM_CU_SUCCESS && stream != NULL && !capturing && !seam__stream_take_id(stream, id);
		if (stream != NULL && (other || cu == SEAM_CU_INVALID_HANDLE)) {
			seam__stream_lose(stream);
			stream = NULL;
			seam__streams_sweep(streams, false);
		}
		if (cu != SEAM_CU_SUCCESS)
			return seam__driver_rc(cu);
		if (stream == NULL) {
			enum seam_rc rc = add(streams, handle, id, &stream);
			if (rc != SEAM_OK)
				return rc;
		}
		stream->capturing = capturing;
	}
	streams->last = stream;
	*ret_stream = stream;
	return SEAM_OK;
}

void seam__stream_ref(struct seam_stream *stream)
{
	stream->references++;
}

void seam__stream_unref(struct seam_stream *stream)
{
	SEAM_ASSERT(stream->references > 0);
	stream->references--;
	if (seam__stream_is_dead(stream) && is_silent(stream))
		free_entry(stream);
}

bool seam__streams_all_passed(const struct seam_streams *streams, uint64_t tick)
{
	const struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index)
	if (!seam__stream_passed(stream, tick))
		return false;
	return true;
}

enum seam_rc seam__stream_destroyed(struct seam_streams *streams, uint64_t handle)
{
	uint64_t id = 0;
	if (handle == SEAM_STREAM_DEFAULT || handle == SEAM_STREAM_LEGACY || handle == SEAM_NO_STREAM_HANDLE)
		return SEAM_INVALID;
	if (handle == SEAM_STREAM_PER_THREAD) {
		int cu = seam__drv_stream_id(streams->driver, handle, &id);
		if (cu != SEAM_CU_SUCCESS)
			return seam__driver_rc(cu);
	}
	struct seam_stream *stream = look_up(streams, handle, id);
	if (stream == NULL)
		return SEAM_NOT_FOUND;
	enum seam_rc rc = SEAM_OK;
	/* Who refers to the stream may free on it later, when nothing can be recorded any more. */
	if (stream->references > 0 || stream->last_stamp > stream->covered) {
		rc = seam__stream_reach(stream);
		if (rc == SEAM_OK)
			rc = seam__stream_record(stream);
	}
	if (rc == SEAM_OK) {
		leave_tree(stream);
		stream->destroyed = true;
	} else if (!stream->lost) {
		seam__stream_lose(stream);
	}
	seam__streams_sweep(streams, false);
	return rc;
}

static const char *check_stream(const struct seam_stream *stream)
{
	if (stream->passed > stream->covered || stream->covered >= stream->owner->tick ||
		stream->last_stamp > stream->owner->tick)
		return "ST1 ticks in order";
	uint64_t previous = stream->passed;
	uint32_t queued = 0;
	const struct seam_stream_event *event;
	TAILQ_FOREACH(event, &stream->events, link)
	{
		if (event->tick <= previous || !event->queued || event->event.id == 0)
			return "ST2 events rise";
		previous = event->tick;
		queued++;
	}
	if (previous > stream->covered || (queued == 0 && stream->covered != stream->passed))
		return "ST2 events cover";
	if (queued != stream->queued || queued > SEAM_STREAM_EVENTS)
		return "ST3 events bounded";
	return NULL;
}

const char *seam__streams_check(const struct seam_streams *streams)
{
	/* The tree macros know no const; nothing is written through it. */
	struct seam_stream_tree *tree = (struct seam_stream_tree *)(uintptr_t)&streams->tree;
	uint64_t events = 0, in_tree = 0;
	uint32_t count = 0, next_index = 0;
	struct seam_stream *stream;
	TAILQ_FOREACH(stream, &streams->list, by_index)
	{
		const char *broken = check_stream(stream);
		if (broken != NULL)
			return broken;
		if (stream->index < next_index || stream->owner != streams)
			return "ST5 indexes rise";
		next_index = stream->index + 1;
		const struct seam_stream *found = RB_FIND(seam_stream_tree, tree, stream);
		if ((found == stream) == seam__stream_is_dead(stream))
			return "ST4 tree";
		in_tree += found == stream;
		events += stream->queued;
		count++;
	}
	struct seam_stream *node;
	RB_FOREACH(node, seam_stream_tree, tree)
	in_tree--;
	if (in_tree != 0)
		return "ST4 tree";
	const struct seam_stream_event *event;
	TAILQ_FOREACH(event, &streams->idle, link)
	{
		if (event->queued)
			return "idle events are idle";
		events++;
	}
	if (count != streams->count || events != streams->events)
		return "counts";
	if (streams->last != NULL &&
		(seam__stream_is_dead(streams->last) || streams->last->handle == SEAM_STREAM_PER_THREAD))
		return "last is in the tree";
	return NULL;
}
