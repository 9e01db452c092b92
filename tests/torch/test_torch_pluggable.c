/* test_torch_pluggable.c: what PyTorch calls for memory, and the pools behind it, without PyTorch: nothing is thrown.
 */
#include "door_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include <seam/plan.h>
#include <seam/trace.h>

#include "down_driver.h"

Test(torch_pluggable, memory_is_served_by_device)
{
	set_conf(DEVICE);
	cr_assert_null(seam_torch_pool_made(0), "nothing is made before it is needed");
	seam_torch_init(2);
	cr_assert_null(seam_torch_pool_made(0));
	void *first = seam_torch_alloc(MIB(3), 0, NULL), *second = seam_torch_alloc(100, 1, NULL);
	cr_assert_not_null(first);
	cr_assert_not_null(second);
	cr_assert_neq(door(0), door(1));
	cr_assert_eq(seam_torch_pool_made(0), door(0));
	cr_assert_eq(figures(0).live_bytes, MIB(3));
	cr_assert_eq(figures(1).live_requested_bytes, 100);
	seam_torch_free(first, MIB(3), 0, NULL);
	seam_torch_free(second, 100, 1, NULL);
	cr_assert_eq(figures(0).live_blocks, 0);
	cr_assert_eq(figures(1).live_blocks, 0);
	cr_assert_eq(seam_torch_error(NULL, 0), 0, "nothing failed");
	check(0);
}

Test(torch_pluggable, nothing_and_null_are_fine)
{
	set_conf(DEVICE);
	cr_assert_null(seam_torch_alloc(0, 0, NULL));
	cr_assert_null(seam_torch_pool_made(0), "no pool is needed for nothing");
	seam_torch_free(NULL, 0, 0, NULL);
	seam_torch_free(NULL, 0, -1, NULL);
	seam_torch_record_stream(NULL, NULL);
	seam_torch_reset();
	cr_assert_eq(seam_torch_unknown_frees(), 0);
	cr_assert_eq(seam_torch_error(NULL, 0), 0);
}

Test(torch_pluggable, unknown_frees_are_counted_and_harmless)
{
	int somewhere = 0;
	set_conf(DEVICE);
	seam_torch_free(&somewhere, 4, 3, NULL);
	cr_assert_eq(seam_torch_unknown_frees(), 1, "a device without a pool");
	char *ptr = seam_torch_alloc(MIB(3), 0, NULL);
	seam_torch_free(ptr + 512, 4, 0, NULL);
	seam_torch_free(ptr, 4, -1, NULL);
	seam_torch_free(ptr, 4, SEAM_TORCH_DEVICES, NULL);
	cr_assert_eq(seam_torch_unknown_frees(), 4);
	assert_told("which is no block of Seam's");
	cr_assert_eq(figures(0).live_blocks, 1);
	seam_torch_free(ptr, MIB(3), 0, NULL);
	seam_torch_free(ptr, MIB(3), 0, NULL);
	cr_assert_eq(seam_torch_unknown_frees(), 5, "twice");
	check(0);
}

Test(torch_pluggable, what_cannot_be_served_says_why)
{
	set_conf("backend:emu_book,nonsense:1");
	cr_assert_null(seam_torch_alloc(100, 0, NULL));
	assert_told("Seam cannot serve device 0");
	assert_told("nonsense");
	cr_assert_null(seam_torch_pool(0));
	set_conf(DEVICE);
	cr_assert_not_null(seam_torch_alloc(100, 0, NULL), "the next request tries again");
	cr_assert_null(seam_torch_alloc(100, -1, NULL));
	assert_told("no such ordinal");
	cr_assert_null(seam_torch_alloc(100, SEAM_TORCH_DEVICES, NULL));
	cr_assert_null(seam_torch_alloc(MIB(300), 0, NULL));
	assert_told("314572800 bytes on device 0: out of device memory");
	seam__driver_fail_at(door(0)->driver, 1, 1u << SEAM_DRV_QUERY, SEAM_CU_UNKNOWN);
	cr_assert_null(seam_torch_alloc(100, 0, NULL));
	assert_told("Seam cannot allocate 100 bytes on device 0: the device driver reported an error: ");
	check(0);
}

