/* fuzz_trace.c: any bytes as a .seamtrace: refused with one line, or a trace that holds its invariants.
 *
 * Random bytes never have a right checksum. So the same bytes are also taken as the events and strings of a trace that
 * is sealed as a writer would.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "trace_format.h"
#include "trace_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_bytes(const void *data, size_t size)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	enum seam_rc rc = seam_trace_read_memory(data, size, &error, &trace);
	if (rc != SEAM_OK) {
		SEAM_VERIFY(rc == SEAM_FORMAT || rc == SEAM_VERSION || rc == SEAM_CORRUPT);
		SEAM_VERIFY(trace == NULL && error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
		return;
	}
	size_t image_bytes;
	const void *image = seam__trace_image(trace, &image_bytes);
	SEAM_VERIFY(image_bytes == size && memcmp(image, data, size) == 0);
	SEAM_VERIFY(seam_trace_check(trace, NULL) == NULL);
	seam_trace_free(trace);
}

static void read_sealed(const uint8_t *data, size_t size)
{
	struct seam_trace *trace;
	struct seam_trace_event *events;
	char *strings;
	const size_t string_bytes = size < 1 ? 1 : data[0] % 32u + 1;
	const size_t rest_bytes = size < string_bytes ? 0 : size - string_bytes;
	const size_t event_count = rest_bytes / sizeof(struct seam_trace_event);
	if (seam__trace_create(event_count, string_bytes, &trace, &events, &strings) != SEAM_OK)
		return;
	if (size >= string_bytes) {
		memcpy(strings + 1, data, string_bytes - 1);
		strings[string_bytes - 1] = '\0';
		memcpy(events, data + string_bytes, event_count * sizeof(struct seam_trace_event));
	}
	seam__trace_seal(trace, 0, 0);
	size_t image_bytes;
	const void *image = seam__trace_image(trace, &image_bytes);
	read_bytes(image, image_bytes);
	seam_trace_free(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_bytes(data, size);
	read_sealed(data, size);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
	return 0;
}
