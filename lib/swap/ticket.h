/* ticket.h: the tickets of a swap engine: tensors that are copied together, their host memory, and the event behind
 * their newest copies.
 *
 * A ticket lives while it is in the tree, or a call holds it. Host memory and event go back with its last reference: a
 * drop cannot pull them from under a call of another thread.
 *
 * Not here: streams and copies (swap.c).
 *
 * Locks: `lock`, rank SEAM_RANK_SWAP, guards every field but the constant ones, and those of a ticket that is not
 * published yet. No driver call and none of the pool's is made under it.
 */
#ifndef SEAM_SWAP_TICKET_H
#define SEAM_SWAP_TICKET_H

#include <seam/swap.h>

#include "driver.h"
#include "list.h"
#include "lockrank.h"
#include "tree.h"

struct seam_meta;

#define SEAM_SWAP_ALIGN_BYTES UINT64_C(512)

/* Events are made when none is idle, and used again. */
struct seam_swap_event {
	SLIST_ENTRY(seam_swap_event) idle;
	struct seam_event event;
};

struct seam_ticket {
	RB_ENTRY(seam_ticket) by_id;
	uint64_t id;                   /* 0: not published */
	struct seam_swap_event *event; /* recorded behind its newest copies. Constant */
	char *host;                    /* NULL: of a load. Constant once published */
	uint64_t host_bytes;           /* of that: the sum of its tensors', rounded up. Constant */
	uint64_t references;           /* one of the tree's */
	size_t count;                  /* of tensors. Constant */
	uint64_t bytes[];              /* constant */
};
SEAM_TREE_HEAD(seam_ticket_tree, struct seam_ticket);

struct seam_tickets {
	struct seam_pool *pool; /* constant */
	struct seam_meta *meta; /* constant */
	struct seam_mutex lock;
	struct seam_ticket_tree tree;
	SLIST_HEAD(, seam_swap_event) idle;
	uint64_t events; /* idle or not */
	uint64_t busy;   /* of them: neither idle nor of a published ticket */
	uint64_t last_id;
	struct seam_swap_stats stats;
};

/* Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__tickets_init(
	struct seam_tickets *tickets, struct seam_pool *pool, struct seam_meta *meta);
/* Drops all that is left. Their copies have passed, or the device is gone. Nobody uses them. */
void seam__tickets_fini(struct seam_tickets *tickets);

/* An event that nobody uses. put: its newest record need not have passed. Errors: SEAM_OOM_META, the driver's. */
SEAM_MUST_USE enum seam_rc seam__tickets_get_event(struct seam_tickets *tickets, struct seam_swap_event **ret_event);
void seam__tickets_put_event(struct seam_tickets *tickets, struct seam_swap_event *event);

/* A ticket with an event, without host memory, not published. Errors: SEAM_INVALID (the sizes are too many or too
 * large), SEAM_OOM_META, the driver's. */
SEAM_MUST_USE enum seam_rc seam__ticket_make(
	struct seam_tickets *tickets, const uint64_t *bytes, size_t count, struct seam_ticket **ret_ticket);
/* It has its copies: others may find it by the number that is returned. */
uint64_t seam__ticket_publish(struct seam_tickets *tickets, struct seam_ticket *ticket);
/* The ticket of a number with one more reference, or NULL. */
struct seam_ticket *seam__ticket_hold(struct seam_tickets *tickets, uint64_t id);
/* One reference less; also of a ticket that will not be published. */
void seam__ticket_release(struct seam_tickets *tickets, struct seam_ticket *ticket);
/* Takes it out of the tree. SEAM_NOT_FOUND. */
SEAM_MUST_USE enum seam_rc seam__ticket_drop(struct seam_tickets *tickets, uint64_t id);

/* Where tensor `number` < count lies in the ticket's host memory. */
uint64_t seam__ticket_offset(const struct seam_ticket *ticket, size_t number);
/* The sum of its tensors' bytes. */
uint64_t seam__ticket_bytes(const struct seam_ticket *ticket);

/* Name of a broken invariant, or NULL. Takes the lock. */
const char *seam__tickets_check(struct seam_tickets *tickets);

#endif