Test(torch_pluggable, captures_are_watched_unless_the_configuration_says_otherwise)
{
	char error[200] = "";
	set_conf(DEVICE);
	cr_assert_eq(seam_pool_config(door(0))->watch_captures, 1);
	set_conf(DEVICE ",watch_captures:0");
	cr_assert_eq(seam_pool_config(door(1))->watch_captures, 0);
	set_conf("watch_captures:1," DEVICE);
	cr_assert_eq(seam_pool_config(door(2))->watch_captures, 1);
	cr_assert_rc(seam_torch_configure("plan:auto", error, sizeof error), SEAM_BUSY);
	cr_assert_not_null(strstr(error, "too late"), "%s", error);
}

Test(torch_pluggable, captures_that_are_announced_are_not_watched)
{
	set_conf(DEVICE);
	cr_assert_eq(seam_pool_config(door(0))->watch_captures, 1);
	seam_torch_announce_captures();
	cr_assert_eq(seam_pool_config(door(1))->watch_captures, 0, "by pools from now on");
	cr_assert_eq(seam_pool_config(door(0))->watch_captures, 1);
	set_conf(DEVICE ",watch_captures:1");
	cr_assert_eq(seam_pool_config(door(2))->watch_captures, 1, "unless the configuration says otherwise");
}

Test(torch_pluggable, a_configuration_wins_over_the_environment)
{
	char error[200] = "";
	set_conf(DEVICE ",watch_captures:1");
	cr_assert_rc(seam_torch_configure("nonsense:1", error, sizeof error), SEAM_CONF);
	cr_assert_not_null(strstr(error, "nonsense"), "%s", error);
	cr_assert_rc(seam_torch_configure("nonsense:1", NULL, 0), SEAM_CONF);
	cr_assert_ok(seam_torch_configure(NULL, NULL, 0));
	cr_assert_ok(seam_torch_configure("chunk_bytes:4M", error, sizeof error));
	cr_assert_eq(seam_pool_config(door(0))->chunk_bytes, MIB(4));
	cr_assert_eq(seam_pool_config(door(0))->emu_capacity_bytes, MIB(256));
}

/* A plan of a program that asks for the same in every step. */
static void write_plan(const char *path)
{
	char trace_path[] = "/tmp/seam-test-XXXXXX", error[200] = "";
	int file = mkstemp(trace_path);
	cr_assert_geq(file, 0);
	close(file);
	struct seam_pool *pool = NULL;
	cr_assert_ok(seam_pool_create(0, NULL, error, sizeof error, &pool));
	for (unsigned i = 0; i < 20; i++) {
		void *ptrs[4];
		for (unsigned j = 0; j < 4; j++)
			cr_assert_ok(seam_alloc(pool, MIB(2 + j), NULL, &ptrs[j]));
		for (unsigned j = 0; j < 4; j++)
			cr_assert_ok(seam_free(pool, ptrs[j]));
		cr_assert_ok(seam_step(pool));
	}
	cr_assert_ok(seam_trace_save(pool, trace_path, error, sizeof error));
	seam_pool_destroy(pool);
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	cr_assert_ok(seam_trace_read_file(trace_path, NULL, &trace));
	cr_assert_ok(seam_plan_make(trace, NULL, NULL, &plan));
	cr_assert_ok(seam_plan_write_file(plan, path));
	seam_plan_free(plan);
	seam_trace_free(trace);
	cr_assert_eq(unlink(trace_path), 0);
}

