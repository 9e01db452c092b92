/* emu_backing.c: what the CPU sees at the device's addresses.
 *
 * Real mode: one memfd holds all physical memory; a mapping with access is a shared mapping of its piece, everything
 * else in the arena is PROT_NONE, so that a stray touch faults. Adjacent pieces of the file at adjacent addresses
 * become one entry of the kernel's map, of which a process has 65,530. Strict mode: the same, but only access that was
 * granted to the host counts, which memory of a device never has. Book mode: a range of addresses that no process can
 * touch.
 *
 * Unmapping puts PROT_NONE over the range instead of a hole: another thread's mmap could take a hole. With a full map
 * the kernel refuses that too; for then some entries are kept as ballast, to be thrown off.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bits.h"
#include "emu_state.h"

#define BOOK_BASE_VA (UINT64_C(1) << 50)
#define STORE_BYTES (UINT64_C(1) << 44) /* file offsets, far more than capacity: they must not fragment */
#define ARENA_ALIGNMENT (UINT64_C(1) << 30)
#define ARENA_LEAST_BYTES (UINT64_C(1) << 36)
#define HOST_PAGE_BYTES 4096
#define POISON 0xd5
#define BALLAST_PAGES 16

static void *pointer_of(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

/* Address space without memory. A sanitizer or a limit may leave less than was asked for: take half, and half again. */
static enum seam_rc map_arena(struct emu *e, bool may_shrink)
{
	uint64_t bytes = e->config.address_space_bytes;
	for (;;) {
		void *at = mmap(
			NULL, bytes + ARENA_ALIGNMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at != MAP_FAILED) {
			e->arena_map_va = (uint64_t)(uintptr_t)at;
			e->arena_map_bytes = bytes + ARENA_ALIGNMENT;
			e->arena_va = seam__bits_align_up(e->arena_map_va, ARENA_ALIGNMENT);
			e->config.address_space_bytes = bytes;
			return SEAM_OK;
		}
		if (!may_shrink || bytes / 2 < ARENA_LEAST_BYTES)
			return SEAM_OOM_HOST;
		bytes /= 2;
	}
}

/* Pages that alternate in protection: an entry of the kernel's map each. False: the map is full. */
static bool load_ballast(struct emu *e)
{
	if (e->ballast_pages == BALLAST_PAGES)
		return true;
	if (e->ballast_pages != 0)
		(void)munmap(pointer_of(e->ballast_va), e->ballast_pages * HOST_PAGE_BYTES);
	e->ballast_pages = 0;
	void *at = mmap(NULL, BALLAST_PAGES * HOST_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	e->ballast_va = (uint64_t)(uintptr_t)at;
	e->ballast_pages = BALLAST_PAGES;
	for (uint64_t i = 0; i < BALLAST_PAGES; i += 2) {
		if (mprotect(pointer_of(e->ballast_va + i * HOST_PAGE_BYTES), HOST_PAGE_BYTES, PROT_READ) == 0)
			continue;
		(void)munmap(at, BALLAST_PAGES * HOST_PAGE_BYTES);
		e->ballast_pages = 0;
		return false;
	}
	return true;
}

static bool throw_ballast(struct emu *e)
{
	if (e->ballast_pages == 0)
		return false;
	e->ballast_pages--;
	return munmap(pointer_of(e->ballast_va + e->ballast_pages * HOST_PAGE_BYTES), HOST_PAGE_BYTES) == 0;
}

enum seam_rc seam__emu_backing_init(struct emu *e)
{
	bool is_default = e->config.address_space_bytes == 0;
	e->memfd = -1;
	if (e->config.memory == SEAM_EMU_BOOK) {
		if (is_default)
			e->config.address_space_bytes = UINT64_C(1) << 47;
		e->arena_va = BOOK_BASE_VA;
	} else {
		if (is_default)
			e->config.address_space_bytes = UINT64_C(1) << 44;
		enum seam_rc rc = map_arena(e, is_default);
		if (rc != SEAM_OK)
			return rc;
		e->memfd = memfd_create("seam-emulated-device", MFD_CLOEXEC);
		if (e->memfd < 0 || ftruncate(e->memfd, (off_t)STORE_BYTES) != 0)
			return SEAM_OOM_HOST;
	}
	if (seam__emu_extents_init(&e->store, e->meta, 0, STORE_BYTES) != SEAM_OK)
		return SEAM_OOM_META;
	return seam__emu_extents_init(&e->space, e->meta, e->arena_va, e->config.address_space_bytes);
}

void seam__emu_backing_fini(struct emu *e)
{
	if (e->ballast_pages != 0)
		(void)munmap(pointer_of(e->ballast_va), e->ballast_pages * HOST_PAGE_BYTES);
	if (e->arena_map_bytes != 0)
		(void)munmap(pointer_of(e->arena_map_va), e->arena_map_bytes);
	if (e->memfd >= 0)
		(void)close(e->memfd);
	seam__emu_extents_fini(&e->store);
}

unsigned seam__emu_backing_shown(const struct emu *e, const struct emu_modes *modes)
{
	unsigned mode = modes->host;
	for (int i = 0; i < SEAM_EMU_DEVICES && e->config.memory != SEAM_EMU_STRICT; i++)
		mode |= modes->device[i];
	return mode;
}

bool seam__emu_backing_show(struct emu *e, const struct emu_mapping *mapping, const struct emu_modes *modes)
{
	unsigned mode = seam__emu_backing_shown(e, modes);
	if (e->memfd < 0)
		return true;
	if (mode == SEAM_ACCESS_NONE) {
		seam__emu_backing_hide(e, mapping->va, mapping->bytes);
		return true;
	}
	if (!load_ballast(e))
		return false;
	int protection = mode == SEAM_ACCESS_READ ? PROT_READ : PROT_READ | PROT_WRITE;
	return mmap(pointer_of(mapping->va), mapping->bytes, protection, MAP_SHARED | MAP_FIXED, e->memfd,
		       (off_t)mapping->phys->offset_bytes) != MAP_FAILED;
}

void seam__emu_backing_hide(struct emu *e, uint64_t va, uint64_t bytes)
{
	if (e->memfd < 0)
		return;
	void *at;
	do {
		at = mmap(pointer_of(va), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
			0);
	} while (at == MAP_FAILED && throw_ballast(e));
	if (at == MAP_FAILED)
		(void)mprotect(pointer_of(va), bytes, PROT_NONE); /* the bytes stay, but the door is closed */
}

static void poison_page(struct emu *e, uint64_t offset_bytes)
{
	unsigned char page[HOST_PAGE_BYTES];
	memset(page, POISON, sizeof(page));
	/* A short write leaves zeroes: as good a surprise as any other to who reads memory that was never written. */
	ssize_t written = pwrite(e->memfd, page, sizeof(page), (off_t)offset_bytes);
	(void)written;
}

void seam__emu_backing_poison(struct emu *e, uint64_t offset_bytes, uint64_t bytes)
{
	if (e->memfd < 0 || e->config.still)
		return;
	/* The edges of each granule, unless asked for all: every poisoned page is a page of host memory. */
	uint64_t step = e->config.poison_all ? HOST_PAGE_BYTES : e->config.granularity_bytes;
	for (uint64_t at = 0; at < bytes; at += step) {
		poison_page(e, offset_bytes + at);
		if (step > HOST_PAGE_BYTES)
			poison_page(e, offset_bytes + seam__bits_min(at + step, bytes) - HOST_PAGE_BYTES);
	}
}

void seam__emu_backing_punch(struct emu *e, uint64_t offset_bytes, uint64_t bytes)
{
	if (e->memfd >= 0)
		(void)fallocate(
			e->memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset_bytes, (off_t)bytes);
}
