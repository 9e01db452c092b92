/* test_cmd_replay.c: the command `seam replay` from end to end: its JSON, its table, its errors. SEAM_COMMAND names the
 * program. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "replay_command.h"

#define MIB 1048576

TestSuite(cmd_replay, .init = command_make_folder, .fini = command_remove_folder);

/* Two blocks of 4 MiB, of which one is a resident, and one of 13 MiB. */
static const char lifetimes[] = "id,lower,upper,size\na,0,5,4194304\nr,1,9,4194304\nb,2,6,13631488\n";

static const char *const all_keys[] = {"trace", "allocator", "device", "requests", "iterations", "peak_live_bytes",
	"peak_reserved_bytes", "efficiency", "oom", "alloc_ns_p50", "alloc_ns_p99", "free_ns_p50", "free_ns_p99",
	"driver_calls", "memory_calls_last_iteration", "event_calls_last_iteration", "driver_ms_estimated", "states",
	"memory_calls_by_iteration", "memory_calls_by_step", "driver_ms_by_iteration", "plan", "plan_misses_by_cause",
	"background_calls_by_iteration", "background_driver_ms_by_iteration", "processor_ms",
	"processor_ms_by_iteration", "static_requests_by_iteration", "static_hits_by_iteration"};

/* Without a plan there is nothing to say. */
static const char *const plan_keys[] = {"plan_hits", "plan_dynamic_hits", "plan_misses", "resyncs", "plan_adoptions",
	"plan_drops", "adopted_at_iteration", "adopted_after_steps", "plan_hits_last_iteration",
	"requests_last_iteration", "peak_live_planned_bytes", "peak_reserved_planned_bytes", "efficiency_planned",
	"planned_alloc_ns_p50", "dynamic_alloc_ns_p50", "background_steps", "background_compute_ms",
	"background_driver_ms", "background_hidden", "host_waits_ms", "host_ms", "missed_alloc_ns_p50",
	"background_processor_ms"};

static const char *const all_states[] = {"s1", "s1r", "s2", "s3", "s4", "s5"};

Test(cmd_replay, json_has_exactly_the_promised_keys)
{
	json_t *array = command_run_json(command_write_file("a.csv", lifetimes));
	cr_assert_eq(json_array_size(array), 4, "one object for each allocator");
	static const char *const names[] = {"seam", "caching", "expandable", "direct"};
	for (size_t i = 0; i < 4; i++) {
		const json_t *object = json_array_get(array, i);
		cr_assert_str_eq(json_text(object, "allocator"), names[i]);
		size_t plans = sizeof(plan_keys) / sizeof(plan_keys[0]);
		cr_assert_eq(json_object_size(object), sizeof(all_keys) / sizeof(all_keys[0]) + plans);
		for (size_t k = 0; k < plans; k++)
			cr_assert(json_is_nothing(object, plan_keys[k]), "%s: %s", names[i], plan_keys[k]);
		cr_assert_str_eq(json_text(object, "plan"), "none");
		for (size_t k = 0; k < sizeof(all_keys) / sizeof(all_keys[0]); k++) {
			cr_assert_not_null(json_object_get(object, all_keys[k]), "%s: %s", names[i], all_keys[k]);
			cr_assert_not(json_is_nothing(object, all_keys[k]), "%s: %s is null", names[i], all_keys[k]);
		}
		const json_t *states = json_object_get(object, "states");
		cr_assert_eq(json_object_size(states), 6);
		long long served = 0;
		for (size_t k = 0; k < 6; k++)
			served += json_long(states, all_states[k]);
		cr_assert_eq(served, 3, "%s: each request has one state", names[i]);
		cr_assert_eq(json_long(object, "requests"), 3);
		cr_assert_eq(json_long(object, "iterations"), 1);
		cr_assert_eq(json_long(object, "peak_live_bytes"), 21 * MIB);
		cr_assert(json_is_false(json_object_get(object, "oom")));
		double expected =
			(double)json_long(object, "peak_live_bytes") / (double)json_long(object, "peak_reserved_bytes");
		cr_assert_float_eq(json_double(object, "efficiency"), expected, 1e-9);
		cr_assert_leq(json_double(object, "alloc_ns_p50"), json_double(object, "alloc_ns_p99"));
	}
	json_decref(array);
}

