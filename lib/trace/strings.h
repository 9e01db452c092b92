/* strings.h: a section of strings under construction: each stands in it once and is named by its byte offset.
 *
 * Not here: reading a finished section (seam_trace_string(), seam_plan_string()); foreign texts (trace_text.h).
 * Invariants: the section begins with the empty string and ends in a zero; every interned string stands in it once.
 * No locks: one thread at a time.
 */
#ifndef SEAM_STRINGS_H
#define SEAM_STRINGS_H

#include <stdint.h>

#include <seam/rc.h>

#include "grow.h"

struct seam_strings_entry; /* uthash's handle stays out of this header */

struct seam_strings {
	struct seam_grow section;         /* char */
	struct seam_strings_entry *table; /* by text */
};

/* Errors: SEAM_OOM_META; there is nothing to fini then. */
SEAM_MUST_USE enum seam_rc seam__strings_init(struct seam_strings *strings);
void seam__strings_fini(struct seam_strings *strings); /* a zeroed one is allowed */

/* Where `text` stands in the section, appended if it is new. Errors: SEAM_OOM_META, SEAM_INVALID (over 4 GiB in all).
 */
SEAM_MUST_USE enum seam_rc seam__strings_intern(struct seam_strings *strings, const char *text, uint32_t *ret_offset);

/* Does a string of the section `strings` of so many bytes begin at `offset`? For sections that were checked to begin
 * and end with a zero. */
static inline int seam__strings_begins(const char *strings, uint64_t string_bytes, uint32_t offset)
{
	return offset < string_bytes && (offset == 0 || strings[offset - 1] == '\0');
}

#endif
