/* test_request.c: requests of traces made by hand, and of made-up programs against a naive reading. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "request.h"
#include "trace_program.h"
#include "trace_sample.h"
#include "trace_words.h"

static struct seam_trace *trace;
static struct seam_traced_requests requests;

static void tear_down(void)
{
	seam__requests_fini(&requests);
	seam_trace_free(trace);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(request, .fini = tear_down);

static void read_words(const char *words)
{
	trace = trace_words(words);
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_expect_null(seam__requests_check(&requests));
}

Test(request, an_id_that_comes_again_is_another_request)
{
	read_words("+a100 +b200@7 -a +a300 -b | -a");
	const struct seam_traced_request *list = requests.items.items;
	cr_assert_eq(requests.items.count, 3);
	cr_expect(list[0].alloc == 0 && list[0].free == 2 && list[0].size_bytes == 100 && list[0].stream == 0);
	cr_expect(list[1].alloc == 1 && list[1].free == 4 && list[1].size_bytes == 200 && list[1].stream == 1);
	cr_expect(list[2].alloc == 3 && list[2].free == 6 && list[2].size_bytes == 300 && list[2].stream == 0);
	cr_expect_eq(requests.streams.count, 2);
	cr_expect_eq(seam__stream_at(&requests, 1)->stream, 7);
	cr_expect_eq(seam__request_of(&requests, 4), 1);
	cr_expect_eq(seam__request_of(&requests, 5), SEAM__REQUEST_NONE);
}

Test(request, what_is_never_freed_has_no_end)
{
	read_words("+a100 +b200 -a");
	cr_expect_eq(seam__request_at(&requests, 1)->free, SEAM__EVENT_NONE);
}

Test(request, nothing_is_no_request)
{
	read_words("+a0 +b200 -a -b");
	cr_expect_eq(requests.items.count, 1);
	cr_expect_eq(seam__request_of(&requests, 2), SEAM__REQUEST_NONE);
	cr_expect_eq(seam__request_at(&requests, 0)->free, 3);
}

Test(request, uses_by_other_streams_stand_with_their_request)
{
	read_words("+a100 +b200@1 >a@1 >b@2 >a@2 >b@1 >a@0 -a -b");
	const struct seam_traced_request *list = requests.items.items;
	const uint32_t *uses = requests.uses.items;
	cr_assert_eq(requests.uses.count, 3);
	cr_expect(list[0].use_count == 2 && list[0].first_use == 0);
	cr_expect(list[1].use_count == 1 && list[1].first_use == 2);
	cr_expect_eq(seam__stream_at(&requests, uses[0])->stream, 1);
	cr_expect_eq(seam__stream_at(&requests, uses[1])->stream, 2);
	cr_expect_eq(seam__stream_at(&requests, uses[2])->stream, 2);
}

/* Phases, modules, flags and private pools: of the sample, event by event. */
Test(request, a_request_knows_where_in_the_program_it_was)
{
	trace = trace_sample_create();
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_expect_null(seam__requests_check(&requests));
	const struct seam_traced_request *list = requests.items.items;
	cr_assert_eq(requests.items.count, 3); /* one of 0 bytes is left out */
	cr_expect(!list[0].dynamic && list[0].phase_begin == 0);
	cr_expect_str_eq(seam_trace_string(trace, list[0].module), "model.embedding");
	cr_expect_str_eq(seam_trace_string(trace, list[1].phase_begin), "forward");
	cr_expect_eq(list[1].phase_end, 0);
	cr_expect_eq(list[1].use_count, 1);
	cr_expect_neq(list[2].stream, list[1].stream, "a private pool is apart, though the stream is the same");
	cr_expect_eq(seam__stream_at(&requests, list[2].stream)->pool, 1);
	cr_expect_eq(seam__stream_at(&requests, list[2].stream)->stream, 0);
}

static void add(struct seam_trace_builder *builder, struct seam_trace_event event, const char *name)
{
	cr_assert_eq(seam_trace_builder_string(builder, name, &event.aux), SEAM_OK);
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
}

