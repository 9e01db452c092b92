/* test_plan_fit.c: a plan is known for that of a program, and for that of another. */
#include <criterion/criterion.h>

#include "plan_fit.h"
#include "trace_words.h"

/* The plan's requests as sizes, on the default stream; 0: depends on data. */
static bool fits(const char *words, const uint64_t *sizes, uint32_t count, uint64_t stream)
{
	struct seam_plan_slot slots[8] = {0};
	struct seam_plan plan = {
		.header = {.slot_count = count, .stream_count = 1}, .slots = slots, .streams = &stream};
	struct seam_trace *trace = trace_words(words);
	struct schedule schedule;
	for (uint32_t i = 0; i < count; i++) {
		slots[i].size_bytes = sizes[i];
		slots[i].flags = sizes[i] == 0 ? SEAM_PLAN_DYNAMIC : 0;
	}
	cr_assert_eq(schedule_build(trace, 2, &schedule), SEAM_OK);
	bool result = plan_fits(&plan, &schedule);
	schedule_fini(&schedule);
	seam_trace_free(trace);
	return result;
}

Test(plan_fit, knows_its_program)
{
	static const char program[] = "+r5 +a10 +b10 -a +c30 -b -c";
	cr_expect(fits(program, (const uint64_t[]){10, 10, 30}, 3, 0), "as it stands there");
	cr_expect(fits(program, (const uint64_t[]){10, 30, 10}, 3, 0), "a period may begin in the middle");
	cr_expect(fits(program, (const uint64_t[]){10, 0, 30}, 3, 0), "what depends on data may have any size");
	cr_expect_not(fits(program, (const uint64_t[]){10, 10, 31}, 3, 0), "another size");
	cr_expect_not(fits(program, (const uint64_t[]){10, 30, 5}, 3, 0), "something between");
	cr_expect_not(fits(program, (const uint64_t[]){10, 10, 30}, 3, 4), "another stream");
	cr_expect_not(fits(program, (const uint64_t[]){10, 10, 30, 10, 10, 30, 10}, 7, 0), "longer than the program");
	cr_expect(fits(program, NULL, 0, 0), "an empty plan is everybody's");
}
