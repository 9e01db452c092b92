/* pace.c: the arithmetic of the two clocks. */
#include "pace.h"

#include <stddef.h>

void pace_go(struct pace *pace, uint64_t gap_ns)
{
	pace->host_ns += gap_ns != 0 ? gap_ns : pace->own_ns;
}

bool pace_turn(struct pace *pace, uint64_t *gap_ns)
{
	*gap_ns = *gap_ns != 0 ? *gap_ns : pace->own_ns;
	if (pace_is_free(pace) || pace->worker_end_ns >= pace->host_ns + *gap_ns)
		return false;
	*gap_ns -= pace->worker_end_ns - pace->host_ns;
	pace->host_ns = pace->worker_end_ns;
	return true;
}

void pace_do(struct pace *pace, uint64_t driver_ns, bool changes)
{
	if (changes && pace->host_ns >= pace->worker_driver_ns && pace->host_ns < pace->worker_end_ns) {
		pace->waited_ns += pace->worker_end_ns - pace->host_ns;
		pace->host_ns = pace->worker_end_ns;
	}
	pace->host_ns += driver_ns;
	pace->host_driver_ns += driver_ns;
}

void pace_launch(struct pace *pace, uint64_t bytes)
{
	uint64_t start_ns = pace->device_ns > pace->host_ns ? pace->device_ns : pace->host_ns;
	pace->device_ns = start_ns + PACE_KERNEL_NS + bytes / PACE_BYTES_PER_NS;
}

bool pace_wait(struct pace *pace)
{
	if (pace->host_ns < pace->worker_end_ns && pace->worker_end_ns < pace->device_ns) {
		pace->host_ns = pace->worker_end_ns;
		return false;
	}
	return pace->host_ns >= pace->device_ns || !pace_is_free(pace);
}

void pace_sync(struct pace *pace)
{
	if (pace->host_ns < pace->device_ns)
		pace->host_ns = pace->device_ns;
}

bool pace_is_free(const struct pace *pace)
{
	return pace->host_ns >= pace->worker_end_ns;
}

void pace_step(struct pace *pace, uint64_t compute_ns, uint64_t driver_ns)
{
	pace->worker_driver_ns = pace->host_ns + compute_ns;
	pace->worker_end_ns = pace->worker_driver_ns + driver_ns;
	pace->steps++;
	pace->compute_ns += compute_ns;
	pace->driver_ns += driver_ns;
}

const char *pace_check(const struct pace *pace)
{
	if (pace->worker_end_ns < pace->worker_driver_ns || pace->waited_ns > pace->driver_ns)
		return "C1 the clocks do not go back";
	return NULL;
}
