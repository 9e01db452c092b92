/* stream_cache_impl.h: what the files of the cache share. Nobody else includes it. The lock of stream_cache.h guards
 * all of it. */
#ifndef SEAM_VMM_STREAM_CACHE_IMPL_H
#define SEAM_VMM_STREAM_CACHE_IMPL_H

#include "stream_cache.h"

/* enum of seam_segment.kind */
#define SEAM_CACHE_LARGE_SEGMENT 0u
#define SEAM_CACHE_SMALL_SEGMENT 1u

static inline struct seam_cache_block *seam__cache_block_of(struct seam_extent *extent)
{
	return (struct seam_cache_block *)extent; /* the extent is its first member; NULL stays NULL */
}

/* Where free blocks of a class and a stream (NULL: nobody) are filed. */
static inline uint64_t seam__cache_shelf(uint64_t kind, const struct seam_stream *stream)
{
	return kind << 33 | (stream == NULL ? 0 : (uint64_t)stream->index + 1);
}

/* A free block that serves the request without the source, made live: attempts 1 to 3 of stream_cache.h. NULL in
 * *ret_block: there is none. Errors: SEAM_OOM_META, the driver's. */
SEAM_MUST_USE enum seam_rc seam__cache_search(struct seam_cache_request *request, struct seam_cache_block **ret_block);

/* Makes a HELD block, or its first part, the request's; the rest is free for the request's stream. On SEAM_OOM_META the
 * whole is. */
SEAM_MUST_USE enum seam_rc seam__cache_take(struct seam_cache_request *request, struct seam_cache_block *block);

/* A HELD block becomes free, and joins free neighbours that are its equals. */
void seam__cache_settle(struct seam_cache *cache, struct seam_cache_block *block);

/* Polls the streams (but `except`), and makes nobody's what has passed there: pending blocks, free blocks. The driver's
 * errors. */
SEAM_MUST_USE enum seam_rc seam__cache_release_passed(struct seam_cache *cache, const struct seam_stream *except);

#endif
