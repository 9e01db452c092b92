/* test_verify_bundled.c: plans of the bundled traces: right as the planner makes them, wrong with one byte of overlap
 * planted. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "trace_sample.h"

#include <seam/plan.h>

#define PLANTED 25

static const char *const names[] = {
	"gpt2-124m-amp", "gpt2-345m", "gpt2-345m-recompute", "llama-1b-variable", "llama2-7b-lora", "moe-qwen"};

struct scene {
	const char *name;
	struct seam_trace *trace;
	struct seam_plan *plan;
	uint64_t *offsets; /* the plan's, to be changed */
};

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void enter(struct scene *scene, const char *name)
{
	const struct seam_plan_options options = {.struct_bytes = sizeof(options), .node_limit = 20000};
	char path[512];
	char error[INPUT_ERROR_BYTES];
	struct seam_trace_error plan_error = {0};
	(void)snprintf(path, sizeof(path), "%s/%s.seamtrace.zst", BUNDLED, name);
	scene->name = name;
	cr_assert(input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &scene->trace), "%s", error);
	cr_assert_eq(seam_plan_make(scene->trace, &options, &plan_error, &scene->plan), SEAM_OK, "%s: %s", name,
		plan_error.text);
	const size_t bytes = (size_t)scene->plan->header.slot_count * scene->plan->header.copies * sizeof(uint64_t);
	scene->offsets = malloc(bytes);
	memcpy(scene->offsets, scene->plan->offsets, bytes);
}

static void leave(struct scene *scene)
{
	free(scene->offsets);
	seam_plan_free(scene->plan);
	seam_trace_free(scene->trace);
}

/* Do two (slot * copies + copy) live together? */
static bool meet(const struct seam_plan *plan, uint64_t a, uint64_t b)
{
	const uint64_t copies = plan->header.copies;
	const uint64_t circle = copies * plan->header.positions;
	const struct seam_plan_slot *left = &plan->slots[a / copies];
	const struct seam_plan_slot *right = &plan->slots[b / copies];
	const uint64_t left_at = a % copies * plan->header.positions + left->begin;
	const uint64_t right_at = b % copies * plan->header.positions + right->begin;
	return a != b && ((left->flags | right->flags) & SEAM_PLAN_DYNAMIC) == 0 &&
		((right_at + circle - left_at) % circle < left->end - left->begin ||
			(left_at + circle - right_at) % circle < right->end - right->begin);
}

/* Two that live together, one of them moved so that its first byte is the other's last, or the other way round. */
static bool plant(struct scene *scene, uint64_t *state)
{
	const struct seam_plan *plan = scene->plan;
	const uint64_t count = (uint64_t)plan->header.slot_count * plan->header.copies;
	const uint64_t a = next(state) % count;
	uint64_t b = next(state) % count;
	for (int tries = 0; tries < 1000 && !meet(plan, a, b); tries++)
		b = next(state) % count;
	const uint64_t size = plan->slots[a / plan->header.copies].size_bytes;
	const uint64_t end = scene->offsets[b] + plan->slots[b / plan->header.copies].size_bytes;
	if (!meet(plan, a, b))
		return false;
	if (next(state) % 2 == 0 && end - 1 + size <= plan->header.arena_bytes)
		scene->offsets[a] = end - 1;
	else if (scene->offsets[b] + 1 >= size)
		scene->offsets[a] = scene->offsets[b] + 1 - size;
	else
		return false;
	return true;
}

Test(verify_bundled, plans_are_right_and_one_byte_makes_them_wrong)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct scene scene;
		struct seam_trace_error error = {0};
		uint64_t state = i + 1;
		enter(&scene, names[i]);
		struct seam_plan changed = *scene.plan;
		changed.offsets = scene.offsets;
		const size_t bytes = (size_t)changed.header.slot_count * changed.header.copies * sizeof(uint64_t);
		cr_assert_eq(
			seam_plan_verify(scene.trace, scene.plan, &error), SEAM_OK, "%s: %s", names[i], error.text);
		int planted = 0;
		for (int tries = 0; tries < 4 * PLANTED && planted < PLANTED; tries++) {
			if (plant(&scene, &state)) {
				cr_assert_eq(seam_plan_verify(scene.trace, &changed, &error), SEAM_CORRUPT,
					"%s, plant %d", names[i], planted);
				cr_assert_not_null(seam_plan_check(&changed, NULL), "%s, plant %d", names[i], planted);
				planted++;
			}
			memcpy(scene.offsets, scene.plan->offsets, bytes);
		}
		cr_assert_eq(planted, PLANTED, "%s: only %d", names[i], planted);
		leave(&scene);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
