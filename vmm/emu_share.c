/* emu_share.c: exported handles.
 *
 * A POSIX descriptor is one end of a socket pair: when its last copy is closed, wherever it went, our end hangs up, and
 * the memory may die. It is found again by its inode. A FABRIC handle is a name that keeps nothing alive.
 * Import works within the process that exported.
 */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu_state.h"

#define FABRIC_BYTES 64
#define FABRIC_MAGIC UINT64_C(0x5345414d46414252)

static void close_export(struct emu *e, struct emu_export *export)
{
	LIST_REMOVE(export, of_device);
	LIST_REMOVE(export, of_phys);
	(void)close(export->our_end);
	seam__slab_put(&e->export_slab, export);
}

static bool hung_up(const struct emu_export *export)
{
	struct pollfd poll_one = {.fd = export->our_end, .events = POLLIN};
	return poll(&poll_one, 1, 0) > 0 && (poll_one.revents & POLLHUP) != 0;
}

bool seam__emu_exports_open(struct emu *e, struct emu_phys *phys)
{
	struct emu_export *export;
	struct emu_export *next;
	LIST_FOREACH_SAFE(export, &phys->exports, of_phys, next)
	{
		if (hung_up(export))
			close_export(e, export);
	}
	return !LIST_EMPTY(&phys->exports);
}

void seam__emu_exports_sweep(struct emu *e)
{
	struct emu_phys *phys;
	struct emu_phys *next;
	LIST_FOREACH_SAFE(phys, &e->lingering, lingering, next)
	seam__emu_phys_settle(e, phys);
}

static int export_descriptor(struct emu *e, struct emu_phys *phys, int *ret_descriptor)
{
	struct stat status;
	int ends[2];
	struct emu_export *export = seam__slab_get(&e->export_slab);
	if (export == NULL)
		return SEAM_CU_OUT_OF_MEMORY;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
		seam__slab_put(&e->export_slab, export);
		return SEAM_CU_OUT_OF_MEMORY;
	}
	if (fstat(ends[1], &status) != 0) {
		(void)close(ends[0]);
		(void)close(ends[1]);
		seam__slab_put(&e->export_slab, export);
		return SEAM_CU_UNKNOWN;
	}
	*export = (struct emu_export){.phys = phys, .inode = status.st_ino, .our_end = ends[0]};
	LIST_INSERT_HEAD(&e->exports, export, of_device);
	LIST_INSERT_HEAD(&phys->exports, export, of_phys);
	*ret_descriptor = ends[1];
	return 0;
}

int seam__emu_op_mem_export(
	struct seam_driver *d, struct seam_phys phys_id, enum seam_handle_type type, void *ret_handle)
{
	struct emu *e = seam__emu_of(d);
	struct emu_phys *phys = seam__emu_table_find(&e->phys_table, phys_id.id);
	if (phys == NULL || phys->references == 0 || ret_handle == NULL ||
		(phys->props.handle_types & (unsigned)type) == 0)
		return SEAM_CU_INVALID_VALUE;
	if (type == SEAM_HANDLE_POSIX_FD)
		return export_descriptor(e, phys, ret_handle);
	uint64_t words[FABRIC_BYTES / sizeof(uint64_t)] = {FABRIC_MAGIC, (uint64_t)(uintptr_t)e, phys->id};
	memcpy(ret_handle, words, sizeof(words));
	return 0;
}

static struct emu_phys *find_descriptor(struct emu *e, int descriptor)
{
	struct stat status;
	struct emu_export *export;
	if (fstat(descriptor, &status) != 0)
		return NULL;
	LIST_FOREACH(export, &e->exports, of_device)
	{
		if (export->inode == status.st_ino && !hung_up(export))
			return export->phys;
	}
	return NULL;
}

int seam__emu_op_mem_import(
	struct seam_driver *d, enum seam_handle_type type, const void *handle, struct seam_phys *ret_phys)
{
	struct emu *e = seam__emu_of(d);
	struct emu_phys *phys = NULL;
	if (e->config.no_vmm)
		return SEAM_CU_NOT_SUPPORTED;
	if (handle == NULL || ret_phys == NULL)
		return SEAM_CU_INVALID_VALUE;
	if (type == SEAM_HANDLE_POSIX_FD) {
		int descriptor;
		memcpy(&descriptor, handle, sizeof(descriptor));
		phys = find_descriptor(e, descriptor);
	} else if (type == SEAM_HANDLE_FABRIC) {
		uint64_t words[FABRIC_BYTES / sizeof(uint64_t)];
		memcpy(words, handle, sizeof(words));
		if (words[0] == FABRIC_MAGIC && words[1] == (uint64_t)(uintptr_t)e)
			phys = seam__emu_table_find(&e->phys_table, words[2]);
	}
	if (phys == NULL)
		return SEAM_CU_INVALID_VALUE;
	phys->references++;
	if (phys->lingers) {
		LIST_REMOVE(phys, lingering);
		phys->lingers = false;
	}
	ret_phys->id = phys->id;
	return 0;
}

void seam__emu_exports_fini(struct emu *e)
{
	struct emu_export *export;
	while ((export = LIST_FIRST(&e->exports)) != NULL)
		close_export(e, export);
	(void)seam__slab_fini(&e->export_slab);
}
