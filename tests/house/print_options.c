/* print_options.c: prints the options as the two Markdown tables that README.md holds between its markers. */
#include <stdio.h>

#include "meta.h"
#include "opts.h"

static bool write_out(void *user, const char *bytes, size_t count)
{
	return fwrite(bytes, 1, count, user) == count;
}

int main(void)
{
	struct seam_text text;
	seam__text_init_sink(&text, write_out, stdout);
	enum seam_rc rc = seam__opts_write_markdown(seam__meta_process(), SEAM_OPTION_FOR_USER, &text);
	if (rc == SEAM_OK)
		rc = seam__opts_write_markdown(seam__meta_process(), SEAM_OPTION_FOR_EXPERIMENT, &text);
	seam__text_fini(&text);
	return rc == SEAM_OK && fflush(stdout) == 0 ? 0 : 1;
}
