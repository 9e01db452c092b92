/* test_safety_trace.c: how long requests of a trace are held from each stream: stories by hand, and random periods
 * against a graph of everything that the device does, in which order is reachability. */
#include <criterion/criterion.h>
#include <string.h>

#include "check.h"
#include "meta.h"
#include "problem.h"
#include "random_problem.h"
#include "region.h"
#include "safety_trace.h"
#include "trace_sample.h"

#define EVENTS_MAX 60u
#define STREAMS 4u

/* A period with its requests, made by hand or by chance. */
struct story {
	struct seam_trace trace;
	struct seam_trace_event events[2 * EVENTS_MAX]; /* the period, twice or once */
	uint32_t positions[EVENTS_MAX];
	uint32_t event_count;             /* of one period */
	uint32_t begin_event[EVENTS_MAX]; /* per request, in the period */
	struct seam_period_slot requests[EVENTS_MAX];
	uint32_t request_count;
	uint32_t users[EVENTS_MAX];
	uint32_t user_count;
	struct seam_period_slots slots; /* of the arrays above */
};

static const uint64_t stream_names[STREAMS] = {0, 70, 5, 900};
static struct seam_traced_stream streams[STREAMS];
static uint32_t stream_numbers[STREAMS];
static struct seam_region *region;
static struct seam_meta *meta;
static struct story story;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	region = seam__region_create(meta);
	cr_assert_not_null(region);
	memset(&story, 0, sizeof(story));
}

