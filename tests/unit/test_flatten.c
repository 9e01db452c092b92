/* test_flatten.c: stitched plans placed again: one stream and several, dynamic groups, a line, limits and failures. The
 * validator, which shares no code with any of this, judges each result with the trace. */
#include <criterion/criterion.h>
#include <string.h>

#include <seam/plan.h>

#include "flatten.h"
#include "meta.h"
#include "plan_sample.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

#define CHUNK 4096u

static struct program_truth truth;
static struct seam_plan_options limits;
static enum seam_plan_streams streams; /* of the plans that are made */
static uint64_t live_before;

static void set_up(void)
{
	live_before = trace_sample_live_bytes();
	limits = (struct seam_plan_options){.struct_bytes = sizeof(limits), .node_limit = 20000};
}

static void expect_nothing_left(void)
{
	cr_expect_eq(trace_sample_live_bytes(), live_before, "metadata left");
}

TestSuite(flatten, .init = set_up);

/* "stack" shares no address: what such a plan saves it saves by views. */
static struct seam_plan *make(const struct seam_trace *trace, const char *solver, enum seam_plan_period period)
{
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 20000,
		.align_bytes = 512,
		.chunk_bytes = CHUNK,
		.solver = solver,
		.streams = streams,
		.period = period,
		.first_event = truth.first_event,
		.last_event = truth.first_event + truth.iteration_events};
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;

	cr_assert_eq(seam_plan_make(trace, &options, &error, &plan), SEAM_OK, "%s", error.text);
	return plan;
}

static void expect_same_string(const struct seam_plan *plan, uint32_t a, const struct seam_plan *flat, uint32_t b)
{
	cr_expect_str_eq(seam_plan_string(plan, a), seam_plan_string(flat, b));
}

/* All but addresses, and what stands in the header about them. */
static void expect_same_requests(const struct seam_plan *plan, const struct seam_plan *flat)
{
	const struct seam_plan_header *a = &plan->header, *b = &flat->header;

	cr_expect(a->slot_count == b->slot_count && a->copies == b->copies && a->positions == b->positions);
	cr_expect(
		a->fingerprint == b->fingerprint && a->first_event == b->first_event && a->last_event == b->last_event);
	cr_expect(a->prelude_count == b->prelude_count &&
		memcmp(plan->prelude, flat->prelude, a->prelude_count * sizeof(*plan->prelude)) == 0);
	cr_expect(a->align_bytes == b->align_bytes && a->chunk_bytes == b->chunk_bytes &&
		a->resident_bytes == b->resident_bytes);
	cr_expect(a->unplaced_bytes == b->unplaced_bytes &&
		(a->flags & SEAM_PLAN_LINEAR) == (b->flags & SEAM_PLAN_LINEAR));
	cr_expect(a->lower_bound_bytes == b->lower_bound_bytes || a->lower_bound_bytes > b->arena_bytes);
	cr_expect_eq(a->wait_count, b->wait_count);
	cr_assert(a->stream_count == b->stream_count && a->group_count == b->group_count);
	cr_expect_eq(memcmp(plan->streams, flat->streams, a->stream_count * sizeof(*plan->streams)), 0);
	for (uint32_t i = 0; i < a->slot_count; i++) {
		struct seam_plan_slot slot = plan->slots[i];
		const struct seam_plan_slot *same = &flat->slots[i];

		expect_same_string(plan, slot.module, flat, same->module);
		expect_same_string(plan, slot.phase_begin, flat, same->phase_begin);
		expect_same_string(plan, slot.phase_end, flat, same->phase_end);
		slot.module = same->module;
		slot.phase_begin = same->phase_begin;
		slot.phase_end = same->phase_end;
		cr_expect_eq(memcmp(&slot, same, sizeof(slot)), 0, "slot %u", i);
	}
}

static struct seam_plan *flatten(const struct seam_trace *trace, const struct seam_plan *plan, uint64_t seed)
{
	struct seam_trace_error error = {0};
	struct seam_plan *flat = NULL;
	enum seam_rc rc = seam__plan_flatten(plan, &limits, &error, &flat);

