/* numa.c: get_mempolicy and set_mempolicy. See numa.h. */
#include "numa.h"

#include <errno.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BITS (sizeof(unsigned long) * CHAR_BIT)

bool seam__numa_prefer(int node, int *ret_errno)
{
	int mode = MPOL_DEFAULT;
	unsigned long nodes[SEAM_NUMA_NODES / BITS] = {0};
	*ret_errno = 0;
	if (syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) != 0) {
		*ret_errno = errno;
		return false;
	}
	if (mode != MPOL_DEFAULT)
		return false;
	nodes[(size_t)node / BITS] = 1UL << ((size_t)node % BITS);
	/* The kernel reads one bit less than it is told of. */
	if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, SEAM_NUMA_NODES + 1UL) == 0)
		return true;
	*ret_errno = errno;
	return false;
}

void seam__numa_forget(void)
{
	/* It was allowed a moment ago; where it fails, pages still come from somewhere. */
	long ignored = syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
	(void)ignored;
}
