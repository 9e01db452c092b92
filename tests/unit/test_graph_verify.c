/* test_graph_verify.c: the proof of plans of graphs, against pairs found by trying every way. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "graph_verify.h"
#include "make_graph.h"
#include "random_graph.h"
#include "trace_sample.h"

#define SEEDS 60

struct scene {
	struct seam_graph graph;
	struct seam_plan *plan;
	bool *reaches;
	uint64_t offsets[200];
};

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static void enter(struct scene *scene, uint64_t seed)
{
	const struct random_graph_wish wish = {.seed = seed,
		.shape = (uint32_t)(seed % RANDOM_GRAPH_SHAPES),
		.nodes = 30,
		.tensors = 40,
		.streams = 1 + (uint32_t)(seed % 4),
		.contiguous = seed % 3 == 0};
	const struct seam_plan_options options = {
		.struct_bytes = sizeof(options), .node_limit = 2000, .align_bytes = 1};
	struct seam_trace_error error = {0};
	random_graph(&wish, &scene->graph);
	cr_assert_eq(seam__plan_make_graph(&scene->graph, &options, &error, &scene->plan), SEAM_OK, "seed %llu: %s",
		(unsigned long long)seed, error.text);
	scene->reaches = calloc(wish.nodes * (size_t)wish.nodes, sizeof(bool));
	naive_reachability(&scene->graph, scene->reaches);
	cr_assert_leq(scene->plan->header.slot_count, 200);
	memcpy(scene->offsets, scene->plan->offsets, scene->plan->header.slot_count * sizeof(uint64_t));
}

static void leave(struct scene *scene)
{
	free(scene->reaches);
	seam_plan_free(scene->plan);
	seam__graph_fini(&scene->graph);
}

/* Of the plan with the scene's addresses. */
static bool proved(const struct scene *scene, struct seam_trace_error *error)
{
	struct seam_plan changed = *scene->plan;
	changed.offsets = scene->offsets;
	return graph_verify(&scene->graph, &changed, error);
}

static bool unsafe(const struct scene *scene, uint32_t a, uint32_t b)
{
	return naive_unsafe(&scene->graph, scene->reaches, (uint32_t)scene->plan->slots[a].event,
		(uint32_t)scene->plan->slots[b].event);
}

static bool overlap(const struct scene *scene, uint32_t a, uint32_t b)
{
	return scene->offsets[a] < scene->offsets[b] + scene->plan->slots[b].size_bytes &&
		scene->offsets[b] < scene->offsets[a] + scene->plan->slots[a].size_bytes;
}

static bool bound(const struct scene *scene, uint32_t slot)
{
	return seam__graph_tensor_at(&scene->graph, (uint32_t)scene->plan->slots[slot].event)->is_bound;
}

static bool judge(const struct scene *scene)
{
	for (uint32_t a = 0; a < scene->plan->header.slot_count; a++)
		for (uint32_t b = 0; b < a; b++)
			if (overlap(scene, a, b) && unsafe(scene, a, b))
				return false;
	return true;
}

Test(graph_verify, accepts_what_the_planner_makes)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct scene scene;
		struct seam_trace_error error = {0};
		enter(&scene, seed);
		cr_assert(judge(&scene), "seed %llu: the plan is wrong", (unsigned long long)seed);
		cr_assert(proved(&scene, &error), "seed %llu: %s", (unsigned long long)seed, error.text);
		leave(&scene);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(graph_verify, agrees_about_any_address)
{
	uint32_t right = 0;
	uint32_t wrong = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct scene scene;
		uint64_t state = seed;
		enter(&scene, seed);
		for (int change = 0; change < 60; change++) {
			struct seam_trace_error error = {0};
			const uint32_t a = (uint32_t)(next(&state) % scene.plan->header.slot_count);
			const uint32_t b = (uint32_t)(next(&state) % scene.plan->header.slot_count);
			const uint64_t held = scene.offsets[a];
			if (bound(&scene, a))
				continue; /* has its own rule, below */
			/* The last byte of one, or all of it. */
			scene.offsets[a] =
				scene.offsets[b] + (change % 2 == 0 ? scene.plan->slots[b].size_bytes - 1 : 0);
			const bool judged = judge(&scene);
			cr_assert_eq(proved(&scene, &error), judged, "seed %llu, change %d: %s",
				(unsigned long long)seed, change, error.text);
			right += judged;
			wrong += !judged;
			scene.offsets[a] = held;
		}
		leave(&scene);
	}
	cr_assert(right > 200 && wrong > 200, "%u right, %u wrong", right, wrong);
}

Test(graph_verify, contiguous_tensors_stay_so)
{
	uint32_t moved = 0;
	for (uint64_t seed = 3; seed <= SEEDS; seed += 3) {
		struct scene scene;
		enter(&scene, seed);
		for (uint32_t slot = 0; slot < scene.plan->header.slot_count; slot++) {
			struct seam_trace_error error = {0};
			const uint64_t held = scene.offsets[slot];
			if (!bound(&scene, slot))
				continue;
			scene.offsets[slot] += (uint64_t)1 << 40; /* where nothing else is */
			if (!proved(&scene, &error)) {
				cr_assert(strstr(error.text, "one behind the other") != NULL, "%s", error.text);
				moved++;
			}
			scene.offsets[slot] = held;
		}
		leave(&scene);
	}
	cr_assert_gt(moved, 20);
}

Test(graph_verify, other_graphs_are_refused)
{
	struct scene scene;
	struct scene other;
	struct seam_trace_error error = {0};
	enter(&scene, 1);
	enter(&other, 2);
	cr_assert(!graph_verify(&other.graph, scene.plan, &error));
	cr_assert(strstr(error.text, "not of this graph") != NULL, "%s", error.text);
	struct seam_plan changed = *scene.plan;
	changed.header.flags = 0;
	cr_assert(!graph_verify(&scene.graph, &changed, &error));
	changed = *scene.plan;
	changed.header.slot_count--;
	cr_assert(!graph_verify(&scene.graph, &changed, &error));
	cr_assert(strstr(error.text, "a tensor without a slot") != NULL, "%s", error.text);
	leave(&other);
	leave(&scene);
}
