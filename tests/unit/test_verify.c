/* test_verify.c: the validator against a naive judge, on seeded programs: right plans, plans with one byte of overlap
 * planted anywhere, and plans with one address changed at random.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "plan_format.h"
#include "plan_judge.h"
#include "plan_world.h"
#include "trace_sample.h"

#define SEEDS 1500

struct scene {
	struct world world;
	struct seam_trace *trace;
	struct seam_plan *plan;
	uint32_t planted[5]; /* by kind */
};

static void enter(struct scene *scene, uint64_t seed)
{
	struct seam_trace_error error = {0};
	memset(scene->planted, 0, sizeof(scene->planted));
	world_make(&scene->world, seed);
	scene->trace = world_trace(&scene->world);
	scene->plan = world_plan(&scene->world, scene->trace, &error);
	cr_assert_not_null(scene->plan, "seed %llu: %s", (unsigned long long)seed, error.text);
}

static void leave(struct scene *scene)
{
	seam_plan_free(scene->plan);
	seam_trace_free(scene->trace);
}

/* The plan with the world's addresses as they are now. */
static enum seam_rc verify(const struct scene *scene, struct seam_trace_error *error)
{
	struct seam_plan changed = *scene->plan;
	changed.offsets = scene->world.offset;
	return seam_plan_verify(scene->trace, &changed, error);
}

Test(verify, accepts_right_plans)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct scene scene;
		struct seam_trace_error error = {0};
		enter(&scene, seed);
		cr_assert_null(
			world_judge(&scene.world), "seed %llu: the placement is wrong", (unsigned long long)seed);
		cr_assert_eq(seam_plan_verify(scene.trace, scene.plan, &error), SEAM_OK, "seed %llu: %s",
			(unsigned long long)seed, error.text);
		leave(&scene);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* Where a pair of slots stands to each other. */
enum { INSIDE, ACROSS_THE_END, ACROSS_COPIES, ACROSS_STREAMS, KINDS };
static const char *const kind_names[KINDS] = {"inside the period", "across its end", "across copies", "across streams"};

static int kind_of(const struct world *world, uint32_t a, uint32_t b)
{
	const struct world_slot *left = &world->slot[a / world->copies];
	const struct world_slot *right = &world->slot[b / world->copies];
	if (!world_meet(world, a, b))
		return ACROSS_STREAMS;
	if (a % world->copies != b % world->copies)
		return ACROSS_COPIES;
	return left->end > world->positions || right->end > world->positions ? ACROSS_THE_END : INSIDE;
}

/* Moves `a` so that its last byte is `address`, if that shares no other byte with `b`. */
static bool plant(struct world *world, uint32_t a, uint32_t b, uint64_t address)
{
	const uint32_t size = world->slot[a / world->copies].size_bytes;
	uint32_t shared = 0;
	if (address + 1 < size)
		return false;
	world->offset[a] = address + 1 - size;
	for (uint32_t i = 0; i < size; i++)
		for (uint32_t k = 0; k < world->slot[b / world->copies].size_bytes; k++)
			shared += world->offset[a] + i == world->offset[b] + k;
	return shared == 1;
}

/* At most so many of a kind in one program: there are thousands. */
#define PLANTS_A_PROGRAM 2

static void plant_and_look(
	struct scene *scene, uint32_t a, uint32_t b, uint64_t address, uint64_t seed, uint32_t planted[KINDS])
{
	struct world *world = &scene->world;
	const uint64_t held = world->offset[a];
	const int kind = kind_of(world, a, b);
	if (scene->planted[kind] < PLANTS_A_PROGRAM && plant(world, a, b, address)) {
		struct seam_trace_error error = {0};
		struct seam_plan changed = *scene->plan;
		changed.offsets = world->offset;
		cr_assert_eq(seam_plan_verify(scene->trace, &changed, &error), SEAM_CORRUPT,
			"seed %llu: one byte of items %u "
			"and %u %s is accepted",
			(unsigned long long)seed, a, b, kind_names[kind]);
		cr_assert(strstr(error.text, "slot") != NULL && strstr(error.text, "event") != NULL &&
				strstr(error.text, "byte") != NULL && strchr(error.text, '\n') == NULL,
			"%s", error.text);
		if (world_meet(world, a, b)) {
			const char *broken = seam_plan_check(&changed, NULL);
			cr_assert(broken != NULL && strcmp(broken, "L5") == 0, "seed %llu: items %u and %u %s: %s",
				(unsigned long long)seed, a, b, kind_names[kind], broken);
		}
		scene->planted[kind]++;
		planted[kind]++;
	}
	world->offset[a] = held;
}

