/* swap.c: a swap engine: its two streams, and copies between its tickets' host memory and the device. See
 * include/seam/swap.h.
 *
 * Every call that copies does the same: what it needs besides the driver's queue is taken first (metadata, events, host
 * memory), and only then is anything submitted: the caller's stream is recorded, the copy stream waits for that, the
 * copies, the ticket's event. A refusal up to there leaves no trace. Once copies are submitted a failure cannot
 * take them back; the caller's stream is made to wait for them instead.
 *
 * Copies are submitted without a lock, as they may wait. Those of several threads may alternate on a copy stream: each
 * call's event comes behind its own copies all the same.
 */
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"
#include "pool.h"
#include "swap_engine.h"

/* A call that copies. */
struct transfer {
	struct seam_swap *swap;
	struct seam_ticket *ticket;
	struct seam_swap_event
		*gate; /* between the caller's stream and the copy stream; nobody needs its newest record */
	void *const *tensors;
	void *const *hosts; /* NULL: the ticket's own memory */
	uint64_t stream;    /* the caller's */
	bool is_up;
};

static enum seam_rc enter(const struct seam_swap *swap)
{
	return swap == NULL ? SEAM_INVALID : seam__pool_enter(swap->pool);
}

static uint64_t handle_of(const void *stream)
{
	return (uint64_t)(uintptr_t)stream;
}

static bool has_null(void *const *pointers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (pointers[i] == NULL)
			return true;
	}
	return false;
}

static void count_failure(struct seam_swap *swap, enum seam_rc rc)
{
	if (rc == SEAM_OK || rc == SEAM_INVALID || rc == SEAM_NOT_FOUND)
		return;
	seam__mutex_lock(&swap->tickets.lock);
	if (rc == SEAM_OOM_HOST)
		swap->tickets.stats.refusals++;
	else
		swap->tickets.stats.failures++;
	seam__mutex_unlock(&swap->tickets.lock);
}

/* Copies and waits are for a real stream of the pool's device that is not being captured. */
static enum seam_rc check_stream(struct seam_swap *swap, uint64_t stream)
{
	struct seam_driver *driver = swap->pool->driver;
	enum seam_capture_state state = SEAM_CAPTURE_NONE;
	uint64_t capture_id = 0;
	bool is_foreign = false;
	if (stream == SEAM_NO_STREAM_HANDLE)
		return SEAM_INVALID;
	int cu = seam__drv_stream_foreign(driver, stream, &is_foreign);
	if (cu == SEAM_CU_SUCCESS && is_foreign)
		return SEAM_INVALID;
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_stream_capture(driver, stream, &state, &capture_id);
	if (cu != SEAM_CU_SUCCESS)
		return seam__driver_rc(cu);
	return state == SEAM_CAPTURE_NONE ? SEAM_OK : SEAM_CAPTURING;
}

/* ---- life ---- */

static void free_engine(struct seam_swap *swap)
{
	struct seam_meta *meta = swap->meta;
	seam__meta_free(meta, swap, sizeof *swap);
	uint64_t leaked_bytes = seam__meta_destroy(meta);
	SEAM_ASSERT(leaked_bytes == 0);
	(void)leaked_bytes;
}

enum seam_rc seam_swap_create(struct seam_pool *pool, struct seam_swap **ret_swap)
{
	enum seam_rc rc = ret_swap == NULL ? SEAM_INVALID : seam__pool_enter(pool);
	if (rc != SEAM_OK)
		return rc;
	struct seam_driver *driver = pool->driver;
	struct seam_meta *meta = seam__meta_create(0);
	struct seam_swap *swap = meta != NULL ? seam__meta_alloc(meta, sizeof *swap) : NULL;
	if (swap == NULL) {
		(void)seam__meta_destroy(meta);
		return SEAM_OOM_META;
	}
	swap->pool = pool;
	swap->meta = meta;
	rc = seam__tickets_init(&swap->tickets, pool, meta);
	if (rc != SEAM_OK)
		goto no_tickets;
	rc = seam__driver_rc(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &swap->down));
	if (rc != SEAM_OK)
		goto no_down;
	rc = seam__driver_rc(seam__drv_stream_create(driver, SEAM_STREAM_NONBLOCKING, &swap->up));
	if (rc != SEAM_OK)
		goto no_up;
	*ret_swap = swap;
	return SEAM_OK;
