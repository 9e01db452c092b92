/* opts.c: parses and renders the options of options.def. */
#include "opts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "table.h"

#define CHUNK_UNIT_BYTES (UINT64_C(2) << 20)

static const struct seam_option options[] = {
#define SEAM_OPTION(who, name, type, default_, least, most, text)                                  \
	{#name, SEAM_OPTION_FOR_##who, SEAM_OPTION_TYPE_##type, default_, least, most, NULL, text, \
		offsetof(struct seam_config, name)},
#define SEAM_OPTION_CHOICE(who, name, names, text)                                             \
	{#name, SEAM_OPTION_FOR_##who, SEAM_OPTION_TYPE_CHOICE, 0, 0, UINT64_MAX, names, text, \
		offsetof(struct seam_config, name)},
#include <seam/options.def>
#undef SEAM_OPTION
#undef SEAM_OPTION_CHOICE
};

#define OPTION_COUNT (sizeof(options) / sizeof(options[0]))

/* A piece of somebody else's string. */
struct piece {
	const char *start;
	size_t length;
};

static bool equals(struct piece piece, const char *word)
{
	return piece.length == strlen(word) && memcmp(piece.start, word, piece.length) == 0;
}

static bool is_blank(char character)
{
	return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

static struct piece trimmed(const char *start, const char *end)
{
	while (start < end && is_blank(*start))
		start++;
	while (end > start && is_blank(end[-1]))
		end--;
	return (struct piece){start, (size_t)(end - start)};
}

/* The piece up to `separator` or the end; *rest moves behind it, or to NULL after the last one. */
static struct piece next_piece(const char **rest, char separator)
{
	const char *start = *rest;
	const char *end = start + strcspn(start, (const char[]){separator, '\0'});
	*rest = *end == '\0' ? NULL : end + 1;
	return (struct piece){start, (size_t)(end - start)};
}

/* One line for the caller: what is wrong with which entry. A long entry is cut, and control characters are shown as
 * '?', so that the line stays one line. */
static enum seam_rc refuse(char *error, size_t error_bytes, struct piece entry, const char *why)
{
	char shown[64];
	size_t length = seam__bits_min(entry.length, sizeof(shown) - 1);
	for (size_t i = 0; i < length; i++) {
		unsigned char character = (unsigned char)entry.start[i];
		shown[i] = character < 0x20 || character >= 0x7f ? '?' : (char)character;
	}
	shown[length] = '\0';
	seam__text_line(error, error_bytes, "'%s%s': %s", shown, length < entry.length ? "..." : "", why);
	return SEAM_CONF;
}

const struct seam_option *seam__opts_get(size_t index)
{
	return index < OPTION_COUNT ? &options[index] : NULL;
}

static const struct seam_option *find_option(struct piece name)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (equals(name, options[i].name))
			return &options[i];
	}
	return NULL;
}

const struct seam_option *seam__opts_find(const char *name)
{
	return find_option((struct piece){name, strlen(name)});
}

uint64_t seam__opts_value(const struct seam_option *option, const struct seam_config *config)
{
	uint64_t value;
	memcpy(&value, (const char *)config + option->offset, sizeof(value));
	return value;
}

static void set_value(const struct seam_option *option, struct seam_config *config, uint64_t value)
{
	memcpy((char *)config + option->offset, &value, sizeof(value));
}

static bool parse_digits(struct piece *rest, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t digits = 0;
	while (digits < rest->length && rest->start[digits] >= '0' && rest->start[digits] <= '9') {
		uint64_t digit = (uint64_t)(rest->start[digits] - '0');
		if (!seam__bits_try_mul(value, 10, &value) || !seam__bits_try_add(value, digit, &value))
			return false;
		digits++;
	}
	if (digits == 0)
		return false;
	rest->start += digits;
	rest->length -= digits;
	*ret_value = value;
	return true;
}

static bool parse_size(struct piece text, uint64_t *ret_value)
{
	static const char units[] = "KMGT";
	struct piece rest = text;
	uint64_t number;
	uint64_t unit = 1;
	if (!parse_digits(&rest, &number))
		return false;
	if (rest.length > 0) {
		const char *found = memchr(units, rest.start[0] & ~0x20, sizeof(units) - 1);
		if (found != NULL) {
			unit = UINT64_C(1) << (10 * (unsigned)(found - units + 1));
			rest.start++;
			rest.length--;
			if (rest.length > 0 && !equals(rest, "B") && !equals(rest, "iB"))
				return false;
		} else if (!equals(rest, "B")) {
			return false;
		}
	}
	return seam__bits_try_mul(number, unit, ret_value);
}

static bool parse_bool(struct piece text, uint64_t *ret_value)
{
	static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (equals(text, words[i])) {
			*ret_value = i % 2;
			return true;
		}
	}
	return false;
}

