/* test_replay.c: runs as a whole: random traces of several streams keep their contents in real memory, with every
 * allocator. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "replay.h"
#include "trace_words.h"

#define MIB (UINT64_C(1) << 20)
#define LIVE_MAX ((size_t)24)
#define STREAMS UINT64_C(4)

struct random_trace {
	struct seam_trace_builder *builder;
	uint64_t seed;
	uint64_t time_ns;
	uint64_t next_id;
	struct seam_trace_event live[LIVE_MAX];
	size_t count;
	uint32_t pools[STREAMS]; /* per stream: the private pool that is open there, or 0 */
};

static uint64_t draw(struct random_trace *random, uint64_t below)
{
	random->seed = random->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (random->seed >> 33) % below;
}

static void add(struct random_trace *random, struct seam_trace_event event)
{
	event.time_ns = random->time_ns++;
	cr_assert_eq(seam_trace_builder_add(random->builder, &event), SEAM_OK);
}

static void add_alloc(struct random_trace *random)
{
	uint64_t stream = draw(random, STREAMS);
	struct seam_trace_event event = {
		.kind = SEAM_TRACE_ALLOC,
		.id = random->next_id++,
		.size = 1 + draw(random, UINT64_C(1) << (9 + draw(random, 14))),
		.stream = stream,
		.pool = random->pools[stream],
	};
	random->live[random->count++] = event;
	add(random, event);
}

static void add_free(struct random_trace *random, size_t i)
{
	struct seam_trace_event event = random->live[i];
	event.kind = SEAM_TRACE_FREE;
	random->live[i] = random->live[--random->count];
	add(random, event);
}

static void add_edge(struct random_trace *random)
{
	uint64_t id = random->next_id++;
	add(random,
		(struct seam_trace_event){.kind = SEAM_TRACE_EVENT_RECORD, .id = id, .stream = draw(random, STREAMS)});
	add(random,
		(struct seam_trace_event){.kind = SEAM_TRACE_EVENT_WAIT, .id = id, .stream = draw(random, STREAMS)});
}

/* A private pool is opened for a stream, or that stream's is closed, or one is released, live blocks or not. */
static void add_pool(struct random_trace *random)
{
	uint64_t stream = draw(random, STREAMS);
	struct seam_trace_event event = {.stream = stream, .pool = (uint32_t)(1 + draw(random, 3))};
	if (draw(random, 4) == 0) {
		event.kind = SEAM_TRACE_POOL_RELEASE;
	} else if (random->pools[stream] == 0) {
		event.kind = SEAM_TRACE_POOL_BEGIN;
		random->pools[stream] = event.pool;
	} else {
		event.kind = SEAM_TRACE_POOL_END;
		event.pool = random->pools[stream];
		random->pools[stream] = 0;
	}
	add(random, event);
}

static void add_step(struct random_trace *random)
{
	uint64_t what = draw(random, 100);
	if (random->count == 0 || (what < 48 && random->count < LIVE_MAX)) {
		add_alloc(random);
		return;
	}
	size_t i = draw(random, random->count);
	if (what < 85)
		add_free(random, i);
	else if (what < 93)
		add(random,
			(struct seam_trace_event){.kind = SEAM_TRACE_RECORD_STREAM,
				.id = random->live[i].id,
				.stream = draw(random, STREAMS)});
	else if (what < 95)
		add_edge(random);
	else if (what < 97)
		add_pool(random);
	else if (what < 98)
		add(random, (struct seam_trace_event){.kind = SEAM_TRACE_STREAM_SYNC, .stream = draw(random, STREAMS)});
	else
		add(random,
			(struct seam_trace_event){.kind = what < 99 ? SEAM_TRACE_DEVICE_SYNC : SEAM_TRACE_EMPTY_CACHE});
}

static struct seam_trace *make_random(uint64_t seed)
{
	struct random_trace random = {.seed = seed, .next_id = 1};
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_trace_builder_create("random", 0, &random.builder), SEAM_OK);
	for (size_t i = 0; i < 400; i++)
		add_step(&random);
	cr_assert_eq(seam_trace_builder_finish(random.builder, &error, &trace), SEAM_OK, "%s", error.text);
	seam_trace_builder_destroy(random.builder);
	return trace;
}

static struct replay_result run(const struct seam_trace *trace, const struct replay_options *options)
{
	char error[REPLAY_ERROR_BYTES] = "";
	struct replay_result result = {.oom = true};
	enum seam_rc rc = replay_run(trace, options, error, &result);
	cr_assert_eq(rc, SEAM_OK, "%s: %s", ref_kind_name(options->allocator), error);
	return result;
}

Test(replay, random_streams_and_pools_keep_their_contents)
{
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct seam_trace *trace = make_random(seed);
		for (size_t kind = 0; kind < REF_KINDS; kind++) {
			struct replay_options options = {.allocator = (enum ref_kind)kind,
				.device = DEVICE_EMU,
				.memory = DEVICE_MEMORY_REAL,
				.iterations = 2};
			struct replay_result result = run(trace, &options);
			cr_assert(result.verified && result.verified_in_full, "seed %" PRIu64, seed);
			cr_assert_geq(result.verified_bytes, result.peak_live_bytes);
			cr_assert_not(result.oom);
			cr_assert_geq(result.peak_reserved_bytes, result.peak_live_bytes);
		}
		seam_trace_free(trace);
	}
}

