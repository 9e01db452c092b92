/* fit_report.h: what `seam fit` answers, as text and as JSON.
 *
 * Not here: reading profiles (fit_profile.h). One thread.
 */
#ifndef TOOLS_FIT_REPORT_H
#define TOOLS_FIT_REPORT_H

#include "fit_profile.h"
#include "text.h"

/* A recipe with a name. */
struct fit_row {
	const char *name;
	bool is_there;
	bool fits;
	struct seam_fit_prediction prediction;
};

#define FIT_ROWS (SEAM_FIT_TREATMENTS + 1) /* all blocks under each treatment; the exact answer */
#define FIT_ROW_EXACT SEAM_FIT_TREATMENTS

struct fit_answer {
	const struct fit_profile *profile;
	const struct seam_machine *machine;
	const struct seam_fit_front *front;
	struct fit_row rows[FIT_ROWS];
	bool compares;
};

/* The recipe that was chosen; NULL: nothing fits. */
const struct seam_fit_point *fit_chosen(const struct fit_answer *answer);

/* With what lives before the model runs. */
uint64_t fit_peak_bytes(const struct fit_answer *answer, const struct seam_fit_prediction *prediction);

SEAM_MUST_USE enum seam_rc fit_text(const struct fit_answer *answer, struct seam_text *text);
SEAM_MUST_USE enum seam_rc fit_json(const struct fit_answer *answer, struct seam_text *text);

#endif
