/* test_text.c: text into a growing buffer, a fixed one, and a callback. */
#include <string.h>

#include "meta_fixture.h"
#include "text.h"

TestSuite(text, .init = set_up, .fini = tear_down);

Test(text, a_buffer_grows)
{
	struct seam_text text;
	seam__text_init(&text, meta);
	cr_assert_str_eq(seam__text_string(&text), "");
	for (int i = 0; i < 5000; i++) {
		seam__text_printf(&text, "%04d;", i);
		cr_assert_null(seam__text_check(&text), "after %d", i);
	}
	cr_assert_eq(text.length_bytes, 25000);
	cr_assert_eq(strlen(seam__text_string(&text)), 25000);
	cr_assert_eq(strncmp(seam__text_string(&text) + 5 * 4321, "4321;", 5), 0);
	cr_assert_eq(seam__text_rc(&text), SEAM_OK);
	seam__text_fini(&text);
}

Test(text, no_memory_is_remembered_and_keeps_what_was_there)
{
	struct seam_text text;
	seam__text_init(&text, meta);
	seam__text_puts(&text, "first");
	seam__meta_fail_at(meta, 1);
	seam__text_fill(&text, 'x', 5000);
	cr_assert_eq(seam__text_rc(&text), SEAM_OOM_META);
	size_t length = text.length_bytes;
	seam__text_puts(&text, "more");
	cr_assert_eq(text.length_bytes, length, "nothing is added after a failure");
	cr_assert_eq(strncmp(seam__text_string(&text), "first", 5), 0);
	cr_assert_null(seam__text_check(&text));
	seam__text_fini(&text);
}

Test(text, a_fixed_buffer_is_cut_and_tells_the_length)
{
	for (size_t capacity = 0; capacity <= 12; capacity++) {
		char buffer[16];
		struct seam_text text;
		memset(buffer, '#', sizeof(buffer));
		seam__text_init_fixed(&text, buffer, capacity);
		seam__text_puts(&text, "hello");
		seam__text_puts(&text, " you");
		cr_assert_eq(text.length_bytes, 9, "capacity %zu", capacity);
		cr_assert_eq(seam__text_rc(&text), SEAM_OK);
		cr_assert_null(seam__text_check(&text), "capacity %zu", capacity);
		cr_assert_eq(buffer[capacity], '#', "capacity %zu: a byte too many", capacity);
		size_t kept = capacity == 0 ? 0 : capacity - 1 < 9 ? capacity - 1 : 9;
		cr_assert_eq(strlen(seam__text_string(&text)), kept, "capacity %zu", capacity);
		cr_assert_eq(strncmp(seam__text_string(&text), "hello you", kept), 0, "capacity %zu", capacity);
	}
}

static bool collect(void *user, const char *bytes, size_t count)
{
	char *all = user;
	if (strlen(all) + count > 10)
		return false;
	strncat(all, bytes, count);
	return true;
}

Test(text, a_callback_gets_everything_until_it_stops)
{
	char all[16] = "";
	struct seam_text text;
	seam__text_init_sink(&text, collect, all);
	seam__text_puts(&text, "hello");
	seam__text_printf(&text, " %d", 12);
	cr_assert_eq(seam__text_rc(&text), SEAM_OK);
	seam__text_puts(&text, "too long now");
	cr_assert_eq(seam__text_rc(&text), SEAM_IO);
	seam__text_puts(&text, "x");
	cr_assert_str_eq(all, "hello 12", "a stopped callback is not called again");
	seam__text_fini(&text);
}

Test(text, a_formatted_piece_has_a_limit)
{
	struct seam_text text;
	seam__text_init(&text, meta);
	seam__text_printf(&text, "%1023d", 1);
	cr_assert_eq(seam__text_rc(&text), SEAM_OK);
	cr_assert_eq(text.length_bytes, 1023);
	seam__text_printf(&text, "%1024d", 1);
	cr_assert_eq(seam__text_rc(&text), SEAM_INVALID);
	seam__text_fini(&text);
}

Test(text, sizes_for_people)
{
	static const struct {
		uint64_t size_bytes;
		const char *text;
	} rows[] = {
		{0, "0 B"},
		{1023, "1023 B"},
		{1024, "1.00 KiB"},
		{UINT64_C(2) << 20, "2.00 MiB"},
		{UINT64_C(141) << 30, "141 GiB"},
		{UINT64_C(3) << 39, "1.50 TiB"},
		{UINT64_MAX, "16.00 EiB"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buffer[24];
		cr_assert_str_eq(seam__text_size(buffer, rows[i].size_bytes), rows[i].text);
	}
}
