/* cmd_info.c: `seam info`: the device, its driver and limits, and the configuration in force. */
#include <stdbool.h>
#include <stdio.h>

#include "cmd.h"
#include "meta.h"
#include "opts.h"
#include "pool.h"
#include "text.h"

#define ORDINAL_MAX 1023u

enum key { KEY_CONF = 0x2000, KEY_OPTIONS, KEY_DEVICE = 'd' };

struct arguments {
	struct seam_config config;
	int ordinal;
	bool lists_options;
};

static const struct argp_option options[] = {
	{"conf", KEY_CONF, "KEY:VALUE,...", 0,
		"configuration, over that in SEAM_CONF; backend:emu is the emulated device", 0},
	{"options", KEY_OPTIONS, NULL, 0, "only list the options of a configuration and what they mean", 0},
	{"device", KEY_DEVICE, "NUMBER", 0, "which GPU (default: 0)", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	unsigned long number;
	switch (key) {
	case KEY_CONF:
		return cmd_conf(state, text, &arguments->config);
	case KEY_DEVICE:
		if (!cmd_number(text, ORDINAL_MAX, &number))
			return cmd_usage(state, "not the number of a device: '%s'", text);
		arguments->ordinal = (int)number;
		return 0;
	case KEY_OPTIONS:
		arguments->lists_options = true;
		return 0;
	case ARGP_KEY_ARG:
		return cmd_usage(state, "nothing is to be named here: '%s'", text);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.doc = "Show the device, its driver and limits, and the configuration in force.",
};

static int print(const struct seam_text *text)
{
	enum seam_rc rc = seam__text_rc(text);
	if (rc != SEAM_OK)
		return cmd_fail("%s", seam_rc_text(rc));
	return fputs(seam__text_string(text), stdout) == EOF || fflush(stdout) == EOF
		? cmd_fail("writing: %s", seam_rc_text(SEAM_IO))
		: CMD_OK;
}

static int describe(const struct arguments *arguments, struct seam_text *text)
{
	char error[200] = "";
	struct seam_pool *pool = NULL;
	enum seam_rc rc = seam_pool_create(arguments->ordinal, &arguments->config, error, sizeof error, &pool);
	if (rc != SEAM_OK)
		return cmd_fail(
			"%s%s", error, rc == SEAM_NO_DEVICE ? " (--conf backend:emu shows the emulated device)" : "");
	seam__pool_describe(pool, text);
	seam_pool_destroy(pool);
	return print(text);
}

int cmd_info(int argc, char **argv)
{
	struct arguments arguments = {0};
	seam_config_init(&arguments.config);
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	if (arguments.lists_options) {
		seam__opts_write_help(&text);
		status = print(&text);
	} else {
		status = describe(&arguments, &text);
	}
	seam__text_fini(&text);
	return status;
}
