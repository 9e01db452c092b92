/* stitching.h: Seam itself behind the interface of the reference allocators. */
#ifndef REF_STITCHING_H
#define REF_STITCHING_H

#include "allocator.h"

/* options->config goes over SEAM_CONF and the defaults; its choice of a device is not used. options->limit_bytes is its
 * capacity. error: REF_ERROR_BYTES. Errors: those of seam_pool_create(). */
SEAM_MUST_USE enum seam_rc ref_stitching_create(struct seam_driver *driver, const struct ref_options *options,
	char *error, struct ref_allocator **ret_allocator);

/* The pool of such an allocator. */
struct seam_pool *ref_stitching_pool(struct ref_allocator *allocator);

#endif
