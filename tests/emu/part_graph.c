/* part_graph.c: each launch of a graph is judged as if its work were submitted then; and a launch is all or nothing. */
#include <stdatomic.h>

#include "emu_state.h"
#include "emu_test.h"
#include "meta.h"
#include "tap.h"

#define LONG_NS UINT64_C(1000000000)

static void edge(struct seam_driver *d, uint64_t from, uint64_t to)
{
	struct seam_event event = {0};
	MUST(seam__drv_event_create(d, &event));
	MUST(seam__drv_event_record(d, event, from));
	MUST(seam__drv_stream_wait_event(d, to, event));
	MUST(seam__drv_event_destroy(d, event));
}

static uint64_t nonblocking(struct seam_driver *d)
{
	return make_stream(d, SEAM_STREAM_NONBLOCKING);
}

/* A graph of one kernel that writes [va, va + 4096). */
static uint64_t capture_write(struct seam_driver *d, uint64_t va)
{
	uint64_t stream = nonblocking(d);
	uint64_t graph = 0;
	MUST(seam__drv_capture_begin(d, stream));
	MUST(launch(d, stream, va, 4096, true, 10));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	MUST(seam__drv_stream_destroy(d, stream));
	return graph;
}

/* A graph of two kernels on two branches that start together; the second writes [va, va + 4096), the first 4096 bytes
 * at `first`. */
static uint64_t capture_fork(struct seam_driver *d, uint64_t first, uint64_t va)
{
	uint64_t stream = nonblocking(d);
	uint64_t joined = nonblocking(d);
	uint64_t graph = 0;
	MUST(seam__drv_capture_begin(d, stream));
	edge(d, stream, joined);
	MUST(launch(d, stream, first, 4096, true, 10));
	MUST(launch(d, joined, va, 4096, true, 10));
	edge(d, joined, stream);
	MUST(launch(d, stream, va, 4096, false, 10));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	return graph;
}

/* Each captures and launches; what happens between is wrong, or is not. */

static void unmapped(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t graph = capture_write(d, va);
	MUST(seam__drv_mem_unmap(d, va, G));
	MUST(seam__emu_graph_launch(d, graph, 0));
	seam__emu_advance(d, LONG_NS);
}

static void unmapped_copy(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = nonblocking(d);
	uint64_t graph = 0;
	MUST(seam__drv_capture_begin(d, stream));
	MUST(seam__drv_fill32(d, va, 1, 16, stream));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	MUST(seam__drv_mem_unmap(d, va, G));
	MUST(seam__emu_graph_launch(d, graph, stream));
	seam__emu_advance(d, LONG_NS);
}

static void freed_host(struct seam_driver *d)
{
	void *host = NULL;
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = nonblocking(d);
	uint64_t graph = 0;
	MUST(seam__drv_host_alloc(d, 4096, &host));
	MUST(seam__drv_capture_begin(d, stream));
	MUST(seam__drv_copy_to_device(d, va, host, 4096, stream));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	MUST(seam__drv_host_free(d, host));
	MUST(seam__emu_graph_launch(d, graph, stream));
	seam__emu_advance(d, LONG_NS);
}

static void no_access(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t graph = capture_write(d, va);
	const struct seam_access read_only = {.where = plain.where, .mode = SEAM_ACCESS_READ};
	MUST(seam__drv_mem_set_access(d, va, G, &read_only, 1));
	MUST(seam__emu_graph_launch(d, graph, 0));
	seam__emu_advance(d, LONG_NS);
}

static void race_before(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t graph = capture_write(d, va);
	MUST(launch(d, nonblocking(d), va, 512, true, 10));
	MUST(seam__emu_graph_launch(d, graph, nonblocking(d)));
}

static void race_after(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(seam__emu_graph_launch(d, capture_write(d, va), nonblocking(d)));
	MUST(launch(d, nonblocking(d), va, 512, false, 10));
}

static void race_of_graphs(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(seam__emu_graph_launch(d, capture_write(d, va), nonblocking(d)));
	MUST(seam__emu_graph_launch(d, capture_write(d, va), nonblocking(d)));
}

static void race_within(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(seam__emu_graph_launch(d, capture_fork(d, va, va), nonblocking(d)));
}

static void alias(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t graph = capture_write(d, va);
	MUST(launch(d, nonblocking(d), map_alias(d, va), 512, true, 10));
	MUST(seam__emu_graph_launch(d, graph, nonblocking(d)));
}

static void unmap_running(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(seam__emu_graph_launch(d, capture_write(d, va), 0));
	MUST(seam__drv_mem_unmap(d, va, G));
}

