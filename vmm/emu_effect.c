/* emu_effect.c: the effect of work on memory, when it ends: access is checked, and bytes move (emu_bytes.c) where there
 * is real memory.
 */
#include <errno.h>

#include "check.h"
#include "emu_state.h"

bool seam__emu_may_touch(const struct emu_device *device, const struct emu_mapping *mapping, bool write, bool kernel)
{
	unsigned needed = write ? SEAM_ACCESS_READWRITE : SEAM_ACCESS_READ;
	if ((mapping->modes.device[device->ordinal] & needed) == needed)
		return true;
	return mapping->reservation == NULL && (!kernel || (device->peers >> mapping->phys->props.where.id & 1) != 0);
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
		if (!seam__emu_may_touch(device, mapping, range->write, work->kind == EMU_LAUNCH)) {
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
	if (!allowed || e->memfd < 0 || e->config.still)
		return;
	int error = move_bytes(e, work);
	if (error == EFAULT)
		seam__emu_violate(work->stream->device, SEAM_EMU_ACCESS_HOST, "%llu bytes at %p",
			(unsigned long long)work->host_bytes, work->host);
	else if (error != 0)
		seam__emu_violate(work->stream->device, SEAM_EMU_ACCESS_FAILED, "%#llx: error %d",
			(unsigned long long)work->ranges[0].va, error);
}
