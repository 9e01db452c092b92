/* test_core_log.c: what a pool tells the log callback, and that a hit tells nothing. */
#include "core_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

#define LINES 4000u

static struct {
	enum seam_log_level level;
	char text[200];
} lines[LINES];
static unsigned count;

static void note(void *user, enum seam_log_level level, const char *line)
{
	cr_assert_eq(user, &count);
	cr_assert_lt(count, LINES);
	lines[count].level = level;
	(void)snprintf(lines[count++].text, sizeof lines[0].text, "%s", line);
}

static void expect_line(enum seam_log_level level, const char *part)
{
	for (unsigned i = 0; i < count; i++) {
		if (lines[i].level == level && strstr(lines[i].text, part) != NULL)
			return;
	}
	cr_expect_fail("no line of level %d says \"%s\"; the last of %u: %s", (int)level, part, count,
		count > 0 ? lines[count - 1].text : "");
}

static void expect_none_above(enum seam_log_level least_serious)
{
	for (unsigned i = 0; i < count; i++)
		cr_expect_gt(lines[i].level, least_serious, "%s", lines[i].text);
}

static void listen(void)
{
	seam_set_log_callback(note, &count);
}

TestSuite(core_log, .init = listen);

Test(core_log, a_pool_says_what_it_does)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	expect_line(SEAM_LOG_INFO, "a pool on emulated device");
	void *ptrs[8];
	for (unsigned i = 0; i < 8; i++)
		ptrs[i] = must_alloc(MIB(2), NULL);
	expect_line(SEAM_LOG_DEBUG, "grew by 1 chunks: 16777216 bytes are reserved");
	for (unsigned i = 0; i < 8; i += 2)
		must_free(ptrs[i]);
	must_free(must_alloc(MIB(8), NULL));
	expect_line(SEAM_LOG_DEBUG, "stitched 8388608 bytes out of 4 chunks");
	cr_assert_ok(seam_trim(pool, 0, NULL));
	expect_line(SEAM_LOG_DEBUG, "a trim returned 8388608 bytes");
	expect_line(SEAM_LOG_DEBUG, "gave up a stitched view");
	expect_none_above(SEAM_LOG_WARNING);
	close_pool();
}

Test(core_log, hits_are_silent)
{
	open_pool(MIB(64), NULL);
	void *other = make_stream();
	must_free(must_alloc(MIB(3), other));
	unsigned before = count;
	for (unsigned i = 0; i < 1000; i++)
		must_free(must_alloc(MIB(3), other));
	cr_assert_eq(count, before, "%s", lines[count - 1].text);
	close_pool();
}

Test(core_log, what_goes_wrong_is_a_warning)
{
	open_pool(MIB(64), NULL);
	void *ptr = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(100), NULL, &ptr), SEAM_OOM_DEVICE);
	expect_line(SEAM_LOG_WARNING, "out of device memory: 104857600 bytes asked, 0 live, 0 reserved");
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_UNKNOWN);
	cr_assert_rc(seam_alloc(pool, MIB(3), NULL, &ptr), SEAM_DRIVER);
	expect_line(SEAM_LOG_WARNING, "driver: mem_create: unknown error (999)");
	seam__driver_fail_at(driver, 1, 1u << SEAM_DRV_MEMORY, SEAM_CU_OUT_OF_MEMORY);
	void *granted = must_alloc(MIB(3), NULL);
	expect_line(SEAM_LOG_DEBUG, "out of memory (2)");
	must_free(granted);
	close_pool();
}

Test(core_log, a_stream_that_went_without_notice_is_named)
{
	open_pool(MIB(64), "verify_streams:1");
	void *stream = make_stream();
	must_free(must_alloc(MIB(3), stream));
	end_stream(stream);
	void *again = make_stream();
	cr_assert_eq(again, stream, "the handle is reused");
	must_free(must_alloc(MIB(3), again));
	char wanted[80];
	(void)snprintf(wanted, sizeof wanted, "stream %#lx can be followed no more", (unsigned long)(uintptr_t)stream);
	expect_line(SEAM_LOG_INFO, wanted);
	close_pool();
}

Test(core_log, a_device_that_cannot_stitch_is_a_warning)
{
	open_plain(MIB(64), NULL);
	expect_line(SEAM_LOG_WARNING, "has no virtual memory management");
	close_pool();
}

/* A line of another thread that is being written: `told` says that it is, `go_on` lets it end. */
static int told[2], go_on[2];

static void hold_on(void *user, enum seam_log_level level, const char *line)
{
	char one = 1;
	(void)user, (void)level, (void)line;
	cr_assert_eq(write(told[1], &one, 1), 1);
	cr_assert_eq(read(go_on[0], &one, 1), 1);
}

static void *speak(void *unused)
{
	seam__log(SEAM_LOG_INFO, "a line");
	return unused;
}

Test(core_log, a_child_speaks_while_a_thread_of_its_parent_does)
{
	pthread_t thread;
	char one = 1;
	cr_assert(pipe(told) == 0 && pipe(go_on) == 0);
	seam_set_log_callback(hold_on, NULL);
	cr_assert_eq(pthread_create(&thread, NULL, speak, NULL), 0);
	cr_assert_eq(read(told[0], &one, 1), 1);
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		alarm(20); /* it would wait for ever */
		seam_set_log_callback(NULL, NULL);
		_exit(0);
	}
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child never got the lock");
	cr_assert_eq(write(go_on[1], &one, 1), 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	seam_set_log_callback(NULL, NULL);
}
