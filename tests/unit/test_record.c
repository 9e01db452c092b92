/* test_record.c: a recorder's events, its limit, gaps in the numbers, and what happens without memory. */
#include "record_fixture.h"

#include <pthread.h>

#include "recorder.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define BLOCKS 500u

Test(record, a_trace_tells_what_was_added)
{
	open_recorder(MIB(1));
	uint64_t a = add_alloc(100, 0), b = add_alloc(200, 7);
	add_of(SEAM_TRACE_RECORD_STREAM, a, 7);
	add_free(b);
	add_of(SEAM_TRACE_STEP, 0, 0);
	add_free(a);
	struct seam_trace *trace = make_trace(0);
	cr_assert_eq(trace->header.device, 3);
	cr_assert_str_eq(seam_trace_string(trace, trace->header.source), "a test");
	cr_assert_eq(trace->events[0].time_ns, 0, "times begin with the first event");
	seam_trace_free(trace);
	assert_story(0, "A1:100 A2:200@7 U1:0@7 F2:200@7 |0:0 F1:100");
	cr_assert_eq(get_counts().steps, 1);
	close_recorder();
}

Test(record, nothing_recorded_is_an_empty_trace)
{
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	assert_story(0, "");
	cr_assert_rc(seam__recorder_create(meta, SEAM_RECORD_LEAST_BYTES - 1, 0, &recorder), SEAM_INVALID);
	seam__recorder_destroy(NULL);
	close_recorder();
}

Test(record, the_newest_events_begin_with_what_was_live)
{
	open_recorder(MIB(1));
	uint64_t a = add_alloc(100, 0), b = add_alloc(200, 7);
	add_free(a);
	uint64_t c = add_alloc(300, 0);
	add_free(b);
	add_free(c);
	assert_story(3, "A2:200@7r A4:300 F2:200@7 F4:300");
	assert_story(1, "A4:300r F4:300");
	close_recorder();
}

Test(record, a_missing_number_ends_what_can_be_read)
{
	open_recorder(MIB(1));
	(void)add_alloc(100, 0);
	uint64_t late = seam__recorder_draw(recorder);
	(void)add_alloc(300, 0);
	assert_story(0, "A1:100");
	const struct seam_record record = {.order = late, .id = late, .bytes = 200, .kind = SEAM_TRACE_ALLOC};
	seam__recorder_add(recorder, &record);
	assert_story(0, "A1:100 A2:200 A3:300");
	close_recorder();
}

Test(record, no_event_after_all_leaves_no_trace)
{
	open_recorder(MIB(1));
	(void)add_alloc(100, 0);
	add_of(0, 0, 0);
	(void)add_alloc(300, 0);
	assert_story(0, "A1:100 A3:300");
	close_recorder();
}

/* ---- a program that goes on and on, and a model of what lives ---- */

struct program {
	uint64_t random;
	uint64_t live[BLOCKS]; /* serials; 0: none */
	uint64_t bytes[BLOCKS];
};

static void run(struct program *program, uint64_t events)
{
	for (uint64_t i = 0; i < events; i++) {
		program->random = program->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		uint64_t at = (program->random >> 33) % BLOCKS;
		if (at >= 20 && at < 490)
			at = 20 + at % 10; /* most live shortly, some long */
		if (program->live[at] == 0) {
			program->bytes[at] = 1 + (program->random >> 40);
			program->live[at] = add_alloc(program->bytes[at], at % 3);
		} else {
			add_free(program->live[at]);
			program->live[at] = 0;
		}
	}
}

/* What the trace leaves live is what the program has live, with its sizes. */
static void assert_live(const struct program *program, const struct seam_trace *trace, uint64_t number)
{
	uint64_t live = 0, bytes = 0, wanted = 0, wanted_bytes = 0, resident = 0;
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		bool is_alloc = event->kind == SEAM_TRACE_ALLOC;
		live += is_alloc ? 1 : UINT64_MAX;
		bytes += is_alloc ? event->size : 0 - event->size;
		if ((event->flags & SEAM_TRACE_RESIDENT) == 0)
			continue;
		cr_assert_gt(event->id, resident, "trace %d: residents are in order of serial", (int)number);
		resident = event->id;
		cr_assert_eq(event->time_ns, 0);
	}
	for (unsigned i = 0; i < BLOCKS; i++) {
		wanted += program->live[i] != 0;
		wanted_bytes += program->live[i] != 0 ? program->bytes[i] : 0;
	}
	cr_assert_eq(live, wanted, "trace %d", (int)number);
	cr_assert_eq(bytes, wanted_bytes, "trace %d", (int)number);
}

Test(record, beyond_its_limit_only_the_newest_and_what_lives_stay)
{
	struct program program = {.random = 5};
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	for (uint64_t n = 0; n < 60; n++) {
		run(&program, 777);
		struct seam_trace *trace = make_trace(n % 3 * 100);
		assert_live(&program, trace, n);
		seam_trace_free(trace);
		check_recorder();
		cr_assert_leq(get_counts().bytes, SEAM_RECORD_LEAST_BYTES);
	}
	struct seam_recorder_counts counts = get_counts();
	cr_assert_eq(counts.lost, 0);
	cr_assert_lt(counts.log_events, counts.events / 4, "little was forgotten");
	cr_assert_gt(counts.residents, 0);
	close_recorder();
}

