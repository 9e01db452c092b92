/* planning.c: see planning.h. */
#include "planning.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json.h"
#include "meta.h"
#include "table.h"

#define SECOND_NS 1000000000.0
#define QUIET_NS UINT64_C(500000000) /* short searches stay silent */

/* Set by the signal handler; the planner reads it. */
static int cancelled;

static void cancel(int number)
{
	(void)number;
	__atomic_store_n(&cancelled, 1, __ATOMIC_RELAXED);
}

struct watcher {
	bool terminal;
	bool drawn;
};

static void show(void *context, const struct seam_plan_progress *progress)
{
	struct watcher *watcher = context;
	char peak[32];
	double gap;

	if (!watcher->terminal || progress->elapsed_ns < QUIET_NS || progress->peak_bytes == UINT64_MAX)
		return;
	gap = progress->lower_bound_bytes == 0 ? 0
					       : (double)progress->peak_bytes / (double)progress->lower_bound_bytes - 1;
	(void)seam__text_size(peak, progress->peak_bytes);
	fprintf(stderr, "\r\033[Kplanning: %s, %.3f %% above the lower bound (%s), %.1f s; Ctrl-C keeps it", peak,
		gap * 100, progress->solver, (double)progress->elapsed_ns / SECOND_NS);
	fflush(stderr);
	watcher->drawn = true;
}

enum seam_rc planning_make(const struct planning *planning, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	struct watcher watcher = {.terminal = isatty(STDERR_FILENO) == 1};
	struct seam_plan_options watched = *options;
	struct sigaction action = {
		.sa_handler = cancel, .sa_flags = (int)SA_RESETHAND}; /* a second one ends the program */
	struct sigaction before;
	enum seam_rc rc;

	cancelled = 0;
	watched.cancel = &cancelled;
	watched.progress = show;
	watched.progress_context = &watcher;
	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGINT, &action, &before);
	rc = planning->make(planning->input, &watched, error, ret_plan);
	(void)sigaction(SIGINT, &before, NULL);
	if (watcher.drawn)
		fputs("\r\033[K", stderr);
	return rc;
}

/* The most bytes of slots with a place that live at once, in the midst of repetitions. 0: no memory. */
static uint64_t most_live(const struct seam_plan *plan)
{
	const struct seam_plan_header *header = &plan->header;
	const uint64_t align = header->align_bytes, positions = header->positions;
	uint64_t *changes = calloc((size_t)positions + 1, sizeof(*changes));
	uint64_t live = 0, most = 0;

	for (uint32_t i = 0; changes != NULL && i < header->slot_count; i++) {
		const struct seam_plan_slot *slot = &plan->slots[i];
		const uint64_t bytes = (slot->size_bytes + align - 1) / align * align;

		if ((slot->flags & SEAM_PLAN_DYNAMIC) != 0)
			continue;
		changes[slot->begin] += bytes;
		if ((header->flags & SEAM_PLAN_LINEAR) != 0) {
			changes[slot->end] -= bytes;
			continue;
		}
		changes[slot->end % positions] -= bytes;
		live += slot->end / positions * bytes; /* what earlier repetitions left is live at the beginning */
	}
	for (uint64_t p = 0; changes != NULL && p < positions; p++) {
		live += changes[p];
		most = live > most ? live : most;
	}
	free(changes);
	return most;
}

void planning_row_set(const struct seam_plan *plan, const char *input, const char *solver, struct planning_row *ret_row)
{
	const struct seam_plan_header *header = &plan->header;

	*ret_row = (struct planning_row){
		.input = input,
		.solver = solver,
		.requests = header->slot_count,
		.lower_bound_bytes = header->resident_bytes + header->lower_bound_bytes,
		.live_bytes = header->resident_bytes + most_live(plan),
		.streams = header->stream_count,
		.waits = header->wait_count,
		.peak_bytes = header->resident_bytes + header->arena_bytes,
		.resident_bytes = header->resident_bytes,
		.unplaced_bytes = header->unplaced_bytes,
		.mapped_chunks = header->arena_chunks,
		.lower_bound_chunks = header->lower_bound_chunks,
		.copies = header->copies,
		.seconds = (double)header->solve_ns / SECOND_NS,
		.optimal = (header->flags & SEAM_PLAN_OPTIMAL) != 0,
		.cancelled = (header->flags & SEAM_PLAN_CANCELLED) != 0,
	};
	(void)snprintf(ret_row->placed_by, sizeof(ret_row->placed_by), "%.31s", seam_plan_string(plan, header->solver));
}

double planning_gap(const struct planning_row *row)
{
	return row->lower_bound_bytes == 0 ? 0 : (double)row->peak_bytes / (double)row->lower_bound_bytes - 1;
}

