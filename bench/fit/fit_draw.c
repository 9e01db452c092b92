/* fit_draw.c: see fit_draw.h. */
#include "fit_draw.h"

#include <stdbool.h>
#include <string.h>

#include "program_random.h"

static uint64_t below(uint64_t *state, uint64_t end)
{
	return program_random(state) % end;
}

/* From low to high, both among them; as often in each doubling. */
static uint64_t scaled(uint64_t *state, uint64_t low, uint64_t high)
{
	uint32_t doublings = 0;
	while (low << (doublings + 1) <= high)
		doublings++;
	uint64_t begin = low << below(state, doublings + 1u);
	uint64_t found = begin + below(state, begin);
	return found < high ? found : high;
}

/* `low` to `high` hundredths of a number. */
static uint64_t part(uint64_t *state, uint64_t of, uint64_t low, uint64_t high)
{
	return of / 100 * (low + below(state, high - low + 1));
}

/* A block: forward and backward pass under each treatment, its weights. */
struct kind {
	struct seam_fit_curve forward[SEAM_FIT_TREATMENTS], backward[SEAM_FIT_TREATMENTS];
	struct seam_fit_block block;
	struct seam_fit_chunk chunk;
};

static void draw_curves(uint64_t *state, struct kind *kind)
{
	uint64_t forward_ns = scaled(state, 500000, 200000000);
	uint64_t backward_ns = part(state, forward_ns, 170, 230);
	uint64_t held = scaled(state, 20ull << 20, 3ull << 30); /* for the backward pass */
	uint64_t input = part(state, held, 2, 25), small = part(state, held, 0, 5), extra = part(state, held, 2, 60);
	int64_t nets[] = {(int64_t)held, (int64_t)input, (int64_t)small, 0};
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++) {
		bool again = t == SEAM_FIT_RECOMPUTE || t == SEAM_FIT_FROM_HOST;
		kind->forward[t] = (struct seam_fit_curve){
			.compute_ns = forward_ns,
			.top_bytes = again ? input + part(state, held, 20, 60) + extra / 2 : held + extra,
			.net_bytes = nets[t],
		};
		kind->backward[t] = (struct seam_fit_curve){
			.compute_ns = backward_ns + (again ? forward_ns : 0),
			.top_bytes = extra +
				(t == SEAM_FIT_KEEP                       ? 0
						: t == SEAM_FIT_RECOMPUTE ? held - input
									  : held - small),
			.net_bytes = -nets[t],
		};
	}
	kind->block.swap_bytes[SEAM_FIT_SWAP] = held - small;
	kind->block.swap_bytes[SEAM_FIT_FROM_HOST] = input;
	/* Now and then a block that cannot be treated in one way. */
	kind->block.allowed = below(state, 5) == 0 ? 15u & ~(2u << below(state, 3)) : 15u;
}

/* 2 bytes a weight and a gradient; up to 16 of state. */
static void draw_chunk(uint64_t *state, struct seam_fit_chunk *chunk)
{
	uint64_t weights = scaled(state, 5u << 20, 1u << 29);
	*chunk = (struct seam_fit_chunk){
		.weight_bytes = 2 * weights,
		.gradient_bytes = 2 * weights,
		.state_bytes = weights * (4 + 4 * below(state, 3)),
		.host_bytes = weights * 16,
		.device_step_ns = weights * 30 / 1500,
		.host_step_ns = weights * 10 / (4 + below(state, 20)),
	};
}

static void draw_machine(uint64_t *state, struct seam_fit_machine *machine)
{
	machine->up = 1000000000u * scaled(state, 4, 64);
	machine->down = part(state, machine->up, 90, 110);
	machine->up_both = part(state, machine->up, 45, 100);
	machine->down_both = part(state, machine->down, 45, 100);
	machine->copy_ns = below(state, 20000);
}

static void add_outside(uint64_t *state, struct fit_draw *draw, uint32_t chunk, uint32_t gradients, uint64_t net_top)
{
	draw->visits[draw->problem.visit_count++] = (struct seam_fit_visit){
		.phase = SEAM_FIT_OTHER,
		.block = SEAM_FIT_NONE,
		.chunk = chunk,
		.gradients = gradients,
		.under[0] = {.compute_ns = scaled(state, 100000, 50000000), .top_bytes = net_top},
	};
}

