/* fit_check.c: whether a schedule is one of a recipe: FS1-FS7 (fit.h), proven from the list of operations alone.
 *
 * Shares no code with what makes and times schedules. It walks the list once, as the program issues it, with its own
 * account of what is where.
 */
#include <seam/fit.h>

#include "fit_order.h"
#include "meta.h"

#define NO_MEMORY "no memory for the check"

struct chunk_state {
	uint32_t load;         /* that brought it; SEAM_FIT_NONE: it is not there */
	uint32_t reader;       /* the last visit since */
	uint32_t made, expect; /* visits of a micro-batch that have made its gradients; of all that do */
	uint32_t gradients;    /* the last visit that made some */
	uint32_t left;         /* the last GRADIENT_OUT */
	uint32_t left_count;   /* in all micro-batches */
	uint32_t step;         /* its step, wherever it is in the list */
	uint32_t step_count;
	bool has_gradients; /* on the device */
};

struct block_state {
	uint32_t forward; /* of this micro-batch, likewise */
	uint32_t out, in;
};

struct walk {
	const struct seam_fit_problem *problem;
	const struct seam_fit_recipe *recipe;
	const struct seam_fit_schedule *schedule;
	struct seam_fit_order order;
	bool *is_dropped; /* of each operation whose memory is given back */
	struct chunk_state *chunks;
	struct block_state *blocks;
	uint32_t visits;       /* done */
	uint32_t pass_visits;  /* of a micro-batch */
	uint32_t last_compute; /* before here; SEAM_FIT_NONE */
	uint32_t end_compute;  /* of the list */
	uint32_t last_visit;   /* of a micro-batch */
	uint32_t loaded;       /* chunks that come and are there */
	int64_t level;
	uint64_t out_bytes, host_bytes;
};

/* An operation's effect on memory, as this file accounts. */
struct effect {
	uint64_t top;
	int64_t net;
};

static uint32_t lane_of(uint32_t kind)
{
	switch (kind) {
	case SEAM_FIT_LOAD:
	case SEAM_FIT_IN:
		return SEAM_FIT_UP;
	case SEAM_FIT_OUT:
	case SEAM_FIT_GRADIENT_OUT:
		return SEAM_FIT_DOWN;
	case SEAM_FIT_STEP_HOST:
		return SEAM_FIT_HOST;
	default:
		return SEAM_FIT_COMPUTE;
	}
}

/* The list by itself: kinds, lanes, numbers. */
static const char *check_op(const struct walk *walk, uint32_t number)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	if (op->kind >= SEAM_FIT_KINDS || op->lane != lane_of(op->kind))
		return "FS1";
	for (uint32_t i = 0; i < 2; i++)
		if (op->after[i] != SEAM_FIT_NONE && op->after[i] >= walk->schedule->op_count)
			return "FS1";
	uint32_t end = op->kind == SEAM_FIT_VISIT                     ? walk->problem->visit_count
		: op->kind == SEAM_FIT_DROP                           ? number
		: op->kind == SEAM_FIT_OUT || op->kind == SEAM_FIT_IN ? walk->problem->block_count
								      : walk->problem->chunk_count;
	return op->subject >= end ? "FS1" : NULL;
}

static bool is_swapped(const struct walk *walk, uint32_t block, uint64_t *ret_bytes)
{
	*ret_bytes =
		block == SEAM_FIT_NONE ? 0 : walk->problem->blocks[block].swap_bytes[walk->recipe->treatments[block]];
	return *ret_bytes > 0;
}

static bool is_coming(const struct walk *walk, uint32_t chunk)
{
	return walk->recipe->comes[chunk] != 0;
}

/* Memory that a copy takes is what the compute lane has given back before: of this iteration or the one before. */
static bool may_take(const struct walk *walk, uint32_t number)
{
	if (walk->last_compute != SEAM_FIT_NONE)
		return seam__fit_ends_before(&walk->order, walk->last_compute, number);
	return seam__fit_ended_before(&walk->order, walk->end_compute, number);
}

