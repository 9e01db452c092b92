/* search.c: the search of make.h: a budget out of options, and progress for their caller. */
#include "make.h"

#include "clock.h"
#include "pipeline.h"
#include "trace_error.h"

#define TELL_NS UINT64_C(100000000)   /* between two reports without news */
#define BYTES_MAX (UINT64_C(1) << 62) /* no peak is larger */

struct teller {
	const struct seam_plan_options *options;
	struct seam_plan_progress known;
	uint64_t start_ns;
	uint64_t told_ns;
};

static void tell(struct teller *teller)
{
	teller->told_ns = seam__clock_thread_ns();
	teller->known.elapsed_ns = teller->told_ns - teller->start_ns;
	teller->options->progress(teller->options->progress_context, &teller->known);
}

static void tell_better(void *context, const char *solver, uint64_t peak_bytes)
{
	struct teller *teller = context;

	teller->known.solver = solver;
	teller->known.peak_bytes = peak_bytes;
	tell(teller);
}

static void tell_sometimes(void *context)
{
	struct teller *teller = context;

	if (seam__clock_thread_ns() - teller->told_ns >= TELL_NS)
		tell(teller);
}

static bool is_cancelled(const struct seam_plan_options *options)
{
	return options->cancel != NULL && __atomic_load_n(options->cancel, __ATOMIC_RELAXED) != 0;
}

/* The gap may be any number from 0 on; what lies beyond all peaks is as good as the largest of them. */
static uint64_t target_of(uint64_t lower_bytes, double gap)
{
	const double more = (double)lower_bytes * gap;

	return more < (double)(BYTES_MAX - lower_bytes) ? lower_bytes + (uint64_t)more : BYTES_MAX;
}

double seam__search_gap(uint64_t lower_bytes, uint64_t most_bytes)
{
	return lower_bytes == 0 ? 0 : (double)(most_bytes - lower_bytes) / (double)lower_bytes;
}

static void begin(const struct seam_problem *problem, const struct seam_plan_options *options, struct teller *teller,
	struct seam_budget *budget)
{
	*teller = (struct teller){.options = options, .start_ns = seam__clock_thread_ns()};
	teller->told_ns = teller->start_ns;
	teller->known = (struct seam_plan_progress){
		.solver = "", .peak_bytes = UINT64_MAX, .lower_bound_bytes = problem->lower_bytes};
	seam__budget_init(budget);
	budget->target_bytes = target_of(problem->lower_bytes, options->target_gap);
	budget->cancel = options->cancel;
	if (options->node_limit != 0)
		budget->nodes_left = options->node_limit;
	else
		budget->deadline_ns = options->time_limit_ns > UINT64_MAX - teller->start_ns
			? UINT64_MAX
			: teller->start_ns + options->time_limit_ns;
	if (options->progress != NULL) {
		budget->progress = tell_better;
		budget->progress_context = teller;
		budget->tick = tell_sometimes;
		budget->tick_context = teller;
	}
}

/* Which feature of the problem the named solver lacks. */
static const char *missing(const struct seam_problem *problem, const struct seam_plan_options *options)
{
	const struct seam_solver *solver = seam__solver_find(options->solver);
	unsigned lacks = seam__problem_features(problem) & ~solver->can;

	if ((lacks & SEAM__HAS_LINKS) != 0)
		return "contiguous constraints";
	if ((lacks & SEAM__HAS_HOLDS) != 0)
		return "memory passes between streams";
	if ((lacks & SEAM__HAS_FIXED) != 0)
		return "blocks with a fixed address";
	return "lifetimes that cross the end of the period";
}

enum seam_rc seam__search_run(const struct seam_problem *problem, const struct seam_plan_options *options,
	struct seam_trace_error *error, struct seam_placement *placed, struct seam_search *ret_search)
{
	struct seam_pipeline_result result = {.solver = ""};
	struct seam_budget budget;
	struct teller teller;
	enum seam_rc rc;

	ret_search->work_ns = 0;
	begin(problem, options, &teller, &budget);
	budget.work_ns = &ret_search->work_ns;
	if (options->solver == NULL)
		rc = seam__pipeline_run(problem, &budget, placed, &result);
	else
		rc = seam__pipeline_run_one(problem, seam__solver_find(options->solver), &budget, placed, &result);
	if (rc == SEAM_UNSUPPORTED)
		seam__trace_error_set(error, 0, "the solver '%.40s' cannot plan this: %s", options->solver,
			missing(problem, options));
	if (rc == SEAM_OK && placed->peak_bytes == SEAM__PEAK_NONE) {
		seam__trace_error_set(error, 0,
			"the solver '%.40s' found no placement in its time, or only improves others", options->solver);
		rc = SEAM_NOT_FOUND;
	}
	if (rc != SEAM_OK)
		return rc;
	*ret_search = (struct seam_search){
		.solver = result.solver,
		.lower_bytes = result.lower_bytes > problem->lower_bytes ? result.lower_bytes : problem->lower_bytes,
		.solve_ns = seam__clock_thread_ns() - teller.start_ns,
		.work_ns = ret_search->work_ns,
		.cancelled = is_cancelled(options),
	};
	return SEAM_OK;
}

void seam__search_describe(const struct seam_search *search, const struct seam_plan_options *options,
	const struct seam_placement *placed, struct seam_plan_header *header)
{
	header->align_bytes = options->align_bytes;
	header->chunk_bytes = options->chunk_bytes;
	header->arena_bytes = placed->peak_bytes;
	header->lower_bound_bytes = search->lower_bytes;
	header->solve_ns = search->solve_ns;
	header->flags |= placed->peak_bytes == search->lower_bytes ? SEAM_PLAN_OPTIMAL : 0;
	header->flags |= search->cancelled ? SEAM_PLAN_CANCELLED : 0;
}
