/* fit_fixture.h: a problem of Fit that can be worked out by hand, and recipes of drawn ones.
 *
 * The machine copies a byte in a nanosecond, half of one while it copies both ways.
 */
#ifndef SEAM_TESTS_FIT_FIXTURE_H
#define SEAM_TESTS_FIT_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include <seam/fit.h>

#include "check.h"
#include "fit_draw.h"
#include "meta.h"
#include "program_random.h"

static void tear_down(void)
{
	struct seam_meta_stats process;
	seam__meta_get_stats(seam__meta_process(), &process);
	SEAM_VERIFY(process.live_bytes == 0);
}

#define FORWARD(number)                                                              \
	{                                                                            \
		.phase = SEAM_FIT_FORWARD, .block = (number), .chunk = (number),     \
		.under = {{100, 60, 50}, {100, 60, 10}, {100, 60, 0}, {100, 60, 0}}, \
	}
#define BACKWARD(number)                                                                          \
	{                                                                                         \
		.phase = SEAM_FIT_BACKWARD, .block = (number), .chunk = (number), .gradients = 1, \
		.under = {{200, 20, -50}, {300, 70, -10}, {200, 70, 0}, {300, 70, 0}},            \
	}
#define HEAD                                                                                                     \
	{                                                                                                        \
		.phase = SEAM_FIT_OTHER, .block = SEAM_FIT_NONE, .chunk = SEAM_FIT_NONE, .under = { {50, 5, 0} } \
	}

static const struct seam_fit_visit small_visits[] = {FORWARD(0), FORWARD(1), HEAD, BACKWARD(1), BACKWARD(0)};
static const struct seam_fit_block small_blocks[] = {{15, {0, 0, 50, 10}}, {15, {0, 0, 50, 10}}};
static const struct seam_fit_chunk small_chunks[] = {{30, 30, 60, 200, 10, 40, 0}, {30, 30, 60, 200, 10, 40, 0}};

static struct seam_fit_problem small_problem(void)
{
	return (struct seam_fit_problem){
		.struct_bytes = sizeof(struct seam_fit_problem),
		.visits = small_visits,
		.blocks = small_blocks,
		.chunks = small_chunks,
		.visit_count = 5,
		.block_count = 2,
		.chunk_count = 2,
		.micro_batches = 1,
		.machine = {1000000000, 500000000, 1000000000, 500000000, 0},
		.budget_bytes = 1000,
	};
}

/* A recipe of a drawn problem, of any kind. The arrays are of FIT_DRAW_BLOCKS_MOST + 2 bytes. */
static inline struct seam_fit_recipe draw_recipe(
	uint64_t *state, const struct seam_fit_problem *problem, uint8_t *treatments, uint8_t *comes)
{
	for (uint32_t i = 0; i < problem->block_count; i++)
		do
			treatments[i] = (uint8_t)program_between(state, 0, SEAM_FIT_TREATMENTS - 1);
		while ((problem->blocks[i].allowed >> treatments[i] & 1) == 0);
	uint32_t percent = program_between(state, 0, 100);
	for (uint32_t i = 0; i < problem->chunk_count; i++)
		comes[i] = !problem->chunks[i].must_stay && program_chance(state, percent);
	return (struct seam_fit_recipe){
		treatments, comes, program_between(state, 1, problem->chunk_count), program_between(state, 1, 6)};
}

#endif
