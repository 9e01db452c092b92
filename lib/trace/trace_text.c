/* trace_text.c: see trace_text.h. */
#include "trace_text.h"

#include <string.h>

/* Bytes of the valid character at `text`, or 0. Surrogates and overlong forms are not valid. */
static size_t character_bytes(const unsigned char *text, size_t bytes)
{
	static const struct {
		unsigned char mask;
		unsigned char lead;
		uint32_t least;
	} forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
	for (size_t length = 1; length <= 4 && length <= bytes; length++) {
		if ((text[0] & forms[length - 1].mask) != forms[length - 1].lead)
			continue;
		uint32_t code = text[0] & (unsigned char)~forms[length - 1].mask;
		for (size_t i = 1; i < length; i++) {
			if ((text[i] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (text[i] & 0x3f);
		}
		const int valid =
			code >= forms[length - 1].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
		return valid ? length : 0;
	}
	return 0;
}

enum seam_rc seam__trace_text_intern(
	struct seam_trace_builder *builder, const char *text, size_t bytes, uint32_t *ret_offset)
{
	char clean[SEAM_TRACE_TEXT_BYTES + 1];
	size_t used = 0;
	for (size_t at = 0; at < bytes;) {
		const size_t length = character_bytes((const unsigned char *)text + at, bytes - at);
		const size_t taken = length == 0 ? 1 : length;
		if (used + taken > SEAM_TRACE_TEXT_BYTES)
			break;
		if (length == 0 || (unsigned char)text[at] < ' ' || text[at] == 0x7f)
			clean[used] = '?';
		else
			memcpy(clean + used, text + at, length);
		used += taken;
		at += taken;
	}
	clean[used] = '\0';
	return seam_trace_builder_string(builder, clean, ret_offset);
}
