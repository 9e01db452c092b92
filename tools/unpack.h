/* unpack.h: files that may be compressed with zstd or xz, as bytes in memory.
 *
 * Not here: what the bytes mean (input.h). What a file takes is bounded by what it has, whatever it claims: it may
 * unpack to UNPACK_RATIO times its size, or to UNPACK_SMALL_BYTES if that is more, and never to more than
 * UNPACK_LIMIT_BYTES (a snapshot of PyTorch unpacks to 50 times its size); a window or dictionary may have
 * UNPACK_BESIDE_BYTES. One thread.
 */
#ifndef TOOLS_UNPACK_H
#define TOOLS_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

struct progress;

#define UNPACK_LIMIT_BYTES ((size_t)4 << 30)
#define UNPACK_SMALL_BYTES ((size_t)64 << 20)
#define UNPACK_BESIDE_BYTES ((size_t)128 << 20)
#define UNPACK_RATIO ((size_t)1000)
#define UNPACK_ERROR_BYTES 256

struct unpacked {
	unsigned char *data; /* malloc()ed; NULL when empty */
	size_t bytes;
};

/* Reads `path` ("-": standard input). On failure false, with one line without the path in `error`. On success
 * unpacked_fini(). progress: may be NULL. */
bool unpacked_init(
	struct unpacked *unpacked, const char *path, struct progress *progress, char error[UNPACK_ERROR_BYTES]);
void unpacked_fini(struct unpacked *unpacked);

#endif
