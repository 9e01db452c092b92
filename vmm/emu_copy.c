/* emu_copy.c: what a program submits to a stream: copies, fills, fake kernels, host functions.
 *
 * Copies and fills of addresses where nothing is mapped are refused at once, as the driver does; a kernel's ranges are
 * looked at when it runs. Not here: the effect of all this (emu_effect.c), and when it happens (emu_work.c).
 */
#include "bits.h"
#include "emu_state.h"

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

/* Mapped memory of another device that a copy by this one cannot reach. */
static bool is_out_of_reach(struct emu *e, const struct emu_device *device, const struct seam_emu_range *range)
{
	uint64_t end = range->va + range->bytes;
	for (uint64_t at = range->va; at < end;) {
		const struct emu_mapping *mapping = seam__emu_mapping_find(e, at);
		const struct seam_location *where = &mapping->phys->props.where;
		if (where->kind == SEAM_AT_DEVICE && where->id != (int)device->ordinal &&
			!seam__emu_may_touch(device, mapping, range->write, /* kernel= */ false))
			return true;
		at = mapping->va + mapping->bytes;
	}
	return false;
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
	if (!seam__emu_judge_touch(e, work)) {
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
	like->duration_ns = seam__emu_costs_copy(e, call, ranges[0].bytes);
	return submit(e, stream, like, ranges, count);
}

/* A copy between the host and the device. Where the host's side is mapped memory, of a NUMA node, it is judged, checked
 * and kept from being unmapped like the device's. */
static int submit_crossing(
	struct seam_driver *d, uint64_t handle, enum seam_drv_call call, struct emu_work *like, uint64_t va)
{
	const bool down = like->kind == EMU_TO_HOST;
	const uint64_t host_va = (uint64_t)(uintptr_t)like->host;
	const struct emu_mapping *mapping = seam__emu_mapping_find(seam__emu_of(d), host_va);
	const bool is_mapped_host = mapping != NULL && mapping->phys->props.where.kind != SEAM_AT_DEVICE;
	const struct seam_emu_range ranges[2] = {{.va = va, .bytes = like->host_bytes, .write = !down},
		{.va = host_va, .bytes = like->host_bytes, .write = down}};
	return submit_copy(d, handle, call, like, ranges, is_mapped_host ? 2 : 1);
}

int seam__emu_op_copy_to_device(struct seam_driver *d, uint64_t va, const void *from, uint64_t bytes, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_TO_DEVICE, .host = (void *)(uintptr_t)from, .host_bytes = bytes};
	if (from == NULL)
		return SEAM_CU_INVALID_VALUE;
	return submit_crossing(d, stream, SEAM_DRV_copy_to_device, &like, va);
}

int seam__emu_op_copy_to_host(struct seam_driver *d, void *to, uint64_t va, uint64_t bytes, uint64_t stream)
{
	struct emu_work like = {.kind = EMU_TO_HOST, .host = to, .host_bytes = bytes};
	if (to == NULL)
		return SEAM_CU_INVALID_VALUE;
	return submit_crossing(d, stream, SEAM_DRV_copy_to_host, &like, va);
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

int seam__emu_op_stream_host_func(struct seam_driver *d, uint64_t handle, void (*function)(void *), void *argument)
{
	struct emu *e = seam__emu_of(d);
	struct emu_stream *stream;
	int cu = seam__emu_stream_find(seam__emu_device_of(d), handle, &stream);
	if (cu != 0)
		return cu;
	if (function == NULL)
		return SEAM_CU_INVALID_VALUE;
	cu = seam__emu_stream_prepare(e, stream);
	if (cu != 0)
		return cu;
	const struct emu_work like = {.kind = EMU_HOST_FUNC, .function = function, .host = argument};
	if (!seam__emu_helper_start(e))
		return SEAM_CU_OUT_OF_MEMORY;
	if (stream->capture == SEAM_CAPTURE_ACTIVE)
		return seam__emu_capture_work(e, stream, &like, NULL, 0) ? 0 : SEAM_CU_OUT_OF_MEMORY;
	struct emu_work *work = seam__emu_work_copy(e, stream, &like, NULL, 0);
	if (work == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	seam__emu_work_submit(e, work);
	return 0;
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
