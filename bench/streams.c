/* streams.c: the program `streams`: how much each allocator reserves where streams hand memory to each other.
 *
 *   streams [PATTERN...]   all of them, if none is named
 *
 * Patterns that people report: memory that a side stream used once, copies to the host and back on a stream of their
 * own, weights fetched ahead. Each is run by `seam replay`'s loop on the emulated device, which fills the first and
 * the last page of each chunk of a block on the streams that use it and compares them before it is freed, so that
 * memory handed over too early is an error.
 *
 * Not shown: memory that another stream uses for long. Work takes no longer on the device than those two pages of each
 * chunk, so that nearly all of it has passed by the next request. Not here: programs that were recorded (sweep), and
 * streams at random (`seam replay
 * --perturb streams`).
 */
#include <stdio.h>
#include <string.h>

#include <seam/trace.h>

#include "replay.h"
#include "schedule.h"

#define MIB UINT64_C(1048576)
#define COMPUTE 0u
#define SIDE 1u
#define STEPS 6u
#define LAYERS 24u
#define CAPACITY (UINT64_C(200) << 30)

struct block {
	uint64_t id, bytes, stream;
};

struct writer {
	struct seam_trace_builder *builder;
	enum seam_rc rc; /* of the first that failed */
	uint64_t blocks, edges;
	uint32_t steps;
};

static void add(struct writer *w, struct seam_trace_event event)
{
	if (w->rc == SEAM_OK)
		w->rc = seam_trace_builder_add(w->builder, &event);
}

static struct block alloc(struct writer *w, uint64_t mib, uint64_t stream)
{
	const struct block block = {++w->blocks, mib * MIB, stream};
	add(w,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_ALLOC, .id = block.id, .size = block.bytes, .stream = stream});
	return block;
}

static void give(struct writer *w, struct block block)
{
	add(w,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_FREE, .id = block.id, .size = block.bytes, .stream = block.stream});
}

/* `to` uses the block, behind what the block's own stream has done so far. */
static void use(struct writer *w, struct block block, uint64_t to)
{
	w->edges++;
	add(w, (struct seam_trace_event){.kind = SEAM_TRACE_EVENT_RECORD, .id = w->edges, .stream = block.stream});
	add(w, (struct seam_trace_event){.kind = SEAM_TRACE_EVENT_WAIT, .id = w->edges, .stream = to});
	add(w,
		(struct seam_trace_event){
			.kind = SEAM_TRACE_RECORD_STREAM, .id = block.id, .size = block.bytes, .stream = to});
}

static void step(struct writer *w)
{
	add(w, (struct seam_trace_event){.kind = SEAM_TRACE_STEP, .id = w->steps++});
}

/* Layers that keep `kept_mib` each until the way back, and a workspace on either way. */
static void train(struct writer *w, uint64_t kept_mib)
{
	struct block kept[LAYERS];
	for (uint32_t i = 0; i < LAYERS; i++) {
		const struct block workspace = alloc(w, kept_mib / 2 + i, COMPUTE);
		kept[i] = alloc(w, kept_mib + i % 5, COMPUTE);
		give(w, workspace);
	}
	for (uint32_t i = LAYERS; i-- > 0;) {
		const struct block gradient = alloc(w, kept_mib - i, COMPUTE);
		give(w, kept[i]);
		give(w, gradient);
	}
}

/* Megatron-LM#6885: a stream beside the others works once, with much memory, and never again. */
static void write_once(struct writer *w)
{
	struct block blocks[64];
	for (uint32_t i = 0; i < 64; i++)
		blocks[i] = alloc(w, 320, SIDE);
	for (uint32_t i = 0; i < 64; i++)
		give(w, blocks[i]);
	for (uint32_t i = 0; i < STEPS; i++) {
		train(w, 800);
		step(w);
	}
}

/* Another stream copies the kept blocks of a layer to the host while the next layers run, and fetches them before the
 * way back. */
static void write_offload(struct writer *w)
{
	for (uint32_t n = 0; n < STEPS; n++) {
		for (uint32_t i = 0; i < LAYERS; i++) {
			const struct block workspace = alloc(w, 100 + i, COMPUTE);
			const struct block kept = alloc(w, 200 + 3 * (i % 5), COMPUTE);
			use(w, kept, SIDE);
			give(w, kept); /* while the copy is on its way */
			give(w, workspace);
		}
		for (uint32_t i = LAYERS; i-- > 0;) {
			const struct block fetched = alloc(w, 200 + 3 * (i % 5), SIDE);
			use(w, fetched, COMPUTE);
			const struct block gradient = alloc(w, 180 - i, COMPUTE);
			give(w, fetched);
			give(w, gradient);
		}
		step(w);
	}
}

