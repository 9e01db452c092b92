/* draw_class.c: see draw_class.h. */
#include "draw_class.h"

#include <stdio.h>
#include <string.h>

#include "text.h"

#define OTHERS (DRAW_CLASSES - 1)
#define SIZE_STEP 8u /* each class of sizes is so many times the one below it */

static uint32_t find_phase(const struct draw_scene *scene, const char *phase)
{
	uint32_t class = 0;
	while (class < scene->class_count &&
		strncmp(scene->classes[class].name, phase, sizeof(scene->classes[0].name) - 1) != 0)
		class ++;
	return class;
}

/* While counting, the largest size stands in the bytes of the last class. */
void draw_class_count(struct draw_scene *scene, const char *phase, uint64_t size_bytes)
{
	struct draw_class *others = &scene->classes[OTHERS];
	if (size_bytes > others->bytes)
		others->bytes = size_bytes;
	scene->by_phase = scene->by_phase || phase[0] != '\0';
	const uint32_t class = find_phase(scene, phase);
	if (class < scene->class_count || class == OTHERS)
		return;
	(void)snprintf(scene->classes[class].name, sizeof(scene->classes[class].name), "%s", phase);
	scene->class_count++;
}

static void name_sizes(struct draw_scene *scene, uint64_t largest)
{
	uint64_t least = 1;
	while (least * 2 <= largest)
		least *= 2;
	scene->class_count = 0;
	for (uint32_t class = 0; class < 5 && (class == 0 || least > 1); class ++) {
		char text[24];
		least = class == 0 ? least : (least > SIZE_STEP ? least / SIZE_STEP : 1);
		scene->classes[class].bytes = class == 4 ? 0 : least;
		if (class == 4 || least == 1)
			(void)snprintf(scene->classes[class].name, sizeof(scene->classes[class].name), "smaller");
		else
			(void)snprintf(scene->classes[class].name, sizeof(scene->classes[class].name), "from %s",
				seam__text_size(text, least));
		scene->class_count++;
	}
	scene->classes[scene->class_count - 1].bytes = 0;
}

void draw_class_settle(struct draw_scene *scene)
{
	const uint64_t largest = scene->classes[OTHERS].bytes;
	scene->classes[OTHERS].bytes = 0;
	if (!scene->by_phase) {
		name_sizes(scene, largest);
		return;
	}
	if (scene->class_count == OTHERS) {
		(void)snprintf(scene->classes[OTHERS].name, sizeof(scene->classes[OTHERS].name), "other phases");
		scene->class_count = DRAW_CLASSES;
	}
	for (uint32_t class = 0; class < scene->class_count; class ++) {
		if (scene->classes[class].name[0] == '\0')
			(void)snprintf(scene->classes[class].name, sizeof(scene->classes[class].name), DRAW_NO_PHASE);
	}
}

uint32_t draw_class_of(const struct draw_scene *scene, const char *phase, uint64_t size_bytes)
{
	if (scene->by_phase) {
		const uint32_t class = find_phase(scene, phase[0] == '\0' ? DRAW_NO_PHASE : phase);
		return class < scene->class_count ? class : scene->class_count - 1;
	}
	for (uint32_t class = 0; class < scene->class_count; class ++) {
		if (size_bytes >= scene->classes[class].bytes)
			return class;
	}
	return scene->class_count - 1;
}
