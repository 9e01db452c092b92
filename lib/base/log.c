/* log.c: formats a line on the stack and hands it to the callback. */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lockrank.h"

static struct seam_mutex sink_lock = SEAM_MUTEX_INIT("log", SEAM_RANK_LOG);
static seam_log_callback *sink; /* lock: sink_lock */
static void *sink_user;         /* lock: sink_lock */
static atomic_bool listening;   /* sink != NULL; read without the lock, so that silence costs nothing */

/* A thread of the parent's (a pool has one of its own) may have been speaking: it is not there to end its line. */
static void after_fork_in_child(void)
{
	sink_lock = (struct seam_mutex)SEAM_MUTEX_INIT("log", SEAM_RANK_LOG);
}

static void watch_forks(void)
{
	int ignored = pthread_atfork(
		NULL, NULL, after_fork_in_child); /* without memory for it a child may wait for ever, as without it */
	(void)ignored;
}

void seam_set_log_callback(seam_log_callback *callback, void *user)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	(void)pthread_once(&once, watch_forks);
	seam__mutex_lock(&sink_lock);
	sink = callback;
	sink_user = user;
	atomic_store_explicit(&listening, callback != NULL, memory_order_relaxed);
	seam__mutex_unlock(&sink_lock);
}

void seam__log(enum seam_log_level level, const char *format, ...)
{
	if (!atomic_load_explicit(&listening, memory_order_relaxed))
		return;
	char line[SEAM_LOG_LINE_BYTES];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if ((size_t)length >= sizeof(line))
		memcpy(line + sizeof(line) - 4, "...", 4);
	seam__mutex_lock(&sink_lock);
	if (sink != NULL)
		sink(sink_user, level, line);
	seam__mutex_unlock(&sink_lock);
}
