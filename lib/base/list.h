/* list.h: intrusive lists and queues, from libbsd (its TAILQ_FOREACH_SAFE and LIST_FOREACH_SAFE are missing in glibc).
 *
 * LIST: doubly linked, O(1) removal. TAILQ: the same with a tail, for LRU order. STAILQ: singly linked, first in first
 * out. As in queue(3bsd). A structure is in exactly the lists that its state names; its x_check() proves it.
 */
#ifndef SEAM_BASE_LIST_H
#define SEAM_BASE_LIST_H

#include <bsd/sys/queue.h>

#endif
