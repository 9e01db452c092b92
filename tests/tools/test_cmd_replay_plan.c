/* test_cmd_replay_plan.c: `seam replay` with plans and disturbed programs, from end to end. SEAM_COMMAND names the
 * program. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay_command.h"

#define REQUESTS 400

TestSuite(cmd_replay_plan, .init = command_make_folder, .fini = command_remove_folder);

/* A program of one iteration: two residents, and REQUESTS requests of different sizes that come and go. */
static void write_program(const char *name, long long first_bytes)
{
	static char text[REQUESTS * 40];
	size_t used =
		(size_t)snprintf(text, sizeof(text), "id,lower,upper,size\nr0,0,9000,3145728\nr1,1,9000,700000\n");
	for (int i = 0; i < REQUESTS; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "b%d,%d,%d,%lld\n", i, 10 + i * 10,
			15 + i * 10 + i % 7 * 20, first_bytes + i % 13 * 300000LL + i);
	(void)command_write_file(name, text);
}

/* Runs another command of `seam` with these words behind `cd` into the folder; its status. */
static int seam(const char *words)
{
	char line[600];
	(void)snprintf(line, sizeof(line), "cd '%s' && '%s' %s >/dev/null 2>&1", command_folder, getenv("SEAM_COMMAND"),
		words);
	return system(line);
}

/* program.csv, the same repeated, and a plan of it. */
static void write_plan(void)
{
	write_program("program.csv", 1000000);
	cr_assert_eq(seam("convert -q -n 4 program.csv program.seamtrace"), 0);
	cr_assert_eq(seam("plan --align 512 --period find --node-limit 20000 program.seamtrace -o program.plan"), 0);
}

/* The one object of a run of program.csv with these words (of which the first %s is the folder). */
static json_t *run_program(const char *words)
{
	char all[600];
	char first[400];
	(void)snprintf(first, sizeof(first), words, command_folder);
	(void)snprintf(all, sizeof(all), "-n 8 %s %s/program.csv", first, command_folder);
	json_t *array = command_run_json(all);
	cr_assert_eq(json_array_size(array), 1, "with a plan only seam runs");
	json_t *object = json_incref(json_array_get(array, 0));
	json_decref(array);
	return object;
}

static long long at(const json_t *object, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(object, key), i));
}

Test(cmd_replay_plan, a_plan_from_a_file_serves_once_what_stays_is_there)
{
	write_plan();
	json_t *object = run_program("--plan %s/program.plan");
	cr_expect_str_eq(json_text(object, "plan"), "file");
	cr_expect_eq(json_long(object, "adopted_at_iteration"), 0);
	cr_expect_eq(json_long(object, "plan_adoptions"), 1);
	cr_expect_gt(json_long(object, "plan_hits"), 6 * REQUESTS);
	cr_expect_eq(json_long(object, "plan_hits_last_iteration"), REQUESTS);
	cr_expect_eq(json_long(object, "requests_last_iteration"), REQUESTS);
	for (size_t i = 2; i < 8; i++)
		cr_expect_eq(at(object, "memory_calls_by_iteration", i), 0, "iteration %zu", i);
	double expected =
		json_double(object, "peak_live_planned_bytes") / json_double(object, "peak_reserved_planned_bytes");
	cr_expect_float_eq(json_double(object, "efficiency_planned"), expected, 1e-9);
	cr_expect_leq(json_long(object, "peak_reserved_planned_bytes"), json_long(object, "peak_reserved_bytes"));
	json_decref(object);
}

/* What the plan's peaks are is known once an iteration has ended since it served all of one. */
Test(cmd_replay_plan, the_efficiency_of_a_plan_that_came_last_is_not_known)
{
	unsigned known = 0, served = 0;
	for (unsigned n = 2; n <= 8 && known == 0; n++) {
		char words[300];
		(void)snprintf(words, sizeof(words),
			"-n %u --plan auto --host-ns 100000 --conf deterministic:1 '" BUNDLED
			"/gpt2-345m.seamtrace.zst'",
			n);
		json_t *array = command_run_json(words);
		const json_t *object = json_array_get(array, 0);
		if (!json_is_null(json_object_get(object, "efficiency_planned")))
			known = n;
		else if (served == 0 &&
			json_long(object, "plan_hits_last_iteration") == json_long(object, "requests_last_iteration"))
			served = n;
		json_decref(array);
	}
	cr_expect_gt(served, 0, "it served all, and nothing was known");
	cr_expect_gt(
		known, served, "it is measured in an iteration behind the first that it served: %u, %u", served, known);
	cr_expect_leq(known, served + 2, "%u, %u", served, known);
}

/* What is returned for the peaks is taken anew in other places: a run that is compared with one without a plan does
 * without. */
