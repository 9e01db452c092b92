/* plan_options.c: the options of make.h: defaults, and what makes no sense; and the list of solvers for the outside. */
#include "make.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "trace_error.h"

#define DEFAULT_TIME_NS UINT64_C(5000000000)
#define DEFAULT_CHUNK_BYTES (UINT64_C(2) << 20)
#define BYTES_MAX (UINT64_C(1) << 62)

const char *seam_plan_solver_name(size_t number)
{
	size_t count;
	const struct seam_solver *list = seam__solver_list(&count);

	return number < count ? list[number].name : NULL;
}

const char *seam_plan_solver_text(size_t number)
{
	size_t count;
	const struct seam_solver *list = seam__solver_list(&count);

	return number < count ? list[number].text : NULL;
}

enum seam_rc seam__options_refuse(struct seam_trace_error *error, const char *why)
{
	seam__trace_error_set(error, 0, "%s", why);
	return SEAM_INVALID;
}

enum seam_rc seam__plan_options_resolve(const struct seam_plan_options *given, uint64_t align_bytes,
	struct seam_trace_error *error, struct seam_plan_options *ret_options)
{
	struct seam_plan_options made = {.struct_bytes = sizeof(made)};

	if (given != NULL) {
		if (given->struct_bytes < offsetof(struct seam_plan_options, time_limit_ns) ||
			given->struct_bytes > sizeof(made))
			return seam__options_refuse(error, "options of another version (struct_bytes)");
		memcpy(&made, given, given->struct_bytes);
	}
	if (made.solver != NULL && strcmp(made.solver, "auto") == 0)
		made.solver = NULL;
	if (made.solver != NULL && seam__solver_find(made.solver) == NULL) {
		seam__trace_error_set(error, 0, "no solver is named '%.60s'", made.solver);
		return SEAM_NOT_FOUND;
	}
	made.time_limit_ns = made.time_limit_ns == 0 ? DEFAULT_TIME_NS : made.time_limit_ns;
	made.align_bytes = made.align_bytes == 0 ? align_bytes : made.align_bytes;
	made.chunk_bytes = made.chunk_bytes == 0 ? DEFAULT_CHUNK_BYTES : made.chunk_bytes;
	if ((made.align_bytes & (made.align_bytes - 1)) != 0 || made.align_bytes > BYTES_MAX)
		return seam__options_refuse(error, "align_bytes is not a power of two");
	if (made.chunk_bytes % made.align_bytes != 0 || made.chunk_bytes > BYTES_MAX)
		return seam__options_refuse(error, "chunk_bytes is not a multiple of align_bytes");
	if (!(made.target_gap >= 0) || !isfinite(made.target_gap))
		return seam__options_refuse(error, "target_gap is negative or no number");
	if (made.period > SEAM_PLAN_PERIOD_GIVEN || made.streams > SEAM_PLAN_STREAMS_AUTO)
		return seam__options_refuse(error, "period or streams is none of its values");
	if (made.fixed_count > 0 && made.fixed == NULL)
		return seam__options_refuse(error, "fixed_count without fixed");
	if (made.taken_count > 0 && made.taken == NULL)
		return seam__options_refuse(error, "taken_count without taken");
	*ret_options = made;
	return SEAM_OK;
}
