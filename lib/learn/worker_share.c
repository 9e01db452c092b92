/* worker_share.c: see worker_share.h. */
#include "worker_share.h"

#include <stdatomic.h>

static _Atomic uint64_t used_ns;

void seam__workers_add(uint64_t ns)
{
	atomic_fetch_add_explicit(&used_ns, ns, memory_order_relaxed);
}

bool seam__workers_may_go_on(uint64_t process_ns)
{
	const uint64_t workers_ns = atomic_load_explicit(&used_ns, memory_order_relaxed);
	if (workers_ns > process_ns) {
		/* A child's processor time begins with 0: what is noted is its parent's. */
		atomic_store_explicit(&used_ns, 0, memory_order_relaxed);
		return true;
	}
	return SEAM_WORKER_SHARE * workers_ns < process_ns - workers_ns;
}
