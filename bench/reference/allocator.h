/* allocator.h: one interface to the allocators that Seam is compared with, and to Seam itself.
 *
 *   direct      a driver allocation for every request
 *   caching     PyTorch's caching allocator with segments from direct_alloc ("native")
 *   expandable  the same with expandable segments
 *   seam        a pool of this project, through the public C API
 *
 * All of them work on the same driver table, so that their driver calls are counted alike. The first three are models
 * written from the published behaviour of PyTorch's allocator at its default settings, without its locks and histories.
 *
 * Not here: replaying a trace (tools/replay.h).
 * Deterministic: equal calls on equal addresses give equal results; nothing asks the time.
 * One thread at a time.
 */
#ifndef REF_ALLOCATOR_H
#define REF_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <seam/rc.h>
#include <seam/seam.h>

struct seam_driver;
struct ref_allocator;

enum ref_kind { REF_SEAM, REF_CACHING, REF_EXPANDABLE, REF_DIRECT, REF_KINDS };

/* How a request was served. The models count a cached block of exactly the size as S1, a larger one as S2, memory from
 * the driver as S4, and a failure as S5. */
enum ref_state { REF_S1, REF_S1R, REF_S2, REF_S3, REF_S4, REF_S5, REF_STATES };

struct ref_stats {
	uint64_t reserved_bytes; /* obtained from the driver and not returned */
	uint64_t reserved_peak_bytes;
	uint64_t live_bytes; /* of live blocks, rounded as the allocator rounds */
	uint64_t live_blocks;
	uint64_t retries; /* requests for which cached memory was returned to the driver first */
	uint64_t states[REF_STATES];
};

struct ref_request {
	uint64_t bytes;      /* at least 1 */
	uint64_t stream;     /* driver handle */
	uint64_t private_id; /* private pool, 0: none */
};

struct ref_options {
	uint64_t limit_bytes;             /* most bytes from the driver; 0: what the device has */
	const struct seam_config *config; /* of seam; NULL: defaults and SEAM_CONF */
};

struct ref_ops {
	enum seam_rc (*alloc)(struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va);
	enum seam_rc (*free)(struct ref_allocator *allocator, uint64_t va);
	enum seam_rc (*record_stream)(struct ref_allocator *allocator, uint64_t va, uint64_t stream);
	enum seam_rc (*empty_cache)(struct ref_allocator *allocator);
	enum seam_rc (*release_private)(struct ref_allocator *allocator, uint64_t private_id);
	void (*get_stats)(const struct ref_allocator *allocator, struct ref_stats *ret_stats);
	const char *(*check)(const struct ref_allocator *allocator);
	uint64_t (*destroy)(struct ref_allocator *allocator);
};

/* First member of each allocator's own structure. */
struct ref_allocator {
	const struct ref_ops *ops;
	struct seam_driver *driver; /* not owned; outlives the allocator */
};

/* "seam", "caching", ... Never NULL for a valid kind. */
const char *ref_kind_name(enum ref_kind kind);

/* False if there is no allocator of that name in this build. */
bool ref_kind_find(const char *name, enum ref_kind *ret_kind);

#define REF_ERROR_BYTES 200

/* options: NULL for none. error: REF_ERROR_BYTES for one line, or NULL.
 * Errors: SEAM_OOM_META, SEAM_UNSUPPORTED (the device lacks what the allocator needs, or the build lacks the
 * allocator), the driver's; of seam those of seam_pool_create(). */
SEAM_MUST_USE enum seam_rc ref_create(enum ref_kind kind, struct seam_driver *driver, const struct ref_options *options,
	char *error, struct ref_allocator **ret_allocator);

/* Returns all memory to the driver, live blocks included. Returns how much was wrong with the books at the end (bytes
 * of metadata that were lost): 0 unless there is a bug. NULL is allowed and returns 0. */
uint64_t ref_destroy(struct ref_allocator *allocator);

/* Errors: SEAM_OOM_DEVICE (after cached memory was returned and another try), SEAM_OOM_META, the driver's. */
SEAM_MUST_USE static inline enum seam_rc ref_alloc(
	struct ref_allocator *allocator, const struct ref_request *request, uint64_t *ret_va)
{
	return allocator->ops->alloc(allocator, request, ret_va);
}

/* Errors: SEAM_NOT_FOUND, the driver's. */
SEAM_MUST_USE static inline enum seam_rc ref_free(struct ref_allocator *allocator, uint64_t va)
{
	return allocator->ops->free(allocator, va);
}

/* The block is used on `stream` too. Errors: SEAM_NOT_FOUND, SEAM_OOM_META. */
SEAM_MUST_USE static inline enum seam_rc ref_record_stream(
	struct ref_allocator *allocator, uint64_t va, uint64_t stream)
{
	return allocator->ops->record_stream(allocator, va, stream);
}

/* Waits for pending blocks and returns to the driver what is wholly free. */
SEAM_MUST_USE static inline enum seam_rc ref_empty_cache(struct ref_allocator *allocator)
{
	return allocator->ops->empty_cache(allocator);
}

/* The program is done with the private pool: what is free of it, now or later, may serve others. A pool that never had
 * a request is none, and that is fine; a later request makes the pool anew. Errors: SEAM_OOM_META, the driver's. */
SEAM_MUST_USE static inline enum seam_rc ref_release_private(struct ref_allocator *allocator, uint64_t private_id)
{
	return allocator->ops->release_private(allocator, private_id);
}

static inline void ref_get_stats(const struct ref_allocator *allocator, struct ref_stats *ret_stats)
{
	allocator->ops->get_stats(allocator, ret_stats);
}

/* Name of the first broken invariant, or NULL. */
static inline const char *ref_check(const struct ref_allocator *allocator)
{
	return allocator->ops->check(allocator);
}

#endif