	cr_assert_eq(rc, SEAM_OK, "seed %lu: %s: %s", (unsigned long)seed, seam_rc_name(rc), error.text);
	cr_expect_eq(flat->header.backing_count, 0);
	cr_expect_eq(seam_plan_verify(trace, flat, &error), SEAM_OK, "seed %lu: %s", (unsigned long)seed, error.text);
	expect_same_requests(plan, flat);
	return flat;
}

/* A plan of a seeded program, as it comes from this solver, and flat. Returns whether it was stitched. */
static bool check_program(const struct program_wish *wish, const char *solver)
{
	struct seam_trace *trace = trace_program(wish, &truth);
	struct seam_plan *plan = make(trace, solver, SEAM_PLAN_PERIOD_GIVEN);
	struct seam_plan *flat = flatten(trace, plan, wish->seed);
	bool stitched = plan->header.backing_count != 0;

	seam_plan_free(flat);
	seam_plan_free(plan);
	seam_trace_free(trace);
	return stitched;
}

Test(flatten, one_stream_is_placed_as_from_the_trace)
{
	uint32_t stitched = 0;

	for (uint64_t seed = 0; seed < 60; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 5 + (uint32_t)(seed % 40),
			.iterations = 10,
			.lag = (uint32_t)(seed % 3),
			.residents = (uint32_t)(seed % 4),
			.users = (uint32_t)(seed % 5 == 4)};

		stitched += check_program(&wish, "stack");
	}
	cr_expect_gt(stitched, 30);
	expect_nothing_left();
}

/* Without a solver's name streams share what edges allow, and the plan's addresses are what tells of those. */
Test(flatten, several_streams_share_only_what_the_plan_proves)
{
	static const char *const solvers[] = {NULL, "stack"};
	uint32_t stitched = 0;

	for (uint64_t seed = 0; seed < 300; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 5 + (uint32_t)(seed % 40),
			.iterations = 10,
			.lag = (uint32_t)(seed % 3),
			.streams = 2 + (uint32_t)(seed % 2),
			.edges = (uint32_t)(seed % 5),
			.users = (uint32_t)(seed / 2 % 4),
			.sizes = seed % 2 == 0 ? 0 : 4};

		stitched += check_program(&wish, solvers[seed % 2]);
	}
	cr_expect_gt(stitched, 50);
	expect_nothing_left();
}

Test(flatten, dynamic_requests_keep_their_groups)
{
	uint32_t groups = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 20,
			.iterations = 10,
			.lag = (uint32_t)(seed % 3),
			.dynamics = 1 + (uint32_t)(seed % 4),
			.streams = 1 + (uint32_t)(seed % 3),
			.edges = (uint32_t)(seed % 3),
			.users = (uint32_t)(seed % 2)};
		struct seam_trace *trace = trace_program(&wish, &truth);
		struct seam_plan *plan = make(trace, "stack", SEAM_PLAN_PERIOD_GIVEN);
		struct seam_plan *flat = flatten(trace, plan, seed);

		for (uint32_t g = 0; g < plan->header.group_count; g++) {
			const struct seam_plan_group *a = &plan->groups[g], *b = &flat->groups[g];

			cr_expect(a->begin == b->begin && a->end == b->end && a->copy == b->copy &&
					a->slot_count == b->slot_count && a->planned_bytes == b->planned_bytes,
				"seed %lu, group %u", (unsigned long)seed, g);
			expect_same_string(plan, a->module_begin, flat, b->module_begin);
			expect_same_string(plan, a->module_end, flat, b->module_end);
		}
		groups += flat->header.group_count;
		seam_plan_free(flat);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	cr_expect_gt(groups, 40);
	expect_nothing_left();
}

static void add_block(struct seam_trace_builder *builder, uint8_t kind, uint64_t id, uint64_t stream, uint8_t flags,
	const char *module)
{
	struct seam_trace_event event = {.kind = kind, .flags = flags, .id = id, .stream = stream, .size = CHUNK};

	cr_assert_eq(seam_trace_builder_string(builder, module, &event.module), SEAM_OK);
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
}

/* Five blocks in layers of their own, each of which overlaps the next, then a dynamic request in a layer between them
 * and the last. */
