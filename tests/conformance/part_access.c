/* part_access.c: access, references, aliases, exported handles. */
#include <unistd.h>

#include "conf.h"
#include "tap.h"

static enum seam_access_mode mode_at(uint64_t va)
{
	enum seam_access_mode mode = SEAM_ACCESS_NONE;
	works(seam__drv_mem_get_access(conf.d, va, &conf_plain.where, &mode));
	return mode;
}

void part_access(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(8 * g);
	struct seam_phys a = conf_create(2 * g);
	struct seam_phys b = conf_create(g);
	enum seam_access_mode mode = SEAM_ACCESS_READ;
	const struct seam_access nowhere = {
		.where = {.kind = SEAM_AT_DEVICE, .id = 1000}, .mode = SEAM_ACCESS_READWRITE};
	const struct seam_access cpu = {.where = {.kind = SEAM_AT_HOST_NUMA}, .mode = SEAM_ACCESS_READWRITE};
	const struct seam_access read_only = {.where = conf_plain.where, .mode = SEAM_ACCESS_READ};
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_set_access(conf.d, va, g, &conf_read_write, 1));
	refuses(seam__drv_mem_get_access(conf.d, va, &conf_plain.where, &mode));
	ok(mode == SEAM_ACCESS_READ, "a failed query leaves its result alone");
	works(seam__drv_mem_map(conf.d, va, 2 * g, 0, a, 0));
	works(seam__drv_mem_map(conf.d, va + 2 * g, g, 0, b, 0));
	ok(mode_at(va) == SEAM_ACCESS_NONE, "a fresh mapping has no access");
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_set_access(conf.d, va, 4 * g, &conf_read_write, 1));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_set_access(conf.d, va, g, &conf_read_write, 1));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_set_access(conf.d, va, 3 * g, &conf_read_write, 0));
	refuses(seam__drv_mem_set_access(conf.d, va, 3 * g, &nowhere, 1));
	observes(SEAM_CU_NOT_SUPPORTED, seam__drv_mem_set_access(conf.d, va, 3 * g, &cpu, 1));
	works(seam__drv_mem_set_access(conf.d, va, 3 * g, &conf_read_write, 1));
	ok(mode_at(va) == SEAM_ACCESS_READWRITE && mode_at(va + 2 * g + 4096) == SEAM_ACCESS_READWRITE,
		"one call grants access to two mappings");
	conf_write(va, 3 * g, 9);
	works(seam__drv_mem_set_access(conf.d, va, 2 * g, &read_only, 1));
	ok(mode_at(va) == SEAM_ACCESS_READ && mode_at(va + 2 * g) == SEAM_ACCESS_READWRITE,
		"access is narrowed for one mapping only");
	ok(conf_holds(va, 3 * g, 9), "read access is enough to read");
	works(seam__drv_mem_unmap(conf.d, va, 3 * g));
	works(seam__drv_mem_map(conf.d, va, 2 * g, 0, a, 0));
	ok(mode_at(va) == SEAM_ACCESS_NONE, "access is lost by unmapping");
	works(seam__drv_mem_unmap(conf.d, va, 2 * g));
	conf_release(a);
	conf_release(b);
	conf_free(va, 8 * g);
}

void part_references(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(4 * g);
	struct seam_phys phys = conf_create(g);
	struct seam_phys again = {0};
	refuses(seam__drv_mem_retain(conf.d, va, &again));
	ok(again.id == 0, "a failed call leaves its result alone");
	conf_map(va, phys, g);
	conf_write(va, g, 21);
	works(seam__drv_mem_release(conf.d, phys));
	ok(conf_holds(va, g, 21), "released memory lives while it is mapped");
	works(seam__drv_mem_retain(conf.d, va + g / 2, &again));
	ok(again.id == phys.id, "the handle of an address is the one that was mapped");
	conf_unmap(va, g);
	conf_map(va + g, again, g);
	ok(conf_holds(va + g, g, 21), "a retained handle outlives its mapping");
	works(seam__drv_mem_retain(conf.d, va + g, &phys));
	works(seam__drv_mem_release(conf.d, phys));
	conf_map(va + 2 * g, again, g);
	ok(conf_holds(va + 2 * g, g, 21), "each reference counts");
	conf_unmap(va + g, 2 * g);
	works(seam__drv_mem_release(conf.d, again));
	refuses(seam__drv_mem_retain(conf.d, va, &again));
	conf_free(va, 4 * g);
}

