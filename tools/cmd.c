/* cmd.c: see cmd.h.
 *
 * argp would print two lines for each mistake, so its own messages are off (ARGP_NO_ERRS), and with them its --help,
 * which is therefore an option here.
 */
#include "cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_HELP 0x1000

static bool reported;     /* the current command line's mistake was printed */
static const char *wrong; /* the word at which argp stopped */

static const struct argp_option common_options[] = {
	{"help", KEY_HELP, NULL, 0, "show this text", -1},
	{0},
};

static error_t parse_common(int key, char *text, struct argp_state *state)
{
	(void)text;
	if (key == ARGP_KEY_INIT) {
		state->child_inputs[0] = state->input;
		return 0;
	}
	if (key == ARGP_KEY_ERROR && state->next > 0)
		wrong = state->argv[state->next - 1];
	if (key != KEY_HELP)
		return ARGP_ERR_UNKNOWN;
	(void)setenv(
		"ARGP_HELP_FMT", "no-dup-args-note", 0); /* a line that says nothing here; the user's own wish stays */
	argp_help(state->root_argp, stdout, ARGP_HELP_STD_HELP, state->name);
	exit(CMD_OK);
}

int cmd_parse(const struct argp *argp, int argc, char **argv, void *input)
{
	const struct argp_child children[] = {{argp, 0, NULL, 0}, {0}};
	const struct argp root = {common_options, parse_common, NULL, NULL, children, NULL, NULL};
	reported = false;
	wrong = "";
	error_t error = argp_parse(&root, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, input);
	if (error == 0)
		return CMD_GO_ON;
	if (!reported)
		fprintf(stderr, "%s: unknown option, or one without its value: '%s'; see %s --help\n", argv[0], wrong,
			argv[0]);
	return CMD_USAGE;
}

error_t cmd_usage(const struct argp_state *state, const char *format, ...)
{
	va_list arguments;
	reported = true;
	fprintf(stderr, "%s: ", state->argv[0]);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "; see %s --help\n", state->argv[0]);
	return EINVAL;
}

int cmd_fail(const char *format, ...)
{
	va_list arguments;
	fputs("seam: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return CMD_FAILED;
}

bool cmd_number(const char *text, unsigned long most, unsigned long *ret_number)
{
	char *end;
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	unsigned long number = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || number > most)
		return false;
	*ret_number = number;
	return true;
}

/* The one parser for both: the emulator's option takes any size. */
bool cmd_size(const char *text, uint64_t *ret_bytes)
{
	struct seam_config config;
	char entry[64];
	seam_config_init(&config);
	int length = snprintf(entry, sizeof(entry), "emu_capacity_bytes:%s", text);
	if (length < 0 || (size_t)length >= sizeof(entry) || strchr(text, ',') != NULL ||
		seam_config_parse(&config, entry, NULL, 0) != SEAM_OK || config.emu_capacity_bytes == 0)
		return false;
	*ret_bytes = config.emu_capacity_bytes;
	return true;
}

error_t cmd_conf(const struct argp_state *state, const char *text, struct seam_config *config)
{
	char error[200];
	return seam_config_parse(config, text, error, sizeof error) == SEAM_OK ? 0 : cmd_usage(state, "%s", error);
}

int cmd_print(enum seam_rc rc, const struct seam_text *text)
{
	if (rc == SEAM_OK && (fputs(seam__text_string(text), stdout) == EOF || fflush(stdout) == EOF))
		rc = SEAM_IO;
	return rc == SEAM_OK ? CMD_OK : cmd_fail("writing the result: %s", seam_rc_text(rc));
}
