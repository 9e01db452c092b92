/* worker_share.c: see worker_share.h. */
#include "worker_share.h"

#include <stdatomic.h>
#include <unistd.h>

static _Atomic uint64_t used_ns;
static _Atomic pid_t used_by; /* a child of the process has its parent's account, and none of its processor time */

static void begin_anew_in_child(void)
{
	const pid_t process = getpid();
	if (atomic_exchange_explicit(&used_by, process, memory_order_relaxed) != process)
		atomic_store_explicit(&used_ns, 0, memory_order_relaxed);
}

void seam__workers_add(uint64_t ns)
{
	begin_anew_in_child();
	atomic_fetch_add_explicit(&used_ns, ns, memory_order_relaxed);
}

bool seam__workers_may_go_on(uint64_t process_ns)
{
	begin_anew_in_child();
	return (SEAM_WORKER_SHARE + 1) * atomic_load_explicit(&used_ns, memory_order_relaxed) < process_ns;
}
