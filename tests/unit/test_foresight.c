/* test_foresight.c: when a program that goes on as it did before will have done it twice. */
#include <criterion/criterion.h>

#include "foresight.h"
#include "meta.h"

#define MOST_EVENTS 20000u
#define LENGTH 2400u /* events of an iteration */

static struct seam_trace_event events[MOST_EVENTS];
static uint64_t count;

static void add(uint8_t kind, uint64_t bytes)
{
	cr_assert_lt(count, MOST_EVENTS);
	events[count] = (struct seam_trace_event){.kind = kind, .size = bytes, .id = count};
	count++;
}

/* Blocks of a beginning, which stay. */
static void begin(uint32_t blocks)
{
	count = 0;
	for (uint32_t i = 0; i < blocks; i++)
		add(SEAM_TRACE_ALLOC, 100000 + i);
}

/* The first `length` events of an iteration: a block that lives to its end, others of no two the same size, and a loop.
 */
static void iterate(uint64_t length)
{
	const uint64_t end = count + length;
	for (uint64_t i = 0; i < LENGTH && count < end; i++) {
		if (i == 0 || i == LENGTH - 1)
			add(i == 0 ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE, 77777);
		else
			add(i % 2 == 1 ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE,
				512 * (i <= LENGTH / 2 ? (i + 1) / 2 : 1 + (i + 1) / 2 % 10));
	}
}

static uint64_t foresee(void)
{
	const struct seam_trace trace = {.header = {.event_count = count}, .events = events};
	return seam__foresight_more(&trace);
}

Test(foresight, two_iterations_end_where_the_second_does)
{
	begin(700);
	iterate(LENGTH);
	cr_expect_eq(foresee(), UINT64_MAX, "nothing came before");
	iterate(LENGTH / 4);
	cr_expect_eq(foresee(), UINT64_MAX, "too little of it");
	begin(700);
	iterate(LENGTH);
	for (uint64_t part = LENGTH / 2 + 10; part < LENGTH; part += 100) {
		begin(700);
		iterate(LENGTH);
		iterate(part);
		cr_expect_eq(foresee(), LENGTH - part, "%lu events of the second", (unsigned long)part);
	}
	begin(700);
	iterate(LENGTH);
	iterate(LENGTH);
	cr_expect_eq(foresee(), UINT64_MAX, "it is over");
}

/* The first ends as the others do, and was another before. */
Test(foresight, an_iteration_that_began_otherwise_does_not_count)
{
	for (uint64_t part = 100; part < LENGTH; part += 100) {
		begin(0);
		iterate(LENGTH);
		for (uint32_t i = 0; i < 600; i++)
			events[i].stream = 9;
		iterate(LENGTH);
		iterate(part);
		cr_expect_eq(foresee(), LENGTH - part, "%lu events of the third", (unsigned long)part);
	}
}

/* Of places where as little is live the first counts from which two iterations are not over yet. */
Test(foresight, an_iteration_may_begin_in_many_places)
{
	begin(0);
	iterate(LENGTH);
	iterate(LENGTH);
	iterate(101);
	for (uint64_t i = 0; i < count; i++)
		events[i].size = events[i].size == 77777 ? 0 : events[i].size;
	cr_expect_leq(foresee(), 2, "behind each pair nothing is live");
}

Test(foresight, streams_and_threads_are_told_apart)
{
	for (int thread = 0; thread < 2; thread++) {
		begin(0);
		iterate(LENGTH);
		iterate(LENGTH - 200);
		for (uint64_t i = LENGTH; i < count; i++) {
			events[i].thread = thread != 0;
			events[i].stream = thread == 0;
		}
		cr_expect_eq(foresee(), UINT64_MAX);
	}
}

Test(foresight, what_is_short_is_not_foreseen)
{
	begin(5000);
	for (uint32_t i = 0; i < 300; i++)
		add(i % 2 == 0 ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE, 512 * (1 + i % 150 / 2));
	cr_expect_eq(foresee(), UINT64_MAX);
	begin(0);
	cr_expect_eq(foresee(), UINT64_MAX);
}

Test(foresight, without_memory_nothing_is_foreseen)
{
	begin(0);
	iterate(LENGTH);
	iterate(LENGTH - 200);
	cr_expect_eq(foresee(), 200);
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_expect_eq(foresee(), UINT64_MAX);
	seam__meta_fail_at(seam__meta_process(), 0);
}
