/* test_iterations_return.c: what is live behind a stretch against what was before it, in traces by hand. */
#include <criterion/criterion.h>

#include "iterations_return.h"
#include "trace_sample.h"
#include "trace_words.h"

struct row {
	const char *name;
	const char *words; /* the stretch stands between the two marks */
	uint32_t blocks;
	int64_t more;
	uint64_t bytes;
};

static const struct row rows[] = {
	{"nothing stays", "+w9 | +a10 -a |", 0, 0, 0},
	{"a gradient takes the place of another", "+g10 | -g +h10 |", 0, 0, 0},
	{"an activation stays", "+w9 | +a10 +b5 -b |", 1, 1, 10},
	{"one goes", "+a10 +b20 | -a |", 1, -1, 10},
	{"another size takes the place", "+g10 | +h12 -g |", 2, 0, 22},
	{"another stream does", "+g10@1 | +h10@2 -g |", 2, 0, 20},
	{"it is only used elsewhere", "+g10@1 | >g@2 |", 0, 0, 0},
	{"three stay", "| +a7 +b7 +c7 |", 3, 3, 21},
};

Test(iterations_return, is_the_change_of_what_is_live)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct seam_trace *trace = trace_words(rows[r].words);
		struct seam_traced_requests requests;
		struct seam_sequences of_trace;
		struct seam_change change;
		struct seam_thread_stretch stretch;
		uint32_t mark = 0;

		cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
		cr_assert_eq(seam__sequences_init(trace, &requests, &of_trace), SEAM_OK);
		while (trace->events[mark].kind != SEAM_TRACE_STEP)
			mark++;
		stretch = seam__sequences_stretch(&of_trace, mark + 1, (uint32_t)trace->header.event_count);
		cr_assert_eq(seam__change_of(&of_trace, &stretch, &change), SEAM_OK);
		cr_expect(
			change.blocks == rows[r].blocks && change.more == rows[r].more && change.bytes == rows[r].bytes,
			"%s: %u blocks, %ld more, %lu bytes", rows[r].name, change.blocks, (long)change.more,
			(unsigned long)change.bytes);
		cr_expect_eq(change.hash == 0, rows[r].blocks == 0, "%s", rows[r].name);
		seam__sequences_fini(&of_trace);
		seam__requests_fini(&requests);
		seam_trace_free(trace);
	}
	cr_expect_eq(trace_sample_live_bytes(), 0, "metadata left");
}
