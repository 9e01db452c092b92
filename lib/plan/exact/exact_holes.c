/* exact_holes.c: see exact_holes.h. */
#include "exact_holes.h"

#include "exact_skyline.h"
#include "region.h"

#define ITEMS_MAX 64u /* of those that cover a section: no proof needs more */

/* One way from a section. */
struct way {
	const struct seam_exact_skyline *skyline;
	struct seam_exact_hole *common; /* [n]: of the holes up to n sections away */
	uint64_t floor_bytes;           /* what lies below it is of no use */
	uint32_t section;               /* the last one in `common` */
	uint32_t reach;                 /* how far away it is */
	bool back;
};

static uint32_t last_of(const struct seam_exact_window *window, const struct seam_exact_item *item)
{
	return seam__exact_ahead(window, item->first, item->width - 1);
}

/* Ascending in size, as items are. While the lists are filled, end_index[s + 1] is where the next entry of section s
 * goes: in the end that is where section s + 1 begins. */
static void list_ends(struct seam_exact_holes *holes, const struct seam_exact_window *window)
{
	uint32_t begin = 0;

	for (uint32_t i = 0; i < window->count; i++)
		holes->end_index[last_of(window, &window->items[i]) + 1]++;
	for (uint32_t s = 0; s < window->sections; s++) {
		uint32_t count = holes->end_index[s + 1];

		holes->end_index[s + 1] = begin;
		begin += count;
	}
	for (uint32_t i = 0; i < window->count; i++)
		holes->ends[holes->end_index[last_of(window, &window->items[i]) + 1]++] = i;
}

enum seam_rc seam__exact_holes_init(struct seam_exact_holes *holes, const struct seam_exact_window *window)
{
	struct seam_region *region = window->problem->region;

	*holes = (struct seam_exact_holes){
		.ahead = seam__region_array(region, window->sections, sizeof(*holes->ahead)),
		.behind = seam__region_array(region, window->sections, sizeof(*holes->behind)),
		.end_index = seam__region_array(region, (size_t)window->sections + 1, sizeof(*holes->end_index)),
		.ends = seam__region_array(region, window->count, sizeof(*holes->ends)),
	};
	if (holes->ahead == NULL || holes->behind == NULL || holes->end_index == NULL || holes->ends == NULL)
		return SEAM_OOM_META;
	list_ends(holes, window);
	return SEAM_OK;
}

/* Is it as high as that, and not all below the floor? */
static bool is_high(const struct seam_exact_hole *hole, uint64_t size_bytes, uint64_t floor_bytes)
{
	return hole->bottom_bytes + size_bytes <= hole->top_bytes && hole->top_bytes > floor_bytes;
}

static struct seam_exact_hole shared(const struct seam_exact_hole *a, const struct seam_exact_hole *b)
{
	return (struct seam_exact_hole){
		.bottom_bytes = a->bottom_bytes > b->bottom_bytes ? a->bottom_bytes : b->bottom_bytes,
		.top_bytes = a->top_bytes < b->top_bytes ? a->top_bytes : b->top_bytes,
	};
}

/* Have the holes up to `distance` sections away as much in common? Goes on from where the last call ended: for sizes
 * that ascend, what was too low to go on from is so still. */
static bool goes(struct way *way, uint32_t distance, uint64_t size_bytes, uint64_t *looks)
{
	const struct seam_exact_window *window = way->skyline->window;

	while (way->reach < distance && is_high(&way->common[way->reach], size_bytes, way->floor_bytes)) {
		struct seam_exact_hole there;

		way->section = way->back ? seam__exact_before(window, way->section)
					 : seam__exact_ahead(window, way->section, 1);
		there.bottom_bytes = way->skyline->sections[way->section].hole_bottom_bytes;
		there.top_bytes = way->skyline->sections[way->section].hole_top_bytes;
		way->common[way->reach + 1] = shared(&way->common[way->reach], &there);
		way->reach++;
		++*looks;
	}
	return way->reach >= distance && is_high(&way->common[distance], size_bytes, way->floor_bytes);
}

bool seam__exact_holes_fit(struct seam_exact_holes *holes, const struct seam_exact_skyline *skyline, uint32_t section,
	uint64_t floor_bytes)
{
	const struct seam_exact_window *window = skyline->window;
	const struct seam_exact_section *here = &skyline->sections[section];
	struct way ahead = {skyline, holes->ahead, floor_bytes, section, 0, false};
	struct way behind = {skyline, holes->behind, floor_bytes, section, 0, true};
	uint32_t begin = window->cover_index[section];
	uint32_t end = window->cover_index[section + 1];
	uint32_t most = window->covers[(end - begin < ITEMS_MAX ? end : begin + ITEMS_MAX) - 1];
	const uint32_t *list = &window->covers[begin];
	uint32_t count = end - begin;

	holes->ahead[0] = (struct seam_exact_hole){here->hole_bottom_bytes, here->hole_top_bytes};
	holes->behind[0] = holes->ahead[0];
	if (window->sections > 1 && !goes(&ahead, 1, here->smallest_bytes, &holes->looks)) {
		list = &holes->ends[holes->end_index[section]];
		count = seam__exact_holes_ends(holes, section);
	}
	for (uint32_t n = 0; n < count && list[n] <= most; n++) {
		const struct seam_exact_item *item = &window->items[list[n]];
		uint32_t before = seam__exact_distance(window, item->first, section);
		uint32_t after = item->width - 1 - before;
		struct seam_exact_hole common;

		holes->looks++;
		if (!is_high(&holes->ahead[0], item->size_bytes, floor_bytes))
			break; /* nor is it for those that follow, which are larger */
		if (skyline->placed[list[n]] || !goes(&ahead, after, item->size_bytes, &holes->looks) ||
			!goes(&behind, before, item->size_bytes, &holes->looks))
			continue;
		common = shared(&holes->ahead[after], &holes->behind[before]);
		if (is_high(&common, item->size_bytes, floor_bytes))
			return true;
	}
	return false;
}
