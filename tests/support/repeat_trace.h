/* repeat_trace.h: traces made of others: a trace with its repetitions written out, and one without its marks. */
#ifndef TEST_REPEAT_TRACE_H
#define TEST_REPEAT_TRACE_H

#include <stdint.h>

#include <seam/trace.h>

/* What a replay of so many iterations does, as a trace of allocations, frees and uses, without marks, threads and
 * flags. NULL when there is no memory. To be freed with seam_trace_free(). */
struct seam_trace *repeat_trace(const struct seam_trace *trace, uint32_t iterations);

/* A copy without marks of steps. NULL when there is no memory. */
struct seam_trace *unmarked_trace(const struct seam_trace *trace);

#endif
