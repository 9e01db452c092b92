/* emu_space.c: the emulator's address space: reservations, mappings, access.
 *
 * Not here: physical memory (emu_phys.c); what the host sees at the addresses (emu_backing.c).
 * Stricter than the driver unless config.lax: one call does not cross reservations, and one that unmaps meets no hole.
 */
#include "bits.h"
#include "emu_state.h"

#define HOST_PAGE_BYTES UINT64_C(4096)

static int compare_reservations(const struct emu_reservation *a, const struct emu_reservation *b)
{
	return a->va < b->va ? -1 : a->va > b->va;
}

static int compare_mappings(const struct emu_mapping *a, const struct emu_mapping *b)
{
	return a->va < b->va ? -1 : a->va > b->va;
}

SEAM_TREE_GENERATE(emu_reservations, emu_reservation, by_va, compare_reservations)
SEAM_TREE_GENERATE(emu_mappings, emu_mapping, by_va, compare_mappings)

/* The reservation that contains va, or NULL. */
static struct emu_reservation *find_reservation(struct emu *e, uint64_t va)
{
	struct emu_reservation *at = RB_ROOT(&e->reservations);
	while (at != NULL) {
		if (va < at->va)
			at = RB_LEFT(at, by_va);
		else if (va - at->va >= at->bytes)
			at = RB_RIGHT(at, by_va);
		else
			return at;
	}
	return NULL;
}

struct emu_mapping *seam__emu_mapping_add(
	struct emu *e, struct emu_phys *phys, uint64_t va, struct emu_reservation *reservation)
{
	struct emu_mapping *mapping = seam__slab_get(&e->mapping_slab);
	if (mapping == NULL)
		return NULL;
	*mapping = (struct emu_mapping){
		.va = va, .bytes = phys->bytes, .serial = ++e->next_serial, .phys = phys, .reservation = reservation};
	RB_INSERT(emu_mappings, &e->mappings, mapping);
	phys->mappings++;
	e->mapping_count += reservation != NULL;
	return mapping;
}

void seam__emu_mapping_remove(struct emu *e, struct emu_mapping *mapping)
{
	struct emu_phys *phys = mapping->phys;
	RB_REMOVE(emu_mappings, &e->mappings, mapping);
	for (int i = 0; i < e->config.devices; i++)
		e->devices[i].granted_count -= mapping->granted >> i & 1;
	e->mapping_count -= mapping->reservation != NULL;
	seam__emu_order_fini(&mapping->users, e->meta);
	seam__slab_put(&e->mapping_slab, mapping);
	phys->mappings--;
	seam__emu_phys_settle(e, phys);
}

