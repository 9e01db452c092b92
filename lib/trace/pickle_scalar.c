/* pickle_scalar.c: the opcodes that push one value without parts: numbers, texts, bytes, None, True, False. */
#include "pickle_machine.h"

enum seam_rc seam__pickle_read_none(struct seam_pickle_machine *machine)
{
	return seam__pickle_push_node(machine, (struct seam_pickle_node){.type = SEAM_PICKLE_NONE});
}

static enum seam_rc push_bool(struct seam_pickle_machine *machine, uint32_t truth)
{
	return seam__pickle_push_node(machine, (struct seam_pickle_node){.type = SEAM_PICKLE_BOOL, .count = truth});
}

enum seam_rc seam__pickle_read_true(struct seam_pickle_machine *machine)
{
	return push_bool(machine, 1);
}

enum seam_rc seam__pickle_read_false(struct seam_pickle_machine *machine)
{
	return push_bool(machine, 0);
}

static enum seam_rc push_int(struct seam_pickle_machine *machine, int64_t number)
{
	return seam__pickle_push_node(machine, (struct seam_pickle_node){.type = SEAM_PICKLE_INT, .as.i64 = number});
}

enum seam_rc seam__pickle_read_binint(struct seam_pickle_machine *machine)
{
	uint64_t number;
	enum seam_rc rc = seam__pickle_take_number(machine, 4, &number);
	return rc == SEAM_OK ? push_int(machine, (int32_t)(uint32_t)number) : rc;
}

static enum seam_rc read_unsigned(struct seam_pickle_machine *machine, size_t bytes)
{
	uint64_t number;
	enum seam_rc rc = seam__pickle_take_number(machine, bytes, &number);
	return rc == SEAM_OK ? push_int(machine, (int64_t)number) : rc;
}

enum seam_rc seam__pickle_read_binint1(struct seam_pickle_machine *machine)
{
	return read_unsigned(machine, 1);
}

enum seam_rc seam__pickle_read_binint2(struct seam_pickle_machine *machine)
{
	return read_unsigned(machine, 2);
}

static enum seam_rc push_integer_text(struct seam_pickle_machine *machine, const char *text, size_t bytes)
{
	struct seam_pickle_node node;
	if (!seam__pickle_parse_integer(text, bytes, &node))
		return seam__pickle_fail(machine, "not an integer");
	return seam__pickle_push_node(machine, node);
}

/* Protocols 0 and 1 write True and False as the integers 01 and 00. */
enum seam_rc seam__pickle_read_int_line(struct seam_pickle_machine *machine)
{
	const char *text;
	size_t bytes;
	enum seam_rc rc = seam__pickle_take_line(machine, &text, &bytes);
	if (rc != SEAM_OK)
		return rc;
	if (bytes == 2 && text[0] == '0' && (text[1] == '0' || text[1] == '1'))
		return push_bool(machine, text[1] == '1');
	return push_integer_text(machine, text, bytes);
}

enum seam_rc seam__pickle_read_long_line(struct seam_pickle_machine *machine)
{
	const char *text;
	size_t bytes;
	enum seam_rc rc = seam__pickle_take_line(machine, &text, &bytes);
	if (rc != SEAM_OK)
		return rc;
	if (bytes > 0 && text[bytes - 1] == 'L')
		bytes--;
	return push_integer_text(machine, text, bytes);
}

static enum seam_rc read_long(struct seam_pickle_machine *machine, size_t length_bytes)
{
	uint64_t bytes;
	const unsigned char *data;
	enum seam_rc rc = seam__pickle_take_number(machine, length_bytes, &bytes);
	if (rc != SEAM_OK)
		return rc;
	if (bytes > INT32_MAX)
		return seam__pickle_fail(machine, "a negative length");
	rc = seam__pickle_take(machine, bytes, &data);
	return rc == SEAM_OK ? seam__pickle_push_node(machine, seam__pickle_parse_long(data, (size_t)bytes)) : rc;
}

