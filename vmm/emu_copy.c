/* emu_copy.c: work that touches memory: copies, fills and fake kernels, from their submission to their effect.
 *
 * Copies and fills of addresses where nothing is mapped are refused at once, as the driver does; a kernel's ranges are
 * looked at when it runs. Where there is real memory the effect moves bytes (emu_bytes.c); in book
 * mode it only checks.
 */
#include <errno.h>

#include "bits.h"
#include "check.h"
#include "emu_state.h"

#define CHUNK_BYTES (UINT64_C(2) << 20)

static bool is_mapped(struct emu *e, uint64_t va, uint64_t bytes)
{
	uint64_t end;
	if (!seam__bits_try_add(va, bytes, &end))
		return false;
	while (va < end) {
		const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
		if (mapping == NULL)
			return false;
		va = mapping->va + mapping->bytes;
	}
	return true;
}

/* Whether work of `device` may touch the mapping so. Plain memory of another device: copies may, kernels once they are
 * let. */
static bool may_touch(const struct emu_device *device, const struct emu_mapping *mapping, bool write, bool kernel)
{
	unsigned needed = write ? SEAM_ACCESS_READWRITE : SEAM_ACCESS_READ;
	if ((mapping->modes.device[device->ordinal] & needed) == needed)
		return true;
	return mapping->reservation == NULL && (!kernel || (device->peers >> mapping->phys->props.where.id & 1) != 0);
}

/* Mapped memory of another device that a copy by this one cannot reach. */
static bool is_out_of_reach(struct emu *e, const struct emu_device *device, const struct seam_emu_range *range)
{
	uint64_t end = range->va + range->bytes;
	for (uint64_t at = range->va; at < end;) {
		const struct emu_mapping *mapping = seam__emu_mapping_find(e, at);
		const struct seam_location *where = &mapping->phys->props.where;
		if (where->kind == SEAM_AT_DEVICE && where->id != (int)device->ordinal &&
			!may_touch(device, mapping, range->write, /* kernel= */ false))
			return true;
		at = mapping->va + mapping->bytes;
	}
	return false;
}

/* Flags the first byte of the range that the work may not touch. */
static bool check_range(struct emu *e, const struct emu_work *work, size_t i)
{
	const struct seam_emu_range *range = &work->ranges[i];
	struct emu_device *device = work->kind == EMU_BETWEEN ? work->between[i] : work->stream->device;
	uint64_t end = range->va + range->bytes;
	for (uint64_t at = range->va; at < end;) {
		const struct emu_mapping *mapping = seam__emu_mapping_find(e, at);
		if (mapping == NULL) {
			seam__emu_violate(device, SEAM_EMU_ACCESS_UNMAPPED, "%#llx", (unsigned long long)at);
			return false;
		}
		if (!may_touch(device, mapping, range->write, work->kind == EMU_LAUNCH)) {
			seam__emu_violate(device, SEAM_EMU_ACCESS_DENIED, "device %u at %#llx", device->ordinal,
				(unsigned long long)at);
			return false;
		}
		at = mapping->va + mapping->bytes;
	}
	return true;
}

static int fill_written(struct emu *e, const struct emu_work *work)
{
	int error = 0;
	for (size_t i = 0; i < work->range_count && work->value != 0 && error == 0; i++) {
		if (work->ranges[i].write)
			error = seam__emu_bytes_fill(e, work->ranges[i].va, work->value, work->ranges[i].bytes);
	}
	return error;
}

/* 0 or an errno. */
static int move_bytes(struct emu *e, const struct emu_work *work)
{
	const struct seam_emu_range *ranges = work->ranges;
	switch (work->kind) {
	case EMU_LAUNCH:
		return fill_written(e, work);
	case EMU_FILL:
		return seam__emu_bytes_fill(e, ranges[0].va, work->value, ranges[0].bytes);
	case EMU_TO_DEVICE:
		return seam__emu_bytes_write(e, ranges[0].va, work->host, ranges[0].bytes);
	case EMU_TO_HOST:
		return seam__emu_bytes_read(e, work->host, ranges[0].va, ranges[0].bytes);
	case EMU_ON_DEVICE:
	case EMU_BETWEEN:
		return seam__emu_bytes_move(e, ranges[0].va, ranges[1].va, ranges[0].bytes);
	case EMU_HOST_FUNC:
	case EMU_WAIT:
	case EMU_RECORD:
		break;
	}
	SEAM_ASSERT(false);
	return 0;
}

void seam__emu_effect(struct emu *e, struct emu_work *work)
{
	bool allowed = !work->disarmed;
	if (allowed && work->locked && !seam__emu_host_is_locked(e, work)) {
		seam__emu_violate(work->stream->device, SEAM_EMU_ACCESS_UNMAPPED,
			"host memory at %p, freed after its capture", work->host);
		allowed = false;
	}
	for (size_t i = 0; i < work->range_count && allowed; i++)
		allowed = check_range(e, work, i);
	if (!allowed || e->memfd < 0)
		return;
	int error = move_bytes(e, work);
	if (error == EFAULT)
		seam__emu_violate(work->stream->device, SEAM_EMU_ACCESS_HOST, "%llu bytes at %p",
			(unsigned long long)work->host_bytes, work->host);
	else if (error != 0)
		seam__emu_violate(work->stream->device, SEAM_EMU_ACCESS_FAILED, "%#llx: error %d",
			(unsigned long long)work->ranges[0].va, error);
}