static const char *walk_swapped_visit(
	struct walk *walk, uint32_t number, const struct seam_fit_visit *visit, struct effect *effect)
{
	uint64_t bytes;
	struct block_state *block = &walk->blocks[visit->block];
	bool swapped = is_swapped(walk, visit->block, &bytes);
	if (visit->phase == SEAM_FIT_FORWARD) {
		*block = (struct block_state){number, SEAM_FIT_NONE, SEAM_FIT_NONE};
		effect->net += (int64_t)bytes;
		return NULL;
	}
	if (swapped && (block->in == SEAM_FIT_NONE || !seam__fit_ends_before(&walk->order, block->in, number)))
		return "FS4";
	if (!swapped)
		return NULL;
	/* All through the visit it is in the level and in the curve. */
	effect->top = effect->top > bytes ? effect->top - bytes : 0;
	effect->net -= (int64_t)bytes;
	walk->out_bytes -= bytes;
	block->out = SEAM_FIT_NONE;
	return NULL;
}

static const char *walk_chunk_of_visit(
	struct walk *walk, uint32_t number, const struct seam_fit_visit *visit, struct effect *effect)
{
	struct chunk_state *chunk = &walk->chunks[visit->chunk];
	if (is_coming(walk, visit->chunk)) {
		if (chunk->load == SEAM_FIT_NONE || !seam__fit_ends_before(&walk->order, chunk->load, number))
			return "FS2";
		chunk->reader = number;
	}
	if (!visit->gradients)
		return NULL;
	if (!chunk->has_gradients) {
		effect->top += walk->problem->chunks[visit->chunk].gradient_bytes;
		effect->net += (int64_t)walk->problem->chunks[visit->chunk].gradient_bytes;
	}
	chunk->has_gradients = true;
	chunk->made++;
	chunk->gradients = number;
	return NULL;
}

static const char *walk_visit(struct walk *walk, uint32_t number, struct effect *effect)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	uint32_t in_passes = walk->pass_visits * walk->problem->micro_batches;
	uint32_t due = walk->visits < in_passes ? walk->visits % walk->pass_visits
						: walk->visits - in_passes + walk->pass_visits;
	if (op->subject != due || walk->visits >= in_passes + walk->problem->visit_count - walk->pass_visits)
		return "FS1";
	const struct seam_fit_visit *visit = &walk->problem->visits[due];
	uint32_t treatment = visit->block == SEAM_FIT_NONE ? 0 : walk->recipe->treatments[visit->block];
	uint32_t micro_batch =
		walk->visits < in_passes ? walk->visits / walk->pass_visits : walk->problem->micro_batches - 1;
	if (op->ns != visit->under[treatment].compute_ns || op->bytes != 0 || op->micro_batch != micro_batch)
		return "FS1";
	*effect = (struct effect){visit->under[treatment].top_bytes, visit->under[treatment].net_bytes};
	const char *broken = visit->chunk == SEAM_FIT_NONE ? NULL : walk_chunk_of_visit(walk, number, visit, effect);
	if (broken == NULL && visit->block != SEAM_FIT_NONE)
		broken = walk_swapped_visit(walk, number, visit, effect);
	walk->last_visit = walk->visits < in_passes ? number : walk->last_visit;
	walk->visits++;
	return broken;
}

static const char *walk_load(struct walk *walk, uint32_t number, struct effect *effect)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	struct chunk_state *chunk = &walk->chunks[op->subject];
	uint64_t bytes = walk->problem->chunks[op->subject].weight_bytes;
	if (op->bytes != bytes || op->ns != 0)
		return "FS1";
	if (!is_coming(walk, op->subject) || chunk->load != SEAM_FIT_NONE || ++walk->loaded > walk->recipe->buffers ||
		chunk->step_count > 0 ||
		(chunk->step != SEAM_FIT_NONE && !seam__fit_ended_before(&walk->order, chunk->step, number)))
		return "FS2";
	if (!may_take(walk, number))
		return "FS3";
	chunk->load = chunk->reader = number;
	*effect = (struct effect){bytes, (int64_t)bytes};
	return NULL;
}

