/* direct_source.c: plain device memory as a source of segments. See direct_source.h. */
#include "direct_source.h"

static enum seam_rc segment_alloc(void *user, uint64_t bytes, uint64_t *ret_va)
{
	return seam__driver_rc(seam__drv_direct_alloc(user, bytes, ret_va));
}

static enum seam_rc segment_free(void *user, uint64_t va, uint64_t bytes)
{
	(void)bytes;
	return seam__driver_rc(seam__drv_direct_free(user, va));
}

struct seam_cache_source seam__direct_source(struct seam_driver *driver)
{
	return (struct seam_cache_source){.user = driver, .segment_alloc = segment_alloc, .segment_free = segment_free};
}
