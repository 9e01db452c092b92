/* checksum.h: XXH64, the checksum of Seam's files, from xxhash: inlined, and without the warnings of its code.
 *
 * Used as in xxhash(3): XXH64(), or XXH64_reset(), XXH64_update() and XXH64_digest() on an XXH64_state_t of the
 * caller's. Not here: what a checksum covers.
 */
#ifndef SEAM_BASE_CHECKSUM_H
#define SEAM_BASE_CHECKSUM_H

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

#endif
