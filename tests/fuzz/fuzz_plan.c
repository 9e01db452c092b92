/* fuzz_plan.c: any bytes as a plan: refused with one line, or a plan that holds its invariants and whose like is
 * written again; at a memory cost that is bounded by the input's size. Whatever is read is also held against a trace.
 *
 * Random bytes never have a right checksum. So the same bytes are also taken as a plan with small counts whose strings
 * fill the rest, sealed as a writer would.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "checksum.h"
#include "meta.h"
#include "plan_format.h"
#include "trace_sample.h"

#define COST_PER_BYTE 64u
#define COST_AT_LEAST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The verdict does not matter here, only that there is one, in one line. */
static void verify(const struct seam_plan *plan)
{
	struct seam_trace *trace = trace_sample_create();
	struct seam_plan changed = *plan;
	struct seam_trace_error error = {0};
	if (changed.header.last_event <= trace->header.event_count)
		SEAM_VERIFY(seam_plan_fingerprint(trace, changed.header.first_event, changed.header.last_event,
				    &changed.header.fingerprint) == SEAM_OK);
	enum seam_rc rc = seam_plan_verify(trace, &changed, &error);
	SEAM_VERIFY(rc == SEAM_OK || rc == SEAM_INVALID || rc == SEAM_NOT_FOUND || rc == SEAM_CORRUPT);
	SEAM_VERIFY((rc == SEAM_OK) == (error.text[0] == '\0') && strchr(error.text, '\n') == NULL);
	seam_trace_free(trace);
}

static void read_bytes(const void *data, size_t size)
{
	struct seam_plan *plan = NULL;
	struct seam_trace_error error = {0};
	struct seam_meta_stats now;
	seam__meta_reset_peak(seam__meta_process());
	enum seam_rc rc = seam_plan_read_memory(data, size, &error, &plan);
	seam__meta_get_stats(seam__meta_process(), &now);
	SEAM_VERIFY(now.peak_bytes <= (uint64_t)size * COST_PER_BYTE + COST_AT_LEAST);
	if (rc != SEAM_OK) {
		SEAM_VERIFY(rc == SEAM_FORMAT || rc == SEAM_VERSION || rc == SEAM_CORRUPT);
		SEAM_VERIFY(plan == NULL && error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
		return;
	}
	size_t image_bytes;
	const void *image = seam__plan_image(plan, &image_bytes);
	SEAM_VERIFY(image_bytes == size && memcmp(image, data, size) == 0);
	SEAM_VERIFY(seam_plan_check(plan, NULL) == NULL);
	verify(plan);
	seam_plan_free(plan);
}

static void read_sealed(const uint8_t *data, size_t size)
{
	uint64_t bytes[SEAM__PLAN_SECTIONS];
	struct seam_plan_header header;
	if (size < sizeof(header))
		return;
	memcpy(&header, data, sizeof(header));
	memcpy(header.magic, SEAM_PLAN_MAGIC, sizeof(header.magic));
	header.version = SEAM_PLAN_VERSION;
	header.header_bytes = sizeof(header);
	header.slot_count %= 64;
	header.copies %= 8;
	header.stream_count %= 16;
	header.wait_count %= 16;
	header.group_count %= 16;
	header.range_count %= 16;
	header.prologue_count %= 16;
	header.reserved_backing = 0;
	header.string_bytes = 0;
	memset(header.reserved, 0, sizeof(header.reserved));
	if (!seam__plan_measure(&header, size, bytes))
		return;
	header.string_bytes = size - sizeof(header);
	for (int i = 0; i < SEAM__PLAN_SECTIONS; i++)
		header.string_bytes -= bytes[i];
	uint8_t *copy = malloc(size);
	SEAM_VERIFY(copy != NULL);
	memcpy(copy, data, size);
	if (header.string_bytes > 0)
		copy[size - header.string_bytes] = copy[size - 1] = '\0';
	header.checksum = XXH64(copy + sizeof(header), size - sizeof(header), 0);
	header.header_checksum = XXH64(&header, offsetof(struct seam_plan_header, header_checksum), 0);
	memcpy(copy, &header, sizeof(header));
	read_bytes(copy, size);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_bytes(data, size);
	read_sealed(data, size);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
	return 0;
}
