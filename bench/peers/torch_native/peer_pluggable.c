/* peer_pluggable.c: Seam's pluggable door behind the calls of peer_torch.h: what PyTorch's CUDAPluggableAllocator calls
 * of it.
 *
 * A library of its own, linked to libseam_torch.so: the door is opened at run time as PyTorch's allocator is, and the
 * Seam inside peer.c has no part in it. What CUDAPluggableAllocator does itself (a table of addresses, a lock) is in
 * libtorch_cuda.so, and left out.
 */
#include "peer_torch.h"

#include <stddef.h>

#include <seam/seam.h>
#include <seam/stats.h>
#include <seam/torch.h>

#define PUBLIC __attribute__((visibility("default")))
#define POOLS 256u

static char failure[400];
static struct {
	uint64_t id; /* 0: a free place */
	unsigned begun;
} pools[POOLS];

static struct seam_torch_pool_id pool_of(uint64_t private_id)
{
	return (struct seam_torch_pool_id){.second = private_id};
}

static struct seam_stats stats(void)
{
	struct seam_stats found = {.size = sizeof found, .version = SEAM_STATS_VERSION};
	enum seam_rc rc = seam_stats_get(seam_torch_pool(0), &found);
	return rc == SEAM_OK ? found : (struct seam_stats){0};
}

static int fail(void)
{
	const struct seam_stats now = stats();
	seam_torch_error(failure, sizeof failure);
	return now.ooms_device + now.ooms_address + now.ooms_mappings != 0 ? PEER_TORCH_OOM : PEER_TORCH_FAILED;
}

/* The place of a pool, or one for it; NULL: there is none. */
static unsigned *begun(uint64_t private_id)
{
	for (unsigned i = 0; i < POOLS; i++) {
		if (pools[i].id != private_id && pools[i].id != 0)
			continue;
		pools[i].id = private_id;
		return &pools[i].begun;
	}
	return NULL;
}

/* As in PyTorch, the pool is open while one request is made. */
static void *alloc_private(uint64_t bytes, void *stream, uint64_t private_id)
{
	unsigned *count = begun(private_id);
	if (count == NULL)
		return NULL;
	++*count;
	seam_torch_begin_pool(0, pool_of(private_id), NULL);
	void *block = seam_torch_alloc(bytes, 0, stream);
	seam_torch_end_pool(0, pool_of(private_id));
	return block;
}

PUBLIC int peer_torch_open(void)
{
	return seam_torch_pool(0) != NULL ? 0 : fail();
}

/* Without libc10.so the door answers NULL where it would throw. */
PUBLIC int peer_torch_alloc(uint64_t bytes, void *stream, uint64_t private_id, void **ret_ptr)
{
	void *block = private_id == 0 ? seam_torch_alloc(bytes, 0, stream) : alloc_private(bytes, stream, private_id);
	if (block == NULL)
		return fail();
	*ret_ptr = block;
	return 0;
}

PUBLIC int peer_torch_free(void *ptr)
{
	seam_torch_free(ptr, 0, 0, NULL);
	return 0;
}

PUBLIC int peer_torch_record_stream(void *ptr, void *stream)
{
	seam_torch_record_stream(ptr, stream);
	return 0;
}

PUBLIC int peer_torch_empty_cache(void)
{
	seam_torch_reset();
	return 0;
}

PUBLIC int peer_torch_release_private(uint64_t private_id)
{
	unsigned *count = begun(private_id);
	for (; count != NULL && *count > 0; --*count)
		seam_torch_release_pool(0, pool_of(private_id));
	return 0;
}

PUBLIC void peer_torch_get_stats(struct peer_torch_stats *ret_stats)
{
	const struct seam_stats now = stats();
	*ret_stats = (struct peer_torch_stats){
		.reserved_bytes = now.reserved_bytes,
		.reserved_peak_bytes = now.reserved_bytes_peak,
		.allocated_bytes = now.live_bytes,
		.blocks = now.live_blocks,
		.retries = now.retries,
	};
}

PUBLIC const char *peer_torch_version(void)
{
	return seam_version();
}

PUBLIC const char *peer_torch_error(void)
{
	return failure;
}
