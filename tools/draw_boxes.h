/* draw_boxes.h: the boxes of a picture in pixels: those that can be seen one by one, and the rest merged into cells.
 *
 * Not here: their form as SVG (draw_svg.c).
 */
#ifndef TOOLS_DRAW_BOXES_H
#define TOOLS_DRAW_BOXES_H

#include "draw.h"

/* A rectangle of the plane, from its upper left corner. */
struct draw_rect {
	float x;
	float y;
	float width;
	float height;
	uint32_t class;
	uint32_t slot; /* of a box; of merged ones nothing */
	bool is_broad; /* of a box: there is room for an outline */
};

/* Both are malloc()ed arrays, by class. */
struct draw_rects {
	struct draw_rect *single;
	size_t single_count;
	struct draw_rect *merged;
	size_t merged_count;
};

/* The scene's boxes on a plane of DRAW_COLUMNS by `height` pixels that is `top_bytes` high. At most some 12,000 single
 * and 20,000 merged rectangles, however many boxes there are. False without memory. */
bool draw_boxes(const struct draw_scene *scene, double height, double top_bytes, struct draw_rects *ret_rects);
void draw_boxes_free(struct draw_rects *rects);

#endif
