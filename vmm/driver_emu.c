/* driver_emu.c: the emulated machine, and its devices as a backend of the driver table.
 *
 * Around every call it does the same: refuse it after a fork or a sticky error, take the lock, let the call happen,
 * bill its time. What the calls do stands in emu_space.c, emu_phys.c, emu_direct.c, emu_share.c, emu_stream.c,
 * emu_capture.c, emu_event.c, emu_work.c, emu_copy.c.
 */
#include <string.h>
#include <sys/mman.h>

#include "bits.h"
#include "check.h"
#include "emu_state.h"
#include "meta.h"
#include "text.h"

#define PAGE_BYTES 4096

/* A poisoned context still lets go of things. */
static bool survives_poison(enum seam_drv_call call)
{
	switch (call) {
	case SEAM_DRV_address_free:
	case SEAM_DRV_mem_release:
	case SEAM_DRV_mem_unmap:
	case SEAM_DRV_direct_free:
	case SEAM_DRV_host_free:
	case SEAM_DRV_stream_destroy:
	case SEAM_DRV_event_destroy:
	case SEAM_DRV_capture_end:
		return true;
	default:
		return seam__driver_call_class(call) == SEAM_DRV_QUERY;
	}
}

/* True where this process is the child of the one that made the device: no lock, no memory of ours may be relied on. */
static bool is_forked(struct emu *e)
{
	if (atomic_load_explicit(e->alive, memory_order_relaxed) != 0)
		return false;
	atomic_fetch_add(&e->violations[SEAM_EMU_AFTER_FORK], 1);
	return true;
}

/* 0 with the lock held, or the result to return without it. */
static int enter(struct emu_device *device, enum seam_drv_call call)
{
	struct emu *e = device->e;
	if (is_forked(e))
		return SEAM_CU_NOT_INITIALIZED;
	seam__mutex_lock(&e->lock);
	int sticky = survives_poison(call) ? 0 : device->sticky;
	if (sticky != 0)
		seam__mutex_unlock(&e->lock);
	return sticky;
}

/* Time passes after the call has looked at the state: pending work must not end just in time to hide a fault. */
static int leave(struct emu *e, enum seam_drv_call call, int cu)
{
	seam__emu_clock_to(e, seam__emu_now(e) + seam__emu_costs_bill(e, call, cu));
	seam__mutex_unlock(&e->lock);
	return cu;
}