static void unmap_untold(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	MUST(seam__emu_graph_launch(d, capture_write(d, va), nonblocking(d)));
	seam__emu_advance(d, LONG_NS);
	MUST(seam__drv_stream_sync(d, nonblocking(d)));
	MUST(seam__drv_mem_unmap(d, va, G));
}

static const struct {
	const char *name;
	void (*act)(struct seam_driver *d);
	enum seam_emu_violation violation;
} rows[] = {
	{"a kernel whose memory is gone", unmapped, SEAM_EMU_ACCESS_UNMAPPED},
	{"a fill whose memory is gone", unmapped_copy, SEAM_EMU_ACCESS_UNMAPPED},
	{"a copy whose host memory is gone", freed_host, SEAM_EMU_ACCESS_UNMAPPED},
	{"a kernel whose access is gone", no_access, SEAM_EMU_ACCESS_DENIED},
	{"a launch under another stream's work", race_before, SEAM_EMU_RACE},
	{"another stream's work under a launch", race_after, SEAM_EMU_RACE},
	{"two graphs on two streams", race_of_graphs, SEAM_EMU_RACE},
	{"two branches of a graph", race_within, SEAM_EMU_RACE},
	{"a launch under work on an alias", alias, SEAM_EMU_ALIAS_UNORDERED},
	{"unmap under a launch", unmap_running, SEAM_EMU_UNMAP_PENDING},
	{"unmap before the host knows of a launch", unmap_untold, SEAM_EMU_UNMAP_PENDING},
};

/* Orders everything in turn: before, twice, on two streams, and after; then all may go. */
static void check_sound(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 2);
	uint64_t graph = capture_fork(d, va, va + G);
	uint64_t first = nonblocking(d);
	uint64_t second = nonblocking(d);
	uint64_t third = nonblocking(d);
	MUST(launch(d, third, va, G, true, LONG_NS));
	edge(d, third, first);
	MUST(seam__emu_graph_launch(d, graph, first));
	MUST(seam__emu_graph_launch(d, graph, second)); /* comes after the launch before */
	MUST(launch(d, second, va, 2 * G, true, 10));
	edge(d, second, third);
	MUST(launch(d, third, va, 2 * G, true, 10));
	ok(seam__emu_violations_all(d) == 0, "what edges order around launches is let through (%s)",
		seam__emu_violation_text(d));
	MUST(seam__emu_graph_destroy(d, graph)); /* while it runs */
	ok(seam__emu_graph_launch(d, graph, first) == SEAM_CU_INVALID_HANDLE &&
			seam__emu_graph_destroy(d, graph) == SEAM_CU_INVALID_HANDLE,
		"a graph that was destroyed cannot be launched");
	MUST(seam__drv_stream_sync(d, third));
	MUST(seam__drv_mem_unmap(d, va, 2 * G));
	ok(seam__emu_violations_all(d) == 0, "what is known to have passed may be unmapped (%s)",
		seam__emu_violation_text(d));
}

static void count(void *argument)
{
	atomic_int *calls = argument;
	atomic_fetch_add(calls, 1);
}

/* Launches do the work, in order; the capture did not. */
static void check_effect(struct seam_driver *d)
{
	uint32_t host[4] = {5, 6, 7, 8};
	uint32_t seen[4] = {0};
	atomic_int calls = 0;
	uint64_t va = map_chunks(d, 1);
	uint64_t stream = nonblocking(d);
	uint64_t graph = 0;
	MUST(seam__drv_fill32(d, va, 1, 4, stream));
	MUST(seam__drv_stream_sync(d, stream));
	MUST(seam__drv_capture_begin(d, stream));
	MUST(seam__drv_copy_to_device(d, va, host, sizeof(host), stream));
	MUST(seam__drv_fill32(d, va + 4, 9, 1, stream));
	MUST(seam__drv_copy_on_device(d, va + 8, va, 4, stream));
	MUST(seam__drv_stream_host_func(d, stream, count, &calls));
	MUST(seam__emu_capture_keep(d, stream, &graph));
	MUST(seam__drv_copy_to_host(d, seen, va, sizeof(seen), stream));
	MUST(seam__drv_stream_sync(d, stream));
	ok(seen[0] == 1 && seen[3] == 1 && atomic_load(&calls) == 0, "a capture does nothing");
	host[0] = 3;
	MUST(seam__emu_graph_launch(d, graph, stream));
	MUST(seam__emu_graph_launch(d, graph, stream));
	MUST(seam__drv_copy_to_host(d, seen, va, sizeof(seen), stream));
	MUST(seam__drv_stream_sync(d, stream));
	ok(seen[0] == 3 && seen[1] == 9 && seen[2] == 3 && seen[3] == 8 && atomic_load(&calls) == 2,
		"a launch copies, fills and calls (%u %u %u %u, %d calls)", seen[0], seen[1], seen[2], seen[3],
		atomic_load(&calls));
}

