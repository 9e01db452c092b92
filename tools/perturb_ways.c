/* perturb_ways.c: each way to disturb an iteration. */
#include <stdlib.h>

#include "perturb_world.h"

#define PER_ITERATION 3u /* drops and swaps */
#define LATE_ONE_IN 100u
#define LATE_MOST 64u
#define SHAPES 3u
#define WIDE 64u
#define STREAMS 4u
#define SHARED_ONE_IN 16u
#define EVAL_EVERY 3u
#define CHECKPOINT_EVERY 4u
#define CHECKPOINT_BLOCKS 256u
#define CHECKPOINT_AT_ONCE 4u

static uint64_t scaled(uint64_t bytes, uint64_t numerator, uint64_t denominator)
{
	uint64_t result = bytes / denominator * numerator + bytes % denominator * numerator / denominator;
	return result > 0 ? result : 1;
}

enum seam_rc perturb_extra(struct perturb_world *world, uint32_t iteration)
{
	size_t model = perturb_pick(world, iteration);
	if (model == PERTURB_NOWHERE)
		return SEAM_OK;
	size_t first = world->begin[iteration] + 1;
	size_t alloc_at = first + perturb_draw(world, world->end[iteration] - first + 1);
	size_t free_at = alloc_at + perturb_draw(world, world->end[iteration] - alloc_at + 1);
	struct schedule_op op = world->schedule->ops[model];
	op.bytes = scaled(op.bytes, 50 + perturb_draw(world, 101), 100);
	op.gap_ns = 0;
	enum seam_rc rc = edit_block(&world->edit, &op.target);
	if (rc == SEAM_OK)
		rc = edit_insert(&world->edit, alloc_at, &op);
	op.kind = SCHEDULE_FREE;
	return rc == SEAM_OK ? edit_insert(&world->edit, free_at, &op) : rc;
}

static bool touches(const struct schedule_op *op, uint32_t block)
{
	return (op->kind == SCHEDULE_FREE || op->kind == SCHEDULE_RECORD_STREAM) && op->target == block;
}

enum seam_rc perturb_drop(struct perturb_world *world, uint32_t iteration)
{
	for (uint32_t i = 0; i < PER_ITERATION; i++) {
		size_t at = perturb_pick(world, iteration);
		if (at == PERTURB_NOWHERE)
			return SEAM_OK;
		uint32_t block = world->schedule->ops[at].target;
		edit_drop(&world->edit, at);
		for (size_t k = at + 1; k <= world->free_at[block]; k++)
			if (touches(&world->schedule->ops[k], block))
				edit_drop(&world->edit, k);
	}
	return SEAM_OK;
}

/* The next allocation behind that at `at` which may come before it; PERTURB_NOWHERE: none. */
static size_t neighbour(const struct perturb_world *world, size_t at, size_t end)
{
	const struct schedule_op *ops = world->schedule->ops;
	for (size_t i = at + 1; i < end && !touches(&ops[i], ops[at].target); i++)
		if (ops[i].kind == SCHEDULE_ALLOC)
			return i;
	return PERTURB_NOWHERE;
}

enum seam_rc perturb_swap(struct perturb_world *world, uint32_t iteration)
{
	struct schedule_op *ops = world->schedule->ops;
	for (uint32_t i = 0, tries = 0; i < PER_ITERATION && tries < 64; tries++) {
		size_t a = perturb_pick(world, iteration);
		size_t b = a != PERTURB_NOWHERE ? neighbour(world, a, world->end[iteration]) : PERTURB_NOWHERE;
		if (b == PERTURB_NOWHERE || (ops[a].bytes == ops[b].bytes && ops[a].stream == ops[b].stream))
			continue;
		struct schedule_op kept = ops[a];
		ops[a] = ops[b];
		ops[b] = kept;
		world->alloc_at[ops[a].target] = a;
		world->alloc_at[ops[b].target] = b;
		i++;
	}
	return SEAM_OK;
}

enum seam_rc perturb_late(struct perturb_world *world, uint32_t iteration)
{
	enum seam_rc rc = SEAM_OK;
	for (size_t i = world->begin[iteration]; i < world->end[iteration] && rc == SEAM_OK; i++) {
		const struct schedule_op *op = &world->schedule->ops[i];
		if (op->kind != SCHEDULE_FREE || perturb_draw(world, LATE_ONE_IN) != 0)
			continue;
		size_t at = i + 2 + perturb_draw(world, LATE_MOST);
		if (at > world->schedule->op_count)
			at = world->schedule->op_count;
		edit_drop(&world->edit, i);
		rc = edit_insert(&world->edit, at, op);
	}
	return rc;
}