#define SEAM_DRIVER(name, class, wait, params, args)                        \
	static int op_##name params                                         \
	{                                                                   \
		struct emu *e = seam__emu_of(d);                            \
		int cu = enter(seam__emu_device_of(d), SEAM_DRV_##name);    \
		if (cu != 0)                                                \
			return cu;                                          \
		return leave(e, SEAM_DRV_##name, seam__emu_op_##name args); \
	}
#include "driver.def"
#undef SEAM_DRIVER

static uint64_t clock_ns(struct seam_driver *d)
{
	return seam__emu_now(seam__emu_of(d));
}

static const char *error_text(struct seam_driver *d, int cu)
{
	(void)d;
	return seam__driver_cu_text(cu);
}

static const char *device_name(struct seam_driver *d)
{
	static const char *const names[] = {
		[SEAM_EMU_REAL] = "emulated device (real memory)",
		[SEAM_EMU_STRICT] = "emulated device (real memory, not the CPU's)",
		[SEAM_EMU_BOOK] = "emulated device (bookkeeping only)",
	};
	return names[seam__emu_of(d)->config.memory];
}

static void free_all(struct emu *e)
{
	seam__emu_helper_stop(e);
	seam__emu_captures_fini(e);
	seam__emu_graphs_fini(e);
	seam__emu_work_fini(e);
	seam__emu_events_fini(e);
	seam__emu_streams_fini(e);
	seam__emu_exports_fini(e);
	seam__emu_space_fini(e);
	seam__emu_direct_fini(e);
	seam__emu_phys_fini(e);
	seam__emu_backing_fini(e);
	seam__cond_fini(&e->helper_wakes);
	seam__cond_fini(&e->changed);
	seam__mutex_fini(&e->lock);
	if (e->alive != NULL)
		(void)munmap((void *)(uintptr_t)e->alive, PAGE_BYTES);
	struct seam_meta *meta = e->meta;
	seam__meta_free(meta, e, sizeof(*e));
	uint64_t leaked_bytes = seam__meta_destroy(meta);
	SEAM_VERIFY(leaked_bytes == 0);
}

static void destroy(struct seam_driver *d)
{
	struct emu *e = seam__emu_of(d);
	/* In a child everything stays as the fork found it: other threads may have been in the middle of a change. */
	if (is_forked(e))
		return;
	seam__mutex_lock(&e->lock);
	seam__meta_free(e->meta, d, sizeof(struct emu_driver));
	bool last = --e->drivers == 0;
	seam__mutex_unlock(&e->lock);
	if (last)
		free_all(e);
}

static const struct seam_driver_ops emu_ops = {
	.name = "emu",
	.destroy = destroy,
	.clock_ns = clock_ns,
	.error_text = error_text,
	.device_name = device_name,
#define SEAM_DRIVER(name, class, wait, params, args) .name = op_##name,
#include "driver.def"
#undef SEAM_DRIVER
};

static enum seam_rc refuse(char *error, size_t error_bytes, enum seam_rc rc, const char *text)
{
	seam__text_line(error, error_bytes, "emulated device: %s", text);
	return rc;
}

static enum seam_rc fill_config(struct emu *e, const struct seam_emu_config *config, char *error, size_t error_bytes)
{
	struct seam_emu_config *c = &e->config;
	*c = *config;
	bool real = c->memory != SEAM_EMU_BOOK;
	if ((unsigned)c->memory > SEAM_EMU_BOOK)
		return refuse(error, error_bytes, SEAM_INVALID, "no such memory mode");
	if (c->devices < 0 || c->devices > SEAM_EMU_DEVICES)
		return refuse(error, error_bytes, SEAM_INVALID, "more devices than can be emulated");
	if (c->devices == 0)
		c->devices = 1;
	e->asked_capacity_bytes = c->capacity_bytes;
	if (c->capacity_bytes == 0)
		c->capacity_bytes = (real ? UINT64_C(8) : UINT64_C(80)) << 30;
	if (c->granularity_bytes == 0)
		c->granularity_bytes = UINT64_C(2) << 20;
	if (c->mapping_ceiling == 0)
		c->mapping_ceiling = real ? 60000 : 520000;
	if (c->used_bytes > c->capacity_bytes)
		return refuse(error, error_bytes, SEAM_INVALID, "more used than the device has");
	if (!seam__bits_is_pow2(c->granularity_bytes) || c->granularity_bytes < PAGE_BYTES)
		return refuse(
			error, error_bytes, SEAM_INVALID, "the granularity is not a power of two of at least a page");
	if (c->capacity_bytes > UINT64_C(1) << 43 || c->address_space_bytes > UINT64_C(1) << 48)
		return refuse(error, error_bytes, SEAM_INVALID, "more memory or address space than can be emulated");
	if (c->address_space_bytes != 0 && !seam__bits_is_aligned(c->address_space_bytes, c->granularity_bytes))
		return refuse(
			error, error_bytes, SEAM_INVALID, "the address space is not a multiple of the granularity");
	for (int i = 0; i < c->devices; i++) {
		e->devices[i] = (struct emu_device){.e = e, .ordinal = (uint32_t)i, .used_bytes = c->used_bytes};
		STAILQ_INIT(&e->devices[i].up.ready);
		STAILQ_INIT(&e->devices[i].down.ready);
	}
	return SEAM_OK;
}

static void init_containers(struct emu *e)
{
	seam__slab_init(&e->reservation_slab, e->meta, sizeof(struct emu_reservation));
	seam__slab_init(&e->mapping_slab, e->meta, sizeof(struct emu_mapping));
	seam__slab_init(&e->phys_slab, e->meta, sizeof(struct emu_phys));
	seam__slab_init(&e->access_slab, e->meta, sizeof(struct emu_access));
	seam__slab_init(&e->host_slab, e->meta, sizeof(struct emu_host_block));
	seam__slab_init(&e->export_slab, e->meta, sizeof(struct emu_export));
	seam__slab_init(&e->mark_slab, e->meta, sizeof(struct emu_mark));
	seam__slab_init(&e->event_slab, e->meta, sizeof(struct emu_event));
	seam__slab_init(&e->work_slab, e->meta, sizeof(struct emu_work));
	seam__slab_init(&e->stream_slab, e->meta, sizeof(struct emu_stream));
	seam__slab_init(&e->graph_slab, e->meta, sizeof(struct emu_graph));
	STAILQ_INIT(&e->host_queue);
}

/* With the lock, or before anybody else knows the machine. */
static enum seam_rc make_driver(struct emu_device *device, struct seam_driver **ret_driver)
{
	struct emu_driver *driver = seam__meta_alloc(device->e->meta, sizeof(*driver));
	if (driver == NULL)
		return SEAM_OOM_META;
	seam__driver_init(&driver->base, &emu_ops, (int)device->ordinal);
	driver->device = device;
	device->e->drivers++;
	*ret_driver = &driver->base;
	return SEAM_OK;
}

/* The word that a child process does not inherit. */
static bool init_alive(struct emu *e)
{
	void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	_Atomic uint32_t *word = page;
	atomic_store(word, 1);
	e->alive = word;
	return madvise(page, PAGE_BYTES, MADV_WIPEONFORK) == 0;
}

enum seam_rc seam__emu_create(
	const struct seam_emu_config *config, char *error, size_t error_bytes, struct seam_driver **ret_driver)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct emu *e = meta != NULL ? seam__meta_alloc(meta, sizeof(*e)) : NULL;
	if (e == NULL || seam__mutex_init(&e->lock, "emulated device", SEAM_RANK_DRIVER) != SEAM_OK ||
		seam__cond_init(&e->changed) != SEAM_OK || seam__cond_init(&e->helper_wakes) != SEAM_OK) {
		seam__meta_free(meta, e, sizeof(*e));
		(void)seam__meta_destroy(meta);
		return refuse(error, error_bytes, SEAM_OOM_META, "no host memory");
	}
	e->meta = meta;
	e->memfd = -1;
	init_containers(e);
	enum seam_rc rc = fill_config(e, config, error, error_bytes);
	if (rc == SEAM_OK)
		rc = seam__emu_costs_load(e, error, error_bytes);
	if (rc != SEAM_OK) {
		free_all(e);
		return rc;
	}
	rc = init_alive(e) ? seam__emu_backing_init(e) : SEAM_OOM_HOST;
	if (rc == SEAM_OK)
		rc = seam__emu_streams_init(e);
	if (rc == SEAM_OK)
		rc = make_driver(&e->devices[0], ret_driver);
	if (rc != SEAM_OK) {
		free_all(e);
		return refuse(error, error_bytes, rc, "no host memory or address space");
	}
	return SEAM_OK;
}

enum seam_rc seam__emu_open(struct seam_driver *d, int ordinal, struct seam_driver **ret_driver)
{
	struct emu *e = seam__emu_of(d);
	if (ordinal < 0 || ordinal >= e->config.devices)
		return SEAM_NO_DEVICE;
	seam__mutex_lock(&e->lock);
	enum seam_rc rc = make_driver(&e->devices[ordinal], ret_driver);
	seam__mutex_unlock(&e->lock);
	return rc;
}

int seam__emu_stream_ordinal(struct seam_driver *d, uint64_t stream, int *ret_ordinal)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *found;
	seam__mutex_lock(&e->lock);
	int cu = seam__emu_stream_find(seam__emu_device_of(d), stream, &found);
	if (cu == 0)
		*ret_ordinal = (int)found->device->ordinal;
	seam__mutex_unlock(&e->lock);
	return cu;
}

