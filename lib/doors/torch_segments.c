/* torch_segments.c: segments for PyTorch's native allocator, which torch.cuda.MemPool() lets use another source. See
 * seam/torch.h.
 *
 * Native does not say which stream a segment is for (the stream that comes with the request is the current one, not the
 * one that asked), and counts on what cudaMalloc and cudaFree do: nothing is pending on a segment's memory when it is
 * handed out, nor when it comes back. So both wait for the device. All segments are of one private pool: what a capture
 * has used stays for segments.
 */
#include "torch_pluggable.h"

#include <pthread.h>

#define SEGMENTS UINT64_MAX /* the private pool: no number of PyTorch's */

static pthread_mutex_t begun = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ids[SEAM_TORCH_DEVICES]; /* begun. 0: not begun yet, or devices that have no private pools */

static uint64_t begin(struct seam_pool *pool, int device)
{
	pthread_mutex_lock(&begun);
	if (ids[device] == 0 && seam_private_begin(pool, SEGMENTS, SEAM_ROUTE_CAPTURE, 0) == SEAM_OK)
		ids[device] = SEGMENTS;
	uint64_t id = ids[device];
	pthread_mutex_unlock(&begun);
	return id;
}

static void *alloc(size_t bytes, int device, void *stream, uint32_t flags)
{
	struct seam_pool *pool = seam__torch_open_pool(device);
	if (bytes == 0 || pool == NULL)
		return NULL;
	struct seam_request request = {.size = sizeof request, .flags = flags, .bytes = bytes, .stream = stream};
	request.private_id = begin(pool, device);
	void *ptr = NULL;
	enum seam_rc rc = seam_alloc_request(pool, &request, &ptr);
	if (rc == SEAM_OK) {
		/* During a capture it cannot be waited, and need not: nothing is pending on memory of the private pool.
		 */
		rc = seam_device_wait(pool);
		if (rc == SEAM_OK || rc == SEAM_CAPTURING)
			return ptr;
		(void)seam_free(pool, ptr);
	}
	seam__torch_tell("no segment of %zu bytes on device %d: %s", bytes, device, seam_rc_text(rc));
	return NULL;
}

void *seam_torch_segment_alloc(size_t bytes, int device, void *stream)
{
	return alloc(bytes, device, stream, 0);
}

void *seam_torch_segment_alloc_contiguous(size_t bytes, int device, void *stream)
{
	return alloc(bytes, device, stream, SEAM_CONTIGUOUS);
}

void seam_torch_segment_free(void *ptr, size_t bytes, int device, void *stream)
{
	struct seam_pool *pool = seam_torch_pool_made(device);
	if (ptr != NULL && pool != NULL) {
		enum seam_rc rc = seam_device_wait(pool);
		if (rc != SEAM_OK)
			seam__torch_tell(
				"the free of a segment of device %d did not wait: %s", device, seam_rc_text(rc));
	}
	seam_torch_free(ptr, bytes, device, stream);
}