Test(cmd_replay, models_reserve_what_their_rules_say)
{
	json_t *array = command_run_json(command_write_file("a.csv", lifetimes));
	cr_assert_eq(json_long(json_array_get(array, 1), "peak_reserved_bytes"), 34 * MIB, "caching: 20 and 14 MiB");
	cr_assert_eq(json_long(json_array_get(array, 2), "peak_reserved_bytes"), 40 * MIB, "expandable: two granules");
	cr_assert_eq(json_long(json_array_get(array, 3), "peak_reserved_bytes"), 21 * MIB, "direct: what is live");
	const json_t *calls = json_object_get(json_array_get(array, 1), "driver_calls");
	cr_assert_eq(json_long(calls, "direct_alloc"), 2);
	cr_assert_null(json_object_get(calls, "stream_create"), "the tool's own calls are left out");
	json_decref(array);
}

Test(cmd_replay, iterations_repeat_between_the_residents)
{
	char words[200];
	(void)snprintf(words, sizeof(words), "-n 3 -a direct,caching %s", command_write_file("a.csv", lifetimes));
	json_t *array = command_run_json(words);
	const json_t *direct = json_array_get(array, 0);
	cr_assert_str_eq(json_text(direct, "allocator"), "direct", "in the order asked for");
	cr_assert_eq(json_long(direct, "requests"), 7, "three, and twice two");
	cr_assert_eq(json_long(direct, "iterations"), 3);
	cr_assert_eq(json_long(direct, "memory_calls_last_iteration"), 4, "two blocks, taken and returned");
	cr_assert_eq(json_long(json_array_get(array, 1), "memory_calls_last_iteration"), 0);
	cr_assert_eq(json_long(json_array_get(array, 1), "event_calls_last_iteration"), 0);
	json_decref(array);
}

Test(cmd_replay, out_of_memory_is_a_result)
{
	char words[200];
	(void)snprintf(
		words, sizeof(words), "--capacity 24M -a seam,caching %s", command_write_file("a.csv", lifetimes));
	json_t *array = command_run_json(words);
	const json_t *seam = json_array_get(array, 0);
	const json_t *caching = json_array_get(array, 1);
	cr_assert(json_is_false(json_object_get(seam, "oom")), "21 MiB fit into 24");
	cr_assert(json_is_true(json_object_get(caching, "oom")), "20 and 14 do not");
	static const char *const unknown[] = {"peak_reserved_bytes", "efficiency", "memory_calls_last_iteration",
		"event_calls_last_iteration", "driver_ms_estimated"};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		cr_assert(json_is_nothing(caching, unknown[i]), "%s", unknown[i]);
	cr_assert_eq(json_long(caching, "peak_live_bytes"), 21 * MIB);
	cr_assert_eq(json_long(json_object_get(caching, "states"), "s5"), 1);
	cr_assert(json_is_nothing(caching, "free_ns_p50"), "nothing was freed");
	json_decref(array);
	(void)snprintf(words, sizeof(words), "--capacity 24M -a caching %s/a.csv", command_folder);
	struct outcome outcome = command_run(words);
	cr_assert_eq(outcome.status, 0);
	cr_assert_not_null(strstr(outcome.out, "OUT OF MEMORY"), "%s", outcome.out);
	command_drop(&outcome);
}

Test(cmd_replay, a_device_too_small_is_a_mistake_and_the_result_is_printed)
{
	static const struct {
		const char *words;
		int status;
		const char *line; /* part of it */
	} rows[] = {
		{"--capacity 16M -a seam", 1,
			"the capacity is too small: 21.00 MiB are live at the peak, and the device has 16.00 MiB"},
		{"--capacity 16M -a caching,direct", 1, "too small"},
		{"--conf capacity_bytes:16M -a seam,caching", 1,
			"seam ran out of memory (21.00 MiB are live at the peak)"},
		{"--conf capacity_bytes:16M -a caching", 0, ""},
		{"--capacity 50% -a direct", 1, "too small"},
	};
	const char *path = command_write_file("a.csv", lifetimes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char words[300];
		(void)snprintf(words, sizeof(words), "%s %s", rows[i].words, path);
		struct outcome outcome = command_run(words);
		cr_assert_eq(outcome.status, rows[i].status, "%s: %d", words, outcome.status);
		cr_assert_not_null(strstr(outcome.errors, rows[i].line), "%s: %s", words, outcome.errors);
		const char *newline = strchr(outcome.errors, '\n');
		cr_assert(newline == NULL || newline[1] == '\0', "%s: one line: %s", words, outcome.errors);
		cr_assert_not_null(strstr(outcome.out, "a.csv"), "%s: %s", words, outcome.out);
		command_drop(&outcome);
	}
}

