/* prologue_fixture.h: a training program in small, and a plan that says what it asks for first, for the tests of
 * planned_prologue.c. */
#ifndef SEAM_TESTS_PROLOGUE_FIXTURE_H
#define SEAM_TESTS_PROLOGUE_FIXTURE_H

#include "core_fixture.h"

#include <seam/plan.h>

#include "plan_format.h"
#include "record.h"
#include "planned.h"

#define LAYERS 12u
#define STRANGERS 16u /* so many requests that the plan does not expect, and it is over */

static void *streams[2] UNUSED;
static struct seam_plan *plan UNUSED;

struct training {
	void *parameters[LAYERS], *states[LAYERS], *gradients[LAYERS], *activations[LAYERS];
	bool is_first; /* iteration */
};

/* Odd sizes: places lie behind one another, whatever the chunks are. */
UNUSED static uint64_t parameter_bytes(unsigned i)
{
	return MIB(3) + i * KIB(300) + 40;
}

UNUSED static void make_parameters(struct training *training)
{
	*training = (struct training){.is_first = true};
	for (unsigned i = 0; i < LAYERS; i++)
		training->parameters[i] = must_alloc(parameter_bytes(i), streams[i % 2]);
}

/* Gradients, states and temporaries have the sizes of parameters. States are made in the first iteration. */
UNUSED static void train(struct training *training)
{
	for (unsigned i = 0; i < LAYERS && !training->is_first; i++)
		must_free(training->gradients[i]);
	for (unsigned i = 0; i < LAYERS; i++) {
		must_free(must_alloc(MIB(1) + i * KIB(64), streams[0]));
		training->activations[i] = must_alloc(MIB(9) + i * KIB(256), streams[0]);
	}
	for (unsigned i = LAYERS; i-- > 0;) {
		training->gradients[i] = must_alloc(parameter_bytes(i), streams[0]);
		must_free(training->activations[i]);
	}
	for (unsigned i = 0; i < LAYERS; i++) {
		void *temporary = must_alloc(parameter_bytes(i), streams[0]);
		if (training->is_first)
			training->states[i] = must_alloc(parameter_bytes(i), streams[0]);
		must_free(temporary);
	}
	training->is_first = false;
	cr_assert_ok(seam_step(pool));
	check_pool();
}

UNUSED static void forget(struct training *training)
{
	for (unsigned i = 0; i < LAYERS; i++) {
		must_free(training->parameters[i]);
		must_free(training->states[i]);
		must_free(training->gradients[i]);
	}
}

UNUSED static void open_with_streams(uint64_t device_bytes, const char *conf)
{
	open_pool(device_bytes, conf);
	streams[0] = make_stream();
	streams[1] = make_stream();
}

UNUSED static void close_with_streams(void)
{
	for (unsigned i = 0; i < 2; i++) {
		enum seam_rc rc = seam_stream_destroyed(pool, streams[i]);
		cr_assert(rc == SEAM_OK || rc == SEAM_NOT_FOUND);
		end_stream(streams[i]);
	}
	close_pool();
}

UNUSED static void make_plan(void)
{
	struct training training;
	struct seam_trace *trace = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.node_limit = 100000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	open_with_streams(MIB(2048), "plan:inline,chunk_bytes:2M");
	make_parameters(&training);
	for (unsigned i = 0; i < 4; i++)
		train(&training);
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "training", &trace));
	cr_assert_ok(seam_plan_make(trace, &options, NULL, &plan));
	cr_assert_gt(plan->header.prologue_count, 2 * LAYERS);
	seam_trace_free(trace);
	close_with_streams();
}

UNUSED static void open_with_plan(uint64_t device_bytes)
{
	open_with_streams(device_bytes, "chunk_bytes:2M,plan:off");
	cr_assert_ok(seam_plan_use(pool, plan, NULL, 0));
	check_pool();
}

UNUSED static void close_with_plan(void)
{
	close_with_streams();
	seam_plan_free(plan);
}

UNUSED static uint64_t chunks_of(uint64_t bytes)
{
	return (bytes + MIB(2) - 1) / MIB(2);
}

UNUSED static uint64_t places_bytes(unsigned parameters, unsigned states)
{
	uint64_t bytes = 0;
	for (unsigned i = 0; i < LAYERS; i++)
		bytes += (parameter_bytes(i) + 511) / 512 * 512 * ((i < parameters ? 1u : 0u) + (i < states ? 1u : 0u));
	return bytes;
}

UNUSED static uint64_t needed_bytes(unsigned parameters, unsigned states)
{
	return (chunks_of(plan->header.arena_bytes) + chunks_of(places_bytes(parameters, states))) * MIB(2);
}

UNUSED static bool is_expected(void)
{
	return pool->runtime->prologue.active != NULL;
}

UNUSED static void interrupt(unsigned requests)
{
	for (unsigned i = 0; i < requests; i++)
		must_free(must_alloc(MIB(5) + 12345, streams[0]));
}

/* Iterations of which none misses or costs anything. */
UNUSED static void expect_served(struct training *training, unsigned iterations)
{
	const struct seam_stats before = get_stats();
	const struct seam_plan_stats before_plan = get_plan_stats();
	for (unsigned i = 0; i < iterations; i++)
		train(training);
	const struct seam_stats after = get_stats();
	const struct seam_plan_stats after_plan = get_plan_stats();
	cr_expect_eq(after_plan.misses, before_plan.misses, "%llu misses",
		(unsigned long long)(after_plan.misses - before_plan.misses));
	cr_expect_eq(after.chunks_made, before.chunks_made);
	cr_expect_eq(after.mappings, before.mappings);
	cr_expect_eq(after.reserved_bytes, before.reserved_bytes);
}

#endif
