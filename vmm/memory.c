/* memory.c: chunks and the account of a pool's device memory; see memory.h. Views are in view.c. */
#include "memory.h"

#include <string.h>

#include "bits.h"
#include "check.h"
#include "journal.h"
#include "meta.h"

enum seam_rc seam__memory_init(struct seam_memory *memory, struct seam_driver *driver, struct seam_meta *meta,
	const struct seam_phys_props *props)
{
	int64_t vmm = 0;
	int cu = seam__drv_attribute(driver, SEAM_ATTR_VMM_SUPPORTED, &vmm);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	if (vmm == 0)
		return SEAM_UNSUPPORTED;
	uint64_t granularity_bytes = 0;
	cu = seam__drv_granularity(driver, props, &granularity_bytes);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	if (!seam__bits_is_pow2(granularity_bytes))
		return SEAM_DRIVER;

	uint64_t free_bytes = 0, device_bytes = UINT64_MAX;
	if (seam__drv_mem_info(driver, &free_bytes, &device_bytes) != SEAM_CU_SUCCESS || device_bytes == 0)
		device_bytes = UINT64_MAX;

	*memory = (struct seam_memory){
		.driver = driver,
		.meta = meta,
		.props = *props,
		.access_count = 1,
		.granularity_bytes = granularity_bytes,
		.capacity_bytes = UINT64_MAX,
		.device_bytes = device_bytes,
		.mapping_limit = UINT64_MAX,
		.address_limit_bytes = UINT64_MAX,
	};
	memory->access[0] = (struct seam_access){{SEAM_AT_DEVICE, driver->ordinal}, SEAM_ACCESS_READWRITE};
	if (props->where.kind != SEAM_AT_DEVICE)
		memory->access[memory->access_count++] = (struct seam_access){props->where, SEAM_ACCESS_READWRITE};
	TAILQ_INIT(&memory->chunk_list);
	TAILQ_INIT(&memory->view_list);
	seam__slab_init(&memory->chunk_slab, meta, sizeof(struct seam_chunk));
	seam__slab_init(&memory->mapping_slab, meta, sizeof(struct seam_mapping));
	seam__slab_init(&memory->view_slab, meta, sizeof(struct seam_view));
	return SEAM_OK;
}

void seam__memory_fini(struct seam_memory *memory)
{
	struct seam_view *view, *next_view;
	seam__meta_free(memory->meta, memory->journal, sizeof *memory->journal);
	memory->journal = NULL;
	TAILQ_FOREACH_SAFE(view, &memory->view_list, all, next_view)
	{
		/* A driver that refuses now (it has shut down) frees the memory itself; our books are closed all the
		 * same. */
		uint32_t ignored = seam__view_release(memory, view);
		(void)ignored;
		bool gone = seam__view_forget(memory, view, view->slot_count);
		SEAM_ASSERT(gone);
		(void)gone;
	}
	struct seam_chunk *chunk, *next_chunk;
	TAILQ_FOREACH_SAFE(chunk, &memory->chunk_list, link, next_chunk)
	{
		seam__chunk_release(memory, chunk);
		seam__chunk_forget(memory, chunk);
	}
	uint64_t lost = seam__slab_fini(&memory->chunk_slab) + seam__slab_fini(&memory->mapping_slab) +
		seam__slab_fini(&memory->view_slab);
	SEAM_VERIFY(lost == 0);
}

uint64_t seam__memory_room(const struct seam_memory *memory)
{
	uint64_t most = seam__bits_min(memory->capacity_bytes, memory->device_bytes);
	uint64_t taken = memory->reserved_bytes + memory->unlisted_bytes;
	return taken < most ? most - taken : 0;
}

enum seam_rc seam__chunk_create(struct seam_memory *memory, uint64_t bytes, struct seam_chunk **ret_chunk)
{
	SEAM_ASSERT(bytes > 0 && bytes % memory->granularity_bytes == 0);
	uint64_t taken = memory->reserved_bytes + memory->unlisted_bytes;
	if (bytes > memory->capacity_bytes || taken > memory->capacity_bytes - bytes)
		return SEAM_OOM_DEVICE;
	struct seam_chunk *chunk = seam__slab_get(&memory->chunk_slab);
	if (chunk == NULL)
		return SEAM_OOM_META;
	memset(chunk, 0, sizeof *chunk);
	int cu = seam__drv_mem_create(memory->driver, bytes, &memory->props, &chunk->phys);
	if (cu != SEAM_CU_SUCCESS) {
		seam__slab_put(&memory->chunk_slab, chunk);
		return seam__driver_rc(cu);
	}
	chunk->bytes = bytes;
	chunk->number = memory->chunks_made++;
	LIST_INIT(&chunk->mappings);
	memory->unlisted_bytes += bytes;
	*ret_chunk = chunk;
	return SEAM_OK;
}

