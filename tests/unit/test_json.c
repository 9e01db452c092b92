/* test_json.c: the JSON writer's commas, escapes and numbers, and what it refuses. */
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <signal.h>

#include "json.h"
#include "meta.h"

static struct seam_text text;
static struct seam_json json;
static char buffer[4096];

static void open_json(void)
{
	seam__text_init_fixed(&text, buffer, sizeof(buffer));
	seam__json_init(&json, &text, false);
}

TestSuite(json, .init = open_json);

static void assert_written(const char *expected)
{
	cr_assert_null(seam__json_check(&json), "%s", seam__json_check(&json));
	cr_assert_eq(seam__json_finish(&json), SEAM_OK);
	cr_assert_str_eq(buffer, expected);
}

Test(json, nested_values)
{
	seam__json_object_begin(&json);
	seam__json_key(&json, "a");
	seam__json_array_begin(&json);
	seam__json_u64(&json, UINT64_MAX);
	seam__json_i64(&json, INT64_MIN);
	seam__json_object_begin(&json);
	seam__json_object_end(&json);
	seam__json_array_begin(&json);
	seam__json_array_end(&json);
	seam__json_array_end(&json);
	seam__json_key(&json, "b");
	seam__json_bool(&json, true);
	seam__json_key(&json, "c");
	seam__json_null(&json);
	seam__json_key(&json, "d");
	seam__json_string(&json, NULL);
	seam__json_object_end(&json);
	assert_written("{\"a\":[18446744073709551615,-9223372036854775808,{},[]],\"b\":true,\"c\":null,\"d\":null}");
}

Test(json, indentation)
{
	seam__json_init(&json, &text, true);
	seam__json_array_begin(&json);
	seam__json_object_begin(&json);
	seam__json_key(&json, "x");
	seam__json_u64(&json, 1);
	seam__json_key(&json, "y");
	seam__json_array_begin(&json);
	seam__json_array_end(&json);
	seam__json_object_end(&json);
	seam__json_array_end(&json);
	assert_written("[\n  {\n    \"x\": 1,\n    \"y\": []\n  }\n]\n");
}

Test(json, strings_are_escaped_and_made_valid)
{
	static const struct {
		const char *value;
		const char *written;
	} rows[] = {
		{"plain", "\"plain\""}, {"q\" b\\ n\n t\t r\r f\f b\b", "\"q\\\" b\\\\ n\\n t\\t r\\r f\\f b\\b\""},
		{"\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\""},
		{"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
		{"\xff|", "\"\xef\xbf\xbd|\""},               /* no such byte */
		{"\xc3", "\"\xef\xbf\xbd\""},                 /* cut */
		{"\xc0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""}, /* overlong */
		{"\xe0\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},                 /* surrogate */
		{"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* above U+10FFFF */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_json();
		seam__json_string(&json, rows[i].value);
		cr_assert_eq(seam__json_finish(&json), SEAM_OK);
		cr_assert_str_eq(buffer, rows[i].written, "row %zu", i);
	}
}

Test(json, doubles_read_back_the_same)
{
	static const struct {
		double value;
		const char *written;
	} rows[] = {
		{0.0, "0"},
		{0.1, "0.1"},
		{0.97, "0.97"},
		{-2.5, "-2.5"},
		{1e300, "1e+300"},
		{1.0 / 3.0, "0.3333333333333333"},
		{(double)NAN, "null"},
		{(double)INFINITY, "null"},
		{-(double)INFINITY, "null"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		open_json();
		seam__json_double(&json, rows[i].value);
		cr_assert_eq(seam__json_finish(&json), SEAM_OK);
		cr_assert_str_eq(buffer, rows[i].written, "row %zu", i);
	}
}

Test(json, depth_up_to_the_limit)
{
	for (int i = 0; i < SEAM_JSON_DEPTH_MAX; i++)
		seam__json_array_begin(&json);
	for (int i = 0; i < SEAM_JSON_DEPTH_MAX; i++)
		seam__json_array_end(&json);
	cr_assert_eq(seam__json_finish(&json), SEAM_OK);
	cr_assert_eq(text.length_bytes, 2 * SEAM_JSON_DEPTH_MAX);
}

Test(json, too_deep_aborts, .signal = SIGABRT)
{
	for (int i = 0; i < SEAM_JSON_DEPTH_MAX + 1; i++)
		seam__json_array_begin(&json);
}

Test(json, a_value_without_a_key_aborts, .signal = SIGABRT)
{
	seam__json_object_begin(&json);
	seam__json_u64(&json, 1);
}

Test(json, a_key_in_an_array_aborts, .signal = SIGABRT)
{
	seam__json_array_begin(&json);
	seam__json_key(&json, "x");
}

Test(json, the_wrong_bracket_aborts, .signal = SIGABRT)
{
	seam__json_array_begin(&json);
	seam__json_object_end(&json);
}

Test(json, an_open_end_aborts, .signal = SIGABRT)
{
	seam__json_array_begin(&json);
	(void)!seam__json_finish(&json);
}

Test(json, two_outermost_values_abort, .signal = SIGABRT)
{
	seam__json_u64(&json, 1);
	seam__json_u64(&json, 2);
}

Test(json, a_failed_text_is_reported)
{
	struct seam_meta *meta = seam__meta_create(0);
	struct seam_text small;
	seam__meta_fail_at(meta, 1);
	seam__text_init(&small, meta);
	seam__json_init(&json, &small, false);
	seam__json_u64(&json, 1);
	cr_assert_eq(seam__json_finish(&json), SEAM_OOM_META);
	seam__text_fini(&small);
	cr_assert_eq(seam__meta_destroy(meta), 0);
}
