/* fit_timer.h: when the operations of a schedule run, and what an iteration takes.
 *
 * Not here: making schedules (fit_maker.h). Whole numbers, and IEEE doubles for copies, so that every machine predicts
 * the same.
 * No locks: one thread at a time.
 */
#ifndef SEAM_FIT_TIMER_H
#define SEAM_FIT_TIMER_H

#include <stdbool.h>

#include <seam/fit.h>

#include "region.h"

struct seam_fit_timer {
	uint32_t most_ops;
	struct seam_fit_turn *turns; /* of the newest schedule, by lane, those of a lane behind each other */
	uint32_t *ordinals;          /* of each operation on its lane, from 0 */
};

/* For schedules of up to so many operations. SEAM_OOM_META. */
SEAM_MUST_USE enum seam_rc seam__fit_timer_init(
	struct seam_fit_timer *timer, uint32_t most_ops, struct seam_region *region);

/* false: the operations wait for each other. spans: NULL, or op_count of them. The problem is one; operations are on
 * known lanes and wait for operations of the list. Adds to *work what it simulates. */
bool seam__fit_time(struct seam_fit_timer *timer, const struct seam_fit_problem *problem,
	const struct seam_fit_schedule *schedule, struct seam_fit_span *spans, uint64_t *work,
	struct seam_fit_prediction *ret_prediction);

/* No iteration of these operations is faster: what one lane has to do, copies as if they were alone. */
uint64_t seam__fit_time_bound(const struct seam_fit_problem *problem, const struct seam_fit_schedule *schedule);

/* How long so many bytes take at a speed; 0 where nothing can be copied. */
uint64_t seam__fit_copy_ns(uint64_t bytes, uint64_t speed);

#endif
