/* pickle_writer.h: writes plain pickles (protocol 2, without a memo) for tests.
 *
 * Values are written one behind the other: pickle_begin_dict(), then key and value by turns, then pickle_end_dict().
 */
#ifndef SEAM_PICKLE_WRITER_H
#define SEAM_PICKLE_WRITER_H

#include <stddef.h>
#include <stdint.h>

struct pickle_writer {
	unsigned char *data; /* malloc()ed */
	size_t bytes;
	size_t capacity_bytes;
};

void pickle_begin(struct pickle_writer *writer);
void pickle_finish(struct pickle_writer *writer); /* writes STOP */
void pickle_free(struct pickle_writer *writer);

void pickle_begin_dict(struct pickle_writer *writer);
void pickle_end_dict(struct pickle_writer *writer);
void pickle_begin_list(struct pickle_writer *writer);
void pickle_end_list(struct pickle_writer *writer);
void pickle_text(struct pickle_writer *writer, const char *text);
void pickle_number(struct pickle_writer *writer, uint64_t number);
void pickle_pair(struct pickle_writer *writer, uint64_t first, uint64_t second);

/* A key and its value. */
void pickle_text_field(struct pickle_writer *writer, const char *key, const char *text);
void pickle_number_field(struct pickle_writer *writer, const char *key, uint64_t number);
void pickle_pair_field(struct pickle_writer *writer, const char *key, uint64_t first, uint64_t second);

/* Bytes as they are: any opcode. */
void pickle_raw(struct pickle_writer *writer, const void *data, size_t bytes);

#endif
