/* trace_sample.h: small traces for tests, and the check that a test leaves no metadata behind. */
#ifndef SEAM_TRACE_SAMPLE_H
#define SEAM_TRACE_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include <seam/trace.h>

/* A valid trace with every kind of event, phases, modules and two streams. Aborts when there is no memory. */
struct seam_trace *trace_sample_create(void);

/* The same, so far as an unfinished builder. */
struct seam_trace_builder *trace_sample_builder(void);

/* Bytes that the process-wide domain holds now. */
uint64_t trace_sample_live_bytes(void);

#endif