Test(cmd_replay, the_table_names_each_trace_once)
{
	char words[200];
	(void)command_write_file("b.csv", lifetimes);
	(void)snprintf(words, sizeof(words), "-a caching,direct %s %s/b.csv", command_write_file("a.csv", lifetimes),
		command_folder);
	struct outcome outcome = command_run(words);
	cr_assert_eq(outcome.status, 0, "%s", outcome.errors);
	const char *a = strstr(outcome.out, "a.csv");
	cr_assert_not_null(a, "%s", outcome.out);
	cr_assert_null(strstr(a + 1, "a.csv"));
	cr_assert_not_null(strstr(a, "b.csv"));
	cr_assert_not_null(strstr(outcome.out, "34.00 MiB"), "%s", outcome.out);
	command_drop(&outcome);
}

Test(cmd_replay, contents_are_checked_in_real_memory_and_calls_stay_the_same)
{
	char words[300];
	static const char with_streams[] =
		"id,lower,upper,size,stream\na,0,5,4194304,0\nr,1,9,700,1\nb,2,6,12582912,1\nc,5,8,3,0\nd,6,9,5242880,2\n";
	(void)command_write_file("s.csv", with_streams);
	static const char *const kinds[] = {"real", "strict", "book"};
	json_t *arrays[3];
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(words, sizeof(words), "-n 4 --conf deterministic:1 --memory %s %s/s.csv", kinds[i],
			command_folder);
		arrays[i] = command_run_json(words);
	}
	for (size_t i = 0; i < 4; i++) {
		const json_t *real = json_array_get(arrays[0], i);
		const json_t *strict = json_array_get(arrays[1], i);
		const json_t *book = json_array_get(arrays[2], i);
		cr_assert_str_eq(json_text(real, "device"), "emu (real)");
		cr_assert_str_eq(json_text(strict, "device"), "emu (strict)");
		cr_assert_str_eq(json_text(book, "device"), "emu (book)");
		cr_assert(json_equal(json_object_get(real, "driver_calls"), json_object_get(strict, "driver_calls")),
			"%s", json_text(real, "allocator"));
		cr_assert_eq(json_long(real, "requests"), json_long(book, "requests"));
		if (i > 0) /* where work is pending, seam may rather grow */
			cr_assert(json_equal(
					  json_object_get(real, "driver_calls"), json_object_get(book, "driver_calls")),
				"%s", json_text(real, "allocator"));
	}
	struct outcome outcome;
	for (size_t i = 0; i < 3; i++) {
		json_decref(arrays[i]);
		(void)snprintf(words, sizeof(words), "--memory %s %s/s.csv", kinds[i], command_folder);
		outcome = command_run(words);
		static const char contents[] =
			"contents: every block kept its own, checked in full (84.00 MiB compared)";
		cr_assert((strstr(outcome.out, contents) != NULL) == (i < 2), "%s: %s", kinds[i], outcome.out);
		command_drop(&outcome);
	}
	(void)snprintf(words, sizeof(words), "--memory pages -a direct %s/s.csv", command_folder);
	outcome = command_run(words);
	/* Two pages of each of 11 pieces of 2 MiB, or of what is left of one, and two small blocks. */
	static const char pages[] = "the first and last page of every 2 MiB (88.69 KiB compared)";
	cr_assert_not_null(strstr(outcome.out, pages), "%s", outcome.out);
	command_drop(&outcome);
}

