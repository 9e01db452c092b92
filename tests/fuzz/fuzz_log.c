/* fuzz_log.c: any bytes as a log of RMM or STAlloc: refused with one line, or a trace that holds its invariants; at a
 * memory cost that is bounded by the input's size.
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
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace);

static void import(importer import_it, const uint8_t *data, size_t size)
{
	struct seam_trace *trace = NULL;
	struct seam_trace_error error = {0};
	struct seam_meta_stats now;
	seam__meta_reset_peak(seam__meta_process());
	enum seam_rc rc = import_it(data, size, &error, &trace);
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
	import(seam__import_rmm, data, size);
	import(seam__import_stalloc, data, size);
	(void)seam__import_stalloc_is(data, size);
	return 0;
}
