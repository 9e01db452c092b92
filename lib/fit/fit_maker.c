/* fit_maker.c: from a recipe to the list of operations that it means. See fit_maker.h, and fit.h for the rules.
 *
 * Invariants: FM1 a chunk is among the resident ones if and only if it has a load; FM2 chunks of positions from the
 * border up to `scanned` are resident, if they come.
 */
#include "fit_maker.h"

#include <string.h>

#include "check.h"
#include "fit_problem.h"

/* A copy whose memory is given back at a border. */
struct seam_fit_leaving {
	uint32_t op;
	uint32_t border;
	uint64_t bytes;
};

#define OPS_A_POSITION 9 /* visit, load, drop; in, out, drop; gradients out, drop; a drop behind the last visit */
#define OPS_A_CHUNK 2    /* one step; a drop at the end */

static void read_problem(struct seam_fit_maker *maker)
{
	const struct seam_fit_problem *problem = maker->problem;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		maker->first[i] = maker->last_gradients[i] = SEAM_FIT_NONE;
	for (uint32_t i = 0; i < maker->pass_visits; i++) {
		const struct seam_fit_visit *visit = &problem->visits[i];
		if (visit->phase == SEAM_FIT_BACKWARD)
			maker->backward[visit->block] = i;
		if (visit->chunk == SEAM_FIT_NONE)
			continue;
		if (maker->first[visit->chunk] == SEAM_FIT_NONE)
			maker->first[visit->chunk] = i;
		if (visit->gradients)
			maker->last_gradients[visit->chunk] = i;
	}
	/* Backwards; `next` is free until a schedule is made. */
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		maker->next[i] = maker->first[i] == SEAM_FIT_NONE ? 0 : maker->first[i] + maker->pass_visits;
	for (uint32_t i = maker->pass_visits; i-- > 0;) {
		uint32_t chunk = problem->visits[i].chunk;
		if (chunk == SEAM_FIT_NONE)
			continue;
		maker->following[i] = maker->next[chunk] - i;
		maker->next[chunk] = i;
	}
}

enum seam_rc seam__fit_maker_init(
	struct seam_fit_maker *maker, const struct seam_fit_problem *problem, struct seam_region *region)
{
	*maker = (struct seam_fit_maker){.problem = problem};
	for (uint32_t i = 0; i < problem->visit_count; i++)
		maker->pass_visits += problem->visits[i].phase != SEAM_FIT_STEPPING;
	maker->positions = maker->pass_visits * problem->micro_batches;
	maker->most_ops = OPS_A_POSITION * maker->positions + OPS_A_CHUNK * problem->chunk_count + problem->visit_count;
	maker->ops = seam__region_array(region, maker->most_ops, sizeof(*maker->ops));
	maker->leaving = seam__region_array(region, 2 * (size_t)maker->positions, sizeof(*maker->leaving));
	maker->following = seam__region_array(region, maker->pass_visits, sizeof(uint32_t));
	uint32_t **const of_chunks[] = {&maker->first, &maker->last_gradients, &maker->resident, &maker->load,
		&maker->first_load, &maker->next, &maker->gradient_out};
	uint32_t **const of_blocks[] = {&maker->backward, &maker->out, &maker->in};
	bool is_there = maker->ops != NULL && maker->leaving != NULL && maker->following != NULL;
	for (size_t i = 0; i < sizeof(of_chunks) / sizeof(*of_chunks); i++)
		is_there &=
			(*of_chunks[i] = seam__region_array(region, problem->chunk_count, sizeof(uint32_t))) != NULL;
	for (size_t i = 0; i < sizeof(of_blocks) / sizeof(*of_blocks); i++)
		is_there &=
			(*of_blocks[i] = seam__region_array(region, problem->block_count, sizeof(uint32_t))) != NULL;
	maker->has_gradients = seam__region_array(region, problem->chunk_count, 1);
	if (!is_there || maker->has_gradients == NULL)
		return SEAM_OOM_META;
	read_problem(maker);
	return SEAM_OK;
}

