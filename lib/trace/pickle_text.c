/* pickle_text.c: the written forms inside a pickle: integers of any length, and the quoted lines of protocol 0.
 *
 * Not here: opcodes (pickle_read.c). Everything is judged byte by byte; nothing depends on the locale.
 */
#include <string.h>

#include "pickle_tree.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool seam__pickle_parse_integer(const char *text, size_t bytes, struct seam_pickle_node *ret_node)
{
	const bool negative = bytes > 0 && text[0] == '-';
	size_t i = bytes > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
	if (i == bytes)
		return false;
	uint64_t number = 0;
	bool fits = true;
	for (; i < bytes; i++) {
		if (!is_digit(text[i]))
			return false;
		fits = fits && !__builtin_mul_overflow(number, (uint64_t)10, &number) &&
			!__builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number);
	}
	if (!fits || (negative && number > (uint64_t)INT64_MAX + 1))
		*ret_node = (struct seam_pickle_node){.type = SEAM_PICKLE_BIG};
	else if (negative)
		*ret_node = (struct seam_pickle_node){.type = SEAM_PICKLE_INT, .as.i64 = (int64_t)(0 - number)};
	else if (number > INT64_MAX)
		*ret_node = (struct seam_pickle_node){.type = SEAM_PICKLE_UINT, .as.u64 = number};
	else
		*ret_node = (struct seam_pickle_node){.type = SEAM_PICKLE_INT, .as.i64 = (int64_t)number};
	return true;
}

struct seam_pickle_node seam__pickle_parse_long(const unsigned char *data, size_t bytes)
{
	const bool negative = bytes > 0 && (data[bytes - 1] & 0x80) != 0;
	const unsigned char filler = negative ? 0xff : 0;
	size_t used = bytes;
	while (used > 8 && data[used - 1] == filler)
		used--;
	if (used > 8)
		return (struct seam_pickle_node){.type = SEAM_PICKLE_BIG};
	uint64_t number = negative ? UINT64_MAX : 0;
	for (size_t i = used; i-- > 0;)
		number = number << 8 | data[i];
	const bool reads_negative = (int64_t)number < 0;
	if (reads_negative == negative)
		return (struct seam_pickle_node){.type = SEAM_PICKLE_INT, .as.i64 = (int64_t)number};
	if (negative)
		return (struct seam_pickle_node){.type = SEAM_PICKLE_BIG};
	return (struct seam_pickle_node){.type = SEAM_PICKLE_UINT, .as.u64 = number};
}

static size_t skip_digits(const char *text, size_t bytes, size_t at)
{
	while (at < bytes && is_digit(text[at]))
		at++;
	return at;
}

bool seam__pickle_is_float(const char *text, size_t bytes)
{
	size_t at = bytes > 0 && (text[0] == '-' || text[0] == '+') ? 1 : 0;
	if (bytes - at == 3 && (memcmp(text + at, "inf", 3) == 0 || memcmp(text + at, "nan", 3) == 0))
		return true;
	const size_t whole = skip_digits(text, bytes, at);
	size_t digits = whole - at;
	at = whole;
	if (at < bytes && text[at] == '.') {
		const size_t end = skip_digits(text, bytes, at + 1);
		digits += end - at - 1;
		at = end;
	}
	if (digits == 0)
		return false;
	if (at < bytes && (text[at] == 'e' || text[at] == 'E')) {
		at++;
		if (at < bytes && (text[at] == '-' || text[at] == '+'))
			at++;
		const size_t end = skip_digits(text, bytes, at);
		if (end == at)
			return false;
		at = end;
	}
	return at == bytes;
}

/* Appends one code point as UTF-8 (a surrogate as its three bytes, as Python does). */
static enum seam_rc put_code_point(struct seam_pickle *pickle, uint32_t code)
{
	char utf8[4];
	size_t bytes;
	if (code < 0x80) {
		utf8[0] = (char)code;
		bytes = 1;
	} else if (code < 0x800) {
		utf8[0] = (char)(0xc0 | code >> 6);
		bytes = 2;
	} else if (code < 0x10000) {
		utf8[0] = (char)(0xe0 | code >> 12);
		bytes = 3;
	} else {
		utf8[0] = (char)(0xf0 | code >> 18);
		bytes = 4;
	}
	for (size_t i = 1; i < bytes; i++)
		utf8[i] = (char)(0x80 | (code >> (6 * (bytes - 1 - i)) & 0x3f));
	return seam__grow_append(&pickle->decoded, utf8, bytes);
}