static const char *walk_out(struct walk *walk, uint32_t number)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	struct block_state *block = &walk->blocks[op->subject];
	uint64_t bytes;
	if (!is_swapped(walk, op->subject, &bytes) || block->forward == SEAM_FIT_NONE || block->out != SEAM_FIT_NONE ||
		!seam__fit_ends_before(&walk->order, block->forward, number))
		return "FS4";
	if (op->bytes != bytes || op->ns != 0)
		return "FS1";
	block->out = number;
	walk->out_bytes += bytes;
	walk->host_bytes = walk->out_bytes > walk->host_bytes ? walk->out_bytes : walk->host_bytes;
	return NULL;
}

static const char *walk_in(struct walk *walk, uint32_t number, struct effect *effect)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	struct block_state *block = &walk->blocks[op->subject];
	uint64_t bytes;
	if (!is_swapped(walk, op->subject, &bytes) || block->out == SEAM_FIT_NONE || block->in != SEAM_FIT_NONE ||
		!seam__fit_ends_before(&walk->order, block->out, number))
		return "FS4";
	if (op->bytes != bytes || op->ns != 0)
		return "FS1";
	if (!may_take(walk, number))
		return "FS3";
	block->in = number;
	*effect = (struct effect){bytes, (int64_t)bytes};
	return NULL;
}

static const char *walk_gradient_out(struct walk *walk, uint32_t number)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	struct chunk_state *chunk = &walk->chunks[op->subject];
	if (!is_coming(walk, op->subject) || chunk->expect == 0 || chunk->made != chunk->expect ||
		!seam__fit_ends_before(&walk->order, chunk->gradients, number))
		return "FS5";
	if (op->bytes != walk->problem->chunks[op->subject].gradient_bytes || op->ns != 0)
		return "FS1";
	chunk->made = 0;
	chunk->left = number;
	chunk->left_count++;
	chunk->has_gradients = false;
	return NULL;
}

static const char *walk_drop(struct walk *walk, uint32_t number, struct effect *effect)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	uint32_t of = op->subject;
	const struct seam_fit_op *source = &walk->schedule->ops[of];
	if (op->ns != 0 || op->bytes != 0)
		return "FS1";
	uint32_t reader = of;
	if (source->kind == SEAM_FIT_LOAD) {
		struct chunk_state *chunk = &walk->chunks[source->subject];
		if (chunk->load != of)
			return "FS3";
		reader = chunk->reader;
		chunk->load = SEAM_FIT_NONE;
		walk->loaded--;
	} else if (source->kind != SEAM_FIT_OUT && source->kind != SEAM_FIT_GRADIENT_OUT)
		return "FS3";
	if (walk->is_dropped[of] || !seam__fit_ends_before(&walk->order, reader, number))
		return "FS3";
	walk->is_dropped[of] = true;
	*effect = (struct effect){0, -(int64_t)source->bytes};
	return NULL;
}

/* Before any step, where the program needs all gradients. */
static bool all_are_there(const struct walk *walk, uint32_t number)
{
	for (uint32_t i = 0; i < walk->problem->chunk_count; i++) {
		const struct chunk_state *chunk = &walk->chunks[i];
		if (chunk->expect == 0)
			continue;
		if (!seam__fit_ends_before(&walk->order, is_coming(walk, i) ? chunk->left : chunk->gradients, number))
			return false;
	}
	return true;
}

static const char *walk_step(struct walk *walk, uint32_t number, struct effect *effect)
{
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	const struct seam_fit_chunk *numbers = &walk->problem->chunks[op->subject];
	struct chunk_state *chunk = &walk->chunks[op->subject];
	bool on_host = op->kind == SEAM_FIT_STEP_HOST;
	bool early = (walk->problem->flags & SEAM_FIT_OVERLAP_BACKWARD) && !(walk->problem->flags & SEAM_FIT_CLIPS);
	uint32_t batches = walk->problem->micro_batches;
	if (op->ns != (on_host ? numbers->host_step_ns : numbers->device_step_ns) || op->bytes != 0)
		return "FS1";
	if (on_host != is_coming(walk, op->subject) || chunk->expect == 0 || chunk->step_count++ > 0)
		return "FS5";
	if (on_host ? chunk->left_count != batches || !seam__fit_ends_before(&walk->order, chunk->left, number)
		    : chunk->made != batches * chunk->expect ||
				!seam__fit_ends_before(&walk->order, chunk->gradients, number))
		return "FS5";
	if (walk->visits < walk->pass_visits * batches ||
		((!on_host || !early) && !seam__fit_ends_before(&walk->order, walk->last_visit, number)))
		return "FS5";
	if ((walk->problem->flags & SEAM_FIT_CLIPS) && !all_are_there(walk, number))
		return "FS5";
	if (!on_host)
		*effect = (struct effect){0, -(int64_t)numbers->gradient_bytes};
	return NULL;
}

