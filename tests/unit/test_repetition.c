/* test_repetition.c: which periods without marks count as iterations, by what one look at the recording shows. */
#include <criterion/criterion.h>

#include "repetition.h"

/* Repetitions from `run_begin` on, so many of them, and events behind the newest. */
static struct seam_repetition repetitions(uint64_t run_begin, uint64_t length, uint32_t run, uint64_t behind)
{
	const uint64_t newest = run_begin + length * run;
	return (struct seam_repetition){
		.events = newest + behind,
		.length = length,
		.run_begin = run_begin,
		.newest = newest,
		.run = run,
		.kind_events = run * length,
		.cut_events = run * length,
		.peak_bytes = 100000,
		.most_bytes = 100000,
		.later_bytes = 90000,
	};
}

struct row {
	const char *name;
	uint64_t run_begin, length;
	uint32_t run;
	uint64_t behind;
	uint64_t most_bytes; /* 0: as many as in the period */
	bool expected;
};

static const struct row rows[] = {
	{"two iterations are all there is", 200, 4000, 2, 100, 0, true},
	{"two behind the program's beginning", 6000, 4000, 2, 100, 0, true},
	{"three behind it", 6000, 4000, 3, 100, 0, true},
	{"one", 200, 4000, 1, 100, 0, false},
	{"two, and much before", 9000, 4000, 2, 100, 0, false},
	{"three, and much before", 13000, 4000, 3, 100, 0, false},
	{"a part of the next has come", 6000, 4000, 2, 3900, 0, true},
	{"an inner loop that has stopped", 200, 4000, 2, 4600, 0, false},
	{"an inner loop below the iteration's peak", 6000, 4000, 3, 100, 100500, false},
	{"a peak that varies by a little", 6000, 4000, 3, 100, 100100, true},
	{"the peak was in the beginning, which is long past", 1000, 4000, 3, 100, 110000, true},
	{"a few milliseconds", 20, 300, 13, 100, 0, false},
	{"a few milliseconds more", 20, 300, 14, 100, 0, true},
};

Test(repetition, is_an_iteration_where_it_fills_the_window_and_goes_on)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct row *row = &rows[r];
		struct seam_repetition seen = repetitions(row->run_begin, row->length, row->run, row->behind);
		if (row->most_bytes != 0)
			seen.most_bytes = row->most_bytes;
		cr_expect_eq(seam__repetition_is_iteration(&seen, 0), row->expected, "%s", row->name);
	}
}

Test(repetition, with_more_live_behind_it_is_a_loop_inside_of_an_iteration)
{
	static const struct {
		uint64_t later_bytes;
		bool expected;
	} later[] = {{90000, true}, {103000, true}, {104000, false}};
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		struct seam_repetition seen = repetitions(200, 4000, 2, 3000);
		seen.later_bytes = later[i].later_bytes;
		seen.most_bytes = seen.later_bytes > seen.peak_bytes ? seen.later_bytes : seen.peak_bytes;
		cr_expect_eq(seam__repetition_is_iteration(&seen, 0), later[i].expected, "%llu bytes",
			(unsigned long long)seen.later_bytes);
	}
}

Test(repetition, that_stops_for_something_else_is_no_iteration)
{
	static const struct {
		const char *name;
		uint64_t kind_events; /* of 40000 of all kinds in the run */
		uint32_t run;
		bool expected;
	} table[] = {
		{"all of one kind", 40000, 10, true},
		{"kinds of one length in turn", 12000, 10, true},
		{"a loop, and now and then something longer", 36000, 11, true},
		{"a loop of many, and something much longer", 30000, 20, false},
		{"iterations with something short between them", 39500, 19, true},
		{"two lengths in turn", 20000, 7, false},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct seam_repetition seen = repetitions(200, 4000, 10, 100);
		seen.run = table[i].run;
		seen.kind_events = table[i].kind_events;
		if (i == 2)
			seen.length = 3640; /* 11 of them are 40000 events, within a sixteenth */
		cr_expect_eq(seam__repetition_is_iteration(&seen, 0), table[i].expected, "%s", table[i].name);
	}
}

Test(repetition, as_long_as_one_whose_plan_served_is_an_iteration_at_once)
{
	const struct seam_repetition stopped = repetitions(9000, 1000, 1, 30000);
	cr_expect_not(seam__repetition_is_iteration(&stopped, 0));
	cr_expect(seam__repetition_is_iteration(&stopped, 1000));
	cr_expect(seam__repetition_is_iteration(&stopped, 960), "with a few requests more or less");
	cr_expect_not(seam__repetition_is_iteration(&stopped, 2000));
}