/* outer( a inner( b ) c ) d outer( e ) */
Test(request, a_phase_is_the_innermost_open_one)
{
	struct seam_trace_builder *builder;
	cr_assert_eq(seam_trace_builder_create("phases", 0, &builder), SEAM_OK);
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_BEGIN, .phase = 1}, "outer");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC, .id = 1, .size = 1, .phase = 1}, "");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_BEGIN, .phase = 2}, "inner");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC, .id = 2, .size = 1, .phase = 2}, "");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_END, .phase = 2}, "inner");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC, .id = 3, .size = 1, .phase = 1}, "");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_END, .phase = 1}, "outer");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC, .id = 4, .size = 1}, "");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_PHASE_BEGIN, .phase = 1}, "outer");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_ALLOC, .id = 5, .size = 1, .phase = 1}, "");
	add(builder, (struct seam_trace_event){.kind = SEAM_TRACE_FREE, .id = 1, .size = 1, .phase = 1}, "");
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	seam_trace_builder_destroy(builder);
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	const struct seam_traced_request *list = requests.items.items;
	static const char *const begins[] = {"outer", "inner", "outer", "", "outer"};
	for (size_t i = 0; i < 5; i++)
		cr_expect_str_eq(seam_trace_string(trace, list[i].phase_begin), begins[i]);
	cr_expect_str_eq(seam_trace_string(trace, list[0].phase_end), "outer");
}

/* The free of a request: the first one of its id behind it. */
Test(request, agrees_with_a_naive_reading)
{
	for (uint64_t seed = 0; seed < 20; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 30,
			.iterations = 4,
			.lag = 2,
			.streams = 3,
			.threads = 2,
			.users = 5,
			.edges = 2,
			.dynamics = 3,
			.residents = 4};
		struct program_truth truth;
		uint32_t number = 0;

		trace = trace_program(&wish, &truth);
		cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
		cr_expect_null(seam__requests_check(&requests));
		for (uint32_t e = 0; e < trace->header.event_count; e++) {
			const struct seam_trace_event *event = &trace->events[e];
			uint32_t end = e + 1;

			if (event->kind != SEAM_TRACE_ALLOC)
				continue;
			while (end < trace->header.event_count &&
				(trace->events[end].kind != SEAM_TRACE_FREE || trace->events[end].id != event->id))
				end++;
			const struct seam_traced_request *request = seam__request_at(&requests, number++);
			cr_expect_eq(request->alloc, e, "seed %lu", (unsigned long)seed);
			cr_expect_eq(request->free, end == trace->header.event_count ? SEAM__EVENT_NONE : end,
				"seed %lu event %u", (unsigned long)seed, e);
			cr_expect(request->dynamic == ((event->flags & SEAM_TRACE_DYNAMIC) != 0) &&
				request->thread == event->thread &&
				seam__stream_at(&requests, request->stream)->stream == event->stream);
		}
		cr_expect_eq(number, requests.items.count);
		seam__requests_fini(&requests);
		seam_trace_free(trace);
		trace = NULL;
	}
}

Test(request, sums_beyond_reason_are_refused)
{
	trace = trace_words("+a4611686018427387903 +b1");
	cr_expect_eq(seam__requests_init(trace, &requests), SEAM_INVALID);
}

Test(request, no_memory_leaves_nothing)
{
	enum seam_rc rc = SEAM_OOM_META;
	uint64_t before;

	trace = trace_words("+a100 +b200@1 >a@1 >b@2 -a -b");
	before = trace_sample_live_bytes();
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		seam__meta_fail_at(seam__meta_process(), n);
		rc = seam__requests_init(trace, &requests);
		if (rc != SEAM_OK) {
			cr_expect_eq(rc, SEAM_OOM_META);
			cr_expect_eq(trace_sample_live_bytes(), before, "call %lu", (unsigned long)n);
		}
		cr_assert_lt(n, 100);
	}
	seam__meta_fail_at(seam__meta_process(), 0);
}
