/* emu_phys.c: the emulator's physical memory: handles, their references, capacity; properties of the device.
 *
 * Not here: where it is mapped (emu_space.c); plain allocations (emu_direct.c); exported handles (emu_share.c).
 */
#include "bits.h"
#include "check.h"
#include "emu_state.h"

bool seam__emu_location_ok(const struct emu *e, const struct seam_location *where, int *ret_cu)
{
	*ret_cu = SEAM_CU_INVALID_VALUE;
	switch (where->kind) {
	case SEAM_AT_DEVICE:
		*ret_cu = SEAM_CU_INVALID_DEVICE;
		return where->id >= 0 && where->id < e->config.devices;
	case SEAM_AT_HOST:
		return true;
	case SEAM_AT_HOST_NUMA:
		return where->id == 0; /* one node */
	case SEAM_AT_HOST_NUMA_CURRENT:
		break;
	}
	return false;
}

static int check_props(const struct emu *e, const struct seam_phys_props *props)
{
	int cu = SEAM_CU_INVALID_VALUE;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (props == NULL || !seam__emu_location_ok(e, &props->where, &cu))
		return cu;
	if ((props->handle_types & ~(unsigned)(SEAM_HANDLE_POSIX_FD | SEAM_HANDLE_FABRIC)) != 0)
		return SEAM_CU_INVALID_VALUE;
	if (props->where.kind != SEAM_AT_DEVICE && e->config.host == SEAM_EMU_HOST_NONE)
		return SEAM_CU_NOT_SUPPORTED;
	if (props->where.kind == SEAM_AT_HOST && props->handle_types != 0)
		return SEAM_CU_INVALID_VALUE;
	return 0;
}

