/* report.c: writes results. */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json_fields.h"
#include "meta.h"
#include "planned.h"

static const char *const state_keys[REF_STATES] = {"s1", "s1r", "s2", "s3", "s4", "s5"};

static double efficiency(const struct replay_result *result)
{
	return (double)result->peak_live_bytes / (double)result->peak_reserved_bytes;
}

static bool has_efficiency(const struct replay_result *result)
{
	return !result->oom && result->peak_reserved_bytes > 0;
}

/* A tenth is as much as such times are worth. */
static double tenths(double value)
{
	return round(value * 10) / 10;
}

static void put_driver_calls(struct seam_json *json, const struct replay_result *result)
{
	seam__json_key(json, "driver_calls");
	seam__json_object_begin(json);
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		if (result->driver_calls[i] != 0)
			json_field_u64(
				json, seam__driver_call_name((enum seam_drv_call)i), true, result->driver_calls[i]);
	seam__json_object_end(json);
}

static void put_array(struct seam_json *json, const char *key, const uint64_t *values, uint32_t count, double unit)
{
	seam__json_key(json, key);
	seam__json_array_begin(json);
	for (uint32_t i = 0; i < count && i < REPLAY_SHOWN; i++) {
		if (unit > 1)
			seam__json_double(json, (double)values[i] / unit);
		else
			seam__json_u64(json, values[i]);
	}
	seam__json_array_end(json);
}

static double part_of(uint64_t part, uint64_t all)
{
	return all > 0 ? (double)part / (double)all : 1;
}

static double hidden(const struct replay_plan *plan)
{
	return part_of(plan->driver_ns - plan->waited_ns, plan->driver_ns);
}

/* null throughout where no plan was wanted. */
static void put_plan(struct seam_json *json, const struct replay_result *result)
{
	static const char *const kinds[] = {"none", "auto", "file"};
	static const char *const causes[] = {
#define SEAM_MISS(name, text) #name,
#include "misses.def"
#undef SEAM_MISS
	};
	const struct replay_plan *plan = &result->plan;
	bool used = plan->planning != REPLAY_PLAN_NONE;
	json_field_string(json, "plan", kinds[plan->planning]);
	json_field_u64(json, "plan_hits", used, plan->hits);
	json_field_u64(json, "plan_dynamic_hits", used, plan->dynamic_hits);
	json_field_u64(json, "plan_misses", used, plan->misses);
	seam__json_key(json, "plan_misses_by_cause");
	seam__json_object_begin(json);
	for (size_t i = 0; i < SEAM_MISS_COUNT; i++)
		json_field_u64(json, causes[i], used, plan->misses_by_cause[i]);
	seam__json_object_end(json);
	json_field_u64(json, "resyncs", used, plan->resyncs);
	json_field_u64(json, "plan_adoptions", used, plan->adoptions);
	json_field_u64(json, "plan_drops", used, plan->drops);
	json_field_u64(json, "adopted_at_iteration", used && plan->adopted, plan->adopted_at_iteration);
	json_field_u64(json, "adopted_after_steps", used && plan->adopted, plan->adopted_after_steps);
	json_field_u64(json, "plan_hits_last_iteration", used && result->last_complete, plan->last_hits);
	json_field_u64(json, "requests_last_iteration", used && result->last_complete, plan->last_requests);
	bool measured = used && plan->measured && !result->oom;
	json_field_u64(json, "peak_live_planned_bytes", measured, plan->peak_live_bytes);
	json_field_u64(json, "peak_reserved_planned_bytes", measured, plan->peak_reserved_bytes);
	json_field_double(
		json, "efficiency_planned", measured, part_of(plan->peak_live_bytes, plan->peak_reserved_bytes));
	json_field_double(json, "planned_alloc_ns_p50", used && plan->timed, tenths(plan->alloc_ns_p50));
	json_field_double(
		json, "dynamic_alloc_ns_p50", used && plan->dynamic_timed, tenths(plan->dynamic_alloc_ns_p50));
	json_field_double(json, "missed_alloc_ns_p50", used && plan->missed_timed, tenths(plan->missed_alloc_ns_p50));
	put_array(json, "static_requests_by_iteration", plan->static_requests, used ? result->ended : 0, 1);
	put_array(json, "static_hits_by_iteration", plan->static_hits, used ? result->ended : 0, 1);
	json_field_double(json, "background_processor_ms", used, (double)plan->processor_ns / 1e6);
	json_field_u64(json, "background_steps", used, plan->steps);
	json_field_double(json, "background_compute_ms", used, (double)plan->compute_ns / 1e6);
	json_field_double(json, "background_driver_ms", used, (double)plan->driver_ns / 1e6);
	json_field_double(json, "background_hidden", used, hidden(plan));
	json_field_double(json, "host_waits_ms", used, (double)plan->waited_ns / 1e6);
	json_field_double(json, "host_ms", used, (double)plan->host_ns / 1e6);
	put_array(json, "background_calls_by_iteration", plan->background_calls, used ? result->ended : 0, 1);
	put_array(json, "background_driver_ms_by_iteration", plan->background_ns, used ? result->ended : 0, 1e6);
}

