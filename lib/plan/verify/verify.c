/* verify.c: seam_plan_verify(): is this a plan of this trace, and is it safe in it?
 *
 * Three questions, each in a file: which slot is which request, and do their lifetimes agree (verify_acts.c,
 * verify_seen.c); what orders streams (verify_clocks.c); who gets which byte after whom (verify_replay.c).
 */
#include "verify.h"

#include "plan_format.h"
#include "trace_error.h"

static enum seam_rc check_fingerprint(
	const struct seam_trace *trace, const struct seam_plan *plan, struct seam_trace_error *error)
{
	uint64_t fingerprint;
	enum seam_rc rc = seam_plan_fingerprint(trace, plan->header.first_event, plan->header.last_event, &fingerprint);
	if (rc == SEAM_OK && fingerprint != plan->header.fingerprint) {
		seam__trace_error_set(error, 0,
			"the plan is not of this trace: its fingerprint is %016llx, that of events %llu to "
			"%llu %016llx",
			(unsigned long long)plan->header.fingerprint, (unsigned long long)plan->header.first_event,
			(unsigned long long)plan->header.last_event, (unsigned long long)fingerprint);
		return SEAM_NOT_FOUND;
	}
	return rc;
}

static enum seam_rc verify(const struct seam_trace *trace, const struct seam_plan *plan, struct seam_trace_error *error)
{
	struct seam_acts acts;
	struct seam_clocks clocks;
	enum seam_rc rc = seam__acts_init(trace, plan, error, &acts);
	if (rc == SEAM_OK)
		rc = seam__clocks_init(&clocks, &acts);
	if (rc == SEAM_OK)
		rc = seam__acts_replay(&acts, &clocks);
	seam__acts_fini(&acts);
	return rc;
}

enum seam_rc seam_plan_verify(
	const struct seam_trace *trace, const struct seam_plan *plan, struct seam_trace_error *error)
{
	const char *broken;
	if (trace == NULL || plan == NULL)
		return seam__trace_error_rc(error, SEAM_INVALID);
	enum seam_rc rc = seam__plan_check_records(plan, error, &broken);
	if (rc != SEAM_OK)
		return rc;
	if ((plan->header.flags & SEAM_PLAN_GRAPH) != 0) {
		seam__trace_error_set(error, 0, "a plan of an operator graph cannot be verified with a trace");
		return SEAM_INVALID;
	}
	if (trace->header.event_count >= UINT32_MAX || plan->header.last_event > trace->header.event_count) {
		seam__trace_error_set(error, 0, "the plan is not of this trace: it ends at event %llu of %llu",
			(unsigned long long)plan->header.last_event, (unsigned long long)trace->header.event_count);
		return SEAM_NOT_FOUND;
	}
	rc = check_fingerprint(trace, plan, error);
	if (rc == SEAM_OK)
		rc = verify(trace, plan, error);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}
