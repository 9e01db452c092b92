/* part_memory.c: reservations, handles, mappings: calls that are refused, and that those change nothing.
 *
 * Drivers differ in what they unmap and in what a mapping may reach over, and the library needs neither: see emu.h. A
 * range with holes that is unmapped may be refused, and everything stays, or all that is mapped in it goes.
 */
#include "conf.h"
#include "tap.h"

void part_queries(void)
{
	int64_t value = -1;
	uint64_t bytes = 0;
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	const struct seam_phys_props nowhere = {.where = {.kind = SEAM_AT_DEVICE, .id = 1000}};
	works(seam__drv_attribute(conf.d, SEAM_ATTR_VMM_SUPPORTED, &value));
	ok(value == 1, "the device has virtual memory management");
	works(seam__drv_attribute(conf.d, SEAM_ATTR_DRIVER_VERSION, &value));
	ok(value >= 10020, "the driver is new enough: %lld", (long long)value);
	value = 7;
	refuses(seam__drv_attribute(conf.d, (enum seam_drv_attribute)1000, &value));
	ok(value == 7, "a failed query leaves its result alone");
	works(seam__drv_mem_info(conf.d, &free_bytes, &total_bytes));
	ok(free_bytes <= total_bytes && total_bytes != 0, "free %llu of %llu", (unsigned long long)free_bytes,
		(unsigned long long)total_bytes);
	works(seam__drv_granularity(conf.d, &conf_plain, &bytes));
	ok(bytes >= 4096 && (bytes & (bytes - 1)) == 0, "the granularity is a power of two: %llu",
		(unsigned long long)bytes);
	tap_observe(
		bytes == UINT64_C(2) << 20, "the granularity is %llu, 2 MiB was assumed", (unsigned long long)bytes);
	observes(SEAM_CU_SUCCESS, seam__drv_granularity(conf.d, &nowhere, &bytes));
}

void part_reserve(void)
{
	uint64_t g = conf.g;
	uint64_t va = 7;
	refuses(seam__drv_address_reserve(conf.d, 0, 0, 0, &va));
	refuses(seam__drv_address_reserve(conf.d, g, 3 * g, 0, &va));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_address_reserve(conf.d, 100, 0, 0, &va));
	ok(va == 7, "a failed reservation leaves its result alone");
	for (uint64_t alignment = g; alignment <= 512 * g; alignment *= 8) {
		works(seam__drv_address_reserve(conf.d, 3 * g, alignment, 0, &va));
		ok(va % alignment == 0, "%#llx is aligned to %llu", (unsigned long long)va,
			(unsigned long long)alignment);
		works(seam__drv_address_free(conf.d, va, 3 * g));
	}
	uint64_t a = conf_reserve(4 * g);
	uint64_t b = conf_reserve(4 * g);
	ok(a + 4 * g <= b || b + 4 * g <= a, "two reservations are apart");
	refuses(seam__drv_address_free(conf.d, a, 3 * g));
	refuses(seam__drv_address_free(conf.d, a + g, 3 * g));
	refuses(seam__drv_address_free(conf.d, a, 0));
	works(seam__drv_address_free(conf.d, a, 4 * g));
	refuses(seam__drv_address_free(conf.d, a, 4 * g));
	int cu = seam__drv_address_reserve(conf.d, 4 * g, 0, a, &va);
	ok(cu == SEAM_CU_SUCCESS, "a reservation with a hint works");
	tap_observe(va == a, "a hint at free space is %s", va == a ? "taken" : "not taken");
	conf_free(va, 4 * g);
	works(seam__drv_address_reserve(conf.d, 4 * g, 0, b, &va));
	ok(va != b, "a hint at a reservation is not taken");
	conf_free(va, 4 * g);
	conf_free(b, 4 * g);
	cu = seam__drv_address_reserve(conf.d, UINT64_C(1) << 40, 0, 0, &va);
	tap_observe(cu == SEAM_CU_SUCCESS, "a reservation of 1 TiB is %d", cu);
	if (cu == SEAM_CU_SUCCESS)
		works(seam__drv_address_free(conf.d, va, UINT64_C(1) << 40));
	observes(SEAM_CU_OUT_OF_MEMORY, seam__drv_address_reserve(conf.d, UINT64_C(1) << 56, 0, 0, &va));
}

