/* host_memory.h: how much memory of the host this process may have: the machine's, and what its control groups leave.
 *
 * Not here: taking it (pools/host.h). The figures are of the moment: other processes of a group take memory too.
 * Every file that is missing, or cannot be understood, limits nothing. No state; any thread.
 */
#ifndef SEAM_BASE_HOST_MEMORY_H
#define SEAM_BASE_HOST_MEMORY_H

#include <stdint.h>

struct seam_host_memory {
	uint64_t most_bytes;  /* the machine's memory, or the least limit of a control group; UINT64_MAX: not known */
	uint64_t limit_bytes; /* of the control group that leaves least; UINT64_MAX: none limits */
	uint64_t room_bytes; /* what that one leaves: its limit less what it holds, cached files aside; UINT64_MAX: none
				limits */
};

/* root: a folder that stands for "/", without the slash at its end; "" but in tests. Reads /proc and /sys/fs/cgroup:
 * version 2, version 1, and the groups above this process's own. */
void seam__host_memory_get(const char *root, struct seam_host_memory *ret_memory);

#endif