static bool comes(const struct seam_fit_maker *maker, uint32_t chunk)
{
	return chunk != SEAM_FIT_NONE && maker->recipe->comes[chunk];
}

/* Appends an operation; its number. */
static uint32_t add(struct seam_fit_maker *maker, const struct seam_fit_op *op)
{
	static const uint8_t lanes[] = {
#define SEAM_FIT_OP(name, lane, text) SEAM_FIT_##lane,
#include <seam/fit_ops.def>
#undef SEAM_FIT_OP
	};
	uint32_t number = maker->op_count++;
	maker->ops[number] = *op;
	maker->ops[number].lane = lanes[op->kind];
	if (lanes[op->kind] == SEAM_FIT_COMPUTE)
		maker->last_compute = number;
	return number;
}

static void drop(struct seam_fit_maker *maker, uint32_t of, uint32_t micro_batch, uint32_t after, uint64_t bytes)
{
	(void)add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_DROP,
			.subject = of,
			.micro_batch = micro_batch,
			.after = {after, SEAM_FIT_NONE},
			.net_bytes = -(int64_t)bytes,
		});
}

/* Weights are read on the compute lane: nothing to wait for. */
static void drop_chunk(struct seam_fit_maker *maker, uint32_t at, uint32_t micro_batch)
{
	uint32_t chunk = maker->resident[at];
	drop(maker, maker->load[chunk], micro_batch, SEAM_FIT_NONE, maker->problem->chunks[chunk].weight_bytes);
	maker->load[chunk] = SEAM_FIT_NONE;
	maker->resident[at] = maker->resident[--maker->resident_count];
}

static void load_chunk(struct seam_fit_maker *maker, uint32_t chunk, uint32_t micro_batch)
{
	uint64_t bytes = maker->problem->chunks[chunk].weight_bytes;
	/* An operation of the iteration before has a number later: see add_host_step() and seam__fit_make(). */
	maker->load[chunk] = add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_LOAD,
			.subject = chunk,
			.micro_batch = micro_batch,
			.after = {maker->last_compute, SEAM_FIT_NONE},
			.bytes = bytes,
			.top_bytes = bytes,
			.net_bytes = (int64_t)bytes,
		});
	maker->resident[maker->resident_count++] = chunk;
	if (maker->first_load[chunk] == SEAM_FIT_NONE)
		maker->first_load[chunk] = maker->load[chunk];
}

/* The resident chunk that is needed last. */
static uint32_t furthest(const struct seam_fit_maker *maker)
{
	uint32_t found = 0;
	for (uint32_t i = 1; i < maker->resident_count; i++)
		if (maker->next[maker->resident[i]] > maker->next[maker->resident[found]])
			found = i;
	return found;
}

/* Loads what is needed next, as long as there are buffers for it: free ones, or of what is needed later. */
static void load_ahead(struct seam_fit_maker *maker, uint32_t micro_batch)
{
	for (; maker->scanned < maker->positions; maker->scanned++) {
		uint32_t chunk = maker->problem->visits[maker->scanned % maker->pass_visits].chunk;
		if (!comes(maker, chunk) || maker->load[chunk] != SEAM_FIT_NONE)
			continue;
		if (maker->resident_count == maker->recipe->buffers) {
			uint32_t victim = furthest(maker);
			if (maker->next[maker->resident[victim]] <= maker->scanned)
				return;
			drop_chunk(maker, victim, micro_batch);
		}
		load_chunk(maker, chunk, micro_batch);
	}
}

static void leave(struct seam_fit_maker *maker, uint32_t op, uint32_t border, uint64_t bytes)
{
	maker->leaving[maker->leaving_end++] = (struct seam_fit_leaving){op, border, bytes};
}

/* Gives back what has left, where that is due. Nearly in the order of the list: what is due early because its own
 * backward pass comes is behind others then. */