/* Reads exactly `digits` hexadecimal digits at `at`. */
static bool parse_hex(const char *text, size_t bytes, size_t at, size_t digits, uint32_t *ret_code)
{
	if (digits > bytes - at)
		return false;
	uint32_t code = 0;
	for (size_t i = at; i < at + digits; i++) {
		const char c = text[i];
		uint32_t digit;
		if (is_digit(c))
			digit = (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			digit = (uint32_t)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'F')
			digit = (uint32_t)(c - 'A') + 10;
		else
			return false;
		code = code << 4 | digit;
	}
	*ret_code = code;
	return true;
}

static struct seam_pickle_node decoded_node(const struct seam_pickle *pickle, size_t begin)
{
	return (struct seam_pickle_node){.type = SEAM_PICKLE_TEXT,
		.owned = 1,
		.count = (uint32_t)(pickle->decoded.count - begin),
		.as.offset = begin};
}

enum seam_rc seam__pickle_decode_unicode(
	struct seam_pickle *pickle, const char *text, size_t bytes, struct seam_pickle_node *ret_node)
{
	const size_t begin = pickle->decoded.count;
	enum seam_rc rc = SEAM_OK;
	for (size_t at = 0; rc == SEAM_OK && at < bytes;) {
		const char next = at + 1 < bytes ? text[at + 1] : '\0';
		if (text[at] != '\\' || (next != 'u' && next != 'U')) {
			rc = put_code_point(pickle, (unsigned char)text[at++]);
			continue;
		}
		const size_t digits = next == 'u' ? 4 : 8;
		uint32_t code;
		if (!parse_hex(text, bytes, at + 2, digits, &code) || code > 0x10ffff)
			return SEAM_CORRUPT;
		rc = put_code_point(pickle, code);
		at += 2 + digits;
	}
	if (rc == SEAM_OK)
		*ret_node = decoded_node(pickle, begin);
	return rc;
}

/* The character that a backslash and `c` stand for, or -1. */
static int simple_escape(char c)
{
	static const char from[] = "\\'\"abfnrtv";
	static const char to[] = "\\'\"\a\b\f\n\r\t\v";
	const char *place = c == '\0' ? NULL : strchr(from, c);
	return place == NULL ? -1 : to[place - from];
}

/* Decodes the escape behind the backslash at `at`; ret_next: the position behind it. */
static enum seam_rc decode_escape(
	struct seam_pickle *pickle, const char *text, size_t bytes, size_t at, size_t *ret_next)
{
	if (at + 1 >= bytes)
		return SEAM_CORRUPT;
	const char c = text[at + 1];
	uint32_t code = 0;
	if (c == 'x') {
		if (!parse_hex(text, bytes, at + 2, 2, &code))
			return SEAM_CORRUPT;
		*ret_next = at + 4;
	} else if (c >= '0' && c <= '7') {
		size_t end = at + 1;
		while (end < bytes && end < at + 4 && text[end] >= '0' && text[end] <= '7')
			code = code * 8 + (uint32_t)(text[end++] - '0');
		*ret_next = end;
	} else if (simple_escape(c) >= 0) {
		code = (uint32_t)simple_escape(c);
		*ret_next = at + 2;
	} else {
		code = '\\'; /* Python keeps the backslash of an escape that it does not know */
		*ret_next = at + 1;
	}
	return put_code_point(pickle, code & 0xff);
}

enum seam_rc seam__pickle_decode_string(
	struct seam_pickle *pickle, const char *text, size_t bytes, struct seam_pickle_node *ret_node)
{
	if (bytes < 2 || (text[0] != '\'' && text[0] != '"') || text[bytes - 1] != text[0])
		return SEAM_CORRUPT;
	const size_t begin = pickle->decoded.count;
	const size_t end = bytes - 1;
	enum seam_rc rc = SEAM_OK;
	for (size_t at = 1; rc == SEAM_OK && at < end;) {
		if (text[at] == '\\')
			rc = decode_escape(pickle, text, end, at, &at);
		else
			rc = put_code_point(pickle, (unsigned char)text[at++]);
	}
	if (rc == SEAM_OK)
		*ret_node = decoded_node(pickle, begin);
	return rc;
}
