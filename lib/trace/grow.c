/* grow.c: see grow.h. Doubles its capacity, so that appending costs amortised constant time. */
#include "grow.h"

#include <stdint.h>
#include <string.h>

#include "meta.h"

void seam__grow_init(struct seam_grow *grow, size_t item_bytes)
{
	*grow = (struct seam_grow){.item_bytes = item_bytes};
}

void seam__grow_fini(struct seam_grow *grow)
{
	seam__meta_free(seam__meta_process(), grow->items, grow->capacity * grow->item_bytes);
	seam__grow_init(grow, grow->item_bytes);
}

enum seam_rc seam__grow_reserve(struct seam_grow *grow, size_t more)
{
	if (more <= grow->capacity - grow->count)
		return SEAM_OK;
	if (more > SIZE_MAX / 4 / grow->item_bytes - grow->count)
		return SEAM_OOM_META;
	size_t wanted = grow->count + more;
	size_t capacity = grow->capacity * 2 > 16 ? grow->capacity * 2 : 16;
	if (capacity < wanted)
		capacity = wanted;
	void *items = seam__meta_resize(
		seam__meta_process(), grow->items, grow->capacity * grow->item_bytes, capacity * grow->item_bytes);
	if (items == NULL)
		return SEAM_OOM_META;
	grow->items = items;
	grow->capacity = capacity;
	return SEAM_OK;
}

enum seam_rc seam__grow_append(struct seam_grow *grow, const void *items, size_t count)
{
	enum seam_rc rc = seam__grow_reserve(grow, count);
	if (rc != SEAM_OK || count == 0)
		return rc;
	memcpy((char *)grow->items + grow->count * grow->item_bytes, items, count * grow->item_bytes);
	grow->count += count;
	return SEAM_OK;
}

const char *seam__grow_check(const struct seam_grow *grow)
{
	if (grow->item_bytes == 0)
		return "grow: items have a size";
	if (grow->count > grow->capacity)
		return "grow: count <= capacity";
	if ((grow->items == NULL) != (grow->capacity == 0))
		return "grow: items exist exactly when there is capacity";
	return NULL;
}
