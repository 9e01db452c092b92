/* peer_allocator.h: PyTorch's allocator behind the interface of bench/reference.
 *
 * Not here: the models of it (caching, expandable): they are bench/reference's.
 */
#ifndef BENCH_PEER_ALLOCATOR_H
#define BENCH_PEER_ALLOCATOR_H

#include "allocator.h"

#define PEER_ERROR_BYTES 400

/* Opens the library at `path` (peer_torch.cpp, compiled). There is one such allocator in a process, for ever:
 * destroying it gives back what is cached. error: PEER_ERROR_BYTES for one line. Errors: SEAM_UNSUPPORTED (the library
 * cannot be opened), SEAM_DRIVER (PyTorch does not start). */
SEAM_MUST_USE enum seam_rc peer_allocator_create(
	const char *path, struct seam_driver *driver, char *error, struct ref_allocator **ret_allocator);

/* "PyTorch 2.15.0". Valid once one has been made. */
const char *peer_allocator_version(void);

/* What PyTorch said last of a call that failed; "" if none has. */
const char *peer_allocator_error(void);

#endif