int seam__emu_peer_enable(struct seam_driver *d, int peer)
{
	struct emu_device *device = seam__emu_device_of(d);
	struct emu *e = device->e;
	if (peer < 0 || peer >= e->config.devices || peer == d->ordinal)
		return SEAM_CU_INVALID_DEVICE;
	if (e->config.no_peers)
		return SEAM_CU_NOT_SUPPORTED;
	seam__mutex_lock(&e->lock);
	device->peers |= UINT32_C(1) << peer;
	seam__mutex_unlock(&e->lock);
	return 0;
}

void seam__emu_advance(struct seam_driver *d, uint64_t ns)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	seam__emu_clock_to(e, seam__emu_now(e) + ns);
	seam__mutex_unlock(&e->lock);
}

int seam__emu_launch(struct seam_driver *d, uint64_t stream, const struct seam_emu_range *ranges, size_t count,
	uint64_t duration_ns, uint32_t value)
{
	struct emu *e = seam__emu_of(d);
	int cu = enter(seam__emu_device_of(d), SEAM_DRV_fill32); /* a launch costs what submitting a fill does */
	if (cu != 0)
		return cu;
	return leave(e, SEAM_DRV_fill32,
		seam__emu_launch_locked(seam__emu_device_of(d), stream, ranges, count, duration_ns, value));
}

