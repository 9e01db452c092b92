/* grow.h: an array that grows, on the process-wide metadata domain.
 *
 * Not here: shrinking, removing from the middle; nobody in this folder needs it.
 * Invariant: count <= capacity; a failed growth leaves the array as it was.
 * No locks: one thread at a time.
 */
#ifndef SEAM_GROW_H
#define SEAM_GROW_H

#include <stddef.h>

#include <seam/rc.h>

struct seam_grow {
	void *items;       /* NULL while the capacity is 0; moves when the array grows */
	size_t count;      /* items in use */
	size_t capacity;   /* items that fit */
	size_t item_bytes; /* set by seam__grow_init */
};

void seam__grow_init(struct seam_grow *grow, size_t item_bytes);
void seam__grow_fini(struct seam_grow *grow);

/* Makes room for `more` further items: the next `more` appends cannot fail. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__grow_reserve(struct seam_grow *grow, size_t more);

/* Appends a copy of `count` items. Errors: SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__grow_append(struct seam_grow *grow, const void *items, size_t count);

/* The first broken invariant's name, or NULL. */
const char *seam__grow_check(const struct seam_grow *grow);

#endif
