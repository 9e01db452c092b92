/* test_trace_file.c: traces in files: what is there before a failed write is there after it. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <seam/plan.h>

#include "check.h"
#include "meta.h"
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

/* A GiB of nothing: the first bytes say that it is no trace, and no plan. */
Test(trace_file, a_large_file_of_another_kind_is_not_read_whole)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	struct seam_meta_stats stats;
	cr_assert_eq(seam__file_write(path, "SEAM", 4), SEAM_OK);
	cr_assert_eq(truncate(path, (off_t)1 << 30), 0);
	seam__meta_reset_peak(seam__meta_process());
	cr_expect_eq(seam_trace_read_file(path, NULL, &trace), SEAM_FORMAT);
	cr_expect_eq(seam_plan_read_file(path, NULL, &plan), SEAM_FORMAT);
	seam__meta_get_stats(seam__meta_process(), &stats);
	cr_expect_lt(
		stats.peak_bytes, UINT64_C(8) << 20, "%llu bytes were taken", (unsigned long long)stats.peak_bytes);
}

Test(trace_file, a_device_is_not_read)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_read_file("/dev/zero", &error, &trace), SEAM_INVALID, "it has no end");
	cr_assert(strstr(error.text, "device") != NULL, "%s", error.text);
	cr_assert_null(trace);
}

/* Its own whole content, or "" if it cannot be read. */
static const char *content(const char *name)
{
	static char text[64];
	void *data = NULL;
	size_t bytes = 0;
	text[0] = '\0';
	if (seam__file_read(name, sizeof(text) - 1, &data, &bytes) == SEAM_OK)
		(void)snprintf(text, sizeof(text), "%.*s", (int)bytes, (const char *)data);
	seam__file_free(data, bytes);
	return text;
}

static void must_refuse(const char *name, int why)
{
	errno = 0;
	cr_expect_eq(seam__file_write(name, "new", 3), SEAM_IO, "%s", name);
	cr_expect_eq(errno, why, "%s: %s", name, strerror(errno));
}

Test(trace_file, only_regular_files_are_written, .timeout = 60)
{
	char byte;
	cr_assert_eq(mkfifo(path, 0600), 0);
	must_refuse(path, ENOTSUP); /* nobody reads it: an open for writing would wait for ever */
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_geq(reader, 0);
	must_refuse(path, ENOTSUP); /* the reader may leave, and a write would be a signal */
	cr_expect_eq(read(reader, &byte, 1), 0, "nothing was written");
	(void)close(reader);
	must_refuse("/dev/null", ENOTSUP);
	must_refuse("/dev/full", ENOTSUP);
	must_refuse(folder, EISDIR);
	struct stat status;
	cr_expect_eq(stat("/dev/null", &status), 0);
	cr_expect(S_ISCHR(status.st_mode), "it must not be replaced");
	cr_expect_eq(count_names(), 1, "something was left beside it");
}

Test(trace_file, a_link_stays_and_its_file_is_replaced)
{
	char link_name[160], other[160];
	struct stat status;
	(void)snprintf(link_name, sizeof(link_name), "%s/link", folder);
	(void)snprintf(other, sizeof(other), "%s/second", folder);
	cr_assert_eq(symlink("a.seamtrace", link_name), 0);
	cr_assert_eq(symlink("link", other), 0);
	must_refuse(other, ENOENT); /* it leads nowhere */
	cr_expect_eq(count_names(), 2);
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	cr_assert_eq(seam__file_write(other, "new", 3), SEAM_OK, "%s", strerror(errno));
	cr_expect_str_eq(content(path), "new");
	cr_expect(lstat(link_name, &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
	cr_expect(lstat(other, &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
	cr_expect_eq(count_names(), 3);
	(void)unlink(other);
	(void)unlink(path);
	cr_assert_eq(symlink("link", path), 0);
	must_refuse(path, ELOOP);
	(void)unlink(link_name);
	cr_assert_eq(symlink("/dev/null", link_name), 0);
	must_refuse(link_name, ENOTSUP);
	(void)unlink(link_name);
}

Test(trace_file, an_old_mode_is_kept)
{
	static const mode_t modes[] = {0600, 0666, 0444, 0640, 0755};
	(void)umask(027);
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct stat status;
		cr_assert_eq(chmod(path, modes[i]), 0);
		cr_expect_eq(seam__file_write(path, "new", 3), SEAM_OK, "%s", strerror(errno));
		cr_assert_eq(stat(path, &status), 0);
		cr_expect_eq(
			status.st_mode & 07777, modes[i], "%o became %o", (unsigned)modes[i], (unsigned)status.st_mode);
		cr_expect_str_eq(content(path), "new");
	}
}

Test(trace_file, more_than_the_process_may_write_is_an_error_not_a_signal)
{
	struct rlimit limit;
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	const struct rlimit small = {.rlim_cur = 2, .rlim_max = limit.rlim_max};
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	must_refuse(path, EFBIG);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_str_eq(content(path), "old");
	cr_expect_eq(count_names(), 1, "the temporary file was left");
}

/* A user who may not do everything: rights hold for whoever is not root. */
static void be_nobody(void)
{
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
}

Test(trace_file, a_folder_that_cannot_be_written_keeps_what_is_there)
{
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	cr_assert_eq(chmod(folder, 0555), 0);
	be_nobody();
	must_refuse(path, EACCES);
	cr_expect_str_eq(content(path), "old");
	(void)seteuid(getuid());
	cr_assert_eq(chmod(folder, 0755), 0);
	cr_expect_eq(count_names(), 1);
}

/* In a sticky folder anybody may make a file, and nobody replace another's. */
Test(trace_file, a_file_that_cannot_be_replaced_leaves_nothing)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a file of somebody else's");
	cr_assert_eq(seam__file_write(path, "old", 3), SEAM_OK);
	cr_assert_eq(chmod(folder, 01777), 0);
	be_nobody();
	must_refuse(path, EPERM);
	cr_expect_str_eq(content(path), "old");
	cr_expect_eq(count_names(), 1, "the temporary file was left");
	(void)seteuid(0);
}

/* A file system of one page, of this test alone. */
Test(trace_file, a_full_disk_leaves_nothing)
{
	static char much[100000];
	if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", folder, "tmpfs", 0, "size=16k") != 0)
		cr_skip_test("no file system can be mounted here");
	cr_expect_eq(seam__file_write(path, "old", 3), SEAM_OK, "%s", strerror(errno));
	cr_expect_eq(seam__file_write(path, much, sizeof(much)), SEAM_IO);
	cr_expect_eq(errno, ENOSPC, "%s", strerror(errno));
	cr_expect_str_eq(content(path), "old");
	cr_expect_eq(count_names(), 1, "the temporary file was left");
	cr_assert_eq(umount(folder), 0);
}
