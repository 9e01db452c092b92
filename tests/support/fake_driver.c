/* fake_driver.c: see fake_driver.h. */
#include "fake_driver.h"

#include <stdlib.h>
#include <string.h>

static struct fake_driver *self(struct seam_driver *d)
{
	return (struct fake_driver *)d;
}

static void *grow(void *array, uint64_t count, size_t element_bytes)
{
	/* Doubles at powers of two; tests do not run out of memory. */
	if ((count & (count - 1)) != 0)
		return array;
	void *grown = realloc(array, (count == 0 ? 1 : count * 2) * element_bytes);
	if (grown == NULL)
		abort();
	return grown;
}

static struct fake_stream *new_stream(struct fake_driver *fake)
{
	struct fake_stream *stream = calloc(1, sizeof *stream);
	if (stream == NULL)
		abort();
	fake->all = grow(fake->all, fake->all_count, sizeof *fake->all);
	fake->all[fake->all_count++] = stream;
	stream->id = fake->all_count * 10;
	return stream;
}

struct fake_stream *fake_resolve(struct fake_driver *fake, uint64_t handle)
{
	if (handle == SEAM_STREAM_LEGACY)
		handle = SEAM_STREAM_DEFAULT;
	if (handle == SEAM_STREAM_PER_THREAD)
		return fake->threads[fake->thread];
	return handle < FAKE_HANDLES ? fake->named[handle] : NULL;
}

uint64_t fake_stream_create(struct fake_driver *fake)
{
	for (uint64_t handle = 3; handle < FAKE_HANDLES; handle++)
		if (fake->named[handle] == NULL) {
			fake->named[handle] = new_stream(fake);
			return handle;
		}
	abort();
}

void fake_stream_destroy(struct fake_driver *fake, uint64_t handle)
{
	fake->named[handle] = NULL;
}

uint64_t fake_work(struct fake_driver *fake, uint64_t handle)
{
	return ++fake_resolve(fake, handle)->submitted;
}

static uint64_t bound(const struct fake_driver *fake, const struct fake_stream *stream)
{
	uint64_t limit = stream->submitted;
	for (uint64_t i = 0; i < fake->edge_count; i++) {
		const struct fake_edge *edge = &fake->edges[i];
		if (edge->to == stream && edge->from->done < edge->from_position && edge->position < limit)
			limit = edge->position;
	}
	return limit;
}

void fake_run(struct fake_driver *fake, struct fake_stream *stream, uint64_t count)
{
	uint64_t limit = bound(fake, stream);
	uint64_t target = stream->done + count;
	if (target > limit)
		target = limit;
	if (target > stream->done)
		stream->done = target;
}

void fake_run_all(struct fake_driver *fake)
{
	bool moved = true;
	while (moved) {
		moved = false;
		for (uint64_t i = 0; i < fake->all_count; i++) {
			uint64_t before = fake->all[i]->done;
			fake_run(fake, fake->all[i], UINT64_MAX / 2);
			moved = moved || fake->all[i]->done != before;
		}
	}
	fake->edge_count = 0;
}

static bool event_passed(const struct fake_event *event)
{
	return event->stream == NULL || event->stream->done >= event->position;
}

static struct fake_event *event_of(struct fake_driver *fake, struct seam_event event)
{
	if (event.id == 0 || event.id > fake->events_made || !fake->events[event.id - 1].exists)
		return NULL;
	return &fake->events[event.id - 1];
}

static uint64_t fake_clock_ns(struct seam_driver *d)
{
	(void)d;
	return 0;
}

