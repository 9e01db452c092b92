/* draw.h: a picture of memory over time: what is to be seen (the scene), and its form as SVG.
 *
 * Time is counted in positions: allocations and frees. A scene of a plan has a box for every slot and copy, at its
 * address; a scene of a trace alone has the live bytes of each class, one upon the other. Over both run the sum of live
 * bytes and, for a plan, its lower bound. Everything is allocated with libc. One thread.
 */
#ifndef TOOLS_DRAW_H
#define TOOLS_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/plan.h>

struct seam_text;

#define DRAW_CLASSES 9    /* colours; the last is that of all others */
#define DRAW_COLUMNS 1080 /* width of the picture's plane in pixels: live bytes are known per column */
#define DRAW_MARKS 64
#define DRAW_NO_PHASE "(no phase)"

struct draw_class {
	char name[64];  /* of the phase, or its sizes */
	uint64_t bytes; /* of sizes: the least that belongs to it */
};

struct draw_box {
	double begin; /* position */
	double end;
	uint64_t low; /* address */
	uint64_t high;
	uint32_t class;
	uint32_t slot;
};

/* A line from bottom to top: a period's or a step's beginning. */
struct draw_mark {
	double position;
	char name[24];
};

struct draw_scene {
	char title[200];
	char subtitle[240];
	struct draw_class classes[DRAW_CLASSES];
	uint32_t class_count;
	bool by_phase;          /* classes are phases, else sizes */
	struct draw_box *boxes; /* NULL for a trace alone */
	size_t box_count;
	size_t box_capacity;
	double positions;                            /* the time axis ends here */
	uint64_t top_bytes;                          /* the highest thing to be seen */
	uint64_t bound_bytes;                        /* lower bound; 0: none is drawn */
	uint64_t live[DRAW_COLUMNS];                 /* most live in the column */
	uint64_t layers[DRAW_COLUMNS][DRAW_CLASSES]; /* a trace alone: live bytes by class when most were live */
	struct draw_mark marks[DRAW_MARKS];
	size_t mark_count;
	const struct seam_plan *plan; /* for the names of slots; NULL for a trace alone */
};

/* Fill the scene; false without memory. `name` is what the picture is of. The plan must outlive the scene. */
bool draw_scene_plan(struct draw_scene *scene, const struct seam_plan *plan, const char *name);
bool draw_scene_trace(struct draw_scene *scene, const struct seam_trace *trace, const char *name);
void draw_scene_fini(struct draw_scene *scene);

/* Writes the scene as SVG, below 2 MB whatever it holds: boxes below half a pixel are merged. False without memory; the
 * text's own state says the rest. */
bool draw_svg(const struct draw_scene *scene, struct seam_text *text);

#endif