static void put_result(struct seam_json *json, const struct report_row *row)
{
	const struct replay_result *result = &row->result;
	seam__json_object_begin(json);
	json_field_string(json, "trace", row->trace);
	json_field_string(json, "allocator", ref_kind_name(result->allocator));
	json_field_string(json, "device", result->device);
	json_field_u64(json, "requests", true, result->requests);
	json_field_u64(json, "iterations", true, result->iterations);
	json_field_u64(json, "peak_live_bytes", true, result->peak_live_bytes);
	json_field_u64(json, "peak_reserved_bytes", !result->oom, result->peak_reserved_bytes);
	bool known = has_efficiency(result);
	json_field_double(json, "efficiency", known, known ? efficiency(result) : 0);
	seam__json_key(json, "oom");
	seam__json_bool(json, result->oom);
	json_field_double(json, "alloc_ns_p50", result->alloc_timed, tenths(result->alloc_ns_p50));
	json_field_double(json, "alloc_ns_p99", result->alloc_timed, tenths(result->alloc_ns_p99));
	json_field_double(json, "free_ns_p50", result->free_timed, tenths(result->free_ns_p50));
	json_field_double(json, "free_ns_p99", result->free_timed, tenths(result->free_ns_p99));
	put_driver_calls(json, result);
	json_field_u64(json, "memory_calls_last_iteration", result->last_complete, result->memory_calls_last_iteration);
	put_array(json, "memory_calls_by_iteration", result->memory_calls, result->ended, 1);
	put_array(json, "memory_calls_by_step", result->step_calls, result->steps, 1);
	put_array(json, "driver_ms_by_iteration", result->iteration_driver_ns, result->ended, 1e6);
	json_field_double(json, "processor_ms", true, (double)result->calls_ns / 1e6);
	put_array(json, "processor_ms_by_iteration", result->iteration_calls_ns, result->ended, 1e6);
	json_field_u64(json, "event_calls_last_iteration", result->last_complete, result->event_calls_last_iteration);
	json_field_double(json, "driver_ms_estimated", !result->oom, (double)result->driver_ns / 1e6);
	seam__json_key(json, "states");
	seam__json_object_begin(json);
	for (size_t i = 0; i < REF_STATES; i++)
		json_field_u64(json, state_keys[i], true, result->states[i]);
	seam__json_object_end(json);
	put_plan(json, result);
	seam__json_object_end(json);
}

enum seam_rc report_json(const struct report_row *rows, size_t count, struct seam_text *text)
{
	struct seam_json json;
	seam__json_init(&json, text, true);
	seam__json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		put_result(&json, &rows[i]);
	seam__json_array_end(&json);
	return seam__json_finish(&json);
}

/* The name of the file, without the folder and what every trace is called. */
static void cell_trace(struct seam_table *table, const char *path)
{
	static const char *const endings[] = {".seamtrace.zst", ".seamtrace"};
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t ending = strlen(endings[i]);
		if (length > ending && strcmp(name + length - ending, endings[i]) == 0)
			length -= ending;
	}
	seam__table_cell(table, "%.*s", (int)length, name);
}

static void cell_times(struct seam_table *table, bool known, double p50, double p99)
{
	if (known)
		seam__table_cell(table, "%.0f / %.0f ns", p50, p99);
	else
		seam__table_cell(table, "-");
}

static void cell_size(struct seam_table *table, bool known, uint64_t bytes)
{
	char buffer[32];
	seam__table_cell(table, "%s", known ? seam__text_size(buffer, bytes) : "-");
}

static void add_row(struct seam_table *table, const struct report_row *row, bool same_trace)
{
	const struct replay_result *result = &row->result;
	uint64_t memory_calls = 0;
	for (size_t i = 0; i < SEAM_DRV_COUNT; i++)
		if (seam__driver_call_class((enum seam_drv_call)i) == SEAM_DRV_MEMORY)
			memory_calls += result->driver_calls[i];
	cell_trace(table, same_trace ? "" : row->trace);
	seam__table_cell(table, "%s", ref_kind_name(result->allocator));
	cell_size(table, true, result->peak_live_bytes);
	cell_size(table, !result->oom, result->peak_reserved_bytes);
	if (result->oom)
		seam__table_cell(table, "OUT OF MEMORY");
	else if (has_efficiency(result))
		seam__table_cell(table, "%.1f %%", efficiency(result) * 100);
	else
		seam__table_cell(table, "-");
	seam__table_cell(table, "%" PRIu64, result->requests);
	cell_times(table, result->alloc_timed, result->alloc_ns_p50, result->alloc_ns_p99);
	cell_times(table, result->free_timed, result->free_ns_p50, result->free_ns_p99);
	seam__table_cell(table, "%" PRIu64, memory_calls);
	if (result->last_complete)
		seam__table_cell(table, "%" PRIu64, result->memory_calls_last_iteration);
	else
		seam__table_cell(table, "-");
	if (result->oom)
		seam__table_cell(table, "-");
	else
		seam__table_cell(table, "%.1f ms", (double)result->driver_ns / 1e6);
}