static struct seam_trace *layered_trace(uint64_t dynamic_stream)
{
	static const char *const layers[] = {"a", "b", "c", "d", "e"};
	struct seam_trace_builder *builder = NULL;
	struct seam_trace_error error = {0};
	struct seam_trace *trace = NULL;

	cr_assert_eq(seam_trace_builder_create("layers", 0, &builder), SEAM_OK);
	for (uint64_t i = 0; i < 5; i++) {
		add_block(builder, SEAM_TRACE_ALLOC, i + 1, 0, 0, layers[i]);
		if (i > 0)
			add_block(builder, SEAM_TRACE_FREE, i, 0, 0, layers[i - 1]);
	}
	add_block(builder, SEAM_TRACE_ALLOC, 9, dynamic_stream, SEAM_TRACE_DYNAMIC, "experts");
	add_block(builder, SEAM_TRACE_FREE, 9, dynamic_stream, 0, "experts");
	add_block(builder, SEAM_TRACE_FREE, 5, 0, 0, "e");
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	return trace;
}

/* One of the two chunks is idle while the dynamic request lives: for its own stream, but for no other one. */
Test(flatten, groups_get_what_the_new_placement_leaves_idle)
{
	for (uint64_t stream = 0; stream < 2; stream++) {
		struct seam_trace *trace = layered_trace(stream);
		struct seam_plan *plan = make(trace, "stack", SEAM_PLAN_PERIOD_WHOLE);
		struct seam_plan *flat = flatten(trace, plan, stream);

		cr_expect_neq(plan->header.backing_count, 0);
		cr_expect_eq(flat->header.arena_bytes, 2 * CHUNK);
		cr_assert_eq(flat->header.group_count, 1);
		cr_expect_eq(flat->groups[0].range_count, stream == 0 ? 1 : 0);
		if (flat->groups[0].range_count == 1)
			cr_expect_eq(flat->ranges[0].end_bytes - flat->ranges[0].begin_bytes, CHUNK);
		seam_plan_free(flat);
		seam_plan_free(plan);
		seam_trace_free(trace);
	}
	expect_nothing_left();
}

/* A slot that lives for longer than a period, and while it is at its longest a dynamic one: the chunk of the other copy
 * is idle then. */
static struct seam_plan *plan_of_two_copies(void)
{
	const struct seam_plan_slot slots[] = {{.size_bytes = CHUNK, .begin = 0, .end = 10},
		{.size_bytes = 7, .begin = 3, .end = 5, .flags = SEAM_PLAN_DYNAMIC}};
	const uint64_t offsets[] = {0, CHUNK};
	struct seam__plan_builder builder;
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	uint32_t stream;

	cr_assert_eq(seam__plan_builder_init(&builder, 2), SEAM_OK);
	builder.header.positions = 8;
	builder.header.arena_bytes = 2 * CHUNK;
	builder.header.chunk_bytes = CHUNK;
	cr_assert_eq(seam__plan_builder_stream(&builder, 5, &stream), SEAM_OK);
	cr_assert_eq(seam__plan_builder_slot(&builder, &slots[0], offsets), SEAM_OK);
	cr_assert_eq(seam__plan_builder_slot(&builder, &slots[1], NULL), SEAM_OK);
	for (uint32_t copy = 0; copy < 2; copy++) {
		const struct seam_plan_group group = {.begin = 3, .end = 5, .copy = copy, .slot_count = 1};

		cr_assert_eq(seam__plan_builder_group(&builder, &group), SEAM_OK);
	}
	cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_OK, "%s", error.text);
	seam__plan_builder_fini(&builder);
	return plan;
}

Test(flatten, each_copy_of_a_group_has_ranges_of_its_own)
{
	struct seam_plan *plan = plan_of_two_copies();
	struct seam_trace_error error = {0};
	struct seam_plan *flat = NULL;

	cr_assert_eq(seam__plan_flatten(plan, &limits, &error, &flat), SEAM_OK, "%s", error.text);
	expect_same_requests(plan, flat);
	cr_assert_eq(flat->header.range_count, 2);
	for (uint32_t copy = 0; copy < 2; copy++) {
		const struct seam_plan_group *group = &flat->groups[copy];

		cr_assert_eq(group->range_count, 1);
		cr_expect_eq(flat->ranges[group->first_range].begin_bytes, flat->offsets[1 - copy]);
		cr_expect_eq(flat->ranges[group->first_range].end_bytes, flat->offsets[1 - copy] + CHUNK);
	}
	seam_plan_free(flat);
	seam_plan_free(plan);
	expect_nothing_left();
}