Test(cmd_replay_plan, nothing_is_returned_for_the_peaks_where_that_is_said)
{
	static const char *const words[] = {"", "--no-trim "};
	bool releases[2];
	for (unsigned i = 0; i < 2; i++) {
		char line[300];
		(void)snprintf(line, sizeof(line),
			"%s-n 8 --plan auto --host-ns 100000 --conf deterministic:1 '" BUNDLED
			"/gpt2-345m.seamtrace.zst'",
			words[i]);
		json_t *array = command_run_json(line);
		const json_t *object = json_array_get(array, 0);
		releases[i] = json_object_get(json_object_get(object, "driver_calls"), "mem_release") != NULL;
		cr_expect(json_is_number(json_object_get(object, "efficiency_planned")), "measured all the same");
		cr_expect_leq(
			json_long(object, "peak_reserved_planned_bytes"), json_long(object, "peak_reserved_bytes"));
		json_decref(array);
	}
	cr_expect(releases[0]);
	cr_expect_not(releases[1]);
}

/* Of as much memory as the program takes without a plan, and of a per cent more. */
Test(cmd_replay_plan, nothing_is_learnt_where_the_device_has_no_room_for_what_a_plan_may_cost)
{
	static const char *const trace = BUNDLED "/gpt2-345m.seamtrace.zst";
	char words[400];
	(void)snprintf(words, sizeof(words), "-n 8 --allocator seam --conf plan:off '%s'", trace);
	json_t *array = command_run_json(words);
	const long long without_bytes = json_long(json_array_get(array, 0), "peak_reserved_bytes");
	json_decref(array);
	for (unsigned percent = 0; percent <= 1; percent++) {
		(void)snprintf(words, sizeof(words),
			"-n 8 --plan auto --host-ns 100000 --conf deterministic:1 --capacity %lld '%s'",
			without_bytes + without_bytes / 100 * percent, trace);
		array = command_run_json(words);
		const json_t *object = json_array_get(array, 0);
		cr_expect_eq(json_long(object, "plan_adoptions"), percent, "%u", percent);
		cr_expect_leq(json_long(object, "peak_reserved_bytes"), without_bytes, "%u", percent);
		json_decref(array);
	}
}

/* A bundled trace: of a small program, whose memory is a few chunks, no plan may be worth it. */
Test(cmd_replay_plan, a_plan_is_learnt_while_the_program_runs)
{
	json_t *array = command_run_json(
		"--plan auto --host-ns 100000 --conf deterministic:1 -n 8 '" BUNDLED "/gpt2-345m.seamtrace.zst'");
	const json_t *object = json_array_get(array, 0);
	cr_expect_str_eq(json_text(object, "plan"), "auto");
	cr_expect_geq(json_long(object, "adopted_after_steps"), 2, "after two that match");
	const size_t steps = json_array_size(json_object_get(object, "memory_calls_by_step"));
	for (size_t i = (size_t)json_long(object, "adopted_after_steps") + 1; i < steps; i++)
		cr_expect_eq(at(object, "memory_calls_by_step", i), 0,
			"step %zu: what is returned for the peaks is nobody's of the program", i);
	cr_expect_eq(json_long(object, "memory_calls_last_iteration"), 0);
	cr_expect_eq(json_long(object, "plan_hits_last_iteration"), json_long(object, "requests_last_iteration"));
	cr_expect_leq(
		json_double(object, "peak_reserved_planned_bytes"), json_double(object, "peak_live_bytes") * 1.01);
	cr_expect_gt(json_long(object, "background_steps"), 0);
	cr_expect_gt(json_double(object, "background_driver_ms"), 0.0);
	cr_expect_geq(json_double(object, "background_hidden"), 0.0);
	cr_expect_leq(json_double(object, "background_hidden"), 1.0);
	cr_expect_geq(json_double(object, "host_ms"), 0.02 * 8 * json_double(object, "requests_last_iteration") * 0.9,
		"a request and its free are 20 us of the program");
	json_decref(array);
}

/* What is found a place for takes a search; the median of what has one would be lost in it. */
Test(cmd_replay_plan, what_depends_on_data_is_timed_apart)
{
	json_t *array = command_run_json(
		"--plan auto --host-ns 100000 --conf deterministic:1 -n 3 '" BUNDLED "/moe-qwen.seamtrace.zst'");
	const json_t *object = json_array_get(array, 0);
	cr_assert_gt(json_long(object, "plan_dynamic_hits"), 0);
	cr_assert_gt(json_long(object, "plan_hits"), json_long(object, "plan_dynamic_hits"));
	cr_expect_gt(json_double(object, "dynamic_alloc_ns_p50"), 0.0);
	cr_expect_gt(json_double(object, "planned_alloc_ns_p50"), 0.0);
	json_decref(array);
	array = command_run_json(
		"--plan auto --host-ns 100000 --conf deterministic:1 -n 8 '" BUNDLED "/gpt2-345m.seamtrace.zst'");
	object = json_array_get(array, 0);
	cr_assert_eq(json_long(object, "plan_dynamic_hits"), 0);
	cr_expect(json_is_null(json_object_get(object, "dynamic_alloc_ns_p50")));
	cr_expect_gt(json_double(object, "planned_alloc_ns_p50"), 0.0);
	json_decref(array);
}

