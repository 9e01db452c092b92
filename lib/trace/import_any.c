/* import_any.c: tells by its first bytes what a recording is, and reads it. See import.h. */
#include <stdbool.h>
#include <string.h>

#include "import.h"
#include "lines.h"
#include "trace_error.h"

static bool begins_with(const void *data, size_t bytes, const char *prefix, size_t prefix_bytes)
{
	return bytes >= prefix_bytes && memcmp(data, prefix, prefix_bytes) == 0;
}

/* Protocol 2 and later announce themselves; 0 and 1 begin with the container that they hold. */
static bool looks_like_pickle(const unsigned char *data, size_t bytes)
{
	return bytes > 0 && (data[0] == 0x80 || (strchr("(]}", data[0]) != NULL && data[0] != '\0'));
}

/* Its first line names its columns, in any order: none of ours. */
static bool looks_like_rmm(const void *data, size_t bytes)
{
	struct seam_lines lines;
	struct seam_line_field line;
	struct seam_line_field name;
	seam__lines_init(&lines, data, bytes, NULL);
	if (!seam__lines_take(&lines, &line))
		return false;
	while (seam__field_split(&line, ',', &name)) {
		if (seam__field_is(name, "Action") || seam__field_is(name, "Pointer"))
			return true;
	}
	return false;
}

/* A first line of printable text with a comma in it. */
static bool looks_like_csv(const unsigned char *data, size_t bytes)
{
	bool comma = false;
	for (size_t i = 0; i < bytes && data[i] != '\n'; i++) {
		if (data[i] < ' ' && data[i] != '\t' && data[i] != '\r')
			return false;
		comma = comma || data[i] == ',';
	}
	return comma;
}

enum seam_rc seam__import_any(
	const void *data, size_t bytes, int device, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	if (begins_with(data, bytes, SEAM_TRACE_MAGIC, strlen(SEAM_TRACE_MAGIC)))
		return seam_trace_read_memory(data, bytes, error, ret_trace);
	if (looks_like_pickle(data, bytes))
		return seam__import_snapshot(data, bytes, device, error, ret_trace);
	if (looks_like_rmm(data, bytes))
		return seam__import_rmm(data, bytes, error, ret_trace);
	if (seam__import_stalloc_is(data, bytes))
		return seam__import_stalloc(data, bytes, error, ret_trace);
	if (looks_like_csv(data, bytes))
		return seam__import_csv(data, bytes, error, ret_trace);
	if (begins_with(data, bytes, "PK\003\004", 4))
		seam__trace_error_set(error, 0, "a zip archive: a file of torch.save() is no memory snapshot");
	else if (begins_with(data, bytes, "\037\213", 2))
		seam__trace_error_set(error, 0, "a gzip file: unpack it first (zstd and xz are read as they are)");
	else
		seam__trace_error_set(error, 0,
			bytes == 0 ? "an empty file"
				   : "neither a .seamtrace, nor a pickle, nor comma-separated "
				     "lifetimes, nor a log of RMM or STAlloc");
	return SEAM_FORMAT;
}
