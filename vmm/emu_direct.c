/* emu_direct.c: plain device allocations and page-locked host memory.
 *
 * A direct allocation is a handle with one mapping outside any reservation: the calls for mapped memory refuse it, the
 * judge treats it like any other memory. It takes whole host pages (a driver packs small ones tighter, or rounds large
 * ones further).
 */
#include <sys/mman.h>

#include "bits.h"
#include "emu_state.h"

#define HOST_PAGE_BYTES UINT64_C(4096)

static int compare_host_blocks(const struct emu_host_block *a, const struct emu_host_block *b)
{
	return a->va < b->va ? -1 : a->va > b->va;
}

SEAM_TREE_GENERATE(emu_host_blocks, emu_host_block, by_va, compare_host_blocks)

int seam__emu_op_direct_alloc(struct seam_driver *d, uint64_t bytes, uint64_t *ret_va)
{
	struct emu_device *device = seam__emu_device_of(d);
	struct emu *e = device->e;
	const struct seam_phys_props props = {.where = {.kind = SEAM_AT_DEVICE, .id = (int)device->ordinal}};
	struct emu_phys *phys;
	uint64_t padded;
	uint64_t va;
	if (bytes == 0 || ret_va == NULL)
		return SEAM_CU_INVALID_VALUE;
	if (!seam__bits_try_align_up(bytes, HOST_PAGE_BYTES, &padded))
		return SEAM_CU_OUT_OF_MEMORY;
	int cu = seam__emu_phys_make(e, padded, &props, &phys);
	if (cu != 0)
		return cu;
	uint64_t alignment = padded < e->config.granularity_bytes ? HOST_PAGE_BYTES : e->config.granularity_bytes;
	if (!seam__emu_extents_take(&e->space, padded, alignment, &va))
		goto no_space;
	struct emu_mapping *mapping = seam__emu_mapping_add(e, phys, va, NULL);
	if (mapping == NULL)
		goto no_mapping;
	phys->references = 0; /* the mapping keeps it */
	struct emu_modes modes = {.host = SEAM_ACCESS_NONE};
	modes.device[device->ordinal] = SEAM_ACCESS_READWRITE;
	if (!seam__emu_backing_show(e, mapping, &modes)) {
		seam__emu_mapping_remove(e, mapping);
		seam__emu_extents_give(&e->space, va, padded);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	mapping->modes = modes;
	e->direct_count++;
	e->billed_bytes = padded;
	*ret_va = va;
	return 0;
no_mapping:
	seam__emu_extents_give(&e->space, va, padded);
no_space:
	phys->references = 0;
	seam__emu_phys_settle(e, phys);
	return SEAM_CU_OUT_OF_MEMORY;
}

int seam__emu_op_direct_free(struct seam_driver *d, uint64_t va)
{
	struct emu *e = seam__emu_of(d);
	struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	if (mapping == NULL || mapping->va != va || mapping->reservation != NULL)
		return SEAM_CU_INVALID_VALUE;
	/* Waiting, others may free the same: look again. */
	uint64_t serial = mapping->serial;
	struct emu_device *owner = &e->devices[mapping->phys->props.where.id];
	seam__emu_wait_device(owner);
	seam__emu_host_learns_all(owner);
	mapping = seam__emu_mapping_find(e, va);
	if (mapping == NULL || mapping->serial != serial)
		return SEAM_CU_INVALID_VALUE;
	uint64_t bytes = mapping->bytes;
	seam__emu_judge_unmap(seam__emu_device_of(d), mapping);
	seam__emu_backing_hide(e, va, bytes);
	seam__emu_mapping_remove(e, mapping);
	seam__emu_extents_give(&e->space, va, bytes);
	e->direct_count--;
	e->billed_bytes = bytes;
	return 0;
}

int seam__emu_op_host_alloc(struct seam_driver *d, uint64_t bytes, void **ret_ptr)
{
	struct emu *e = seam__emu_of(d);
	uint64_t padded;
	if (bytes == 0 && ret_ptr != NULL && e->config.lax) {
		*ret_ptr = NULL;
		return 0;
	}
	if (bytes == 0 || ret_ptr == NULL)
		return SEAM_CU_INVALID_VALUE;
	if (!seam__bits_try_align_up(bytes, HOST_PAGE_BYTES, &padded))
		return SEAM_CU_OUT_OF_MEMORY;
	struct emu_host_block *block = seam__slab_get(&e->host_slab);
	if (block == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	/* Not metadata: as large as the user likes, and its pages come when they are touched. */
	void *at = mmap(NULL, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		seam__slab_put(&e->host_slab, block);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	*block = (struct emu_host_block){.va = (uint64_t)(uintptr_t)at, .bytes = padded};
	RB_INSERT(emu_host_blocks, &e->host_blocks, block);
	e->host_count++;
	e->billed_bytes = padded;
	*ret_ptr = at;
	return 0;
}

static bool is_pending(struct emu *e, const struct emu_host_block *block)
{
	struct emu_stream *stream;
	struct emu_work *work;
	RB_FOREACH(work, emu_timeline, &e->timeline)
	{
		if (seam__emu_host_meets(work, block))
			return true;
	}
	LIST_FOREACH(stream, &e->stuck_streams, stuck)
	{
		STAILQ_FOREACH(work, &stream->queue, queued)
		{
			if (seam__emu_host_meets(work, block))
				return true;
		}
	}
	return false;
}

static void free_block(struct emu *e, struct emu_host_block *block)
{
	RB_REMOVE(emu_host_blocks, &e->host_blocks, block);
	seam__emu_order_fini(&block->users, e->meta);
	seam__emu_judge_forget(e, &block->accesses);
	if (!block->registered)
		(void)munmap((void *)(uintptr_t)block->va, block->bytes);
	seam__slab_put(&e->host_slab, block);
	e->host_count--;
}

/* The block that begins there, of one of the two kinds, or NULL. */
static struct emu_host_block *find_host_block(struct emu *e, const void *ptr, bool registered)
{
	struct emu_host_block key = {.va = (uint64_t)(uintptr_t)ptr};
	struct emu_host_block *block = RB_FIND(emu_host_blocks, &e->host_blocks, &key);
	return block != NULL && block->registered == registered ? block : NULL;
}

/* False: it is not there, or others freed it meanwhile. */
static bool give_host_block(struct seam_driver *d, const void *ptr, bool registered)
{
	struct emu *e = seam__emu_of(d);
	struct emu_host_block *block = find_host_block(e, ptr, registered);
	if (block == NULL)
		return false;
	bool pending = is_pending(e, block);
	if (pending || !seam__emu_order_covers(&e->host_order, &block->users, e->floors)) {
		seam__emu_violate(seam__emu_device_of(d), SEAM_EMU_FREE_PENDING, "host memory at %p, %s", ptr,
			pending ? "used by pending work" : "whose work nobody has waited for");
		for (int i = 0; i < e->config.devices; i++)
			seam__emu_wait_device(&e->devices[i]); /* so that the copy does not crash the program */
		block = find_host_block(e, ptr, registered);
		if (block == NULL)
			return false;
	}
	free_block(e, block);
	return true;
}

int seam__emu_op_host_free(struct seam_driver *d, void *ptr)
{
	return give_host_block(d, ptr, /* registered= */ false) ? 0 : SEAM_CU_INVALID_VALUE;
}

static int register_block(struct emu *e, uint64_t va, uint64_t bytes)
{
	struct emu_host_block *other;
	if (va == 0 || bytes == 0 || va + bytes < va)
		return SEAM_CU_INVALID_VALUE;
	RB_FOREACH(other, emu_host_blocks, &e->host_blocks)
	{
		if (other->va < va + bytes && va < other->va + other->bytes)
			return SEAM_CU_HOST_MEMORY_ALREADY_REGISTERED;
	}
	struct emu_host_block *block = seam__slab_get(&e->host_slab);
	if (block == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	*block = (struct emu_host_block){.va = va, .bytes = bytes, .registered = true};
	RB_INSERT(emu_host_blocks, &e->host_blocks, block);
	e->host_count++;
	return 0;
}

int seam__emu_host_register(struct seam_driver *d, void *ptr, uint64_t bytes)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	int cu = register_block(e, (uint64_t)(uintptr_t)ptr, bytes);
	seam__mutex_unlock(&e->lock);
	return cu;
}

int seam__emu_host_unregister(struct seam_driver *d, void *ptr)
{
	struct emu *e = seam__emu_of(d);
	seam__mutex_lock(&e->lock);
	bool given = give_host_block(d, ptr, /* registered= */ true);
	seam__mutex_unlock(&e->lock);
	return given ? 0 : SEAM_CU_HOST_MEMORY_NOT_REGISTERED;
}

const char *seam__emu_direct_check(struct emu *e)
{
	struct emu_host_block *block;
	const char *broken = NULL;
	RB_FOREACH(block, emu_host_blocks, &e->host_blocks)
	broken = broken != NULL ? broken : seam__emu_judge_check(&block->accesses, block->bytes);
	return broken;
}

void seam__emu_direct_fini(struct emu *e)
{
	struct emu_host_block *block;
	while ((block = RB_ROOT(&e->host_blocks)) != NULL)
		free_block(e, block);
	(void)seam__slab_fini(&e->host_slab);
}