static void drop_left(struct seam_fit_maker *maker, uint32_t border, uint32_t micro_batch)
{
	for (uint32_t i = maker->leaving_first; i < maker->leaving_end; i++) {
		struct seam_fit_leaving *leaving = &maker->leaving[i];
		if (leaving->op == SEAM_FIT_NONE || leaving->border > border)
			continue;
		drop(maker, leaving->op, micro_batch, leaving->op, leaving->bytes);
		leaving->op = SEAM_FIT_NONE;
	}
	while (maker->leaving_first < maker->leaving_end && maker->leaving[maker->leaving_first].op == SEAM_FIT_NONE)
		maker->leaving_first++;
}

static uint64_t swap_bytes(const struct seam_fit_maker *maker, uint32_t block)
{
	return block == SEAM_FIT_NONE ? 0 : maker->problem->blocks[block].swap_bytes[maker->recipe->treatments[block]];
}

/* Bytes that are needed `ahead` visits from here begin to come back; so does what is nearer and has been given back
 * just now, or not at all yet. */
static void bring_back(struct seam_fit_maker *maker, uint32_t position)
{
	uint32_t pass_begin = position - position % maker->pass_visits;
	uint32_t end = position + maker->ahead + 1;
	end = end < pass_begin + maker->pass_visits ? end : pass_begin + maker->pass_visits;
	for (uint32_t i = position; i < end; i++) {
		const struct seam_fit_visit *visit = &maker->problem->visits[i - pass_begin];
		uint64_t bytes = swap_bytes(maker, visit->block);
		if (visit->phase != SEAM_FIT_BACKWARD || bytes == 0 || maker->out[visit->block] == SEAM_FIT_NONE ||
			maker->in[visit->block] != SEAM_FIT_NONE)
			continue;
		maker->in[visit->block] = add(maker,
			&(struct seam_fit_op){
				.kind = SEAM_FIT_IN,
				.subject = visit->block,
				.micro_batch = position / maker->pass_visits,
				.after = {maker->last_compute, maker->out[visit->block]},
				.bytes = bytes,
				.top_bytes = bytes,
				.net_bytes = (int64_t)bytes,
			});
	}
}

/* The gradients that a visit takes memory for: those of a chunk that has none there. */
static uint64_t new_gradients(struct seam_fit_maker *maker, const struct seam_fit_visit *visit)
{
	if (!visit->gradients || maker->has_gradients[visit->chunk])
		return 0;
	maker->has_gradients[visit->chunk] = 1;
	return maker->problem->chunks[visit->chunk].gradient_bytes;
}

/* The visit itself. What a block sends away is the level's behind its forward pass, and what came back its own behind
 * its backward pass: between, the copies have it. */
static void add_visit(struct seam_fit_maker *maker, uint32_t number, uint32_t micro_batch)
{
	const struct seam_fit_visit *visit = &maker->problem->visits[number];
	const struct seam_fit_curve *curve = seam__fit_curve(visit, maker->recipe);
	uint64_t gradients = new_gradients(maker, visit);
	uint64_t swapped = swap_bytes(maker, visit->block);
	bool came_back = visit->phase == SEAM_FIT_BACKWARD && swapped > 0;
	uint64_t there = came_back ? swapped : 0; /* in the level already, and in the curve's top */
	uint64_t leaves = came_back ? 0 : swapped;
	uint64_t top = curve->top_bytes + gradients;
	int64_t net = curve->net_bytes + (int64_t)gradients + (int64_t)leaves - (int64_t)there;
	top = top > there ? top - there : 0;
	(void)add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_VISIT,
			.subject = number,
			.micro_batch = micro_batch,
			.after = {comes(maker, visit->chunk) ? maker->load[visit->chunk] : SEAM_FIT_NONE,
				came_back ? maker->in[visit->block] : SEAM_FIT_NONE},
			.ns = curve->compute_ns,
			.top_bytes = net > 0 && (uint64_t)net > top ? (uint64_t)net : top,
			.net_bytes = net,
		});
}

/* Bytes that a block sends away leave behind its forward pass. It is given back before its backward pass at the latest.
 */
