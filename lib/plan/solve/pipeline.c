/* pipeline.c: see pipeline.h. */
#include "pipeline.h"

#include "bits.h"
#include "clock.h"
#include "region.h"

struct stage {
	const struct seam_solver *solver;
	unsigned percent;                 /* of the budget that is left; 0: a quick constructor, which no limit ends */
	uint32_t least_items, most_items; /* not called for fewer or more */
};

static const struct {
	const char *solver;
	unsigned percent;
	uint32_t least_items, most_items;
} table[] = {
#define SEAM_STAGE(solver, percent, least_items, most_items) {solver, percent, least_items, most_items},
#include "stages.def"
#undef SEAM_STAGE
};

#define STAGES (sizeof(table) / sizeof(table[0]))

struct work {
	const struct seam_problem *problem;
	struct seam_parts parts;
	struct seam_placement *placed; /* per part */
	const char **solver;           /* per part: who placed it */
	uint8_t *stage;                /* per part: the next stage to call */
	const struct stage *stages;
	uint8_t stage_count;
	bool only;                  /* there is one stage, and what it cannot do is an error */
	struct seam_budget *budget; /* of the whole */
	struct seam_placement *best;
	uint64_t *offsets; /* of the whole, for joining */
	uint32_t missing;  /* parts that nobody has placed yet */
	uint32_t part;     /* at work now */
};

/* The target of a part: its stack need not be lower than its bound, nor than what the caller is content with. */
static uint64_t part_target(const struct work *work, uint32_t part)
{
	uint64_t stack_lower = work->parts.stack_lower[work->parts.parts[part].stack];
	uint64_t whole_lower = work->parts.lower_bytes;
	uint64_t wanted = work->budget->target_bytes;

	if (wanted <= whole_lower)
		return stack_lower;
	/* What the caller allows above the bound goes to each stack by its share of it. */
	return stack_lower + (uint64_t)((double)(wanted - whole_lower) * ((double)stack_lower / (double)whole_lower));
}

/* Joins the parts into a placement of the whole, if all have one. */
static void join(struct work *work, const char *solver)
{
	if (work->missing > 0)
		return;
	seam__parts_join(&work->parts, work->placed, work->offsets);
	work->budget->solver = solver;
	(void)seam__placement_improve(work->best, work->problem, work->budget, work->offsets);
}

static void note_progress(void *context, const char *solver, uint64_t peak_bytes)
{
	struct work *work = context;

	(void)peak_bytes;
	work->solver[work->part] = solver;
}

/* A budget for one stage: a share of the rest in time and nodes, and the same cancellation; without any limit for a
 * quick constructor. */
static struct seam_budget stage_budget(struct work *work, uint32_t part, unsigned percent)
{
	struct seam_budget *whole = work->budget;
	struct seam_budget budget = *whole;

	if (percent == 0) {
		budget.deadline_ns = UINT64_MAX;
		budget.nodes_left = UINT64_MAX - 1; /* none, but counted */
		budget.cancel = NULL;
		budget.spent = false;
	} else if (whole->deadline_ns != UINT64_MAX) {
		uint64_t now_ns = seam__clock_thread_ns();
		uint64_t left_ns = whole->deadline_ns > now_ns ? whole->deadline_ns - now_ns : 0;

		budget.deadline_ns = now_ns + left_ns / 100 * percent;
	}
	if (percent != 0 && whole->nodes_left != UINT64_MAX)
		budget.nodes_left = whole->nodes_left / 100 * percent + whole->nodes_left % 100 * percent / 100;
	budget.target_bytes = part_target(work, part);
	budget.inner = seam__pipeline_solve;
	budget.progress = note_progress;
	budget.progress_context = work;
	work->part = part;
	return budget;
}

/* Who placed the highest part of the highest stack. */
static const char *leading_solver(const struct work *work)
{
	uint32_t highest = 0;

	for (uint32_t p = 1; p < work->parts.count; p++)
		if (work->placed[p].peak_bytes > work->placed[highest].peak_bytes)
			highest = p;
	return work->parts.count == 0 ? "" : work->solver[highest];
}

/* Calls the part's next stage. Returns false when there is none left. */
static bool call_stage(struct work *work, uint32_t part, enum seam_rc *ret_rc)
{
	const struct seam_problem *problem = &work->parts.parts[part].problem;
	struct seam_placement *placed = &work->placed[part];
	const struct stage *stage;
	uint64_t before = placed->peak_bytes;

	if (work->stage[part] == work->stage_count)
		return false;
	stage = &work->stages[work->stage[part]++];
	if (problem->count < stage->least_items || problem->count > stage->most_items)
		return true;
	struct seam_budget budget = stage_budget(work, part, stage->percent);
	uint64_t given = budget.nodes_left;
	*ret_rc = seam__solver_run(stage->solver, problem, &budget, placed);
	if (*ret_rc == SEAM_UNSUPPORTED && !work->only)
		*ret_rc = SEAM_OK;
	if (work->budget->nodes_left != UINT64_MAX)
		work->budget->nodes_left -= seam__bits_min(work->budget->nodes_left, given - budget.nodes_left);
	if (before == SEAM__PEAK_NONE && placed->peak_bytes != SEAM__PEAK_NONE)
		work->missing--;
	return true;
}

static bool is_done(const struct work *work, uint32_t part)
{
	return work->placed[part].peak_bytes <= part_target(work, part);
}

/* First answers: every part until it has one. Their cost is not limited by the budget: without them there is no plan.
 */
