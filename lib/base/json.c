/* json.c: the JSON writer. */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

void seam__json_init(struct seam_json *json, struct seam_text *text, bool indented)
{
	*json = (struct seam_json){.text = text, .indented = indented};
}

static uint32_t level_bit(const struct seam_json *json)
{
	return UINT32_C(1) << json->depth;
}

static void new_line(struct seam_json *json)
{
	if (!json->indented)
		return;
	seam__text_add(json->text, "\n", 1);
	seam__text_fill(json->text, ' ', (size_t)json->depth * 2);
}

/* The comma and line before an element of the current level. */
static void separate(struct seam_json *json)
{
	if ((json->used_levels & level_bit(json)) != 0)
		seam__text_add(json->text, ",", 1);
	json->used_levels |= level_bit(json);
	if (json->depth > 0)
		new_line(json);
}

static void before_value(struct seam_json *json)
{
	if ((json->object_levels & level_bit(json)) != 0) {
		SEAM_VERIFY(json->key_pending);
		json->key_pending = false;
		return;
	}
	SEAM_VERIFY(json->depth > 0 || (json->used_levels & 1u) == 0);
	separate(json);
}

static void open_level(struct seam_json *json, const char *bracket, bool is_object)
{
	before_value(json);
	SEAM_VERIFY(json->depth < SEAM_JSON_DEPTH_MAX);
	seam__text_add(json->text, bracket, 1);
	json->depth++;
	json->used_levels &= ~level_bit(json);
	if (is_object)
		json->object_levels |= level_bit(json);
	else
		json->object_levels &= ~level_bit(json);
}

static void close_level(struct seam_json *json, const char *bracket, bool is_object)
{
	SEAM_VERIFY(json->depth > 0 && !json->key_pending);
	SEAM_VERIFY(((json->object_levels & level_bit(json)) != 0) == is_object);
	bool used = (json->used_levels & level_bit(json)) != 0;
	json->object_levels &= ~level_bit(json);
	json->depth--;
	if (used)
		new_line(json);
	seam__text_add(json->text, bracket, 1);
}

enum seam_rc seam__json_finish(struct seam_json *json)
{
	SEAM_VERIFY(json->depth == 0 && (json->used_levels & 1u) != 0);
	if (json->indented)
		seam__text_add(json->text, "\n", 1);
	return seam__text_rc(json->text);
}

void seam__json_object_begin(struct seam_json *json)
{
	open_level(json, "{", true);
}

void seam__json_object_end(struct seam_json *json)
{
	close_level(json, "}", true);
}

void seam__json_array_begin(struct seam_json *json)
{
	open_level(json, "[", false);
}

void seam__json_array_end(struct seam_json *json)
{
	close_level(json, "]", false);
}

/* Length of the valid UTF-8 sequence at `bytes` (which ends in a zero), or 0. */
static size_t sequence_length(const unsigned char *bytes)
{
	size_t length;
	uint32_t code;
	if (bytes[0] < 0x80)
		return 1;
	if (bytes[0] >= 0xc2 && bytes[0] <= 0xdf) {
		length = 2;
		code = bytes[0] & 0x1fu;
	} else if (bytes[0] >= 0xe0 && bytes[0] <= 0xef) {
		length = 3;
		code = bytes[0] & 0x0fu;
	} else if (bytes[0] >= 0xf0 && bytes[0] <= 0xf4) {
		length = 4;
		code = bytes[0] & 0x07u;
	} else {
		return 0;
	}
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3fu);
	}
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	bool surrogate = code >= 0xd800 && code <= 0xdfff;
	return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

static void add_escaped(struct seam_text *text, unsigned char byte)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
		if ((unsigned char)letters[i] == byte) {
			seam__text_printf(text, "\\%c", letters[i + 1]);
			return;
		}
	}
	seam__text_printf(text, "\\u%04x", byte);
}

static void add_string(struct seam_text *text, const char *value)
{
	const unsigned char *rest = (const unsigned char *)value;
	seam__text_add(text, "\"", 1);
	while (*rest != '\0') {
		size_t length = sequence_length(rest);
		if (length == 0) {
			seam__text_puts(text, "\xef\xbf\xbd");
			length = 1;
		} else if (*rest < 0x20 || *rest == '"' || *rest == '\\' || *rest == 0x7f) {
			add_escaped(text, *rest);
		} else {
			seam__text_add(text, (const char *)rest, length);
		}
		rest += length;
	}
	seam__text_add(text, "\"", 1);
}

void seam__json_key(struct seam_json *json, const char *key)
{
	SEAM_VERIFY((json->object_levels & level_bit(json)) != 0 && !json->key_pending);
	separate(json);
	add_string(json->text, key);
	seam__text_puts(json->text, json->indented ? ": " : ":");
	json->key_pending = true;
}

void seam__json_string(struct seam_json *json, const char *value)
{
	before_value(json);
	if (value == NULL)
		seam__text_puts(json->text, "null");
	else
		add_string(json->text, value);
}

void seam__json_u64(struct seam_json *json, uint64_t value)
{
	before_value(json);
	seam__text_printf(json->text, "%llu", (unsigned long long)value);
}

void seam__json_i64(struct seam_json *json, int64_t value)
{
	before_value(json);
	seam__text_printf(json->text, "%lld", (long long)value);
}

void seam__json_double(struct seam_json *json, double value)
{
	before_value(json);
	if (!isfinite(value)) {
		seam__text_puts(json->text, "null");
		return;
	}
	char digits[40];
	for (int precision = 6; precision <= 17; precision++) {
		(void)snprintf(digits, sizeof(digits), "%.*g", precision, value);
		if (strtod(digits, NULL) == value)
			break;
	}
	/* The locale may write the point as something else, of one byte or more. */
	bool in_point = false;
	for (const char *digit = digits; *digit != '\0'; digit++) {
		bool plain = strchr("0123456789+-e", *digit) != NULL;
		if (plain)
			seam__text_add(json->text, digit, 1);
		else if (!in_point)
			seam__text_add(json->text, ".", 1);
		in_point = !plain;
	}
}

void seam__json_bool(struct seam_json *json, bool value)
{
	before_value(json);
	seam__text_puts(json->text, value ? "true" : "false");
}

void seam__json_null(struct seam_json *json)
{
	before_value(json);
	seam__text_puts(json->text, "null");
}

const char *seam__json_check(const struct seam_json *json)
{
	if (json->depth > SEAM_JSON_DEPTH_MAX)
		return "J1 depth";
	if (json->key_pending && (json->object_levels & level_bit(json)) == 0)
		return "J2 a key outside an object";
	return NULL;
}
