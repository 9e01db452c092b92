/* plain.h: what the API does in a pool without virtual memory management. Private to lib/core. */
#ifndef SEAM_CORE_PLAIN_H
#define SEAM_CORE_PLAIN_H

#include "pool.h"

/* Sets pool->plain. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__plain_create(struct seam_pool *pool);
void seam__plain_destroy(struct seam_pool *pool);

/* One try of a request. Errors: those of seam_alloc_request(). */
SEAM_MUST_USE enum seam_rc seam__plain_alloc(
	struct seam_pool *pool, const struct seam_request *request, void **ret_ptr);

/* Errors: those of seam_free() and seam_record_stream(). */
SEAM_MUST_USE enum seam_rc seam__plain_free(struct seam_pool *pool, uint64_t va);
SEAM_MUST_USE enum seam_rc seam__plain_record_stream(struct seam_pool *pool, uint64_t va, uint64_t stream);

SEAM_MUST_USE enum seam_rc seam__plain_usable(struct seam_pool *pool, uint64_t va, uint64_t *ret_bytes);

/* The segment in which the live block that starts at `va` lies. Errors: SEAM_NOT_FOUND. */
SEAM_MUST_USE enum seam_rc seam__plain_segment(struct seam_pool *pool, uint64_t va, struct seam_block_chunk *ret_chunk);

/* With the store's lock. */
uint64_t seam__plain_largest(struct seam_pool *pool);
void seam__plain_stats(struct seam_pool *pool, struct seam_stats *stats);
SEAM_MUST_USE enum seam_rc seam__plain_visit(struct seam_pool *pool, const struct seam_visitor *visitor, void *user);

#endif