static int fake_stream_id(struct seam_driver *d, uint64_t handle, uint64_t *ret_id)
{
	const struct fake_stream *stream = fake_resolve(self(d), handle);
	if (stream == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (stream->capturing && handle != SEAM_STREAM_PER_THREAD)
		return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	*ret_id = stream->id;
	return SEAM_CU_SUCCESS;
}

static int fake_stream_foreign(struct seam_driver *d, uint64_t handle, bool *ret_foreign)
{
	const struct fake_stream *stream = fake_resolve(self(d), handle);
	if (stream == NULL)
		return SEAM_CU_INVALID_HANDLE;
	*ret_foreign = stream->foreign;
	return SEAM_CU_SUCCESS;
}

static int fake_stream_capture(
	struct seam_driver *d, uint64_t handle, enum seam_capture_state *ret_state, uint64_t *ret_capture)
{
	const struct fake_stream *stream = fake_resolve(self(d), handle);
	if (stream == NULL)
		return SEAM_CU_INVALID_VALUE; /* nothing promises that it can tell: the id does */
	*ret_state = stream->capturing ? SEAM_CAPTURE_ACTIVE : SEAM_CAPTURE_NONE;
	*ret_capture = stream->capturing ? stream->id : 0;
	return SEAM_CU_SUCCESS;
}

static int fake_stream_wait_event(struct seam_driver *d, uint64_t handle, struct seam_event id)
{
	struct fake_driver *fake = self(d);
	struct fake_stream *stream = fake_resolve(fake, handle);
	const struct fake_event *event = event_of(fake, id);
	if (stream == NULL || event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (stream->capturing)
		return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	if (event_passed(event))
		return SEAM_CU_SUCCESS;
	fake->edges = grow(fake->edges, fake->edge_count, sizeof *fake->edges);
	fake->edges[fake->edge_count++] = (struct fake_edge){
		.from = event->stream, .to = stream, .from_position = event->position, .position = stream->submitted};
	return SEAM_CU_SUCCESS;
}

static int fake_device_sync(struct seam_driver *d)
{
	self(d)->syncs++;
	fake_run_all(self(d));
	return SEAM_CU_SUCCESS;
}

static int fake_event_create(struct seam_driver *d, struct seam_event *ret_event)
{
	struct fake_driver *fake = self(d);
	fake->events = grow(fake->events, fake->events_made, sizeof *fake->events);
	fake->events[fake->events_made++] = (struct fake_event){.exists = true};
	fake->events_live++;
	ret_event->id = fake->events_made;
	return SEAM_CU_SUCCESS;
}

static int fake_event_destroy(struct seam_driver *d, struct seam_event id)
{
	struct fake_event *event = event_of(self(d), id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	event->exists = false;
	self(d)->events_live--;
	return SEAM_CU_SUCCESS;
}

static int fake_event_create_for(struct seam_driver *d, uint64_t handle, struct seam_event *ret_event)
{
	const struct fake_stream *stream = fake_resolve(self(d), handle);
	int cu = stream != NULL ? fake_event_create(d, ret_event) : SEAM_CU_INVALID_HANDLE;
	if (cu == SEAM_CU_SUCCESS)
		event_of(self(d), *ret_event)->foreign = stream->foreign;
	return cu;
}

static int fake_event_record(struct seam_driver *d, struct seam_event id, uint64_t handle)
{
	struct fake_event *event = event_of(self(d), id);
	struct fake_stream *stream = fake_resolve(self(d), handle);
	if (event == NULL || stream == NULL || event->foreign != stream->foreign)
		return SEAM_CU_INVALID_HANDLE;
	if (stream->capturing)
		return SEAM_CU_STREAM_CAPTURE_UNSUPPORTED;
	event->stream = stream;
	event->position = stream->submitted;
	return SEAM_CU_SUCCESS;
}

static int fake_event_query(struct seam_driver *d, struct seam_event id)
{
	const struct fake_event *event = event_of(self(d), id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	return event_passed(event) ? SEAM_CU_SUCCESS : SEAM_CU_NOT_READY;
}

static int fake_event_sync(struct seam_driver *d, struct seam_event id)
{
	const struct fake_event *event = event_of(self(d), id);
	if (event == NULL)
		return SEAM_CU_INVALID_HANDLE;
	if (!event_passed(event)) {
		self(d)->syncs++;
		/* What it depends on is not traced: everything may end. */
		fake_run_all(self(d));
	}
	return SEAM_CU_SUCCESS;
}

/* Memory is an address range that nobody may touch; addresses are never given out twice. */
static int take(struct fake_driver *fake, uint64_t bytes, uint64_t *ret_va)
{
	if (fake->capacity_bytes != 0 && fake->memory_bytes + bytes > fake->capacity_bytes)
		return SEAM_CU_OUT_OF_MEMORY;
	fake->memory = grow(fake->memory, fake->memory_count, sizeof *fake->memory);
	fake->memory[fake->memory_count++] = (struct fake_memory){.va = fake->next_va, .bytes = bytes};
	fake->memory_bytes += bytes;
	*ret_va = fake->next_va;
	/* Half of the neighbours touch, as real allocations may. */
	fake->next_va += (bytes + 511) / 512 * 512 + (fake->memory_count % 2 == 0 ? 0 : 4096);
	return SEAM_CU_SUCCESS;
}

static int give(struct fake_driver *fake, uint64_t va)
{
	for (uint64_t i = fake->memory_count; i-- > 0;)
		if (fake->memory[i].va == va) {
			fake->memory_bytes -= fake->memory[i].bytes;
			fake->memory[i] = fake->memory[--fake->memory_count];
			return SEAM_CU_SUCCESS;
		}
	return SEAM_CU_INVALID_VALUE;
}

static int fake_direct_alloc(struct seam_driver *d, uint64_t bytes, uint64_t *ret_va)
{
	return take(self(d), bytes, ret_va);
}

static int fake_direct_free(struct seam_driver *d, uint64_t va)
{
	return give(self(d), va);
}

static int fake_host_alloc(struct seam_driver *d, uint64_t bytes, void **ret_ptr)
{
	uint64_t va = 0;
	int cu = take(self(d), bytes, &va);
	if (cu == SEAM_CU_SUCCESS)
		*ret_ptr = (void *)(uintptr_t)va;
	return cu;
}

static int fake_host_free(struct seam_driver *d, void *ptr)
{
	return give(self(d), (uint64_t)(uintptr_t)ptr);
}

static const struct seam_driver_ops fake_ops = {
	.name = "fake",
	.clock_ns = fake_clock_ns,
	.direct_alloc = fake_direct_alloc,
	.direct_free = fake_direct_free,
	.host_alloc = fake_host_alloc,
	.host_free = fake_host_free,
	.stream_id = fake_stream_id,
	.stream_foreign = fake_stream_foreign,
	.stream_capture = fake_stream_capture,
	.stream_wait_event = fake_stream_wait_event,
	.device_sync = fake_device_sync,
	.event_create = fake_event_create,
	.event_create_for = fake_event_create_for,
	.event_destroy = fake_event_destroy,
	.event_record = fake_event_record,
	.event_query = fake_event_query,
	.event_sync = fake_event_sync,
};

void fake_init(struct fake_driver *fake)
{
	memset(fake, 0, sizeof *fake);
	seam__driver_init(&fake->base, &fake_ops, 0);
	fake->next_va = UINT64_C(1) << 40;
	fake->named[SEAM_STREAM_DEFAULT] = new_stream(fake);
	for (unsigned i = 0; i < FAKE_THREADS; i++)
		fake->threads[i] = new_stream(fake);
}

void fake_fini(struct fake_driver *fake)
{
	for (uint64_t i = 0; i < fake->all_count; i++)
		free(fake->all[i]);
	free(fake->all);
	free(fake->events);
	free(fake->edges);
	free(fake->memory);
}
