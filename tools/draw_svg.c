/* draw_svg.c: a scene as SVG; see draw.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw_boxes.h"
#include "text.h"

#define WIDTH 1320
#define LEFT 96.0
#define TOP 76.0
#define PLANE_HEIGHT 560.0
#define LEGEND_ROW 24.0
#define TIPS_MAX 4000u /* so many boxes have a text that is shown when the mouse is on them */
#define LABEL_APART 16.0
#define MARK_ROOM 70.0 /* pixels for the text of a mark */

static const char *const phase_colours[DRAW_CLASSES] = {
	"#4c78a8", "#f58518", "#54a24b", "#b279a2", "#72b7b2", "#e9c13b", "#9d755d", "#ff9da6", "#bab0ac"};
static const char *const size_colours[DRAW_CLASSES] = {
	"#08519c", "#3182bd", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7", "#deebf7", "#deebf7", "#deebf7"};

struct canvas {
	const struct draw_scene *scene;
	struct seam_text *text;
	double top_bytes; /* the plane's upper edge */
};

static double y_of(const struct canvas *canvas, double bytes)
{
	return TOP + PLANE_HEIGHT - bytes / canvas->top_bytes * PLANE_HEIGHT;
}

static double x_of(const struct canvas *canvas, double position)
{
	return LEFT + position / canvas->scene->positions * DRAW_COLUMNS;
}

/* What is in no phase, and what shares a class, is grey, so that a phase has one colour in all pictures of a program.
 */
static const char *colour_of(const struct canvas *canvas, uint32_t class)
{
	const struct draw_scene *scene = canvas->scene;
	if (!scene->by_phase)
		return size_colours[class];
	if (class == DRAW_CLASSES - 1 || strcmp(scene->classes[class].name, DRAW_NO_PHASE) == 0)
		return phase_colours[DRAW_CLASSES - 1];
	uint32_t colour = 0;
	for (uint32_t before = 0; before < class; before++)
		colour += strcmp(scene->classes[before].name, DRAW_NO_PHASE) != 0;
	return phase_colours[colour];
}

/* Names come from files: what XML does not take, and what is no ASCII, becomes a question mark. */
static void put_name(struct seam_text *text, const char *name)
{
	for (; *name != '\0'; name++) {
		const char one[2] = {*name, '\0'};
		if (*name == '&')
			seam__text_puts(text, "&amp;");
		else if (*name == '<')
			seam__text_puts(text, "&lt;");
		else if (*name == '>')
			seam__text_puts(text, "&gt;");
		else
			seam__text_puts(text, *name < ' ' || *name > '~' ? "?" : one);
	}
}

static void put_label(
	struct canvas *canvas, double x, double y, const char *anchor, const char *style, const char *name)
{
	seam__text_printf(canvas->text, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, style);
	put_name(canvas->text, name);
	seam__text_puts(canvas->text, "</text>\n");
}

/* The number with a comma between thousands. */
static char *grouped(char buffer[32], double number)
{
	char digits[24];
	int used = 0;
	const int length = snprintf(digits, sizeof(digits), "%.0f", number);
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			buffer[used++] = ',';
		buffer[used++] = digits[i];
	}
	buffer[used] = '\0';
	return buffer;
}

static void put_grid(struct canvas *canvas)
{
	double step = 1;
	while (canvas->top_bytes / step > 8)
		step *= 2;
	for (double at = 0; at <= canvas->top_bytes; at += step) {
		char size[24];
		seam__text_printf(canvas->text, "<path d=\"M%.1f %.1fh%d\" stroke=\"#e4e4e4\"/>\n", LEFT,
			y_of(canvas, at), DRAW_COLUMNS);
		put_label(canvas, LEFT - 8, y_of(canvas, at) + 4, "end", "", seam__text_size(size, (uint64_t)at));
	}
	double unit = 1;
	while (canvas->scene->positions / unit > 100)
		unit *= 10;
	const double parts = canvas->scene->positions / unit;
	step = parts > 50 ? unit * 10 : parts > 20 ? unit * 5 : parts > 10 ? unit * 2 : unit;
	for (double at = 0; at <= canvas->scene->positions; at += step) {
		char number[32];
		seam__text_printf(canvas->text, "<path d=\"M%.1f %.1fv5\" stroke=\"#555\"/>\n", x_of(canvas, at),
			TOP + PLANE_HEIGHT);
		put_label(canvas, x_of(canvas, at), TOP + PLANE_HEIGHT + 19, "middle", "", grouped(number, at));
	}
}

