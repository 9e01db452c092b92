/* output.c: see output.h. */
#include "output.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "idmap.h"
#include "meta.h"
#include "text.h"
#include "trace_file.h"
#include "trace_format.h"

#define ZSTD_LEVEL 12

typedef enum seam_rc (*write_form)(const struct seam_trace *trace, const char *path);

static enum seam_rc write_zstd(const struct seam_trace *trace, const char *path)
{
	size_t bytes;
	const void *image = seam__trace_image(trace, &bytes);
	const size_t bound = ZSTD_compressBound(bytes);
	void *packed = malloc(bound);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	enum seam_rc rc = SEAM_OOM_META;
	if (packed != NULL && context != NULL) {
		(void)ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		(void)ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
		const size_t packed_bytes = ZSTD_compress2(context, packed, bound, image, bytes);
		rc = ZSTD_isError(packed_bytes) ? SEAM_OOM_META : seam__file_write(path, packed, packed_bytes);
	}
	int why = errno;
	(void)ZSTD_freeCCtx(context);
	free(packed);
	errno = why;
	return rc;
}

/* Puts the number of the event that frees each allocation under the number of the allocating one. */
static enum seam_rc find_ends(const struct seam_trace *trace, struct seam_idmap *ends)
{
	struct seam_idmap live;
	enum seam_rc rc = SEAM_OK;
	seam__idmap_init(&live);
	for (uint64_t i = 0; rc == SEAM_OK && i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		uint64_t *values;
		if (event->kind == SEAM_TRACE_ALLOC) {
			rc = seam__idmap_put(&live, event->id, &values);
			if (rc == SEAM_OK)
				values[0] = i;
		} else if (event->kind == SEAM_TRACE_FREE) {
			rc = seam__idmap_put(ends, *seam__idmap_find(&live, event->id), &values);
			if (rc == SEAM_OK)
				values[0] = i;
			seam__idmap_remove(&live, event->id);
		}
	}
	seam__idmap_fini(&live);
	return rc;
}

static void print_rows(const struct seam_trace *trace, const struct seam_idmap *ends, struct seam_text *text)
{
	seam__text_puts(text, "id,lower,upper,size,stream\n");
	uint64_t row = 0;
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind != SEAM_TRACE_ALLOC || event->size == 0)
			continue;
		const uint64_t *end = seam__idmap_find(ends, i);
		seam__text_printf(text, "%llu,%llu,%llu,%llu,%llu\n", (unsigned long long)++row, (unsigned long long)i,
			(unsigned long long)(end != NULL ? end[0] : trace->header.event_count),
			(unsigned long long)event->size, (unsigned long long)event->stream);
	}
}

/* Requests of 0 bytes have no lifetime that this form could tell. */
static enum seam_rc write_csv(const struct seam_trace *trace, const char *path)
{
	struct seam_idmap ends;
	struct seam_text text;
	seam__idmap_init(&ends);
	seam__text_init(&text, seam__meta_process());
	enum seam_rc rc = find_ends(trace, &ends);
	if (rc == SEAM_OK) {
		print_rows(trace, &ends, &text);
		rc = seam__text_rc(&text);
	}
	if (rc == SEAM_OK)
		rc = seam__file_write(path, seam__text_string(&text), text.length_bytes);
	int why = errno;
	seam__text_fini(&text);
	seam__idmap_fini(&ends);
	errno = why;
	return rc;
}

static write_form form_of(const char *path)
{
	static const struct {
		const char *end;
		write_form form;
	} forms[] = {
		{".seamtrace", seam_trace_write_file},
		{".seamtrace.zst", write_zstd},
		{".csv", write_csv},
	};
	const size_t bytes = strlen(path);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const size_t end_bytes = strlen(forms[i].end);
		if (bytes > end_bytes && strcmp(path + bytes - end_bytes, forms[i].end) == 0)
			return forms[i].form;
	}
	return NULL;
}

bool output_knows(const char *path)
{
	return form_of(path) != NULL;
}

bool output_write(const struct seam_trace *trace, const char *path, char error[OUTPUT_ERROR_BYTES])
{
	write_form form = form_of(path);
	enum seam_rc rc = form != NULL ? form(trace, path) : SEAM_INVALID;
	if (rc != SEAM_OK)
		(void)snprintf(error, OUTPUT_ERROR_BYTES, "%s: cannot write: %s", path,
			rc == SEAM_IO ? strerror(errno) : seam_rc_text(rc));
	return rc == SEAM_OK;
}
