/* process.c: the process that pools live in: how often it has been forked from, and the library's version.
 *
 * Not here: what a pool does in a child of its process (seam__pool_enter()). Thread safe.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "pool.h"

static _Atomic uint64_t fork_generation = 1;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void after_fork_in_child(void)
{
	atomic_fetch_add(&fork_generation, 1);
}

static void watch(void)
{
	/* No memory for the handler: forks then go unnoticed, which only a program that uses its parent's pools could
	 * tell. */
	int ignored = pthread_atfork(NULL, NULL, after_fork_in_child);
	(void)ignored;
}

void seam__fork_watch(void)
{
	pthread_once(&fork_once, watch);
}

uint64_t seam__fork_generation(void)
{
	return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

const char *seam_version(void)
{
	return SEAM_VERSION_TEXT;
}