static void put_titles(struct canvas *canvas)
{
	const double middle = TOP + PLANE_HEIGHT / 2;
	put_label(canvas, LEFT, 32, "start", " font-size=\"19\" font-weight=\"bold\"", canvas->scene->title);
	put_label(canvas, LEFT, 54, "start", " fill=\"#555\"", canvas->scene->subtitle);
	put_label(canvas, LEFT + DRAW_COLUMNS / 2.0, TOP + PLANE_HEIGHT + 40, "middle", " fill=\"#555\"",
		canvas->scene->plan != NULL && (canvas->scene->plan->header.flags & SEAM_PLAN_GRAPH) != 0
			? "time, in operators"
			: "time, in allocations and frees");
	seam__text_printf(canvas->text,
		"<text transform=\"translate(20 %.1f) rotate(-90)\" text-anchor=\"middle\" "
		"fill=\"#555\">%s</text>\n",
		middle, canvas->scene->boxes != NULL ? "address" : "live memory");
}

static void put_tip(struct canvas *canvas, const struct draw_rect *rect)
{
	const struct seam_plan *plan = canvas->scene->plan;
	const struct seam_plan_slot *slot = &plan->slots[rect->slot];
	char size[24];
	seam__text_printf(canvas->text, "><title>slot %u: %s, positions %u to %u", rect->slot,
		seam__text_size(size, slot->size_bytes), slot->begin, slot->end);
	if (slot->module != 0) {
		seam__text_puts(canvas->text, ", ");
		put_name(canvas->text, seam_plan_string(plan, slot->module));
	}
	seam__text_puts(canvas->text, "</title></rect>\n");
}

static void put_singles(struct canvas *canvas, const struct draw_rects *rects)
{
	for (size_t i = 0; i < rects->single_count; i++) {
		const struct draw_rect *rect = &rects->single[i];
		if (i == 0 || rect->class != rect[-1].class || rect->is_broad != rect[-1].is_broad)
			seam__text_printf(canvas->text, "<g class=\"slots\" fill=\"%s\"%s>\n",
				colour_of(canvas, rect->class),
				rect->is_broad ? " stroke=\"#fff\" stroke-width=\"0.6\"" : "");
		seam__text_printf(canvas->text, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
			LEFT + rect->x, TOP + rect->y, rect->width, rect->height);
		if (rects->single_count < TIPS_MAX)
			put_tip(canvas, rect);
		else
			seam__text_puts(canvas->text, "/>\n");
		if (i + 1 == rects->single_count || rect[1].class != rect->class || rect[1].is_broad != rect->is_broad)
			seam__text_puts(canvas->text, "</g>\n");
	}
}

static void put_merged(struct canvas *canvas, const struct draw_rects *rects)
{
	for (size_t i = 0; i < rects->merged_count; i++) {
		const struct draw_rect *rect = &rects->merged[i];
		if (i == 0 || rect->class != rect[-1].class)
			seam__text_printf(canvas->text, "<path class=\"merged\" fill=\"%s\" d=\"",
				colour_of(canvas, rect->class));
		seam__text_printf(canvas->text, "M%.0f %.0fh%.0fv%.0fh-%.0fz", LEFT + rect->x, TOP + rect->y,
			rect->width, rect->height, rect->width);
		if (i + 1 == rects->merged_count || rect[1].class != rect->class)
			seam__text_puts(canvas->text, "\"/>\n");
	}
}