no_up:;
	int cu = seam__drv_stream_destroy(driver, swap->down);
	(void)cu;
no_down:
	seam__tickets_fini(&swap->tickets);
no_tickets:
	free_engine(swap);
	return rc;
}

/* Errors are those of a device that is gone, or has failed. */
static void end_stream(struct seam_pool *pool, uint64_t stream)
{
	enum seam_rc rc = seam_stream_destroyed(pool, (void *)(uintptr_t)stream);
	int cu = seam__drv_stream_destroy(pool->driver, stream);
	(void)rc;
	(void)cu;
}

void seam_swap_destroy(struct seam_swap *swap)
{
	if (enter(swap) != SEAM_OK)
		return;
	struct seam_pool *pool = swap->pool;
	int cu = seam__drv_stream_sync(pool->driver, swap->down);
	cu = seam__drv_stream_sync(pool->driver, swap->up);
	(void)cu;
	seam__tickets_fini(&swap->tickets);
	end_stream(pool, swap->down);
	end_stream(pool, swap->up);
	free_engine(swap);
}

/* ---- copies ---- */

static int copy(const struct transfer *t, size_t i, uint64_t offset, uint64_t queue)
{
	struct seam_driver *driver = t->swap->pool->driver;
	uint64_t va = (uint64_t)(uintptr_t)t->tensors[i];
	char *host = t->hosts != NULL ? t->hosts[i] : t->ticket->host + offset;
	uint64_t bytes = t->ticket->bytes[i];
	return t->is_up ? seam__drv_copy_to_device(driver, va, host, bytes, queue)
			: seam__drv_copy_to_host(driver, host, va, bytes, queue);
}

/* The caller's stream waits for whatever the copy stream has got. Where that cannot be had, the host does; where that
 * fails too, the device does nothing more. */
static void wait_for_rest(const struct transfer *t, uint64_t queue)
{
	struct seam_driver *driver = t->swap->pool->driver;
	int cu = seam__drv_event_record(driver, t->gate->event, queue);
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_stream_wait_event(driver, t->stream, t->gate->event);
	if (cu != SEAM_CU_SUCCESS)
		cu = seam__drv_stream_sync(driver, queue);
	(void)cu;
}

static enum seam_rc submit(const struct transfer *t)
{
	struct seam_driver *driver = t->swap->pool->driver;
	uint64_t queue = t->is_up ? t->swap->up : t->swap->down;
	uint64_t offset = 0;
	size_t done = 0;
	int cu = seam__drv_event_record(driver, t->gate->event, t->stream);
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_stream_wait_event(driver, queue, t->gate->event);
	/* Behind the copies down, wherever a ticket was before. */
	if (cu == SEAM_CU_SUCCESS && t->ticket->id != 0)
		cu = seam__drv_stream_wait_event(driver, queue, t->ticket->event->event);
	for (; cu == SEAM_CU_SUCCESS && done < t->ticket->count; done++) {
		cu = copy(t, done, offset, queue);
		offset += seam__bits_align_up(t->ticket->bytes[done], SEAM_SWAP_ALIGN_BYTES);
	}
	if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_event_record(driver, t->ticket->event->event, queue);
	if (cu != SEAM_CU_SUCCESS && done != 0)
		wait_for_rest(t, queue);
	return seam__driver_rc(cu);
}

static enum seam_rc run(struct transfer *t)
{
	enum seam_rc rc = seam__tickets_get_event(&t->swap->tickets, &t->gate);
	if (rc != SEAM_OK)
		return rc;
	rc = submit(t);
	seam__tickets_put_event(&t->swap->tickets, t->gate);
	return rc;
}

static void count_copies(const struct transfer *t, bool is_in)
{
	struct seam_swap_stats *stats = &t->swap->tickets.stats;
	uint64_t bytes = seam__ticket_bytes(t->ticket);
	seam__mutex_lock(&t->swap->tickets.lock);
	*(is_in ? &stats->ins : t->is_up ? &stats->loads : &stats->outs) += 1;
	*(t->is_up ? &stats->up_bytes : &stats->down_bytes) += bytes;
	seam__mutex_unlock(&t->swap->tickets.lock);
}