static void write_down(struct seam_memory *memory, const struct seam_chunk *chunk, bool made)
{
	if (memory->journal != NULL)
		seam__journal_add(memory->journal, chunk->home->va + chunk->home->slots[chunk->home_slot].offset,
			chunk->bytes, made);
}

void seam__chunk_list(struct seam_memory *memory, struct seam_chunk *chunk)
{
	TAILQ_INSERT_TAIL(&memory->chunk_list, chunk, link);
	chunk->listed = true;
	memory->unlisted_bytes -= chunk->bytes;
	memory->chunk_count++;
	memory->chunk_peak = seam__bits_max(memory->chunk_peak, memory->chunk_count);
	memory->listed_count++;
	memory->listed_bytes += chunk->bytes;
	memory->reserved_bytes += chunk->bytes;
	if (memory->reserved_bytes > memory->reserved_peak_bytes)
		memory->reserved_peak_bytes = memory->reserved_bytes;
	write_down(memory, chunk, true);
}

void seam__chunk_release(struct seam_memory *memory, struct seam_chunk *chunk)
{
	SEAM_DRV_GIVE_BACK(seam__drv_mem_release(memory->driver, chunk->phys));
}

void seam__chunk_forget(struct seam_memory *memory, struct seam_chunk *chunk)
{
	SEAM_ASSERT(LIST_EMPTY(&chunk->mappings));
	if (chunk->listed) {
		TAILQ_REMOVE(&memory->chunk_list, chunk, link);
		memory->chunk_count--;
		memory->reserved_bytes -= chunk->bytes;
		write_down(memory, chunk, false);
	} else {
		memory->unlisted_bytes -= chunk->bytes;
	}
	seam__slab_put(&memory->chunk_slab, chunk);
}

/* Sets the access of every run of mapped slots of the view to the newest location's, `mode`. Returns the first failure.
 */
static int grant_view(struct seam_memory *memory, const struct seam_view *view, const struct seam_access *access)
{
	uint32_t i = 0;
	while (i < view->slot_count) {
		if (view->slots[i].mapping == NULL) {
			i++;
			continue;
		}
		uint64_t start = view->slots[i].offset;
		uint64_t end = start;
		while (i < view->slot_count && view->slots[i].mapping != NULL && view->slots[i].offset == end)
			end += view->slots[i++].bytes;
		int cu = seam__drv_mem_set_access(memory->driver, view->va + start, end - start, access, 1);
		if (cu != SEAM_CU_SUCCESS)
			return cu;
	}
	return SEAM_CU_SUCCESS;
}

/* Whether the driver would grant this at all: tried on memory of the pool's kind, which is given back. */
static int probe(struct seam_memory *memory, const struct seam_access *access)
{
	uint64_t bytes = memory->granularity_bytes, va = 0;
	struct seam_phys phys;
	int cu = seam__drv_address_reserve(memory->driver, bytes, 0, 0, &va);
	if (cu != SEAM_CU_SUCCESS)
		return cu;
	cu = seam__drv_mem_create(memory->driver, bytes, &memory->props, &phys);
	if (cu == SEAM_CU_SUCCESS) {
		cu = seam__drv_mem_map(memory->driver, va, bytes, 0, phys, 0);
		if (cu == SEAM_CU_SUCCESS) {
			cu = seam__drv_mem_set_access(memory->driver, va, bytes, access, 1);
			int ignored = seam__drv_mem_unmap(memory->driver, va, bytes);
			(void)ignored;
		}
		int ignored = seam__drv_mem_release(memory->driver, phys);
		(void)ignored;
	}
	int ignored = seam__drv_address_free(memory->driver, va, bytes);
	(void)ignored;
	return cu;
}

