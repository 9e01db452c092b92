/* test_record_thread.c: what threads say about themselves: numbers, phases, dynamic requests. */
#include "record_fixture.h"

#include "recorder.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB(n) ((uint64_t)(n) << 20)

static void begin(const char *name)
{
	cr_assert_ok(seam__recorder_phase_begin(recorder, seam__recorder_draw(recorder), name));
}

static void end(const char *name)
{
	cr_assert_ok(seam__recorder_phase_end(recorder, seam__recorder_draw(recorder), name));
}

static void act_as(uint32_t number)
{
	cr_assert_ok(seam__recorder_act_as(recorder, number));
}

Test(record_thread, phases_nest_and_events_lie_in_them)
{
	open_recorder(MIB(1));
	begin("outer");
	(void)add_alloc(100, 0);
	begin("inner");
	(void)add_alloc(200, 0);
	end("inner");
	cr_assert_eq(seam__recorder_thread(recorder)->phase_depth, 1);
	begin("inner");
	end("inner");
	end("outer");
	struct seam_trace *trace = make_trace(0);
	cr_assert_eq(trace->events[1].phase, 1);
	cr_assert_eq(trace->events[3].phase, 2);
	seam_trace_free(trace);
	assert_story(0, "<outer A2:100 <inner A4:200 inner> <inner inner> outer>");
	close_recorder();
}

Test(record_thread, an_end_needs_its_begin)
{
	open_recorder(MIB(1));
	cr_assert_rc(seam__recorder_phase_end(recorder, seam__recorder_draw(recorder), "a"), SEAM_INVALID);
	begin("a");
	cr_assert_rc(seam__recorder_phase_end(recorder, seam__recorder_draw(recorder), "b"), SEAM_INVALID);
	end("a");
	cr_assert_rc(seam__recorder_dynamic_end(recorder), SEAM_INVALID);
	for (int i = 0; i < 32; i++)
		begin("deep");
	cr_assert_rc(seam__recorder_phase_begin(recorder, seam__recorder_draw(recorder), "deep"), SEAM_INVALID);
	for (int i = 0; i < 32; i++)
		end("deep");
	struct seam_trace *trace = make_trace(0);
	cr_assert_eq(trace->header.event_count, 66, "refused ones are no events, and block none");
	seam_trace_free(trace);
	close_recorder();
}

Test(record_thread, phases_of_two_threads_are_brought_into_one_nesting)
{
	open_recorder(MIB(1));
	act_as(0);
	begin("a");
	act_as(1);
	begin("b");
	act_as(0);
	end("a");
	(void)add_alloc(100, 0);
	act_as(1);
	end("b");
	assert_story(0, "<a <b b> a> <b A4:100 b>");
	close_recorder();
}

Test(record_thread, phases_that_are_open_where_a_trace_begins_begin_there)
{
	open_recorder(MIB(1));
	uint64_t a = add_alloc(100, 0);
	begin("outer");
	begin("inner");
	(void)add_alloc(200, 0);
	end("inner");
	add_free(a);
	assert_story(3, "A1:100r <outer <inner A4:200 inner> F1:100");
	assert_story(1, "A1:100r A4:200r <outer F1:100");
	for (int i = 0; i < 40000; i++)
		add_free(add_alloc(300, 0));
	struct seam_trace *trace = make_trace(0);
	cr_assert_eq(trace->events[0].id, 4, "the resident");
	cr_assert_eq(trace->events[1].kind, SEAM_TRACE_PHASE_BEGIN, "what was open when the log forgot its beginning");
	cr_assert_str_eq(seam_trace_string(trace, trace->events[1].aux), "outer");
	seam_trace_free(trace);
	close_recorder();
}

Test(record_thread, there_may_be_any_number_of_names_of_any_length)
{
	char name[200];
	open_recorder(MIB(1));
	begin("others");
	end("others");
	for (int i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof name, "phase %d %0*d", i, i % 150, 0);
		begin(name);
		end(name);
	}
	struct seam_trace *trace = make_trace(0);
	const struct seam_trace_event *events = trace->events;
	cr_assert_eq(trace->header.event_count, 802);
	cr_assert_str_eq(seam_trace_string(trace, events[2].aux), "phase 0 0");
	cr_assert_str_eq(seam_trace_string(trace, events[800].aux), "others", "too many");
	cr_assert_eq(strlen(seam_trace_string(trace, events[2 + 2 * 149].aux)), SEAM_RECORD_NAME_BYTES - 1, "too long");
	seam_trace_free(trace);
	close_recorder();
}

Test(record_thread, dynamic_requests_are_marked)
{
	open_recorder(MIB(1));
	cr_assert_ok(seam__recorder_dynamic_begin(recorder));
	cr_assert_ok(seam__recorder_dynamic_begin(recorder));
	uint64_t a = add_alloc(100, 0);
	cr_assert_ok(seam__recorder_dynamic_end(recorder));
	(void)add_alloc(200, 0);
	add_free(a);
	cr_assert_eq(seam__recorder_thread(recorder)->dynamic_depth, 1);
	cr_assert_ok(seam__recorder_dynamic_end(recorder));
	(void)add_alloc(300, 0);
	assert_story(0, "A1:100d A2:200d F1:100 A4:300");
	close_recorder();
}