static void tear_down(void)
{
	seam__region_destroy(region);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

TestSuite(safety_trace, .init = set_up, .fini = tear_down);

static void add(uint8_t kind, uint64_t id, uint32_t stream)
{
	cr_assert_lt(story.event_count, EVENTS_MAX);
	story.events[story.event_count++] =
		(struct seam_trace_event){.kind = kind, .id = id, .size = 1, .stream = stream_names[stream]};
}

/* Closes the period: requests by the ids of its blocks; a free before its allocation is one of the period before's.
 * `stray`: the ids of events differ from repetition to repetition. */
static void close_period(uint32_t copies, bool linear, uint64_t stray)
{
	uint32_t positions = 0;

	for (uint32_t e = 0; e < story.event_count; e++) {
		const struct seam_trace_event *event = &story.events[e];
		bool is_position = event->kind == SEAM_TRACE_ALLOC || event->kind == SEAM_TRACE_FREE;
		struct seam_period_slot *request = &story.requests[story.request_count];

		story.positions[e] = positions;
		if (event->kind == SEAM_TRACE_ALLOC) {
			*request = (struct seam_period_slot){
				.free_event = SEAM__EVENT_NONE, .begin = positions, .first_user = story.user_count};
			while (stream_names[request->stream] != event->stream)
				request->stream++;
			for (uint32_t f = 0; f < story.event_count; f++) {
				if (story.events[f].id != event->id)
					continue;
				if (story.events[f].kind == SEAM_TRACE_FREE) {
					request->free_event = f;
					request->lag = f < e;
				} else if (story.events[f].kind == SEAM_TRACE_RECORD_STREAM) {
					uint32_t user = 0;

					while (stream_names[user] != story.events[f].stream)
						user++;
					story.users[story.user_count++] = user;
					request->user_count++;
				}
			}
			story.begin_event[story.request_count++] = e;
		}
		positions += is_position;
	}
	story.slots = (struct seam_period_slots){.period = {.last_event = story.event_count, .linear = linear},
		.items = {.items = story.requests, .count = story.request_count},
		.positions = {.items = story.positions, .count = story.event_count},
		.streams = {.items = stream_numbers, .count = STREAMS},
		.users = {.items = story.users, .count = story.user_count},
		.position_count = positions,
		.copies = copies};
	story.trace.events = story.events;
	story.trace.header.event_count = linear ? story.event_count : 2 * story.event_count;
	if (linear)
		return;
	for (uint32_t e = 0; e < story.event_count; e++) {
		struct seam_trace_event *again = &story.events[story.event_count + e];

		*again = story.events[e];
		again->id += again->kind >= SEAM_TRACE_EVENT_RECORD ? stray : 0;
		if (again->kind == SEAM_TRACE_EVENT_WAIT && stray != 0) {
			bool same_period = false;

			for (uint32_t r = 0; r < e; r++)
				same_period = same_period ||
					(story.events[r].kind == SEAM_TRACE_EVENT_RECORD &&
						story.events[r].id == story.events[e].id);
			again->id -= same_period ? 0 : stray;
		}
	}
	story.slots.period.first_event = story.event_count;
	story.slots.period.last_event = 2 * story.event_count;
	for (uint32_t i = 0; i < story.request_count; i++)
		if (story.requests[i].free_event != SEAM__EVENT_NONE)
			story.requests[i].free_event += story.event_count;
}

static enum seam_rc ask(uint32_t *ret_holds)
{
	const struct seam_traced_requests requests = {
		.trace = &story.trace, .streams = {.items = streams, .count = STREAMS}};
	enum seam_rc rc;

	for (uint32_t s = 0; s < STREAMS; s++) {
		streams[s].stream = stream_names[s];
		stream_numbers[s] = s;
	}
	story.slots.requests = &requests;
	rc = seam__safety_holds(region, &story.slots, ret_holds);
	seam__region_release(region, NULL);
	return rc;
}

static void holds_of(uint32_t *ret_holds)
{
	cr_assert_eq(ask(ret_holds), SEAM_OK);
}

Test(safety_trace, without_edges_nothing_is_ever_shared)
{
	uint32_t holds[STREAMS];

	add(SEAM_TRACE_ALLOC, 1, 0);
	add(SEAM_TRACE_FREE, 1, 0);
	close_period(1, false, 0);
	holds_of(holds);
	cr_expect_eq(holds[0], 1);
	cr_expect_eq(holds[1], SEAM__HOLD_ALWAYS);
}

Test(safety_trace, an_event_orders_what_it_was_recorded_behind)
{
	uint32_t holds[3 * STREAMS];

	add(SEAM_TRACE_ALLOC, 1, 0);
	add(SEAM_TRACE_EVENT_RECORD, 9, 0); /* before the free: covers nothing of the block's end */
	add(SEAM_TRACE_FREE, 1, 0);
	add(SEAM_TRACE_EVENT_WAIT, 9, 1);
	add(SEAM_TRACE_EVENT_RECORD, 9, 0);
	add(SEAM_TRACE_ALLOC, 2, 1); /* stream 1 has not waited for the second record yet */
	add(SEAM_TRACE_EVENT_WAIT, 9, 1);
	add(SEAM_TRACE_ALLOC, 3, 1);
	close_period(1, true, 0);
	holds_of(holds);
	cr_expect_eq(holds[0], 1);
	cr_expect_eq(holds[1], 3, "positions 1 and 2 are the free and the allocation before the second wait");
	cr_expect_eq(holds[2], 4, "never: to the end of the line");
}

Test(safety_trace, a_block_used_by_others_waits_for_them_too)
{
	uint32_t holds[2 * STREAMS];

	add(SEAM_TRACE_ALLOC, 1, 0);
	add(SEAM_TRACE_RECORD_STREAM, 1, 2);
	add(SEAM_TRACE_FREE, 1, 0);
	add(SEAM_TRACE_STREAM_SYNC, 0, 0);
	add(SEAM_TRACE_ALLOC, 2, 0);
	add(SEAM_TRACE_STREAM_SYNC, 0, 2);
	close_period(1, true, 0);
	holds_of(holds);
	cr_expect_eq(holds[0], 3, "its own stream too: stream 2 may still use it");
	cr_expect_eq(holds[2], 2, "stream 2 only needs stream 0");
	cr_expect_eq(holds[1], 3);
}

Test(safety_trace, a_wait_in_the_next_period_is_for_a_record_of_this_one)
{
	for (uint64_t stray = 0; stray <= 1000; stray += 1000) {
		uint32_t holds[2 * STREAMS];

		memset(&story, 0, sizeof(story));
		add(SEAM_TRACE_EVENT_WAIT, 9, 1);
		add(SEAM_TRACE_ALLOC, 1, 0);
		add(SEAM_TRACE_FREE, 1, 0);
		add(SEAM_TRACE_EVENT_RECORD, 9, 0);
		add(SEAM_TRACE_ALLOC, 2, 1);
		add(SEAM_TRACE_FREE, 2, 1);
		close_period(1, false, stray);
		holds_of(holds);
		cr_expect_eq(holds[1], 4, "ids + %llu: up to the period's end", (unsigned long long)stray);
		cr_expect_eq(holds[2], SEAM__HOLD_ALWAYS);
	}
}

Test(safety_trace, an_edge_that_was_captured_orders_nothing)
{
	uint32_t holds[STREAMS];

	add(SEAM_TRACE_ALLOC, 1, 0);
	add(SEAM_TRACE_FREE, 1, 0);
	add(SEAM_TRACE_EVENT_RECORD, 9, 0);
	add(SEAM_TRACE_EVENT_WAIT, 9, 1);
	story.events[3].flags = SEAM_TRACE_CAPTURE;
	close_period(1, false, 0);
	holds_of(holds);
	cr_expect_eq(holds[1], SEAM__HOLD_ALWAYS);
}

static void random_story(uint64_t seed, bool linear)
{
	uint64_t state = seed;
	uint32_t events = 10 + (uint32_t)random_below(&state, EVENTS_MAX - 10);
	uint64_t live[EVENTS_MAX];
	uint32_t stream_of[EVENTS_MAX] = {0};
	uint32_t live_count = 0;
	uint64_t next = 1;
	uint64_t recorded = 0; /* bits: ids of events */

	memset(&story, 0, sizeof(story));
	while (story.event_count < events) {
		uint32_t stream = (uint32_t)random_below(&state, STREAMS);
		uint64_t pick = live_count == 0 ? 0 : random_below(&state, live_count);
		uint64_t id = random_below(&state, 5);

		switch (random_below(&state, linear ? 8 : 9)) {
		case 0:
		case 1:
		case 2:
			stream_of[next] = stream;
			live[live_count++] = next;
			add(SEAM_TRACE_ALLOC, next++, stream);
			break;
		case 3:
		case 4:
			if (live_count == 0)
				break;
			add(SEAM_TRACE_FREE, live[pick], stream_of[live[pick]]);
			live[pick] = live[--live_count];
			break;
		case 5:
			if (live_count > 0)
				add(SEAM_TRACE_RECORD_STREAM, live[pick], stream);
			break;
		case 6:
			recorded |= UINT64_C(1) << id;
			add(SEAM_TRACE_EVENT_RECORD, 100 + id, stream);
			break;
		case 7:
			if ((recorded >> id & 1) != 0 || !linear)
				add(SEAM_TRACE_EVENT_WAIT, 100 + id, stream);
			if (random_below(&state, 8) == 0 && story.event_count < events)
				add(random_below(&state, 3) == 0 ? SEAM_TRACE_DEVICE_SYNC : SEAM_TRACE_STREAM_SYNC, 0,
					stream);
			break;
		default: /* a block of the period before, which is allocated later on */
			if (story.event_count + 2 > events)
				break;
			memmove(&story.events[1], &story.events[0], story.event_count++ * sizeof(story.events[0]));
			story.events[0] = (struct seam_trace_event){
				.kind = SEAM_TRACE_FREE, .id = next, .size = 1, .stream = stream_names[stream]};
			add(SEAM_TRACE_ALLOC, next++, stream);
			break;
		}
	}
}

/* The device's work, unrolled: node (stream, event) is what the stream was given up to before that event. */
struct unrolled {
	uint32_t events; /* in all repetitions */
	bool reached[STREAMS][6 * EVENTS_MAX + 1];
};

static struct unrolled unrolled;

static const struct seam_trace_event *event_at(uint32_t at)
{
	return &story.events[at % story.event_count];
}

/* The last record before the wait at `at`; UINT32_MAX: none. */
static uint32_t record_of(uint32_t at)
{
	for (uint32_t r = at; r-- > 0;)
		if (event_at(r)->kind == SEAM_TRACE_EVENT_RECORD && event_at(r)->id == event_at(at)->id)
			return r;
	return UINT32_MAX;
}

/* What is ordered behind the work that stream `from` was given before event `start`. Nodes in the order of events. */
static void reach(uint32_t from, uint32_t start)
{
	memset(unrolled.reached, 0, sizeof(unrolled.reached));
	for (uint32_t at = start; at <= unrolled.events; at++) {
		for (uint32_t s = 0; s < STREAMS; s++) {
			bool *here = &unrolled.reached[s][at];

			*here = (s == from && at == start) || (at > start && unrolled.reached[s][at - 1]);
			if (at == start)
				continue;
			const struct seam_trace_event *last = event_at(at - 1);
			uint32_t record = last->kind == SEAM_TRACE_EVENT_WAIT && last->stream == stream_names[s]
				? record_of(at - 1)
				: UINT32_MAX;
			for (uint32_t x = 0; x < STREAMS; x++) {
				bool synced = last->kind == SEAM_TRACE_DEVICE_SYNC ||
					(last->kind == SEAM_TRACE_STREAM_SYNC && last->stream == stream_names[x]);

				if (synced && unrolled.reached[x][at - 1])
					*here = true;
				if (record != UINT32_MAX && event_at(record)->stream == stream_names[x] &&
					unrolled.reached[x][record])
					*here = true;
			}
		}
	}
}

/* Position of the first event from which stream `s` is ordered behind all users of request i; UINT64_MAX: not seen. */
static uint64_t naive_release(uint32_t i, uint32_t s)
{
	const struct seam_period_slot *request = &story.requests[i];
	bool all[6 * EVENTS_MAX + 1];
	uint32_t start;

	if (request->free_event == SEAM__EVENT_NONE)
		return UINT64_MAX;
	start = (uint32_t)request->free_event % story.event_count + request->lag * story.event_count;
	memset(all, 1, sizeof(all));
	for (uint32_t u = 0; u <= request->user_count; u++) {
		reach(u == request->user_count ? request->stream : story.users[request->first_user + u], start);
		for (uint32_t at = 0; at <= unrolled.events; at++)
			all[at] = all[at] && unrolled.reached[s][at];
	}
	for (uint32_t at = start; at < unrolled.events; at++)
		if (all[at])
			return (uint64_t)(at / story.event_count) * story.slots.position_count +
				story.positions[at % story.event_count];
	/* The end of all events, too, is a place. */
	return all[unrolled.events] ? (uint64_t)(unrolled.events / story.event_count) * story.slots.position_count
				    : UINT64_MAX;
}

static void compare(uint64_t seed, uint32_t copies, bool linear)
{
	uint32_t holds[EVENTS_MAX * STREAMS];
	uint64_t circle;

	random_story(seed, linear);
	close_period(copies, linear, seed % 3 == 0 ? 1000 : 0);
	unrolled.events = (linear ? 1 : copies + 3) * story.event_count;
	circle = (uint64_t)copies * story.slots.position_count;
	holds_of(holds);
	for (uint32_t i = 0; i < story.request_count; i++) {
		uint32_t begin = story.requests[i].begin;

		for (uint32_t s = 0; s < STREAMS; s++) {
			uint64_t at = naive_release(i, s);
			uint64_t expected = at == UINT64_MAX || at - begin > circle ? SEAM__HOLD_ALWAYS : at - begin;

			if (linear && expected == SEAM__HOLD_ALWAYS)
				expected = circle - begin;
			cr_assert_eq(holds[i * STREAMS + s], expected, "seed %llu request %u stream %u: %u, not %llu",
				(unsigned long long)seed, i, s, holds[i * STREAMS + s], (unsigned long long)expected);
		}
	}
}

Test(safety_trace, holds_are_what_reachability_says)
{
	for (uint64_t seed = 0; seed < 300; seed++)
		compare(seed, 1 + (uint32_t)(seed % 3), false);
}

Test(safety_trace, holds_on_a_line_are_what_reachability_says)
{
	for (uint64_t seed = 0; seed < 150; seed++)
		compare(seed, 1, true);
}

Test(safety_trace, a_failed_allocation_is_reported)
{
	uint32_t holds[EVENTS_MAX * STREAMS];

	random_story(12, false);
	close_period(2, false, 0);
	for (uint64_t n = 1;; n++) {
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = ask(holds);
		bool fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		if (!fired) {
			cr_expect_eq(rc, SEAM_OK);
			cr_expect_gt(n, 5);
			break;
		}
		cr_expect_eq(rc, SEAM_OOM_META, "allocation %llu", (unsigned long long)n);
	}
}