static enum seam_rc place_all(struct work *work)
{
	for (uint32_t p = 0; p < work->parts.count; p++) {
		enum seam_rc rc = SEAM_OK;

		while (work->placed[p].peak_bytes == SEAM__PEAK_NONE && rc == SEAM_OK)
			if (!call_stage(work, p, &rc))
				break;
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* The highest part of a stack that is above its target and has stages left; stacks that are far from their bounds
 * first. */
static uint32_t worst_part(const struct work *work)
{
	uint32_t worst = SEAM__ITEM_NONE;
	uint64_t worst_gap = 0;

	for (uint32_t p = 0, next; p < work->parts.count; p = next) {
		uint32_t stack = work->parts.parts[p].stack;
		uint32_t highest = p;

		for (next = p; next < work->parts.count && work->parts.parts[next].stack == stack; next++)
			if (work->placed[next].peak_bytes > work->placed[highest].peak_bytes)
				highest = next;
		/* Where the highest cannot be improved, the others of its stack need not be. */
		if (work->stage[highest] < work->stage_count && !is_done(work, highest) &&
			work->placed[highest].peak_bytes - part_target(work, highest) > worst_gap) {
			worst_gap = work->placed[highest].peak_bytes - part_target(work, highest);
			worst = highest;
		}
	}
	return worst;
}

static enum seam_rc improve_worst(struct work *work)
{
	while (seam__budget_spend(work->budget, 1000)) {
		uint32_t worst = worst_part(work);
		enum seam_rc rc = SEAM_OK;

		if (worst == SEAM__ITEM_NONE)
			break;
		uint64_t before = work->placed[worst].peak_bytes;
		(void)call_stage(work, worst, &rc);
		if (work->placed[worst].peak_bytes < before)
			join(work, work->solver[worst]);
		if (rc != SEAM_OK)
			return rc;
	}
	return SEAM_OK;
}

/* The budget is spent. The quick constructors that it has not come to follow all the same: without them there is a
 * plan, but it may be worse than none. */
static enum seam_rc construct_rest(struct work *work)
{
	enum seam_rc rc = SEAM_OK;

	for (uint32_t p = 0; p < work->parts.count && rc == SEAM_OK; p++) {
		while (work->stage[p] < work->stage_count && !is_done(work, p) && rc == SEAM_OK) {
			if (work->stages[work->stage[p]].percent == 0)
				(void)call_stage(work, p, &rc);
			else
				work->stage[p]++;
		}
	}
	join(work, leading_solver(work));
	return rc;
}

static enum seam_rc work_init(struct work *work)
{
	struct seam_region *region = work->problem->region;
	uint32_t count = work->parts.count;

	work->missing = count;
	work->offsets = seam__region_array(region, work->problem->count, sizeof(*work->offsets));
	work->placed = seam__region_array(region, count, sizeof(*work->placed));
	work->solver = seam__region_array(region, count, sizeof(*work->solver));
	work->stage = seam__region_array(region, count, sizeof(*work->stage));
	if (work->offsets == NULL || work->placed == NULL || work->solver == NULL || work->stage == NULL)
		return SEAM_OOM_META;
	for (uint32_t p = 0; p < count; p++) {
		enum seam_rc rc = seam__placement_init(&work->placed[p], &work->parts.parts[p].problem);

		if (rc != SEAM_OK)
			return rc;
		work->solver[p] = "";
	}
	return SEAM_OK;
}

/* `work` has its problem, budget, best and stages. */
static enum seam_rc run(struct work *work, struct seam_pipeline_result *ret_result)
{
	const struct seam_problem *problem = work->problem;
	const void *mark = seam__region_mark(problem->region);

	if (problem->count == 0) {
		work->best->peak_bytes = 0;
		*ret_result = (struct seam_pipeline_result){.solver = "", .finished = true};
		return SEAM_OK;
	}
	enum seam_rc rc = seam__parts_init(problem, &work->parts);
	if (rc == SEAM_OK)
		rc = work_init(work);
	if (rc == SEAM_OK)
		rc = place_all(work);
	if (rc == SEAM_OK) {
		join(work, leading_solver(work));
		rc = improve_worst(work);
	}
	if (rc == SEAM_OK && work->budget->spent)
		rc = construct_rest(work);
	if (rc == SEAM_OK)
		*ret_result = (struct seam_pipeline_result){.solver = leading_solver(work),
			.lower_bytes = work->parts.lower_bytes,
			.parts = work->parts.count,
			.finished = !work->budget->spent};
	seam__region_release(problem->region, mark);
	return rc;
}

enum seam_rc seam__pipeline_run(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, struct seam_pipeline_result *ret_result)
{
	struct stage stages[STAGES];
	struct work work = {
		.problem = problem, .budget = budget, .best = best, .stages = stages, .stage_count = STAGES};

	for (size_t i = 0; i < STAGES; i++)
		stages[i] = (struct stage){seam__solver_find(table[i].solver), table[i].percent, table[i].least_items,
			table[i].most_items};
	return run(&work, ret_result);
}

enum seam_rc seam__pipeline_solve(const struct seam_problem *problem, struct seam_budget *budget,
	struct seam_placement *best, const void *argument)
{
	struct seam_pipeline_result ignored;

	(void)argument;
	return seam__pipeline_run(problem, budget, best, &ignored);
}

enum seam_rc seam__pipeline_run_one(const struct seam_problem *problem, const struct seam_solver *solver,
	struct seam_budget *budget, struct seam_placement *best, struct seam_pipeline_result *ret_result)
{
	const struct stage stage = {solver, 100, 0, UINT32_MAX};
	struct work work = {
		.problem = problem, .budget = budget, .best = best, .stages = &stage, .stage_count = 1, .only = true};

	return run(&work, ret_result);
}
