/* cmd_info.c: `seam info`: the device, its driver and limits, and the configuration in force. */
#include <stdio.h>

#include "cmd.h"
#include "meta.h"
#include "pool.h"
#include "text.h"

#define ORDINAL_MAX 1023u

enum key { KEY_CONF = 0x2000, KEY_DEVICE = 'd' };

struct arguments {
	struct seam_config config;
	int ordinal;
};

static const struct argp_option options[] = {
	{"conf", KEY_CONF, "KEY:VALUE,...", 0, "configuration, over that in SEAM_CONF; backend:emu is the emulated device", 0},
	{"device", KEY_DEVICE, "NUMBER", 0, "which GPU (default: 0)", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	unsigned long number;
	char error[200];
	switch (key) {
	case KEY_CONF:
		if (seam_config_parse(&arguments->config, text, error) != SEAM_OK)
			return cmd_usage(state, "%s", error);
		return 0;
	case KEY_DEVICE:
		if (!cmd_number(text, ORDINAL_MAX, &number))
			return cmd_usage(state, "not the number of a device: '%s'", text);
		arguments->ordinal = (int)number;
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

int cmd_info(int argc, char **argv)
{
	struct arguments arguments = {0};
	seam_config_init(&arguments.config);
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	char error[200] = "";
	struct seam_pool *pool = NULL;
	enum seam_rc rc = seam_pool_create(arguments.ordinal, &arguments.config, error, &pool);
	if (rc != SEAM_OK)
		return cmd_fail("%s%s", error[0] != '\0' ? error : seam_rc_text(rc),
		                rc == SEAM_NO_DEVICE ? " (--conf backend:emu shows the emulated device)" : "");
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	seam__pool_describe(pool, &text);
	rc = seam__text_rc(&text);
	if (rc == SEAM_OK)
		fputs(seam__text_string(&text), stdout);
	seam__text_fini(&text);
	seam_pool_destroy(pool);
	return rc == SEAM_OK ? CMD_OK : cmd_fail("%s", seam_rc_text(rc));
}