enum seam_rc seam__pickle_read_long1(struct seam_pickle_machine *machine)
{
	return read_long(machine, 1);
}

enum seam_rc seam__pickle_read_long4(struct seam_pickle_machine *machine)
{
	return read_long(machine, 4);
}

enum seam_rc seam__pickle_read_float_line(struct seam_pickle_machine *machine)
{
	const char *text;
	size_t bytes;
	enum seam_rc rc = seam__pickle_take_line(machine, &text, &bytes);
	if (rc != SEAM_OK)
		return rc;
	if (!seam__pickle_is_float(text, bytes))
		return seam__pickle_fail(machine, "not a float");
	return seam__pickle_push_node(machine, (struct seam_pickle_node){.type = SEAM_PICKLE_FLOAT});
}

enum seam_rc seam__pickle_read_binfloat(struct seam_pickle_machine *machine)
{
	const unsigned char *data;
	enum seam_rc rc = seam__pickle_take(machine, 8, &data);
	return rc == SEAM_OK ? seam__pickle_push_node(machine, (struct seam_pickle_node){.type = SEAM_PICKLE_FLOAT})
			     : rc;
}

static enum seam_rc read_run(struct seam_pickle_machine *machine, size_t length_bytes, enum seam_pickle_type type)
{
	uint64_t bytes;
	const unsigned char *data;
	enum seam_rc rc = seam__pickle_take_number(machine, length_bytes, &bytes);
	if (rc == SEAM_OK)
		rc = seam__pickle_take(machine, bytes, &data);
	if (rc != SEAM_OK)
		return rc;
	const struct seam_pickle_node node = {
		.type = (uint8_t)type,
		.count = (uint32_t)bytes,
		.as.offset = (uint64_t)(data - machine->pickle->data),
	};
	return seam__pickle_push_node(machine, node);
}

enum seam_rc seam__pickle_read_text1(struct seam_pickle_machine *machine)
{
	return read_run(machine, 1, SEAM_PICKLE_TEXT);
}

enum seam_rc seam__pickle_read_text4(struct seam_pickle_machine *machine)
{
	return read_run(machine, 4, SEAM_PICKLE_TEXT);
}

enum seam_rc seam__pickle_read_text8(struct seam_pickle_machine *machine)
{
	return read_run(machine, 8, SEAM_PICKLE_TEXT);
}

enum seam_rc seam__pickle_read_bytes1(struct seam_pickle_machine *machine)
{
	return read_run(machine, 1, SEAM_PICKLE_BYTES);
}

enum seam_rc seam__pickle_read_bytes4(struct seam_pickle_machine *machine)
{
	return read_run(machine, 4, SEAM_PICKLE_BYTES);
}

enum seam_rc seam__pickle_read_bytes8(struct seam_pickle_machine *machine)
{
	return read_run(machine, 8, SEAM_PICKLE_BYTES);
}

typedef enum seam_rc (*decode_line)(
	struct seam_pickle *pickle, const char *text, size_t bytes, struct seam_pickle_node *ret_node);

static enum seam_rc read_text_line(struct seam_pickle_machine *machine, decode_line decode)
{
	const char *text;
	size_t bytes;
	struct seam_pickle_node node;
	enum seam_rc rc = seam__pickle_take_line(machine, &text, &bytes);
	if (rc != SEAM_OK)
		return rc;
	rc = decode(machine->pickle, text, bytes, &node);
	if (rc == SEAM_CORRUPT)
		return seam__pickle_fail(machine, "a malformed text");
	return rc == SEAM_OK ? seam__pickle_push_node(machine, node) : rc;
}

enum seam_rc seam__pickle_read_string_line(struct seam_pickle_machine *machine)
{
	return read_text_line(machine, seam__pickle_decode_string);
}

enum seam_rc seam__pickle_read_unicode_line(struct seam_pickle_machine *machine)
{
	return read_text_line(machine, seam__pickle_decode_unicode);
}
