/* test_edit.c: operations put in and left out stand where they were asked for. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "edit.h"
#include "trace_words.h"

static void write_line(char *line, size_t line_bytes, const struct schedule *schedule)
{
	line[0] = '\0';
	for (size_t i = 0; i < schedule->op_count; i++) {
		const struct schedule_op *op = &schedule->ops[i];
		size_t used = strlen(line);
		if (op->kind == SCHEDULE_ALLOC || op->kind == SCHEDULE_FREE)
			(void)snprintf(line + used, line_bytes - used, "%c%u", op->kind == SCHEDULE_ALLOC ? '+' : '-',
				op->target);
	}
}

Test(edit, changes_are_made_at_once_and_in_order)
{
	/* Operations: 0 begin, 1 +0, 2 +1, 3 -0, 4 -1, 5 end. */
	struct seam_trace *trace = trace_words("+a10 +b20 -a -b");
	struct schedule schedule;
	struct edit edit;
	char line[100];
	cr_assert_eq(schedule_build(trace, 1, &schedule), SEAM_OK);
	cr_assert_eq(edit_init(&edit, &schedule), SEAM_OK);
	struct schedule_op op = {.kind = SCHEDULE_ALLOC, .bytes = 7};
	cr_assert_eq(edit_block(&edit, &op.target), SEAM_OK);
	cr_assert_eq(op.target, 2, "the first number that is free");
	cr_assert_eq(edit_insert(&edit, 4, &op), SEAM_OK);
	op.kind = SCHEDULE_FREE;
	cr_assert_eq(edit_insert(&edit, 6, &op), SEAM_OK);
	struct schedule_op late = {.kind = SCHEDULE_FREE, .target = 0};
	edit_drop(&edit, 3);
	cr_assert_eq(edit_insert(&edit, 4, &late), SEAM_OK);
	cr_assert_eq(edit_make(&edit), SEAM_OK);
	write_line(line, sizeof(line), &schedule);
	cr_expect_str_eq(line, "+0+1+2-0-1-2", "%s", line);
	cr_expect_eq(schedule.peak_live_bytes, 37, "all three live at once");
	cr_expect_null(schedule_check(&schedule));
	cr_assert_eq(edit_make(&edit), SEAM_OK);
	write_line(line, sizeof(line), &schedule);
	cr_expect_str_eq(line, "+0+1+2-0-1-2", "nothing is done twice: %s", line);
	edit_fini(&edit);
	schedule_fini(&schedule);
	seam_trace_free(trace);
}
