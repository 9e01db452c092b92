/* replay_command.h: commands of `seam` as a person runs them, above all `seam replay`, for tests: in a folder of its
 * own, and their output. SEAM_COMMAND names the program. A failure here fails the test.
 */
#ifndef TEST_REPLAY_COMMAND_H
#define TEST_REPLAY_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

extern char command_folder[]; /* its path, while a test runs */

void command_make_folder(void);
void command_remove_folder(void);

/* A file in the folder; the path is valid until the next call. */
const char *command_write_file(const char *name, const char *content);

/* What a run printed, and how it ended. */
struct outcome {
	int status;
	char *out;    /* standard output */
	char *errors; /* standard error */
};

/* Runs `seam` with these words. To be dropped. */
struct outcome command_any(const char *words);

/* `seam replay` on an emulated device. */
struct outcome command_run(const char *words);
void command_drop(struct outcome *outcome);

/* The array that it printed. */
json_t *command_read_json(const struct outcome *outcome);

/* Runs `seam replay` with --json; the array that it printed. */
json_t *command_run_json(const char *words);

long long json_long(const json_t *object, const char *key);
double json_double(const json_t *object, const char *key);
bool json_is_nothing(const json_t *object, const char *key);
const char *json_text(const json_t *object, const char *key);

#endif
