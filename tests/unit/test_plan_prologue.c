/* test_plan_prologue.c: what a plan says of a program's first requests: which of them stay, and which are the period's.
 * Traces made by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include <seam/plan.h>

#include "trace_sample.h"
#include "trace_words.h"

#define NONE SEAM_PLAN_NO_SLOT
#define STAYS SEAM_PLAN_STAYS
#define LONG_RUN 20u
#define SHORT_RUN 5u

static uint64_t live_before;
static char words[8192];

static void set_up(void)
{
	live_before = trace_sample_live_bytes();
	words[0] = '\0';
}

static void expect_nothing_left(void)
{
	cr_expect_eq(trace_sample_live_bytes(), live_before, "metadata left");
}

TestSuite(plan_prologue, .init = set_up, .fini = expect_nothing_left);

/* Of events [first, last); 0: of all, once. */
static struct seam_plan *plan_of(const char *text, uint64_t first, uint64_t last)
{
	struct seam_trace *trace = trace_words(text);
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	const struct seam_plan_options options = {.struct_bytes = sizeof(options),
		.node_limit = 1000,
		.align_bytes = 512,
		.period = last == 0 ? SEAM_PLAN_PERIOD_WHOLE : SEAM_PLAN_PERIOD_GIVEN,
		.first_event = first,
		.last_event = last};
	cr_assert_eq(seam_plan_make(trace, &options, &error, &plan), SEAM_OK, "%s", error.text);
	seam_trace_free(trace);
	return plan;
}

static void expect_prologue(const struct seam_plan *plan, const struct seam_plan_prologue *expected, uint32_t count)
{
	cr_assert_eq(
		plan->header.prologue_count, count, "%u requests instead of %u", plan->header.prologue_count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct seam_plan_prologue *request = &plan->prologue[i];
		cr_expect(request->size_bytes == expected[i].size_bytes && request->flags == expected[i].flags &&
				request->slot == expected[i].slot,
			"request %u: %llu bytes, flags %u, slot %u", i, (unsigned long long)request->size_bytes,
			request->flags, request->slot);
	}
}

#define EXPECT(plan, ...)                                                       \
	expect_prologue(plan, (const struct seam_plan_prologue[]){__VA_ARGS__}, \
		sizeof((const struct seam_plan_prologue[]){__VA_ARGS__}) / sizeof(struct seam_plan_prologue))

/* A state among temporaries of its size. One request behind it: that is where the program is then. */
Test(plan_prologue, what_stays_is_told_from_what_has_its_size)
{
	struct seam_plan *plan = plan_of("+p10 +q20 | +a5 +s10 -a +b10 -b | +a5 -a +b10 -b | +a5 -a +b10 -b |", 14, 19);
	cr_expect_eq(plan->header.resident_bytes, 40);
	EXPECT(plan, {10, STAYS, NONE}, {20, STAYS, NONE}, {5, 0, 0}, {10, STAYS, NONE}, {10, 0, 1});
	seam_plan_free(plan);
}

/* It goes behind the period: it stays as long as that is repeated. */
Test(plan_prologue, what_is_freed_behind_the_period_stays_through_it)
{
	struct seam_plan *plan = plan_of("+p10 +q20 | +a5 -a | +a5 -a | -p", 6, 9);
	EXPECT(plan, {10, STAYS, NONE}, {20, STAYS, NONE}, {5, 0, 0});
	seam_plan_free(plan);
}

Test(plan_prologue, what_is_of_private_pools_is_not_asked_of_a_plan)
{
	struct seam_plan *plan = plan_of("+p10 (7@2 +x50@2 )7@2 +q20 | +a5 -a | +a5 -a | +a5 -a |", 11, 14);
	cr_expect_eq(plan->header.resident_bytes, 80);
	EXPECT(plan, {10, STAYS, NONE}, {20, STAYS, NONE}, {5, 0, 0});
	seam_plan_free(plan);
}

