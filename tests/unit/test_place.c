/* test_place.c: where a request stands in its program: step, phase and call site as far as they are recorded. */
#include <criterion/criterion.h>
#include <string.h>

#include "place.h"

static struct seam_trace_builder *builder;
static uint64_t id;

static void begin(void)
{
	cr_assert_eq(seam_trace_builder_create("test", 0, &builder), SEAM_OK);
	id = 0;
}

static uint32_t string(const char *text)
{
	uint32_t offset;
	cr_assert_eq(seam_trace_builder_string(builder, text, &offset), SEAM_OK);
	return offset;
}

static void add(struct seam_trace_event event)
{
	cr_assert_eq(seam_trace_builder_add(builder, &event), SEAM_OK);
}

static void alloc(uint8_t flags, uint16_t phase, const char *module)
{
	uint32_t offset = string(module);
	add((struct seam_trace_event){
		.kind = SEAM_TRACE_ALLOC, .flags = flags, .phase = phase, .module = offset, .id = ++id, .size = 512});
}

static void mark(uint8_t kind, uint16_t phase, const char *name)
{
	uint32_t offset = string(name);
	add((struct seam_trace_event){.kind = kind, .phase = phase, .aux = offset});
}

static struct seam_trace *finish(void)
{
	struct seam_trace *trace;
	struct seam_trace_error error;
	cr_assert_eq(seam_trace_builder_finish(builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(builder);
	return trace;
}

static void assert_place(const struct seam_trace *trace, uint64_t number, const char *expected)
{
	struct place place;
	char text[200];
	cr_assert(place_find(trace, number, &place), "%lu", (unsigned long)number);
	cr_assert_str_eq(place_text(&place, text, sizeof(text)), expected);
}

Test(place, names_the_step_the_innermost_phase_and_the_call_site)
{
	begin();
	alloc(SEAM_TRACE_RESIDENT, 0, "");
	alloc(0, 0, "");
	mark(SEAM_TRACE_PHASE_BEGIN, 1, "outer");
	mark(SEAM_TRACE_PHASE_BEGIN, 2, "inner");
	alloc(0, 2, "h.11.mlp");
	mark(SEAM_TRACE_PHASE_END, 2, "inner");
	alloc(0, 1, "");
	mark(SEAM_TRACE_PHASE_END, 1, "outer");
	add((struct seam_trace_event){.kind = SEAM_TRACE_STEP});
	alloc(0, 0, "h.0");
	struct seam_trace *trace = finish();
	struct place place;
	assert_place(trace, 1, "live before the recording began");
	assert_place(trace, 2, "step 1");
	assert_place(trace, 3, "step 1, phase inner, in h.11.mlp");
	assert_place(trace, 4, "step 1, phase outer");
	assert_place(trace, 5, "step 2, in h.0");
	cr_assert_not(place_find(trace, 6, &place), "there are five");
	seam_trace_free(trace);
}

Test(place, nothing_recorded_is_nothing_said)
{
	begin();
	alloc(0, 0, "");
	alloc(0, 0, "f");
	struct seam_trace *trace = finish();
	assert_place(trace, 1, "");
	assert_place(trace, 2, "in f");
	seam_trace_free(trace);
}

Test(place, a_text_is_cut_to_fit)
{
	const struct place place = {.step = 12, .phase = "backward", .module = "m"};
	char text[12];
	cr_assert_str_eq(place_text(&place, text, sizeof(text)), "step 12, ph");
}
