/* json.h: writes JSON into a text, piece by piece, with commas, indentation and escapes done right.
 *
 * Not here: reading JSON (tools only). Strings are UTF-8; what is not becomes U+FFFD. Numbers do not depend on the
 * locale; a double that is not finite becomes null.
 * Invariants: J1 depth is at most SEAM_JSON_DEPTH_MAX; J2 inside an object every value follows a key.
 * Misuse is an internal error and aborts. One thread at a time.
 */
#ifndef SEAM_BASE_JSON_H
#define SEAM_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "text.h"

#define SEAM_JSON_DEPTH_MAX 31

struct seam_json {
	struct seam_text *text;
	unsigned depth;
	uint32_t object_levels; /* bit d: level d is an object, else an array */
	uint32_t used_levels;   /* bit d: level d has an element already */
	bool key_pending;       /* a key was written, its value is next */
	bool indented;
};

/* indented: one element a line; else no blanks at all. `text` stays the caller's. */
void seam__json_init(struct seam_json *json, struct seam_text *text, bool indented);

/* After the outermost value. Adds the final newline of an indented text, and returns seam__text_rc(). */
SEAM_MUST_USE enum seam_rc seam__json_finish(struct seam_json *json);

void seam__json_object_begin(struct seam_json *json);
void seam__json_object_end(struct seam_json *json);
void seam__json_array_begin(struct seam_json *json);
void seam__json_array_end(struct seam_json *json);

void seam__json_key(struct seam_json *json, const char *key);

void seam__json_string(struct seam_json *json, const char *value); /* NULL becomes null */
void seam__json_u64(struct seam_json *json, uint64_t value);
void seam__json_i64(struct seam_json *json, int64_t value);
void seam__json_double(struct seam_json *json, double value); /* shortest form that reads back the same */
void seam__json_bool(struct seam_json *json, bool value);
void seam__json_null(struct seam_json *json);

const char *seam__json_check(const struct seam_json *json);

#endif