static struct seam_plan *make_of_words(const char *words, const char *solver, struct seam_trace **ret_trace)
{
	*ret_trace = trace_words(words);
	return make(*ret_trace, solver, SEAM_PLAN_PERIOD_WHOLE);
}

/* The arena of the flat plan of these words, in chunks. */
static uint64_t flat_chunks(const char *words, const char *solver, bool is_stitched)
{
	struct seam_trace *trace;
	struct seam_plan *plan = make_of_words(words, solver, &trace);
	struct seam_plan *flat = flatten(trace, plan, 0);
	uint64_t chunks = flat->header.physical_chunks;

	cr_expect_eq(plan->header.backing_count != 0, is_stitched, "%s", words);
	cr_expect_eq(flat->header.arena_bytes, chunks * CHUNK);
	seam_plan_free(flat);
	seam_plan_free(plan);
	seam_trace_free(trace);
	return chunks;
}

Test(flatten, a_stitched_line_needs_what_lives_together)
{
	cr_expect_eq(flat_chunks("+a4096 +b4096 -a +c4096 -b +d4096 -c -d", "stack", true), 2);
	expect_nothing_left();
}

/* Stream 1 waits for a's end. In the plan b has a's memory; so may c, later, as the same queue. Without the edge nobody
 * has. */
Test(flatten, an_heir_opens_memory_to_its_stream)
{
	cr_expect_eq(flat_chunks("+a4096 -a !e ?e@1 +b4096@1 -b +c4096@1 -c", NULL, false), 1);
	cr_expect_eq(flat_chunks("+a4096 -a +b4096@1 -b +c4096@1 -c", NULL, false), 2);
	expect_nothing_left();
}

/* What is given up: the edges allow it, but no address shows it. */
Test(flatten, what_no_address_proves_is_not_shared)
{
	streams = SEAM_PLAN_STREAMS_APART;
	cr_expect_eq(flat_chunks("+a4096 -a !e ?e@1 +b4096@1 -b +c4096@1 -c", NULL, false), 2);
	expect_nothing_left();
}

static void expect_equal_plans(const struct seam_plan *a, const struct seam_plan *b)
{
	cr_expect_eq(a->header.arena_bytes, b->header.arena_bytes);
	cr_expect_eq(
		memcmp(a->offsets, b->offsets, (size_t)a->header.slot_count * a->header.copies * sizeof(*a->offsets)),
		0);
}

/* However little there is, it is whole, and with nodes the same on every machine. */
Test(flatten, a_limit_ends_it_with_a_whole_plan)
{
	const struct program_wish wish = {.seed = 3, .slots = 60, .iterations = 10, .lag = 2};
	struct seam_trace *trace = trace_program(&wish, &truth);
	struct seam_plan *plan = make(trace, "stack", SEAM_PLAN_PERIOD_GIVEN);
	struct seam_plan *flat[2];
	int cancel = 1;

	limits.node_limit = 1;
	flat[0] = flatten(trace, plan, 1);
	flat[1] = flatten(trace, plan, 1);
	expect_equal_plans(flat[0], flat[1]);
	seam_plan_free(flat[0]);
	seam_plan_free(flat[1]);
	limits.node_limit = 0;
	limits.time_limit_ns = 1;
	seam_plan_free(flatten(trace, plan, 2));
	limits.time_limit_ns = 0;
	limits.cancel = &cancel;
	flat[0] = flatten(trace, plan, 3);
	cr_expect_neq(flat[0]->header.flags & SEAM_PLAN_CANCELLED, 0);
	seam_plan_free(flat[0]);
	seam_plan_free(plan);
	seam_trace_free(trace);
	expect_nothing_left();
}

