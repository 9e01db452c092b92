/* part_copy.c: plain allocations, page-locked host memory, copies and fills. */
#include <string.h>

#include "conf.h"
#include "tap.h"

void part_direct(void)
{
	uint64_t free_bytes = 0;
	uint64_t total_bytes = 0;
	uint64_t a = 7;
	uint64_t b = 0;
	refuses(seam__drv_direct_alloc(conf.d, 0, &a));
	works(seam__drv_mem_info(conf.d, &free_bytes, &total_bytes));
	wants(SEAM_CU_OUT_OF_MEMORY, seam__drv_direct_alloc(conf.d, 2 * total_bytes, &a));
	ok(a == 7, "a failed allocation leaves its result alone");
	works(seam__drv_direct_alloc(conf.d, 1, &a));
	works(seam__drv_direct_alloc(conf.d, UINT64_C(5) << 20, &b));
	ok(a % 256 == 0 && b % 256 == 0, "addresses are aligned to 256 bytes");
	tap_observe(a % 512 == 0 && b % 512 == 0, "addresses are %saligned to 512 bytes",
		a % 512 == 0 && b % 512 == 0 ? "" : "not ");
	conf_write(b, UINT64_C(5) << 20, 8);
	ok(conf_holds(b, UINT64_C(5) << 20, 8), "bytes can be written and read back");
	works(seam__drv_direct_free(conf.d, a));
	works(seam__drv_direct_free(conf.d, b));
	refuses(seam__drv_direct_free(conf.d, b));
}

void part_host(void)
{
	uint64_t bytes = UINT64_C(1) << 20;
	uint64_t va = 0;
	void *host = NULL;
	differs(seam__drv_host_alloc(conf.d, 0, &host));
	ok(host == NULL, "there is no memory of no bytes");
	works(seam__drv_host_alloc(conf.d, bytes, &host));
	works(seam__drv_direct_alloc(conf.d, bytes, &va));
	if (host != NULL) {
		memset(host, 0x5a, bytes);
		works(seam__drv_copy_to_device(conf.d, va, host, bytes, SEAM_STREAM_DEFAULT));
		conf_sync();
		memset(host, 0, bytes);
		works(seam__drv_copy_to_host(conf.d, host, va, bytes, SEAM_STREAM_DEFAULT));
		conf_sync();
		const unsigned char *found = host;
		ok(!conf.has_contents || (found[0] == 0x5a && found[bytes - 1] == 0x5a), "a copy goes there and back");
		works(seam__drv_host_free(conf.d, host));
	}
	works(seam__drv_direct_free(conf.d, va));
}

#define NODE_CHUNKS 4

/* Whether the driver takes the address for the host's; a driver that does not know it counts as no. */
static bool says_host(uint64_t va)
{
	bool host = false;
	return seam__drv_is_host(conf.d, va, &host) == SEAM_CU_SUCCESS && host;
}

/* Bytes that the CPU writes through one address reach the device through another one, and come back. */
static void check_node_bytes(uint64_t home, uint64_t view, uint64_t bytes)
{
	uint64_t va = 0;
	unsigned char *at_home = (unsigned char *)(uintptr_t)home, *in_view = (unsigned char *)(uintptr_t)view;
	works(seam__drv_direct_alloc(conf.d, bytes, &va));
	memset(at_home, 0x3c, bytes);
	ok(in_view[0] == 0x3c && in_view[bytes - 1] == 0x3c, "the CPU sees the same bytes at both addresses");
	works(seam__drv_copy_to_device(conf.d, va, in_view, bytes, SEAM_STREAM_DEFAULT));
	conf_sync();
	memset(in_view, 0, bytes);
	works(seam__drv_copy_to_host(conf.d, in_view, va, bytes, SEAM_STREAM_DEFAULT));
	conf_sync();
	ok(at_home[0] == 0x3c && at_home[bytes / 2] == 0x3c && at_home[bytes - 1] == 0x3c,
		"a copy over the borders of mappings goes there and back");
	works(seam__drv_direct_free(conf.d, va));
}

/* Memory on the host's node next to the device, mapped twice: what stitched host memory (vmm/driver_host.h) asks of a
 * driver that says that it can do it. */
