/* test_cmd_what_if.c: the command `seam what-if` from end to end: verdicts on both sides of what is known, its JSON
 * against its schema, its words, its exit statuses. SEAM_COMMAND names the program.
 */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "json_schema.h"
#include "machines.h"
#include "replay_command.h"

#define MIB 1048576LL
#define POLICIES 3

static const char *const policies[POLICIES] = {"native", "expandable", "seam"};

TestSuite(cmd_what_if, .init = command_make_folder, .fini = command_remove_folder);

/* Two blocks of 4 MiB, of which one stays, and one of 13 MiB: 21 live; native takes 20 and 14, expandable 40. */
static const char lifetimes[] = "id,lower,upper,size\na,0,5,4194304\nr,1,9,4194304\nb,2,6,13631488\n";

__attribute__((format(printf, 1, 2))) static struct outcome run(const char *format, ...)
{
	char words[1500] = "what-if ";
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(words + strlen(words), sizeof(words) - strlen(words), format, arguments);
	va_end(arguments);
	return command_any(words);
}

/* The answers, which obey the schema; the status is what they say. */
static json_t *answers_of(struct outcome outcome, size_t count)
{
	cr_assert(outcome.status == 0 || outcome.status == 1, "%d: %s", outcome.status, outcome.errors);
	cr_assert_str_empty(outcome.errors);
	json_t *array = command_read_json(&outcome);
	json_schema_check(array, WHAT_IF_SCHEMA);
	cr_assert_eq(json_array_size(array), count);
	command_drop(&outcome);
	return array;
}

static bool fits(const json_t *answer)
{
	return json_is_true(json_object_get(answer, "fits"));
}

/* Rules that every answer obeys. */
static void assert_sound(const json_t *answer, const char *where)
{
	const json_t *reserved = json_object_get(answer, "reserved_bytes");
	const json_t *needs = json_object_get(answer, "needs_bytes");
	long long usable = json_long(answer, "usable_bytes");
	long long peak = json_long(answer, "peak_live_bytes");
	cr_assert_eq(fits(answer), !json_is_nothing(reserved, "seam"), "%s", where);
	cr_assert_eq(fits(answer), json_is_nothing(answer, "fails_at"), "%s", where);
	for (size_t i = 0; i < POLICIES; i++) {
		bool is_there = !json_is_nothing(reserved, policies[i]);
		cr_assert_geq(json_long(needs, policies[i]), peak, "%s: %s", where, policies[i]);
		if (usable < peak)
			cr_assert_not(is_there, "%s: %s on less than lives", where, policies[i]);
		if (is_there)
			cr_assert_leq(json_long(reserved, policies[i]), usable, "%s: %s", where, policies[i]);
	}
}

static json_t *ask_capacity(const char *trace, long long capacity)
{
	struct outcome outcome = run("--json --capacity %lld '%s'", capacity, trace);
	int status = outcome.status;
	json_t *array = answers_of(outcome, 1);
	const json_t *answer = json_array_get(array, 0);
	assert_sound(answer, trace);
	cr_assert_eq(status, fits(answer) ? 0 : 1);
	cr_assert_eq(json_long(answer, "capacity_bytes"), capacity);
	cr_assert_eq(json_long(answer, "usable_bytes"), capacity, "nothing is taken off");
	cr_assert(json_is_nothing(answer, "gpu"));
	return array;
}

static bool fits_at(const char *trace, long long capacity)
{
	json_t *array = ask_capacity(trace, capacity);
	bool is_fit = fits(json_array_get(array, 0));
	json_decref(array);
	return is_fit;
}