/* Submits work whose kind, host side and value are in `like`. */
static int submit(struct emu *e, struct emu_stream *stream, const struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count)
{
	int cu = seam__emu_stream_prepare(e, stream);
	if (cu != 0)
		return cu;
	if (stream->capture == SEAM_CAPTURE_ACTIVE) {
		if (!seam__emu_capture_work(e, stream, like, ranges, count))
			return SEAM_CU_OUT_OF_MEMORY;
		seam__emu_judge_capture(e, stream, ranges, count);
		return 0;
	}
	struct emu_work *work = seam__emu_work_copy(e, stream, like, ranges, count);
	if (work == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (!seam__emu_host_use(e, work) || !seam__emu_judge_touch(e, work)) {
		seam__emu_judge_untouch(e, work);
		seam__emu_work_drop(e, work);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	seam__emu_work_submit(e, work);
	return 0;
}

/* A copy or fill: its ranges must be mapped now; it takes the device as long as the cost table says. */
static int submit_copy(struct seam_driver *d, uint64_t handle, enum seam_drv_call call, struct emu_work *like,
	const struct seam_emu_range *ranges, size_t count)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	for (size_t i = 0; i < count; i++) {
		const struct emu_device *device = like->kind == EMU_BETWEEN ? like->between[i] : stream->device;
		if (!is_mapped(e, ranges[i].va, ranges[i].bytes) || is_out_of_reach(e, device, &ranges[i]))
			return SEAM_CU_INVALID_VALUE;
	}
	if (ranges[0].bytes == 0)
		return 0;
	like->duration_ns =
		(uint64_t)((double)ranges[0].bytes / (double)CHUNK_BYTES * (double)e->costs[call].per_2mib_ns);
	return submit(e, stream, like, ranges, count);
}

int seam__emu_op_copy_to_device(struct seam_driver *d, uint64_t va, const void *from, uint64_t bytes, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_TO_DEVICE, .host = (void *)(uintptr_t)from, .host_bytes = bytes};
	const struct seam_emu_range range = {.va = va, .bytes = bytes, .write = true};
	if (from == NULL)
		return SEAM_CU_INVALID_VALUE;
	return submit_copy(d, stream, SEAM_DRV_copy_to_device, &like, &range, 1);
}

int seam__emu_op_copy_to_host(struct seam_driver *d, void *to, uint64_t va, uint64_t bytes, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_TO_HOST, .host = to, .host_bytes = bytes};
	const struct seam_emu_range range = {.va = va, .bytes = bytes};
	if (to == NULL)
		return SEAM_CU_INVALID_VALUE;
	return submit_copy(d, stream, SEAM_DRV_copy_to_host, &like, &range, 1);
}

int seam__emu_op_copy_on_device(
	struct seam_driver *d, uint64_t to_va, uint64_t from_va, uint64_t bytes, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_ON_DEVICE};
	const struct seam_emu_range ranges[2] = {
		{.va = to_va, .bytes = bytes, .write = true}, {.va = from_va, .bytes = bytes}};
	return submit_copy(d, stream, SEAM_DRV_copy_on_device, &like, ranges, 2);
}

int seam__emu_op_copy_between(struct seam_driver *d, struct seam_driver *to, uint64_t to_va, struct seam_driver *from,
	uint64_t from_va, uint64_t bytes, uint64_t stream)
{
	const struct seam_emu_range ranges[2] = {
		{.va = to_va, .bytes = bytes, .write = true}, {.va = from_va, .bytes = bytes}};
	if (to == NULL || from == NULL || seam__emu_of(to) != seam__emu_of(d) || seam__emu_of(from) != seam__emu_of(d))
		return SEAM_CU_INVALID_CONTEXT;
	struct emu_work like = {.kind = EMU_BETWEEN, .between = {seam__emu_device_of(to), seam__emu_device_of(from)}};
	return submit_copy(d, stream, SEAM_DRV_copy_between, &like, ranges, 2);
}

int seam__emu_op_fill32(struct seam_driver *d, uint64_t va, uint32_t value, uint64_t words, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_FILL, .value = value};
	struct seam_emu_range range = {.va = va, .write = true};
	if (!seam__bits_is_aligned(va, sizeof(value)) || !seam__bits_try_mul(words, sizeof(value), &range.bytes))
		return SEAM_CU_INVALID_VALUE;
	return submit_copy(d, stream, SEAM_DRV_fill32, &like, &range, 1);
}

int seam__emu_launch_locked(struct emu_device *device, uint64_t handle, const struct seam_emu_range *ranges,
	size_t count, uint64_t duration_ns, uint32_t value)
{
	struct emu_work like = {.kind = EMU_LAUNCH, .duration_ns = duration_ns, .value = value};
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(device, handle, &stream);
	if (cu == 0 && stream->device != device)
		cu = SEAM_CU_INVALID_HANDLE;
	if (cu != 0)
		return cu;
	for (size_t i = 0; i < count; i++) {
		uint64_t end;
		if (!seam__bits_try_add(ranges[i].va, ranges[i].bytes, &end))
			return SEAM_CU_INVALID_VALUE;
	}
	return submit(device->e, stream, &like, ranges, count);
}