static void add_passes(struct fit_draw *draw, const struct kind *kinds, const uint32_t *kind_of, bool backward)
{
	uint32_t count = draw->problem.block_count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t block = backward ? count - 1 - i : i;
		struct seam_fit_visit *visit = &draw->visits[draw->problem.visit_count++];
		*visit = (struct seam_fit_visit){
			.phase = backward ? SEAM_FIT_BACKWARD : SEAM_FIT_FORWARD,
			.block = block,
			.chunk = block + 1,
			.gradients = backward,
		};
		const struct kind *kind = &kinds[kind_of[block]];
		memcpy(visit->under, backward ? kind->backward : kind->forward, sizeof(visit->under));
	}
}

/* Chunk 0 is of what comes before the blocks, the last one of what comes behind. */
static void draw_program(uint64_t *state, struct fit_draw *draw)
{
	static struct kind kinds[FIT_DRAW_BLOCKS_MOST];
	uint32_t kind_of[FIT_DRAW_BLOCKS_MOST];
	uint32_t count = draw->problem.block_count;
	uint64_t kind_count = below(state, 2) == 0 ? 1 : 1 + below(state, count);
	memset(kinds, 0, sizeof(kinds));
	for (uint64_t i = 0; i < kind_count; i++) {
		draw_curves(state, &kinds[i]);
		draw_chunk(state, &kinds[i].chunk);
	}
	for (uint32_t i = 0; i < count; i++) {
		kind_of[i] = (uint32_t)below(state, kind_count);
		draw->blocks[i] = kinds[kind_of[i]].block;
		draw->chunks[i + 1] = kinds[kind_of[i]].chunk;
	}
	draw_chunk(state, &draw->chunks[0]);
	draw_chunk(state, &draw->chunks[count + 1]);
	draw->chunks[0].must_stay = draw->chunks[count + 1].must_stay = below(state, 2) == 0;
	add_outside(state, draw, 0, 0, scaled(state, 1u << 20, 1u << 28));
	add_passes(draw, kinds, kind_of, false);
	add_outside(state, draw, count + 1, 1, scaled(state, 1u << 24, 2ull << 30));
	add_passes(draw, kinds, kind_of, true);
	add_outside(state, draw, 0, 1, scaled(state, 1u << 20, 1u << 28));
	draw->visits[draw->problem.visit_count++] = (struct seam_fit_visit){
		.phase = SEAM_FIT_STEPPING,
		.block = SEAM_FIT_NONE,
		.chunk = SEAM_FIT_NONE,
		.under[0] = {.compute_ns = below(state, 3000000),
			.top_bytes = below(state, 2) * scaled(state, 1u << 20, 1u << 28)},
	};
}

/* Somewhere between the chunk that is largest and all that the program needs if nothing is done. */
static uint64_t draw_budget(uint64_t *state, const struct fit_draw *draw)
{
	uint64_t all = draw->problem.base_bytes;
	for (uint32_t i = 0; i < draw->problem.chunk_count; i++)
		all += draw->chunks[i].weight_bytes + draw->chunks[i].gradient_bytes + draw->chunks[i].state_bytes;
	for (uint32_t i = 0; i < draw->problem.visit_count; i++)
		if (draw->visits[i].phase == SEAM_FIT_FORWARD)
			all += (uint64_t)draw->visits[i].under[0].net_bytes;
	return part(state, all, 12, 105);
}

void fit_draw(uint64_t seed, uint32_t block_count, struct fit_draw *ret_draw)
{
	uint64_t state = seed * 0x2545f4914f6cdd1du + block_count;
	memset(ret_draw, 0, sizeof(*ret_draw));
	ret_draw->problem = (struct seam_fit_problem){
		.struct_bytes = sizeof(ret_draw->problem),
		.visits = ret_draw->visits,
		.blocks = ret_draw->blocks,
		.chunks = ret_draw->chunks,
		.block_count = block_count,
		.chunk_count = block_count + 2,
		.micro_batches = below(&state, 3) == 0 ? 1 + (uint32_t)below(&state, 4) : 1,
		.flags = (uint32_t)below(&state, SEAM_FIT_PROBLEM_FLAGS + 1),
		.base_bytes = scaled(&state, 1u << 20, 1u << 30),
	};
	draw_machine(&state, &ret_draw->problem.machine);
	draw_program(&state, ret_draw);
	ret_draw->problem.budget_bytes = draw_budget(&state, ret_draw);
}
