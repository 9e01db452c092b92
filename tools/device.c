/* device.c: opens the GPU or the emulator, and keeps the tool's calls apart. */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "driver_cuda.h"
#include "emu.h"

#define BOOK_BYTES (UINT64_C(80) << 30)
#define REAL_BYTES (UINT64_C(8) << 30)

static enum seam_rc open_emu(const struct device_options *options, char *error, struct device *ret_device)
{
	static const struct {
		enum seam_emu_memory memory;
		const char *name;
	} kinds[] = {
		[DEVICE_MEMORY_AUTO] = {SEAM_EMU_BOOK, "book"},
		[DEVICE_MEMORY_REAL] = {SEAM_EMU_REAL, "real"},
		[DEVICE_MEMORY_STRICT] = {SEAM_EMU_STRICT, "strict"},
		[DEVICE_MEMORY_BOOK] = {SEAM_EMU_BOOK, "book"},
	};
	bool real = kinds[options->memory].memory != SEAM_EMU_BOOK;
	uint64_t capacity_bytes = options->capacity_bytes;
	if (capacity_bytes == 0) {
		uint64_t twice_bytes;
		if (!seam__bits_try_mul(options->need_bytes, 2, &twice_bytes))
			twice_bytes = 0;
		capacity_bytes =
			seam__bits_max(real ? REAL_BYTES : BOOK_BYTES, seam__bits_align_up(twice_bytes, 2 << 20));
	}
	struct seam_emu_config config = {
		.memory = kinds[options->memory].memory,
		.capacity_bytes = capacity_bytes,
		.mapping_ceiling = real ? 0 : UINT64_C(520000),
		.cost_file = options->cost_file,
	};
	struct seam_driver *driver;
	enum seam_rc rc = seam__emu_create(&config, error, DEVICE_ERROR_BYTES, &driver);
	if (rc == SEAM_OK)
		*ret_device = (struct device){
			.driver = driver, .emulated = true, .real = real, .memory = kinds[options->memory].name};
	return rc;
}

static enum seam_rc open_cuda(char *error, struct device *ret_device)
{
	struct seam_driver *driver;
	enum seam_rc rc = seam__cuda_create(0, error, DEVICE_ERROR_BYTES, &driver);
	if (rc == SEAM_OK)
		*ret_device = (struct device){.driver = driver, .real = true};
	return rc;
}

enum seam_rc device_open(const struct device_options *options, char *error, struct device *ret_device)
{
	switch (options->kind) {
	case DEVICE_CUDA:
		if (options->memory != DEVICE_MEMORY_BOOK && options->cost_file == NULL)
			return open_cuda(error, ret_device);
		(void)snprintf(error, DEVICE_ERROR_BYTES, "a GPU has no %s",
			options->cost_file != NULL ? "cost file" : "bookkeeping memory");
		return SEAM_INVALID;
	case DEVICE_AUTO:
		if (options->memory != DEVICE_MEMORY_BOOK && options->cost_file == NULL &&
			open_cuda(error, ret_device) == SEAM_OK)
			return SEAM_OK;
		break;
	case DEVICE_EMU:
		break;
	}
	return open_emu(options, error, ret_device);
}

/* A line about what the emulator found wrong, if anything. */
static enum seam_rc judge(const struct device *device, char *error)
{
	struct seam_driver *driver = device->driver;
	if (seam__emu_violations_all(driver) != 0) {
		(void)snprintf(error, DEVICE_ERROR_BYTES, "the emulated device was misused: %.150s",
			seam__emu_violation_text(driver));
		return SEAM_CORRUPT;
	}
	struct seam_emu_usage usage;
	seam__emu_usage(driver, &usage);
	uint64_t left = usage.handles + usage.mappings + usage.reservations + usage.direct_allocations + usage.events +
		usage.streams + usage.host_allocations;
	if (left != 0) {
		(void)snprintf(error, DEVICE_ERROR_BYTES,
			"left on the device: %" PRIu64 " handles, %" PRIu64 " mappings, %" PRIu64
			" reservations, %" PRIu64 " allocations, %" PRIu64 " events, %" PRIu64 " streams",
			usage.handles, usage.mappings, usage.reservations, usage.direct_allocations, usage.events,
			usage.streams);
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

enum seam_rc device_close(struct device *device, char *error)
{
	enum seam_rc rc = device->emulated ? judge(device, error) : SEAM_OK;
	seam__driver_destroy(device->driver);
	device->driver = NULL;
	return rc;
}

const char *device_label(const struct device *device, char *buffer, size_t buffer_bytes)
{
	if (device->emulated)
		(void)snprintf(buffer, buffer_bytes, "emu (%s)", device->memory);
	else
		(void)snprintf(buffer, buffer_bytes, "cuda: %s", device->driver->ops->device_name(device->driver));
	return buffer;
}

static void read_counts(const struct device *device, struct device_counts *ret_counts)
{
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++) {
		ret_counts->calls[i] = atomic_load_explicit(&device->driver->counts[i].calls, memory_order_relaxed);
		ret_counts->ns[i] = atomic_load_explicit(&device->driver->counts[i].ns, memory_order_relaxed);
	}
}

void device_mine_begin(struct device *device)
{
	read_counts(device, &device->start);
}

void device_mine_end(struct device *device)
{
	struct device_counts now;
	read_counts(device, &now);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++) {
		device->mine.calls[i] += now.calls[i] - device->start.calls[i];
		device->mine.ns[i] += now.ns[i] - device->start.ns[i];
	}
}

void device_get_counts(const struct device *device, struct device_counts *ret_counts)
{
	read_counts(device, ret_counts);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++) {
		ret_counts->calls[i] -= device->mine.calls[i];
		ret_counts->ns[i] -= device->mine.ns[i];
	}
}

uint64_t device_calls_of(const struct device_counts *counts, enum seam_drv_class class)
{
	uint64_t calls = 0;
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		if (seam__driver_call_class((enum seam_drv_call)i) == class)
			calls += counts->calls[i];
	return calls;
}
