/* trace_file.c: see trace_file.h; and the public calls that read and write a trace by its path. */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grow.h"
#include "meta.h"
#include "trace_error.h"
#include "trace_format.h"

#define READ_BYTES ((size_t)1 << 20)
#define TEMPORARY_TRIES 100u

/* How many bytes a regular file says that it holds, 0 where none is told. A device (/dev/zero) may have no end. */
static enum seam_rc look_at(int file, size_t limit_bytes, size_t *ret_bytes)
{
	struct stat status;
	*ret_bytes = 0;
	if (fstat(file, &status) != 0)
		return SEAM_IO;
	if (S_ISDIR(status.st_mode)) {
		errno = EISDIR;
		return SEAM_IO;
	}
	if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
		return SEAM_INVALID;
	if (S_ISREG(status.st_mode) && status.st_size > 0 && (uintmax_t)status.st_size <= limit_bytes)
		*ret_bytes = (size_t)status.st_size;
	return SEAM_OK;
}

/* Room for all of a file that is of the right kind, so that a large one is not copied while the array grows; else for a
 * piece. */
static enum seam_rc reserve_for(struct seam_grow *content, size_t told_bytes, bool is_right)
{
	size_t more = told_bytes >= content->count ? told_bytes - content->count + 1 : READ_BYTES;
	return seam__grow_reserve(content, is_right || more < READ_BYTES ? more : READ_BYTES);
}

/* magic: what the file must begin with; one that does not is not read on. NULL: any file. */
static enum seam_rc read_all(int file, const char *magic, size_t limit_bytes, struct seam_grow *content)
{
	size_t told_bytes;
	const size_t magic_bytes = magic != NULL ? strlen(magic) : 0;
	enum seam_rc rc = look_at(file, limit_bytes, &told_bytes);
	while (rc == SEAM_OK) {
		if (content->count == content->capacity) {
			rc = reserve_for(content, told_bytes, content->count >= magic_bytes);
			continue;
		}
		ssize_t got = read(file, (char *)content->items + content->count, content->capacity - content->count);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return SEAM_IO;
		if (got == 0)
			return SEAM_OK;
		content->count += (size_t)got;
		if (content->count > limit_bytes) {
			errno = EFBIG;
			return SEAM_IO;
		}
		if (content->count >= magic_bytes && magic_bytes > 0 && memcmp(content->items, magic, magic_bytes) != 0)
			return SEAM_OK;
	}
	return rc;
}

/* Hands the content over as a block of exactly its size. */
static enum seam_rc hand_over(struct seam_grow *content, void **ret_data, size_t *ret_bytes)
{
	void *data = NULL;
	if (content->count > 0) {
		data = seam__meta_alloc(seam__meta_process(), content->count);
		if (data == NULL)
			return SEAM_OOM_META;
		memcpy(data, content->items, content->count);
	}
	*ret_data = data;
	*ret_bytes = content->count;
	return SEAM_OK;
}

static enum seam_rc read_file(
	const char *path, const char *magic, size_t limit_bytes, void **ret_data, size_t *ret_bytes)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return SEAM_IO;
	struct seam_grow content;
	seam__grow_init(&content, 1);
	enum seam_rc rc = read_all(file, magic, limit_bytes, &content);
	int why = errno;
	close(file);
	if (rc == SEAM_OK)
		rc = hand_over(&content, ret_data, ret_bytes);
	seam__grow_fini(&content);
	errno = why;
	return rc;
}

enum seam_rc seam__file_read(const char *path, size_t limit_bytes, void **ret_data, size_t *ret_bytes)
{
	return read_file(path, NULL, limit_bytes, ret_data, ret_bytes);
}

void seam__file_free(void *data, size_t bytes)
{
	seam__meta_free(seam__meta_process(), data, bytes);
}

static enum seam_rc write_all(int file, const void *data, size_t bytes)
{
	const char *next = data;
	while (bytes > 0) {
		ssize_t put = write(file, next, bytes);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return SEAM_IO;
		next += put;
		bytes -= (size_t)put;
	}
	return SEAM_OK;
}

/* The file that a path leads to, which need not be there yet. */
struct target {
	char path[PATH_MAX]; /* without links */
	mode_t mode;         /* of the old file; 0 where there is none */
	bool exists;
};

