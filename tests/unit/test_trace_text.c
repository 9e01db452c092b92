/* test_trace_text.c: foreign texts become clean UTF-8. */
#include <criterion/criterion.h>
#include <string.h>

#include "trace_text.h"

struct row {
	const char *text;
	size_t bytes;
	const char *clean;
};

#define TEXT(text) (text), sizeof(text) - 1

static const struct row rows[] = {
	{TEXT(""), ""},
	{TEXT("Optimizer.step#AdamW"), "Optimizer.step#AdamW"},
	{TEXT("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
	{TEXT("a\nb\tc\x7f"
	      "d\0e"),
		"a?b?c?d?e"},
	{TEXT("\xff\xfe"), "??"},
	{TEXT("cut \xe2\x82"), "cut ??"},
	{TEXT("overlong \xc0\xaf"), "overlong ??"},
	{TEXT("surrogate \xed\xa0\x80"), "surrogate ???"},
	{TEXT("beyond \xf4\x90\x80\x80"), "beyond ????"},
};

Test(trace_text, becomes_clean)
{
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	uint32_t offsets[sizeof(rows) / sizeof(rows[0])];
	cr_assert_eq(seam_trace_builder_create("", 0, &builder), SEAM_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(seam__trace_text_intern(builder, rows[i].text, rows[i].bytes, &offsets[i]), SEAM_OK);
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_str_eq(seam_trace_string(trace, offsets[i]), rows[i].clean, "row %zu", i);
	seam_trace_free(trace);
	seam_trace_builder_destroy(builder);
}

Test(trace_text, is_cut_at_a_character)
{
	char text[400];
	struct seam_trace_builder *builder;
	struct seam_trace *trace;
	uint32_t offset;
	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	cr_assert_eq(seam_trace_builder_create("", 0, &builder), SEAM_OK);
	cr_assert_eq(seam__trace_text_intern(builder, text, sizeof(text), &offset), SEAM_OK);
	cr_assert_eq(seam_trace_builder_finish(builder, NULL, &trace), SEAM_OK);
	const size_t bytes = strlen(seam_trace_string(trace, offset));
	cr_assert_eq(bytes, SEAM_TRACE_TEXT_BYTES / 2 * 2);
	cr_assert_eq((unsigned char)seam_trace_string(trace, offset)[bytes - 1], 0xa9);
	seam_trace_free(trace);
	seam_trace_builder_destroy(builder);
}
