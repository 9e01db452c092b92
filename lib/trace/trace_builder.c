/* trace_builder.c: collects events and strings and turns them into a trace.
 *
 * Not here: the checks (trace_check.c) and the file image (trace_format.c).
 * Invariants:
 *   B1  the string section begins with the empty string
 *   B2  every interned string stands in the section once
 * No locks: one thread at a time.
 */
#include <stdbool.h>
#include <string.h>

#include "grow.h"
#include "hash.h"
#include "trace_error.h"
#include "trace_format.h"

/* One interned string. Holds its own copy: the section moves when it grows. */
struct interned {
	uint32_t offset;
	size_t text_bytes; /* without the final zero */
	UT_hash_handle hh;
	char text[];
};

struct seam_trace_builder {
	struct seam_grow events;   /* struct seam_trace_event */
	struct seam_grow strings;  /* char */
	struct interned *interned; /* by text */
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
	seam__grow_init(&builder->strings, sizeof(char));
	enum seam_rc rc = seam__grow_append(&builder->strings, "", 1);
	if (rc == SEAM_OK)
		rc = seam_trace_builder_string(builder, source, &builder->source);
	if (rc != SEAM_OK) {
		seam_trace_builder_destroy(builder);
		return rc;
	}
	*ret_builder = builder;
	return SEAM_OK;
}

static size_t interned_bytes(size_t text_bytes)
{
	return sizeof(struct interned) + text_bytes;
}

void seam_trace_builder_destroy(struct seam_trace_builder *builder)
{
	if (builder == NULL)
		return;
	struct seam_meta *hash_meta = seam__meta_process();
	struct interned *entry = builder->interned;
	HASH_CLEAR(hh, builder->interned);
	while (entry != NULL) {
		struct interned *next = entry->hh.next;
		seam__meta_free(seam__meta_process(), entry, interned_bytes(entry->text_bytes));
		entry = next;
	}
	seam__grow_fini(&builder->strings);
	seam__grow_fini(&builder->events);
	seam__meta_free(seam__meta_process(), builder, sizeof(*builder));
}

static enum seam_rc intern(struct seam_trace_builder *builder, const char *text, size_t text_bytes,
                           uint32_t *ret_offset)
{
	struct seam_meta *hash_meta = seam__meta_process();
	bool hash_failed = false;
	if (text_bytes >= UINT32_MAX - builder->strings.count)
		return SEAM_INVALID;
	enum seam_rc rc = seam__grow_reserve(&builder->strings, text_bytes + 1);
	if (rc != SEAM_OK)
		return rc;
	struct interned *entry = seam__meta_alloc(seam__meta_process(), interned_bytes(text_bytes));
	if (entry == NULL)
		return SEAM_OOM_META;
	memcpy(entry->text, text, text_bytes);
	entry->text_bytes = text_bytes;
	entry->offset = (uint32_t)builder->strings.count;
	HASH_ADD_KEYPTR(hh, builder->interned, entry->text, text_bytes, entry);
	if (hash_failed) {
		seam__meta_free(seam__meta_process(), entry, interned_bytes(text_bytes));
		return SEAM_OOM_META;
	}
	rc = seam__grow_append(&builder->strings, text, text_bytes + 1); /* cannot fail: reserved above */
	*ret_offset = entry->offset;
	return rc;
}

enum seam_rc seam_trace_builder_string(struct seam_trace_builder *builder, const char *text, uint32_t *ret_offset)
{
	if (builder == NULL || text == NULL || ret_offset == NULL)
		return SEAM_INVALID;
	const size_t text_bytes = strlen(text);
	if (text_bytes == 0) {
		*ret_offset = 0;
		return SEAM_OK;
	}
	struct interned *entry = NULL;
	HASH_FIND(hh, builder->interned, text, text_bytes, entry);
	if (entry == NULL)
		return intern(builder, text, text_bytes, ret_offset);
	*ret_offset = entry->offset;
	return SEAM_OK;
}

enum seam_rc seam_trace_builder_add(struct seam_trace_builder *builder, const struct seam_trace_event *event)
{
	if (builder == NULL || event == NULL)
		return SEAM_INVALID;
	return seam__grow_append(&builder->events, event, 1);
}

enum seam_rc seam_trace_builder_finish(struct seam_trace_builder *builder, struct seam_trace_error *error,
                                       struct seam_trace **ret_trace)
{
	if (builder == NULL || ret_trace == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	struct seam_trace *trace;
	struct seam_trace_event *events;
	char *strings;
	enum seam_rc rc = seam__trace_create(builder->events.count, builder->strings.count, &trace, &events, &strings);
	if (rc != SEAM_OK)
		return seam__trace_error_rc(error, rc);
	if (builder->events.count > 0)
		memcpy(events, builder->events.items, builder->events.count * sizeof(*events));
	memcpy(strings, builder->strings.items, builder->strings.count);
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