#define VIEW_CHUNKS 64

/* A view over chunks that are mapped elsewhere in another order: what stitching does. */
void part_aliases(void)
{
	uint64_t g = conf.g;
	uint64_t home = conf_reserve(VIEW_CHUNKS * g);
	uint64_t view = conf_reserve(VIEW_CHUNKS * g);
	struct seam_phys chunks[VIEW_CHUNKS];
	for (uint64_t i = 0; i < VIEW_CHUNKS; i++) {
		chunks[i] = conf_create(g);
		conf_map(home + i * g, chunks[i], g);
		conf_write(home + i * g, g, (uint32_t)i);
	}
	bool mapped = true;
	for (uint64_t i = 0; i < VIEW_CHUNKS; i++)
		mapped &= seam__drv_mem_map(conf.d, view + i * g, g, 0, chunks[i * 37 % VIEW_CHUNKS], 0) == 0;
	ok(mapped, "all chunks are mapped a second time");
	works(seam__drv_mem_set_access(conf.d, view, VIEW_CHUNKS * g, &conf_read_write, 1));
	bool same = true;
	for (uint64_t i = 0; i < VIEW_CHUNKS; i++)
		same &= conf_holds(view + i * g, g, (uint32_t)(i * 37 % VIEW_CHUNKS));
	ok(same, "the view shows the bytes of every chunk");
	conf_write(view, VIEW_CHUNKS * g, 77); /* one write over all borders */
	ok(conf_holds(view, VIEW_CHUNKS * g, 77), "a write over the borders of mappings can be read back");
	works(seam__drv_mem_unmap(conf.d, home, VIEW_CHUNKS * g));
	ok(conf_holds(view, VIEW_CHUNKS * g, 77), "the view does not need the other mappings");
	works(seam__drv_mem_unmap(conf.d, view, VIEW_CHUNKS * g));
	for (uint64_t i = 0; i < VIEW_CHUNKS; i++)
		conf_release(chunks[i]);
	conf_free(home, VIEW_CHUNKS * g);
	conf_free(view, VIEW_CHUNKS * g);
}

void part_export(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(2 * g);
	int64_t supported = 0;
	int descriptor = -1;
	const struct seam_phys_props shareable = {.where = conf_plain.where, .handle_types = SEAM_HANDLE_POSIX_FD};
	struct seam_phys plain = conf_create(g);
	struct seam_phys shared = {0};
	struct seam_phys imported = {0};
	works(seam__drv_attribute(conf.d, SEAM_ATTR_POSIX_FD_SUPPORTED, &supported));
	refuses(seam__drv_mem_export(conf.d, plain, SEAM_HANDLE_POSIX_FD, &descriptor));
	ok(descriptor == -1, "a failed export leaves its result alone");
	conf_release(plain);
	if (supported == 0 || seam__drv_mem_create(conf.d, g, &shareable, &shared) != SEAM_CU_SUCCESS) {
		tap_note("observed: no POSIX descriptors here");
		conf_free(va, 2 * g);
		return;
	}
	works(seam__drv_mem_export(conf.d, shared, SEAM_HANDLE_POSIX_FD, &descriptor));
	ok(descriptor >= 0, "a descriptor was given out");
	conf_map(va, shared, g);
	conf_write(va, g, 5);
	works(seam__drv_mem_import(conf.d, SEAM_HANDLE_POSIX_FD, &descriptor, &imported));
	conf_map(va + g, imported, g);
	ok(conf_holds(va + g, g, 5), "the imported handle shows the same bytes");
	conf_unmap(va, 2 * g);
	works(seam__drv_mem_release(conf.d, shared));
	works(seam__drv_mem_release(conf.d, imported));
	works(seam__drv_mem_import(conf.d, SEAM_HANDLE_POSIX_FD, &descriptor, &imported));
	conf_map(va, imported, g);
	ok(conf_holds(va, g, 5), "an exported handle alone keeps the memory");
	conf_unmap(va, g);
	works(seam__drv_mem_release(conf.d, imported));
	ok(close(descriptor) == 0, "the descriptor is closed");
	conf_free(va, 2 * g);
}