void part_create(void)
{
	uint64_t g = conf.g;
	uint64_t free_before = 0;
	uint64_t free_with = 0;
	uint64_t free_after = 0;
	uint64_t total = 0;
	struct seam_phys phys = {7};
	const struct seam_phys_props nowhere = {.where = {.kind = SEAM_AT_DEVICE, .id = 1000}};
	const struct seam_phys_props host = {.where = {.kind = SEAM_AT_HOST}, .handle_types = SEAM_HANDLE_POSIX_FD};
	const struct seam_phys_props current = {.where = {.kind = SEAM_AT_HOST_NUMA_CURRENT}};
	const struct seam_phys_props fabric = {.where = {.kind = SEAM_AT_DEVICE}, .handle_types = SEAM_HANDLE_FABRIC};
	refuses(seam__drv_mem_create(conf.d, 0, &conf_plain, &phys));
	refuses(seam__drv_mem_create(conf.d, g / 2, &conf_plain, &phys));
	refuses(seam__drv_mem_create(conf.d, g + 4096, &conf_plain, &phys));
	wants(SEAM_CU_INVALID_DEVICE, seam__drv_mem_create(conf.d, g, &nowhere, &phys));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_create(conf.d, g, &host, &phys));
	refuses(seam__drv_mem_create(conf.d, g, &current, &phys));
	works(seam__drv_mem_info(conf.d, &free_before, &total));
	wants(SEAM_CU_OUT_OF_MEMORY, seam__drv_mem_create(conf.d, (total / g + 1) * g, &conf_plain, &phys));
	ok(phys.id == 7, "a failed creation leaves its result alone");
	int cu = seam__drv_mem_create(conf.d, g, &fabric, &phys);
	tap_observe(cu == SEAM_CU_NOT_PERMITTED, "a FABRIC handle is %d, 800 was assumed where its service is not", cu);
	if (cu == SEAM_CU_SUCCESS)
		conf_release(phys);
	works(seam__drv_mem_info(conf.d, &free_before, &total));
	struct seam_phys a = conf_create(16 * g);
	struct seam_phys b = conf_create(16 * g);
	works(seam__drv_mem_info(conf.d, &free_with, &total));
	ok(a.id != b.id && a.id != 0 && b.id != 0, "two handles differ");
	ok(free_before - free_with >= 32 * g, "memory info has moved by what was created: %llu",
		(unsigned long long)(free_before - free_with));
	works(seam__drv_mem_release(conf.d, a));
	works(seam__drv_mem_release(conf.d, b));
	works(seam__drv_mem_info(conf.d, &free_after, &total));
	ok(free_after >= free_with + 32 * g, "released memory is free again");
}

/* A mapping that must be refused, and is taken away again if it is not. */
#define refuses_map(va, bytes, phys, flags)                                         \
	do {                                                                        \
		if (!refuses(seam__drv_mem_map(conf.d, va, bytes, 0, phys, flags))) \
			conf_unmap(va, bytes);                                      \
	} while (0)

/* A mapping that may be made or not. */
static void map_over(uint64_t va, struct seam_phys phys, uint64_t bytes, const char *what)
{
	if (conf_differ(seam__drv_mem_map(conf.d, va, bytes, 0, phys, 0), what))
		conf_unmap(va, bytes);
}

static void map_over_the_end(void)
{
	uint64_t g = conf.g;
	uint64_t first = 0;
	uint64_t second = 0;
	uint64_t whole = conf_reserve(4 * g);
	struct seam_phys two = conf_create(2 * g);
	conf_free(whole, 4 * g);
	if (seam__drv_address_reserve(conf.d, 2 * g, 0, whole, &first) == SEAM_CU_SUCCESS && first == whole)
		map_over(first + g, two, 2 * g, "a mapping over the end of a reservation");
	if (seam__drv_address_reserve(conf.d, 2 * g, 0, first + 2 * g, &second) == SEAM_CU_SUCCESS &&
		second == first + 2 * g)
		map_over(first + g, two, 2 * g, "a mapping over the end of a reservation into the next one");
	else
		tap_note("observed: no two adjacent reservations could be had");
	conf_free(first, 2 * g);
	conf_free(second, 2 * g);
	conf_release(two);
}