/* Makes the ticket of an out or a load: `prepare` gives or looks at its host memory. */
static enum seam_rc make(struct transfer *t, const uint64_t *bytes, size_t count,
	enum seam_rc (*prepare)(const struct transfer *t), uint64_t *ret_ticket)
{
	struct seam_tickets *tickets = &t->swap->tickets;
	enum seam_rc rc = check_stream(t->swap, t->stream);
	if (rc == SEAM_OK)
		rc = seam__ticket_make(tickets, bytes, count, &t->ticket);
	if (rc != SEAM_OK)
		return rc;
	rc = prepare(t);
	if (rc == SEAM_OK)
		rc = run(t);
	if (rc != SEAM_OK) {
		seam__ticket_release(tickets, t->ticket);
		return rc;
	}
	count_copies(t, /* is_in= */ false);
	*ret_ticket = seam__ticket_publish(tickets, t->ticket);
	return SEAM_OK;
}

static enum seam_rc take_host_memory(const struct transfer *t)
{
	void *host = NULL;
	enum seam_rc rc =
		seam_host_alloc(t->swap->pool, t->ticket->host_bytes, (void *)(uintptr_t)t->swap->down, &host);
	t->ticket->host = host;
	return rc;
}

enum seam_rc seam_swap_out(struct seam_swap *swap, void *const *tensors, const uint64_t *bytes, size_t count,
	void *stream, uint64_t *ret_ticket)
{
	enum seam_rc rc = enter(swap);
	if (rc != SEAM_OK)
		return rc;
	if (tensors == NULL || bytes == NULL || ret_ticket == NULL || has_null(tensors, count))
		return SEAM_INVALID;
	struct transfer t = {.swap = swap, .tensors = tensors, .stream = handle_of(stream)};
	rc = make(&t, bytes, count, take_host_memory, ret_ticket);
	count_failure(swap, rc);
	return rc;
}

/* The caller may free the blocks while the copies are pending: the pool knows of the stream then. */
static enum seam_rc record_host_memory(const struct transfer *t)
{
	struct seam_pool *pool = t->swap->pool;
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < t->ticket->count && rc == SEAM_OK; i++) {
		uint64_t va = (uint64_t)(uintptr_t)t->hosts[i];
		uint64_t begin = 0;
		uint64_t bytes = 0;
		rc = seam__pool_host_range(pool, va, &begin, &bytes);
		if (rc == SEAM_OK && t->ticket->bytes[i] > bytes - (va - begin))
			rc = SEAM_NOT_FOUND;
		if (rc == SEAM_OK)
			rc = seam_host_record_stream(pool, (void *)(uintptr_t)begin, (void *)(uintptr_t)t->swap->up);
	}
	return rc;
}

enum seam_rc seam_swap_load(struct seam_swap *swap, void *const *hosts, void *const *tensors, const uint64_t *bytes,
	size_t count, void *stream, uint64_t *ret_ticket)
{
	enum seam_rc rc = enter(swap);
	if (rc != SEAM_OK)
		return rc;
	if (hosts == NULL || tensors == NULL || bytes == NULL || ret_ticket == NULL || has_null(hosts, count) ||
		has_null(tensors, count))
		return SEAM_INVALID;
	struct transfer t = {
		.swap = swap, .tensors = tensors, .hosts = hosts, .stream = handle_of(stream), .is_up = true};
	rc = make(&t, bytes, count, record_host_memory, ret_ticket);
	count_failure(swap, rc);
	return rc;
}

static enum seam_rc bring_back(struct transfer *t, size_t count)
{
	struct seam_swap *swap = t->swap;
	if (t->ticket->host == NULL || count != t->ticket->count || has_null(t->tensors, count))
		return SEAM_INVALID;
	enum seam_rc rc = check_stream(swap, t->stream);
	if (rc == SEAM_OK)
		rc = seam_host_record_stream(swap->pool, t->ticket->host, (void *)(uintptr_t)swap->up);
	if (rc == SEAM_OK)
		rc = run(t);
	if (rc == SEAM_OK)
		count_copies(t, /* is_in= */ true);
	return rc;
}

