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
