/* trace_builder.c: collects events and strings and turns them into a trace.
 *
 * Not here: the strings (strings.h), the checks (trace_check.c) and the file image (trace_format.c).
 * No locks: one thread at a time.
 */
#include <string.h>

#include "grow.h"
#include "meta.h"
#include "strings.h"
#include "trace_error.h"
#include "trace_format.h"

struct seam_trace_builder {
	struct seam_grow events; /* struct seam_trace_event */
	struct seam_strings strings;
	uint32_t source;
	uint32_t device;
};

enum seam_rc seam_trace_builder_create(const char *source, uint32_t device, struct seam_trace_builder **ret_builder)
{
	if (source == NULL || ret_builder == NULL)
		return SEAM_INVALID;
	struct seam_trace_builder *builder = seam__meta_alloc(seam__meta_process(), sizeof(*builder));
	if (builder == NULL)
		return SEAM_OOM_META;
	builder->device = device;
	seam__grow_init(&builder->events, sizeof(struct seam_trace_event));
	enum seam_rc rc = seam__strings_init(&builder->strings);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_string(builder, source, &builder->source);
	if (rc != SEAM_OK) {
		seam_trace_builder_destroy(builder);
		return rc;
	}
	*ret_builder = builder;
	return SEAM_OK;
}

void seam_trace_builder_destroy(struct seam_trace_builder *builder)
{
	if (builder == NULL)
		return;
	seam__strings_fini(&builder->strings);
	seam__grow_fini(&builder->events);
	seam__meta_free(seam__meta_process(), builder, sizeof(*builder));
}

enum seam_rc seam_trace_builder_string(struct seam_trace_builder *builder, const char *text, uint32_t *ret_offset)
{
	if (builder == NULL || text == NULL || ret_offset == NULL)
		return SEAM_INVALID;
	return seam__strings_intern(&builder->strings, text, ret_offset);
}

enum seam_rc seam_trace_builder_add(struct seam_trace_builder *builder, const struct seam_trace_event *event)
{
	if (builder == NULL || event == NULL)
		return SEAM_INVALID;
	return seam__grow_append(&builder->events, event, 1);
}

enum seam_rc seam_trace_builder_finish(
	struct seam_trace_builder *builder, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	if (builder == NULL || ret_trace == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	struct seam_trace *trace;
	struct seam_trace_event *events;
	char *strings;
	enum seam_rc rc =
		seam__trace_create(builder->events.count, builder->strings.section.count, &trace, &events, &strings);
	if (rc != SEAM_OK)
		return seam__trace_error_rc(error, rc);
	if (builder->events.count > 0)
		memcpy(events, builder->events.items, builder->events.count * sizeof(*events));
	memcpy(strings, builder->strings.section.items, builder->strings.section.count);
	seam__trace_seal(trace, builder->source, builder->device);
	const char *broken;
	rc = seam__trace_verify(trace, error, &broken);
	if (rc != SEAM_OK) {
		seam_trace_free(trace);
		return rc;
	}
	seam__grow_fini(&builder->events);
	*ret_trace = trace;
	return SEAM_OK;
}
