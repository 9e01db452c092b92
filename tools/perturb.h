/* perturb.h: a schedule disturbed as programs disturb themselves: what a plan made from the past did not expect.
 *
 * Ways to do it are listed in perturb.def; several are done one after the other. By a seed, and nothing else: the same
 * on every machine. Iterations stay iterations; what comes between them stands between the end of one and the begin of
 * the next. Residents stay. O1 holds before and after. One thread at a time.
 */
#ifndef TOOLS_PERTURB_H
#define TOOLS_PERTURB_H

#include <stdbool.h>

#include "schedule.h"

enum perturb_kind {
#define PERTURB(name, text) PERTURB_##name,
#include "perturb.def"
#undef PERTURB
	PERTURB_KINDS
};

#define PERTURB_MOST 8u /* at once */

struct perturb {
	enum perturb_kind kinds[PERTURB_MOST];
	uint32_t count; /* 0: nothing is changed */
	uint64_t seed;
};

const char *perturb_name(enum perturb_kind kind);
const char *perturb_text(enum perturb_kind kind);

/* Reads "extra+eval" into kinds and count. False: not such a text, or too many; *perturb is unchanged. */
bool perturb_parse(const char *text, struct perturb *perturb);

/* Errors: SEAM_OOM_META, SEAM_INVALID (2^32 blocks): the schedule is then to be dropped. */
SEAM_MUST_USE enum seam_rc perturb_apply(const struct perturb *perturb, struct schedule *schedule);

#endif
