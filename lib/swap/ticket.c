/* ticket.c: tickets and their events; see ticket.h. */
#include "ticket.h"

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "pool.h"

static int compare_tickets(const struct seam_ticket *a, const struct seam_ticket *b)
{
	return a->id < b->id ? -1 : a->id > b->id;
}

SEAM_TREE_GENERATE(seam_ticket_tree, seam_ticket, by_id, compare_tickets)

enum seam_rc seam__tickets_init(struct seam_tickets *tickets, struct seam_pool *pool, struct seam_meta *meta)
{
	*tickets = (struct seam_tickets){.pool = pool, .meta = meta};
	RB_INIT(&tickets->tree);
	SLIST_INIT(&tickets->idle);
	return seam__mutex_init(&tickets->lock, "swap", SEAM_RANK_SWAP);
}

void seam__tickets_fini(struct seam_tickets *tickets)
{
	struct seam_ticket *ticket;
	struct seam_swap_event *event;
	while ((ticket = RB_MIN(seam_ticket_tree, &tickets->tree)) != NULL) {
		enum seam_rc rc = seam__ticket_drop(tickets, ticket->id);
		SEAM_ASSERT(rc == SEAM_OK);
		(void)rc;
	}
	while ((event = SLIST_FIRST(&tickets->idle)) != NULL) {
		SLIST_REMOVE_HEAD(&tickets->idle, idle);
		int cu = seam__drv_event_destroy(tickets->pool->driver, event->event);
		(void)cu; /* of a device that is gone */
		seam__meta_free(tickets->meta, event, sizeof *event);
	}
	seam__mutex_fini(&tickets->lock);
}

/* ---- events ---- */

static enum seam_rc make_event(struct seam_tickets *tickets, struct seam_swap_event **ret_event)
{
	struct seam_swap_event *event = seam__meta_alloc(tickets->meta, sizeof *event);
	if (event == NULL)
		return SEAM_OOM_META;
	int cu = seam__drv_event_create(tickets->pool->driver, &event->event);
	if (cu != SEAM_CU_SUCCESS) {
		seam__meta_free(tickets->meta, event, sizeof *event);
		return seam__driver_rc(cu);
	}
	seam__mutex_lock(&tickets->lock);
	tickets->events++;
	tickets->busy++;
	seam__mutex_unlock(&tickets->lock);
	*ret_event = event;
	return SEAM_OK;
}

enum seam_rc seam__tickets_get_event(struct seam_tickets *tickets, struct seam_swap_event **ret_event)
{
	seam__mutex_lock(&tickets->lock);
	struct seam_swap_event *event = SLIST_FIRST(&tickets->idle);
	if (event != NULL) {
		SLIST_REMOVE_HEAD(&tickets->idle, idle);
		tickets->busy++;
	}
	seam__mutex_unlock(&tickets->lock);
	if (event == NULL)
		return make_event(tickets, ret_event);
	*ret_event = event;
	return SEAM_OK;
}

static void put_event_locked(struct seam_tickets *tickets, struct seam_swap_event *event)
{
	SLIST_INSERT_HEAD(&tickets->idle, event, idle);
	tickets->busy--;
}

void seam__tickets_put_event(struct seam_tickets *tickets, struct seam_swap_event *event)
{
	seam__mutex_lock(&tickets->lock);
	put_event_locked(tickets, event);
	seam__mutex_unlock(&tickets->lock);
}

/* ---- tickets ---- */

static size_t size_of(size_t count)
{
	return sizeof(struct seam_ticket) + count * sizeof(uint64_t);
}

/* The bytes that tensors of these sizes take in host memory. False: too many. */
static bool try_sum(const uint64_t *bytes, size_t count, uint64_t *ret_sum)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		uint64_t padded;
		if (bytes[i] == 0 || !seam__bits_try_align_up(bytes[i], SEAM_SWAP_ALIGN_BYTES, &padded) ||
			!seam__bits_try_add(sum, padded, &sum))
			return false;
	}
	*ret_sum = sum;
	return true;
}

enum seam_rc seam__ticket_make(
	struct seam_tickets *tickets, const uint64_t *bytes, size_t count, struct seam_ticket **ret_ticket)
{
	uint64_t sum;
	if (count == 0 || count > SIZE_MAX / 2 / sizeof(uint64_t) || !try_sum(bytes, count, &sum))
		return SEAM_INVALID;
	struct seam_ticket *ticket = seam__meta_alloc(tickets->meta, size_of(count));
	if (ticket == NULL)
		return SEAM_OOM_META;
	*ticket = (struct seam_ticket){.host_bytes = sum, .references = 1, .count = count};
	for (size_t i = 0; i < count; i++)
		ticket->bytes[i] = bytes[i];
	enum seam_rc rc = seam__tickets_get_event(tickets, &ticket->event);
	if (rc != SEAM_OK) {
		seam__meta_free(tickets->meta, ticket, size_of(count));
		return rc;
	}
	*ret_ticket = ticket;
	return SEAM_OK;
}

