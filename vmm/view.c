/* view.c: views and the mapping of chunks in them; see memory.h.
 *
 * Every function that changes what the driver knows either succeeds or puts it back. The published structure (slots,
 * lists of mappings) changes in the commit functions only.
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "memory.h"
#include "meta.h"

enum seam_rc seam__view_create(
	struct seam_memory *memory, uint64_t bytes, bool stitched, uint32_t slot_capacity, struct seam_view **ret_view)
{
	SEAM_ASSERT(bytes > 0 && bytes % memory->granularity_bytes == 0 && slot_capacity > 0);
	if (bytes > memory->address_limit_bytes || memory->address_bytes > memory->address_limit_bytes - bytes)
		return SEAM_OOM_VA;
	struct seam_view *view = seam__slab_get(&memory->view_slab);
	if (view == NULL)
		return SEAM_OOM_META;
	memset(view, 0, sizeof *view);
	view->slots = seam__meta_array(memory->meta, slot_capacity, sizeof *view->slots);
	if (view->slots == NULL) {
		seam__slab_put(&memory->view_slab, view);
		return SEAM_OOM_META;
	}
	int cu = seam__drv_address_reserve(memory->driver, bytes, memory->granularity_bytes, 0, &view->va);
	if (cu != SEAM_CU_SUCCESS) {
		seam__meta_free(memory->meta, view->slots, slot_capacity * sizeof *view->slots);
		seam__slab_put(&memory->view_slab, view);
		return cu == SEAM_CU_OUT_OF_MEMORY ? SEAM_OOM_VA : seam__driver_rc(cu);
	}
	view->number = memory->views_made++;
	view->reserved_bytes = bytes;
	view->slot_capacity = slot_capacity;
	view->stitched = stitched;
	TAILQ_INIT(&view->blocks);
	*ret_view = view;
	return SEAM_OK;
}

void seam__view_list(struct seam_memory *memory, struct seam_view *view)
{
	TAILQ_INSERT_TAIL(&memory->view_list, view, all);
	view->listed = true;
	memory->view_count++;
	memory->address_bytes += view->reserved_bytes;
	if (view->stitched) {
		memory->stitched_count++;
		memory->stitched_bytes += view->reserved_bytes;
	}
}

uint32_t seam__view_release(struct seam_memory *memory, struct seam_view *view)
{
	for (uint32_t i = 0; i < view->slot_count; i++) {
		struct seam_mapping *mapping = view->slots[i].mapping;
		if (mapping != NULL && seam__mapping_unmap(memory, mapping) != SEAM_OK)
			return i;
	}
	int cu = seam__drv_address_free(memory->driver, view->va, view->reserved_bytes);
	if (cu != SEAM_CU_SUCCESS) /* as for chunks */
		cu = seam__drv_address_free(memory->driver, view->va, view->reserved_bytes);
	(void)cu;
	return view->slot_count;
}

bool seam__view_forget(struct seam_memory *memory, struct seam_view *view, uint32_t slots)
{
	for (uint32_t i = 0; i < slots; i++) {
		if (view->slots[i].mapping != NULL)
			seam__mapping_forget(memory, view->slots[i].mapping);
	}
	if (slots < view->slot_count)
		return false;
	if (view->listed) {
		TAILQ_REMOVE(&memory->view_list, view, all);
		memory->view_count--;
		memory->address_bytes -= view->reserved_bytes;
		memory->stitched_count -= view->stitched;
		memory->stitched_bytes -= view->stitched ? view->reserved_bytes : 0;
	}
	seam__meta_free(memory->meta, view->slots, view->slot_capacity * sizeof *view->slots);
	seam__meta_free(memory->meta, view->spare, view->spare_capacity * sizeof *view->spare);
	seam__slab_put(&memory->view_slab, view);
	return true;
}

