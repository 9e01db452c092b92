/* test_core_process.c: what happens to a pool when the process forks, and when the driver shuts down before it. */
#include "core_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <seam/snapshot.h>

#include "down_driver.h"

/* Every call that answers with a code, in a row: its name and what it says. */
#define CALLS(pool, ptr, out, number, count)              \
	X(seam_alloc(pool, 100, NULL, &out))              \
	X(seam_alloc_request(pool, &request, &out))       \
	X(seam_free(pool, ptr))                           \
	X(seam_record_stream(pool, ptr, NULL))            \
	X(seam_usable_size(pool, ptr, &number))           \
	X(seam_block_range(pool, ptr, NULL, NULL))        \
	X(seam_block_chunks(pool, ptr, NULL, 0, &count))  \
	X(seam_block_export(pool, ptr, 0, &number))       \
	X(seam_private_begin(pool, 1, SEAM_ROUTE_ALL, 0)) \
	X(seam_private_end(pool, 1))                      \
	X(seam_private_release(pool, 1))                  \
	X(seam_trim(pool, 0, NULL))                       \
	X(seam_stream_destroyed(pool, ptr))               \
	X(seam_peer_enable(pool, 0))                      \
	X(seam_pool_set_capacity(pool, 0))                \
	X(seam_device_memory(pool, NULL, NULL))           \
	X(seam_device_wait(pool))                         \
	X(seam_host_alloc(pool, 100, NULL, &out))         \
	X(seam_host_free(pool, ptr))                      \
	X(seam_host_record_stream(pool, ptr, NULL))       \
	X(seam_step(pool))                                \
	X(seam_phase_begin(pool, "a"))                    \
	X(seam_phase_end(pool, "a"))                      \
	X(seam_dynamic_begin(pool))                       \
	X(seam_dynamic_end(pool))                         \
	X(seam_trace_save(pool, "/dev/null", NULL, 0))    \
	X(seam_stats_get(pool, &stats))                   \
	X(seam_stats_driver(pool, 0, NULL, NULL, NULL))   \
	X(seam_snapshot_visit(pool, &visitor, NULL))      \
	X(seam_snapshot_write(pool, "/dev/null"))

/* In the child: the number of the first call that did not answer SEAM_FORKED, or 0. */
static int use_in_child(void *ptr)
{
	struct seam_request request = {.size = sizeof request, .bytes = 100};
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	struct seam_visitor visitor = {0};
	uint64_t number = 0;
	size_t count = 0;
	void *out = NULL;
	char text[100] = "x";
	int call = 0;
#define X(expression)                    \
	call++;                          \
	if ((expression) != SEAM_FORKED) \
		return call;
	CALLS(pool, ptr, out, number, count)
#undef X
	seam_set_oom_callback(pool, NULL, NULL);
	seam_stats_reset_peaks(pool);
	if (seam_oom_report(pool, text, sizeof text) != 0 || text[0] != '\0' ||
		seam_driver_error(pool, text, sizeof text) != 0)
		return 100;
	seam_pool_destroy(pool);
	return seam__emu_violations(driver, SEAM_EMU_AFTER_FORK) == 0 ? 0 : 101;
}

static void fork_and_use(void)
{
	void *ptr = must_alloc(MIB(3), NULL);
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(use_in_child(ptr));
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "call %d of the child did not answer SEAM_FORKED", WEXITSTATUS(status));
	must_free(ptr);
	close_pool();
}

Test(core_process, a_child_touches_nothing)
{
	open_pool(MIB(64), NULL);
	fork_and_use();
}

Test(core_process, a_child_touches_nothing_without_vmm_either)
{
	open_plain(MIB(64), NULL);
	fork_and_use();
}