Test(torch_pluggable, a_plan_is_for_the_first_pool)
{
	char path[] = "/tmp/seam-test-XXXXXX", error[200] = "";
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	set_conf(DEVICE);
	cr_assert_rc(seam_torch_plan_file(path, error, sizeof error), SEAM_FORMAT);
	cr_assert_neq(error[0], '\0');
	cr_assert_rc(seam_torch_plan_file("/nowhere/plan", error, sizeof error), SEAM_IO);
	cr_assert_neq(error[0], '\0');
	write_plan(path);
	cr_assert_ok(seam_torch_plan_file(NULL, error, sizeof error));
	cr_assert_ok(seam_torch_plan_file(path, error, sizeof error));
	cr_assert_ok(seam_torch_plan_file(path, NULL, 0));
	for (unsigned i = 0; i < 10; i++) {
		void *ptrs[4];
		for (unsigned j = 0; j < 4; j++)
			ptrs[j] = seam_torch_alloc(MIB(2 + j), 1, NULL);
		for (unsigned j = 0; j < 4; j++)
			seam_torch_free(ptrs[j], MIB(2 + j), 1, NULL);
	}
	cr_assert_eq(plan_figures(1).loaded_plans, 1);
	cr_assert_gt(plan_figures(1).hits, 0);
	(void)seam_torch_alloc(MIB(2), 0, NULL);
	cr_assert_eq(plan_figures(0).loaded_plans, 0);
	cr_assert_rc(seam_torch_plan_file(path, error, sizeof error), SEAM_BUSY);
	cr_assert_eq(unlink(path), 0);
}

Test(torch_pluggable, a_plan_that_cannot_be_used_is_told)
{
	char path[] = "/tmp/seam-test-XXXXXX";
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	set_conf(DEVICE);
	write_plan(path);
	set_conf("backend:emu_book,emu_capacity_bytes:4M");
	cr_assert_ok(seam_torch_plan_file(path, NULL, 0));
	cr_assert_eq(plan_figures(0).loaded_plans, 0);
	assert_told("device 0 goes without its plan: ");
	cr_assert_eq(unlink(path), 0);
}

Test(torch_pluggable, memory_touched_by_a_capture_is_never_used_again)
{
	set_conf(DEVICE);
	void *stream = make_stream(0);
	void *before = seam_torch_alloc(MIB(4), 0, stream);
	seam_torch_free(before, MIB(4), 0, stream);
	begin_capture(0, stream);
	void *in_graph = seam_torch_alloc(MIB(4), 0, stream);
	cr_assert_not_null(in_graph);
	seam_torch_free(in_graph, MIB(4), 0, stream);
	end_capture(0, stream);
	for (unsigned i = 0; i < 3; i++) {
		void *after = seam_torch_alloc(MIB(4), 0, stream);
		cr_assert_neq(after, in_graph);
	}
	seam_torch_reset();
	cr_assert_eq(figures(0).unused_pending_bytes, MIB(4));
	check(0);
}

Test(torch_pluggable, resetting_returns_what_is_cached_on_every_device)
{
	set_conf(DEVICE);
	void *kept = seam_torch_alloc(MIB(4), 0, NULL);
	seam_torch_free(seam_torch_alloc(MIB(8), 0, NULL), MIB(8), 0, NULL);
	seam_torch_free(seam_torch_alloc(MIB(8), 5, NULL), MIB(8), 5, NULL);
	seam_torch_reset();
	cr_assert_eq(figures(0).reserved_bytes, MIB(4));
	cr_assert_eq(figures(5).reserved_bytes, 0);
	void *stream = make_stream(0);
	(void)seam_torch_alloc(512, 0, stream);
	begin_capture(0, stream);
	seam_torch_reset();
	assert_told("the cache of device 0 stays: not possible during a stream capture");
	end_capture(0, stream);
	seam_torch_free(kept, MIB(4), 0, NULL);
	check(0);
}