/* Peaks are those of bench/traces/README.md. */
Test(cmd_what_if, bundled_traces_fit_from_what_they_need_on, .timeout = 200)
{
	static const struct {
		const char *name;
		long long peak_bytes;
	} rows[] = {
		{"gpt2-124m-amp", 9218185512},
		{"gpt2-345m", 14818513480},
		{"llama2-7b-lora", 23492764296},
		{"moe-qwen", 30307176708},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char trace[500];
		(void)snprintf(trace, sizeof(trace), "%s/%s.seamtrace.zst", BUNDLED, rows[i].name);
		json_t *below = ask_capacity(trace, rows[i].peak_bytes - 1);
		const json_t *answer = json_array_get(below, 0);
		cr_assert_eq(json_long(answer, "peak_live_bytes"), rows[i].peak_bytes);
		cr_assert_not(fits(answer), "%s on a byte less than lives", rows[i].name);
		long long needs = json_long(json_object_get(answer, "needs_bytes"), "seam");
		cr_assert_lt(needs, rows[i].peak_bytes / 100 * 101, "%s: within 1 %% of what lives", rows[i].name);
		json_decref(below);
		cr_assert(fits_at(trace, needs), "%s fits into what it needs", rows[i].name);
	}
}

Test(cmd_what_if, what_fits_fits_on_every_larger_device, .timeout = 200)
{
	const char *trace = BUNDLED "/gpt2-345m-recompute.seamtrace.zst";
	const long long peak_bytes = 9070075912;
	bool fitted[POLICIES] = {false};
	for (long long percent = 99; percent <= 117; percent += 3) {
		json_t *array = ask_capacity(trace, peak_bytes / 100 * percent);
		const json_t *answer = json_array_get(array, 0);
		for (size_t i = 0; i < POLICIES; i++) {
			bool is_fit = !json_is_nothing(json_object_get(answer, "reserved_bytes"), policies[i]);
			cr_expect(is_fit || !fitted[i], "%s at %lld %%, as it fits on less", policies[i], percent);
			fitted[i] = is_fit;
		}
		json_decref(array);
	}
	for (size_t i = 0; i < POLICIES; i++)
		cr_assert(fitted[i], "%s at last", policies[i]);
}

Test(cmd_what_if, verdicts_are_those_of_the_three_rules)
{
	static const struct {
		long long mib;
		bool is_fit[POLICIES];
	} rows[] = {{20, {false, false, false}}, {24, {false, false, true}}, {36, {true, false, true}},
		{40, {true, true, true}}};
	const char *trace = command_write_file("a.csv", lifetimes);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *array = ask_capacity(trace, rows[i].mib * MIB);
		const json_t *reserved = json_object_get(json_array_get(array, 0), "reserved_bytes");
		for (size_t k = 0; k < POLICIES; k++)
			cr_assert_eq(!json_is_nothing(reserved, policies[k]), rows[i].is_fit[k], "%lld MiB: %s",
				rows[i].mib, policies[k]);
		const json_t *needs = json_object_get(json_array_get(array, 0), "needs_bytes");
		cr_assert_eq(json_long(needs, "native"), 34 * MIB);
		cr_assert_eq(json_long(needs, "expandable"), 40 * MIB);
		cr_assert_str_eq(json_text(json_array_get(array, 0), "trace"), trace);
		json_decref(array);
	}
}

