/* lines.c: see lines.h. */
#include "lines.h"

#include <string.h>

#include "trace_error.h"

#define SHOWN_BYTES 40

void seam__lines_init(struct seam_lines *lines, const void *data, size_t bytes, struct seam_trace_error *error)
{
	const char *text = data;
	const size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	*lines = (struct seam_lines){
		.next = mark == 0 ? text : text + mark, .end = bytes == 0 ? text : text + bytes, .error = error};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct seam_line_field seam__field_trim(const char *text, size_t bytes)
{
	while (bytes > 0 && is_blank(text[0])) {
		text++;
		bytes--;
	}
	while (bytes > 0 && is_blank(text[bytes - 1]))
		bytes--;
	return (struct seam_line_field){text, bytes};
}

bool seam__lines_take(struct seam_lines *lines, struct seam_line_field *ret_line)
{
	while (lines->next < lines->end) {
		const char *begin = lines->next;
		const char *newline = memchr(begin, '\n', (size_t)(lines->end - begin));
		const char *stop = newline != NULL ? newline : lines->end;
		lines->next = newline != NULL ? newline + 1 : lines->end;
		lines->line++;
		*ret_line = seam__field_trim(begin, (size_t)(stop - begin));
		if (ret_line->bytes > 0)
			return true;
	}
	return false;
}

enum seam_rc seam__lines_fail(const struct seam_lines *lines, const char *what, struct seam_line_field field)
{
	const int bytes = field.bytes > SHOWN_BYTES ? SHOWN_BYTES : (int)field.bytes;
	seam__trace_error_set(lines->error, lines->line, "line %llu: %s%s%.*s%s", (unsigned long long)lines->line, what,
		bytes > 0 ? " '" : "", bytes, bytes > 0 ? field.text : "", bytes > 0 ? "'" : "");
	return SEAM_CORRUPT;
}

/* -1: not one of the base. */
static int digit_of(char c, int base)
{
	int digit = -1;
	if (c >= '0' && c <= '9')
		digit = c - '0';
	else if (c >= 'a' && c <= 'f')
		digit = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		digit = c - 'A' + 10;
	return digit < base ? digit : -1;
}

static enum seam_rc read_number(
	const struct seam_lines *lines, struct seam_line_field field, size_t skipped, int base, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (field.bytes == skipped)
		return seam__lines_fail(lines, "a field is empty", field);
	for (size_t i = skipped; i < field.bytes; i++) {
		const int digit = digit_of(field.text[i], base);
		if (digit < 0)
			return seam__lines_fail(lines,
				base == 10 ? "not a whole number of at least 0:" : "not a hexadecimal number:", field);
		if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
			__builtin_add_overflow(number, (uint64_t)digit, &number))
			return seam__lines_fail(lines, "a number beyond 64 bits:", field);
	}
	*ret_number = number;
	return SEAM_OK;
}

enum seam_rc seam__lines_decimal(const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_number)
{
	return read_number(lines, field, 0, 10, ret_number);
}

enum seam_rc seam__lines_time(const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_time)
{
	const bool negative = seam__field_begins(field, "-");
	uint64_t number = 0;
	enum seam_rc rc = read_number(lines, field, negative ? 1 : 0, 10, &number);
	if (rc == SEAM_OK && number >= SEAM__TIME_ZERO + negative)
		return seam__lines_fail(lines, "a time beyond 64 bits:", field);
	if (rc == SEAM_OK)
		*ret_time = negative ? SEAM__TIME_ZERO - number : SEAM__TIME_ZERO + number;
	return rc;
}

enum seam_rc seam__lines_hex(const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_number)
{
	const size_t skipped = seam__field_begins(field, "0x") || seam__field_begins(field, "0X") ? 2 : 0;
	return read_number(lines, field, skipped, 16, ret_number);
}

bool seam__field_split(struct seam_line_field *rest, char separator, struct seam_line_field *ret_field)
{
	if (rest->text == NULL)
		return false;
	const char *stop = rest->bytes == 0 ? NULL : memchr(rest->text, separator, rest->bytes);
	if (stop == NULL) {
		*ret_field = seam__field_trim(rest->text, rest->bytes);
		*rest = (struct seam_line_field){NULL, 0};
		return true;
	}
	*ret_field = seam__field_trim(rest->text, (size_t)(stop - rest->text));
	rest->bytes -= (size_t)(stop + 1 - rest->text);
	rest->text = stop + 1;
	return true;
}

bool seam__field_word(struct seam_line_field *rest, struct seam_line_field *ret_field)
{
	size_t bytes = 0;
	*rest = seam__field_trim(rest->text, rest->bytes);
	while (bytes < rest->bytes && !is_blank(rest->text[bytes]))
		bytes++;
	if (bytes == 0)
		return false;
	*ret_field = (struct seam_line_field){rest->text, bytes};
	rest->text += bytes;
	rest->bytes -= bytes;
	return true;
}

bool seam__field_is(struct seam_line_field field, const char *text)
{
	return field.bytes == strlen(text) && memcmp(field.text, text, field.bytes) == 0;
}

bool seam__field_begins(struct seam_line_field field, const char *text)
{
	const size_t bytes = strlen(text);
	return field.bytes >= bytes && memcmp(field.text, text, bytes) == 0;
}
