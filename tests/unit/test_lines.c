/* test_lines.c: lines, fields and numbers of texts, and the errors that name them. */
#include <criterion/criterion.h>
#include <string.h>

#include "lines.h"

static struct seam_lines lines;
static struct seam_trace_error error;

static struct seam_line_field field_of(const char *text)
{
	return (struct seam_line_field){text, strlen(text)};
}

static void begin(const char *text)
{
	seam__lines_init(&lines, text, strlen(text), &error);
}

static void expect_line(const char *text, uint64_t number)
{
	struct seam_line_field line;
	cr_assert(seam__lines_take(&lines, &line), "%s", text);
	cr_expect(seam__field_is(line, text), "'%.*s' is not '%s'", (int)line.bytes, line.text, text);
	cr_expect_eq(lines.line, number, "%s", text);
}

Test(lines, are_trimmed_and_blank_ones_left_out)
{
	struct seam_line_field line;
	begin("\xef\xbb\xbf"
	      "a b\r\n\n \t\r\n\tc\n  d");
	expect_line("a b", 1);
	expect_line("c", 4);
	expect_line("d", 5);
	cr_expect_not(seam__lines_take(&lines, &line));
	seam__lines_init(&lines, NULL, 0, NULL);
	cr_expect_not(seam__lines_take(&lines, &line));
}

Test(lines, split_into_fields)
{
	struct seam_line_field rest = field_of("a, b ,,c,");
	struct seam_line_field field;
	const char *const expected[] = {"a", "b", "", "c", ""};
	for (size_t i = 0; i < 5; i++) {
		cr_assert(seam__field_split(&rest, ',', &field), "%zu", i);
		cr_expect(seam__field_is(field, expected[i]), "%zu", i);
	}
	cr_expect_not(seam__field_split(&rest, ',', &field));
}

Test(lines, split_into_words)
{
	struct seam_line_field rest = field_of("  1\t0x5  rest ");
	struct seam_line_field word;
	cr_expect(seam__field_word(&rest, &word) && seam__field_is(word, "1"));
	cr_expect(seam__field_word(&rest, &word) && seam__field_is(word, "0x5"));
	cr_expect(seam__field_word(&rest, &word) && seam__field_is(word, "rest"));
	cr_expect_not(seam__field_word(&rest, &word));
	cr_expect(seam__field_is(word, "rest"), "an out-parameter stays as it was");
	cr_expect(seam__field_begins(field_of("token_x"), "token_"));
	cr_expect_not(seam__field_begins(field_of("tok"), "token_"));
}

struct number_row {
	const char *text;
	bool hex;
	bool good;
	uint64_t value;
	const char *says;
};

static const struct number_row number_rows[] = {
	{"0", false, true, 0, NULL},
	{"18446744073709551615", false, true, UINT64_MAX, NULL},
	{"18446744073709551616", false, false, 0, "beyond 64 bits"},
	{"", false, false, 0, "empty"},
	{"-1", false, false, 0, "'-1'"},
	{"1a", false, false, 0, "'1a'"},
	{"1a", true, true, 26, NULL},
	{"0x1A", true, true, 26, NULL},
	{"0Xff", true, true, 255, NULL},
	{"ffffffffffffffff", true, true, UINT64_MAX, NULL},
	{"10000000000000000", true, false, 0, "beyond 64 bits"},
	{"0x", true, false, 0, "empty"},
	{"0xg", true, false, 0, "hexadecimal"},
};

Test(lines, hold_numbers)
{
	begin("x\ny\n");
	expect_line("x", 1);
	expect_line("y", 2);
	for (size_t r = 0; r < sizeof(number_rows) / sizeof(number_rows[0]); r++) {
		const struct number_row *row = &number_rows[r];
		uint64_t value = 77;
		enum seam_rc rc = row->hex ? seam__lines_hex(&lines, field_of(row->text), &value)
					   : seam__lines_decimal(&lines, field_of(row->text), &value);
		cr_expect_eq(rc, row->good ? SEAM_OK : SEAM_CORRUPT, "%s", row->text);
		cr_expect_eq(value, row->good ? row->value : 77, "%s", row->text);
		if (!row->good)
			cr_expect(strstr(error.text, row->says) != NULL && strstr(error.text, "line 2") != NULL &&
					error.offset == 2,
				"%s: %s", row->text, error.text);
	}
}