int seam__emu_phys_make(struct emu *e, uint64_t bytes, const struct seam_phys_props *props, struct emu_phys **ret_phys)
{
	uint64_t offset;
	struct emu_device *device = props->where.kind == SEAM_AT_DEVICE ? &e->devices[props->where.id] : NULL;
	if (device != NULL && bytes > e->config.capacity_bytes - device->used_bytes)
		seam__emu_exports_sweep(e);
	if (device != NULL && bytes > e->config.capacity_bytes - device->used_bytes)
		return SEAM_CU_OUT_OF_MEMORY;
	struct emu_phys *phys = seam__slab_get(&e->phys_slab);
	if (phys == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (!seam__emu_extents_take(&e->store, bytes, 1, &offset)) {
		seam__slab_put(&e->phys_slab, phys);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	*phys = (struct emu_phys){.bytes = bytes, .offset_bytes = offset, .props = *props, .references = 1};
	RB_INIT(&phys->accesses);
	LIST_INIT(&phys->exports);
	if (device != NULL)
		device->used_bytes += bytes;
	seam__emu_backing_poison(e, offset, bytes);
	*ret_phys = phys;
	return 0;
}

void seam__emu_phys_settle(struct emu *e, struct emu_phys *phys)
{
	if (phys->references != 0 || phys->mappings != 0)
		return;
	if (seam__emu_exports_open(e, phys)) {
		if (!phys->lingers)
			LIST_INSERT_HEAD(&e->lingering, phys, lingering);
		phys->lingers = true;
		return;
	}
	if (phys->lingers)
		LIST_REMOVE(phys, lingering);
	if (phys->id != 0)
		seam__emu_table_remove(&e->phys_table, phys->id);
	if (phys->props.where.kind == SEAM_AT_DEVICE)
		e->devices[phys->props.where.id].used_bytes -= phys->bytes;
	seam__emu_judge_forget(e, &phys->accesses);
	seam__emu_backing_punch(e, phys->offset_bytes, phys->bytes);
	seam__emu_extents_give(&e->store, phys->offset_bytes, phys->bytes);
	seam__slab_put(&e->phys_slab, phys);
}

int seam__emu_op_mem_create(
	struct seam_driver *d, uint64_t bytes, const struct seam_phys_props *props, struct seam_phys *ret_phys)
{
	struct emu *e = seam__emu_of(d);
	struct emu_phys *phys;
	int cu = check_props(e, props);
	if (cu != 0)
		return cu;
	if (ret_phys == NULL || bytes == 0 || !seam__bits_is_aligned(bytes, e->config.granularity_bytes))
		return SEAM_CU_INVALID_VALUE;
	if ((props->handle_types & SEAM_HANDLE_FABRIC) != 0 && e->config.no_fabric)
		return SEAM_CU_NOT_PERMITTED;
	if (props->gpu_direct_rdma && !e->config.has_rdma)
		return SEAM_CU_NOT_SUPPORTED;
	cu = seam__emu_phys_make(e, bytes, props, &phys);
	if (cu != 0)
		return cu;
	phys->id = seam__emu_table_add(&e->phys_table, e->meta, phys);
	if (phys->id == 0) {
		phys->references = 0;
		seam__emu_phys_settle(e, phys);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	e->billed_bytes = bytes;
	ret_phys->id = phys->id;
	return 0;
}

int seam__emu_op_mem_release(struct seam_driver *d, struct seam_phys phys_id)
{
	struct emu *e = seam__emu_of(d);
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	struct emu_phys *phys = seam__emu_table_find(&e->phys_table, phys_id.id);
	if (phys == NULL || phys->references == 0) {
		seam__emu_violate(seam__emu_device_of(d), SEAM_EMU_RELEASE_UNKNOWN, "handle %#llx",
			(unsigned long long)phys_id.id);
		return SEAM_CU_INVALID_VALUE;
	}
	e->billed_bytes = phys->bytes;
	phys->references--;
	seam__emu_phys_settle(e, phys);
	return 0;
}

int seam__emu_op_attribute(struct seam_driver *d, enum seam_drv_attribute what, int64_t *ret_value)
{
	const struct emu *e = seam__emu_of(d);
	if (ret_value == NULL)
		return SEAM_CU_INVALID_VALUE;
	switch (what) {
	case SEAM_ATTR_VMM_SUPPORTED:
	case SEAM_ATTR_POSIX_FD_SUPPORTED:
		*ret_value = !e->config.no_vmm;
		return 0;
	case SEAM_ATTR_FABRIC_SUPPORTED:
		*ret_value = !e->config.no_vmm && !e->config.no_fabric;
		return 0;
	case SEAM_ATTR_RDMA_SUPPORTED:
		*ret_value = !e->config.no_vmm && e->config.has_rdma;
		return 0;
	case SEAM_ATTR_HOST_VMM_SUPPORTED:
		*ret_value = !e->config.no_vmm && e->config.host != SEAM_EMU_HOST_NONE &&
			e->config.memory != SEAM_EMU_BOOK; /* no CPU could touch it */
		return 0;
	case SEAM_ATTR_HOST_NODE:
	case SEAM_ATTR_CHIP:
		*ret_value = 0;
		return 0;
	case SEAM_ATTR_DRIVER_VERSION:
		*ret_value = 13000;
		return 0;
	}
	return SEAM_CU_INVALID_VALUE;
}

int seam__emu_op_mem_info(struct seam_driver *d, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	const struct emu_device *device = seam__emu_device_of(d);
	struct emu *e = device->e;
	if (ret_free_bytes == NULL || ret_total_bytes == NULL)
		return SEAM_CU_INVALID_VALUE;
	seam__emu_exports_sweep(e);
	*ret_free_bytes = e->config.capacity_bytes - device->used_bytes;
	*ret_total_bytes = e->config.capacity_bytes;
	return 0;
}

int seam__emu_op_granularity(struct seam_driver *d, const struct seam_phys_props *props, uint64_t *ret_bytes)
{
	const struct emu *e = seam__emu_of(d);
	int cu = check_props(e, props);
	if (cu != 0 && cu != SEAM_CU_INVALID_DEVICE) /* the driver does not ask for the device before there is memory */
		return cu;
	if (ret_bytes == NULL)
		return SEAM_CU_INVALID_VALUE;
	*ret_bytes = e->config.granularity_bytes;
	return 0;
}

const char *seam__emu_phys_check(struct emu *e)
{
	uint64_t sums[SEAM_EMU_DEVICES] = {0};
	uint64_t mappings = 0;
	for (uint32_t i = 0; i < e->phys_table.used; i++) {
		const struct emu_phys *phys = seam__emu_table_at(&e->phys_table, i);
		if (phys == NULL)
			continue;
		if (phys->references == 0 && phys->mappings == 0 && !phys->lingers)
			return "E3 a handle lives while something keeps it";
		if (seam__emu_judge_check(&phys->accesses, phys->bytes) != NULL)
			return seam__emu_judge_check(&phys->accesses, phys->bytes);
		mappings += phys->mappings;
		if (phys->props.where.kind == SEAM_AT_DEVICE)
			sums[phys->props.where.id] += phys->bytes;
	}
	if (mappings != e->mapping_count)
		return "E2 a handle knows its mappings";
	for (int i = 0; i < e->config.devices; i++) {
		uint64_t used_bytes = e->devices[i].used_bytes - e->config.used_bytes;
		if (e->direct_count == 0 ? sums[i] != used_bytes : sums[i] > used_bytes)
			return "E3 used bytes are the sum of what lives";
	}
	const char *broken = seam__emu_table_check(&e->phys_table);
	return broken != NULL ? broken : seam__emu_extents_check(&e->store);
}

void seam__emu_phys_fini(struct emu *e)
{
	/* What the user never released: the slabs and the file go as wholes, only records of their own remain. */
	for (uint32_t i = 0; i < e->phys_table.used; i++) {
		struct emu_phys *phys = seam__emu_table_at(&e->phys_table, i);
		if (phys != NULL)
			seam__emu_judge_forget(e, &phys->accesses);
	}
	seam__emu_table_fini(&e->phys_table, e->meta);
	(void)seam__slab_fini(&e->phys_slab);
	(void)seam__slab_fini(&e->access_slab);
}
