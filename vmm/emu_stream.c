/* emu_stream.c: streams, their handles and ids.
 *
 * Handles are given out again, newest first, as a driver may do; ids never are.
 * Not here: the order between them (emu_edges.c), events (emu_event.c), work (emu_work.c), capture and the end of a
 * stream that may be captured (emu_capture.c).
 */
#include "check.h"
#include "emu_state.h"
#include "meta.h"

#define FIRST_HANDLE UINT64_C(0x1000)

static _Atomic uint64_t last_stream_id;

static int compare_streams(const struct emu_stream *a, const struct emu_stream *b)
{
	if (a->handle != b->handle)
		return a->handle < b->handle ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	/* The handles that every device has. */
	if (a->handle > SEAM_STREAM_PER_THREAD)
		return 0;
	return a->device->ordinal < b->device->ordinal ? -1 : a->device->ordinal > b->device->ordinal;
}

SEAM_TREE_GENERATE(emu_streams, emu_stream, by_handle, compare_streams)

struct emu_stream *seam__emu_stream_make_branch(struct emu_device *device)
{
	struct emu *e = device->e;
	struct emu_stream *stream = seam__slab_get(&e->stream_slab);
	if (stream == NULL)
		return NULL;
	*stream = (struct emu_stream){.device = device};
	stream->id = atomic_fetch_add(&last_stream_id, 1) + 1;
	STAILQ_INIT(&stream->queue);
	LIST_INSERT_HEAD(&e->all_streams, stream, all);
	return stream;
}

static struct emu_stream *make_stream(struct emu_device *device, uint64_t handle, uint64_t thread, bool blocking)
{
	struct emu_stream *stream = seam__emu_stream_make_branch(device);
	if (stream == NULL)
		return NULL;
	stream->handle = handle;
	stream->thread = thread;
	stream->blocking = blocking;
	RB_INSERT(emu_streams, &device->e->streams, stream);
	return stream;
}

enum seam_rc seam__emu_streams_init(struct emu *e)
{
	e->next_handle = FIRST_HANDLE;
	for (int i = 0; i < e->config.devices; i++) {
		struct emu_device *device = &e->devices[i];
		device->legacy = make_stream(device, SEAM_STREAM_DEFAULT, 0, true);
		if (device->legacy == NULL)
			return SEAM_OOM_META;
	}
	return SEAM_OK;
}

static void free_stream(struct emu *e, struct emu_stream *stream)
{
	LIST_REMOVE(stream, all);
	seam__emu_order_fini(&stream->order, e->meta);
	seam__emu_order_fini(&stream->captured_order, e->meta);
	seam__slab_put(&e->stream_slab, stream);
}

void seam__emu_streams_fini(struct emu *e)
{
	struct emu_stream *stream;
	while ((stream = LIST_FIRST(&e->all_streams)) != NULL)
		free_stream(e, stream);
	seam__meta_free(e->meta, e->free_handles, e->free_handle_capacity * sizeof(e->free_handles[0]));
	seam__emu_order_fini(&e->host_order, e->meta);
	(void)seam__slab_fini(&e->stream_slab);
}

int seam__emu_stream_find(struct emu_device *device, uint64_t handle, struct emu_stream **ret_stream)
{
	if (handle == SEAM_STREAM_DEFAULT || handle == SEAM_STREAM_LEGACY) {
		*ret_stream = device->legacy;
		return 0;
	}
	struct emu_stream key = {.device = device, .handle = handle};
	if (handle == SEAM_STREAM_PER_THREAD)
		key.thread = seam__driver_thread();
	struct emu_stream *stream = RB_FIND(emu_streams, &device->e->streams, &key);
	if (stream == NULL && handle != SEAM_STREAM_PER_THREAD)
		return SEAM_CU_INVALID_HANDLE;
	if (stream == NULL)
		stream = make_stream(device, handle, key.thread, true);
	if (stream == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	*ret_stream = stream;
	return 0;
}

void seam__emu_stream_put(struct emu *e, struct emu_stream *stream)
{
	SEAM_ASSERT(stream->work_count != 0);
	if (--stream->work_count == 0 && stream->destroyed)
		free_stream(e, stream);
}

void seam__emu_stream_drop(struct emu *e, struct emu_stream *stream)
{
	stream->destroyed = true;
	stream->work_count++;
	seam__emu_stream_put(e, stream);
}

void seam__emu_stream_close(struct emu *e, struct emu_stream *stream)
{
	RB_REMOVE(emu_streams, &e->streams, stream);
	e->free_handles[e->free_handle_count++] = stream->handle;
	e->created_streams--;
	stream->device->created_streams--;
	seam__emu_stream_drop(e, stream);
}

int seam__emu_op_stream_create(struct seam_driver *d, enum seam_stream_kind kind, uint64_t *ret_stream)
{
	struct emu_device *device = seam__emu_device_of(d);
	struct emu *e = device->e;
	if (ret_stream == NULL || (kind != SEAM_STREAM_BLOCKING && kind != SEAM_STREAM_NONBLOCKING))
		return SEAM_CU_INVALID_VALUE;
	/* Room to take the handle back, so that destroying cannot fail. */
	if (e->created_streams + e->free_handle_count >= e->free_handle_capacity) {
		size_t capacity = e->free_handle_capacity == 0 ? 16 : e->free_handle_capacity * 2;
		void *grown = seam__meta_resize(e->meta, e->free_handles,
			e->free_handle_capacity * sizeof(e->free_handles[0]), capacity * sizeof(e->free_handles[0]));
		if (grown == NULL)
			return SEAM_CU_OUT_OF_MEMORY;
		e->free_handles = grown;
		e->free_handle_capacity = capacity;
	}
	bool reuse = e->free_handle_count != 0;
	uint64_t handle = reuse ? e->free_handles[e->free_handle_count - 1] : e->next_handle;
	if (make_stream(device, handle, 0, kind == SEAM_STREAM_BLOCKING) == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (reuse)
		e->free_handle_count--;
	else
		e->next_handle += 0x10;
	e->created_streams++;
	device->created_streams++;
	*ret_stream = handle;
	return 0;
}

int seam__emu_op_stream_foreign(struct seam_driver *d, uint64_t handle, bool *ret_foreign)
{
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu == 0)
		*ret_foreign = stream->device != seam__emu_device_of(d);
	return cu;
}