enum seam_rc perturb_size(struct perturb_world *world, uint32_t iteration)
{
	size_t at = perturb_pick(world, iteration);
	if (at == PERTURB_NOWHERE)
		return SEAM_OK;
	struct schedule_op *op = &world->schedule->ops[at];
	uint64_t percent = 50 + perturb_draw(world, 100);
	op->bytes = scaled(op->bytes, percent < 100 ? percent : percent + 1, 100);
	return SEAM_OK;
}

/* ---- what stands between iterations ---- */

static size_t peak_at(const struct perturb_world *world, uint32_t iteration)
{
	const struct schedule_op *ops = world->schedule->ops;
	int64_t live = 0;
	int64_t most = 0;
	size_t at = world->begin[iteration];
	for (size_t i = at; i < world->end[iteration]; i++) {
		if (ops[i].kind == SCHEDULE_ALLOC)
			live += (int64_t)ops[i].bytes;
		else if (ops[i].kind == SCHEDULE_FREE)
			live -= (int64_t)ops[world->alloc_at[ops[i].target]].bytes;
		if (live > most) {
			most = live;
			at = i;
		}
	}
	return at;
}

/* Blocks of the pass that lie behind an iteration: a stack of the live ones, and who stands for whom. */
struct pass {
	struct perturb_world *world;
	size_t at;
	uint32_t *copies;          /* per block: its copy */
	bool *copied;              /* per block: the copy lives */
	struct schedule_op *stack; /* allocations, in order */
	size_t height;
};

static enum seam_rc pass_copy(struct pass *pass, const struct schedule_op *model)
{
	struct schedule_op op = *model;
	enum seam_rc rc = SEAM_OK;
	if (model->kind == SCHEDULE_ALLOC && pass->world->free_at[model->target] != PERTURB_NOWHERE) {
		rc = edit_block(&pass->world->edit, &op.target);
		if (rc != SEAM_OK)
			return rc;
		pass->copies[model->target] = op.target;
		pass->copied[model->target] = true;
		pass->stack[pass->height++] = *model;
		return edit_insert(&pass->world->edit, pass->at, &op);
	}
	if ((model->kind != SCHEDULE_FREE && model->kind != SCHEDULE_RECORD_STREAM) || !pass->copied[model->target])
		return SEAM_OK;
	op.target = pass->copies[model->target];
	pass->copied[model->target] = model->kind != SCHEDULE_FREE;
	return edit_insert(&pass->world->edit, pass->at, &op);
}

static enum seam_rc pass_end(struct pass *pass)
{
	enum seam_rc rc = SEAM_OK;
	while (pass->height > 0 && rc == SEAM_OK) {
		struct schedule_op op = pass->stack[--pass->height];
		op.kind = SCHEDULE_FREE;
		rc = pass_copy(pass, &op);
	}
	return rc;
}

enum seam_rc perturb_eval(struct perturb_world *world, uint32_t iteration)
{
	if (iteration % EVAL_EVERY != EVAL_EVERY - 1 || iteration == world->schedule->iterations - 1)
		return SEAM_OK;
	size_t blocks = (size_t)world->schedule->block_count + 1;
	struct pass pass = {
		.world = world,
		.at = world->end[iteration] + 1,
		.copies = calloc(blocks, sizeof(*pass.copies)),
		.copied = calloc(blocks, sizeof(*pass.copied)),
		.stack = calloc(blocks, sizeof(*pass.stack)),
	};
	enum seam_rc rc = SEAM_OOM_META;
	if (pass.copies != NULL && pass.copied != NULL && pass.stack != NULL) {
		size_t last = peak_at(world, iteration);
		rc = SEAM_OK;
		for (size_t i = world->begin[iteration]; i <= last && rc == SEAM_OK; i++)
			rc = pass_copy(&pass, &world->schedule->ops[i]);
		if (rc == SEAM_OK)
			rc = pass_end(&pass);
	}
	free(pass.copies);
	free(pass.copied);
	free(pass.stack);
	return rc;
}

