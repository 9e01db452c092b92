/* test_belief.c: which periods without marks are believed, by what looks at a recording saw of them. */
#include <criterion/criterion.h>

#include "belief.h"

/* Repetitions of a length that began somewhere, so many of them, and events behind the newest. */
static struct seam_sight sight(uint64_t run_begin, uint64_t length, uint32_t run, uint64_t behind)
{
	const uint64_t newest = run_begin + length * run;
	return (struct seam_sight){
		.events = newest + behind,
		.length = length,
		.run_begin = run_begin,
		.newest = newest,
		.run = run,
		.peak_bytes = 100000,
		.most_bytes = 100000,
		.stays_bytes = 20000,
	};
}

static bool believes(struct seam_belief *belief, struct seam_sight seen)
{
	return seam__belief_holds(belief, &seen);
}

struct row {
	const char *name;
	uint64_t run_begin, length;
	uint32_t run;
	uint64_t behind;
	uint64_t most_bytes; /* 0: as many as in the period */
	uint64_t overlap_bytes;
	bool believed;
};

/* What is seen once. */
static const struct row rows[] = {
	{"two iterations are all there is", 200, 4000, 2, 100, 0, 0, true},
	{"two behind the program's beginning", 6000, 4000, 2, 100, 0, 0, true},
	{"three behind it", 6000, 4000, 3, 100, 0, 0, true},
	{"one", 200, 4000, 1, 100, 0, 0, false},
	{"two, and much before", 9000, 4000, 2, 100, 0, 0, false},
	{"three, and much before", 13000, 4000, 3, 100, 0, 0, false},
	{"a part of the next has come", 6000, 4000, 2, 3900, 0, 0, true},
	{"an inner loop that has stopped", 200, 4000, 2, 4600, 0, 0, false},
	{"an inner loop below the iteration's peak", 6000, 4000, 3, 100, 100500, 0, false},
	{"a peak that varies by a little", 6000, 4000, 3, 100, 100100, 0, true},
	{"the peak was in the beginning, which is long past", 1000, 4000, 3, 100, 110000, 0, true},
	{"micro-batches, of which some are under way", 200, 4000, 8, 100, 0, 30000, false},
	{"a little lives longer", 200, 4000, 2, 100, 0, 5000, true},
	{"a few milliseconds", 20, 300, 6, 100, 0, 0, false},
	{"a few milliseconds more", 20, 300, 7, 100, 0, 0, true},
};

Test(belief, is_in_what_speaks_for_itself)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct row *row = &rows[r];
		struct seam_belief belief = {0};
		struct seam_sight seen = sight(row->run_begin, row->length, row->run, row->behind);
		if (row->most_bytes != 0)
			seen.most_bytes = row->most_bytes;
		seen.overlap_bytes = row->overlap_bytes;
		cr_expect_eq(believes(&belief, seen), row->believed, "%s", row->name);
	}
}

/* A loop inside of an iteration is over where more is live than in it. */
Test(belief, is_not_in_what_something_larger_follows)
{
	static const struct {
		uint64_t later_bytes;
		bool believed;
	} later[] = {{90000, true}, {103000, true}, {104000, false}};
	for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
		struct seam_belief belief = {0};
		struct seam_sight seen = sight(200, 4000, 2, 3000);
		seen.later_bytes = later[i].later_bytes;
		seen.most_bytes = seen.later_bytes > seen.peak_bytes ? seen.later_bytes : seen.peak_bytes;
		cr_expect_eq(
			believes(&belief, seen), later[i].believed, "%llu bytes", (unsigned long long)seen.later_bytes);
	}
}

/* Others count as repetitions if they come in turn, but they must be about as long. */
Test(belief, is_not_in_a_run_of_other_lengths)
{
	struct seam_belief belief = {0};
	struct seam_sight seen = sight(200, 4000, 4, 100);
	seen.run = 9;
	cr_expect_not(believes(&belief, seen));
}

