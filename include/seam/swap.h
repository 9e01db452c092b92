/* swap.h: tensors on their way between the device and pinned host memory, many of them as one ticket.
 *
 * A swap engine belongs to a pool and has two streams of its own: one for copies down, to the host, and one for copies
 * up. A *ticket* stands for tensors that were copied together, and for the pinned host memory that holds them. Nobody
 * waits unless told to: copies are ordered behind the caller's stream, and the caller's stream behind copies, by
 * events.
 *
 *     seam_swap_out(swap, tensors, bytes, count, stream, &ticket)
 *     seam_swap_await(swap, ticket, stream)          the tensors may be freed on `stream` now
 *     ...                                            other work
 *     seam_swap_in(swap, ticket, tensors, count, stream)   `tensors`: new memory, allocated on `stream`
 *     seam_swap_await(swap, ticket, stream)          the tensors may be used on `stream` now
 *     seam_swap_drop(swap, ticket)
 *
 * Not here: the choice of tensors and moments. Contents of tensors mean nothing to the engine.
 *
 * Addresses of tensors are device memory that the pool's device can reach, of the pool or not. The host memory is the
 * pool's own (seam_host_alloc()): its sizes, its limit host_capacity_bytes, its reuse in stream order.
 *
 * A call that fails has changed nothing: no ticket is made, lost, or different, and what tensors hold is what they
 * held, but for the targets of a copy up, whose contents are undefined then. Where some copies had been submitted when
 * the driver refused the next, `stream` waits for them, so that the tensors may be freed on it as if nothing had been
 * tried.
 *
 * A `stream` is one of the pool's device, the default stream too: for one of another device, and for SEAM_NO_STREAM,
 * calls answer SEAM_INVALID.
 *
 * During a stream capture nothing is copied: calls with a stream that is being captured answer SEAM_CAPTURING.
 *
 * Thread safety: every function may be called from any thread at any time, except seam_swap_destroy(), which must be
 * the last call on an engine, and come before its pool is destroyed. Fork: as with pools, SEAM_FORKED.
 *
 * Invariants: SW1 the events of the engine are those of its tickets, those in use by calls, and idle ones; SW2 the host
 * bytes of the statistics are the sum of the tickets'; SW3 tickets have rising numbers, none is used twice; SW4 tensors
 * of a ticket lie one behind the other in its host memory, each on a multiple of 512 bytes.
 */