Test(core_process, a_child_may_have_pools_of_its_own)
{
	open_pool(MIB(64), NULL);
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		struct seam_config config = resolve("backend:emu_book");
		struct seam_pool *own = NULL;
		void *ptr = NULL;
		int status = seam_pool_create(0, &config, NULL, 0, &own) == SEAM_OK &&
				seam_alloc(own, 100, NULL, &ptr) == SEAM_OK && seam_free(own, ptr) == SEAM_OK
			? 0
			: 1;
		seam_pool_destroy(own);
		_exit(status);
	}
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close_pool();
}

/* ---- a driver that has shut down ---- */

static const struct seam_driver_ops *up;

static void shut_down(void)
{
	up = down_driver(driver);
}

/* The driver has taken its memory with it: the emulator is told so only now. */
static void destroy_after_shutdown(void)
{
	seam_pool_destroy(pool); /* aborts if metadata is left, in this build */
	driver->ops = up;
	cr_assert_eq(seam__emu_violations_all(driver), 0, "%s", seam__emu_violation_text(driver));
	seam__driver_destroy(driver);
}

Test(core_process, after_a_shutdown_what_needs_the_driver_says_so)
{
	open_pool(MIB(256), NULL);
	void *stream = make_stream(), *out = NULL, *host = NULL;
	void *ptr = must_alloc(MIB(10), stream), *other = must_alloc(MIB(10), NULL);
	cr_assert_ok(seam_record_stream(pool, other, stream));
	cr_assert_ok(seam_host_alloc(pool, 100, stream, &host));
	shut_down();
	must_free(ptr);
	must_free(other);
	cr_assert_ok(seam_host_free(pool, host));
	cr_assert_rc(seam_alloc(pool, MIB(50), stream, &out), SEAM_SHUTDOWN);
	cr_assert_rc(seam_alloc(pool, 100, stream_of(0x1234000), &out), SEAM_SHUTDOWN);
	cr_assert_rc(seam_host_alloc(pool, MIB(50), stream, &out), SEAM_SHUTDOWN);
	cr_assert_rc(seam_trim(pool, 0, NULL), SEAM_SHUTDOWN);
	cr_assert_rc(seam_stream_destroyed(pool, stream), SEAM_SHUTDOWN);
	cr_assert_rc(seam_peer_enable(pool, 1), SEAM_SHUTDOWN);
	cr_assert_rc(seam_device_memory(pool, NULL, NULL), SEAM_SHUTDOWN);
	cr_assert_rc(seam_device_wait(pool), SEAM_SHUTDOWN);
	cr_assert_null(out);
	cr_assert_eq(get_stats().live_blocks, 0);
	char text[200];
	cr_assert_gt(seam_driver_error(pool, text, sizeof text), 0);
	cr_assert_not_null(strstr(text, "shutting down"), "%s", text);
	destroy_after_shutdown();
}

Test(core_process, a_busy_pool_is_destroyed_after_a_shutdown)
{
	open_pool(MIB(64), "chunk_bytes:2M");
	void *stream = make_stream(), *ptrs[16], *host = NULL;
	for (unsigned i = 0; i < 16; i++)
		ptrs[i] = must_alloc(MIB(2), i % 3 == 0 ? stream : NULL);
	for (unsigned i = 0; i < 16; i += 2)
		must_free(ptrs[i]);
	(void)must_alloc(MIB(8), stream);
	cr_assert_ok(seam_record_stream(pool, ptrs[1], stream));
	must_free(ptrs[1]);
	cr_assert_ok(seam_host_alloc(pool, 100, stream, &host));
	cr_assert_ok(seam_private_begin(pool, 3, SEAM_ROUTE_ALL, 0));
	(void)must_alloc(MIB(2), stream);
	shut_down();
	destroy_after_shutdown();
}

Test(core_process, a_pool_without_vmm_is_destroyed_after_a_shutdown)
{
	open_plain(MIB(64), NULL);
	void *out = NULL;
	void *ptr = must_alloc(MIB(3), make_stream());
	(void)must_alloc(100, NULL);
	shut_down();
	must_free(ptr);
	cr_assert_rc(seam_alloc(pool, MIB(20), NULL, &out), SEAM_SHUTDOWN);
	destroy_after_shutdown();
}
