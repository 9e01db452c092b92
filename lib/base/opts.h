/* opts.h: the options of a pool, from the one table options.def: parsing, defaults, ranges, help.
 *
 * The public half (seam_config_init, seam_config_parse) is in seam.h and implemented here.
 * In text an option is "key:value". Sizes take K, M, G or T (powers of 1024; a following "iB" or "B" is allowed),
 * booleans are 0 and 1 (also true, false, yes, no, on, off), choices are their names. Blanks around entries are
 * ignored. 0 always means the default. No state, no locks.
 */
#ifndef SEAM_BASE_OPTS_H
#define SEAM_BASE_OPTS_H

#include <stddef.h>
#include <stdint.h>

#include <seam/seam.h>

#include "text.h"

#define SEAM_OPTS_LINE_BYTES 200 /* a line that says what is wrong with an entry: the longest has some 180 bytes */
#define SEAM_OPTS_VALUE_BYTES 32

enum seam_option_type { SEAM_OPTION_TYPE_SIZE, SEAM_OPTION_TYPE_COUNT, SEAM_OPTION_TYPE_BOOL, SEAM_OPTION_TYPE_CHOICE };

enum seam_option_for { SEAM_OPTION_FOR_USER, SEAM_OPTION_FOR_EXPERIMENT };

struct seam_option {
	const char *name;
	enum seam_option_for who;
	enum seam_option_type type;
	uint64_t default_value;
	uint64_t least; /* of a value that is not 0 */
	uint64_t most;
	const char *choices; /* of a CHOICE: names separated by |, else NULL */
	const char *text;
	size_t offset; /* in struct seam_config */
};

/* NULL past the last one. */
const struct seam_option *seam__opts_get(size_t index);

/* NULL if there is none of that name. */
const struct seam_option *seam__opts_find(const char *name);

/* The configuration in force: `given` (NULL: nothing) over `environment` ("key:value,...", NULL: nothing) over the
 * defaults; every field is filled in and in its range. error: as in rc.h.
 * Errors: SEAM_CONF, SEAM_VERSION (a size or version that this library does not know). */
SEAM_MUST_USE enum seam_rc seam__opts_resolve(const struct seam_config *given, const char *environment, char *error,
	size_t error_bytes, struct seam_config *ret_config);

/* A value as a person writes it, and as seam_config_parse() reads it back: "16M", "1", "auto". buffer: at least
 * SEAM_OPTS_VALUE_BYTES; returned. A number that is no choice becomes "?". */
char *seam__opts_format(const struct seam_option *option, uint64_t value, char *buffer);

uint64_t seam__opts_value(const struct seam_option *option, const struct seam_config *config);

/* All options with their defaults, ranges and texts, for --help: users' first. */
void seam__opts_write_help(struct seam_text *text);

/* The same of those for `who` as a Markdown table. Errors: SEAM_OOM_META, and those of the text. */
SEAM_MUST_USE enum seam_rc seam__opts_write_markdown(
	struct seam_meta *meta, enum seam_option_for who, struct seam_text *text);

#endif
