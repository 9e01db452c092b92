/* direct_source.h: plain device memory as a source of segments.
 *
 * Not here: caching. One driver call each; both may wait for the device, and so are never made under a lock. No state,
 * thread safe.
 */
#ifndef SEAM_FALLBACK_DIRECT_SOURCE_H
#define SEAM_FALLBACK_DIRECT_SOURCE_H

#include "stream_cache.h"
#include "driver.h"

/* A source over the driver's direct_alloc and direct_free. The driver outlives it. */
struct seam_cache_source seam__direct_source(struct seam_driver *driver);

#endif
