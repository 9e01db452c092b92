/* ref_pending.h: blocks that were freed while other streams used them, as PyTorch holds them back.
 *
 * A free records one event on every stream that record_stream() named; the block waits until all have passed. The
 * events of a stream are asked in order, and one that has not passed hides those behind it.
 *
 * Not here: what happens to a block that is done waiting (the callback).
 * Invariant N1: a block's count of events is the number of queued events that name it.
 */
#ifndef REF_PENDING_H
#define REF_PENDING_H

#include "ref_block.h"
#include "driver.h"

struct ref_event {
	TAILQ_ENTRY(ref_event) link; /* in its stream's queue or in the idle list */
	struct seam_event event;
	struct ref_block *block; /* valid while queued */
};

TAILQ_HEAD(ref_events, ref_event);

/* The events of one stream. */
struct ref_queue {
	TAILQ_ENTRY(ref_queue) link;
	uint64_t stream;
	struct ref_events events;
};

TAILQ_HEAD(ref_queues, ref_queue);

typedef void ref_pending_done(void *user, struct ref_block *block);

struct ref_pending {
	struct seam_driver *driver;
	struct ref_queues queues; /* in order of the streams' first use */
	struct ref_events idle;   /* to be recorded again */
	struct seam_slab event_slab;
	struct seam_slab queue_slab;
	ref_pending_done *done;
	void *user;
};

void ref_pending_init(struct ref_pending *pending, struct seam_driver *driver, struct seam_meta *meta,
	ref_pending_done *done, void *user);

/* Destroys the events. Nothing is waited for. */
void ref_pending_fini(struct ref_pending *pending);

/* Records an event on each stream that uses the block, which forgets its uses. On an error the
 * events recorded so far stay, and the block still has the other uses. Errors: SEAM_OOM_META, the driver's. */
SEAM_MUST_USE enum seam_rc ref_pending_add(
	struct ref_pending *pending, struct ref_blocks *blocks, struct ref_block *block);

/* Asks each stream's events until one has not passed. Errors: the driver's. */
SEAM_MUST_USE enum seam_rc ref_pending_poll(struct ref_pending *pending);

/* Waits for all of them. Errors: the driver's. */
SEAM_MUST_USE enum seam_rc ref_pending_wait(struct ref_pending *pending);

#endif