/* Each block lives through two ends of an iteration: one that is live before the period and not freed in it is the
 * slot's. */
Test(plan_prologue, blocks_that_live_longer_than_a_period_do_not_stay)
{
	struct seam_plan *plan = plan_of("+p10 (7@2 +q9@2 )7@2 +a7 | +b7 | +c7 -a | +d7 -b | +e7 -c |", 14, 17);
	cr_expect_gt(plan->header.copies, 1);
	cr_expect_eq(plan->header.resident_bytes, 19, "d is none, though as much is left");
	EXPECT(plan, {10, STAYS, NONE}, {7, 0, 0});
	seam_plan_free(plan);
}

Test(plan_prologue, where_nothing_stays_or_nothing_repeats_there_is_none)
{
	struct seam_plan *plan = plan_of("+x3 -x | +a5 -a | +a5 -a |", 6, 9);
	cr_expect_eq(plan->header.prologue_count, 0);
	seam_plan_free(plan);
	plan = plan_of("+p10 | +a5 -a | +a5 -a |", 0, 0);
	cr_expect_eq(plan->header.prologue_count, 0);
	seam_plan_free(plan);
}

/* So many requests of as many sizes, from that on, each freed at once. */
static void add_run(unsigned bytes, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char word[32];
		(void)snprintf(word, sizeof(word), " +a%u -a", bytes + i);
		strcat(words, word);
	}
}

/* The iteration is a long and a short part, twice; before the first one come so many requests. */
static struct seam_plan *plan_behind(unsigned bytes, unsigned count)
{
	strcpy(words, "+p10");
	add_run(bytes, count);
	for (unsigned i = 0; i < 3; i++) {
		add_run(100, LONG_RUN);
		add_run(200, SHORT_RUN);
		add_run(100, LONG_RUN);
		add_run(300, SHORT_RUN);
	}
	const uint64_t period = 4 * (LONG_RUN + SHORT_RUN), before = 1 + 2 * (uint64_t)count;
	return plan_of(words, before + 2 * period, before + 3 * period);
}

/* What comes before is no iteration, but like a part of one: like two of them, and taken for the one that is nearest
 * before where the program goes on. It is followed up to there. */
Test(plan_prologue, a_beginning_that_is_like_a_part_of_the_period_is_there)
{
	struct seam_plan *plan = plan_behind(100, LONG_RUN);
	cr_assert_eq(plan->header.prologue_count, 1 + LONG_RUN + 1);
	for (unsigned i = 0; i < LONG_RUN; i++)
		cr_expect_eq(plan->prologue[1 + i].slot, LONG_RUN + SHORT_RUN + i);
	cr_expect_eq(plan->prologue[1 + LONG_RUN].slot, 0);
	cr_expect_eq(plan->prologue[1 + LONG_RUN].size_bytes, 100);
	seam_plan_free(plan);
}

/* A few requests are like others by accident. */
Test(plan_prologue, a_beginning_that_is_like_no_part_of_the_period_is_nowhere)
{
	struct seam_plan *plan = plan_behind(101, SHORT_RUN);
	cr_assert_eq(plan->header.prologue_count, 1 + SHORT_RUN + 1);
	for (unsigned i = 0; i < SHORT_RUN; i++)
		cr_expect_eq(plan->prologue[1 + i].slot, NONE);
	cr_expect_eq(plan->prologue[1 + SHORT_RUN].slot, 0);
	seam_plan_free(plan);
}

/* Behind these the program has done much that is not known: where it is then tells the matcher. */
Test(plan_prologue, what_stays_is_followed_as_far_as_it_is_made)
{
	struct seam_plan *plan = plan_of("+p10 +o77 -o +q10 | +a5 -a | +a5 -a | +a5 -a |", 10, 13);
	EXPECT(plan, {10, STAYS, NONE}, {77, 0, NONE}, {10, STAYS, NONE}, {5, 0, 0});
	seam_plan_free(plan);
}