/* Weights come from the host a layer ahead, on another stream, and go behind their layer. */
static void write_prefetch(struct writer *w)
{
	for (uint32_t n = 0; n < STEPS; n++) {
		struct block next = alloc(w, 300, SIDE);
		for (uint32_t i = 0; i < LAYERS; i++) {
			const struct block weights = next;
			use(w, weights, COMPUTE);
			if (i + 1 < LAYERS)
				next = alloc(w, 300 + 40 * ((i + 1) % 3), SIDE);
			const struct block workspace = alloc(w, 90 + 7 * i, COMPUTE);
			give(w, weights);
			give(w, workspace);
		}
		step(w);
	}
}

static const struct pattern {
	const char *name;
	void (*write)(struct writer *w);
} patterns[] = {
	{"once", write_once},
	{"offload", write_offload},
	{"prefetch", write_prefetch},
};

#define PATTERNS (sizeof patterns / sizeof patterns[0])

static enum seam_rc make(const struct pattern *pattern, struct seam_trace **ret_trace)
{
	struct writer w = {0};
	struct seam_trace_error error;
	w.rc = seam_trace_builder_create(pattern->name, 0, &w.builder);
	if (w.rc == SEAM_OK)
		pattern->write(&w);
	if (w.rc == SEAM_OK)
		w.rc = seam_trace_builder_finish(w.builder, &error, ret_trace);
	seam_trace_builder_destroy(w.builder);
	return w.rc;
}

/* A row of the table. False: it failed, and why was printed. */
static bool measure(const struct pattern *pattern)
{
	static const enum ref_kind kinds[] = {REF_CACHING, REF_EXPANDABLE, REF_SEAM};
	struct replay_result results[3];
	struct seam_trace *trace = NULL;
	char error[REPLAY_ERROR_BYTES] = "";
	enum seam_rc rc = make(pattern, &trace);
	for (size_t i = 0; i < 3 && rc == SEAM_OK; i++) {
		const struct replay_options options = {
			.allocator = kinds[i],
			.device = DEVICE_EMU,
			.memory = DEVICE_MEMORY_REAL,
			.pages_only = true,
			.capacity_bytes = CAPACITY,
			.iterations = SCHEDULE_STEPS,
		};
		rc = replay_run(trace, &options, error, &results[i]);
		if (rc == SEAM_OK && results[i].oom)
			rc = SEAM_OOM_DEVICE;
	}
	seam_trace_free(trace);
	if (rc != SEAM_OK) {
		fprintf(stderr, "streams: %s: %s\n", pattern->name, error[0] != '\0' ? error : seam_rc_text(rc));
		return false;
	}
	printf("| %s | %.2f GiB |", pattern->name, (double)results[2].peak_live_bytes / 0x1p30);
	for (size_t i = 0; i < 3; i++)
		printf(" %.1f %% |", 100 * (double)results[i].peak_live_bytes / (double)results[i].peak_reserved_bytes);
	for (size_t i = 0; i < 3; i++)
		printf(" %.1f |", (double)results[i].driver_ns / 1e6);
	for (size_t i = 0; i < 3; i++)
		printf(" %llu |", (unsigned long long)results[i].step_calls[results[i].steps - 1]);
	return puts("") >= 0;
}

static const struct pattern *find(const char *name)
{
	for (size_t i = 0; i < PATTERNS; i++) {
		if (strcmp(name, patterns[i].name) == 0)
			return &patterns[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (find(argv[i]) == NULL) {
			fprintf(stderr, "streams: no pattern '%s'; there are once, offload and prefetch\n", argv[i]);
			return 2;
		}
	}
	puts("| pattern | peak live | caching | expandable | seam | driver ms: caching | expandable | seam | memory calls, last step: caching | expandable | "
	     "seam |");
	puts("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
	const size_t count = argc == 1 ? PATTERNS : (size_t)argc - 1;
	bool well = true;
	for (size_t i = 0; i < count; i++)
		well = measure(argc == 1 ? &patterns[i] : find(argv[i + 1])) && well;
	return fflush(stdout) == 0 && well ? 0 : 1;
}
