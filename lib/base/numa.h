/* numa.h: on which NUMA node the calling thread's new pages lie, by Linux's memory policies.
 *
 * Not here: which node is wanted. A policy that the program chose itself (numactl, mbind) is left as it is. By system
 * calls: libnuma is one library more, for two calls. No state; the policy is the calling thread's.
 */
#ifndef SEAM_BASE_NUMA_H
#define SEAM_BASE_NUMA_H

#include <stdbool.h>

#define SEAM_NUMA_NODES 1024 /* more than Linux is built for on x86-64 and arm64 */

/* Pages that the thread is given from here on come from `node` while it has some (>= 0, < SEAM_NUMA_NODES). True: until
 * seam__numa_forget(), which the caller owes. False: nothing has changed; *ret_errno is 0 where the thread has a policy
 * already, else what the system said. */
bool seam__numa_prefer(int node, int *ret_errno);
void seam__numa_forget(void);

#endif
