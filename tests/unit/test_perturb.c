/* test_perturb.c: disturbed schedules are sound, the same for the same seed, and differ from the original as they
 * should. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "perturb.h"

#define ITERATIONS 8u
#define PER_STEP 200u

/* Steps of PER_STEP requests that live for a random while inside of their step, all of one program; a few residents. */
static struct seam_trace *make_trace(void)
{
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	struct seam_trace_event live[PER_STEP];
	uint64_t id = 1;
	uint64_t time_ns = 0;
	cr_assert_eq(seam_trace_builder_create("test", 0, &builder), SEAM_OK);
	for (uint32_t i = 0; i < 10; i++) {
		struct seam_trace_event event = {
			.kind = SEAM_TRACE_ALLOC, .id = id++, .size = 100000u * (i + 1), .time_ns = time_ns++};
		cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	}
	for (uint32_t step = 0; step < 3; step++) {
		uint32_t count = 0;
		uint64_t state = 12345;
		for (uint32_t made = 0; made < PER_STEP || count > 0;) {
			state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			uint64_t draw = state >> 33;
			struct seam_trace_event event = {
				.kind = SEAM_TRACE_ALLOC, .id = id, .size = 1000 + draw % 100000};
			if (made < PER_STEP && (count == 0 || draw % 2 == 0)) {
				live[count++] = event;
				made++;
				id++;
			} else {
				event = live[draw % count];
				live[draw % count] = live[count - 1];
				count--;
				event.kind = SEAM_TRACE_FREE;
			}
			event.time_ns = time_ns++;
			cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
		}
		struct seam_trace_event mark = {.kind = SEAM_TRACE_STEP, .id = step, .time_ns = time_ns++};
		cr_assert_eq(seam_trace_builder_add(builder, &mark), SEAM_OK);
	}
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	seam_trace_builder_destroy(builder);
	return trace;
}

static struct schedule make(const char *ways, uint64_t seed)
{
	struct seam_trace *trace = make_trace();
	struct schedule schedule;
	struct perturb perturb = {.seed = seed};
	cr_assert_eq(schedule_build(trace, ITERATIONS, &schedule), SEAM_OK);
	cr_assert(ways == NULL || perturb_parse(ways, &perturb));
	cr_assert_eq(perturb_apply(&perturb, &schedule), SEAM_OK);
	seam_trace_free(trace);
	return schedule;
}

/* What is counted of the iterations, and between them. */
struct tally {
	uint32_t requests[ITERATIONS + 1]; /* the last: outside of all */
	uint64_t bytes[ITERATIONS + 1];
	uint32_t uses;    /* record_stream */
	uint32_t streams; /* set of bits */
	uint32_t threads;
	uint64_t order; /* of sizes, frees and places: a sum that depends on it */
};

static struct tally count(const struct schedule *schedule)
{
	struct tally tally = {0};
	uint32_t now = ITERATIONS;
	for (size_t i = 0; i < schedule->op_count; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		if (op->kind == SCHEDULE_BEGIN)
			now = op->target;
		else if (op->kind == SCHEDULE_END)
			now = ITERATIONS;
		tally.order = tally.order * 31 + op->kind * 7 + op->bytes + op->target + op->stream;
		tally.threads |= 1u << op->thread;
		tally.uses += op->kind == SCHEDULE_RECORD_STREAM;
		if (op->kind != SCHEDULE_ALLOC)
			continue;
		tally.requests[now]++;
		tally.bytes[now] += op->bytes;
		tally.streams |= 1u << op->stream;
	}
	return tally;
}

Test(perturb, every_way_is_sound_and_depends_on_the_seed_alone)
{
	struct schedule plain = make(NULL, 1);
	uint64_t untouched = count(&plain).order;
	for (uint32_t kind = 0; kind < PERTURB_KINDS; kind++) {
		const char *name = perturb_name((enum perturb_kind)kind);
		struct schedule first = make(name, 5);
		struct schedule again = make(name, 5);
		cr_expect_null(schedule_check(&first), "%s", name);
		cr_expect_eq(count(&first).order, count(&again).order, "%s is the same twice", name);
		if (kind != PERTURB_threads)
			cr_expect_neq(count(&first).order, untouched, "%s does something", name);
		cr_expect_eq(first.iterations, ITERATIONS);
		uint64_t peak_live_bytes = first.peak_live_bytes;
		cr_assert_eq(schedule_measure(&first), SEAM_OK);
		cr_expect_eq(first.peak_live_bytes, peak_live_bytes, "%s: the peak is that of what is done", name);
		cr_expect_gt(strlen(perturb_text((enum perturb_kind)kind)), 10);
		schedule_fini(&first);
		schedule_fini(&again);
	}
	struct schedule other = make("extra", 6);
	struct schedule one = make("extra", 5);
	cr_expect_neq(count(&one).order, count(&other).order, "another seed, another place");
	schedule_fini(&other);
	schedule_fini(&one);
	schedule_fini(&plain);
}