uint64_t seam__ticket_publish(struct seam_tickets *tickets, struct seam_ticket *ticket)
{
	seam__mutex_lock(&tickets->lock);
	uint64_t id = ++tickets->last_id;
	ticket->id = id;
	RB_INSERT(seam_ticket_tree, &tickets->tree, ticket);
	tickets->busy--;
	tickets->stats.tickets++;
	if (ticket->host != NULL)
		tickets->stats.host_bytes += ticket->host_bytes;
	seam__mutex_unlock(&tickets->lock);
	return id;
}

static struct seam_ticket *find_locked(struct seam_tickets *tickets, uint64_t id)
{
	struct seam_ticket key = {.id = id};
	return RB_FIND(seam_ticket_tree, &tickets->tree, &key);
}

struct seam_ticket *seam__ticket_hold(struct seam_tickets *tickets, uint64_t id)
{
	seam__mutex_lock(&tickets->lock);
	struct seam_ticket *ticket = find_locked(tickets, id);
	if (ticket != NULL)
		ticket->references++;
	seam__mutex_unlock(&tickets->lock);
	return ticket;
}

void seam__ticket_release(struct seam_tickets *tickets, struct seam_ticket *ticket)
{
	seam__mutex_lock(&tickets->lock);
	bool last = --ticket->references == 0;
	if (last)
		put_event_locked(tickets, ticket->event);
	seam__mutex_unlock(&tickets->lock);
	if (!last)
		return;
	/* In stream order: the pool knows the streams that have copied. */
	enum seam_rc rc = seam_host_free(tickets->pool, ticket->host);
	SEAM_ASSERT(rc == SEAM_OK);
	(void)rc;
	seam__meta_free(tickets->meta, ticket, size_of(ticket->count));
}

enum seam_rc seam__ticket_drop(struct seam_tickets *tickets, uint64_t id)
{
	seam__mutex_lock(&tickets->lock);
	struct seam_ticket *ticket = find_locked(tickets, id);
	if (ticket != NULL) {
		RB_REMOVE(seam_ticket_tree, &tickets->tree, ticket);
		tickets->busy++; /* until the last reference goes */
		tickets->stats.tickets--;
		if (ticket->host != NULL)
			tickets->stats.host_bytes -= ticket->host_bytes;
	}
	seam__mutex_unlock(&tickets->lock);
	if (ticket == NULL)
		return SEAM_NOT_FOUND;
	seam__ticket_release(tickets, ticket);
	return SEAM_OK;
}

uint64_t seam__ticket_offset(const struct seam_ticket *ticket, size_t number)
{
	uint64_t offset = 0;
	for (size_t i = 0; i < number; i++)
		offset += seam__bits_align_up(ticket->bytes[i], SEAM_SWAP_ALIGN_BYTES);
	return offset;
}

uint64_t seam__ticket_bytes(const struct seam_ticket *ticket)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < ticket->count; i++)
		sum += ticket->bytes[i];
	return sum;
}

/* ---- invariants ---- */

static const char *check_locked(struct seam_tickets *tickets)
{
	const struct seam_swap_event *event;
	struct seam_ticket *ticket;
	uint64_t events = tickets->busy;
	uint64_t count = 0;
	uint64_t host_bytes = 0;
	SLIST_FOREACH(event, &tickets->idle, idle)
	events++;
	RB_FOREACH(ticket, seam_ticket_tree, &tickets->tree)
	{
		size_t last = ticket->count - 1;
		if (ticket->id == 0 || ticket->id > tickets->last_id || ticket->references == 0)
			return "SW3 tickets have rising numbers";
		if (seam__ticket_offset(ticket, last) + ticket->bytes[last] > ticket->host_bytes ||
			!seam__bits_is_aligned(ticket->host_bytes, SEAM_SWAP_ALIGN_BYTES))
			return "SW4 tensors lie one behind the other";
		host_bytes += ticket->host != NULL ? ticket->host_bytes : 0;
		count++;
	}
	if (events + count != tickets->events)
		return "SW1 events are of tickets, of calls, or idle";
	if (host_bytes != tickets->stats.host_bytes || count != tickets->stats.tickets)
		return "SW2 host bytes are the sum of the tickets'";
	return NULL;
}

const char *seam__tickets_check(struct seam_tickets *tickets)
{
	seam__mutex_lock(&tickets->lock);
	const char *broken = check_locked(tickets);
	seam__mutex_unlock(&tickets->lock);
	return broken;
}