enum seam_rc seam__view_reserve_slots(struct seam_memory *memory, struct seam_view *view, uint32_t count)
{
	uint32_t capacity = view->spare != NULL ? view->spare_capacity : view->slot_capacity;
	if (view->slot_count + count <= capacity)
		return SEAM_OK;
	while (capacity < view->slot_count + count)
		capacity *= 2;
	struct seam_slot *spare = seam__meta_array(memory->meta, capacity, sizeof *spare);
	if (spare == NULL)
		return SEAM_OOM_META;
	seam__meta_free(memory->meta, view->spare, view->spare_capacity * sizeof *view->spare);
	view->spare = spare;
	view->spare_capacity = capacity;
	return SEAM_OK;
}

static void take_spare(struct seam_memory *memory, struct seam_view *view)
{
	if (view->spare == NULL)
		return;
	memcpy(view->spare, view->slots, view->slot_count * sizeof *view->slots);
	seam__meta_free(memory->meta, view->slots, view->slot_capacity * sizeof *view->slots);
	view->slots = view->spare;
	view->slot_capacity = view->spare_capacity;
	view->spare = NULL;
	view->spare_capacity = 0;
}

/* Unmaps the first `count` mappings of a run, one by one: one that fails must not keep the others. */
static void unmap_run(struct seam_memory *memory, uint64_t va, struct seam_mapping *const *mappings, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int ignored = seam__drv_mem_unmap(memory->driver, va, mappings[i]->chunk->bytes);
		(void)ignored;
		va += mappings[i]->chunk->bytes;
	}
}

static void put_mappings(struct seam_memory *memory, struct seam_mapping *const *mappings, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		seam__slab_put(&memory->mapping_slab, mappings[i]);
}

static enum seam_rc get_mappings(struct seam_memory *memory, struct seam_view *view, struct seam_chunk *const *chunks,
	uint32_t count, struct seam_mapping **mappings)
{
	for (uint32_t i = 0; i < count; i++) {
		mappings[i] = seam__slab_get(&memory->mapping_slab);
		if (mappings[i] == NULL) {
			put_mappings(memory, mappings, i);
			return SEAM_OOM_META;
		}
		memset(mappings[i], 0, sizeof *mappings[i]);
		mappings[i]->chunk = chunks[i];
		mappings[i]->view = view;
	}
	return SEAM_OK;
}

/* Where chunks exist already, OUT_OF_MEMORY means that the device's mapping tables are full, not its memory (reference:
 * about 520,000 a context, then set_access says so). */
static enum seam_rc map_rc(int cu)
{
	return cu == SEAM_CU_OUT_OF_MEMORY ? SEAM_MAPPINGS : seam__driver_rc(cu);
}

enum seam_rc seam__view_map(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_chunk *const *chunks, uint32_t count, struct seam_mapping **mappings)
{
	SEAM_ASSERT(count > 0);
	if (count > memory->mapping_limit || memory->mapping_count > memory->mapping_limit - count)
		return SEAM_MAPPINGS;
	enum seam_rc rc = seam__view_reserve_slots(memory, view, count);
	if (rc == SEAM_OK)
		rc = get_mappings(memory, view, chunks, count, mappings);
	if (rc != SEAM_OK)
		return rc;
	uint64_t end = offset;
	for (uint32_t i = 0; i < count; i++) {
		int cu = seam__drv_mem_map(memory->driver, view->va + end, chunks[i]->bytes, 0, chunks[i]->phys, 0);
		if (cu != SEAM_CU_SUCCESS) {
			unmap_run(memory, view->va + offset, mappings, i);
			put_mappings(memory, mappings, count);
			return map_rc(cu);
		}
		end += chunks[i]->bytes;
	}
	int cu = seam__drv_mem_set_access(
		memory->driver, view->va + offset, end - offset, memory->access, memory->access_count);
	if (cu != SEAM_CU_SUCCESS) {
		seam__view_map_undo(memory, view, offset, mappings, count);
		return map_rc(cu);
	}
	return SEAM_OK;
}

