/* emu_lookup.c: what stands at an address: the mapping, or the page-locked host memory and the work that uses it; and
 * the stream that a capture began on.
 *
 * Not here: making or removing any of them (emu_space.c, emu_direct.c, emu_capture.c).
 */
#include "emu_state.h"

struct emu_mapping *seam__emu_mapping_next(struct emu *e, uint64_t va)
{
	struct emu_mapping *at = RB_ROOT(&e->mappings);
	struct emu_mapping *best = NULL;
	while (at != NULL) {
		if (at->va + at->bytes > va) {
			best = at;
			at = RB_LEFT(at, by_va);
		} else {
			at = RB_RIGHT(at, by_va);
		}
	}
	return best;
}

struct emu_mapping *seam__emu_mapping_find(struct emu *e, uint64_t va)
{
	struct emu_mapping *mapping = seam__emu_mapping_next(e, va);
	return mapping != NULL && mapping->va <= va ? mapping : NULL;
}

struct emu_host_block *seam__emu_host_next(struct emu *e, uint64_t va)
{
	struct emu_host_block *at = RB_ROOT(&e->host_blocks);
	struct emu_host_block *best = NULL;
	while (at != NULL) {
		if (at->va + at->bytes > va) {
			best = at;
			at = RB_LEFT(at, by_va);
		} else {
			at = RB_RIGHT(at, by_va);
		}
	}
	return best;
}

bool seam__emu_host_meets(const struct emu_work *work, const struct emu_host_block *block)
{
	uint64_t va = (uint64_t)(uintptr_t)work->host;
	return work->host_bytes != 0 && va < block->va + block->bytes && block->va < va + work->host_bytes;
}

bool seam__emu_host_is_locked(struct emu *e, const struct emu_work *work)
{
	uint64_t va = (uint64_t)(uintptr_t)work->host;
	const struct emu_host_block *block = work->host_bytes != 0 ? seam__emu_host_next(e, va) : NULL;
	return block != NULL && block->va <= va;
}

struct emu_stream *seam__emu_capture_origin(struct emu *e, uint64_t capture_id)
{
	struct emu_stream *stream;
	if (e->active_captures == 0 || capture_id == 0)
		return NULL;
	LIST_FOREACH(stream, &e->all_streams, all)
	{
		if (stream->capture_origin && stream->capture_id == capture_id)
			return stream;
	}
	return NULL;
}
