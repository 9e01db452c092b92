/* planning.h: makes plans for the command line: progress on a terminal, Ctrl-C keeps the best so far; and prints what
 * came out.
 *
 * Not here: the command lines (cmd_plan.c). One thread; one plan at a time, for the signal.
 */
#ifndef TOOLS_PLANNING_H
#define TOOLS_PLANNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <seam/plan.h>

#include "text.h"

/* Makes a plan by `make` (seam_plan_make() bound to its input, or the like) with options' progress and cancellation
 * filled in here. */
struct planning {
	enum seam_rc (*make)(const void *input, const struct seam_plan_options *options, struct seam_trace_error *error,
		struct seam_plan **ret_plan);
	const void *input;
};

/* A row of what is printed. */
struct planning_row {
	const char *input;  /* path */
	const char *solver; /* as asked for */
	bool failed;        /* no plan: the rest but `reason` means nothing */
	char reason[200];
	uint64_t requests;
	uint64_t lower_bound_bytes; /* residents included */
	uint64_t live_bytes;        /* the most that live at once, residents included */
	uint64_t peak_bytes;        /* of memory, residents included */
	uint64_t resident_bytes;
	uint64_t unplaced_bytes;
	uint32_t mapped_chunks; /* of the arena */
	uint32_t lower_bound_chunks;
	uint32_t copies;
	uint32_t streams;
	uint32_t waits;
	char placed_by[32];
	double seconds;
	bool optimal;
	bool cancelled;
};

/* Errors as those of `make`, with `error` filled. After Ctrl-C: a plan with SEAM_PLAN_CANCELLED. */
SEAM_MUST_USE enum seam_rc planning_make(const struct planning *planning, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan);

void planning_row_set(
	const struct seam_plan *plan, const char *input, const char *solver, struct planning_row *ret_row);

/* How far above the bound, as a fraction. 0 where there is nothing to place. */
double planning_gap(const struct planning_row *row);

/* One object for one row, else an array of them. */
SEAM_MUST_USE enum seam_rc planning_json(const struct planning_row *rows, size_t count, struct seam_text *text);
/* A few lines for a person about one plan. */
SEAM_MUST_USE enum seam_rc planning_summary(const struct planning_row *row, struct seam_text *text);
/* A table, one line a row. */
SEAM_MUST_USE enum seam_rc planning_table(const struct planning_row *rows, size_t count, struct seam_text *text);

#endif
