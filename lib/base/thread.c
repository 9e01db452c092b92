/* thread.c: see thread.h. */
#include "thread.h"

#include <sched.h>
#include <signal.h>

static void take_turns(pthread_t thread)
{
	struct sched_param param;
	int policy, ignored = pthread_getschedparam(thread, &policy, &param);
	if (ignored == 0 && policy == SCHED_OTHER)
		ignored = pthread_setschedparam(thread, SCHED_BATCH, &param);
	(void)ignored;
}

bool seam__thread_start(pthread_t *ret_thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
		return false;
	bool started = pthread_create(ret_thread, NULL, run, argument) == 0;
	if (started)
		take_turns(*ret_thread);
	int ignored = pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)ignored;
	return started;
}
