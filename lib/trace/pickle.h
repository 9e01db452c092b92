/* pickle.h: reads a Python pickle that holds plain data, and nothing else.
 *
 * Protocols 0 to 5: None, bool, int, float, str, bytes, list, tuple, dict, set, frozenset. Whatever would import a
 * name, call something, build an object or ask for a persistent id is refused by its opcode. Nothing is executed.
 *
 * Not here: what the data means (import_snapshot.c); writing pickles.
 * The result is a graph and not always a tree: a pickle may name one value many times, or a list inside itself. So a
 * reader walks to a known depth only, and counts its steps against the size of the input (struct seam_pickle_walk).
 * Memory is bounded by the input's size times a constant; nothing here recurses.
 * Immutable once read: may be shared between threads.
 */
#ifndef SEAM_PICKLE_H
#define SEAM_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

#define SEAM_PICKLE_LIMIT_BYTES ((size_t)1 << 30) /* the most that is read: positions have 32 bits */

enum seam_pickle_type {
	SEAM_PICKLE_NONE,
	SEAM_PICKLE_BOOL,
	SEAM_PICKLE_INT,   /* from INT64_MIN to INT64_MAX */
	SEAM_PICKLE_UINT,  /* above, to UINT64_MAX */
	SEAM_PICKLE_BIG,   /* an integer beyond: recognised, its value is not kept */
	SEAM_PICKLE_FLOAT, /* likewise: nothing that Seam reads is one */
	SEAM_PICKLE_TEXT,
	SEAM_PICKLE_BYTES,
	SEAM_PICKLE_LIST,
	SEAM_PICKLE_TUPLE,
	SEAM_PICKLE_SET,
	SEAM_PICKLE_DICT
};

struct seam_pickle;

/* A value: a number that is valid for its pickle. */
struct seam_pickle_value {
	uint32_t index;
};

/* Reads `data`, which must stay until the pickle is freed: texts point into it.
 * Errors: SEAM_FORMAT (refused opcode; no pickle at all), SEAM_CORRUPT (truncated, malformed), SEAM_INVALID (larger
 * than the limit), SEAM_OOM_META; `error` (may be NULL) names the opcode and its offset. */
SEAM_MUST_USE enum seam_rc seam__pickle_read(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_pickle **ret_pickle);
void seam__pickle_free(struct seam_pickle *pickle); /* NULL is allowed */

struct seam_pickle_value seam__pickle_root(const struct seam_pickle *pickle);
enum seam_pickle_type seam__pickle_type(const struct seam_pickle *pickle, struct seam_pickle_value value);

/* Elements of a list, tuple or set; pairs of a dict; bytes of a text or bytes; else 0. */
size_t seam__pickle_count(const struct seam_pickle *pickle, struct seam_pickle_value value);

/* False where the value is no integer, or one that does not fit. True and False are 1 and 0. */
bool seam__pickle_get_u64(const struct seam_pickle *pickle, struct seam_pickle_value value, uint64_t *ret_number);
bool seam__pickle_get_i64(const struct seam_pickle *pickle, struct seam_pickle_value value, int64_t *ret_number);

/* False where the value is no text. UTF-8 as the file has it (not checked), not zero-terminated. */
bool seam__pickle_get_text(
	const struct seam_pickle *pickle, struct seam_pickle_value value, const char **ret_text, size_t *ret_bytes);
bool seam__pickle_text_is(const struct seam_pickle *pickle, struct seam_pickle_value value, const char *text);

/* Steps that a reader may still take. Shared parts of a hostile pickle multiply: the budget makes the walk linear. */
struct seam_pickle_walk {
	const struct seam_pickle *pickle;
	uint64_t steps_left;
};

/* A budget that every pickle without shared containers stays under. */
struct seam_pickle_walk seam__pickle_walk_begin(const struct seam_pickle *pickle);
bool seam__pickle_walk_is_spent(const struct seam_pickle_walk *walk);

/* Goes over a container: the elements, or for a dict keys and values in turn. */
struct seam_pickle_cursor {
	uint32_t extent; /* position of the extent in the pool, 0: at the end */
	uint32_t next;   /* index inside the extent */
};

struct seam_pickle_cursor seam__pickle_first(const struct seam_pickle *pickle, struct seam_pickle_value container);

/* False at the end, or when the budget is spent. */
bool seam__pickle_next(
	struct seam_pickle_walk *walk, struct seam_pickle_cursor *cursor, struct seam_pickle_value *ret_value);

/* Finds a text key in a dict; the last of equal keys counts, as in Python. False: not there, no dict, or the budget is
 * spent. */
bool seam__pickle_find(struct seam_pickle_walk *walk, struct seam_pickle_value dict, const char *key,
	struct seam_pickle_value *ret_value);

/* The first broken invariant's name, or NULL. */
const char *seam__pickle_check(const struct seam_pickle *pickle);

#endif
