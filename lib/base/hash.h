/* hash.h: intrusive hash tables (uthash) whose memory is metadata and whose failure is a value.
 *
 * A function that calls a HASH_ macro must have two things in scope: `struct seam_meta *hash_meta`, the domain that
 * pays for the table, and `bool hash_failed`, which a failed insertion sets to true (the element is then not in the
 * table). A table's order is the order of insertion: nothing that is decided may depend on the order of the buckets.
 */
#ifndef SEAM_BASE_HASH_H
#define SEAM_BASE_HASH_H

#include "meta.h"

#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((void)(element), hash_failed = true)
#define uthash_malloc(bytes) seam__meta_alloc(hash_meta, (bytes))
#define uthash_free(pointer, bytes) seam__meta_free(hash_meta, (pointer), (bytes))

#include <uthash.h>

#endif