void seam__view_map_undo(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_mapping *const *mappings, uint32_t count)
{
	unmap_run(memory, view->va + offset, mappings, count);
	put_mappings(memory, mappings, count);
}

void seam__view_map_commit(struct seam_memory *memory, struct seam_view *view, uint64_t offset,
	struct seam_mapping *const *mappings, uint32_t count)
{
	take_spare(memory, view);
	uint32_t slot = view->slot_count;
	if (offset < view->used_bytes)
		slot = seam__view_slot_at(view, offset);
	for (uint32_t i = 0; i < count; i++, slot++) {
		struct seam_mapping *mapping = mappings[i];
		if (slot == view->slot_count) {
			SEAM_ASSERT(view->slot_count < view->slot_capacity && offset == view->used_bytes);
			view->slots[slot] = (struct seam_slot){.offset = offset, .bytes = mapping->chunk->bytes};
			view->slot_count++;
			view->used_bytes += mapping->chunk->bytes;
			if (view->least_slot_bytes == 0 || mapping->chunk->bytes < view->least_slot_bytes)
				view->least_slot_bytes = mapping->chunk->bytes;
		} else {
			SEAM_ASSERT(view->slots[slot].mapping == NULL && view->slots[slot].offset == offset);
			SEAM_ASSERT(view->slots[slot].bytes == mapping->chunk->bytes);
			view->holes--;
		}
		mapping->slot = slot;
		view->slots[slot].mapping = mapping;
		LIST_INSERT_HEAD(&mapping->chunk->mappings, mapping, of_chunk);
		offset += mapping->chunk->bytes;
	}
	memory->mapping_count += count;
	if (memory->mapping_count > memory->mapping_peak)
		memory->mapping_peak = memory->mapping_count;
}

enum seam_rc seam__mapping_unmap(struct seam_memory *memory, struct seam_mapping *mapping)
{
	const struct seam_view *view = mapping->view;
	int cu = seam__drv_mem_unmap(
		memory->driver, view->va + view->slots[mapping->slot].offset, mapping->chunk->bytes);
	return seam__driver_rc(cu);
}

void seam__mapping_forget(struct seam_memory *memory, struct seam_mapping *mapping)
{
	struct seam_view *view = mapping->view;
	view->slots[mapping->slot].mapping = NULL;
	view->holes++;
	LIST_REMOVE(mapping, of_chunk);
	memory->mapping_count--;
	seam__slab_put(&memory->mapping_slab, mapping);
}

uint32_t seam__view_shrink(struct seam_view *view)
{
	uint32_t gone = 0;
	while (view->slot_count > 0 && view->slots[view->slot_count - 1].mapping == NULL) {
		view->slot_count--;
		view->holes--;
		view->used_bytes = view->slots[view->slot_count].offset;
		gone++;
	}
	return gone;
}

uint32_t seam__view_slot_from(const struct seam_view *view, uint64_t offset, uint32_t near)
{
	const struct seam_slot *slots = view->slots;
	uint32_t count = view->slot_count, step = 1;
	if (near > count)
		near = count;
	uint32_t low = near, high = near; /* the answer is in [low, high] */
	if (near == count || slots[near].offset >= offset) {
		while (low > 0 && slots[low - 1].offset >= offset) {
			high = low - 1;
			low -= step < low ? step : low;
			step *= 2;
		}
	} else {
		while (high < count && slots[high].offset < offset) {
			low = high + 1;
			high += step < count - high ? step : count - high;
			step *= 2;
		}
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (slots[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t seam__view_slot_at(const struct seam_view *view, uint64_t offset)
{
	SEAM_ASSERT(offset < view->used_bytes);
	uint32_t slot = seam__view_slot_from(view, offset, view->slot_count / 2);
	if (slot == view->slot_count || view->slots[slot].offset > offset)
		slot--;
	return slot;
}