int seam__emu_capture_keep(struct seam_driver *d, uint64_t stream, uint64_t *ret_graph)
{
	int cu = ret_graph == NULL ? SEAM_CU_INVALID_VALUE : enter(seam__emu_device_of(d), SEAM_DRV_capture_end);
	if (cu != 0)
		return cu;
	return leave(seam__emu_of(d), SEAM_DRV_capture_end,
		seam__emu_capture_finish(seam__emu_device_of(d), stream, ret_graph));
}

int seam__emu_graph_launch(struct seam_driver *d, uint64_t graph, uint64_t stream)
{
	int cu = enter(seam__emu_device_of(d), SEAM_DRV_fill32); /* as a launch */
	if (cu != 0)
		return cu;
	return leave(
		seam__emu_of(d), SEAM_DRV_fill32, seam__emu_graph_launch_locked(seam__emu_device_of(d), graph, stream));
}

int seam__emu_graph_destroy(struct seam_driver *d, uint64_t graph)
{
	int cu = enter(seam__emu_device_of(d), SEAM_DRV_event_destroy);
	if (cu != 0)
		return cu;
	return leave(seam__emu_of(d), SEAM_DRV_event_destroy, seam__emu_graph_destroy_locked(seam__emu_of(d), graph));
}

void seam__emu_usage(struct seam_driver *d, struct seam_emu_usage *ret_usage)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	seam__emu_exports_sweep(e);
	*ret_usage = (struct seam_emu_usage){
		.handles = e->phys_table.count,
		.used_bytes = seam__emu_device_of(d)->used_bytes - e->config.used_bytes,
		.mappings = e->mapping_count,
		.reservations = e->reservation_count,
		.reserved_va_bytes = e->reserved_va_bytes,
		.direct_allocations = e->direct_count,
		.events = e->event_table.count,
		.streams = seam__emu_device_of(d)->created_streams,
		.host_allocations = e->host_count,
	};
	seam__mutex_unlock(&e->lock);
}

const char *seam__emu_check(struct seam_driver *d)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	const char *broken = seam__emu_space_check(e);
	if (broken == NULL)
		broken = seam__emu_phys_check(e);
	if (broken == NULL)
		broken = seam__emu_direct_check(e);
	if (broken == NULL)
		broken = seam__emu_work_check(e);
	if (broken == NULL)
		broken = seam__emu_engine_check(e);
	if (broken == NULL)
		broken = seam__emu_table_check(&e->event_table);
	if (broken == NULL)
		broken = seam__emu_graph_check(e);
	seam__mutex_unlock(&e->lock);
	return broken;
}