enum seam_rc seam_swap_in(struct seam_swap *swap, uint64_t ticket, void *const *tensors, size_t count, void *stream)
{
	enum seam_rc rc = enter(swap);
	if (rc != SEAM_OK)
		return rc;
	if (tensors == NULL)
		return SEAM_INVALID;
	struct transfer t = {.swap = swap, .tensors = tensors, .stream = handle_of(stream), .is_up = true};
	t.ticket = seam__ticket_hold(&swap->tickets, ticket);
	if (t.ticket == NULL)
		return SEAM_NOT_FOUND;
	rc = bring_back(&t, count);
	seam__ticket_release(&swap->tickets, t.ticket);
	count_failure(swap, rc);
	return rc;
}

/* ---- waiting ---- */

/* The end of a wait for a ticket that was held for it. */
static enum seam_rc end_wait(struct seam_swap *swap, struct seam_ticket *held, enum seam_rc rc, uint64_t *counter)
{
	if (rc == SEAM_OK) {
		seam__mutex_lock(&swap->tickets.lock);
		++*counter;
		seam__mutex_unlock(&swap->tickets.lock);
	}
	seam__ticket_release(&swap->tickets, held);
	count_failure(swap, rc);
	return rc;
}

enum seam_rc seam_swap_await(struct seam_swap *swap, uint64_t ticket, void *stream)
{
	enum seam_rc rc = enter(swap);
	if (rc != SEAM_OK)
		return rc;
	struct seam_ticket *held = seam__ticket_hold(&swap->tickets, ticket);
	if (held == NULL)
		return SEAM_NOT_FOUND;
	rc = check_stream(swap, handle_of(stream));
	if (rc == SEAM_OK)
		rc = seam__driver_rc(
			seam__drv_stream_wait_event(swap->pool->driver, handle_of(stream), held->event->event));
	return end_wait(swap, held, rc, &swap->tickets.stats.awaits);
}

enum seam_rc seam_swap_join(struct seam_swap *swap, uint64_t ticket)
{
	enum seam_rc rc = enter(swap);
	if (rc != SEAM_OK)
		return rc;
	struct seam_ticket *held = seam__ticket_hold(&swap->tickets, ticket);
	if (held == NULL)
		return SEAM_NOT_FOUND;
	rc = seam__driver_rc(seam__drv_event_sync(swap->pool->driver, held->event->event));
	return end_wait(swap, held, rc, &swap->tickets.stats.joins);
}

/* ---- tickets ---- */

enum seam_rc seam_swap_host(struct seam_swap *swap, uint64_t ticket, size_t number, void **ret_host)
{
	enum seam_rc rc = ret_host == NULL ? SEAM_INVALID : enter(swap);
	if (rc != SEAM_OK)
		return rc;
	struct seam_ticket *held = seam__ticket_hold(&swap->tickets, ticket);
	if (held == NULL)
		return SEAM_NOT_FOUND;
	if (held->host == NULL || number >= held->count)
		rc = SEAM_NOT_FOUND;
	else
		*ret_host = held->host + seam__ticket_offset(held, number);
	seam__ticket_release(&swap->tickets, held);
	return rc;
}

enum seam_rc seam_swap_drop(struct seam_swap *swap, uint64_t ticket)
{
	enum seam_rc rc = enter(swap);
	return rc == SEAM_OK ? seam__ticket_drop(&swap->tickets, ticket) : rc;
}

enum seam_rc seam_swap_stats_get(struct seam_swap *swap, struct seam_swap_stats *stats)
{
	enum seam_rc rc = stats == NULL ? SEAM_INVALID : enter(swap);
	if (rc != SEAM_OK)
		return rc;
	uint32_t size = stats->size;
	if (!seam__stats_known(size, sizeof *stats, stats->version, SEAM_SWAP_STATS_VERSION))
		return SEAM_VERSION;
	seam__mutex_lock(&swap->tickets.lock);
	struct seam_swap_stats all = swap->tickets.stats;
	seam__mutex_unlock(&swap->tickets.lock);
	all.size = size;
	all.version = SEAM_SWAP_STATS_VERSION;
	memcpy(stats, &all, size);
	return SEAM_OK;
}

const char *seam_swap_check(struct seam_swap *swap)
{
	return enter(swap) == SEAM_OK ? seam__tickets_check(&swap->tickets) : NULL;
}
