/* lines.h: a text read line by line and field by field, with one line of error that names the line.
 *
 * Not here: what the lines mean. A field points into the input and has no final zero.
 * No locks: one call owns everything that it touches.
 */
#ifndef SEAM_LINES_H
#define SEAM_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

struct seam_line_field {
	const char *text;
	size_t bytes;
};

struct seam_lines {
	const char *next; /* the rest of the input */
	const char *end;
	uint64_t line; /* number of the line read last, from 1 */
	struct seam_trace_error *error;
};

/* `error` may be NULL. A byte order mark is passed over. */
void seam__lines_init(struct seam_lines *lines, const void *data, size_t bytes, struct seam_trace_error *error);

/* The next line that is not blank, trimmed. False at the end. */
bool seam__lines_take(struct seam_lines *lines, struct seam_line_field *ret_line);

/* Fills the error: the line, what, and the field in quotes unless it is empty. Always SEAM_CORRUPT. */
enum seam_rc seam__lines_fail(const struct seam_lines *lines, const char *what, struct seam_line_field field);

/* A whole number of at least 0; of base 16 with or without 0x. Errors: SEAM_CORRUPT with the error filled. */
SEAM_MUST_USE enum seam_rc seam__lines_decimal(
	const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_number);
SEAM_MUST_USE enum seam_rc seam__lines_hex(
	const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_number);

#define SEAM__TIME_ZERO (UINT64_C(1) << 63)

/* A whole number of 64 bits with or without a minus, counted from the least of them, so that differences and order are
 * those of what stands there: 0 becomes SEAM__TIME_ZERO. Errors: SEAM_CORRUPT with the error filled. */
SEAM_MUST_USE enum seam_rc seam__lines_time(
	const struct seam_lines *lines, struct seam_line_field field, uint64_t *ret_time);

/* Without blanks and carriage returns on either side. */
struct seam_line_field seam__field_trim(const char *text, size_t bytes);

/* Takes what is before the next `separator` from *rest, trimmed. False once *rest was taken whole (its text is NULL).
 */
bool seam__field_split(struct seam_line_field *rest, char separator, struct seam_line_field *ret_field);

/* The same for a run of blanks; nothing but blanks is taken for nothing: false. */
bool seam__field_word(struct seam_line_field *rest, struct seam_line_field *ret_field);

bool seam__field_is(struct seam_line_field field, const char *text);
bool seam__field_begins(struct seam_line_field field, const char *text);

#endif