int seam__emu_op_address_reserve(
	struct seam_driver *d, uint64_t bytes, uint64_t alignment_bytes, uint64_t hint_va, uint64_t *ret_va)
{
	struct emu *e = seam__emu_of(d);
	uint64_t alignment = seam__bits_max(alignment_bytes, e->config.granularity_bytes);
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (bytes == 0 || !seam__bits_is_aligned(bytes, HOST_PAGE_BYTES) ||
		(alignment_bytes != 0 && !seam__bits_is_pow2(alignment_bytes)) ||
		!seam__bits_is_aligned(hint_va, HOST_PAGE_BYTES) || ret_va == NULL)
		return SEAM_CU_INVALID_VALUE;
	struct emu_reservation *reservation = seam__slab_get(&e->reservation_slab);
	if (reservation == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	uint64_t va = hint_va;
	bool found = hint_va != 0 && seam__bits_is_aligned(hint_va, alignment) &&
		seam__emu_extents_take_at(&e->space, hint_va, bytes);
	if (!found && !seam__emu_extents_take(&e->space, bytes, alignment, &va)) {
		seam__slab_put(&e->reservation_slab, reservation);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	*reservation = (struct emu_reservation){.va = va, .bytes = bytes};
	RB_INSERT(emu_reservations, &e->reservations, reservation);
	e->reservation_count++;
	e->reserved_va_bytes += bytes;
	*ret_va = va;
	return 0;
}

int seam__emu_op_address_free(struct seam_driver *d, uint64_t va, uint64_t bytes)
{
	struct emu *e = seam__emu_of(d);
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	struct emu_reservation *reservation = find_reservation(e, va);
	if (reservation == NULL || reservation->va != va || reservation->bytes != bytes)
		return SEAM_CU_INVALID_VALUE;
	/* With config.lax a mapping may reach into it from the one before. */
	const struct emu_mapping *mapping = seam__emu_mapping_next(e, va);
	if (mapping != NULL && mapping->va < va + bytes)
		return SEAM_CU_INVALID_VALUE;
	RB_REMOVE(emu_reservations, &e->reservations, reservation);
	e->reservation_count--;
	e->reserved_va_bytes -= bytes;
	seam__emu_extents_give(&e->space, va, bytes);
	seam__slab_put(&e->reservation_slab, reservation);
	return 0;
}

/* Whether [va, end) lies in one reservation, or, with config.lax, in several without a gap. */
static bool is_reserved(struct emu *e, uint64_t va, uint64_t end)
{
	const struct emu_reservation *reservation = find_reservation(e, va);
	while (e->config.lax && reservation != NULL && reservation->va + reservation->bytes < end)
		reservation = find_reservation(e, reservation->va + reservation->bytes);
	return reservation != NULL && end <= reservation->va + reservation->bytes;
}

int seam__emu_op_mem_map(struct seam_driver *d, uint64_t va, uint64_t bytes, uint64_t offset_bytes,
	struct seam_phys phys_id, uint64_t flags)
{
	struct emu *e = seam__emu_of(d);
	uint64_t end;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	struct emu_phys *phys = seam__emu_table_find(&e->phys_table, phys_id.id);
	if (phys == NULL || phys->references == 0 || flags != 0 || bytes == 0 ||
		!seam__bits_is_aligned(va, e->config.granularity_bytes) || !seam__bits_try_add(va, bytes, &end))
		return SEAM_CU_INVALID_VALUE;
	if (offset_bytes != 0 || bytes != phys->bytes)
		return SEAM_CU_NOT_SUPPORTED; /* a part of a handle, in the driver's words */
	const struct emu_mapping *next = seam__emu_mapping_next(e, va);
	if (!is_reserved(e, va, end) || (next != NULL && next->va < end))
		return SEAM_CU_INVALID_VALUE;
	if (seam__emu_mapping_add(e, phys, va, find_reservation(e, va)) == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	seam__emu_judge_map(seam__emu_device_of(d), phys);
	e->billed_mappings = 1;
	e->billed_bytes = bytes;
	return 0;
}

/* The first mapping if [va, va + bytes) is one or several whole mappings of one reservation without a gap, else NULL.
 */
static struct emu_mapping *find_whole(struct emu *e, uint64_t va, uint64_t bytes, uint64_t *ret_end)
{
	uint64_t end;
	struct emu_mapping *first = seam__emu_mapping_find(e, va);
	if (bytes == 0 || !seam__bits_try_add(va, bytes, &end) || first == NULL || first->va != va ||
		first->reservation == NULL)
		return NULL;
	uint64_t at = va;
	for (struct emu_mapping *m = first; at < end; m = RB_NEXT(emu_mappings, &e->mappings, m)) {
		if (m == NULL || m->va != at || m->reservation != first->reservation)
			return NULL;
		at += m->bytes;
	}
	*ret_end = end;
	return at == end ? first : NULL;
}

/* Whether [va, va + bytes) is reserved, and every mapping in it lies whole in it. */
static bool cuts_none(struct emu *e, uint64_t va, uint64_t bytes, uint64_t *ret_end)
{
	if (bytes == 0 || !seam__bits_try_add(va, bytes, ret_end) || !is_reserved(e, va, *ret_end))
		return false;
	const struct emu_mapping *m = seam__emu_mapping_next(e, va);
	for (; m != NULL && m->va < *ret_end; m = seam__emu_mapping_next(e, m->va + m->bytes)) {
		if (m->va < va || m->va + m->bytes > *ret_end || m->reservation == NULL)
			return false;
	}
	return true;
}

int seam__emu_op_mem_unmap(struct seam_driver *d, uint64_t va, uint64_t bytes)
{
	struct emu *e = seam__emu_of(d);
	uint64_t end;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (e->config.lax ? !cuts_none(e, va, bytes, &end) : find_whole(e, va, bytes, &end) == NULL)
		return SEAM_CU_INVALID_VALUE;
	struct emu_mapping *mapping = seam__emu_mapping_next(e, va);
	seam__emu_backing_hide(e, va, bytes);
	while (mapping != NULL && mapping->va < end) {
		struct emu_mapping *next = RB_NEXT(emu_mappings, &e->mappings, mapping);
		e->billed_mappings++;
		e->billed_bytes += mapping->bytes;
		seam__emu_judge_unmap(seam__emu_device_of(d), mapping);
		seam__emu_mapping_remove(e, mapping);
		mapping = next;
	}
	return 0;
}

static bool mode_ok(enum seam_access_mode mode)
{
	return mode == SEAM_ACCESS_NONE || mode == SEAM_ACCESS_READ || mode == SEAM_ACCESS_READWRITE;
}

/* Whether every entry of the request may be granted on every mapping of the range. */
static int check_access(
	struct emu *e, struct emu_mapping *first, uint64_t end, const struct seam_access *access, size_t count)
{
	bool host = false;
	for (size_t i = 0; i < count; i++) {
		int cu = 0;
		if (!mode_ok(access[i].mode) || !seam__emu_location_ok(e, &access[i].where, &cu))
			return SEAM_CU_INVALID_VALUE; /* also where creation says that there is no such device */
		host |= access[i].where.kind != SEAM_AT_DEVICE;
	}
	for (struct emu_mapping *m = first; m != NULL && m->va < end; m = RB_NEXT(emu_mappings, &e->mappings, m)) {
		const struct seam_location *at = &m->phys->props.where;
		if (host && (at->kind == SEAM_AT_DEVICE || e->config.host == SEAM_EMU_HOST_NO_CPU))
			return SEAM_CU_NOT_SUPPORTED;
		for (size_t i = 0; e->config.no_peers && at->kind == SEAM_AT_DEVICE && i < count; i++) {
			if (access[i].where.id != at->id && access[i].mode != SEAM_ACCESS_NONE)
				return SEAM_CU_INVALID_DEVICE;
		}
	}
	return 0;
}

static struct emu_modes modes_with(const struct emu_mapping *mapping, const struct seam_access *access, size_t count)
{
	struct emu_modes modes = mapping->modes;
	for (size_t i = 0; i < count; i++) {
		if (access[i].where.kind == SEAM_AT_DEVICE)
			modes.device[access[i].where.id] = (uint8_t)access[i].mode;
		else
			modes.host = (uint8_t)access[i].mode;
	}
	return modes;
}

/* Shows the range as it will be. On failure everything is as before. */
static bool show_all(
	struct emu *e, struct emu_mapping *first, uint64_t end, const struct seam_access *access, size_t count)
{
	for (struct emu_mapping *m = first; m != NULL && m->va < end; m = RB_NEXT(emu_mappings, &e->mappings, m)) {
		const struct emu_modes modes = modes_with(m, access, count);
		if (seam__emu_backing_shown(e, &modes) == seam__emu_backing_shown(e, &m->modes) ||
			seam__emu_backing_show(e, m, &modes))
			continue;
		for (struct emu_mapping *back = first; back != m; back = RB_NEXT(emu_mappings, &e->mappings, back)) {
			const struct emu_modes tried = modes_with(back, access, count);
			if (seam__emu_backing_shown(e, &tried) != seam__emu_backing_shown(e, &back->modes) &&
				!seam__emu_backing_show(e, back, &back->modes))
				seam__emu_backing_hide(e, back->va, back->bytes);
		}
		return false;
	}
	return true;
}

/* Full mapping tables: the one place where the driver was seen to say so. */
static bool have_room(const struct emu *e, const uint64_t fresh[SEAM_EMU_DEVICES])
{
	for (int i = 0; i < e->config.devices; i++) {
		if (fresh[i] != 0 && e->devices[i].granted_count + fresh[i] > e->config.mapping_ceiling)
			return false;
	}
	return true;
}

int seam__emu_op_mem_set_access(
	struct seam_driver *d, uint64_t va, uint64_t bytes, const struct seam_access *access, size_t count)
{
	struct emu *e = seam__emu_of(d);
	uint64_t end;
	uint64_t fresh[SEAM_EMU_DEVICES] = {0};
	uint32_t asking = 0;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	struct emu_mapping *first = find_whole(e, va, bytes, &end);
	if (first == NULL || access == NULL || count == 0)
		return SEAM_CU_INVALID_VALUE;
	int cu = check_access(e, first, end, access, count);
	if (cu != 0)
		return cu;
	for (size_t i = 0; i < count; i++)
		asking |= access[i].where.kind == SEAM_AT_DEVICE ? UINT32_C(1) << access[i].where.id : 0;
	for (struct emu_mapping *m = first; m != NULL && m->va < end; m = RB_NEXT(emu_mappings, &e->mappings, m)) {
		for (int i = 0; i < e->config.devices; i++)
			fresh[i] += (asking & ~m->granted) >> i & 1;
		e->billed_mappings++;
	}
	e->billed_bytes = bytes;
	if (!have_room(e, fresh) || !show_all(e, first, end, access, count))
		return SEAM_CU_OUT_OF_MEMORY;
	for (struct emu_mapping *m = first; m != NULL && m->va < end; m = RB_NEXT(emu_mappings, &e->mappings, m)) {
		m->modes = modes_with(m, access, count);
		m->granted |= asking;
	}
	for (int i = 0; i < e->config.devices; i++)
		e->devices[i].granted_count += fresh[i];
	return 0;
}

int seam__emu_op_mem_get_access(
	struct seam_driver *d, uint64_t va, const struct seam_location *where, enum seam_access_mode *ret_mode)
{
	struct emu *e = seam__emu_of(d);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	int cu = 0;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (mapping == NULL || mapping->reservation == NULL || where == NULL || ret_mode == NULL)
		return SEAM_CU_INVALID_VALUE;
	if (!seam__emu_location_ok(e, where, &cu))
		return cu;
	*ret_mode = (enum seam_access_mode)(
		where->kind == SEAM_AT_DEVICE ? mapping->modes.device[where->id] : mapping->modes.host);
	return 0;
}

int seam__emu_op_is_host(struct seam_driver *d, uint64_t va, bool *ret_host)
{
	struct emu *e = seam__emu_of(d);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	const struct emu_host_block *block = seam__emu_host_next(e, va);
	const bool locked = block != NULL && block->va <= va;
	if (ret_host == NULL || (mapping == NULL && !locked))
		return SEAM_CU_INVALID_VALUE;
	*ret_host = locked ||
		(mapping->phys->props.where.kind != SEAM_AT_DEVICE && e->config.host != SEAM_EMU_HOST_AS_DEVICE);
	return 0;
}

int seam__emu_op_mem_retain(struct seam_driver *d, uint64_t va, struct seam_phys *ret_phys)
{
	struct emu *e = seam__emu_of(d);
	const struct emu_mapping *mapping = seam__emu_mapping_find(e, va);
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (mapping == NULL || mapping->reservation == NULL || ret_phys == NULL)
		return SEAM_CU_INVALID_VALUE;
	mapping->phys->references++;
	ret_phys->id = mapping->phys->id;
	return 0;
}

void seam__emu_space_fini(struct emu *e)
{
	struct emu_mapping *mapping;
	while ((mapping = RB_ROOT(&e->mappings)) != NULL)
		seam__emu_mapping_remove(e, mapping);
	(void)seam__slab_fini(&e->mapping_slab);
	(void)seam__slab_fini(&e->reservation_slab);
	seam__emu_extents_fini(&e->space);
}

const char *seam__emu_space_check(struct emu *e)
{
	uint64_t mapped = 0;
	uint64_t granted[SEAM_EMU_DEVICES] = {0};
	uint64_t reserved = 0;
	uint64_t end = 0;
	struct emu_reservation *reservation;
	RB_FOREACH(reservation, emu_reservations, &e->reservations)
	{
		if (reservation->va < end)
			return "E1 reservations do not overlap";
		end = reservation->va + reservation->bytes;
		reserved += reservation->bytes;
	}
	if (reserved != e->reserved_va_bytes)
		return "E1 counts of reservations";
	end = 0;
	struct emu_mapping *m;
	RB_FOREACH(m, emu_mappings, &e->mappings)
	{
		const struct emu_reservation *r = m->reservation;
		if (m->va < end)
			return "E2 mappings do not overlap";
		end = m->va + m->bytes;
		if (r != NULL && (m->va < r->va || m->va >= r->va + r->bytes || !is_reserved(e, m->va, end)))
			return "E1 a mapping lies in its reservation";
		if (m->phys->mappings == 0 || m->bytes != m->phys->bytes)
			return "E2 a handle knows its mappings";
		for (int i = 0; i < e->config.devices; i++)
			granted[i] += m->granted >> i & 1;
		mapped += r != NULL;
	}
	if (mapped != e->mapping_count)
		return "E2 counts of mappings";
	for (int i = 0; i < e->config.devices; i++) {
		if (granted[i] != e->devices[i].granted_count)
			return "E6 granted mappings are counted";
	}
	return seam__emu_extents_check(&e->space);
}