enum seam_rc seam__memory_grant(struct seam_memory *memory, struct seam_location where)
{
	for (size_t i = 0; i < memory->access_count; i++) {
		if (memory->access[i].where.kind == where.kind && memory->access[i].where.id == where.id)
			return SEAM_OK;
	}
	if (memory->access_count == sizeof memory->access / sizeof memory->access[0])
		return SEAM_INVALID;
	struct seam_access access = {where, SEAM_ACCESS_READWRITE};
	struct seam_view *view, *failed = NULL;
	/* With nothing mapped a location that the driver refuses would be found out by the next allocation only. */
	int cu = memory->mapping_count == 0 ? probe(memory, &access) : SEAM_CU_SUCCESS;
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	TAILQ_FOREACH(view, &memory->view_list, all)
	{
		cu = grant_view(memory, view, &access);
		if (cu != SEAM_CU_SUCCESS) {
			failed = view;
			break;
		}
	}
	if (failed == NULL) {
		memory->access[memory->access_count++] = access;
		return SEAM_OK;
	}
	access.mode = SEAM_ACCESS_NONE;
	TAILQ_FOREACH(view, &memory->view_list, all)
	{
		int ignored = grant_view(memory, view, &access);
		(void)ignored; /* the best that can be done; a peer that keeps access to memory of ours is harmless */
		if (view == failed)
			break;
	}
	return seam__driver_rc(cu);
}

static const char *check_chunks(const struct seam_memory *memory)
{
	uint64_t count = 0, bytes = 0, mappings = 0;
	const struct seam_chunk *chunk;
	TAILQ_FOREACH(chunk, &memory->chunk_list, link)
	{
		count++;
		bytes += chunk->bytes;
		bool at_home = chunk->home == NULL, owner_maps = chunk->owner == NULL;
		const struct seam_mapping *mapping;
		LIST_FOREACH(mapping, &chunk->mappings, of_chunk)
		{
			mappings++;
			if (mapping->chunk != chunk || mapping->slot >= mapping->view->slot_count ||
				mapping->view->slots[mapping->slot].mapping != mapping)
				return "M4: a slot and its mapping disagree";
			at_home |= mapping->view == chunk->home && mapping->slot == chunk->home_slot;
			owner_maps |= mapping->view == chunk->owner;
		}
		if (!at_home)
			return "M1: a chunk is not mapped at its home";
		if (!owner_maps)
			return "M2: a chunk's owner does not map it";
	}
	if (count != memory->chunk_count || bytes != memory->reserved_bytes)
		return "M3: chunks or reserved bytes";
	return mappings == memory->mapping_count ? NULL : "M3: mappings";
}

static const char *check_view(const struct seam_view *view, uint64_t *mappings)
{
	uint64_t end = 0;
	uint32_t holes = 0;
	for (uint32_t i = 0; i < view->slot_count; i++) {
		const struct seam_slot *slot = &view->slots[i];
		if (slot->offset != end || slot->bytes == 0)
			return "M4: slots overlap or leave a gap";
		end += slot->bytes;
		holes += slot->mapping == NULL;
		if (slot->mapping != NULL &&
			(slot->mapping->view != view || slot->mapping->slot != i ||
				slot->mapping->chunk->bytes != slot->bytes))
			return "M4: a mapping is not where its slot says";
	}
	if (end != view->used_bytes || end > view->reserved_bytes || holes != view->holes)
		return "M4: the view's extent";
	*mappings += view->slot_count - holes;
	return NULL;
}

const char *seam__memory_check(const struct seam_memory *memory)
{
	const char *broken = check_chunks(memory);
	if (broken != NULL)
		return broken;
	uint64_t views = 0, stitched = 0, stitched_bytes = 0, address_bytes = 0, mappings = 0;
	const struct seam_view *view;
	TAILQ_FOREACH(view, &memory->view_list, all)
	{
		broken = check_view(view, &mappings);
		if (broken != NULL)
			return broken;
		views++;
		stitched += view->stitched;
		stitched_bytes += view->stitched ? view->reserved_bytes : 0;
		address_bytes += view->reserved_bytes;
	}
	if (views != memory->view_count || stitched != memory->stitched_count ||
		stitched_bytes != memory->stitched_bytes || address_bytes != memory->address_bytes ||
		mappings != memory->mapping_count)
		return "M3: views";
	if (memory->mapping_count > memory->mapping_limit || address_bytes > memory->address_limit_bytes)
		return "M5: a limit is exceeded";
	return NULL;
}
