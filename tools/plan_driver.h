/* plan_driver.h: a run of Seam with a plan, beside the operations themselves: who speaks, the marks of the program, the
 * clocks, and the worker.
 *
 * Two sources of plans: a file, adopted before the first operation; or the pool's own background work, done here step
 * by step on a virtual clock (virtual_time.h), so that the same run gives the same result wherever planning takes the
 * same time.
 *
 * A step's computing time is the processor time that this thread needed for it, in a deterministic pool a model of that
 * (of plans by what was done for them: lib/plan/solve/solvers.def); that of the driver is what the device's
 * counters say.
 *
 * Once the plan in use has served all of an iteration, or at the end of the fourth that it was in use for (blocks from
 * before it are in its way at first), what is cached is returned once and the peaks are reset: from there on the peaks
 * are those of the plan. They say something once an iteration has ended since. A run that is compared with one without
 * a plan returns nothing (no_trim), for that one does not either: a pool that has to take again what it returned is
 * laid out in another way from there on.
 *
 * Not here: the operations (replay_run.h). One thread.
 */
#ifndef TOOLS_PLAN_DRIVER_H
#define TOOLS_PLAN_DRIVER_H

#include "replay_run.h"

/* Sets in `config` what a run with or without a plan needs. The default, plan:auto, is a thread, which runs by the
 * clock of this machine and not by the trace's: without a plan, or with one from a file, it is off. With a plan from a
 * file and plan:inline the pool also learns. */
void plan_driver_configure(enum replay_planning planning, struct seam_config *config);

/* For a run whose allocator is Seam and stands. With a plan from a file it is adopted here. error: REPLAY_ERROR_BYTES.
 * Errors: SEAM_OOM_META, those of seam_plan_use(). */
SEAM_MUST_USE enum seam_rc plan_driver_create(
	struct run *run, const struct seam_trace *trace, struct plan_driver **ret_steer);
void plan_driver_destroy(struct plan_driver *plan_driver); /* NULL is allowed */

/* Around every operation. Errors: those of seam_dynamic_begin(), SEAM_OOM_META, those of seam_trim(). */
SEAM_MUST_USE enum seam_rc plan_driver_before(struct plan_driver *plan_driver, const struct schedule_op *op);
SEAM_MUST_USE enum seam_rc plan_driver_after(struct plan_driver *plan_driver, const struct schedule_op *op);

/* Before a request, and when it has been served, in so many ticks; a block of so many bytes is freed. */
void plan_driver_asked(struct plan_driver *plan_driver);
void plan_driver_served(struct plan_driver *plan_driver, uint64_t bytes, uint64_t ticks);
void plan_driver_freed(struct plan_driver *plan_driver, uint64_t bytes);

/* A mark of the program. Errors: those of seam_step(). */
SEAM_MUST_USE enum seam_rc plan_driver_mark(struct plan_driver *plan_driver, const struct schedule_op *op);

/* What is known at the end, before what is left is freed. */
void plan_driver_take_figures(
	struct plan_driver *plan_driver, const struct seam_clock *clock, struct replay_plan *ret_plan);

#endif
