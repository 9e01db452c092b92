/* pickle_writer.c: see pickle_writer.h. */
#include "pickle_writer.h"

#include <stdlib.h>
#include <string.h>

void pickle_raw(struct pickle_writer *writer, const void *data, size_t bytes)
{
	if (bytes > writer->capacity_bytes - writer->bytes) {
		writer->capacity_bytes = (writer->bytes + bytes) * 2;
		writer->data = realloc(writer->data, writer->capacity_bytes);
		if (writer->data == NULL)
			abort();
	}
	memcpy(writer->data + writer->bytes, data, bytes);
	writer->bytes += bytes;
}

void pickle_begin(struct pickle_writer *writer)
{
	*writer = (struct pickle_writer){0};
	pickle_raw(writer, "\x80\x02", 2);
}

void pickle_finish(struct pickle_writer *writer)
{
	pickle_raw(writer, ".", 1);
}

void pickle_free(struct pickle_writer *writer)
{
	free(writer->data);
	*writer = (struct pickle_writer){0};
}

void pickle_begin_dict(struct pickle_writer *writer)
{
	pickle_raw(writer, "}(", 2);
}

void pickle_end_dict(struct pickle_writer *writer)
{
	pickle_raw(writer, "u", 1);
}

void pickle_begin_list(struct pickle_writer *writer)
{
	pickle_raw(writer, "](", 2);
}

void pickle_end_list(struct pickle_writer *writer)
{
	pickle_raw(writer, "e", 1);
}

static void put_number(struct pickle_writer *writer, uint64_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		const unsigned char byte = (unsigned char)(number >> (8 * i));
		pickle_raw(writer, &byte, 1);
	}
}

void pickle_text(struct pickle_writer *writer, const char *text)
{
	pickle_raw(writer, "X", 1);
	put_number(writer, strlen(text), 4);
	pickle_raw(writer, text, strlen(text));
}

void pickle_number(struct pickle_writer *writer, uint64_t number)
{
	pickle_raw(writer, "\x8a\x09", 2);
	put_number(writer, number, 8);
	pickle_raw(writer, "", 1);
}

void pickle_pair(struct pickle_writer *writer, uint64_t first, uint64_t second)
{
	pickle_number(writer, first);
	pickle_number(writer, second);
	pickle_raw(writer, "\x86", 1);
}

void pickle_text_field(struct pickle_writer *writer, const char *key, const char *text)
{
	pickle_text(writer, key);
	pickle_text(writer, text);
}

void pickle_number_field(struct pickle_writer *writer, const char *key, uint64_t number)
{
	pickle_text(writer, key);
	pickle_number(writer, number);
}

void pickle_pair_field(struct pickle_writer *writer, const char *key, uint64_t first, uint64_t second)
{
	pickle_text(writer, key);
	pickle_pair(writer, first, second);
}