Test(torch_pluggable, a_memory_fraction_is_a_share_of_the_device)
{
	set_conf(DEVICE);
	seam_torch_memory_fraction(0.25, 0);
	cr_assert_eq(seam_torch_error(NULL, 0), 0);
	cr_assert_null(seam_torch_alloc(MIB(66), 0, NULL));
	void *ptr = seam_torch_alloc(MIB(64), 0, NULL);
	cr_assert_not_null(ptr);
	seam_torch_memory_fraction(1, 0);
	cr_assert_not_null(seam_torch_alloc(MIB(66), 0, NULL));
	static const double wrong[] = {0, -1, 1.01};
	for (unsigned i = 0; i < 3; i++) {
		seam_torch_memory_fraction(wrong[i], 0);
		assert_told("it must be above 0 and at most 1");
		seam_torch_free(&ptr, 1, 0, NULL); /* another newest error */
	}
	seam_torch_memory_fraction(0.5, -1);
	assert_told("no such ordinal");
	seam__driver_fail_at(door(0)->driver, 1, 1u << SEAM_DRV_QUERY, SEAM_CU_UNKNOWN);
	seam_torch_memory_fraction(0.5, 0);
	assert_told("the memory fraction of device 0 stays");
}

Test(torch_pluggable, a_base_is_found_on_every_device)
{
	set_conf("backend:emu,emu_capacity_bytes:256M"); /* with real memory no two devices use one address */
	char *first = seam_torch_alloc(MIB(3), 0, NULL), *second = seam_torch_alloc(1000, 7, NULL);
	size_t bytes = 0;
	cr_assert_eq(seam_torch_base_alloc(first + 5000, &bytes), first);
	cr_assert_eq(bytes, MIB(3));
	cr_assert_eq(seam_torch_base_alloc(second, &bytes), second);
	cr_assert_eq(bytes, 1024);
	cr_assert_eq(seam_torch_base_alloc(second, NULL), second);
	cr_assert_null(seam_torch_base_alloc(&bytes, &bytes));
	assert_told("lies in no block of Seam's");
	cr_assert_eq(bytes, 1024, "untouched");
}

Test(torch_pluggable, a_recorded_stream_holds_the_memory)
{
	set_conf(DEVICE);
	void *a = make_stream(2), *b = make_stream(2);
	void *ptr = seam_torch_alloc(MIB(4), 2, a);
	seam_torch_record_stream(ptr, b);
	launch(2, b, ptr, MIB(4), 1000000000);
	seam_torch_free(ptr, MIB(4), 2, a);
	cr_assert_eq(figures(2).unused_pending_bytes, MIB(4));
	seam_torch_record_stream(ptr, b);
	assert_told("cannot be recorded");
	check(2);
}

Test(torch_pluggable, a_child_process_is_refused_and_harms_nothing)
{
	set_conf(DEVICE);
	void *ptr = seam_torch_alloc(MIB(4), 0, NULL);
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		seam_torch_free(ptr, MIB(4), 0, NULL);
		seam_torch_reset();
		void *none = seam_torch_alloc(MIB(4), 0, NULL);
		(void)seam_torch_error(told, sizeof told);
		_exit(none == NULL && strstr(told, "parent of this process") != NULL && seam_torch_unknown_frees() == 0
				? 0
				: 1);
	}
	int status = 0;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	seam_torch_free(ptr, MIB(4), 0, NULL);
	cr_assert_eq(figures(0).live_blocks, 0);
}

Test(torch_pluggable, frees_after_the_driver_has_shut_down_are_harmless)
{
	set_conf(DEVICE);
	void *stream = make_stream(0), *ptr = seam_torch_alloc(MIB(4), 0, stream);
	(void)down_driver(door(0)->driver);
	seam_torch_free(ptr, MIB(4), 0, stream);
	seam_torch_free(seam_torch_base_alloc(ptr, NULL), 1, 0, stream);
	cr_assert_eq(seam_torch_unknown_frees(), 0);
	cr_assert_eq(figures(0).live_blocks, 0);
	cr_assert_null(seam_torch_alloc(MIB(64), 0, stream));
	assert_told("the device driver has shut down");
}
