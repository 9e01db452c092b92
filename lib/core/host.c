/* host.c: the API's calls on the pool of pinned host memory (pools/host.h). */
#include "host.h"

#include "pool.h"

#define LARGEST_HOST_BYTES (UINT64_C(1) << 48) /* more than any machine; keeps sums from overflowing */

enum seam_rc seam_host_alloc(struct seam_pool *pool, uint64_t bytes, void *stream, void **ret_ptr)
{
	if (bytes == 0 || ret_ptr == NULL)
		return SEAM_INVALID;
	uint64_t va = 0;
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	if (bytes > LARGEST_HOST_BYTES)
		return SEAM_OOM_HOST;
	rc = seam__store_alloc(&pool->host, bytes, (uint64_t)(uintptr_t)stream, 0, false, &va);
	if (rc == SEAM_OK)
		*ret_ptr = seam__host_pointer(va);
	return rc;
}

enum seam_rc seam_host_free(struct seam_pool *pool, void *ptr)
{
	if (ptr == NULL)
		return SEAM_OK;
	enum seam_rc rc = seam__pool_enter(pool);
	return rc == SEAM_OK ? seam__store_free(&pool->host, (uint64_t)(uintptr_t)ptr) : rc;
}

enum seam_rc seam_host_record_stream(struct seam_pool *pool, void *ptr, void *stream)
{
	enum seam_rc rc = seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	return seam__store_record_stream(&pool->host, (uint64_t)(uintptr_t)ptr, (uint64_t)(uintptr_t)stream);
}