static void send_away(struct seam_fit_maker *maker, uint32_t position, uint32_t block, uint64_t bytes)
{
	uint32_t due = position + 1 + maker->ahead;
	uint32_t own = position - position % maker->pass_visits + maker->backward[block];
	maker->in[block] = SEAM_FIT_NONE;
	maker->out[block] = add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_OUT,
			.subject = block,
			.micro_batch = position / maker->pass_visits,
			.after = {maker->last_compute, SEAM_FIT_NONE},
			.bytes = bytes,
		});
	leave(maker, maker->out[block], due < own ? due : own, bytes);
	maker->swapped_bytes += bytes;
	if (maker->swapped_bytes > maker->most_swapped_bytes)
		maker->most_swapped_bytes = maker->swapped_bytes;
}

static void send_gradients(struct seam_fit_maker *maker, uint32_t position, uint32_t chunk)
{
	uint64_t bytes = maker->problem->chunks[chunk].gradient_bytes;
	maker->gradient_out[chunk] = add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_GRADIENT_OUT,
			.subject = chunk,
			.micro_batch = position / maker->pass_visits,
			.after = {maker->last_compute, SEAM_FIT_NONE},
			.bytes = bytes,
		});
	maker->has_gradients[chunk] = 0;
	leave(maker, maker->gradient_out[chunk], position + 1 + maker->ahead, bytes);
}

static void add_position(struct seam_fit_maker *maker, uint32_t position)
{
	uint32_t number = position % maker->pass_visits, micro_batch = position / maker->pass_visits;
	const struct seam_fit_visit *visit = &maker->problem->visits[number];
	uint64_t swapped = swap_bytes(maker, visit->block);
	drop_left(maker, position, micro_batch);
	load_ahead(maker, micro_batch);
	bring_back(maker, position);
	add_visit(maker, number, micro_batch);
	if (visit->chunk != SEAM_FIT_NONE) {
		uint32_t next = position + maker->following[number];
		maker->next[visit->chunk] = next < maker->positions ? next : SEAM_FIT_NONE;
	}
	if (visit->phase == SEAM_FIT_FORWARD && swapped > 0)
		send_away(maker, position, visit->block, swapped);
	if (visit->phase == SEAM_FIT_BACKWARD && swapped > 0) {
		maker->swapped_bytes -= swapped;
		maker->out[visit->block] = SEAM_FIT_NONE;
	}
	if (comes(maker, visit->chunk) && maker->last_gradients[visit->chunk] == number)
		send_gradients(maker, position, visit->chunk);
	/* Its weights are old once it is stepped. */
	if (comes(maker, visit->chunk) && maker->next[visit->chunk] == SEAM_FIT_NONE)
		for (uint32_t i = 0; i < maker->resident_count; i++)
			if (maker->resident[i] == visit->chunk)
				drop_chunk(maker, i--, micro_batch);
}

static void add_host_step(struct seam_fit_maker *maker, uint32_t chunk, uint32_t last_out, uint32_t last_visit)
{
	bool is_early = maker->problem->flags == SEAM_FIT_OVERLAP_BACKWARD;
	uint32_t step = add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_STEP_HOST,
			.subject = chunk,
			.micro_batch = maker->problem->micro_batches - 1,
			.after = {maker->problem->flags & SEAM_FIT_CLIPS ? last_out : maker->gradient_out[chunk],
				is_early ? SEAM_FIT_NONE : last_visit},
			.ns = maker->problem->chunks[chunk].host_step_ns,
		});
	/* That of the iteration before is what the chunk's first load waits for. */
	maker->ops[maker->first_load[chunk]].after[1] = step;
}

static void add_device_step(struct seam_fit_maker *maker, uint32_t chunk, uint32_t last_out)
{
	(void)add(maker,
		&(struct seam_fit_op){
			.kind = SEAM_FIT_STEP_DEVICE,
			.subject = chunk,
			.micro_batch = maker->problem->micro_batches - 1,
			.after = {maker->problem->flags & SEAM_FIT_CLIPS ? last_out : SEAM_FIT_NONE, SEAM_FIT_NONE},
			.ns = maker->problem->chunks[chunk].device_step_ns,
			.net_bytes = -(int64_t)maker->problem->chunks[chunk].gradient_bytes,
		});
}

