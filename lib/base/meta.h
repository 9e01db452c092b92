/* meta.h: host memory for the library's own metadata, counted and limited.
 *
 * A domain is one account: each pool has its own, and what belongs to the process has one more. The one place of the
 * library that calls jemalloc (or malloc, where the build says metadata=libc; the account is the same).
 *
 * Not here: many small objects of one size (slab.h); device memory.
 * Counted are the bytes asked for; what the allocator below rounds up is not known here.
 * Invariants: MD1 live <= peak and live <= limit; MD2 live is the sum of the sizes handed out and not given back.
 * Thread safe, without a lock of its own. Every function but create and destroy may be called under any lock.
 */
#ifndef SEAM_BASE_META_H
#define SEAM_BASE_META_H

#include <stddef.h>
#include <stdint.h>

struct seam_meta;

struct seam_meta_stats {
	uint64_t live_bytes;
	uint64_t peak_bytes;
	uint64_t limit_bytes; /* UINT64_MAX: none */
	uint64_t live_blocks;
	uint64_t alloc_calls;  /* that succeeded */
	uint64_t failed_calls; /* limit, injected failure, or no memory */
};

/* limit_bytes: 0 for no limit. The domain itself is not counted. NULL when there is no memory. */
struct seam_meta *seam__meta_create(uint64_t limit_bytes);

/* Returns the bytes that were never given back: 0 unless there is a bug. With jemalloc they are released all the same;
 * with libc they stay allocated, so that leak checkers name who asked for them. NULL is allowed and returns 0. */
uint64_t seam__meta_destroy(struct seam_meta *meta);

/* The process-wide domain, for what belongs to no pool. It always exists, has no limit, and is never destroyed. */
struct seam_meta *seam__meta_process(void);

/* Zeroed memory, aligned for any object. NULL: SEAM_OOM_META. A size of 0 is an internal error. */
__attribute__((warn_unused_result)) void *seam__meta_alloc(struct seam_meta *meta, size_t size_bytes);

/* The same for count * element_bytes; NULL also where that overflows. */
__attribute__((warn_unused_result)) void *seam__meta_array(struct seam_meta *meta, size_t count, size_t element_bytes);

/* Memory of new_bytes that begins with the old content, the rest zeroed; `pointer` is valid no more. On NULL it is
 * untouched. pointer NULL with old_bytes 0 is an allocation. Never in place. */
__attribute__((warn_unused_result)) void *seam__meta_resize(
	struct seam_meta *meta, void *pointer, size_t old_bytes, size_t new_bytes);

/* size_bytes: as asked for (for an array: count * element_bytes); another size is an internal error, which debug builds
 * notice. NULL is allowed. */
void seam__meta_free(struct seam_meta *meta, void *pointer, size_t size_bytes);

/* Each counter is exact; together they are no snapshot while other threads work. */
void seam__meta_get_stats(const struct seam_meta *meta, struct seam_meta_stats *ret_stats);

void seam__meta_set_limit(
	struct seam_meta *meta, uint64_t limit_bytes); /* 0: none; below live: nothing more is given */

void seam__meta_reset_peak(struct seam_meta *meta);

/* The n-th allocation from now fails, once (1: the next). 0 takes it back. For fault tests. */
void seam__meta_fail_at(struct seam_meta *meta, uint64_t n);

/* Allocations still to come before the injected failure, 0 when it has happened or none is set. */
uint64_t seam__meta_fail_left(const struct seam_meta *meta);

/* Name of a broken invariant, or NULL. Only meaningful while no other thread uses the domain. */
const char *seam__meta_check(const struct seam_meta *meta);

#endif