void part_host_node(void)
{
	int64_t supported = 0, node = -1;
	uint64_t g = 0;
	if (seam__drv_attribute(conf.d, SEAM_ATTR_HOST_VMM_SUPPORTED, &supported) != SEAM_CU_SUCCESS ||
		supported == 0) {
		tap_note("observed: no memory on nodes of the host here");
		return;
	}
	works(seam__drv_attribute(conf.d, SEAM_ATTR_HOST_NODE, &node));
	const struct seam_location cpu = {SEAM_AT_HOST_NUMA, node < 0 ? 0 : (int)node};
	const struct seam_phys_props props = {.where = cpu};
	const struct seam_access access[2] = {conf_read_write, {cpu, SEAM_ACCESS_READWRITE}};
	works(seam__drv_granularity(conf.d, &props, &g));
	tap_note("observed: node %d, granularity %llu", cpu.id, (unsigned long long)g);
	const uint64_t bytes = NODE_CHUNKS * g;
	uint64_t home = conf_reserve(bytes), view = conf_reserve(bytes);
	struct seam_phys chunks[NODE_CHUNKS] = {{0}};
	bool mapped = true;
	for (uint64_t i = 0; i < NODE_CHUNKS && mapped; i++) {
		mapped = works(seam__drv_mem_create(conf.d, g, &props, &chunks[i]));
		mapped = mapped && works(seam__drv_mem_map(conf.d, home + i * g, g, 0, chunks[i], 0)) &&
			works(seam__drv_mem_map(conf.d, view + (NODE_CHUNKS - 1 - i) * g, g, 0, chunks[i], 0));
	}
	mapped = mapped && works(seam__drv_mem_set_access(conf.d, home, bytes, access, 2)) &&
		works(seam__drv_mem_set_access(conf.d, view, bytes, access, 2));
	if (mapped) {
		ok(says_host(home) && says_host(view + bytes - 1), "the driver takes it for the host's");
		if (conf.has_contents)
			check_node_bytes(home, view, bytes);
	}
	conf_unmap(home, bytes);
	conf_unmap(view, bytes);
	for (int i = 0; i < NODE_CHUNKS && chunks[i].id != 0; i++)
		conf_release(chunks[i]);
	conf_free(home, bytes);
	conf_free(view, bytes);
}

void part_copies(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(2 * g);
	struct seam_phys phys[2] = {conf_create(g), conf_create(g)};
	uint32_t found[4] = {0};
	conf_map(va, phys[0], g);
	conf_map(va + g, phys[1], g);
	conf_write(va, g, 1);
	works(seam__drv_copy_on_device(conf.d, va + g, va, g, SEAM_STREAM_DEFAULT));
	ok(conf_holds(va + g, g, 1), "a copy on the device");
	works(seam__drv_fill32(conf.d, va + g - 8, 0xabcd1234, 4, SEAM_STREAM_DEFAULT));
	works(seam__drv_copy_to_host(conf.d, found, va + g - 8, sizeof(found), SEAM_STREAM_DEFAULT));
	conf_sync();
	ok(!conf.has_contents || (found[0] == 0xabcd1234 && found[3] == 0xabcd1234),
		"a fill over the border of two mappings");
	ok(conf_holds(va, g / 2, 1), "a fill changes nothing else");
	works(seam__drv_fill32(conf.d, va, 1, 0, SEAM_STREAM_DEFAULT));
	conf_sync();
	ok(conf_holds(va, g / 2, 1), "a fill of nothing changes nothing");
	conf_unmap(va, 2 * g);
	conf_release(phys[0]);
	conf_release(phys[1]);
	conf_free(va, 2 * g);
}

/* Plain memory given back as what it is not. */
void part_stray_direct(void)
{
	uint64_t bytes = UINT64_C(5) << 20;
	uint64_t va = 0;
	if (!works(seam__drv_direct_alloc(conf.d, bytes, &va)))
		return;
	observes(SEAM_CU_INVALID_VALUE, seam__drv_mem_unmap(conf.d, va, UINT64_C(4) << 20));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_address_free(conf.d, va, bytes));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_direct_free(conf.d, va + 4096));
	observes(SEAM_CU_SUCCESS, seam__drv_direct_free(conf.d, va));
}

void part_stray_copies(void)
{
	uint64_t g = conf.g;
	uint64_t va = conf_reserve(2 * g);
	uint32_t word = 0;
	observes(SEAM_CU_INVALID_VALUE, seam__drv_fill32(conf.d, va, 1, 1, SEAM_STREAM_DEFAULT));
	observes(SEAM_CU_INVALID_VALUE, seam__drv_copy_to_device(conf.d, va, &word, sizeof(word), SEAM_STREAM_DEFAULT));
	observes(SEAM_CU_SUCCESS, seam__drv_device_sync(conf.d));
	conf_free(va, 2 * g);
}
