/* test_trace_file.c: traces in files: what is there before a failed write is there after it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "trace_file.h"
#include "trace_sample.h"

static char folder[64];
static char path[128];

static void open_folder(void)
{
	(void)snprintf(folder, sizeof(folder), "trace_file.XXXXXX");
	cr_assert_not_null(mkdtemp(folder), "%s", strerror(errno));
	(void)snprintf(path, sizeof(path), "%s/a.seamtrace", folder);
}

static void close_folder(void)
{
	(void)unlink(path);
	SEAM_VERIFY(rmdir(folder) == 0);
}

/* Names in the folder, the file's own among them. */
static int count_names(void)
{
	int names = 0;
	DIR *stream = opendir(folder);
	cr_assert_not_null(stream);
	for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
		names += entry->d_name[0] != '.';
	(void)closedir(stream);
	return names;
}

TestSuite(trace_file, .init = open_folder, .fini = close_folder);

Test(trace_file, reads_what_it_wrote)
{
	struct seam_trace *trace = trace_sample_create();
	struct seam_trace *again;
	cr_assert_eq(seam_trace_write_file(trace, path), SEAM_OK, "%s", strerror(errno));
	cr_assert_eq(seam_trace_read_file(path, NULL, &again), SEAM_OK);
	cr_assert_eq(again->header.checksum, trace->header.checksum);
	seam_trace_free(again);
	seam_trace_free(trace);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

Test(trace_file, a_new_file_has_the_usual_mode)
{
	struct seam_trace *trace = trace_sample_create();
	(void)umask(027);
	cr_assert_eq(seam_trace_write_file(trace, path), SEAM_OK);
	struct stat status;
	cr_assert_eq(stat(path, &status), 0);
	cr_assert_eq(status.st_mode & 0777, 0640);
	seam_trace_free(trace);
}

Test(trace_file, a_failed_write_keeps_the_old_file)
{
	struct seam_trace *trace = trace_sample_create();
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	(void)signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit;
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	const struct rlimit small = {.rlim_cur = 100, .rlim_max = limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	enum seam_rc rc = seam_trace_write_file(trace, path);
	int why = errno;
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(rc, SEAM_IO);
	cr_assert_eq(why, EFBIG, "%s", strerror(why));
	cr_assert_eq(count_names(), 1, "the temporary file was left");
	void *data;
	size_t bytes;
	cr_assert_eq(seam__file_read(path, 100, &data, &bytes), SEAM_OK);
	cr_assert_eq(bytes, 3);
	cr_assert_arr_eq(data, "old", 3);
	seam__file_free(data, bytes);
	seam_trace_free(trace);
}

Test(trace_file, says_why_a_file_cannot_be_read)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_read_file(path, &error, &trace), SEAM_IO);
	cr_assert(strstr(error.text, strerror(ENOENT)) != NULL, "%s", error.text);
	cr_assert_eq(seam_trace_read_file(folder, &error, &trace), SEAM_IO);
	cr_assert(strstr(error.text, strerror(EISDIR)) != NULL, "%s", error.text);
	cr_assert_eq(seam__file_write(path, "not a trace", 11), SEAM_OK);
	cr_assert_eq(seam_trace_read_file(path, &error, &trace), SEAM_FORMAT);
	cr_assert_null(trace);
}

Test(trace_file, a_folder_that_is_not_there_is_an_error)
{
	struct seam_trace *trace = trace_sample_create();
	char missing[160];
	(void)snprintf(missing, sizeof(missing), "%s/none/a.seamtrace", folder);
	cr_assert_eq(seam_trace_write_file(trace, missing), SEAM_IO);
	cr_assert_eq(errno, ENOENT);
	cr_assert_eq(seam_trace_write_file(trace, folder), SEAM_IO, "a folder is no file");
	seam_trace_free(trace);
}

Test(trace_file, more_than_the_limit_is_refused)
{
	void *data = NULL;
	size_t bytes = 0;
	cr_assert_eq(seam__file_write(path, "0123456789", 10), SEAM_OK);
	cr_assert_eq(seam__file_read(path, 9, &data, &bytes), SEAM_IO);
	cr_assert_eq(errno, EFBIG);
	cr_assert_null(data);
	cr_assert_eq(seam__file_read(path, 10, &data, &bytes), SEAM_OK);
	cr_assert_eq(bytes, 10);
	seam__file_free(data, bytes);
}

Test(trace_file, a_device_is_not_read)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_read_file("/dev/zero", &error, &trace), SEAM_INVALID, "it has no end");
	cr_assert(strstr(error.text, "device") != NULL, "%s", error.text);
	cr_assert_null(trace);
}

Test(trace_file, a_device_is_written_directly)
{
	cr_assert_eq(seam__file_write("/dev/null", "gone", 4), SEAM_OK, "%s", strerror(errno));
	struct stat status;
	cr_assert_eq(stat("/dev/null", &status), 0);
	cr_assert(S_ISCHR(status.st_mode), "it must not be replaced");
}
