/* thread.h: threads of the library's own.
 *
 * Not here: their work, and how they are told to end; that stands with their owner.
 *
 * Thread safety: any thread may call. Locks: none.
 */
#ifndef SEAM_BASE_THREAD_H
#define SEAM_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that takes none of the program's signals, and that waits for the end of the turn of the thread by
 * which it is woken: its share of the processor is the same, but a wake stops nobody. The caller joins it. False: the
 * system gives no thread. */
__attribute__((warn_unused_result)) bool seam__thread_start(
	pthread_t *ret_thread, void *(*run)(void *argument), void *argument);

#endif