Test(perturb, requests_come_and_go_as_promised)
{
	static const struct {
		const char *ways;
		int32_t requests;  /* more in each iteration */
		bool outside;      /* more between them too */
		bool bytes_differ; /* in each iteration */
	} rows[] = {
		{"extra", 1, false, true},
		{"drop", -3, false, true},
		{"swap", 0, false, false},
		{"late", 0, false, false},
		{"size", 0, false, true},
		{"eval", 0, true, false},
		{"checkpoint", 0, true, false},
		{"threads", 0, false, false},
		{"streams", 0, false, false},
		{"extra+eval", 1, true, true},
		{"extra+extra", 2, false, true},
	};
	struct schedule plain = make(NULL, 1);
	struct tally before = count(&plain);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct schedule schedule = make(rows[i].ways, 3);
		struct tally after = count(&schedule);
		for (uint32_t k = 0; k < ITERATIONS; k++) {
			/* Three are drawn, and may be the same. */
			int32_t more = (int32_t)after.requests[k] - (int32_t)before.requests[k];
			cr_expect_eq(more, rows[i].requests, "%s: %" PRId32 " more in iteration %" PRIu32, rows[i].ways,
				more, k);
			cr_expect_eq(after.bytes[k] != before.bytes[k], rows[i].bytes_differ,
				"%s: bytes of iteration %" PRIu32, rows[i].ways, k);
		}
		cr_expect_eq(
			after.requests[ITERATIONS] > before.requests[ITERATIONS], rows[i].outside, "%s", rows[i].ways);
		cr_expect_null(schedule_check(&schedule), "%s", rows[i].ways);
		schedule_fini(&schedule);
	}
	schedule_fini(&plain);
}

Test(perturb, sizes_are_scaled_by_as_many_factors_as_promised)
{
	struct schedule plain = make(NULL, 1);
	uint64_t full = count(&plain).bytes[ITERATIONS - 1];
	struct schedule shapes = make("shapes", 2);
	struct schedule wide = make("wide", 2);
	struct tally few = count(&shapes);
	struct tally many = count(&wide);
	uint32_t distinct = 0;
	for (uint32_t i = 0; i < ITERATIONS; i++) {
		double factor = (double)few.bytes[i] / (double)full * 4;
		cr_expect(factor > 1.99 && factor < 4.01 &&
				(factor - (int)(factor + 0.5)) * (factor - (int)(factor + 0.5)) < 1e-4,
			"one of 1/2, 3/4, 1: %f", factor / 4);
		bool seen = false;
		for (uint32_t k = 0; k < i; k++)
			seen = seen || many.bytes[k] == many.bytes[i];
		distinct += !seen;
		cr_expect(many.bytes[i] * 2 > full * 99 / 100 && many.bytes[i] <= full);
	}
	cr_expect_geq(distinct, 5, "of eight drawn from 64");
	schedule_fini(&plain);
	schedule_fini(&shapes);
	schedule_fini(&wide);
}

Test(perturb, threads_and_streams_are_new_and_the_same_in_every_iteration)
{
	struct schedule threads = make("threads", 4);
	struct schedule streams = make("streams", 4);
	struct tally tally = count(&streams);
	cr_expect_eq(count(&threads).threads, 3, "a second thread");
	cr_expect_eq(streams.stream_count, 4);
	cr_expect_eq(tally.streams, 15, "all four are used");
	cr_expect(tally.uses > 0 && tally.uses < ITERATIONS * PER_STEP / 8, "%" PRIu32 " uses elsewhere", tally.uses);
	size_t begins[ITERATIONS];
	for (size_t i = 0; i < streams.op_count; i++)
		if (streams.ops[i].kind == SCHEDULE_BEGIN)
			begins[streams.ops[i].target] = i;
	for (size_t i = 0; streams.ops[begins[0] + i].kind != SCHEDULE_END; i++) {
		const struct schedule_op *a = &streams.ops[begins[0] + i];
		const struct schedule_op *b = &streams.ops[begins[ITERATIONS - 1] + i];
		cr_assert(a->kind == b->kind && a->stream == b->stream && a->bytes == b->bytes, "operation %zu", i);
	}
	uint32_t *stream = calloc(streams.block_count, sizeof(*stream));
	cr_assert_not_null(stream);
	for (size_t i = 0; i < streams.op_count; i++) {
		const struct schedule_op *op = &streams.ops[i];
		if (op->kind == SCHEDULE_ALLOC)
			stream[op->target] = op->stream;
		else if (op->kind == SCHEDULE_FREE)
			cr_assert_eq(op->stream, stream[op->target], "a block is freed on its stream");
		else if (op->kind == SCHEDULE_RECORD_STREAM)
			cr_assert_neq(op->stream, stream[op->target], "a use is on another one");
	}
	free(stream);
	schedule_fini(&threads);
	schedule_fini(&streams);
}

Test(perturb, words_that_are_none_are_refused)
{
	static const char *const bad[] = {"", "extras", "+", "extra+", "+extra", "extra++eval", "Extra", "extra eval",
		"extra+extra+extra+extra+extra+extra+extra+extra+extra"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct perturb perturb = {.seed = 9};
		cr_expect_not(perturb_parse(bad[i], &perturb), "'%s'", bad[i]);
		cr_expect_eq(perturb.count, 0, "'%s': unchanged", bad[i]);
		cr_expect_eq(perturb.seed, 9);
	}
	struct perturb perturb = {.seed = 9};
	cr_expect(perturb_parse("late+streams", &perturb));
	cr_expect(perturb.count == 2 && perturb.kinds[0] == PERTURB_late && perturb.kinds[1] == PERTURB_streams &&
		perturb.seed == 9);
}
