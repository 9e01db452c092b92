/* recorder.h: what a recorder consists of. Private to record.c and record_trace.c; the contract is record.h. */
#ifndef SEAM_RECORDER_H
#define SEAM_RECORDER_H

#include "clock.h"
#include "lockrank.h"
#include "record_log.h"
#include "record_thread.h"

struct seam_recorder {
	_Atomic uint64_t drawn; /* the newest number. Written with the pool's lock */
	struct seam_record_log log;
	struct seam_mutex gather;
	struct seam_meta *meta;
	struct seam_record_threads contexts;
	struct seam_clock clock; /* its first point; constant */
	_Atomic uint64_t steps;
	uint32_t device; /* constant */
};

#endif