static bool put_boxes(struct canvas *canvas)
{
	struct draw_rects rects;
	if (!draw_boxes(canvas->scene, PLANE_HEIGHT, canvas->top_bytes, &rects))
		return false;
	put_merged(canvas, &rects);
	put_singles(canvas, &rects);
	draw_boxes_free(&rects);
	return true;
}

/* The upper edge of the classes up to `class`, one upon the other, as steps from left to right. */
static double layer_top(const struct draw_scene *scene, uint32_t column, uint32_t classes)
{
	double sum = 0;
	for (uint32_t class = 0; class < classes; class ++)
		sum += (double)scene->layers[column][class];
	return sum;
}

static void put_layers(struct canvas *canvas)
{
	const struct draw_scene *scene = canvas->scene;
	for (uint32_t class = 0; class < scene->class_count; class ++) {
		seam__text_printf(canvas->text, "<path class=\"layer\" fill=\"%s\" d=\"M%.1f %.1f",
			colour_of(canvas, class), LEFT, y_of(canvas, layer_top(scene, 0, class)));
		for (uint32_t column = 0; column < DRAW_COLUMNS; column++)
			seam__text_printf(canvas->text, "V%.1fH%.0f", y_of(canvas, layer_top(scene, column, class + 1)),
				LEFT + column + 1);
		for (uint32_t column = DRAW_COLUMNS; column-- > 0;)
			seam__text_printf(canvas->text, "V%.1fH%.0f", y_of(canvas, layer_top(scene, column, class)),
				LEFT + column);
		seam__text_puts(canvas->text, "z\"/>\n");
	}
}

static void put_live_path(struct canvas *canvas, const char *style)
{
	const struct draw_scene *scene = canvas->scene;
	seam__text_printf(canvas->text, "<path fill=\"none\" %s d=\"M%.1f %.1f", style, LEFT,
		y_of(canvas, (double)scene->live[0]));
	for (uint32_t column = 1; column < DRAW_COLUMNS; column++) {
		if (scene->live[column] != scene->live[column - 1])
			seam__text_printf(
				canvas->text, "H%.0fV%.1f", LEFT + column, y_of(canvas, (double)scene->live[column]));
	}
	seam__text_printf(canvas->text, "H%.0f\"/>\n", LEFT + DRAW_COLUMNS);
}

static void put_line(struct canvas *canvas, double bytes, double label_y, const char *style, const char *name)
{
	char label[64];
	char size[24];
	seam__text_printf(canvas->text,
		"<path d=\"M%.1f %.1fh%d\" stroke=\"#fff\" stroke-width=\"3\" opacity=\"0.7\"/>\n", LEFT,
		y_of(canvas, bytes), DRAW_COLUMNS);
	seam__text_printf(
		canvas->text, "<path d=\"M%.1f %.1fh%d\" %s/>\n", LEFT, y_of(canvas, bytes), DRAW_COLUMNS, style);
	put_label(canvas, LEFT + DRAW_COLUMNS + 8, label_y - 3, "start", "", name);
	(void)snprintf(label, sizeof(label), "%s", seam__text_size(size, (uint64_t)bytes));
	put_label(canvas, LEFT + DRAW_COLUMNS + 8, label_y + 11, "start", " font-weight=\"bold\"", label);
}

/* The peak and the lower bound may lie on each other: their texts may not. */
static void put_lines(struct canvas *canvas)
{
	const struct draw_scene *scene = canvas->scene;
	const double peak_y = y_of(canvas, (double)scene->top_bytes);
	const double bound_y = y_of(canvas, (double)scene->bound_bytes);
	const double crowded = 2 * LABEL_APART - (bound_y - peak_y);
	const double apart = scene->bound_bytes > 0 && crowded > 0 ? crowded / 2 : 0;
	put_line(canvas, (double)scene->top_bytes, peak_y - apart, "stroke=\"#222\"", "peak");
	if (scene->bound_bytes > 0)
		put_line(canvas, (double)scene->bound_bytes, bound_y + apart,
			"stroke=\"#b00020\" stroke-width=\"1.5\" stroke-dasharray=\"7 4\"", "lower bound");
}

