/* test_core_recording.c: what a pool records: every kind of event, a whole program, and what happens where nothing is
 * recorded. */
#include "core_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <seam/plan.h>
#include <seam/trace.h>

#include "idmap.h"
#include "record.h"
#include "trace_program.h"
#include "trace_story.h"

static struct seam_trace *recording(void)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_ok(seam__recorder_trace(pool->recorder, 0, "a test", &trace));
	cr_assert_null(seam_trace_check(trace, &error), "%s", error.text);
	const char *broken = seam__recorder_check(pool->recorder);
	cr_assert_null(broken, "%s", broken);
	return trace;
}

static void assert_recorded(const char *wanted)
{
	struct seam_trace *trace = recording();
	char *story = trace_story(trace, false);
	cr_assert_str_eq(story, wanted);
	free(story);
	seam_trace_free(trace);
}

Test(core_recording, blocks_are_recorded_as_they_were_asked_for)
{
	open_pool(MIB(64), NULL);
	void *other = make_stream();
	char wanted[200];
	void *a = must_alloc(1000, NULL), *b = must_alloc(MIB(3) + 1, other);
	cr_assert_ok(seam_record_stream(pool, a, other));
	must_free(a);
	cr_assert_rc(seam_free(pool, a), SEAM_NOT_FOUND);
	must_free(NULL);
	must_free(b);
	(void)snprintf(wanted, sizeof wanted, "A1:1000 A2:3145729@%lu U1:0@%lu F1:1000 F2:3145729@%lu",
		(unsigned long)(uintptr_t)other, (unsigned long)(uintptr_t)other, (unsigned long)(uintptr_t)other);
	assert_recorded(wanted);
	close_pool();
}