static void add_heading(struct seam_table *table)
{
	static const char *const headings[] = {"trace", "allocator", "peak live", "peak reserved", "efficiency",
		"requests", "alloc p50 / p99", "free p50 / p99", "memory calls", "last iteration", "driver time"};
	seam__table_init(table, seam__meta_process(), sizeof(headings) / sizeof(headings[0]));
	table->right_from = 2;
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		seam__table_cell(table, "%s", headings[i]);
}

/* A line about what the plan did, under the table. */
static void add_plan(const struct report_row *row, struct seam_text *text)
{
	const struct replay_result *result = &row->result;
	const struct replay_plan *plan = &result->plan;
	const char *slash = strrchr(row->trace, '/');
	char live[32];
	char reserved[32];
	seam__text_printf(text, "%s: ", slash != NULL ? slash + 1 : row->trace);
	if (!plan->adopted) {
		seam__text_printf(text, "no plan was adopted\n");
		return;
	}
	if (plan->adopted_at_iteration == 0)
		seam__text_printf(text, "plan in use from the start");
	else
		seam__text_printf(text, "plan in use from iteration %" PRIu32, plan->adopted_at_iteration);
	if (plan->hits + plan->misses > 0)
		seam__text_printf(text, "; served %.2f %% since, %.2f %% in the last iteration",
			part_of(plan->hits, plan->hits + plan->misses) * 100,
			part_of(plan->last_hits, plan->last_requests) * 100);
	if (plan->timed)
		seam__text_printf(text, " (p50 %.0f ns)", plan->alloc_ns_p50);
	if (plan->measured && !result->oom)
		seam__text_printf(text, "; %s of %s reserved: %.2f %%", seam__text_size(live, plan->peak_live_bytes),
			seam__text_size(reserved, plan->peak_reserved_bytes),
			part_of(plan->peak_live_bytes, plan->peak_reserved_bytes) * 100);
	seam__text_printf(text, "; background: %.1f ms of the driver, %.1f %% hidden\n", (double)plan->driver_ns / 1e6,
		hidden(plan) * 100);
}

static void add_footer(const struct report_row *rows, size_t count, struct seam_text *text)
{
	bool verified = true;
	bool in_full = true;
	bool planned = false;
	uint64_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		planned |= rows[i].result.plan.measured;
		verified &= rows[i].result.verified;
		in_full &= rows[i].result.verified_in_full;
		bytes += rows[i].result.verified_bytes;
	}
	seam__text_printf(text,
		"device: %s; iterations: %" PRIu32 "; efficiency: peak live / peak reserved\n"
		"memory calls: those that take, map or return device memory, in all and in the last iteration;"
		" driver time: of all calls%s\n",
		rows[0].result.device, rows[0].result.iterations,
		strncmp(rows[0].result.device, "emu", 3) == 0 ? ", estimated" : "");
	/* Not the figure of the table: that one looks at the whole run, and rounds nothing. */
	if (planned)
		seam__text_printf(text,
			"of a plan: peak live, rounded up to 2 MiB, / peak reserved, both since it had served all of an iteration (or four"
			" in part) and cached memory was returned (--no-trim: kept)\n");
	char size[32];
	if (verified)
		seam__text_printf(text, "contents: every block kept its own, %s (%s compared)\n",
			in_full ? "checked in full" : "checked in full or at the first and last page of every 2 MiB",
			seam__text_size(size, bytes));
}

enum seam_rc report_table(const struct report_row *rows, size_t count, struct seam_text *text)
{
	struct seam_table table;
	add_heading(&table);
	for (size_t i = 0; i < count; i++)
		add_row(&table, &rows[i], i > 0 && strcmp(rows[i].trace, rows[i - 1].trace) == 0);
	enum seam_rc rc = seam__table_write(&table, SEAM_TABLE_PLAIN, text);
	seam__table_fini(&table);
	if (rc != SEAM_OK)
		return rc;
	if (count > 0)
		seam__text_printf(text, "\n");
	for (size_t i = 0; i < count; i++)
		if (rows[i].result.plan.planning != REPLAY_PLAN_NONE)
			add_plan(&rows[i], text);
	if (count > 0)
		add_footer(rows, count, text);
	return seam__text_rc(text);
}
