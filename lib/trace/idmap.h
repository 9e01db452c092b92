/* idmap.h: a map from 64-bit numbers to two 64-bit values.
 *
 * Not here: the hashing, which is uthash's. Iteration order means nothing and is never used.
 * Invariant: an entry's address is fixed until it is removed.
 * No locks: one thread at a time.
 */
#ifndef SEAM_IDMAP_H
#define SEAM_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

#include "slab.h"

struct seam_idmap_entry; /* uthash's handle stays out of this header */

struct seam_idmap {
	struct seam_idmap_entry *head; /* uthash's table; NULL when empty */
	struct seam_slab slab;         /* where the entries live */
	size_t count;                  /* entries in the table */
};

void seam__idmap_init(struct seam_idmap *map);
void seam__idmap_fini(struct seam_idmap *map);

/* The two values under `key`, or NULL. Valid until the key is removed. */
uint64_t *seam__idmap_find(const struct seam_idmap *map, uint64_t key);

/* The two values under `key`, both 0 where it was not there before. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__idmap_put(struct seam_idmap *map, uint64_t key, uint64_t **ret_values);

/* The first value under `key` is `value` now. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__idmap_set(struct seam_idmap *map, uint64_t key, uint64_t value);

/* In a map of numbers: how many keys were numbered before `key`, which is numbered now where it was not before. The
 * first value under the key is one more. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__idmap_number(struct seam_idmap *map, uint64_t key, uint32_t *ret_number);

/* Nothing happens where the key is not there. */
void seam__idmap_remove(struct seam_idmap *map, uint64_t key);

/* The first broken invariant's name, or NULL. */
const char *seam__idmap_check(const struct seam_idmap *map);

#endif
