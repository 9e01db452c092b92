/* worker_share.h: how much processor time the workers of a process's pools may take.
 *
 * All of them together: at most a quarter of what the other threads of the process took, however little that is and
 * whatever the program does, and for each pool the piece of work at which that is reached: a piece is not broken off. A
 * piece is a look, a plan (the largest: 60 ms and 20 us for each request to place, up to three times; 240 ms after
 * failures), a mapping. Processor time counts, not the wall clock: a busy machine changes nothing, and a program that
 * sleeps earns nothing.
 *
 * Not here: the thread, which waits where nothing is left (learner_thread.c). In a deterministic pool the program's own
 * threads work, as far as steps are counted, and there is no share.
 * Thread safe, without locks.
 */
#ifndef SEAM_WORKER_SHARE_H
#define SEAM_WORKER_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define SEAM_WORKER_SHARE 4u /* the other threads take so many times as much, at least */

/* A worker took so much. */
void seam__workers_add(uint64_t ns);

/* process_ns: processor time of all threads of the process, workers included. True: less than the share is used. In a
 * child of the process its own time counts, from 0. */
bool seam__workers_may_go_on(uint64_t process_ns);

#endif
