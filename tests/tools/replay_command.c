/* replay_command.c: runs commands and reads what they printed. */
#include "replay_command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

char command_folder[] = "/tmp/seam-test-XXXXXX";

void command_make_folder(void)
{
	cr_assert_not_null(mkdtemp(command_folder));
	cr_assert_eq(unsetenv("SEAM_CONF"), 0);
}

void command_remove_folder(void)
{
	char command[200];
	(void)snprintf(command, sizeof(command), "rm -r '%s'", command_folder);
	cr_assert_eq(system(command), 0);
}

const char *command_write_file(const char *name, const char *content)
{
	static char path[100];
	(void)snprintf(path, sizeof(path), "%s/%s", command_folder, name);
	FILE *file = fopen(path, "w");
	cr_assert_not_null(file);
	cr_assert_geq(fputs(content, file), 0);
	cr_assert_eq(fclose(file), 0);
	return path;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	cr_assert_not_null(file);
	char *text = calloc(1, 1 << 20);
	cr_assert_not_null(text);
	(void)!fread(text, 1, (1 << 20) - 1, file);
	(void)fclose(file);
	return text;
}

struct outcome command_any(const char *words)
{
	char command[2000];
	char out[100];
	char errors[100];
	const char *program = getenv("SEAM_COMMAND");
	cr_assert_not_null(program, "SEAM_COMMAND names the program");
	(void)snprintf(out, sizeof(out), "%s/out", command_folder);
	(void)snprintf(errors, sizeof(errors), "%s/errors", command_folder);
	(void)snprintf(command, sizeof(command), "'%s' %s >%s 2>%s", program, words, out, errors);
	int status = system(command);
	cr_assert(WIFEXITED(status), "%s ended by a signal", words);
	return (struct outcome){.status = WEXITSTATUS(status), .out = read_file(out), .errors = read_file(errors)};
}

struct outcome command_run(const char *words)
{
	char all[1800];
	(void)snprintf(all, sizeof(all), "replay --device emu %s", words);
	return command_any(all);
}

void command_drop(struct outcome *outcome)
{
	free(outcome->out);
	free(outcome->errors);
}

json_t *command_read_json(const struct outcome *outcome)
{
	json_error_t error;
	json_t *array = json_loads(outcome->out, 0, &error);
	cr_assert(json_is_array(array), "%s: %s", error.text, outcome->out);
	return array;
}

json_t *command_run_json(const char *words)
{
	char all[1500];
	(void)snprintf(all, sizeof(all), "--json %s", words);
	struct outcome outcome = command_run(all);
	cr_assert_eq(outcome.status, 0, "%s: %s", words, outcome.errors);
	json_t *array = command_read_json(&outcome);
	command_drop(&outcome);
	return array;
}

long long json_long(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_integer(value), "%s is an integer", key);
	return json_integer_value(value);
}

double json_double(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	cr_assert(json_is_number(value), "%s is a number", key);
	return json_number_value(value);
}

bool json_is_nothing(const json_t *object, const char *key)
{
	return json_is_null(json_object_get(object, key));
}

const char *json_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}
