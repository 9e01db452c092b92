/* draw_class.h: which colour a request has in a picture: by the phase that allocates it, or by its size where there are
 * no phases. All requests are counted first, then the classes settled, then each is asked for its class.
 *
 * The first DRAW_CLASSES - 1 phases have a class each, in the order of their appearance; the rest share the last.
 */
#ifndef TOOLS_DRAW_CLASS_H
#define TOOLS_DRAW_CLASS_H

#include "draw.h"

void draw_class_count(struct draw_scene *scene, const char *phase, uint64_t size_bytes);
void draw_class_settle(struct draw_scene *scene);
uint32_t draw_class_of(const struct draw_scene *scene, const char *phase, uint64_t size_bytes);

#endif
