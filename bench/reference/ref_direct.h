/* ref_direct.h: a driver allocation for every request, rounded up to 512 bytes. No cache.
 *
 * direct_free waits for the device, so streams need no care. Invariant: RF4 reserved memory is live memory.
 */
#ifndef REF_DIRECT_H
#define REF_DIRECT_H

#include "allocator.h"

SEAM_MUST_USE enum seam_rc ref_direct_create(
	struct seam_driver *driver, const struct ref_options *options, struct ref_allocator **ret_allocator);

#endif