static const char *walk_op(struct walk *walk, uint32_t number)
{
	struct effect effect = {0};
	const char *broken = NULL;
	switch (walk->schedule->ops[number].kind) {
	case SEAM_FIT_VISIT:
		broken = walk_visit(walk, number, &effect);
		break;
	case SEAM_FIT_LOAD:
		broken = walk_load(walk, number, &effect);
		break;
	case SEAM_FIT_OUT:
		broken = walk_out(walk, number);
		break;
	case SEAM_FIT_IN:
		broken = walk_in(walk, number, &effect);
		break;
	case SEAM_FIT_GRADIENT_OUT:
		broken = walk_gradient_out(walk, number);
		break;
	case SEAM_FIT_DROP:
		broken = walk_drop(walk, number, &effect);
		break;
	default:
		broken = walk_step(walk, number, &effect);
	}
	if (broken != NULL)
		return broken;
	const struct seam_fit_op *op = &walk->schedule->ops[number];
	if (effect.net > 0 && (uint64_t)effect.net > effect.top)
		effect.top = (uint64_t)effect.net;
	if (op->net_bytes != effect.net || op->top_bytes < effect.top)
		return "FS7";
	if (walk->level + (int64_t)effect.top > (int64_t)walk->schedule->peak_bytes)
		return "FS7";
	walk->level += effect.net;
	if (op->lane == SEAM_FIT_COMPUTE)
		walk->last_compute = number;
	return NULL;
}

/* The state before the first operation. */
static const char *begin(struct walk *walk)
{
	const struct seam_fit_problem *problem = walk->problem;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		walk->chunks[i] = (struct chunk_state){.load = SEAM_FIT_NONE,
			.gradients = SEAM_FIT_NONE,
			.left = SEAM_FIT_NONE,
			.step = SEAM_FIT_NONE};
	for (uint32_t i = 0; i < problem->block_count; i++)
		walk->blocks[i] = (struct block_state){SEAM_FIT_NONE, SEAM_FIT_NONE, SEAM_FIT_NONE};
	for (uint32_t i = 0; i < problem->visit_count; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		walk->pass_visits += visit->phase != SEAM_FIT_STEPPING;
		if (visit->gradients)
			walk->chunks[visit->chunk].expect++;
	}
	walk->last_compute = walk->end_compute = walk->last_visit = SEAM_FIT_NONE;
	walk->level = (int64_t)problem->base_bytes;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (!is_coming(walk, i))
			walk->level += (int64_t)(problem->chunks[i].weight_bytes + problem->chunks[i].state_bytes);
	for (uint32_t i = 0; i < walk->schedule->op_count; i++) {
		const char *broken = check_op(walk, i);
		if (broken != NULL)
			return broken;
		const struct seam_fit_op *op = &walk->schedule->ops[i];
		if (op->lane == SEAM_FIT_COMPUTE)
			walk->end_compute = i;
		if (op->kind == SEAM_FIT_STEP_HOST)
			walk->chunks[op->subject].step = i;
	}
	return walk->level == (int64_t)walk->schedule->first_bytes && walk->level <= (int64_t)walk->schedule->peak_bytes
		? NULL
		: "FS7";
}

