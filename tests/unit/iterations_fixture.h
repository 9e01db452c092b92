/* iterations_fixture.h: a recording and the iterations that is found in it, which are gone behind each test. */
#ifndef SEAM_TESTS_ITERATIONS_FIXTURE_H
#define SEAM_TESTS_ITERATIONS_FIXTURE_H

#include <criterion/criterion.h>

#include <seam/plan.h>

#include "check.h"
#include "iterations.h"
#include "trace_sample.h"

static struct seam_trace *trace;
static struct seam_iterations iterations;

static void forget(void)
{
	seam__iterations_fini(&iterations);
	seam_trace_free(trace);
	trace = NULL;
}

static void tear_down(void)
{
	forget();
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

/* The plan of a model, which the validator has accepted. */
static struct seam_plan *plan_of(const struct seam_iteration_kind *kind, const char *name, uint64_t seed)
{
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 2000,
		.period = SEAM_PLAN_PERIOD_GIVEN,
		.first_event = kind->first_event,
		.last_event = kind->last_event};
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;

	cr_assert_eq(seam_plan_make(kind->model, &options, &error, &plan), SEAM_OK, "%s, seed %lu: %s", name,
		(unsigned long)seed, error.text);
	return plan;
}

#endif