Test(cmd_what_if, says_in_words_who_fits_and_where_the_others_fail)
{
	const char *trace = command_write_file("a.csv", lifetimes);
	struct outcome outcome = run("--capacity 24M '%s'", trace);
	cr_assert_eq(outcome.status, 0);
	cr_assert_str_empty(outcome.errors);
	static const char *const words[] = {"a.csv: 3 requests, 21.00 MiB live at the peak\n",
		"a device of 24.00 MiB\n", "native      does not fit: needs 34.00 MiB\n",
		"runs out at request 3 of 3 for 13.00 MiB, with 8.00 MiB live and 20.00 MiB reserved\n",
		"Seam        fits: ", "It fits with Seam, and with neither of PyTorch's two.\n"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cr_assert_not_null(strstr(outcome.out, words[i]), "'%s' in: %s", words[i], outcome.out);
	command_drop(&outcome);
	outcome = run("--capacity 20M '%s'", trace);
	cr_assert_eq(outcome.status, 1);
	cr_assert_not_null(strstr(outcome.out, "No allocator can serve it: 1.00 MiB more live"), "%s", outcome.out);
	cr_assert_null(strstr(outcome.out, "It fits with Seam"));
	command_drop(&outcome);
}

Test(cmd_what_if, says_where_in_the_program)
{
	struct outcome outcome = run("--json --capacity 14397M %s/llama2-7b-lora.seamtrace.zst", BUNDLED);
	json_t *array = answers_of(outcome, 1);
	const char *text = json_text(json_array_get(array, 0), "fails_at");
	cr_assert_not_null(strstr(text, " of 10610 for 86.00 MiB, with 14."), "%s", text);
	cr_assert_not_null(strstr(text, "; step 1, phase forward, in blocks.8.feed"), "%s", text);
	json_decref(array);
}

Test(cmd_what_if, snapshots_count_with_what_lived_before)
{
	const char *snapshot = SNAPSHOTS "/times.pickle";
	json_t *array = ask_capacity(snapshot, 100 * MIB);
	const json_t *answer = json_array_get(array, 0);
	cr_assert_eq(json_long(answer, "peak_live_bytes"), 24560351);
	cr_assert(fits(answer));
	const json_t *unseen = json_object_get(answer, "unseen");
	cr_assert_eq(json_array_size(unseen), 1, "it ran out of memory itself");
	cr_assert_not_null(strstr(json_string_value(json_array_get(unseen, 0)), "1.00 TiB"));
	json_decref(array);
	array = ask_capacity(snapshot, MIB);
	const char *text = json_text(json_array_get(array, 0), "fails_at");
	cr_assert_not_null(strstr(text, "request 1 of 11"), "%s", text);
	cr_assert_not_null(strstr(text, "; live before the recording began"), "%s", text);
	json_decref(array);
}

Test(cmd_what_if, a_byte_of_memory_is_an_answer)
{
	json_t *array = ask_capacity(command_write_file("a.csv", lifetimes), 1);
	cr_assert_not(fits(json_array_get(array, 0)));
	json_decref(array);
}

Test(cmd_what_if, gpus_have_their_memory_less_the_context)
{
	struct outcome outcome = run("--json --gpu T4,h100 %s/gpt2-345m.seamtrace.zst", BUNDLED);
	cr_assert_eq(outcome.status, 0, "it fits on one of them");
	json_t *array = answers_of(outcome, 2);
	static const char *const names[] = {"t4", "h100"};
	for (size_t i = 0; i < 2; i++) {
		const json_t *answer = json_array_get(array, i);
		const struct seam_machine *machine = seam__machine_find(names[i]);
		assert_sound(answer, names[i]);
		cr_assert_str_eq(json_text(answer, "gpu"), names[i], "in the order asked for");
		cr_assert_eq(json_long(answer, "capacity_bytes"), (long long)machine->memory_bytes);
		cr_assert_eq(
			json_long(answer, "usable_bytes"), (long long)(machine->memory_bytes - machine->context_bytes));
	}
	const json_t *reserved = json_object_get(json_array_get(array, 0), "reserved_bytes");
	cr_assert(json_is_nothing(reserved, "native"), "it takes 15.68 GiB where it can, and there are 14.06");
	cr_assert(fits(json_array_get(array, 0)), "13.82 GiB do");
	json_decref(array);
}

Test(cmd_what_if, several_traces_have_a_section_each)
{
	char first[100];
	(void)snprintf(first, sizeof(first), "%s", command_write_file("a.csv", lifetimes));
	const char *second = command_write_file("b.csv", "id,lower,upper,size\na,0,5,41943040\n");
	struct outcome outcome = run("--json --capacity 24M '%s' '%s'", first, second);
	cr_assert_eq(outcome.status, 1, "one fits nowhere");
	json_t *array = answers_of(outcome, 2);
	cr_assert_str_eq(json_text(json_array_get(array, 0), "trace"), first);
	cr_assert_str_eq(json_text(json_array_get(array, 1), "trace"), second);
	cr_assert(fits(json_array_get(array, 0)));
	cr_assert_not(fits(json_array_get(array, 1)));
	json_decref(array);
	outcome = run("--capacity 24M '%s' '%s'", first, second);
	cr_assert_not_null(
		strstr(outcome.out, "\n\nb.csv: 1 requests, 40.00 MiB live at the peak\n"), "%s", outcome.out);
	command_drop(&outcome);
	outcome = run("--capacity 48M '%s' '%s'", first, second);
	cr_assert_eq(outcome.status, 0);
	command_drop(&outcome);
}

/* One line, nothing on standard output. */
static void assert_no_answer(struct outcome outcome, const char *word)
{
	cr_expect_eq(outcome.status, 2, "%s: %d", word, outcome.status);
	cr_expect_str_empty(outcome.out);
	cr_expect_not_null(strstr(outcome.errors, word), "'%s' in: %s", word, outcome.errors);
	const char *end = strchr(outcome.errors, '\n');
	cr_expect(end != NULL && end[1] == '\0', "one line: %s", outcome.errors);
	command_drop(&outcome);
}

Test(cmd_what_if, what_cannot_be_answered_is_one_line)
{
	char trace[100];
	(void)snprintf(trace, sizeof(trace), "%s", command_write_file("a.csv", lifetimes));
	assert_no_answer(run("--gpu rtx409 '%s'", trace), "no such GPU: 'rtx409'; known are rtx3090, ");
	assert_no_answer(run("--gpu t4,T4 '%s'", trace), "named twice");
	assert_no_answer(run("--gpu , '%s'", trace), "no device is named");
	assert_no_answer(run("'%s'", trace), "no device is named");
	assert_no_answer(run("--gpu t4 --capacity 1G '%s'", trace), "one --capacity, or GPUs");
	assert_no_answer(run("--capacity 1G --capacity 2G '%s'", trace), "one --capacity, or GPUs");
	assert_no_answer(run("--capacity 0 '%s'", trace), "not a size: '0'");
	assert_no_answer(run("--capacity 105%% '%s'", trace), "not a size");
	assert_no_answer(run("--gpu t4"), "no trace is named");
	assert_no_answer(run("--gpu t4 --conf frob:1 '%s'", trace), "frob:1");
	assert_no_answer(run("--gpu t4 --frob '%s'", trace), "--frob");
	assert_no_answer(run("--gpu t4 %s/none", command_folder), "No such file");
	assert_no_answer(run("--gpu t4 '%s'", command_write_file("text", "once upon a time\n")), "text: ");
	assert_no_answer(
		run("--gpu t4 '%s'", command_write_file("b.csv", "id,lower,upper,size\n")), "b.csv: no allocation");
}

Test(cmd_what_if, a_file_without_an_answer_does_not_hide_the_others)
{
	struct outcome outcome =
		run("--capacity 1G %s/none '%s'", command_folder, command_write_file("a.csv", lifetimes));
	cr_assert_eq(outcome.status, 2);
	cr_assert_not_null(strstr(outcome.out, "a.csv: 3 requests"), "%s", outcome.out);
	cr_assert_not_null(strstr(outcome.errors, "none: No such file"), "%s", outcome.errors);
	command_drop(&outcome);
}

Test(cmd_what_if, the_configuration_is_seam_s)
{
	const char *trace = command_write_file("a.csv", lifetimes);
	struct outcome outcome = run("--json --conf capacity_bytes:8M --capacity 1G '%s'", trace);
	json_t *array = answers_of(outcome, 1);
	const json_t *reserved = json_object_get(json_array_get(array, 0), "reserved_bytes");
	cr_assert(json_is_nothing(reserved, "seam"), "the pool may take 8 MiB");
	cr_assert_eq(json_long(reserved, "native"), 34 * MIB);
	json_decref(array);
}
