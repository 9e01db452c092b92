/* fuzz_snapshot.c: any bytes as a foreign recording (pickle or CSV): refused with one line, or a trace that holds its
 * invariants; at a memory cost that is bounded by the input's size.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "import.h"
#include "meta.h"
#include "trace_sample.h"

#define COST_PER_BYTE 512u
#define COST_AT_LEAST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef enum seam_rc (*importer)(
	const void *data, size_t bytes, int device, struct seam_trace_error *error, struct seam_trace **ret_trace);

static void import(importer import_it, const uint8_t *data, size_t size, int device)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	struct seam_meta_stats now;
	seam__meta_reset_peak(seam__meta_process());
	enum seam_rc rc = import_it(data, size, device, &error, &trace);
	seam__meta_get_stats(seam__meta_process(), &now);
	SEAM_VERIFY(now.peak_bytes <= (uint64_t)size * COST_PER_BYTE + COST_AT_LEAST);
	if (rc == SEAM_OK)
		SEAM_VERIFY(seam_trace_check(trace, NULL) == NULL);
	else
		SEAM_VERIFY(trace == NULL && error.text[0] != '\0' && strchr(error.text, '\n') == NULL);
	seam_trace_free(trace);
	SEAM_VERIFY(trace_sample_live_bytes() == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	import(seam__import_any, data, size, SEAM_IMPORT_ANY_DEVICE);
	import(seam__import_snapshot, data, size, 1);
	return 0;
}