/* The rules that hold behind the last one. */
static const char *finish(const struct walk *walk)
{
	const struct seam_fit_problem *problem = walk->problem;
	uint32_t steppings = problem->visit_count - walk->pass_visits;
	if (walk->visits != walk->pass_visits * problem->micro_batches + steppings)
		return "FS1";
	uint64_t host_bytes = walk->host_bytes;
	for (uint32_t i = 0; i < problem->chunk_count; i++) {
		if (walk->chunks[i].expect > 0 && walk->chunks[i].step_count != 1)
			return "FS5";
		host_bytes += is_coming(walk, i) ? problem->chunks[i].host_bytes : 0;
	}
	for (uint32_t i = 0; i < walk->schedule->op_count; i++) {
		uint32_t kind = walk->schedule->ops[i].kind;
		bool is_given = kind == SEAM_FIT_LOAD || kind == SEAM_FIT_OUT || kind == SEAM_FIT_GRADIENT_OUT;
		if (is_given && !walk->is_dropped[i])
			return "FS6";
	}
	int64_t net = 0; /* of the program's own, which repeats as it is */
	for (uint32_t i = 0; i < problem->visit_count; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		uint32_t treatment = visit->block == SEAM_FIT_NONE ? 0 : walk->recipe->treatments[visit->block];
		net += visit->under[treatment].net_bytes *
			(visit->phase == SEAM_FIT_STEPPING ? 1 : (int64_t)problem->micro_batches);
	}
	if (walk->level != (int64_t)walk->schedule->first_bytes + net)
		return "FS6";
	return host_bytes > walk->schedule->host_bytes || walk->schedule->peak_op >= walk->schedule->op_count ? "FS7"
													      : NULL;
}

static bool is_recipe(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe)
{
	if (recipe == NULL || recipe->buffers == 0 || recipe->ahead == 0 ||
		(recipe->treatments == NULL && problem->block_count > 0) ||
		(recipe->comes == NULL && problem->chunk_count > 0))
		return false;
	for (uint32_t i = 0; i < problem->block_count; i++)
		if (recipe->treatments[i] >= SEAM_FIT_TREATMENTS ||
			!(problem->blocks[i].allowed & 1u << recipe->treatments[i]) ||
			(problem->machine.up == 0 && problem->blocks[i].swap_bytes[recipe->treatments[i]] > 0))
			return false;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (recipe->comes[i] && (problem->chunks[i].must_stay || problem->machine.up == 0))
			return false;
	return true;
}

static const char *walk_all(struct walk *walk, struct seam_region *region)
{
	size_t ops = walk->schedule->op_count;
	walk->is_dropped = seam__region_array(region, ops, sizeof(*walk->is_dropped));
	walk->chunks = seam__region_array(region, walk->problem->chunk_count, sizeof(*walk->chunks));
	walk->blocks = seam__region_array(region, walk->problem->block_count, sizeof(*walk->blocks));
	if (walk->is_dropped == NULL || walk->chunks == NULL || walk->blocks == NULL)
		return NO_MEMORY;
	const char *broken = begin(walk);
	if (broken != NULL)
		return broken;
	if (seam__fit_order_init(&walk->order, walk->schedule, region) != SEAM_OK)
		return NO_MEMORY;
	for (uint32_t i = 0; i < walk->schedule->op_count && broken == NULL; i++)
		broken = walk_op(walk, i);
	return broken == NULL ? finish(walk) : broken;
}

const char *seam_fit_check(const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe,
	const struct seam_fit_schedule *schedule)
{
	enum seam_rc rc = seam_fit_problem_check(problem, NULL, 0);
	if (rc != SEAM_OK)
		return rc == SEAM_OOM_META ? NO_MEMORY : "no problem";
	if (!is_recipe(problem, recipe))
		return "no recipe of the problem";
	if (schedule == NULL || (schedule->ops == NULL && schedule->op_count > 0) || schedule->peak_bytes > INT64_MAX)
		return "no schedule";
	struct seam_region *region = seam__region_create(seam__meta_process());
	if (region == NULL)
		return NO_MEMORY;
	struct walk walk = {.problem = problem, .recipe = recipe, .schedule = schedule};
	const char *broken = walk_all(&walk, region);
	seam__region_destroy(region);
	return broken;
}
