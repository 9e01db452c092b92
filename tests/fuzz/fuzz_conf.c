/* fuzz_conf.c: any text as SEAM_CONF: it is understood, or refused with one line that names an entry and no change. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "opts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct seam_config *config)
{
	struct seam_config resolved;
	struct seam_config again;
	const struct seam_option *option;
	SEAM_VERIFY(seam__opts_resolve(config, NULL, NULL, 0, &resolved) == SEAM_OK);
	for (size_t i = 0; (option = seam__opts_get(i)) != NULL; i++) {
		char text[SEAM_OPTS_VALUE_BYTES + 64];
		char value[SEAM_OPTS_VALUE_BYTES];
		seam__opts_format(option, seam__opts_value(option, &resolved), value);
		(void)snprintf(text, sizeof(text), "%s:%s", option->name, value);
		seam_config_init(&again);
		SEAM_VERIFY(seam_config_parse(&again, text, NULL, 0) == SEAM_OK);
		SEAM_VERIFY(seam__opts_value(option, &again) == seam__opts_value(option, &resolved));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (text == NULL)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	struct seam_config config;
	struct seam_config before;
	char error[SEAM_OPTS_LINE_BYTES];
	memset(error, 0x55, sizeof(error));
	seam_config_init(&config);
	before = config;
	enum seam_rc rc = seam_config_parse(&config, text, error, sizeof error);
	if (rc == SEAM_OK) {
		check_accepted(&config);
	} else {
		SEAM_VERIFY(rc == SEAM_CONF);
		SEAM_VERIFY(memcmp(&config, &before, sizeof(config)) == 0);
		SEAM_VERIFY(
			memchr(error, '\0', sizeof(error)) != NULL && error[0] == '\'' && strchr(error, '\n') == NULL);
	}
	free(text);
	return 0;
}