Test(flatten, what_cannot_be_placed_is_refused_in_words)
{
	struct seam_plan *sample = plan_sample_create();
	struct seam_plan changed = *sample;
	struct seam_plan_slot slots[16];
	struct seam_trace_error error = {0};
	struct seam_plan *flat = NULL;

	cr_assert_leq(sample->header.slot_count, 16);
	changed.header.flags |= SEAM_PLAN_GRAPH;
	cr_expect_eq(seam__plan_flatten(&changed, &limits, &error, &flat), SEAM_INVALID);
	cr_expect_not_null(strstr(error.text, "graph"), "%s", error.text);
	memcpy(slots, sample->slots, sample->header.slot_count * sizeof(*slots));
	changed = *sample;
	changed.slots = slots;
	for (uint32_t i = 0, large = 0; i < sample->header.slot_count && large < 2; i++) {
		if ((slots[i].flags & SEAM_PLAN_DYNAMIC) != 0)
			continue;
		slots[i].size_bytes = UINT64_C(1) << 63; /* twice is 0 */
		large++;
	}
	cr_expect_eq(seam__plan_flatten(&changed, &limits, &error, &flat), SEAM_INVALID);
	cr_expect_not_null(strstr(error.text, "too large"), "%s", error.text);
	changed = *sample;
	changed.header.positions = UINT32_C(1) << 29; /* a number of the header alone may not ask for memory */
	seam__meta_set_limit(seam__meta_process(), UINT64_C(16) << 20);
	cr_expect_eq(seam__plan_flatten(&changed, &limits, &error, &flat), SEAM_INVALID, "%s", error.text);
	cr_expect_not_null(strstr(error.text, "too large"), "%s", error.text);
	seam__meta_set_limit(seam__meta_process(), 0);
	limits.solver = "none";
	cr_expect_eq(seam__plan_flatten(sample, &limits, &error, &flat), SEAM_NOT_FOUND);
	cr_expect_null(flat);
	seam_plan_free(sample);
	expect_nothing_left();
}

/* Waits are kept: they say who may have whose memory. */
Test(flatten, a_plan_with_every_section_is_placed_again)
{
	struct seam_plan *sample = plan_sample_create();
	struct seam_trace_error error = {0};
	struct seam_plan *flat = NULL;

	cr_assert_eq(seam__plan_flatten(sample, &limits, &error, &flat), SEAM_OK, "%s", error.text);
	cr_expect_null(seam_plan_check(flat, &error), "%s", error.text);
	expect_same_requests(sample, flat);
	cr_expect_gt(flat->header.wait_count, 0);
	cr_expect_eq(memcmp(sample->waits, flat->waits, flat->header.wait_count * sizeof(*flat->waits)), 0);
	seam_plan_free(flat);
	seam_plan_free(sample);
	expect_nothing_left();
}

Test(flatten, no_memory_leaves_nothing)
{
	const struct program_wish wish = {.seed = 5,
		.slots = 12,
		.iterations = 10,
		.lag = 1,
		.dynamics = 2,
		.streams = 2,
		.edges = 2,
		.users = 1};
	struct seam_trace *trace = trace_program(&wish, &truth);
	struct seam_plan *plan = make(trace, "stack", SEAM_PLAN_PERIOD_GIVEN);
	uint64_t fired = 0;

	limits.node_limit = 2000;
	for (uint64_t n = 1;; n++) {
		struct seam_plan *flat = NULL;
		uint64_t before = trace_sample_live_bytes();

		seam__meta_fail_at(seam__meta_process(), n);
		enum seam_rc rc = seam__plan_flatten(plan, &limits, NULL, &flat);
		bool left = seam__meta_fail_left(seam__meta_process()) != 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect(rc == SEAM_OK || rc == SEAM_OOM_META, "%lu: %s", (unsigned long)n, seam_rc_name(rc));
		cr_expect_eq(flat != NULL, rc == SEAM_OK);
		seam_plan_free(flat);
		cr_expect_eq(trace_sample_live_bytes(), before, "%lu", (unsigned long)n);
		if (left)
			break;
		fired += rc == SEAM_OOM_META;
	}
	cr_expect_gt(fired, 20);
	seam_plan_free(plan);
	seam_trace_free(trace);
	expect_nothing_left();
}