Test(cmd_replay, mistakes_get_one_clear_line_and_a_status)
{
	static const struct {
		const char *words; /* %s: the folder */
		int status;
		const char *line; /* part of it */
	} rows[] = {
		{"", 2, "no trace is named"},
		{"-a caching,sea %s/a.csv", 2, "no such allocator: 'sea'"},
		{"-a caching,caching %s/a.csv", 2, "named twice"},
		{"-a '' %s/a.csv", 2, "no allocator is named"},
		{"-n 0 %s/a.csv", 2, "not a number of iterations: '0'"},
		{"-n x %s/a.csv", 2, "not a number of iterations: 'x'"},
		{"--capacity 3Q %s/a.csv", 2, "not a size: '3Q'"},
		{"--capacity 0 %s/a.csv", 2, "not a size: '0'"},
		{"--capacity 0% %s/a.csv", 2, "not a share between 1% and 10000%: '0%'"},
		{"--memory none %s/a.csv", 2, "no such kind of memory: 'none'"},
		{"--device gpu %s/a.csv", 2, "no such device: 'gpu'"},
		{"--conf chunk:2M %s/a.csv", 2, "chunk"},
		{"--wrong %s/a.csv", 2, "--wrong"},
		{"--device cuda --memory book %s/a.csv", 1, "a GPU has no bookkeeping memory"},
		{"--device cuda --costs x %s/a.csv", 1, "a GPU has no cost file"},
		{"--costs /nonexistent/costs %s/a.csv", 1, "/nonexistent/costs"},
		{"%s/none.csv", 1, "none.csv"},
		{"%s/bad.csv", 1, "bad.csv"},
		{"%s/head.csv", 1, "head.csv: no allocation is recorded in it"},
		{"%s", 1, "seam-test"},
	};
	(void)command_write_file("a.csv", lifetimes);
	(void)command_write_file("bad.csv", "id,lower,upper,size\na,5,2,100\n");
	(void)command_write_file("head.csv", "id,lower,upper,size\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char words[300];
		const char *place = strstr(rows[i].words, "%s");
		if (place == NULL)
			(void)snprintf(words, sizeof(words), "%s", rows[i].words);
		else
			(void)snprintf(words, sizeof(words), "%.*s%s%s", (int)(place - rows[i].words), rows[i].words,
				command_folder, place + 2);
		struct outcome outcome = command_run(words);
		cr_assert_eq(outcome.status, rows[i].status, "%s: %d, %s", words, outcome.status, outcome.errors);
		cr_assert_not_null(strstr(outcome.errors, rows[i].line), "%s: %s", words, outcome.errors);
		const char *newline = strchr(outcome.errors, '\n');
		cr_assert(newline != NULL && newline[1] == '\0', "%s: one line: %s", words, outcome.errors);
		cr_assert_str_eq(outcome.out, "", "%s", words);
		command_drop(&outcome);
	}
}

Test(cmd_replay, driver_time_is_by_the_cost_file)
{
	char words[400];
	double ms[2];
	(void)command_write_file("a.csv", lifetimes);
	(void)command_write_file("second", "# a second\ndirect_alloc 1000000000 0 0\n");
	(void)command_write_file("nothing", "direct_alloc 0 0 0\n");
	long long calls = 0;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(words, sizeof(words), "-a direct --costs %s/%s %s/a.csv", command_folder,
			i == 0 ? "nothing" : "second", command_folder);
		json_t *array = command_run_json(words);
		const json_t *result = json_array_get(array, 0);
		ms[i] = json_double(result, "driver_ms_estimated");
		calls = json_long(json_object_get(result, "driver_calls"), "direct_alloc");
		json_decref(array);
	}
	cr_assert_gt(calls, 0);
	cr_assert_float_eq(ms[1] - ms[0], (double)calls * 1000, 0.001, "%f and %f", ms[0], ms[1]);
}

Test(cmd_replay, a_trace_that_cannot_be_read_is_passed_over)
{
	char words[300];
	(void)command_write_file("bad.csv", "id,lower\n");
	(void)snprintf(words, sizeof(words), "-a caching %s/bad.csv %s", command_folder,
		command_write_file("a.csv", lifetimes));
	struct outcome outcome = command_run(words);
	cr_assert_eq(outcome.status, 1);
	cr_assert_not_null(strstr(outcome.out, "a.csv"));
	cr_assert_not_null(strstr(outcome.errors, "bad.csv"));
	command_drop(&outcome);
}
