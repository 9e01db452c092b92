/* text.c: the three places that rendered text can go to. */
#include "text.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"
#include "check.h"
#include "meta.h"

#define FIRST_BYTES 1024
#define PRINTF_BYTES 1024

void seam__text_init(struct seam_text *text, struct seam_meta *meta)
{
	*text = (struct seam_text){.meta = meta};
}

void seam__text_init_fixed(struct seam_text *text, char *bytes, size_t capacity_bytes)
{
	*text = (struct seam_text){.bytes = bytes, .capacity_bytes = bytes != NULL ? capacity_bytes : 0};
	if (text->capacity_bytes > 0)
		bytes[0] = '\0';
}

void seam__text_init_sink(struct seam_text *text, seam_text_sink *sink, void *user)
{
	*text = (struct seam_text){.sink = sink, .user = user};
}

void seam__text_fini(struct seam_text *text)
{
	if (text->meta != NULL)
		seam__meta_free(text->meta, text->bytes, text->capacity_bytes);
	*text = (struct seam_text){0};
}

/* Room for `count` more bytes and the final zero. */
static bool make_room(struct seam_text *text, size_t count)
{
	size_t needed_bytes;
	if (__builtin_add_overflow(text->length_bytes + 1, count, &needed_bytes))
		return false;
	if (needed_bytes <= text->capacity_bytes)
		return true;
	size_t grown_bytes = text->capacity_bytes == 0 ? FIRST_BYTES : text->capacity_bytes * 2;
	while (grown_bytes < needed_bytes)
		grown_bytes *= 2;
	char *grown = seam__meta_resize(text->meta, text->bytes, text->capacity_bytes, grown_bytes);
	if (grown == NULL)
		return false;
	text->bytes = grown;
	text->capacity_bytes = grown_bytes;
	return true;
}

void seam__text_add(struct seam_text *text, const char *bytes, size_t count)
{
	if (text->rc != SEAM_OK || count == 0)
		return;
	if (text->sink != NULL) {
		if (!text->sink(text->user, bytes, count)) {
			text->rc = SEAM_IO;
			return;
		}
	} else if (text->meta != NULL) {
		if (!make_room(text, count)) {
			text->rc = SEAM_OOM_META;
			return;
		}
		memcpy(text->bytes + text->length_bytes, bytes, count);
		text->bytes[text->length_bytes + count] = '\0';
	} else if (text->length_bytes + 1 < text->capacity_bytes) {
		size_t room = text->capacity_bytes - 1 - text->length_bytes;
		size_t kept = count < room ? count : room;
		memcpy(text->bytes + text->length_bytes, bytes, kept);
		text->bytes[text->length_bytes + kept] = '\0';
	}
	text->length_bytes += count;
}

void seam__text_puts(struct seam_text *text, const char *string)
{
	seam__text_add(text, string, strlen(string));
}

void seam__text_fill(struct seam_text *text, char character, size_t count)
{
	char piece[64];
	memset(piece, character, sizeof(piece));
	while (count > 0) {
		size_t now = count < sizeof(piece) ? count : sizeof(piece);
		seam__text_add(text, piece, now);
		count -= now;
	}
}

void seam__text_printf(struct seam_text *text, const char *format, ...)
{
	char piece[PRINTF_BYTES];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(piece, sizeof(piece), format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof(piece)) {
		if (text->rc == SEAM_OK)
			text->rc = SEAM_INVALID;
		return;
	}
	seam__text_add(text, piece, (size_t)length);
}

const char *seam__text_string(const struct seam_text *text)
{
	return text->capacity_bytes == 0 ? "" : text->bytes;
}

enum seam_rc seam__text_rc(const struct seam_text *text)
{
	return text->rc;
}

const char *seam__text_check(const struct seam_text *text)
{
	if (text->sink != NULL || text->capacity_bytes == 0)
		return NULL;
	size_t end = seam__bits_min(text->length_bytes, text->capacity_bytes - 1);
	return text->bytes[end] == '\0' ? NULL : "TX1 content ends in a zero";
}

void seam__text_line(char *text, size_t text_bytes, const char *format, ...)
{
	if (text == NULL || text_bytes == 0)
		return;
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(text, text_bytes, format, arguments);
	va_end(arguments);
}

char *seam__text_size(char *buffer, uint64_t size_bytes)
{
	static const char units[] = "KMGTPE";
	if (size_bytes < 1024) {
		(void)snprintf(buffer, 24, "%u B", (unsigned)size_bytes);
		return buffer;
	}
	unsigned power = seam__bits_log2(size_bytes) / 10;
	double scaled = (double)size_bytes / (double)(UINT64_C(1) << (10 * power));
	(void)snprintf(buffer, 24, scaled < 100.0 ? "%.2f %ciB" : "%.0f %ciB", scaled, units[power - 1]);
	return buffer;
}
