/* test_aligned_requests.c: what iterations by hand have in common: a repetition of the model, word by word. Frees that
 * follow each other may come in any order. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "aligned_requests.h"
#include "iterations_cut.h"
#include "iteration_model.h"
#include "trace_sample.h"
#include "trace_words.h"

struct row {
	const char *name;
	const char *words;
	const char *residents;  /* of the model: sizes */
	const char *repetition; /* its last one: +size, -size, '~' behind one that depends on data, '@' and the stream
				   unless 0 */
};

static const struct row rows[] = {
	{"equal iterations", "+w9 | +a10 -a | +a10 -a | +a10 -a |", "9", "+10 -10 |"},
	{"one has a request more", "| +a10 -a | +a10 +x5 -x -a | +a10 -a |", "", "+10 -10 |"},
	{"the newest has one more", "| +a10 -a | +a10 -a | +a10 +x5 -x -a |", "", "+10 -10 |"},
	{"the newest has one less", "| +a10 +b20 -a -b | +a10 +b20 -a -b | +a10 -a |", "", "+10 -10 |"},
	{"two have one less", "| +a10 +b20 -a -b | +a10 -a | +a10 -a |", "", "+10 -10 |"},
	{"one has another size", "| +a10 +b20 -b -a | +a10 +b21 -b -a | +a10 +b20 -b -a |", "", "+10 +20 -20 -10 |"},
	{"the newest has another size", "| +a10 +b20 -b -a | +a10 +b20 -b -a | +a10 +b21 -b -a |", "",
		"+10 +20 -20 -10 |"},
	{"all have other sizes", "| +a10 +b20 -b -a | +a10 +b21 -b -a | +a10 +b22 -b -a |", "", "+10 +22~ -22 -10 |"},
	{"two neighbours are swapped", "| +a10 +b20 -b -a | +a10 +b20 -b -a | +b20 +a10 -b -a |", "", "+10 -10 |"},
	{"one is freed late", "| +a10 -a +b20 -b | +a10 -a +b20 -b | +a10 +b20 -b -a |", "", "+10 -10 +20 -20 |"},
	{"gradients", "+g5 | -g +a10 +g5 -a | -g +a10 +g5 -a | -g +a10 +g5 -a |", "5", "-5 +10 +5 -10 |"},
	{"an output that is replaced", "+o5 | +p5 -o | +o5 -p | +p5 -o |", "5", "+5 -5 |"},
	{"it lives for two iterations", "| +a5 +x8 -x | +b5 +x8 -x | +c5 -a +x8 -x | +d5 -b +x8 -x | +e5 -c +x8 -x |",
		"5 5", "+5 -5 +8 -8 |"},
	{"a list that grows", "| +a10 -a +l1 | +a10 -a +m1 | +a10 -a +n1 |", "1 1 1", "+10 -10 |"},
	{"streams", "| +a10@1 +b20@2 -a -b | +a10@1 +b20@2 -a -b | +a10@1 +b20@2 -a -b |", "",
		"+10@1 +20@2 -10@1 -20@2 |"},
	{"used elsewhere", "| +a10@1 >a@2 -a | +a10@1 >a@2 -a | +a10@1 >a@2 -a |", "", "+10@1 >@2 -10@1 |"},
	{"states of the first", "| +a10 +s99 -a | +a10 -a | +a10 -a |", "99", "+10 -10 |"},
};

static void write_event(const struct seam_trace_event *event, char *text, size_t size)
{
	static const char signs[] = {[SEAM_TRACE_ALLOC] = '+',
		[SEAM_TRACE_FREE] = '-',
		[SEAM_TRACE_RECORD_STREAM] = '>',
		[SEAM_TRACE_STEP] = '|'};
	size_t length = strlen(text);

	length += (size_t)snprintf(text + length, size - length, "%s%c", length == 0 ? "" : " ", signs[event->kind]);
	if (event->kind == SEAM_TRACE_ALLOC || event->kind == SEAM_TRACE_FREE)
		length += (size_t)snprintf(text + length, size - length, "%lu", (unsigned long)event->size);
	if ((event->flags & SEAM_TRACE_DYNAMIC) != 0)
		length += (size_t)snprintf(text + length, size - length, "~");
	if (event->stream != 0)
		(void)snprintf(text + length, size - length, "@%lu", (unsigned long)event->stream);
}

static void expect_model(const struct row *row, const struct seam_trace *model, uint64_t first, uint64_t last)
{
	char residents[400] = "";
	char repetition[400] = "";

	for (uint64_t e = 0; e < last; e++) {
		const struct seam_trace_event *event = &model->events[e];
		size_t length = strlen(residents);

		if (e >= first)
			write_event(event, repetition, sizeof(repetition));
		else if ((event->flags & SEAM_TRACE_RESIDENT) != 0)
			(void)snprintf(residents + length, sizeof(residents) - length, "%s%lu", length == 0 ? "" : " ",
				(unsigned long)event->size);
	}
	cr_expect_str_eq(repetition, row->repetition, "%s: %s", row->name, repetition);
	cr_expect_str_eq(residents, row->residents, "%s: residents %s", row->name, residents);
}

static void run(const struct row *row)
{
	struct seam_trace *trace = trace_words(row->words);
	struct seam_trace *model = NULL;
	struct seam_traced_requests requests;
	struct seam_sequences of_trace;
	struct seam_kinds kinds;
	struct seam_aligned_requests columns;
	struct seam_grow stretches;
	uint64_t first;
	uint64_t last;
	uint64_t stays_bytes;
	bool marked;

	seam__grow_init(&stretches, sizeof(struct seam_thread_stretch));
	cr_assert_eq(seam__requests_init(trace, &requests), SEAM_OK);
	cr_assert_eq(seam__sequences_init(trace, &requests, &of_trace), SEAM_OK);
	cr_assert_eq(seam__cut_marks(&of_trace, &stretches, &marked), SEAM_OK);
	cr_assert_eq(seam__kinds_init(&of_trace, stretches.items, (uint32_t)stretches.count, 1, &kinds), SEAM_OK);
	cr_expect_eq(kinds.count, 1, "%s: %u kinds", row->name, kinds.count);
	cr_assert_eq(seam__aligned_init(&kinds, 0, &columns), SEAM_OK);
	cr_expect_null(seam__aligned_check(&columns), "%s: %s", row->name, seam__aligned_check(&columns));
	cr_assert_eq(seam__model_make(&columns, true, &model, &first, &last, &stays_bytes), SEAM_OK);
	expect_model(row, model, first, last);
	seam_trace_free(model);
	seam__grow_fini(&stretches);
	seam__sequences_fini(&of_trace);
	seam__requests_fini(&requests);
	seam_trace_free(trace);
	cr_expect_eq(trace_sample_live_bytes(), 0, "%s: metadata left", row->name);
}

Test(aligned_requests, are_what_most_iterations_do)
{
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
		run(&rows[r]);
}
