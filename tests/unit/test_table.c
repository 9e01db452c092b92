/* test_table.c: columns line up, numbers to the right, and Markdown is Markdown. */
#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"
#include "table.h"

static struct seam_meta *meta;
static struct seam_table table;
static struct seam_text text;

static void open_table(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	seam__table_init(&table, meta, 3);
	seam__text_init(&text, meta);
}

static void close_table(void)
{
	SEAM_VERIFY(seam__table_check(&table) == NULL);
	seam__table_fini(&table);
	seam__text_fini(&text);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(table, .init = open_table, .fini = close_table);

static void fill(void)
{
	static const char *const cells[] = {
		"trace", "peak", "note", "gpt2", "12 GiB", "a|b", "na\xc3\xafve", "-", "long one"};
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		seam__table_cell(&table, "%s", cells[i]);
}

Test(table, plain_columns_line_up)
{
	fill();
	cr_assert_eq(seam__table_write(&table, SEAM_TABLE_PLAIN, &text), SEAM_OK);
	cr_assert_str_eq(seam__text_string(&text),
		"trace    peak  note\n"
		"gpt2   12 GiB  a|b\n"
		"na\xc3\xafve       -  long one\n");
}

Test(table, columns_said_to_stand_right_do_whatever_they_hold)
{
	table.right_from = 1;
	fill();
	cr_assert_eq(seam__table_write(&table, SEAM_TABLE_PLAIN, &text), SEAM_OK);
	cr_assert_str_eq(seam__text_string(&text),
		"trace    peak      note\n"
		"gpt2   12 GiB       a|b\n"
		"na\xc3\xafve       -  long one\n");
}

Test(table, markdown)
{
	fill();
	cr_assert_eq(seam__table_write(&table, SEAM_TABLE_MARKDOWN, &text), SEAM_OK);
	cr_assert_str_eq(seam__text_string(&text),
		"| trace | peak | note |\n"
		"| --- | ---: | --- |\n"
		"| gpt2 | 12 GiB | a\\|b |\n"
		"| na\xc3\xafve | - | long one |\n");
}

Test(table, an_empty_table_is_empty)
{
	cr_assert_eq(seam__table_write(&table, SEAM_TABLE_PLAIN, &text), SEAM_OK);
	cr_assert_str_eq(seam__text_string(&text), "");
}

Test(table, long_cells_are_cut)
{
	seam__table_cell(&table, "%400d", 1);
	seam__table_cell(&table, "b");
	seam__table_cell(&table, "c");
	cr_assert_eq(seam__table_write(&table, SEAM_TABLE_PLAIN, &text), SEAM_OK);
	cr_assert_eq(text.length_bytes, 255 + 2 + 1 + 2 + 1 + 1);
}

Test(table, every_allocation_may_fail)
{
	uint64_t failures = 0;
	for (uint64_t n = 1;; n++) {
		struct seam_table other;
		struct seam_text output;
		seam__table_init(&other, meta, 1);
		seam__text_init(&output, meta);
		seam__meta_fail_at(meta, n);
		for (int i = 0; i < 70; i++)
			seam__table_cell(&other, "%d", i);
		enum seam_rc rc = seam__table_write(&other, SEAM_TABLE_PLAIN, &output);
		bool fired = seam__meta_fail_left(meta) == 0;
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "allocation %d", (int)n);
		seam__table_fini(&other);
		seam__text_fini(&output);
		if (!fired)
			break;
		failures++;
	}
	seam__meta_fail_at(meta, 0);
	cr_assert_gt(failures, 70);
}
