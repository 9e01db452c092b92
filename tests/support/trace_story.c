/* trace_story.c: see trace_story.h. */
#include "trace_story.h"

#include <stdio.h>
#include <stdlib.h>

static const char *word_of(unsigned kind)
{
	switch (kind) {
	case SEAM_TRACE_ALLOC:
		return "A";
	case SEAM_TRACE_FREE:
		return "F";
	case SEAM_TRACE_SEGMENT_ALLOC:
		return "S+";
	case SEAM_TRACE_SEGMENT_FREE:
		return "S-";
	case SEAM_TRACE_RECORD_STREAM:
		return "U";
	case SEAM_TRACE_STEP:
		return "|";
	case SEAM_TRACE_OOM:
		return "OOM";
	default:
		return "?";
	}
}

static void print_event(FILE *out, const struct seam_trace *trace, const struct seam_trace_event *event)
{
	if (event->kind == SEAM_TRACE_PHASE_BEGIN || event->kind == SEAM_TRACE_PHASE_END) {
		fprintf(out, event->kind == SEAM_TRACE_PHASE_BEGIN ? "<%s" : "%s>",
			seam_trace_string(trace, event->aux));
		return;
	}
	const bool segment = event->kind == SEAM_TRACE_SEGMENT_ALLOC || event->kind == SEAM_TRACE_SEGMENT_FREE;
	fprintf(out, segment ? "%s%llx:%llu" : "%s%llu:%llu", word_of(event->kind), (unsigned long long)event->id,
		(unsigned long long)event->size);
	if (event->stream != 0)
		fprintf(out, "@%llu", (unsigned long long)event->stream);
	if (event->pool != 0)
		fprintf(out, "%%%u", event->pool);
	if ((event->flags & SEAM_TRACE_RESIDENT) != 0)
		fputc('r', out);
	if ((event->flags & SEAM_TRACE_DYNAMIC) != 0)
		fputc('d', out);
	if (event->microbatch != 0)
		fprintf(out, "#%u", event->microbatch);
	if (event->thread != 0)
		fprintf(out, "^%u", event->thread);
	if (event->module != 0)
		fprintf(out, "(%s)", seam_trace_string(trace, event->module));
}

char *trace_story(const struct seam_trace *trace, bool with_times)
{
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (out == NULL)
		abort();
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		if (i > 0)
			fputc(' ', out);
		print_event(out, trace, &trace->events[i]);
		if (with_times)
			fprintf(out, "=%llu", (unsigned long long)trace->events[i].time_ns);
	}
	(void)fclose(out);
	return text;
}
