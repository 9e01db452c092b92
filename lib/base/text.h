/* text.h: where rendered text goes: a growing buffer, a buffer of the caller's, or a callback.
 *
 * Not here: the form of the text (json.h, table.h). Failure is sticky: writers need not look after every piece, the
 * user asks seam__text_rc() at the end. Invariants: TX1 the content of a buffer always ends in a zero that length_bytes
 * does not count. One thread at a time.
 */
#ifndef SEAM_BASE_TEXT_H
#define SEAM_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/rc.h>

struct seam_meta;

/* Returns false to stop: the text then fails with SEAM_IO. */
typedef bool seam_text_sink(void *user, const char *bytes, size_t count);

struct seam_text {
	struct seam_meta *meta; /* growing buffer: who pays for it; else NULL */
	seam_text_sink *sink;   /* callback, or NULL */
	void *user;             /* of the callback */
	char *bytes;            /* the buffer; NULL for a callback, and before the first byte */
	size_t capacity_bytes;  /* of the buffer, final zero included */
	size_t length_bytes;    /* added so far; for a caller's buffer also what did not fit */
	enum seam_rc rc;        /* SEAM_OK, or the first failure; nothing is added after it */
};

/* A buffer that grows in `meta`. Allocates nothing yet. */
void seam__text_init(struct seam_text *text, struct seam_meta *meta);

/* Writes at most capacity_bytes, always with a final zero unless that is 0; length_bytes counts everything, so that a
 * caller can ask for the size first. `bytes` may be NULL: then nothing is written. */
void seam__text_init_fixed(struct seam_text *text, char *bytes, size_t capacity_bytes);

/* Hands every piece to the callback. */
void seam__text_init_sink(struct seam_text *text, seam_text_sink *sink, void *user);

/* Frees the growing buffer. */
void seam__text_fini(struct seam_text *text);

void seam__text_add(struct seam_text *text, const char *bytes, size_t count);
void seam__text_puts(struct seam_text *text, const char *string);
void seam__text_fill(struct seam_text *text, char character, size_t count);

/* At most 1023 characters at a time; more fails with SEAM_INVALID. */
__attribute__((format(printf, 2, 3))) void seam__text_printf(struct seam_text *text, const char *format, ...);

/* The content of a buffer so far; "" before the first byte. Valid until the next addition. */
const char *seam__text_string(const struct seam_text *text);

/* SEAM_OK, SEAM_OOM_META (the buffer could not grow), SEAM_IO (the callback stopped) or SEAM_INVALID. */
SEAM_MUST_USE enum seam_rc seam__text_rc(const struct seam_text *text);

const char *seam__text_check(const struct seam_text *text);

/* One line into a caller's buffer of text_bytes: cut to fit, with its final zero. NULL or 0: nothing is written. */
__attribute__((format(printf, 3, 4))) void seam__text_line(char *text, size_t text_bytes, const char *format, ...);

/* "17.2 GiB", "512 B": for people. buffer: at least 24 bytes; returned. */
char *seam__text_size(char *buffer, uint64_t size_bytes);

#endif