/* Steps on the host in the order in which weights are needed next, or in that in which gradients arrive; then those on
 * the device, and the optimizer's own visits. */
static void add_steps(struct seam_fit_maker *maker)
{
	const struct seam_fit_problem *problem = maker->problem;
	bool backwards = problem->flags == SEAM_FIT_OVERLAP_BACKWARD;
	uint32_t last_visit = maker->last_compute, last_out = SEAM_FIT_NONE;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (maker->gradient_out[i] != SEAM_FIT_NONE &&
			(last_out == SEAM_FIT_NONE || maker->gradient_out[i] > last_out))
			last_out = maker->gradient_out[i];
	for (uint32_t i = 0; i < problem->chunk_count; i++) {
		uint32_t chunk = backwards ? problem->chunk_count - 1 - i : i;
		if (comes(maker, chunk) && maker->last_gradients[chunk] != SEAM_FIT_NONE)
			add_host_step(maker, chunk, last_out, last_visit);
	}
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (!comes(maker, i) && maker->last_gradients[i] != SEAM_FIT_NONE)
			add_device_step(maker, i, last_out);
	for (uint32_t i = maker->pass_visits; i < problem->visit_count; i++)
		add_visit(maker, i, problem->micro_batches - 1);
}

static void begin(struct seam_fit_maker *maker)
{
	const struct seam_fit_problem *problem = maker->problem;
	maker->op_count = maker->scanned = maker->resident_count = maker->leaving_first = maker->leaving_end = 0;
	maker->last_compute = SEAM_FIT_NONE;
	maker->swapped_bytes = maker->most_swapped_bytes = 0;
	for (uint32_t i = 0; i < problem->chunk_count; i++) {
		maker->load[i] = maker->first_load[i] = maker->gradient_out[i] = SEAM_FIT_NONE;
		maker->next[i] = maker->first[i];
		maker->has_gradients[i] = 0;
	}
	for (uint32_t i = 0; i < problem->block_count; i++)
		maker->out[i] = maker->in[i] = SEAM_FIT_NONE;
}

/* Levels, from what always lives on. */
static void account(const struct seam_fit_maker *maker, struct seam_fit_schedule *schedule)
{
	const struct seam_fit_problem *problem = maker->problem;
	schedule->first_bytes = problem->base_bytes;
	schedule->host_bytes = maker->most_swapped_bytes;
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		if (comes(maker, i))
			schedule->host_bytes += problem->chunks[i].host_bytes;
		else
			schedule->first_bytes += problem->chunks[i].weight_bytes + problem->chunks[i].state_bytes;
	int64_t level = (int64_t)schedule->first_bytes;
	int64_t peak = level;
	for (uint32_t i = 0; i < maker->op_count; i++) {
		if (level + (int64_t)maker->ops[i].top_bytes > peak) {
			peak = level + (int64_t)maker->ops[i].top_bytes;
			schedule->peak_op = i;
		}
		level += maker->ops[i].net_bytes;
	}
	schedule->peak_bytes = peak > 0 ? (uint64_t)peak : 0;
}

void seam__fit_make(
	struct seam_fit_maker *maker, const struct seam_fit_recipe *recipe, struct seam_fit_schedule *ret_schedule)
{
	maker->recipe = recipe;
	maker->ahead = recipe->ahead < maker->positions ? recipe->ahead : maker->positions;
	begin(maker);
	for (uint32_t i = 0; i < maker->positions; i++)
		add_position(maker, i);
	add_steps(maker);
	drop_left(maker, UINT32_MAX, maker->problem->micro_batches - 1);
	/* Before the first visit, memory is that of the iteration before. */
	for (uint32_t i = 0; i < maker->op_count && maker->ops[i].lane != SEAM_FIT_COMPUTE; i++)
		maker->ops[i].after[0] = maker->last_compute;
	SEAM_ASSERT(maker->swapped_bytes == 0 && maker->resident_count == 0);
	*ret_schedule = (struct seam_fit_schedule){.op_count = maker->op_count, .ops = maker->ops};
	account(maker, ret_schedule);
	maker->recipe = NULL;
}
