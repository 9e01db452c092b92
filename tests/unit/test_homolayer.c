/* test_homolayer.c: which layers dynamic requests live in: of a small training step written out by hand. */
#include <criterion/criterion.h>

#include "tokens.h"
#include "check.h"
#include "homolayer.h"
#include "trace_sample.h"

static struct seam_trace_builder *builder;
static struct seam_trace *trace;
static struct seam_traced_requests requests;
static struct seam_period_slots slots;
static struct seam_homolayer homolayer;

static void set_up(void)
{
	cr_assert_eq(seam_trace_builder_create("test", 0, &builder), SEAM_OK);
}

static void tear_down(void)
{
	seam__homolayer_fini(&homolayer);
	seam__slots_fini(&slots);
	seam__requests_fini(&requests);
	seam_trace_free(trace);
	seam_trace_builder_destroy(builder);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(homolayer, .init = set_up, .fini = tear_down);

/* An event of block `id`; or, for id 0, of the phase that module names. */
static void add(uint8_t kind, uint64_t id, const char *module, uint8_t flags)
{
	struct seam_trace_event event = {.kind = kind, .flags = flags, .id = id, .size = id == 0 ? 0 : 100 * id};
	bool marks = kind == SEAM_TRACE_PHASE_BEGIN || kind == SEAM_TRACE_PHASE_END;

	cr_assert_eq(seam_trace_builder_string(builder, module, marks ? &event.aux : &event.module), SEAM_OK);
	event.phase = marks ? 1 : 0;
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
}

static void get(uint64_t id, const char *module)
{
	add(SEAM_TRACE_ALLOC, id, module, 0);
}

static void get_dynamic(uint64_t id, const char *module)
{
	add(SEAM_TRACE_ALLOC, id, module, SEAM_TRACE_DYNAMIC);
}

static void put(uint64_t id, const char *module)
{
	add(SEAM_TRACE_FREE, id, module, 0);
}

static void find(uint32_t streams)
{
	struct seam_trace_error error = {0};
	struct seam_tokens beats;
	struct seam_period period;

	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__tokens_init(&requests, &beats), SEAM_OK);
	period = seam__period_whole(trace);
	cr_assert_eq(seam__slots_init(&beats, &period, &error, &slots), SEAM_OK, "%s", error.text);
	seam__tokens_fini(&beats);
	cr_assert_eq(seam__homolayer_init(&slots, streams, &homolayer), SEAM_OK);
	cr_expect_null(seam__homolayer_check(&homolayer, &slots));
}

static void expect(uint32_t number, uint32_t from, uint32_t to, const char *begin, const char *end)
{
	const struct seam_dynamic_request *request =
		(const struct seam_dynamic_request *)homolayer.requests.items + number;
	const char *names = homolayer.names.section.items;

	cr_assert_lt(number, homolayer.requests.count);
	cr_expect_eq(request->from, from, "%u begins at %u", number, request->from);
	cr_expect_eq(request->to, to, "%u ends at %u", number, request->to);
	cr_expect_str_eq(names + request->layer_begin, begin);
	cr_expect_str_eq(names + request->layer_end, end);
}

Test(homolayer, intervals_reach_from_layer_to_layer)
{
	get(1, "blocks.0.attention");
	get(2, "blocks.0.feed.experts");              /* 1: beside it, of the same part */
	get_dynamic(3, "blocks.0.feed.experts.0.up"); /* 2 */
	get_dynamic(4, "blocks.0.feed.experts.1.up"); /* 3 */
	put(3, "blocks.0.feed.experts.1");            /* 4 */
	get(5, "blocks.0.feed");                      /* 5: of another part */
	get_dynamic(6, "blocks.1.feed.experts.0.up"); /* 6 */
	put(6, "blocks.1.feed.experts.0.up");         /* 7 */
	put(4, "blocks.0.feed.experts.0");            /* 8 */
	put(2, "blocks.0.feed.experts.gate");         /* 9 */
	put(1, "blocks.0.attention");
	put(5, "blocks.0.feed");
	find(1);
	cr_assert_eq(homolayer.requests.count, 3);
	expect(0, 1, 5, "blocks.0.feed.experts", "blocks.0.feed.experts");
	expect(1, 1, 9, "blocks.0.feed.experts", "blocks.0.feed.experts.0");
	expect(2, 6, 8, "blocks.1.feed.experts.0.up", "blocks.1.feed.experts.0.up");
	cr_expect_eq(((const struct seam_dynamic_request *)homolayer.requests.items)[1].stream, 0);
	cr_expect_eq(((const uint32_t *)homolayer.slots.items)[0], 2);
}

Test(homolayer, a_layer_in_another_phase_is_another_occurrence)
{
	add(SEAM_TRACE_PHASE_BEGIN, 0, "forward", 0);
	struct seam_trace_event event = {
		.kind = SEAM_TRACE_ALLOC, .flags = SEAM_TRACE_DYNAMIC, .id = 1, .size = 100, .phase = 1};
	cr_assert_eq(seam_trace_builder_string(builder, "experts.0", &event.module), SEAM_OK);
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
	add(SEAM_TRACE_PHASE_END, 0, "forward", 0);
	put(1, "experts.0");
	get_dynamic(2, "experts.0");
	put(2, "experts.0");
	find(1);
	expect(0, 0, 4, "experts.0", "experts.0");
	expect(1, 1, 4, "experts.0", "experts.0");
}

Test(homolayer, what_is_never_freed_lives_to_the_end)
{
	get_dynamic(1, "");
	get(2, "head");
	put(2, "head");
	find(1);
	expect(0, 0, 3, "", "");
}

/* Where waits are inserted the problem has fewer streams than the slots: then nothing may be shared. */
Test(homolayer, streams_that_are_not_those_of_the_problem_share_nothing)
{
	get(1, "a");
	get_dynamic(2, "a");
	put(2, "a");
	put(1, "a");
	find(2);
	cr_expect_eq(((const struct seam_dynamic_request *)homolayer.requests.items)[0].stream, SEAM__STREAM_NONE);
}