Test(cmd_replay_plan, causes_add_up_and_contents_survive_what_the_plan_did_not_expect)
{
	static const char *const ways[] = {"extra", "drop", "swap", "late", "size", "eval", "checkpoint", "shapes",
		"wide", "threads", "streams", "extra+eval"};
	write_plan();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char words[200];
		(void)snprintf(words, sizeof(words),
			"--plan %%s/program.plan --memory pages -n 4 --perturb %s --seed 3", ways[i]);
		json_t *object = run_program(words);
		const json_t *causes = json_object_get(object, "plan_misses_by_cause");
		const char *key;
		json_t *value;
		long long sum = 0;
		json_object_foreach((json_t *)(void *)causes, key, value) sum += json_integer_value(value);
		cr_expect_eq(sum, json_long(object, "plan_misses"), "%s: %lld", ways[i], sum);
		cr_expect(json_is_false(json_object_get(object, "oom")), "%s", ways[i]);
		json_decref(object);
	}
}

Test(cmd_replay_plan, what_is_disturbed_depends_on_the_seed)
{
	write_program("program.csv", 1000000);
	long long bytes[3];
	static const char *const seeds[] = {"1", "1", "2"};
	for (size_t i = 0; i < 3; i++) {
		char words[300];
		(void)snprintf(words, sizeof(words), "-n 4 -a direct --perturb wide --seed %s %s/program.csv", seeds[i],
			command_folder);
		json_t *array = command_run_json(words);
		bytes[i] = json_long(json_array_get(array, 0), "peak_reserved_bytes");
		json_decref(array);
	}
	cr_expect_eq(bytes[0], bytes[1]);
	cr_expect_neq(bytes[0], bytes[2]);
}

Test(cmd_replay_plan, the_table_says_what_the_plan_did)
{
	char words[300];
	write_plan();
	(void)snprintf(
		words, sizeof(words), "-n 4 --plan %s/program.plan %s/program.csv", command_folder, command_folder);
	struct outcome outcome = command_run(words);
	cr_assert_eq(outcome.status, 0, "%s", outcome.errors);
	cr_expect_not_null(strstr(outcome.out, "program.csv: plan in use from the start; served "), "%s", outcome.out);
	cr_expect_not_null(
		strstr(outcome.out, "of a plan: peak live, rounded up to 2 MiB, / peak reserved"), "%s", outcome.out);
	command_drop(&outcome);
	(void)snprintf(words, sizeof(words), "-a seam %s/program.csv", command_folder);
	outcome = command_run(words);
	cr_expect_null(strstr(outcome.out, "of a plan:"), "without a plan nothing is said of one: %s", outcome.out);
	command_drop(&outcome);
}

Test(cmd_replay_plan, mistakes_get_one_clear_line_and_a_status)
{
	static const struct {
		const char *words; /* every @ is the folder */
		int status;
		const char *line; /* part of it */
	} rows[] = {
		{"--plan @/none.plan @/program.csv", 1, "none.plan"},
		{"--plan @/program.csv @/program.csv", 1, "program.csv"},
		{"--plan @/line.plan @/program.csv", 1, "line.plan: a plan of something that happens once"},
		{"--plan @/fine.plan @/program.csv", 1, "fine.plan: its addresses are not multiples of 512"},
		{"-n 2 --plan @/program.plan @/other.csv", 1, "program.plan is a plan of another program"},
		{"--plan auto -a caching @/program.csv", 2, "only seam runs with a plan"},
		{"--perturb exta @/program.csv", 2, "no such way to disturb a program: 'exta'"},
		{"--perturb extra+ @/program.csv", 2, "'extra+'"},
		{"--seed x @/program.csv", 2, "not a seed: 'x'"},
		{"--host-ns -1 @/program.csv", 2, "not a number of nanoseconds: '-1'"},
	};
	write_plan();
	write_program("other.csv", 2000000);
	cr_assert_eq(seam("plan --period whole --node-limit 20000 program.csv -o line.plan"), 0);
	cr_assert_eq(seam("plan --period find --node-limit 20000 program.seamtrace -o fine.plan"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char words[400] = "";
		for (const char *c = rows[i].words; *c != '\0'; c++) {
			size_t used = strlen(words);
			(void)snprintf(words + used, sizeof(words) - used, "%.*s", *c == '@' ? 99 : 1,
				*c == '@' ? command_folder : c);
		}
		struct outcome outcome = command_run(words);
		cr_expect_eq(outcome.status, rows[i].status, "%s: %d", words, outcome.status);
		cr_expect_not_null(strstr(outcome.errors, rows[i].line), "%s: %s", words, outcome.errors);
		const char *newline = strchr(outcome.errors, '\n');
		cr_expect(newline != NULL && newline[1] == '\0', "%s: one line: %s", words, outcome.errors);
		cr_expect_str_eq(outcome.out, "", "%s", words);
		command_drop(&outcome);
	}
}