static void put_marks(struct canvas *canvas)
{
	for (size_t i = 0; i < canvas->scene->mark_count; i++) {
		const struct draw_mark *mark = &canvas->scene->marks[i];
		seam__text_printf(canvas->text,
			"<path d=\"M%.1f %.1fv%.1f\" stroke=\"#777\" stroke-dasharray=\"2 3\"/>\n",
			x_of(canvas, mark->position), TOP, PLANE_HEIGHT);
		const bool at_end = x_of(canvas, mark->position) > LEFT + DRAW_COLUMNS - MARK_ROOM;
		put_label(canvas, x_of(canvas, mark->position) + (at_end ? -4 : 4), TOP + 12, at_end ? "end" : "start",
			" font-size=\"11\" fill=\"#555\"", mark->name);
	}
}

/* Classes, then the curve. Returns the height below the plane that it needs. */
static double put_legend(struct canvas *canvas)
{
	const struct draw_scene *scene = canvas->scene;
	double x = LEFT;
	double y = TOP + PLANE_HEIGHT + 66;
	for (uint32_t i = 0; i <= scene->class_count; i++) {
		const bool curve = i == scene->class_count;
		const char *name = curve ? "sum of live bytes" : scene->classes[i].name;
		const double width = 30 + 7.2 * (double)strlen(name) + 12;
		if (x > LEFT && x + width > LEFT + DRAW_COLUMNS) {
			x = LEFT;
			y += LEGEND_ROW;
		}
		if (curve)
			seam__text_printf(canvas->text,
				"<path d=\"M%.1f %.1fh20\" stroke=\"#111\" stroke-width=\"1.6\"/>\n", x, y - 4);
		else
			seam__text_printf(canvas->text, "<path d=\"M%.1f %.1fh20v12h-20z\" fill=\"%s\"/>\n", x, y - 10,
				colour_of(canvas, i));
		put_label(canvas, x + 27, y, "start", "", name);
		x += width;
	}
	return y - TOP - PLANE_HEIGHT + LEGEND_ROW;
}

/* Rows of the legend are counted before anything is written: the picture's height stands first. */
static double legend_height(const struct draw_scene *scene)
{
	struct seam_text nowhere;
	struct canvas canvas = {.scene = scene, .text = &nowhere, .top_bytes = 1};
	seam__text_init_fixed(&nowhere, NULL, 0);
	return put_legend(&canvas);
}

bool draw_svg(const struct draw_scene *scene, struct seam_text *text)
{
	struct canvas canvas = {.scene = scene, .text = text, .top_bytes = 1.04 * (double)scene->top_bytes};
	const double height = TOP + PLANE_HEIGHT + legend_height(scene);
	if (canvas.top_bytes < 1)
		canvas.top_bytes = 1;
	seam__text_printf(text,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
		"font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222\">\n",
		WIDTH, height, WIDTH, height);
	seam__text_printf(text, "<path d=\"M0 0h%dv%.0fh-%dz\" fill=\"#fff\"/>\n", WIDTH, height, WIDTH);
	put_grid(&canvas);
	if (scene->boxes == NULL && scene->plan == NULL)
		put_layers(&canvas);
	else if (!put_boxes(&canvas))
		return false;
	put_live_path(&canvas, "stroke=\"#fff\" stroke-width=\"4\" opacity=\"0.75\" stroke-linejoin=\"round\"");
	put_live_path(&canvas, "stroke=\"#111\" stroke-width=\"1.6\" stroke-linejoin=\"round\"");
	put_marks(&canvas);
	put_lines(&canvas);
	seam__text_printf(text, "<path d=\"M%.1f %.1fv%.1fh%d\" fill=\"none\" stroke=\"#555\"/>\n", LEFT, TOP,
		PLANE_HEIGHT, DRAW_COLUMNS);
	put_titles(&canvas);
	(void)put_legend(&canvas);
	seam__text_puts(text, "</svg>\n");
	return true;
}