/* The first look sees it behind a beginning that is too long, or overlapping; later ones see it go on. */
static uint64_t believed_at(uint64_t overlap_bytes, uint64_t forgotten)
{
	struct seam_belief belief = {0};
	for (uint32_t run = 2; run < 1000; run++) {
		struct seam_sight seen = sight(10000, 1000, run, 0);
		seen.overlap_bytes = overlap_bytes;
		seen.most_bytes = 2 * seen.peak_bytes;
		seen.forgotten = forgotten;
		if (believes(&belief, seen))
			return forgotten + seen.events;
	}
	return 0;
}

Test(belief, comes_with_time)
{
	cr_expect_geq(believed_at(0, 0), 70000, "then its repetitions are seven parts of eight of the recording");
	cr_expect_leq(believed_at(0, 0), 96000);
	cr_expect_eq(believed_at(50000, 0), 32 * 12000);
	cr_expect_eq(believed_at(50000, 5000), 32 * 17000, "what the recording has forgotten counts");
}

/* Micro-batches of which some are always under way, and between each 30 of them an optimizer: they begin anew. */
Test(belief, does_not_come_with_time_to_what_is_broken)
{
	struct seam_belief belief = {0};
	uint64_t begin = 1000;
	for (uint32_t iteration = 0; iteration < 50; iteration++) {
		for (uint32_t run = 2; run <= 30; run++) {
			struct seam_sight seen = sight(begin, 1000, run, 0);
			seen.overlap_bytes = 50000;
			cr_assert_not(believes(&belief, seen), "iteration %u, micro-batch %u", iteration, run);
		}
		begin += 30 * 1000 + 500;
	}
	cr_expect(believes(&belief, sight(1000, 30500, 2, 0)));
}

Test(belief, moves_to_what_is_longer_and_not_back)
{
	struct seam_belief belief = {0};
	cr_assert(believes(&belief, sight(200, 1000, 3, 0)));
	cr_expect(believes(&belief, sight(200, 1000, 3, 30000)),
		"what is believed stays so, also while an evaluation runs");
	cr_assert(believes(&belief, sight(200, 8200, 2, 100)));
	cr_expect_not(believes(&belief, sight(200, 1000, 3, 0)));
	cr_expect(believes(&belief, sight(200, 8300, 2, 100)), "an iteration with a few requests more is the same");
}

/* A program may never do the same for long; one that does is not looked at in another way. */
Test(belief, hesitates_when_twice_as_much_is_recorded)
{
	struct seam_belief doubting = {0}, believing = {0};
	cr_expect_not(seam__belief_hesitates(&doubting, 1000000), "nothing was seen");
	cr_assert_not(believes(&doubting, sight(9000, 4000, 2, 1000)));
	cr_expect_not(seam__belief_hesitates(&doubting, 35999));
	cr_expect(seam__belief_hesitates(&doubting, 36000));
	cr_assert_not(believes(&doubting, sight(39000, 4000, 2, 1000)));
	cr_expect(seam__belief_hesitates(&doubting, 48000), "it was seen before");
	cr_assert_not(believes(&doubting, sight(39000, 8000, 2, 1000)));
	cr_expect_not(seam__belief_hesitates(&doubting, 111999), "the other may be a loop inside of this");
	cr_expect(seam__belief_hesitates(&doubting, 112000));
	cr_assert_not(believes(&believing, sight(9000, 4000, 2, 1000)));
	cr_assert(believes(&believing, sight(9000, 4000, 9, 1000)));
	cr_expect_not(seam__belief_hesitates(&believing, 1000000));
}

Test(belief, says_when_to_look_again)
{
	struct seam_sight seen = sight(6000, 4000, 2, 1000), stopped = sight(200, 4000, 2, 5000),
			  due = sight(200, 4000, 2, 4300);
	cr_expect_geq(seam__belief_more(&seen), 3000);
	cr_expect_leq(seam__belief_more(&seen), 3500);
	cr_expect_eq(seam__belief_more(&stopped), UINT64_MAX);
	cr_expect_eq(seam__belief_more(&due), UINT64_MAX, "it should be over: nobody knows when");
}