/* Residents fill their part of the limit; what has no room is unknown, and so are its frees. */
Test(record, more_residents_than_there_is_room_for_are_lost)
{
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	for (uint64_t i = 1; i <= 20000; i++)
		(void)add_alloc(i, 0);
	struct seam_recorder_counts counts = get_counts();
	cr_assert_gt(counts.lost, 1000);
	cr_assert_leq(counts.bytes, SEAM_RECORD_LEAST_BYTES);
	cr_assert_gt(counts.residents, 1000);
	for (uint64_t i = 1; i <= 20000; i++)
		add_free(i);
	cr_assert_eq(get_counts().residents, 0);
	struct seam_trace *trace = make_trace(0);
	for (uint64_t i = 0; i < trace->header.event_count; i++)
		cr_assert_neq(trace->events[i].kind, SEAM_TRACE_FREE, "a free of an unknown block");
	seam_trace_free(trace);
	close_recorder();
}

/* A thread that stands still between drawing and adding while the others fill the log several times. */
Test(record, an_event_that_comes_too_late_breaks_nothing)
{
	struct program program = {.random = 9};
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	uint64_t kept = add_alloc(512, 0), other = add_alloc(1024, 0);
	uint64_t late_alloc = seam__recorder_draw(recorder);
	uint64_t late_free = seam__recorder_draw(recorder);
	run(&program, 30000);
	cr_assert_eq(get_counts().lost, 2, "%d", (int)get_counts().lost);
	const struct seam_record alloc = {
		.order = late_alloc, .id = late_alloc, .bytes = 100, .kind = SEAM_TRACE_ALLOC};
	const struct seam_record free_it = {.order = late_free, .id = kept, .kind = SEAM_TRACE_FREE};
	seam__recorder_add(recorder, &alloc);
	seam__recorder_add(recorder, &free_it);
	run(&program, 30000);
	check_recorder();
	add_free(late_alloc);
	add_free(other);
	struct seam_trace *trace = make_trace(0);
	assert_live(&program, trace, 0);
	seam_trace_free(trace);
	close_recorder();
}

/* A copy reads a segment without a lock. */
Test(record, a_segment_that_is_read_is_not_used_again)
{
	struct program program = {.random = 5};
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	run(&program, 2000);
	struct seam_record_segment *read = seam__record_log_segment(&recorder->log, 0);
	cr_assert_not_null(read);
	read->readers = 1;
	run(&program, 30000);
	cr_assert_gt(recorder->log.first, 0, "the segment is in the log: this tests nothing");
	for (uint32_t i = 0; i < SEAM_RECORD_SEGMENT; i++)
		cr_assert(seam__record_slot_is(&read->slots[i], i + 1), "event %u", (unsigned)(i + 1));
	cr_expect_eq(get_counts().lost, 0);
	read->readers = 0;
	run(&program, 30000);
	cr_expect_not(seam__record_slot_is(&read->slots[0], 1), "it is lost for good");
	close_recorder();
}

/* ---- without memory ---- */

Test(record, every_allocation_of_a_creation_may_fail)
{
	meta = seam__meta_create(0);
	uint64_t n = 1;
	for (;; n++) {
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__recorder_create(meta, MIB(1), 0, &recorder);
		if (rc == SEAM_OK)
			break;
		cr_assert_rc(rc, SEAM_OOM_META);
		cr_assert_null(recorder, "ret_recorder was touched");
	}
	cr_assert_gt(n, 3);
	seam__meta_fail_at(meta, 0);
	close_recorder();
}

/* Growth of the log, of the residents, of thread contexts: events are lost at worst, the rest stays right. */
Test(record, every_allocation_while_recording_may_fail)
{
	for (uint64_t n = 1; n < 40; n++) {
		struct program program = {.random = n};
		open_recorder(SEAM_RECORD_LEAST_BYTES);
		seam__meta_fail_at(meta, n);
		run(&program, 12000);
		bool fired = seam__meta_fail_left(meta) == 0;
		struct seam_trace *trace = make_trace(0);
		if (get_counts().lost == 0)
			assert_live(&program, trace, n);
		seam_trace_free(trace);
		seam__meta_fail_at(meta, 0);
		close_recorder();
		if (!fired) {
			cr_assert_gt(n, 6);
			return;
		}
	}
	cr_assert_fail("allocations go on and on");
}

Test(record, without_any_memory_events_are_lost_and_later_ones_are_not)
{
	struct program program = {.random = 1};
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	seam__meta_set_limit(meta, 1);
	run(&program, 20000);
	cr_assert_gt(get_counts().lost, 0);
	struct seam_trace *trace = make_trace(0);
	seam_trace_free(trace);
	seam__meta_set_limit(meta, 0);
	uint64_t before = get_counts().lost;
	for (int i = 0; i < 5000; i++)
		add_free(add_alloc(100, 0));
	cr_assert_leq(get_counts().lost - before, 1100, "one segment at most");
	trace = make_trace(1000);
	cr_assert_geq(trace->header.event_count, 1000);
	seam_trace_free(trace);
	close_recorder();
}

Test(record, every_allocation_of_a_trace_may_fail)
{
	open_recorder(SEAM_RECORD_LEAST_BYTES);
	cr_assert_ok(seam__recorder_phase_begin(recorder, seam__recorder_draw(recorder), "phase"));
	for (int i = 0; i < 9000; i++)
		(void)add_alloc(100, 0);
	uint64_t before = trace_sample_live_bytes(), n = 1;
	for (;; n++) {
		struct seam_trace *trace = NULL;
		seam__meta_fail_at(seam__meta_process(), n);
		enum seam_rc rc = seam__recorder_trace(recorder, 5000, "a test", &trace);
		seam__meta_fail_at(seam__meta_process(), 0);
		if (rc == SEAM_OK) {
			seam_trace_free(trace);
			break;
		}
		cr_assert_rc(rc, SEAM_OOM_META);
		cr_assert_null(trace, "ret_trace was touched");
		cr_assert_eq(trace_sample_live_bytes(), before, "allocation %d", (int)n);
	}
	cr_assert_gt(n, 4);
	close_recorder();
}
