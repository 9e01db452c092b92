/* virtual_time.c: the arithmetic of the two clocks. */
#include "virtual_time.h"

#include <stddef.h>

#include "bits.h"
#include "worker_share.h"

void virtual_time_go(struct virtual_time *clocks, uint64_t gap_ns)
{
	clocks->host_ns += gap_ns != 0 ? gap_ns : clocks->own_ns;
}

bool virtual_time_turn(struct virtual_time *clocks, uint64_t *gap_ns)
{
	*gap_ns = *gap_ns != 0 ? *gap_ns : clocks->own_ns;
	if (virtual_time_is_free(clocks) || clocks->worker_free_ns >= clocks->host_ns + *gap_ns)
		return false;
	*gap_ns -= clocks->worker_free_ns - clocks->host_ns;
	clocks->host_ns = clocks->worker_free_ns;
	return true;
}

void virtual_time_do(struct virtual_time *clocks, uint64_t driver_ns, bool changes)
{
	if (changes && clocks->host_ns >= clocks->worker_driver_ns && clocks->host_ns < clocks->worker_end_ns) {
		clocks->waited_ns += clocks->worker_end_ns - clocks->host_ns;
		clocks->host_ns = clocks->worker_end_ns;
	}
	clocks->host_ns += driver_ns;
	clocks->host_driver_ns += driver_ns;
}

void virtual_time_launch(struct virtual_time *clocks, uint64_t bytes)
{
	uint64_t start_ns = clocks->device_ns > clocks->host_ns ? clocks->device_ns : clocks->host_ns;
	clocks->device_ns = start_ns + VIRTUAL_KERNEL_NS + bytes / VIRTUAL_BYTES_PER_NS;
}

bool virtual_time_wait(struct virtual_time *clocks)
{
	if (clocks->host_ns < clocks->worker_free_ns && clocks->worker_free_ns < clocks->device_ns) {
		clocks->host_ns = clocks->worker_free_ns;
		return false;
	}
	return clocks->host_ns >= clocks->device_ns || !virtual_time_is_free(clocks);
}

void virtual_time_sync(struct virtual_time *clocks)
{
	if (clocks->host_ns < clocks->device_ns)
		clocks->host_ns = clocks->device_ns;
}

bool virtual_time_is_free(const struct virtual_time *clocks)
{
	return clocks->host_ns >= clocks->worker_free_ns;
}

void virtual_time_step(struct virtual_time *clocks, uint64_t compute_ns, uint64_t driver_ns)
{
	clocks->worker_driver_ns = clocks->host_ns + compute_ns;
	clocks->worker_end_ns = clocks->worker_driver_ns + driver_ns;
	clocks->steps++;
	clocks->compute_ns += compute_ns;
	clocks->driver_ns += driver_ns;
	clocks->worker_free_ns = seam__bits_max(clocks->worker_end_ns, SEAM_WORKER_SHARE * clocks->compute_ns);
}

const char *virtual_time_check(const struct virtual_time *clocks)
{
	if (clocks->worker_end_ns < clocks->worker_driver_ns || clocks->worker_free_ns < clocks->worker_end_ns ||
		clocks->waited_ns > clocks->driver_ns)
		return "VT1 the clocks do not go back";
	return NULL;
}