Test(record_thread, a_thread_may_speak_as_another)
{
	open_recorder(MIB(1));
	uint64_t a = add_alloc(100, 0);
	act_as(7);
	cr_assert_eq(seam__recorder_thread(recorder)->thread, 7);
	cr_assert_ok(seam__recorder_dynamic_begin(recorder));
	(void)add_alloc(200, 0);
	act_as(0);
	(void)add_alloc(300, 0);
	act_as(7);
	add_free(a);
	assert_story(0, "A1:100 A2:200d^7 A3:300 F1:100^7");
	close_recorder();
}

/* ---- threads ---- */

static void *speak(void *ret_thread)
{
	(void)add_alloc(100, 0);
	*(uint32_t *)ret_thread = seam__recorder_thread(recorder)->thread;
	return NULL;
}

static uint32_t in_a_thread(void)
{
	pthread_t thread;
	uint32_t number = 99;
	cr_assert_eq(pthread_create(&thread, NULL, speak, &number), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	return number;
}

Test(record_thread, threads_that_end_leave_no_memory_behind)
{
	struct seam_meta_stats before, after;
	open_recorder(MIB(1));
	cr_assert_eq(seam__recorder_thread(recorder)->thread, 0);
	cr_assert_eq(in_a_thread(), 1);
	seam__meta_get_stats(meta, &before);
	for (uint32_t i = 2; i < 50; i++)
		cr_assert_eq(in_a_thread(), i, "a number of its own");
	seam__meta_get_stats(meta, &after);
	cr_assert_eq(before.live_bytes, after.live_bytes);
	close_recorder();
}

Test(record_thread, a_thread_speaks_to_many_recorders)
{
	struct seam_recorder *others[9];
	open_recorder(MIB(1));
	act_as(5);
	for (unsigned i = 0; i < 9; i++)
		cr_assert_ok(seam__recorder_create(meta, MIB(1), 0, &others[i]));
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 9; i++)
			cr_assert_eq(seam__recorder_thread(others[i])->thread, 0);
		cr_assert_eq(seam__recorder_thread(recorder)->thread, 5, "round %u", round);
	}
	for (unsigned i = 0; i < 9; i++)
		seam__recorder_destroy(others[i]);
	close_recorder();
}

Test(record_thread, without_memory_threads_share_a_context)
{
	open_recorder(MIB(1));
	seam__meta_fail_at(meta, 1);
	cr_assert_eq(seam__recorder_thread(recorder)->thread, UINT32_MAX);
	seam__meta_fail_at(meta, 1);
	cr_assert_rc(seam__recorder_dynamic_begin(recorder), SEAM_OOM_META);
	seam__meta_fail_at(meta, 1);
	cr_assert_rc(seam__recorder_act_as(recorder, 3), SEAM_OOM_META);
	seam__meta_fail_at(meta, 1);
	(void)add_alloc(100, 0);
	cr_assert_eq(seam__recorder_thread(recorder)->thread, 0, "and get their own when there is memory again");
	seam__meta_fail_at(meta, 1);
	cr_assert_rc(seam__recorder_phase_begin(recorder, seam__recorder_draw(recorder), "name"), SEAM_OOM_META);
	assert_story(0, "A1:100^4294967295");
	close_recorder();
}

static pthread_barrier_t barrier;

/* Holds the recorder's lock while the others are between the two barriers. */
static void *hold(void *ignored)
{
	seam__mutex_lock(&recorder->gather);
	(void)pthread_barrier_wait(&barrier);
	(void)pthread_barrier_wait(&barrier);
	seam__mutex_unlock(&recorder->gather);
	return ignored;
}

/* The lock of its parent's recorder is held for ever in the child: threads that end there must not ask for it. */
Test(record_thread, a_child_has_recorders_of_its_own, .timeout = 20)
{
	pthread_t holder;
	open_recorder(MIB(1));
	(void)add_alloc(100, 0);
	cr_assert_eq(pthread_barrier_init(&barrier, NULL, 2), 0);
	cr_assert_eq(pthread_create(&holder, NULL, hold, NULL), 0);
	(void)pthread_barrier_wait(&barrier);
	pid_t child = fork();
	if (child != 0)
		(void)pthread_barrier_wait(&barrier);
	cr_assert_geq(child, 0);
	if (child == 0) {
		struct seam_recorder *parents = recorder;
		bool good = seam__recorder_create(meta, MIB(1), 0, &recorder) == SEAM_OK && recorder != parents &&
			in_a_thread() == 0;
		seam__recorder_destroy(recorder);
		_exit(good ? 0 : 1);
	}
	int status = 0;
	cr_assert_eq(pthread_join(holder, NULL), 0);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close_recorder();
}
