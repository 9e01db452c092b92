/* test_core_autosave.c: recordings that SEAM_TRACE asks for, of pools that are destroyed. Those at exit:
 * tests/examples. */
#include "core_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seam/snapshot.h>
#include <seam/trace.h>

static char folder[] = "/tmp/seam-autosave-XXXXXX";
static char logged[200];

static struct seam_pool *make_pool(const char *conf)
{
	struct seam_pool *made = NULL;
	char error[200] = "";
	setenv("SEAM_CONF", conf, 1);
	cr_assert_eq(seam_pool_create(0, NULL, error, sizeof error, &made), SEAM_OK, "%s", error);
	return made;
}

static void use(struct seam_pool *made, int blocks)
{
	void *ptr = NULL;
	for (int i = 0; i < blocks; i++)
		cr_assert_ok(seam_alloc(made, 1000, NULL, &ptr));
}

/* Events of the file; -1: there is none. */
static long events_of(const char *format, long number)
{
	char path[200];
	struct seam_trace *trace = NULL;
	int length = snprintf(path, sizeof path, "%s/", folder);
	(void)snprintf(path + length, sizeof path - (size_t)length, format, number);
	enum seam_rc rc = seam_trace_read_file(path, NULL, &trace);
	if (rc == SEAM_IO)
		return -1;
	cr_assert_ok(rc);
	long events = (long)trace->header.event_count;
	seam_trace_free(trace);
	unlink(path);
	return events;
}

static void ask_for(const char *name)
{
	char path[200];
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	setenv("SEAM_TRACE", path, 1);
}

Test(core_autosave, every_pool_has_a_file)
{
	ask_for("a");
	struct seam_pool *first = make_pool("backend:emu_book"), *second = make_pool("backend:emu_book");
	use(first, 3);
	use(second, 5);
	seam_pool_destroy(second);
	cr_assert_eq(events_of("a", 0), -1, "it is written when its pool goes");
	seam_pool_destroy(first);
	struct seam_pool *third = make_pool("backend:emu_book");
	seam_pool_destroy(third);
	cr_assert_eq(events_of("a", 0), 3);
	cr_assert_eq(events_of("a.%ld", 1), 5);
	cr_assert_eq(events_of("a.%ld", 2), 0);
	rmdir(folder);
}

Test(core_autosave, the_process_may_be_in_the_name)
{
	ask_for("a-%p-b");
	struct seam_pool *made = make_pool("backend:emu_book");
	use(made, 2);
	seam_pool_destroy(made);
	cr_assert_eq(events_of("a-%ld-b", (long)getpid()), 2);
	rmdir(folder);
}

Test(core_autosave, nothing_is_written_where_nothing_is_recorded_or_asked_for)
{
	ask_for("a");
	seam_pool_destroy(make_pool("backend:emu_book,record:off"));
	cr_assert_eq(events_of("a", 0), -1);
	setenv("SEAM_TRACE", "", 1);
	seam_pool_destroy(make_pool("backend:emu_book"));
	unsetenv("SEAM_TRACE");
	seam_pool_destroy(make_pool("backend:emu_book"));
	cr_assert_eq(rmdir(folder), 0, "something was written");
}

static void note_line(void *user, enum seam_log_level level, const char *line)
{
	(void)user;
	if (level == SEAM_LOG_WARNING)
		(void)snprintf(logged, sizeof logged, "%s", line);
}

Test(core_autosave, what_cannot_be_written_is_logged)
{
	setenv("SEAM_TRACE", "/no/such/folder/a", 1);
	struct seam_pool *made = make_pool("backend:emu_book");
	seam_set_log_callback(note_line, NULL);
	seam_pool_destroy(made);
	seam_set_log_callback(NULL, NULL);
	cr_assert_not_null(strstr(logged, "SEAM_TRACE: /no/such/folder/a: No such file"), "%s", logged);
}

Test(core_autosave, a_child_writes_its_own_only)
{
	ask_for("%p");
	struct seam_pool *made = make_pool("backend:emu_book");
	use(made, 2);
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		seam_pool_destroy(made); /* the parent's: nothing happens */
		made = make_pool("backend:emu_book");
		use(made, 4);
		exit(0);
	}
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert_eq(events_of("%ld", (long)getpid()), -1, "a child wrote its parent's recording");
	cr_assert_eq(events_of("%ld.1", (long)child), 4, "its own, at exit");
	seam_pool_destroy(made);
	cr_assert_eq(events_of("%ld", (long)getpid()), 2);
	rmdir(folder);
}

/* Neither waited for nor written, with or without a reader: one would never come, the other may leave. */
Test(core_autosave, a_pipe_is_refused, .timeout = 60)
{
	char byte, path[200];
	ask_for("pipe");
	(void)snprintf(path, sizeof path, "%s/pipe", folder);
	cr_assert_eq(mkfifo(path, 0600), 0);
	seam_set_log_callback(note_line, NULL);
	struct seam_pool *first = make_pool("backend:emu_book");
	use(first, 2);
	cr_assert_rc(seam_trace_save(first, path, NULL, 0), SEAM_IO);
	cr_assert_rc(seam_snapshot_write(first, path), SEAM_IO);
	int reader = open(path, O_RDONLY | O_NONBLOCK);
	cr_assert_geq(reader, 0);
	seam_pool_destroy(first);
	cr_expect_not_null(strstr(logged, strerror(ENOTSUP)), "%s", logged);
	cr_expect_eq(read(reader, &byte, 1), 0, "it was written");
	(void)close(reader);
	seam_set_log_callback(NULL, NULL);
	(void)unlink(path);
	cr_expect_eq(rmdir(folder), 0, "something else was left there");
}