Test(verify, rejects_one_byte_of_overlap_anywhere)
{
	uint32_t planted[KINDS] = {0};
	for (uint64_t seed = 1; seed <= SEEDS / 2; seed++) {
		struct scene scene;
		enter(&scene, seed);
		const struct world *world = &scene.world;
		const uint32_t count = world->slots * world->copies;
		for (uint32_t a = 0; a < count; a++) {
			for (uint32_t step = 0; step < count; step++) {
				const uint32_t b = (uint32_t)((a + step + seed) % count);
				if (a == b || (!world->unsafe[a][b] && !world->unsafe[b][a]))
					continue;
				const uint32_t size = world->slot[b / world->copies].size_bytes;
				plant_and_look(&scene, a, b, world->offset[b], seed, planted);
				plant_and_look(&scene, a, b,
					world->offset[b] + size - 1 + world->slot[a / world->copies].size_bytes - 1,
					seed, planted);
			}
		}
		leave(&scene);
	}
	for (int kind = 0; kind < KINDS; kind++)
		cr_assert_gt(planted[kind], 200, "%s: only %u", kind_names[kind], planted[kind]);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(verify, agrees_with_the_judge_about_any_address)
{
	uint32_t right = 0;
	uint32_t wrong = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct scene scene;
		uint64_t state = seed;
		enter(&scene, seed);
		struct world *world = &scene.world;
		const uint32_t count = world->slots * world->copies;
		for (int change = 0; change < 8; change++) {
			struct seam_trace_error error = {0};
			const uint32_t item = (uint32_t)(world_next(&state) % count);
			const uint32_t near = (uint32_t)(world_next(&state) % count);
			const uint64_t held = world->offset[item];
			world->offset[item] = world->offset[near] + world_next(&state) % 20;
			if (world->offset[item] + world->slot[item / world->copies].size_bytes > WORLD_ARENA)
				world->offset[item] = 0;
			const char *judged = world_judge(world);
			enum seam_rc rc = verify(&scene, &error);
			cr_assert_eq(rc, judged == NULL ? SEAM_OK : SEAM_CORRUPT, "seed %llu, change %d: %s, but %s",
				(unsigned long long)seed, change, judged, error.text);
			right += judged == NULL;
			wrong += judged != NULL;
			world->offset[item] = held;
		}
		leave(&scene);
	}
	cr_assert(right > 2000 && wrong > 2000, "%u right, %u wrong", right, wrong);
}

/* A wait of the plan taken away: what stood on it does not stand. */
Test(verify, without_its_waits_a_plan_that_needs_them_is_wrong)
{
	uint32_t needed = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct scene scene;
		enter(&scene, seed);
		if (scene.world.waits > 0) {
			struct seam_plan changed = *scene.plan;
			struct seam_trace_error error = {0};
			struct world without = scene.world;
			changed.header.wait_count = 0;
			seam__plan_seal(&changed.header);
			without.waits = 0;
			world_find_unsafe(&without);
			const char *judged = world_judge(&without);
			enum seam_rc rc = seam_plan_verify(scene.trace, &changed, &error);
			cr_assert_eq(rc, judged == NULL ? SEAM_OK : SEAM_CORRUPT, "seed %llu: %s",
				(unsigned long long)seed, error.text);
			needed += judged != NULL;
		}
		leave(&scene);
	}
	cr_assert_gt(needed, 20, "only %u", needed);
}

Test(verify, every_failed_allocation_is_a_value)
{
	struct seam_meta *meta = seam__meta_process();
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct scene scene;
		enter(&scene, seed);
		const uint64_t before = trace_sample_live_bytes();
		bool fired = true;
		for (uint64_t n = 1; fired; n++) {
			seam__meta_fail_at(meta, n);
			enum seam_rc rc = seam_plan_verify(scene.trace, scene.plan, NULL);
			fired = seam__meta_fail_left(meta) == 0;
			seam__meta_fail_at(meta, 0);
			cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "seed %llu, failure %llu",
				(unsigned long long)seed, (unsigned long long)n);
			cr_assert_eq(trace_sample_live_bytes(), before, "seed %llu, failure %llu",
				(unsigned long long)seed, (unsigned long long)n);
		}
		leave(&scene);
	}
}
