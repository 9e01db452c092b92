/* record_thread.h: what a recorder knows of its threads: their numbers, phases, and whether their requests depend on
 * data.
 *
 * A thread finds its context in a small thread-local table, else by its own number in the recorder's list. A thread
 * that ends gives its contexts back; another takes them over, under a new number.
 *
 * Not here: events (record_log.h).
 * Invariants: RT1 numbers of thread contexts in use differ; RT2 a thread context belongs to one thread at most.
 * Locks: the recorder's `gather` guards the list; a thread context's fields are its thread's.
 */
#ifndef SEAM_RECORD_THREAD_H
#define SEAM_RECORD_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "list.h"
#include "lockrank.h"
#include "record.h"

#define SEAM_RECORD_DEPTH 32u  /* phases of one thread inside each other */
#define SEAM_RECORD_NAMES 256u /* the last is that of all further ones */

struct seam_record_thread {
	struct seam_thread_context is; /* first: what the caller sees */
	LIST_ENTRY(seam_record_thread) link;
	uint64_t owner;                    /* number of the thread in the process; 0: of none */
	bool acted;                        /* made by seam__record_thread_act(); never given back */
	struct seam_record_thread *as;     /* of an owner's: the thread context that the thread acts with */
	uint8_t phases[SEAM_RECORD_DEPTH]; /* numbers of names, outermost first */
};

/* The thread contexts of one recorder, and the names of phases. */
struct seam_record_threads {
	LIST_ENTRY(seam_record_threads) link; /* among those of all recorders */
	struct seam_mutex *gather;
	struct seam_meta *meta;
	uint64_t number; /* never that of another in this process */
	LIST_HEAD(, seam_record_thread) list;
	uint32_t next_thread;
	char (*names)[SEAM_RECORD_NAME_BYTES]; /* SEAM_RECORD_NAMES of them; NULL before the first. Constant once
						  counted */
	uint32_t name_count;
};

/* Allocates nothing. */
void seam__record_threads_init(struct seam_record_threads *contexts, struct seam_meta *meta, struct seam_mutex *gather);
void seam__record_threads_fini(struct seam_record_threads *contexts);

/* The calling thread's; the shared one without memory. */
struct seam_record_thread *seam__record_thread_get(struct seam_record_threads *contexts);

/* As seam__recorder_act_as(). */
SEAM_MUST_USE enum seam_rc seam__record_thread_act(struct seam_record_threads *contexts, uint32_t number);

/* Whether it is the one that threads without memory share. */
bool seam__record_thread_is_shared(const struct seam_record_thread *context);

/* The number of a name, which is entered if it is new. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__record_name(struct seam_record_threads *contexts, const char *text, uint8_t *ret_name);

const char *seam__record_threads_check(const struct seam_record_threads *contexts);

#endif