#ifndef SEAM_SWAP_H
#define SEAM_SWAP_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#ifdef __cplusplus
extern "C" {
#endif

struct seam_pool;
struct seam_swap;

/* Makes an engine on the pool, which must outlive it. No host memory is pinned yet. The caller owns it:
 * seam_swap_destroy(). Errors: SEAM_INVALID, SEAM_OOM_META, SEAM_OOM_DEVICE and SEAM_DRIVER (no stream can be made),
 * SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_create(struct seam_pool *pool, struct seam_swap **ret_swap);

/* Waits for the engine's copies, drops its tickets and frees it. NULL is allowed. */
SEAM_API void seam_swap_destroy(struct seam_swap *swap);

/* Copies `count` tensors to the host: bytes[i] bytes from tensors[i]. The arrays are not kept.
 * Ordering: the copies come behind the work that `stream` has got so far, and nothing waits for them before
 * seam_swap_await() or seam_swap_join(): until then the tensors must be neither written nor freed. The ticket is the
 * caller's until seam_swap_drop(), with pinned memory of the sum of the sizes, each rounded up to 512 bytes.
 * Errors: SEAM_INVALID (count or bytes 0, a NULL among the tensors), SEAM_OOM_HOST, SEAM_OOM_META, SEAM_CAPTURING,
 * SEAM_OOM_DEVICE and SEAM_DRIVER (the driver refused an event or a copy), SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_out(struct seam_swap *swap, void *const *tensors, const uint64_t *bytes,
	size_t count, void *stream, uint64_t *ret_ticket);

/* Copies a ticket's tensors back, into as many tensors of the same sizes. It keeps its host memory, so this may be done
 * more than once.
 * Ordering: the copies come behind the work that `stream` has got so far, which is where the new tensors were
 * allocated, and behind the copies down. seam_swap_await() and seam_swap_join() then mean these copies: until one of
 * them the tensors must be neither used nor freed.
 * Errors: SEAM_INVALID (another count, a NULL among the tensors, a ticket of seam_swap_load()), SEAM_NOT_FOUND (no such
 * ticket), SEAM_OOM_META, SEAM_CAPTURING, SEAM_OOM_DEVICE, SEAM_DRIVER, SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_in(
	struct seam_swap *swap, uint64_t ticket, void *const *tensors, size_t count, void *stream);

/* Copies from the caller's host memory, as weights that live there: bytes[i] bytes from hosts[i], which lie in a block
 * of the pool's seam_host_alloc(), to tensors[i]. The block may be freed while the copies are pending; it must not be
 * written before they are done (seam_swap_join()).
 * Ordering: as seam_swap_in(). The ticket has no host memory of its own.
 * Errors: SEAM_INVALID (count or bytes 0, a NULL among the pointers), SEAM_NOT_FOUND (no such block holds those host
 * bytes), SEAM_OOM_META, SEAM_CAPTURING, SEAM_OOM_DEVICE, SEAM_DRIVER, SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_load(struct seam_swap *swap, void *const *hosts, void *const *tensors,
	const uint64_t *bytes, size_t count, void *stream, uint64_t *ret_ticket);

/* The work that `stream` gets from now on comes behind the ticket's newest copies. The host does not wait.
 * Errors: SEAM_INVALID (such a stream), SEAM_NOT_FOUND, SEAM_CAPTURING, SEAM_DRIVER, SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_await(struct seam_swap *swap, uint64_t ticket, void *stream);

/* The host waits for the ticket's newest copies: afterwards it may read what came down, and write what was loaded.
 * Another thread may drop the ticket meanwhile. Errors: SEAM_NOT_FOUND, SEAM_CAPTURING (of any stream, where the driver
 * forbids it), SEAM_DRIVER, SEAM_SHUTDOWN, SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_join(struct seam_swap *swap, uint64_t ticket);

/* Where tensor `number` of the ticket, counted from 0, lies in pinned memory: valid until the ticket is dropped. The
 * host may read it after seam_swap_join(), and write it where no copy of it is pending.
 * Errors: SEAM_NOT_FOUND (no such ticket, or tensor; one of seam_swap_load()), SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_host(
	struct seam_swap *swap, uint64_t ticket, size_t number, void **ret_host);

/* The ticket is no more. Its host memory is free for others when the copies that are pending have passed; the device's
 * side of them is the caller's to order, as ever. Never waits. Errors: SEAM_NOT_FOUND, SEAM_FORKED. */
SEAM_API enum seam_rc seam_swap_drop(struct seam_swap *swap, uint64_t ticket);

#define SEAM_SWAP_STATS_VERSION 1u

struct seam_swap_stats {
	uint32_t size;    /* set by the caller: sizeof(struct seam_swap_stats) */
	uint32_t version; /* set by the caller: SEAM_SWAP_STATS_VERSION */
#define SEAM_SWAP_STAT(name, kind, text) uint64_t name;
#include <seam/swap_stats.def>
#undef SEAM_SWAP_STAT
};

/* Copies the engine's figures, as of one moment, into *stats, whose size and version the caller has set.
 * Errors: SEAM_INVALID, SEAM_VERSION (a size or version that this library does not know), SEAM_FORKED. */
SEAM_API SEAM_MUST_USE enum seam_rc seam_swap_stats_get(struct seam_swap *swap, struct seam_swap_stats *stats);

/* Name of the first broken invariant (SW1-SW4), or NULL. For tests and bug reports. */
SEAM_API const char *seam_swap_check(struct seam_swap *swap);

#ifdef __cplusplus
}
#endif
#endif
