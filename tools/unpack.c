/* unpack.c: see unpack.h. */
#include "unpack.h"

#include <errno.h>
#include <lzma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "progress.h"
#include "trace_file.h"

#define FIRST_BYTES ((size_t)1 << 20)
#define ZSTD_WINDOW_LOG 27 /* UNPACK_BESIDE_BYTES */

struct job {
	const unsigned char *packed;
	size_t packed_bytes;
	struct unpacked *unpacked;
	size_t capacity_bytes; /* of unpacked->data */
	size_t limit_bytes;    /* of the same */
	struct progress *progress;
	char *error;
};

static bool fail(struct job *job, const char *what)
{
	(void)snprintf(job->error, UNPACK_ERROR_BYTES, "%s", what);
	return false;
}

/* Room for at least one more byte. */
static bool grow(struct job *job)
{
	if (job->unpacked->bytes < job->capacity_bytes)
		return true;
	if (job->capacity_bytes >= job->limit_bytes) {
		(void)snprintf(job->error, UNPACK_ERROR_BYTES, "unpacks to more than %zu MiB, out of %zu bytes",
			job->limit_bytes >> 20, job->packed_bytes);
		return false;
	}
	size_t capacity_bytes = job->capacity_bytes == 0 ? FIRST_BYTES : job->capacity_bytes * 2;
	if (capacity_bytes > job->limit_bytes)
		capacity_bytes = job->limit_bytes;
	unsigned char *data = realloc(job->unpacked->data, capacity_bytes);
	if (data == NULL)
		return fail(job, "out of host memory");
	job->unpacked->data = data;
	job->capacity_bytes = capacity_bytes;
	return true;
}

/* What a file of so many bytes may unpack to. */
static size_t limit_of(size_t packed_bytes)
{
	const size_t bytes =
		packed_bytes > UNPACK_LIMIT_BYTES / UNPACK_RATIO ? UNPACK_LIMIT_BYTES : packed_bytes * UNPACK_RATIO;
	return bytes > UNPACK_SMALL_BYTES ? bytes : UNPACK_SMALL_BYTES;
}

static void step(struct job *job, size_t done)
{
	if (job->progress != NULL)
		progress_step(job->progress, done, job->packed_bytes);
}

/* `left` is what the frame still wants: 0 when one is complete. More frames may follow. */
static bool unpack_zstd_frames(struct job *job, ZSTD_DStream *stream)
{
	ZSTD_inBuffer in = {job->packed, job->packed_bytes, 0};
	size_t left = 1;
	while (in.pos < in.size || left != 0) {
		if (!grow(job))
			return false;
		const size_t in_before = in.pos;
		ZSTD_outBuffer out = {job->unpacked->data, job->capacity_bytes, job->unpacked->bytes};
		left = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(left)) {
			(void)snprintf(
				job->error, UNPACK_ERROR_BYTES, "damaged zstd data: %s", ZSTD_getErrorName(left));
			return false;
		}
		if (left != 0 && in.pos == in_before && out.pos == job->unpacked->bytes && in.pos == in.size)
			return fail(job, "truncated zstd data");
		job->unpacked->bytes = out.pos;
		step(job, in.pos);
	}
	return true;
}

static bool unpack_zstd(struct job *job)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (stream == NULL)
		return fail(job, "out of host memory");
	const bool bounded = !ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG));
	const bool done = bounded && unpack_zstd_frames(job, stream);
	(void)ZSTD_freeDStream(stream);
	return done;
}

static bool fail_xz(struct job *job, lzma_ret code)
{
	switch (code) {
	case LZMA_MEM_ERROR:
		return fail(job, "out of host memory");
	case LZMA_MEMLIMIT_ERROR:
		return fail(job, "xz data that needs more than 128 MiB to unpack");
	case LZMA_BUF_ERROR:
		return fail(job, "truncated xz data");
	default:
		return fail(job, "damaged xz data");
	}
}

static bool unpack_xz(struct job *job)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&stream, UNPACK_BESIDE_BYTES, LZMA_CONCATENATED);
	stream.next_in = job->packed;
	stream.avail_in = job->packed_bytes;
	while (code == LZMA_OK) {
		if (!grow(job)) {
			lzma_end(&stream);
			return false;
		}
		stream.next_out = job->unpacked->data + job->unpacked->bytes;
		stream.avail_out = job->capacity_bytes - job->unpacked->bytes;
		code = lzma_code(&stream, LZMA_FINISH);
		job->unpacked->bytes = job->capacity_bytes - stream.avail_out;
		step(job, job->packed_bytes - stream.avail_in);
	}
	lzma_end(&stream);
	return code == LZMA_STREAM_END ? true : fail_xz(job, code);
}

static bool copy(struct job *job)
{
	if (job->packed_bytes == 0)
		return true;
	job->unpacked->data = malloc(job->packed_bytes);
	if (job->unpacked->data == NULL)
		return fail(job, "out of host memory");
	memcpy(job->unpacked->data, job->packed, job->packed_bytes);
	job->unpacked->bytes = job->packed_bytes;
	return true;
}

static bool unpack(struct job *job)
{
	static const unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};
	static const unsigned char xz_magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
	if (job->packed_bytes >= sizeof(zstd_magic) && memcmp(job->packed, zstd_magic, sizeof(zstd_magic)) == 0)
		return unpack_zstd(job);
	if (job->packed_bytes >= sizeof(xz_magic) && memcmp(job->packed, xz_magic, sizeof(xz_magic)) == 0)
		return unpack_xz(job);
	return copy(job);
}

bool unpacked_init(
	struct unpacked *unpacked, const char *path, struct progress *progress, char error[UNPACK_ERROR_BYTES])
{
	void *packed;
	size_t packed_bytes;
	*unpacked = (struct unpacked){0};
	enum seam_rc rc = seam__file_read(
		strcmp(path, "-") == 0 ? "/dev/stdin" : path, UNPACK_LIMIT_BYTES, &packed, &packed_bytes);
	if (rc != SEAM_OK) {
		const char *what = rc == SEAM_INVALID ? "a device, not a file or a pipe" : seam_rc_text(rc);
		(void)snprintf(error, UNPACK_ERROR_BYTES, "%s", rc == SEAM_IO ? strerror(errno) : what);
		return false;
	}
	struct job job = {.packed = packed,
		.packed_bytes = packed_bytes,
		.unpacked = unpacked,
		.limit_bytes = limit_of(packed_bytes),
		.progress = progress,
		.error = error};
	const bool done = unpack(&job);
	seam__file_free(packed, packed_bytes);
	if (!done)
		unpacked_fini(unpacked);
	return done;
}

void unpacked_fini(struct unpacked *unpacked)
{
	free(unpacked->data);
	*unpacked = (struct unpacked){0};
}
