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

static struct emu_host_block *find_block(struct emu *e, const struct emu_work *work)
{
	uint64_t va = (uint64_t)(uintptr_t)work->host;
	struct emu_host_block *block = work->host_bytes != 0 ? RB_ROOT(&e->host_blocks) : NULL;
	while (block != NULL && va - block->va >= block->bytes)
		block = va < block->va ? RB_LEFT(block, by_va) : RB_RIGHT(block, by_va);
	return block;
}

bool seam__emu_host_is_locked(struct emu *e, const struct emu_work *work)
{
	return find_block(e, work) != NULL;
}

bool seam__emu_host_use(struct emu *e, const struct emu_work *work)
{
	struct emu_host_block *block = find_block(e, work);
	const struct emu_order_entry user = {work->stream->id, work->number, work->stream->device->ordinal};
	return block == NULL || seam__emu_order_add(&block->users, e->meta, user);
}

void seam__emu_host_unuse(struct emu *e, const struct emu_work *work)
{
	struct emu_host_block *block = find_block(e, work);
	if (block != NULL)
		seam__emu_order_lower(
			&block->users, (struct emu_order_entry){work->stream->id, work->number, 0}, work->last_number);
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