static void check_refusals(struct seam_driver *d)
{
	uint64_t va = map_chunks(d, 1);
	uint64_t graph = capture_write(d, va);
	uint64_t stream = nonblocking(d);
	uint64_t joined = nonblocking(d);
	uint64_t other = 0;
	ok(seam__emu_capture_keep(d, stream, &other) == SEAM_CU_INVALID_VALUE,
		"nothing is kept where nothing was captured");
	MUST(seam__drv_capture_begin(d, stream));
	ok(seam__emu_graph_launch(d, graph, stream) == SEAM_CU_STREAM_CAPTURE_UNSUPPORTED,
		"a graph is no part of a graph");
	edge(d, stream, joined);
	MUST(launch(d, joined, va, 512, true, 10));
	ok(seam__emu_capture_keep(d, stream, &other) == SEAM_CU_STREAM_CAPTURE_UNJOINED && other == 0,
		"a capture that fails leaves no graph");
	MUST(seam__drv_capture_begin(d, stream));
	edge(d, stream, joined);
	MUST(seam__drv_stream_destroy(d, stream)); /* the joined one still holds what was captured */
	MUST(seam__emu_graph_launch(d, graph, 0));
	ok(seam__emu_violations_all(d) == 0, "none of this is a violation (%s)", seam__emu_violation_text(d));
}

/* Every allocation of a capture and of launches fails once. A launch that failed has done nothing, and another one
 * works. */
static void check_metadata(void)
{
	const struct seam_emu_config config = {.memory = SEAM_EMU_REAL};
	uint64_t n = 1;
	uint64_t wrong = 0;
	const char *broken = NULL;
	for (bool fired = true; fired && broken == NULL && n < 200; n++) {
		struct seam_driver *d = open_emu(&config);
		struct seam_meta *meta = seam__emu_of(d)->meta;
		struct seam_emu_range ranges[3] = {
			{.bytes = 512, .write = true}, {.bytes = 512, .write = true}, {.bytes = 512, .write = true}};
		uint64_t va = map_chunks(d, 3);
		uint64_t stream = nonblocking(d);
		uint64_t graph = 0;
		uint32_t seen[2] = {0};
		for (uint64_t i = 0; i < 3; i++)
			ranges[i].va = va + i * G;
		MUST(seam__drv_fill32(d, va, 1, 1, stream));
		seam__meta_fail_at(meta, n);
		bool captured = seam__drv_capture_begin(d, stream) == 0;
		captured = captured && seam__emu_launch(d, stream, ranges, 3, 10, 7) == 0;
		captured = seam__emu_capture_keep(d, stream, &graph) == 0 && captured;
		bool launched = captured && seam__emu_graph_launch(d, graph, stream) == 0;
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		broken = seam__emu_check(d);
		MUST(seam__drv_copy_to_host(d, &seen[0], va, 4, stream));
		MUST(seam__drv_stream_sync(d, stream));
		if (captured)
			MUST(seam__emu_graph_launch(d, graph, stream));
		MUST(seam__drv_copy_to_host(d, &seen[1], va, 4, stream));
		MUST(seam__drv_stream_sync(d, stream));
		wrong += seen[0] != (launched ? 7u : 1u) || seen[1] != (captured ? 7u : 1u) ||
			seam__emu_violations_all(d) != 0 || launched == fired;
		seam__driver_destroy(d); /* aborts on a leak */
	}
	ok(broken == NULL && wrong == 0, "a launch that fails does nothing: %llu times not (%s)",
		(unsigned long long)wrong, broken != NULL ? broken : "no invariant is broken");
	ok(n > 10 && n < 200, "%llu allocations have failed", (unsigned long long)n - 2);
}

void part_graph(void)
{
	for (int memory = SEAM_EMU_REAL; memory <= SEAM_EMU_BOOK; memory++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct seam_emu_config config = {.memory = (enum seam_emu_memory)memory, .lenient = true};
			struct seam_driver *d = open_emu(&config);
			rows[i].act(d);
			uint64_t wanted = seam__emu_violations(d, rows[i].violation);
			ok(wanted != 0 && seam__emu_violations_all(d) == wanted,
				"%s is %s: %llu of it, %llu in all (%s)", rows[i].name,
				seam__emu_violation_name(rows[i].violation), (unsigned long long)wanted,
				(unsigned long long)seam__emu_violations_all(d), seam__emu_violation_text(d));
			close_emu(d);
		}
	}
	static void (*const checks[])(struct seam_driver * d) = {check_sound, check_effect, check_refusals};
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct seam_driver *d = open_emu(&(struct seam_emu_config){.memory = SEAM_EMU_REAL});
		checks[i](d);
		close_emu(d);
	}
	check_metadata();
}
