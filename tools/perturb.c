/* perturb.c: the list of ways, and the frame in which each is done. */
#include "perturb.h"

#include <stdlib.h>
#include <string.h>

#include "perturb_world.h"

struct way {
	const char *name;
	const char *text;
	enum seam_rc (*apply)(struct perturb_world *world, uint32_t iteration);
};

static const struct way ways[PERTURB_KINDS] = {
#define PERTURB(name, text) {#name, text, perturb_##name},
#include "perturb.def"
#undef PERTURB
};

const char *perturb_name(enum perturb_kind kind)
{
	return ways[kind].name;
}

const char *perturb_text(enum perturb_kind kind)
{
	return ways[kind].text;
}

static bool find(const char *name, size_t length, enum perturb_kind *ret_kind)
{
	for (size_t i = 0; i < PERTURB_KINDS; i++) {
		if (strlen(ways[i].name) == length && strncmp(ways[i].name, name, length) == 0) {
			*ret_kind = (enum perturb_kind)i;
			return true;
		}
	}
	return false;
}

bool perturb_parse(const char *text, struct perturb *perturb)
{
	struct perturb read = {.seed = perturb->seed};
	for (;;) {
		size_t length = strcspn(text, "+");
		if (read.count == PERTURB_MOST || !find(text, length, &read.kinds[read.count]))
			return false;
		read.count++;
		if (text[length] == '\0')
			break;
		text += length + 1;
	}
	*perturb = read;
	return true;
}

static uint64_t mix(uint64_t value)
{
	value += UINT64_C(0x9e3779b97f4a7c15);
	value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
	return value ^ (value >> 31);
}

uint64_t perturb_draw(struct perturb_world *world, uint64_t below)
{
	world->state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(world->state) % below;
}

uint64_t perturb_hash(const struct perturb_world *world, uint64_t what)
{
	return mix(world->seed ^ mix(what));
}

bool perturb_passes(const struct perturb_world *world, uint32_t block, uint32_t iteration)
{
	return world->alloc_at[block] > world->begin[iteration] && world->free_at[block] < world->end[iteration];
}

size_t perturb_pick(struct perturb_world *world, uint32_t iteration)
{
	size_t first = world->begin[iteration];
	size_t count = world->end[iteration] - first;
	for (size_t tries = 0; tries < 64; tries++) {
		size_t at = first + perturb_draw(world, count);
		const struct schedule_op *op = &world->schedule->ops[at];
		if (op->kind == SCHEDULE_ALLOC && perturb_passes(world, op->target, iteration) &&
			world->edit.dropped[at] == 0)
			return at;
	}
	return PERTURB_NOWHERE;
}

static void look(struct perturb_world *world)
{
	const struct schedule *schedule = world->schedule;
	for (uint32_t i = 0; i < schedule->block_count; i++)
		world->alloc_at[i] = world->free_at[i] = PERTURB_NOWHERE;
	for (size_t i = 0; i < schedule->op_count; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		if (op->thread >= world->new_thread)
			world->new_thread = op->thread + 1;
		if (op->kind == SCHEDULE_ALLOC)
			world->alloc_at[op->target] = i;
		else if (op->kind == SCHEDULE_FREE)
			world->free_at[op->target] = i;
		else if (op->kind == SCHEDULE_BEGIN)
			world->begin[op->target] = i;
		else if (op->kind == SCHEDULE_END)
			world->end[op->target] = i;
	}
}

static enum seam_rc apply(const struct way *way, struct perturb_world *world)
{
	enum seam_rc rc = SEAM_OK;
	look(world);
	for (uint32_t i = 0; i < world->schedule->iterations && rc == SEAM_OK; i++) {
		world->state = perturb_hash(world, i);
		rc = way->apply(world, i);
	}
	return rc == SEAM_OK ? edit_make(&world->edit) : rc;
}

static enum seam_rc apply_alone(enum perturb_kind kind, uint64_t seed, struct schedule *schedule)
{
	size_t iterations = (size_t)schedule->iterations + 1;
	size_t blocks = (size_t)schedule->block_count + 1;
	struct perturb_world world = {
		.schedule = schedule,
		.begin = calloc(iterations, sizeof(*world.begin)),
		.end = calloc(iterations, sizeof(*world.end)),
		.alloc_at = calloc(blocks, sizeof(*world.alloc_at)),
		.free_at = calloc(blocks, sizeof(*world.free_at)),
		.seed = mix(seed + ((uint64_t)kind << 32)),
	};
	enum seam_rc rc = edit_init(&world.edit, schedule);
	if (world.begin == NULL || world.end == NULL || world.alloc_at == NULL || world.free_at == NULL)
		rc = SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = apply(&ways[kind], &world);
	edit_fini(&world.edit);
	free(world.begin);
	free(world.end);
	free(world.alloc_at);
	free(world.free_at);
	return rc;
}

enum seam_rc perturb_apply(const struct perturb *perturb, struct schedule *schedule)
{
	enum seam_rc rc = SEAM_OK;
	for (uint32_t i = 0; i < perturb->count && rc == SEAM_OK; i++)
		rc = apply_alone(perturb->kinds[i], perturb->seed, schedule);
	return rc;
}
