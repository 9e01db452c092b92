/* trace_sample.c: see trace_sample.h. */
#include "trace_sample.h"

#include "check.h"
#include "meta.h"

struct sample {
	struct seam_trace_event event;
	const char *module;
	const char *name; /* of a phase */
};

static const struct sample samples[] = {
	{{.kind = SEAM_TRACE_SEGMENT_ALLOC, .id = 0x7f0000000000, .size = 2 << 20, .flags = SEAM_TRACE_RESIDENT}, "",
		""},
	{{.kind = SEAM_TRACE_ALLOC, .id = 1, .size = 4096, .flags = SEAM_TRACE_RESIDENT}, "model.embedding", ""},
	{{.kind = SEAM_TRACE_PHASE_BEGIN, .phase = 1, .time_ns = 10}, "", "forward"},
	{{.kind = SEAM_TRACE_ALLOC, .id = 2, .size = 1000, .phase = 1, .time_ns = 20}, "model.layer.0", ""},
	{{.kind = SEAM_TRACE_ALLOC,
		 .id = 3,
		 .size = 0,
		 .stream = 7,
		 .phase = 1,
		 .time_ns = 20,
		 .flags = SEAM_TRACE_DYNAMIC},
		"model.layer.0", ""},
	{{.kind = SEAM_TRACE_RECORD_STREAM, .id = 2, .stream = 7, .phase = 1, .time_ns = 25}, "", ""},
	{{.kind = SEAM_TRACE_EVENT_RECORD, .id = 40, .stream = 7, .phase = 1, .time_ns = 26}, "", ""},
	{{.kind = SEAM_TRACE_EVENT_WAIT, .id = 40, .phase = 1, .time_ns = 27}, "", ""},
	{{.kind = SEAM_TRACE_PHASE_BEGIN, .phase = 2, .time_ns = 28}, "", "inner"},
	{{.kind = SEAM_TRACE_FREE, .id = 3, .size = 0, .stream = 7, .phase = 2, .time_ns = 30}, "", ""},
	{{.kind = SEAM_TRACE_PHASE_END, .phase = 2, .time_ns = 31}, "", "inner"},
	{{.kind = SEAM_TRACE_PHASE_END, .phase = 1, .time_ns = 31}, "", "forward"},
	{{.kind = SEAM_TRACE_FREE, .id = 2, .size = 1000, .time_ns = 40}, "", ""},
	{{.kind = SEAM_TRACE_STREAM_SYNC, .stream = 7, .time_ns = 41}, "", ""},
	{{.kind = SEAM_TRACE_DEVICE_SYNC, .time_ns = 41}, "", ""},
	{{.kind = SEAM_TRACE_POOL_BEGIN, .pool = 1, .time_ns = 42}, "", ""},
	{{.kind = SEAM_TRACE_ALLOC, .id = 2, .size = 512, .pool = 1, .time_ns = 43, .flags = SEAM_TRACE_CAPTURE}, "",
		""},
	{{.kind = SEAM_TRACE_POOL_END, .pool = 1, .time_ns = 44}, "", ""},
	{{.kind = SEAM_TRACE_POOL_RELEASE, .pool = 1, .time_ns = 45}, "", ""},
	{{.kind = SEAM_TRACE_OOM, .size = 1 << 30, .time_ns = 46}, "", ""},
	{{.kind = SEAM_TRACE_EMPTY_CACHE, .time_ns = 47}, "", ""},
	{{.kind = SEAM_TRACE_SEGMENT_FREE, .id = 0x7f0000000000, .size = 2 << 20, .time_ns = 48}, "", ""},
	{{.kind = SEAM_TRACE_STEP, .id = 0, .time_ns = 50, .microbatch = 1, .thread = 2}, "", ""},
};

struct seam_trace_builder *trace_sample_builder(void)
{
	struct seam_trace_builder *builder;
	SEAM_VERIFY(seam_trace_builder_create("a sample of every kind", 3, &builder) == SEAM_OK);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct seam_trace_event event = samples[i].event;
		SEAM_VERIFY(seam_trace_builder_string(builder, samples[i].module, &event.module) == SEAM_OK);
		SEAM_VERIFY(seam_trace_builder_string(builder, samples[i].name, &event.aux) == SEAM_OK);
		SEAM_VERIFY(seam_trace_builder_add(builder, &event) == SEAM_OK);
	}
	return builder;
}

struct seam_trace *trace_sample_create(void)
{
	struct seam_trace *trace;
	struct seam_trace_builder *builder = trace_sample_builder();
	SEAM_VERIFY(seam_trace_builder_finish(builder, NULL, &trace) == SEAM_OK);
	seam_trace_builder_destroy(builder);
	return trace;
}

uint64_t trace_sample_live_bytes(void)
{
	struct seam_meta_stats now;
	seam__meta_get_stats(seam__meta_process(), &now);
	return now.live_bytes;
}