Test(replay, equal_runs_place_alike)
{
	struct seam_config config;
	struct seam_trace *trace = make_random(99);
	seam_config_init(&config);
	config.deterministic = 1;
	for (size_t kind = 0; kind < REF_KINDS; kind++) {
		struct replay_options options = {
			.allocator = (enum ref_kind)kind, .device = DEVICE_EMU, .iterations = 3, .config = &config};
		struct replay_result first = run(trace, &options);
		struct replay_result second = run(trace, &options);
		cr_assert_eq(first.peak_reserved_bytes, second.peak_reserved_bytes);
		cr_assert_eq(first.driver_ns, second.driver_ns, "%s", ref_kind_name((enum ref_kind)kind));
		for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
			cr_assert_eq(first.driver_calls[i], second.driver_calls[i], "%s: %s",
				ref_kind_name((enum ref_kind)kind), seam__driver_call_name((enum seam_drv_call)i));
	}
	seam_trace_free(trace);
}

Test(replay, contents_survive_out_of_memory)
{
	struct seam_trace *trace = trace_words("+a20000000 +b30000000 -a +c40000000@1 -b -c");
	for (size_t kind = 0; kind < REF_KINDS; kind++) {
		struct replay_options options = {.allocator = (enum ref_kind)kind,
			.device = DEVICE_EMU,
			.memory = DEVICE_MEMORY_REAL,
			.capacity_bytes = 60 * MIB,
			.iterations = 1};
		struct replay_result result = run(trace, &options);
		cr_assert(result.oom, "%s", ref_kind_name((enum ref_kind)kind));
		cr_assert_not(result.last_complete);
		cr_assert(result.verified);
		cr_assert_eq(result.requests, 3, "the one that failed counts");
		cr_assert_eq(result.states[REF_S5], 1, "%s", ref_kind_name((enum ref_kind)kind));
		cr_assert(result.alloc_timed && result.free_timed);
	}
	seam_trace_free(trace);
}

/* Whether the first block's memory serves the second. On a device with room for one and a half of them PyTorch's
 * policies run out of memory where it does not. Seam gives back free memory of an uncaptured pool before it comes to
 * that, so what it reserves where there is room tells; its private pools take nothing from the common memory either.
 * direct keeps nothing. */
Test(replay, a_private_pool_keeps_its_memory_until_its_release)
{
	static const struct {
		const char *name;
		const char *words;
		bool models_oom;
		uint64_t seam_mib; /* reserved at the peak */
	} rows[] = {
		{"the pool asks again", "(7 +a20971520 -a +b20971520 -b )7", false, 20},
		{"others ask", "(7 +a20971520 -a )7 +b20971520 -b", true, 40},
		{"another pool asks", "(7 +a20971520 -a )7 (8 +b20971520 -b )8", true, 40},
		{"others ask after the release", "(7 +a20971520 -a )7 ~7 +b20971520 -b", false, 20},
		{"another pool asks after the release", "(7 +a20971520 -a )7 ~7 (8 +b20971520 -b )8", false, 40},
		{"a live block of a released pool", "(7 +a20971520 )7 ~7 -a +b20971520 -b", false, 20},
		{"asked for again, the pool is one again", "(7 +a20971520 -a )7 ~7 (7 +b20971520 -b )7 +c20971520 -c",
			true, 40},
		{"a pool without requests is released", "(7 )7 ~7 +a20971520 -a", false, 20},
		{"a pool of one stream is not the other's", "(7@1 +a20971520@1 -a )7@1 +b20971520@1 -b", true, 40},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_trace *trace = trace_words(rows[i].words);
		for (size_t kind = 0; kind < REF_KINDS; kind++) {
			const char *name = ref_kind_name((enum ref_kind)kind);
			struct replay_options options = {.allocator = (enum ref_kind)kind,
				.device = DEVICE_EMU,
				.memory = DEVICE_MEMORY_REAL,
				.capacity_bytes = kind == REF_SEAM ? 60 * MIB : 30 * MIB,
				.iterations = 1};
			struct replay_result result = run(trace, &options);
			bool is_model = kind == REF_CACHING || kind == REF_EXPANDABLE;
			cr_expect_eq(result.oom, rows[i].models_oom && is_model, "%s: %s", rows[i].name, name);
			if (kind == REF_SEAM)
				cr_expect_eq(result.peak_reserved_bytes, rows[i].seam_mib * MIB, "%s: %" PRIu64,
					rows[i].name, result.peak_reserved_bytes);
			cr_expect(result.verified && result.verified_in_full, "%s: %s", rows[i].name, name);
		}
		seam_trace_free(trace);
	}
}

static uint64_t steps_seen;

static void count_step(void *user, uint64_t done, uint64_t total)
{
	cr_assert_eq(user, &steps_seen);
	cr_assert_leq(done, total);
	steps_seen++;
}

Test(replay, progress_is_reported)
{
	struct seam_trace *trace = trace_words("+a1 -a +b2 -b");
	struct replay_options options = {.allocator = REF_CACHING,
		.device = DEVICE_EMU,
		.iterations = 5000,
		.progress = count_step,
		.user = &steps_seen};
	steps_seen = 0;
	struct replay_result result = run(trace, &options);
	cr_assert_eq(result.requests, 10000);
	cr_assert_geq(steps_seen, 4);
	seam_trace_free(trace);
}