/* Part of a handle, or more than it. */
static void map_parts(uint64_t va, struct seam_phys one, struct seam_phys two)
{
	uint64_t g = conf.g;
	const struct {
		struct seam_phys phys;
		uint64_t bytes;
		uint64_t offset_bytes;
		const char *what;
	} rows[] = {
		{one, g / 2, 0, "a mapping of half a granule"},
		{one, 2 * g, 0, "a mapping of more than the handle"},
		{two, g, 0, "a mapping of the first half of a handle"},
		{two, g, g, "a mapping of the second half of a handle"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int cu = seam__drv_mem_map(conf.d, va, rows[i].bytes, rows[i].offset_bytes, rows[i].phys, 0);
		if (conf_observe(cu, SEAM_CU_NOT_SUPPORTED, rows[i].what))
			conf_unmap(va, rows[i].bytes);
	}
}

void part_map(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(8 * g);
	struct seam_phys one = conf_create(g);
	struct seam_phys two = conf_create(2 * g);
	refuses_map(va + 4096, g, one, 0);
	refuses_map(va, UINT64_C(0), one, 0);
	refuses_map(va, g, one, 1);
	map_parts(va, one, two);
	uint64_t gone = conf_reserve(4 * g);
	conf_free(gone, 4 * g);
	refuses_map(gone, g, one, 0);
	works(seam__drv_mem_map(conf.d, va, 2 * g, 0, two, 0));
	refuses_map(va, g, one, 0);
	refuses_map(va + g, g, one, 0);
	works(seam__drv_mem_map(conf.d, va + 2 * g, g, 0, one, 0));
	works(seam__drv_mem_map(conf.d, va + 3 * g, g, 0, one, 0));
	works(seam__drv_mem_set_access(conf.d, va, 4 * g, &conf_read_write, 1));
	conf_write(va, 2 * g, 3);
	conf_write(va + 2 * g, g, 4);
	refuses_map(va + g, g, one, 0);
	ok(conf_holds(va, 2 * g, 3), "a refused mapping leaves what is there");
	ok(conf_holds(va + 3 * g, g, 4), "one handle is mapped twice side by side");
	works(seam__drv_mem_unmap(conf.d, va, 4 * g));
	conf_release(one);
	conf_release(two);
	works(seam__drv_address_free(conf.d, va, 8 * g));
	map_over_the_end();
}

static void free_while_mapped(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(g);
	struct seam_phys phys = conf_create(g);
	conf_map(va, phys, g);
	observes(SEAM_CU_INVALID_VALUE, seam__drv_address_free(conf.d, va, g));
	conf_unmap(va, g);
	conf_free(va, g);
	conf_release(phys);
}

/* Three mappings of a strip, in granules, with a hole before the last. */
#define PIECES 3
#define ALL_PIECES 7u

static const struct {
	uint64_t at;
	uint64_t granules;
} pieces[PIECES] = {{0, 2}, {2, 1}, {4, 2}};

/* Every piece stands, whatever was mapped of them before. */
static void lay(uint64_t va, const struct seam_phys phys[PIECES])
{
	for (size_t i = 0; i < PIECES; i++) {
		conf_unmap(va + pieces[i].at * conf.g, pieces[i].granules * conf.g);
		conf_map(va + pieces[i].at * conf.g, phys[i], pieces[i].granules * conf.g);
	}
}

/* The pieces whose bits are set stand, with their bytes, and no others do. */
static bool only_these_stand(uint64_t va, unsigned set)
{
	bool right = true;
	for (size_t i = 0; i < PIECES; i++) {
		struct seam_phys found = {0};
		uint64_t at = va + pieces[i].at * conf.g;
		bool mapped = seam__drv_mem_retain(conf.d, at, &found) == SEAM_CU_SUCCESS;
		right &= mapped == ((set >> i & 1) != 0);
		if (!mapped)
			continue;
		conf_release(found);
		right &= conf_holds(at, pieces[i].granules * conf.g, (uint32_t)i);
	}
	return right;
}

/* Ranges with holes: in granules, and the pieces that lie in them. */
static void unmap_with_holes(uint64_t va, const struct seam_phys phys[PIECES])
{
	static const struct {
		uint64_t at;
		uint64_t granules;
		unsigned set;
		const char *what;
	} rows[] = {
		{0, 4, 3, "unmapping two mappings and a hole"},
		{0, 6, 7, "unmapping mappings on both sides of a hole"},
		{3, 3, 4, "unmapping a hole and a mapping"},
		{3, 1, 0, "unmapping a hole"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int cu = seam__drv_mem_unmap(conf.d, va + rows[i].at * conf.g, rows[i].granules * conf.g);
		bool done = conf_differ(cu, rows[i].what);
		ok(only_these_stand(va, done ? ALL_PIECES & ~rows[i].set : ALL_PIECES), "%s",
			done ? "what lies in the range is unmapped, and nothing else" : "nothing is unmapped");
		lay(va, phys);
	}
}

void part_unmap(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(8 * g);
	const struct seam_phys phys[PIECES] = {conf_create(2 * g), conf_create(g), conf_create(2 * g)};
	differs(seam__drv_mem_unmap(conf.d, va, 2 * g));
	lay(va, phys);
	for (uint32_t i = 0; i < PIECES; i++)
		conf_write(va + pieces[i].at * g, pieces[i].granules * g, i);
	refuses(seam__drv_mem_unmap(conf.d, va, 0));
	refuses(seam__drv_mem_unmap(conf.d, va, g));
	refuses(seam__drv_mem_unmap(conf.d, va + g, g));
	refuses(seam__drv_mem_unmap(conf.d, va + g, 2 * g));
	ok(only_these_stand(va, ALL_PIECES), "refused calls have unmapped nothing");
	unmap_with_holes(va, phys);
	works(seam__drv_mem_unmap(conf.d, va, 3 * g)); /* two whole mappings at once */
	ok(only_these_stand(va, 4), "the neighbour is still mapped");
	differs(seam__drv_mem_unmap(conf.d, va, 3 * g));
	works(seam__drv_mem_unmap(conf.d, va + 4 * g, 2 * g));
	conf_map(va + 2 * g, phys[2], 2 * g);
	ok(conf_holds(va + 2 * g, 2 * g, 2), "a handle keeps its bytes from mapping to mapping");
	conf_unmap(va + 2 * g, 2 * g);
	for (size_t i = 0; i < PIECES; i++)
		conf_release(phys[i]);
	works(seam__drv_address_free(conf.d, va, 8 * g));
	free_while_mapped();
}