Test(core_recording, what_is_not_a_block_is_recorded_too)
{
	open_pool(MIB(64), NULL);
	void *ptr = NULL;
	cr_assert_rc(seam_alloc(pool, MIB(65), NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_rc(seam_alloc(pool, UINT64_MAX, NULL, &ptr), SEAM_OOM_DEVICE);
	cr_assert_ok(seam_step(pool));
	cr_assert_ok(seam_trim(pool, 0, NULL));
	cr_assert_ok(seam_private_begin(pool, 9, SEAM_ROUTE_ALL, 0));
	void *private = must_alloc(600, NULL);
	cr_assert_ok(seam_private_begin(pool, UINT64_C(9) << 32, SEAM_ROUTE_ALL, 0));
	void *folded = must_alloc(700, NULL);
	cr_assert_ok(seam_private_release(pool, 9));
	cr_assert_ok(seam_private_release(pool, UINT64_C(9) << 32));
	must_free(private);
	must_free(folded);
	cr_assert_ok(seam_step(pool));
	assert_recorded(
		"OOM0:68157440 OOM0:18446744073709551615 |0:0 ?0:0 A5:600%9 A6:700%9 ?0:0%9 ?0:0%9 F5:600%9 F6:700%9 |1:0");
	close_pool();
}

Test(core_recording, going_back_is_recorded_as_frees_and_requests)
{
	open_pool(MIB(64), NULL);
	cr_assert_ok(seam_private_begin(pool, 9, SEAM_ROUTE_ALL, 0));
	void *a = must_alloc(MIB(4), NULL);
	(void)must_alloc(600, NULL);
	const struct seam_private_block block = {.ptr = a, .bytes = MIB(4)};
	cr_assert_ok(seam_private_restore(pool, 9, &block, 1));
	must_free(a);
	assert_recorded("A1:4194304%9 A2:600%9 F2:600%9 F1:4194304%9 A5:4194304%9 F5:4194304%9");
	close_pool();
}

Test(core_recording, blocks_handed_to_a_capture_are_marked)
{
	open_pool(MIB(64), "watch_captures:1");
	void *stream = make_stream();
	(void)must_alloc(600, stream);
	must_free(must_alloc(600, NULL));
	cr_assert_ok(seam_trim(pool, MIB(64), NULL));
	cr_assert_eq(seam__drv_capture_begin(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	void *ptr = NULL;
	cr_assert_ok(seam_alloc(pool, 700, stream, &ptr));
	cr_assert_eq(seam__drv_capture_end(driver, (uint64_t)(uintptr_t)stream), SEAM_CU_SUCCESS);
	struct seam_trace *trace = recording();
	uint64_t last = trace->header.event_count - 1;
	cr_assert_eq(trace->events[last].flags, SEAM_TRACE_CAPTURE);
	cr_assert_eq(trace->events[0].flags, 0);
	seam_trace_free(trace);
	close_pool();
}

Test(core_recording, a_program_may_say_where_it_is)
{
	open_pool(MIB(64), NULL);
	cr_assert_ok(seam_phase_begin(pool, "forward"));
	cr_assert_ok(seam_dynamic_begin(pool));
	(void)must_alloc(600, NULL);
	cr_assert_ok(seam_dynamic_end(pool));
	cr_assert_ok(seam_phase_end(pool, "forward"));
	cr_assert_rc(seam_phase_end(pool, "forward"), SEAM_INVALID);
	cr_assert_rc(seam_dynamic_end(pool), SEAM_INVALID);
	cr_assert_rc(seam_phase_begin(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_phase_end(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_step(NULL), SEAM_INVALID);
	assert_recorded("<forward A2:600d forward>");
	close_pool();
}

/* ---- a whole program ---- */

#define STREAMS 4u

struct run {
	struct seam_idmap blocks; /* id -> address */
	void *streams[STREAMS];   /* by the trace's number */
};

static void play(struct run *run, const struct seam_trace_event *event)
{
	bool dynamic = event->kind == SEAM_TRACE_ALLOC && (event->flags & SEAM_TRACE_DYNAMIC) != 0;
	void *stream = run->streams[event->stream % STREAMS];
	uint64_t *block = NULL;
	cr_assert_ok(seam__idmap_put(&run->blocks, event->id, &block));
	cr_assert_ok(seam__recorder_act_as(pool->recorder, event->thread));
	if (dynamic)
		cr_assert_ok(seam_dynamic_begin(pool));
	if (event->kind == SEAM_TRACE_ALLOC)
		*block = (uint64_t)(uintptr_t)must_alloc(event->size, stream);
	else if (event->kind == SEAM_TRACE_FREE)
		must_free((void *)(uintptr_t)*block);
	else if (event->kind == SEAM_TRACE_RECORD_STREAM)
		cr_assert_ok(seam_record_stream(pool, (void *)(uintptr_t)*block, stream));
	else if (event->kind == SEAM_TRACE_STEP)
		cr_assert_ok(seam_step(pool));
	if (dynamic)
		cr_assert_ok(seam_dynamic_end(pool));
}

static void play_all(const struct seam_trace *trace)
{
	struct run run = {.streams = {NULL, make_stream(), make_stream(), make_stream()}};
	seam__idmap_init(&run.blocks);
	for (uint64_t i = 0; i < trace->header.event_count; i++)
		play(&run, &trace->events[i]);
	seam__idmap_fini(&run.blocks);
}

static uint64_t fingerprint(const struct seam_trace *trace)
{
	uint64_t number = 0;
	cr_assert_ok(seam_plan_fingerprint(trace, 0, trace->header.event_count, &number));
	return number;
}

static void assert_same(const struct program_wish *wish)
{
	static struct program_truth truth;
	struct seam_trace *trace = trace_program(wish, &truth);
	play_all(trace);
	struct seam_trace *again = recording();
	cr_assert_eq(trace->header.event_count, again->header.event_count, "seed %d", (int)wish->seed);
	cr_assert_eq(fingerprint(trace), fingerprint(again), "seed %d", (int)wish->seed);
	seam_trace_free(again);
	seam_trace_free(trace);
	close_pool();
}

Test(core_recording, the_recording_of_a_trace_is_that_trace)
{
	for (uint64_t seed = 1; seed < 6; seed++) {
		open_pool(MIB(1) << 20, NULL);
		assert_same(&(struct program_wish){.seed = seed,
			.slots = 100,
			.iterations = 4,
			.lag = 1,
			.streams = 3,
			.threads = 2,
			.dynamics = 4,
			.users = 5,
			.residents = 7,
			.states = 3,
			.tail = 10,
			.marks = true});
	}
}

Test(core_recording, without_vmm_too)
{
	open_plain(MIB(1) << 20, NULL);
	assert_same(&(struct program_wish){
		.seed = 3, .slots = 50, .iterations = 3, .streams = 2, .users = 5, .marks = true});
}

/* ---- as a file, and not at all ---- */

Test(core_recording, a_recording_can_be_saved_and_read)
{
	char path[] = "/tmp/seam-recording-XXXXXX", error[200] = "";
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	open_pool(MIB(64), NULL);
	must_free(must_alloc(600, NULL));
	cr_assert_ok(seam_trace_save(pool, path, error, sizeof error));
	struct seam_trace *trace = NULL;
	cr_assert_ok(seam_trace_read_file(path, NULL, &trace));
	cr_assert_eq(trace->header.event_count, 2);
	cr_assert_not_null(strstr(seam_trace_string(trace, trace->header.source), "emulated device"));
	seam_trace_free(trace);
	unlink(path);
	cr_assert_rc(seam_trace_save(pool, "/no/such/folder/x", error, sizeof error), SEAM_IO);
	cr_assert_not_null(strstr(error, "/no/such/folder/x: No such file"), "%s", error);
	cr_assert_rc(seam_trace_save(pool, NULL, error, sizeof error), SEAM_INVALID);
	cr_assert_str_neq(error, "");
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_assert_rc(seam_trace_save(pool, path, error, sizeof error), SEAM_OOM_META);
	close_pool();
}

Test(core_recording, nothing_is_recorded_where_that_is_asked_for_or_memory_is_short)
{
	static const char *const rows[] = {"record:off", "metadata_limit_bytes:1M"};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char error[200] = "";
		open_pool(MIB(64), rows[i]);
		cr_assert_null(pool->recorder, "%s", rows[i]);
		must_free(must_alloc(600, NULL));
		cr_assert_ok(seam_step(pool));
		cr_assert_ok(seam_phase_end(pool, "checked by nobody"));
		cr_assert_ok(seam_dynamic_end(pool));
		cr_assert_rc(seam_trace_save(pool, "/dev/null", error, sizeof error), SEAM_UNSUPPORTED);
		cr_assert_not_null(strstr(error, "option record"), "%s", error);
		close_pool();
	}
}

Test(core_recording, its_memory_is_bounded)
{
	open_pool(MIB(64), "record_limit_bytes:1M");
	uint64_t before = get_stats().metadata_bytes;
	for (int i = 0; i < 40000; i++)
		must_free(must_alloc(600, NULL));
	cr_assert_leq(get_stats().metadata_bytes, before + MIB(1));
	struct seam_recorder_counts counts;
	seam__recorder_get_counts(pool->recorder, &counts);
	cr_assert_eq(counts.events, 80000);
	cr_assert_eq(counts.lost, 0);
	close_pool();
}
