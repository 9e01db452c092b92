/* exact_fit.c: see exact_fit.h. */
#include "exact_fit.h"

static uint64_t neighbour(const struct seam_exact_skyline *skyline, bool connected, uint32_t section)
{
	return connected ? skyline->sections[section].floor_bytes : SEAM__EXACT_OPEN;
}

/* Is there one floor, and no cut, between the section and the one before it? */
static bool joins_before(const struct seam_exact_skyline *skyline, uint32_t section)
{
	const struct seam_exact_section *before = &skyline->sections[seam__exact_before(skyline->window, section)];

	return before->crossing > 0 && before->floor_bytes == skyline->sections[section].floor_bytes;
}

/* The first section of the row of equal floors that `section` is in; its own where the row goes all around. */
static uint32_t row_begin(const struct seam_exact_skyline *skyline, uint32_t section)
{
	const struct seam_exact_window *window = skyline->window;
	uint32_t first = section;

	for (uint32_t n = 1; n < window->sections && joins_before(skyline, first); n++)
		first = seam__exact_before(window, first);
	return joins_before(skyline, first) ? section : first;
}

struct seam_exact_spot seam__exact_row_of(const struct seam_exact_skyline *skyline, uint32_t section)
{
	uint32_t first = row_begin(skyline, section);
	const struct seam_exact_window *window = skyline->window;
	const struct seam_exact_section *sections = skyline->sections;
	struct seam_exact_spot row = {.first = first,
		.length = 1,
		.floor_bytes = sections[first].floor_bytes,
		.left_bytes = SEAM__EXACT_OPEN,
		.right_bytes = SEAM__EXACT_OPEN};
	uint32_t before = seam__exact_before(window, first);
	uint32_t next = seam__exact_ahead(window, first, 1);

	while (row.length < window->sections && joins_before(skyline, next)) {
		row.length++;
		next = seam__exact_ahead(window, next, 1);
	}
	if (row.length < window->sections) {
		row.left_bytes = neighbour(skyline, sections[before].crossing > 0, before);
		row.right_bytes = neighbour(skyline, sections[seam__exact_before(window, next)].crossing > 0, next);
	}
	return row;
}

static bool inside(
	const struct seam_exact_window *window, const struct seam_exact_spot *gap, const struct seam_exact_item *item)
{
	return gap->length == window->sections ||
		seam__exact_distance(window, gap->first, item->first) + item->width <= gap->length;
}

bool seam__exact_fits(const struct seam_exact_skyline *skyline, const struct seam_exact_spot *gap, uint32_t item)
{
	const struct seam_exact_item *it = &skyline->window->items[item];

	return !skyline->placed[item] && inside(skyline->window, gap, it);
}

uint64_t seam__exact_lower_side(const struct seam_exact_spot *gap)
{
	return gap->left_bytes < gap->right_bytes ? gap->left_bytes : gap->right_bytes;
}