enum seam_rc perturb_checkpoint(struct perturb_world *world, uint32_t iteration)
{
	const struct schedule *schedule = world->schedule;
	const size_t at = world->end[iteration] + 1;
	struct schedule_op held[CHECKPOINT_AT_ONCE];
	uint32_t made = 0;
	enum seam_rc rc = SEAM_OK;
	if (iteration % CHECKPOINT_EVERY != CHECKPOINT_EVERY - 1 || iteration == schedule->iterations - 1)
		return SEAM_OK;
	for (size_t i = 0; i < world->end[iteration] && made < CHECKPOINT_BLOCKS && rc == SEAM_OK; i++) {
		struct schedule_op op = schedule->ops[i];
		if (op.kind != SCHEDULE_ALLOC || op.private_id != 0 || world->free_at[op.target] != PERTURB_NOWHERE)
			continue;
		if (made >= CHECKPOINT_AT_ONCE)
			rc = edit_insert(&world->edit, at, &held[made % CHECKPOINT_AT_ONCE]);
		if (rc == SEAM_OK)
			rc = edit_block(&world->edit, &op.target);
		op.gap_ns = 0;
		if (rc == SEAM_OK)
			rc = edit_insert(&world->edit, at, &op);
		op.kind = SCHEDULE_FREE;
		held[made++ % CHECKPOINT_AT_ONCE] = op;
	}
	for (uint32_t i = made > CHECKPOINT_AT_ONCE ? made - CHECKPOINT_AT_ONCE : 0; i < made && rc == SEAM_OK; i++)
		rc = edit_insert(&world->edit, at, &held[i % CHECKPOINT_AT_ONCE]);
	return rc;
}

/* ---- what an iteration as a whole does otherwise ---- */

static enum seam_rc scale(struct perturb_world *world, uint32_t iteration, uint64_t numerator, uint64_t denominator)
{
	for (size_t i = world->begin[iteration]; i < world->end[iteration]; i++) {
		struct schedule_op *op = &world->schedule->ops[i];
		if (op->kind == SCHEDULE_ALLOC && perturb_passes(world, op->target, iteration))
			op->bytes = scaled(op->bytes, numerator, denominator);
	}
	return SEAM_OK;
}

enum seam_rc perturb_shapes(struct perturb_world *world, uint32_t iteration)
{
	return scale(world, iteration, SHAPES + 1 - perturb_draw(world, SHAPES), SHAPES + 1);
}

enum seam_rc perturb_wide(struct perturb_world *world, uint32_t iteration)
{
	return scale(world, iteration, 2 * WIDE - perturb_draw(world, WIDE), 2 * WIDE);
}

enum seam_rc perturb_threads(struct perturb_world *world, uint32_t iteration)
{
	struct schedule_op *ops = world->schedule->ops;
	size_t half = world->begin[iteration] + (world->end[iteration] - world->begin[iteration]) / 2;
	for (size_t i = half; i < world->end[iteration]; i++)
		if (ops[i].kind == SCHEDULE_ALLOC || ops[i].kind == SCHEDULE_FREE ||
			ops[i].kind == SCHEDULE_RECORD_STREAM)
			ops[i].thread = world->new_thread;
	return SEAM_OK;
}

/* As many streams as are wanted. */
static enum seam_rc add_streams(struct schedule *schedule)
{
	if (schedule->stream_count >= STREAMS)
		return SEAM_OK;
	uint64_t *streams = realloc(schedule->streams, STREAMS * sizeof(*streams));
	if (streams == NULL)
		return SEAM_OOM_META;
	schedule->streams = streams;
	while (schedule->stream_count < STREAMS) {
		uint64_t most = 0;
		for (uint32_t i = 0; i < schedule->stream_count; i++)
			most = streams[i] > most ? streams[i] : most;
		streams[schedule->stream_count++] = most + 1;
	}
	return SEAM_OK;
}

enum seam_rc perturb_streams(struct perturb_world *world, uint32_t iteration)
{
	enum seam_rc rc = add_streams(world->schedule);
	uint64_t ordinal = 0;
	for (size_t i = world->begin[iteration]; i < world->end[iteration] && rc == SEAM_OK; i++) {
		struct schedule_op *op = &world->schedule->ops[i];
		if (op->kind != SCHEDULE_ALLOC || !perturb_passes(world, op->target, iteration))
			continue;
		/* By its place among those that pass: the same stream in every iteration. */
		uint64_t chance = perturb_hash(world, ordinal++);
		size_t free_at = world->free_at[op->target];
		struct schedule_op use = world->schedule->ops[free_at];
		op->stream = (uint32_t)(chance % STREAMS);
		world->schedule->ops[free_at].stream = op->stream;
		use.kind = SCHEDULE_RECORD_STREAM;
		use.stream = (op->stream + 1) % STREAMS;
		use.gap_ns = 0;
		if (chance / STREAMS % SHARED_ONE_IN == 0)
			rc = edit_insert(&world->edit, free_at, &use);
	}
	return rc;
}
