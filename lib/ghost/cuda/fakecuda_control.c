/* fakecuda_control.c: the device's environment, and what tests ask of it. See fakecuda_control.h. */
#include "fakecuda_control.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "emu_state.h"
#include "fakecuda.h"

#define NO_DEVICE 3

static _Atomic uint64_t spent_ticks;
static const struct seam_driver_ops *plain; /* the emulator's own calls */
static struct seam_driver_ops timed;

/* The emulator's calls again, each with its time taken. */
#define SEAM_DRIVER(name, class, wait, params, args)                                                        \
	static int timed_##name params                                                                      \
	{                                                                                                   \
		uint64_t start = seam__clock_ticks();                                                       \
		int cu = plain->name args;                                                                  \
		atomic_fetch_add_explicit(&spent_ticks, seam__clock_ticks() - start, memory_order_relaxed); \
		return cu;                                                                                  \
	}
#include "driver.def"
#undef SEAM_DRIVER

static bool parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KMG";
	char *end = NULL;
	unsigned long long number = strtoull(text, &end, 10);
	const char *unit = *end != '\0' ? strchr(units, *end) : NULL;
	unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
	if (end == text || (*end != '\0' && (unit == NULL || end[1] != '\0')) || number > UINT64_MAX >> 20 >> shift)
		return false;
	*ret_bytes = (uint64_t)number << shift;
	return true;
}

bool fake_have_peers(void)
{
	const char *peers = secure_getenv("FAKECUDA_PEERS");
	return peers == NULL || strcmp(peers, "none") != 0;
}

static bool parse_host(const char *text, enum seam_emu_host *ret_host)
{
	static const char *const names[] = {
		[SEAM_EMU_HOST_WHOLE] = "whole",
		[SEAM_EMU_HOST_NONE] = "none",
		[SEAM_EMU_HOST_NO_CPU] = "no_cpu",
		[SEAM_EMU_HOST_AS_DEVICE] = "as_device",
	};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*ret_host = (enum seam_emu_host)i;
		return true;
	}
	return false;
}

bool fake_configure(struct seam_emu_config *config)
{
	const char *devices = secure_getenv("FAKECUDA_DEVICES");
	const char *capacity = secure_getenv("FAKECUDA_CAPACITY");
	const char *memory = secure_getenv("FAKECUDA_MEMORY");
	*config = (struct seam_emu_config){.memory = SEAM_EMU_REAL, .no_fabric = true, .no_peers = !fake_have_peers()};
	if (devices != NULL) {
		char *end = NULL;
		unsigned long count = strtoul(devices, &end, 10);
		if (end == devices || *end != '\0' || count == 0 || count > SEAM_EMU_DEVICES)
			return false;
		config->devices = (int)count;
	}
	if (memory != NULL && strcmp(memory, "book") == 0)
		config->memory = SEAM_EMU_BOOK;
	else if (memory != NULL && (strcmp(memory, "strict") == 0 || strcmp(memory, "still") == 0))
		config->memory = SEAM_EMU_STRICT;
	else if (memory != NULL && strcmp(memory, "real") != 0)
		return false;
	const char *host = secure_getenv("FAKECUDA_HOST");
	if (host != NULL && !parse_host(host, &config->host))
		return false;
	config->still = memory != NULL && strcmp(memory, "still") == 0;
	if (capacity != NULL && (!parse_size(capacity, &config->capacity_bytes) || config->capacity_bytes == 0))
		return false;
	return fake_gpu_configure(&config->capacity_bytes);
}

void fake_time_calls(struct seam_driver *device)
{
	const char *wanted = secure_getenv("FAKECUDA_CLOCK");
	if (wanted == NULL || strcmp(wanted, "1") != 0)
		return;
	plain = device->ops;
	timed = *plain;
#define SEAM_DRIVER(name, class, wait, params, args) timed.name = timed_##name;
#include "driver.def"
#undef SEAM_DRIVER
	device->ops = &timed;
}

/* The device that is asked: this thread's current one, or device 0. NULL: there is none. */
static struct seam_driver *asked(void)
{
	struct seam_driver *current = fake_driver();
	return current != NULL ? current : fake_contexts[0].driver;
}

EXPORTED int fakecuda_work(void *stream, uint64_t va, uint64_t bytes, int writes, uint64_t duration_ns)
{
	struct seam_driver *d = asked();
	const struct seam_emu_range range = {.va = va, .bytes = bytes, .write = writes != 0};
	if (d == NULL)
		return NO_DEVICE;
	return seam__emu_launch(d, word(stream), bytes != 0 ? &range : NULL, bytes != 0, duration_ns, 0);
}

static _Atomic uint64_t launches;

void fake_count_launch(void)
{
	(void)atomic_fetch_add(&launches, 1);
}