static bool parse_choice(const char *choices, struct piece text, uint64_t *ret_value)
{
	const char *rest = choices;
	for (uint64_t position = 0; rest != NULL; position++) {
		struct piece name = next_piece(&rest, '|');
		if (name.length == text.length && memcmp(name.start, text.start, text.length) == 0) {
			*ret_value = position;
			return true;
		}
	}
	return false;
}

static uint64_t choice_count(const char *choices)
{
	uint64_t count = 1;
	for (; *choices != '\0'; choices++)
		count += *choices == '|';
	return count;
}

/* NULL, or what is wrong with a value that is not 0. */
static const char *range_error(const struct seam_option *option, uint64_t value, char *buffer, size_t buffer_bytes)
{
	char least[SEAM_OPTS_VALUE_BYTES];
	char most[SEAM_OPTS_VALUE_BYTES];
	if (option->type == SEAM_OPTION_TYPE_CHOICE)
		return value < choice_count(option->choices) ? NULL : "is none of the choices";
	if (value < option->least || value > option->most) {
		(void)snprintf(buffer, buffer_bytes, "the value must be from %s to %s",
			seam__opts_format(option, option->least, least), seam__opts_format(option, option->most, most));
		return buffer;
	}
	if (option->offset == offsetof(struct seam_config, chunk_bytes) && value % CHUNK_UNIT_BYTES != 0)
		return "the value must be a multiple of 2M";
	return NULL;
}

static bool parse_value(const struct seam_option *option, struct piece text, uint64_t *ret_value)
{
	struct piece rest = text;
	switch (option->type) {
	case SEAM_OPTION_TYPE_SIZE:
		return parse_size(text, ret_value);
	case SEAM_OPTION_TYPE_COUNT:
		return parse_digits(&rest, ret_value) && rest.length == 0;
	case SEAM_OPTION_TYPE_BOOL:
		return parse_bool(text, ret_value);
	case SEAM_OPTION_TYPE_CHOICE:
		return parse_choice(option->choices, text, ret_value);
	}
	return false;
}

/* What a malformed value should have been. */
static const char *expected(const struct seam_option *option, char *buffer, size_t buffer_bytes)
{
	switch (option->type) {
	case SEAM_OPTION_TYPE_SIZE:
		return "not a size (digits, then maybe K, M, G or T)";
	case SEAM_OPTION_TYPE_COUNT:
		return "not a number";
	case SEAM_OPTION_TYPE_BOOL:
		return "neither 0 nor 1";
	case SEAM_OPTION_TYPE_CHOICE:
		(void)snprintf(buffer, buffer_bytes, "not one of %s", option->choices);
		return buffer;
	}
	return "malformed";
}

static enum seam_rc parse_entry(struct seam_config *config, struct piece entry, char *error, size_t error_bytes)
{
	char why[100];
	const char *end = entry.start + entry.length;
	const char *colon = memchr(entry.start, ':', entry.length);
	if (colon == NULL)
		return refuse(error, error_bytes, entry, "not of the form key:value");
	const struct seam_option *option = find_option(trimmed(entry.start, colon));
	if (option == NULL)
		return refuse(error, error_bytes, entry, "there is no such option");
	uint64_t value;
	if (!parse_value(option, trimmed(colon + 1, end), &value))
		return refuse(error, error_bytes, entry, expected(option, why, sizeof(why)));
	const char *wrong = value == 0 ? NULL : range_error(option, value, why, sizeof(why));
	if (wrong != NULL)
		return refuse(error, error_bytes, entry, wrong);
	set_value(option, config, value);
	return SEAM_OK;
}

void seam_config_init(struct seam_config *config)
{
	if (config == NULL)
		return;
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
	config->version = SEAM_CONFIG_VERSION;
}

static enum seam_rc refuse_version(char *error, size_t error_bytes)
{
	seam__text_line(error, error_bytes, "struct seam_config has a size or version that this library does not know");
	return SEAM_VERSION;
}

enum seam_rc seam_config_parse(struct seam_config *config, const char *text, char *error, size_t error_bytes)
{
	if (config == NULL || text == NULL) {
		seam__text_line(error, error_bytes, "%s", seam_rc_text(SEAM_INVALID));
		return SEAM_INVALID;
	}
	if (config->size != sizeof(*config) || config->version != SEAM_CONFIG_VERSION)
		return refuse_version(error, error_bytes);
	struct seam_config parsed = *config;
	const char *rest = text;
	while (rest != NULL) {
		struct piece piece = next_piece(&rest, ',');
		struct piece entry = trimmed(piece.start, piece.start + piece.length);
		if (entry.length == 0)
			continue;
		enum seam_rc rc = parse_entry(&parsed, entry, error, error_bytes);
		if (rc != SEAM_OK)
			return rc;
	}
	*config = parsed;
	return SEAM_OK;
}

