/* err.c: names and texts of the result codes, from the one table. */
#include <seam/rc.h>

#include <stddef.h>

static const struct {
	const char *name;
	const char *text;
} codes[] = {
#define SEAM_RC(name, text) {"SEAM_" #name, text},
#include <seam/errors.def>
#undef SEAM_RC
};

const char *seam_rc_name(enum seam_rc rc)
{
	size_t index = (size_t)rc;
	return index < SEAM_RC_COUNT ? codes[index].name : "SEAM_?";
}

const char *seam_rc_text(enum seam_rc rc)
{
	size_t index = (size_t)rc;
	return index < SEAM_RC_COUNT ? codes[index].text : "unknown result code";
}
