/* cmd.h: what every sub-command of `seam` shares: its table, its command line, its one line of error.
 *
 * One thread.
 */
#ifndef TOOLS_CMD_H
#define TOOLS_CMD_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <seam/seam.h>

#include "text.h"

/* Exit statuses. */
#define CMD_OK 0
#define CMD_FAILED 1 /* the work could not be done; one line says why */
#define CMD_USAGE 2  /* the command line was wrong; one line says where */

#define CMD_GO_ON (-1) /* of cmd_parse(): the command line was fine */

#define SEAM_COMMAND(function, name, summary) int cmd_##function(int argc, char **argv);
#include "commands.def"
#undef SEAM_COMMAND

/* Reads the command line by `argp`, whose parser gets `input`. argv[0] is the command's whole name ("seam convert").
 * --help is added. Returns CMD_GO_ON, or the exit status after one line was printed. */
int cmd_parse(const struct argp *argp, int argc, char **argv, void *input);

/* For argp parsers: prints one line about the command line. Returns EINVAL, for the parser to return. */
error_t cmd_usage(const struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "seam: " and one line to standard error. Returns CMD_FAILED. */
int cmd_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a finished text to standard output. rc: of writing the text. Returns CMD_OK, or CMD_FAILED after one line. */
int cmd_print(enum seam_rc rc, const struct seam_text *text);

/* A size as in SEAM_CONF ("24G") in `text`, at least 1 byte; false where it is none. */
bool cmd_size(const char *text, uint64_t *ret_bytes);

/* For argp parsers: a configuration (--conf) over what `config` has. Returns 0, or EINVAL after one line. */
error_t cmd_conf(const struct argp_state *state, const char *text, struct seam_config *config);

/* A whole number of at most `most` in `text`; false where it is none. */
bool cmd_number(const char *text, unsigned long most, unsigned long *ret_number);

#endif
