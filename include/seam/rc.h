/* rc.h: the result codes that every function of Seam returns, and their texts.
 *
 * Not here: what a code means for one function; that stands beside the function. One rule is the same for all and is
 * not repeated there: a pointer that is NULL where a function does not say what NULL means is SEAM_INVALID, and nothing
 * happens. A function that returns no code does nothing then and answers NULL or 0. An address that is NULL is that of
 * no block; a stream may always be NULL.
 *
 * A buffer for a text is a pair of arguments, the buffer and its size: `char *error, size_t error_bytes` for one line
 * about a failure, `char *text, size_t text_bytes` for any other text. At most so many bytes are written, the final
 * zero among them; a longer text is cut. With NULL or 0 nothing is written. A function that fails fills `error` with
 * one line, for which 200 bytes are enough unless it names a long path; when it succeeds the content means nothing. A
 * function with `text` returns the length of the whole text, without the final zero, also where it was cut.
 *
 * Invariant: codes keep their numbers from version to version; SEAM_OK is 0.
 */
#ifndef SEAM_RC_H
#define SEAM_RC_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SEAM_API __attribute__((visibility("default")))
#define SEAM_MUST_USE __attribute__((warn_unused_result))
#else
#define SEAM_API
#define SEAM_MUST_USE
#endif

enum seam_rc {
#define SEAM_RC(name, text) SEAM_##name,
#include <seam/errors.def>
#undef SEAM_RC
	SEAM_RC_COUNT
};

/* The code's name ("SEAM_OOM_DEVICE"). Never NULL: "SEAM_?" for a number that is no code. Thread safe. */
SEAM_API const char *seam_rc_name(enum seam_rc rc);

/* One English sentence without a full stop. Never NULL. Thread safe. */
SEAM_API const char *seam_rc_text(enum seam_rc rc);

#ifdef __cplusplus
}
#endif
#endif
