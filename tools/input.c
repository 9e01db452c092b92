/* input.c: see input.h. */
#include "input.h"

#include <stdio.h>
#include <string.h>

#include "progress.h"

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

bool input_unpack(const char *path, char error[INPUT_ERROR_BYTES], struct unpacked *ret_unpacked)
{
	struct progress progress;
	char unpack_error[UNPACK_ERROR_BYTES];
	char label[40];
	(void)snprintf(label, sizeof(label), "reading %s", name_of(path));
	progress_begin(&progress, label);
	const bool unpacked_well = unpacked_init(ret_unpacked, path, &progress, unpack_error);
	progress_end(&progress);
	if (!unpacked_well)
		(void)snprintf(error, INPUT_ERROR_BYTES, "%s: %s", path, unpack_error);
	return unpacked_well;
}

bool input_import(const char *path, const struct unpacked *unpacked, int device, char error[INPUT_ERROR_BYTES],
	struct seam_trace **ret_trace)
{
	struct seam_trace_error why = {0};
	enum seam_rc rc = seam__import_any(unpacked->data, unpacked->bytes, device, &why, ret_trace);
	if (rc != SEAM_OK)
		(void)snprintf(
			error, INPUT_ERROR_BYTES, "%s: %s", path, why.text[0] != '\0' ? why.text : seam_rc_text(rc));
	return rc == SEAM_OK;
}

bool input_read(const char *path, int device, char error[INPUT_ERROR_BYTES], struct seam_trace **ret_trace)
{
	struct unpacked unpacked;
	if (!input_unpack(path, error, &unpacked))
		return false;
	const bool imported = input_import(path, &unpacked, device, error, ret_trace);
	unpacked_fini(&unpacked);
	return imported;
}

static bool has_allocation(const struct seam_trace *trace)
{
	for (uint64_t i = 0; i < trace->header.event_count; i++)
		if (trace->events[i].kind == SEAM_TRACE_ALLOC)
			return true;
	return false;
}

bool input_read_program(const char *path, char error[INPUT_ERROR_BYTES], struct seam_trace **ret_trace)
{
	struct seam_trace *trace;
	if (!input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &trace))
		return false;
	if (has_allocation(trace)) {
		*ret_trace = trace;
		return true;
	}
	(void)snprintf(error, INPUT_ERROR_BYTES, "%s: no allocation is recorded in it", path);
	seam_trace_free(trace);
	return false;
}