/* A configuration of any size that earlier versions had: what it does not have is 0. */
static bool copy_given(const struct seam_config *given, struct seam_config *copy)
{
	if (given->version != SEAM_CONFIG_VERSION || given->size < 2 * sizeof(uint32_t) || given->size > sizeof(*copy))
		return false;
	memcpy(copy, given, given->size);
	return true;
}

enum seam_rc seam__opts_resolve(const struct seam_config *given, const char *environment, char *error,
	size_t error_bytes, struct seam_config *ret_config)
{
	struct seam_config over;
	struct seam_config resolved;
	seam_config_init(&over);
	seam_config_init(&resolved);
	if (given != NULL && !copy_given(given, &over))
		return refuse_version(error, error_bytes);
	if (environment != NULL) {
		char why[SEAM_OPTS_LINE_BYTES];
		enum seam_rc rc = seam_config_parse(&resolved, environment, why, sizeof why);
		if (rc != SEAM_OK) {
			seam__text_line(error, error_bytes, "SEAM_CONF: %s", why);
			return rc;
		}
	}
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char why[100];
		uint64_t value = seam__opts_value(&options[i], &over);
		if (value != 0) {
			const char *wrong = range_error(&options[i], value, why, sizeof(why));
			if (wrong != NULL)
				return refuse(error, error_bytes,
					(struct piece){options[i].name, strlen(options[i].name)}, wrong);
			set_value(&options[i], &resolved, value);
		}
		if (seam__opts_value(&options[i], &resolved) == 0)
			set_value(&options[i], &resolved, options[i].default_value);
	}
	*ret_config = resolved;
	return SEAM_OK;
}

char *seam__opts_format(const struct seam_option *option, uint64_t value, char *buffer)
{
	if (option->type == SEAM_OPTION_TYPE_CHOICE) {
		const char *rest = option->choices;
		struct piece name = next_piece(&rest, '|');
		while (value-- > 0 && rest != NULL)
			name = next_piece(&rest, '|');
		bool found = value == UINT64_MAX;
		(void)snprintf(
			buffer, SEAM_OPTS_VALUE_BYTES, "%.*s", found ? (int)name.length : 1, found ? name.start : "?");
		return buffer;
	}
	unsigned power = 0;
	while (option->type == SEAM_OPTION_TYPE_SIZE && power < 4 && value != 0 && value % 1024 == 0) {
		value /= 1024;
		power++;
	}
	(void)snprintf(buffer, SEAM_OPTS_VALUE_BYTES, "%" PRIu64 "%.*s", value, power > 0, &"?KMGT"[power]);
	return buffer;
}

static void write_option(const struct seam_option *option, struct seam_text *text)
{
	char value[SEAM_OPTS_VALUE_BYTES];
	seam__text_printf(text, "  %s:", option->name);
	if (option->type == SEAM_OPTION_TYPE_CHOICE)
		seam__text_puts(text, option->choices);
	else
		seam__text_puts(text,
			option->type == SEAM_OPTION_TYPE_SIZE           ? "SIZE"
				: option->type == SEAM_OPTION_TYPE_BOOL ? "0|1"
									: "N");
	seam__text_printf(text, " (default %s)\n", seam__opts_format(option, option->default_value, value));
	seam__text_printf(text, "      %s\n", option->text);
}

static void write_options(enum seam_option_for who, struct seam_text *text)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (options[i].who == who)
			write_option(&options[i], text);
	}
}

void seam__opts_write_help(struct seam_text *text)
{
	write_options(SEAM_OPTION_FOR_USER, text);
	seam__text_puts(text, "For experiments:\n");
	write_options(SEAM_OPTION_FOR_EXPERIMENT, text);
}

enum seam_rc seam__opts_write_markdown(struct seam_meta *meta, enum seam_option_for who, struct seam_text *text)
{
	struct seam_table table;
	seam__table_init(&table, meta, 4);
	seam__table_cell(&table, "key");
	seam__table_cell(&table, "default");
	seam__table_cell(&table, "values");
	seam__table_cell(&table, "meaning");
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct seam_option *option = &options[i];
		if (option->who != who)
			continue;
		char least[SEAM_OPTS_VALUE_BYTES];
		char most[SEAM_OPTS_VALUE_BYTES];
		seam__table_cell(&table, "`%s`", option->name);
		seam__table_cell(&table, "%s", seam__opts_format(option, option->default_value, least));
		if (option->type == SEAM_OPTION_TYPE_CHOICE)
			seam__table_cell(&table, "%s", option->choices);
		else
			seam__table_cell(&table, "%s to %s", seam__opts_format(option, option->least, least),
				seam__opts_format(option, option->most, most));
		seam__table_cell(&table, "%s", option->text);
	}
	enum seam_rc rc = seam__table_write(&table, SEAM_TABLE_MARKDOWN, text);
	seam__table_fini(&table);
	return rc;
}