static enum seam_rc refuse(int why)
{
	errno = why;
	return SEAM_IO;
}

static enum seam_rc find_target(const char *path, struct target *target)
{
	struct stat status;
	const size_t bytes = strlen(path);
	*target = (struct target){0};
	if (bytes >= sizeof(target->path))
		return refuse(ENAMETOOLONG);
	if (lstat(path, &status) != 0) {
		memcpy(target->path, path, bytes + 1);
		return errno == ENOENT ? SEAM_OK : SEAM_IO; /* a missing folder shows when the file is made */
	}
	if (realpath(path, target->path) == NULL || stat(target->path, &status) != 0)
		return SEAM_IO;
	if (!S_ISREG(status.st_mode))
		return refuse(S_ISDIR(status.st_mode) ? EISDIR : ENOTSUP);
	target->mode = status.st_mode & 0777;
	target->exists = true;
	return SEAM_OK;
}

/* Beyond this limit write() would end the process by a signal. */
static bool may_write(size_t bytes)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* Not mkstemp(): its mode 0600 would stay, and the umask cannot be read without changing it for all threads. Never open
 * to more people than the old file. */
static int open_temporary(const struct target *target, char *name, size_t name_bytes)
{
	for (unsigned i = 0; i < TEMPORARY_TRIES; i++) {
		(void)snprintf(name, name_bytes, "%s.%ld-%u.tmp", target->path, (long)getpid(), i);
		int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, target->exists ? target->mode : 0666);
		if (file >= 0 || errno != EEXIST)
			return file;
	}
	return -1;
}

static enum seam_rc fill(int file, const struct target *target, const void *data, size_t bytes)
{
	if (target->exists && fchmod(file, target->mode) != 0)
		return SEAM_IO;
	enum seam_rc rc = write_all(file, data, bytes);
	return rc == SEAM_OK && fsync(file) != 0 ? SEAM_IO : rc;
}

static enum seam_rc write_beside(const struct target *target, const void *data, size_t bytes)
{
	char name[PATH_MAX + 64];
	int file = open_temporary(target, name, sizeof(name));
	if (file < 0)
		return SEAM_IO;
	enum seam_rc rc = fill(file, target, data, bytes);
	int why = errno;
	if (close(file) != 0 && rc == SEAM_OK) {
		why = errno;
		rc = SEAM_IO;
	}
	if (rc == SEAM_OK && rename(name, target->path) != 0) {
		why = errno;
		rc = SEAM_IO;
	}
	if (rc != SEAM_OK)
		(void)unlink(name);
	errno = why;
	return rc;
}

enum seam_rc seam__file_write(const char *path, const void *data, size_t bytes)
{
	struct target target;
	enum seam_rc rc = find_target(path, &target);
	if (rc == SEAM_OK && !may_write(bytes))
		rc = refuse(EFBIG);
	return rc == SEAM_OK ? write_beside(&target, data, bytes) : rc;
}

enum seam_rc seam__file_read_all(
	const char *path, const char *magic, struct seam_trace_error *error, void **ret_data, size_t *ret_bytes)
{
	enum seam_rc rc = read_file(path, magic, SIZE_MAX / 8, ret_data, ret_bytes);
	if (rc == SEAM_IO)
		seam__trace_error_set(error, 0, "cannot read: %s", strerror(errno));
	if (rc == SEAM_INVALID)
		seam__trace_error_set(error, 0, "cannot read: a device is no file");
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}

enum seam_rc seam_trace_read_file(const char *path, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	if (path == NULL || ret_trace == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	void *data;
	size_t bytes;
	enum seam_rc rc = seam__file_read_all(path, SEAM_TRACE_MAGIC, error, &data, &bytes);
	if (rc != SEAM_OK)
		return rc;
	rc = seam_trace_read_memory(data, bytes, error, ret_trace);
	seam__file_free(data, bytes);
	return rc;
}

enum seam_rc seam_trace_write_file(const struct seam_trace *trace, const char *path)
{
	if (trace == NULL || path == NULL)
		return SEAM_INVALID;
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	return seam__file_write(path, image, bytes);
}