static void json_row(struct seam_json *json, const struct planning_row *row)
{
	seam__json_object_begin(json);
	seam__json_key(json, "input");
	seam__json_string(json, row->input);
	if (row->failed) {
		seam__json_key(json, "solver");
		seam__json_string(json, row->solver);
		seam__json_key(json, "error");
		seam__json_string(json, row->reason);
		seam__json_object_end(json);
		return;
	}
	seam__json_key(json, "requests");
	seam__json_u64(json, row->requests);
	seam__json_key(json, "lower_bound_bytes");
	seam__json_u64(json, row->lower_bound_bytes);
	seam__json_key(json, "live_bytes");
	seam__json_u64(json, row->live_bytes);
	seam__json_key(json, "waits");
	seam__json_u64(json, row->waits);
	seam__json_key(json, "peak_bytes");
	seam__json_u64(json, row->peak_bytes);
	seam__json_key(json, "gap");
	seam__json_double(json, planning_gap(row));
	seam__json_key(json, "mapped_chunks");
	seam__json_u64(json, row->mapped_chunks);
	seam__json_key(json, "lower_bound_chunks");
	seam__json_u64(json, row->lower_bound_chunks);
	seam__json_key(json, "solver");
	seam__json_string(json, strcmp(row->solver, "auto") == 0 ? row->placed_by : row->solver);
	seam__json_key(json, "seconds");
	seam__json_double(json, row->seconds);
	seam__json_key(json, "optimal");
	seam__json_bool(json, row->optimal);
	seam__json_key(json, "copies");
	seam__json_u64(json, row->copies);
	seam__json_key(json, "resident_bytes");
	seam__json_u64(json, row->resident_bytes);
	seam__json_key(json, "dynamic_bytes");
	seam__json_u64(json, row->unplaced_bytes);
	seam__json_key(json, "cancelled");
	seam__json_bool(json, row->cancelled);
	seam__json_object_end(json);
}

enum seam_rc planning_json(const struct planning_row *rows, size_t count, struct seam_text *text)
{
	struct seam_json json;

	seam__json_init(&json, text, true);
	if (count != 1)
		seam__json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		json_row(&json, &rows[i]);
	if (count != 1)
		seam__json_array_end(&json);
	return seam__json_finish(&json);
}

enum seam_rc planning_summary(const struct planning_row *row, struct seam_text *text)
{
	char bytes[32];

	seam__text_printf(text, "%llu requests", (unsigned long long)row->requests);
	if (row->copies > 1)
		seam__text_printf(text, ", %u copies of the period", row->copies);
	if (row->resident_bytes > 0)
		seam__text_printf(text, ", beside %s of residents", seam__text_size(bytes, row->resident_bytes));
	seam__text_printf(text, "\npeak %s", seam__text_size(bytes, row->peak_bytes));
	seam__text_printf(text, ", lower bound %s: %s", seam__text_size(bytes, row->lower_bound_bytes),
		row->optimal ? "optimal" : "");
	if (!row->optimal)
		seam__text_printf(text, "%.3f %% above it", planning_gap(row) * 100);
	if (row->streams > 1 && row->live_bytes < row->lower_bound_bytes)
		seam__text_printf(text, "\n%s live at once; the bound is higher, for %s",
			seam__text_size(bytes, row->live_bytes),
			row->waits == 0 ? "nothing orders the streams"
					: "memory goes to another stream some time after its free");
	if (row->waits > 0)
		seam__text_printf(
			text, "\n%u wait%s between streams, to be inserted", row->waits, row->waits == 1 ? "" : "s");
	seam__text_printf(text, "\n%u chunks, %u are needed at least", row->mapped_chunks, row->lower_bound_chunks);
	seam__text_printf(text, "\nplaced by %s in %.2f s%s\n",
		row->placed_by[0] == '\0' ? "nobody: nothing to place" : row->placed_by, row->seconds,
		row->cancelled ? " (interrupted: the best so far)" : "");
	if (row->unplaced_bytes > 0)
		seam__text_printf(text, "dynamic requests: up to %s at once, to be placed as they come\n",
			seam__text_size(bytes, row->unplaced_bytes));
	return seam__text_rc(text);
}

static void table_row(struct seam_table *table, const struct planning_row *row)
{
	char bytes[32];

	seam__table_cell(table, "%s", row->solver);
	if (row->failed) {
		for (int i = 0; i < 4; i++)
			seam__table_cell(table, "-");
		seam__table_cell(table, "%s", row->reason);
		return;
	}
	seam__table_cell(table, "%s", seam__text_size(bytes, row->peak_bytes));
	seam__table_cell(table, "%.3f %%", planning_gap(row) * 100);
	seam__table_cell(table, "%u", row->mapped_chunks);
	seam__table_cell(table, "%.3f", row->seconds);
	seam__table_cell(table, "%s", row->optimal ? "optimal" : row->cancelled ? "interrupted" : "");
}

enum seam_rc planning_table(const struct planning_row *rows, size_t count, struct seam_text *text)
{
	static const char *const heading[] = {"solver", "peak", "above bound", "chunks", "seconds", " "};
	struct seam_table table;
	enum seam_rc rc;

	seam__table_init(&table, seam__meta_process(), sizeof(heading) / sizeof(heading[0]));
	for (size_t i = 0; i < sizeof(heading) / sizeof(heading[0]); i++)
		seam__table_cell(&table, "%s", heading[i]);
	for (size_t i = 0; i < count; i++)
		table_row(&table, &rows[i]);
	rc = seam__table_write(&table, SEAM_TABLE_PLAIN, text);
	seam__table_fini(&table);
	return rc;
}
