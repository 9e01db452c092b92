/* autosave.c: recordings that are written because the environment variable SEAM_TRACE asks for it: when their pool is
 * destroyed, or at exit.
 *
 * Locks: `registry_lock` (SEAM_RANK_REGISTRY) guards the list of pools. It is held while recordings are written at
 * exit, so that no pool goes meanwhile.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"
#include "meta.h"
#include "recording.h"
#include "text.h"

#define NUMBER_BYTES 24u /* of a process or pool, as text */

static struct seam_mutex registry_lock = SEAM_MUTEX_INIT("recordings", SEAM_RANK_REGISTRY);
static LIST_HEAD(, seam_pool) registry = LIST_HEAD_INITIALIZER(registry);
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic uint64_t pools_made;

static void save(struct seam_pool *pool)
{
	char error[200] = "";
	if (seam__recording_save(pool, pool->trace_path, error, sizeof error) != SEAM_OK)
		seam__log(SEAM_LOG_WARNING, "SEAM_TRACE: %s", error);
}

static void save_all(void)
{
	struct seam_pool *pool;
	seam__mutex_lock(&registry_lock);
	LIST_FOREACH(pool, &registry, autosave)
	save(pool);
	seam__mutex_unlock(&registry_lock);
}

/* The parent writes its own. */
static void after_fork_in_child(void)
{
	registry_lock = (struct seam_mutex)SEAM_MUTEX_INIT("recordings", SEAM_RANK_REGISTRY);
	LIST_INIT(&registry);
}

static void begin(void)
{
	/* Without memory for these, pools that are destroyed write their recordings all the same. */
	int ignored = atexit(save_all);
	ignored = pthread_atfork(NULL, NULL, after_fork_in_child);
	(void)ignored;
}

/* The path with %p replaced by the process's number, and with a number of its own for every pool but the first. Returns
 * its length; writes at most `bytes`. */
static size_t expand(const char *path, uint64_t pool, char *to, size_t bytes)
{
	char process[NUMBER_BYTES], number[NUMBER_BYTES] = "";
	struct seam_text text;
	(void)snprintf(process, sizeof process, "%ld", (long)getpid());
	if (pool != 0)
		(void)snprintf(number, sizeof number, ".%" PRIu64, pool);
	seam__text_init_fixed(&text, to, bytes);
	for (const char *at; (at = strstr(path, "%p")) != NULL; path = at + 2) {
		seam__text_add(&text, path, (size_t)(at - path));
		seam__text_puts(&text, process);
	}
	seam__text_puts(&text, path);
	seam__text_puts(&text, number);
	return text.length_bytes;
}

enum seam_rc seam__autosave_begin(struct seam_pool *pool, const char *path)
{
	if (path == NULL || path[0] == '\0' || pool->recorder == NULL)
		return SEAM_OK;
	uint64_t number = atomic_fetch_add(&pools_made, 1);
	size_t bytes = expand(path, number, NULL, 0) + 1;
	pool->trace_path = seam__meta_alloc(pool->meta, bytes);
	if (pool->trace_path == NULL)
		return SEAM_OOM_META;
	(void)expand(path, number, pool->trace_path, bytes);
	(void)pthread_once(&once, begin);
	seam__mutex_lock(&registry_lock);
	LIST_INSERT_HEAD(&registry, pool, autosave);
	seam__mutex_unlock(&registry_lock);
	return SEAM_OK;
}

void seam__autosave_end(struct seam_pool *pool)
{
	if (pool->trace_path == NULL)
		return;
	seam__mutex_lock(&registry_lock);
	LIST_REMOVE(pool, autosave);
	seam__mutex_unlock(&registry_lock);
	save(pool);
	seam__meta_free(pool->meta, pool->trace_path, strlen(pool->trace_path) + 1);
	pool->trace_path = NULL;
}
