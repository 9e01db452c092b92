/* region.c: see region.h. */
#include "region.h"

#include <stdint.h>

#include "meta.h"

/* In front of its elements. */
struct array {
	struct array *before;
	size_t bytes; /* of this and the elements */
	_Alignas(max_align_t) char elements[];
};

struct seam_region {
	struct seam_meta *meta;
	struct array *newest;
};

struct seam_region *seam__region_create(struct seam_meta *meta)
{
	struct seam_region *region = seam__meta_alloc(meta, sizeof(*region));

	if (region != NULL)
		region->meta = meta;
	return region;
}

void seam__region_destroy(struct seam_region *region)
{
	if (region == NULL)
		return;
	seam__region_release(region, NULL);
	seam__meta_free(region->meta, region, sizeof(*region));
}

void *seam__region_array(struct seam_region *region, size_t count, size_t element_bytes)
{
	struct array *array;
	size_t bytes;

	if (__builtin_mul_overflow(count, element_bytes, &bytes) || bytes > SIZE_MAX - sizeof(*array))
		return NULL;
	array = seam__meta_alloc(region->meta, sizeof(*array) + bytes);
	if (array == NULL)
		return NULL;
	*array = (struct array){.before = region->newest, .bytes = sizeof(*array) + bytes};
	region->newest = array;
	return array->elements;
}

void *seam__region_mark(const struct seam_region *region)
{
	return region->newest == NULL ? NULL : region->newest->elements;
}

void seam__region_release(struct seam_region *region, const void *mark)
{
	while (region->newest != NULL && (const void *)region->newest->elements != mark) {
		struct array *array = region->newest;

		region->newest = array->before;
		seam__meta_free(region->meta, array, array->bytes);
	}
}