EXPORTED uint64_t fakecuda_launches(void)
{
	struct seam_driver *d = asked();
	return atomic_load(&launches) + (d != NULL ? seam__driver_calls(d, SEAM_DRV_COPY) : 0);
}

EXPORTED int fakecuda_graph_launch(void *graph, void *stream)
{
	struct seam_driver *d = asked();
	fake_count_launch();
	return d == NULL ? NO_DEVICE : seam__emu_graph_launch(d, word(graph), word(stream));
}

EXPORTED void fakecuda_advance(uint64_t ns)
{
	struct seam_driver *d = asked();
	if (d != NULL)
		seam__emu_advance(d, ns);
}

EXPORTED uint64_t fakecuda_now(void)
{
	struct seam_driver *d = asked();
	return d != NULL ? d->ops->clock_ns(d) : 0;
}

EXPORTED uint64_t fakecuda_calls(const char *name)
{
	struct seam_driver *d = asked();
	if (d == NULL)
		return 0;
	if (name == NULL)
		return seam__driver_calls(d, SEAM_DRV_MEMORY);
	for (int call = 0; call < SEAM_DRV_COUNT; call++)
		if (strcmp(seam__driver_call_name((enum seam_drv_call)call), name) == 0)
			return atomic_load(&d->counts[call].calls);
	return 0;
}

EXPORTED uint64_t fakecuda_used_bytes(void)
{
	struct seam_driver *d = asked();
	struct seam_emu_usage usage = {0};
	if (d != NULL)
		seam__emu_usage(d, &usage);
	return usage.used_bytes;
}

EXPORTED uint64_t fakecuda_violations(void)
{
	struct seam_driver *d = asked();
	return d != NULL ? seam__emu_violations_all(d) : 0;
}

EXPORTED const char *fakecuda_violation_text(void)
{
	struct seam_driver *d = asked();
	return d != NULL ? seam__emu_violation_text(d) : "";
}

EXPORTED void fakecuda_clear_violations(void)
{
	struct seam_driver *d = asked();
	if (d != NULL)
		seam__emu_clear_violations(d);
}

EXPORTED void fakecuda_fail_at(uint64_t n, int code)
{
	struct seam_driver *d = asked();
	if (d != NULL)
		seam__driver_fail_at(d, n, UINT64_C(1) << SEAM_DRV_MEMORY, code);
}

EXPORTED uint64_t fakecuda_ticks(void)
{
	return atomic_load_explicit(&spent_ticks, memory_order_relaxed);
}

/* Mapped memory that programs are told is the host's. */
static bool is_of_host(const struct emu *e, const struct emu_mapping *mapping)
{
	return mapping != NULL && mapping->phys->props.where.kind != SEAM_AT_DEVICE &&
		e->config.host != SEAM_EMU_HOST_AS_DEVICE;
}

EXPORTED int fakecuda_range(uint64_t va, uint64_t *ret_base, uint64_t *ret_bytes)
{
	struct seam_driver *d = asked();
	if (d == NULL)
		return NO_DEVICE;
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	if (is_of_host(e, mapping))
		mapping = NULL;
	if (mapping != NULL) {
		*ret_base = mapping->va;
		*ret_bytes = mapping->bytes;
	}
	seam__mutex_unlock(&e->lock);
	return mapping != NULL ? 0 : SEAM_CU_INVALID_VALUE;
}

EXPORTED int fakecuda_device_of(uint64_t va)
{
	struct seam_driver *d = asked();
	if (d == NULL)
		return -1;
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	int device = mapping != NULL && mapping->phys->props.where.kind == SEAM_AT_DEVICE
		? mapping->phys->props.where.id
		: -1;
	seam__mutex_unlock(&e->lock);
	return device;
}

EXPORTED int fakecuda_host_range(const void *at, uint64_t *ret_base, uint64_t *ret_bytes)
{
	struct seam_driver *d = asked();
	if (d == NULL)
		return NO_DEVICE;
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, word(at));
	if (is_of_host(e, mapping)) {
		*ret_base = mapping->va;
		*ret_bytes = mapping->bytes;
		seam__mutex_unlock(&e->lock);
		return 0;
	}
	const struct emu_host_block *block = RB_ROOT(&e->host_blocks);
	while (block != NULL && word(at) - block->va >= block->bytes)
		block = word(at) < block->va ? RB_LEFT(block, by_va) : RB_RIGHT(block, by_va);
	if (block != NULL) {
		*ret_base = block->va;
		*ret_bytes = block->bytes;
	}
	seam__mutex_unlock(&e->lock);
	return block != NULL ? 0 : SEAM_CU_INVALID_VALUE;
}

EXPORTED int fakecuda_is_real(void)
{
	struct seam_driver *d = asked();
	return d != NULL && seam__emu_of(d)->memfd >= 0 && !seam__emu_of(d)->config.still;
}
