/* solve.c: single solvers on single instances: peak, gap to the lower bound, time. For the tables see bench/plan.
 *
 * An instance is a recording of any kind, placed as it stands: the whole of it, once, all requests on one stream; or an
 * operator graph with its streams and contiguous constraints.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "graph_input.h"
#include "graph_problem.h"
#include "input.h"
#include "lifetimes.h"
#include "meta.h"
#include "pipeline.h"
#include "solver.h"

struct arguments {
	const char *solvers; /* names with commas; NULL: all */
	double limit_s;
	unsigned long align_bytes;
	unsigned long target_bytes; /* a peak of this or less is good enough; 0: the lower bound */
	bool growth;                /* one Markdown row for the pipeline: when it had what */
	const char *const *files;
	int file_count;
};

static const struct argp_option options[] = {
	{"solver", 's', "NAME,...", 0, "these solvers; auto: the pipeline (default: all)", 0},
	{"time-limit", 'l', "SECONDS", 0, "for each solver and instance (default: 10)", 0},
	{"target", 't', "BYTES", 0, "stop at a peak of this or less (default: the lower bound)", 0},
	{"growth", 'g', NULL, 0,
		"of the pipeline, as a Markdown row: requests, seconds to a first and to the best placement, gap, "
		"peak memory of this program",
		0},
	{"align", 'a', "BYTES", 0, "sizes are rounded up to this (default: 1)", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 's':
		arguments->solvers = text;
		return 0;
	case 'l':
		arguments->limit_s = strtod(text, NULL);
		return 0;
	case 'a':
		arguments->align_bytes = strtoul(text, NULL, 10);
		if (arguments->align_bytes == 0)
			argp_error(state, "not a number of bytes: '%s'", text);
		return 0;
	case 't':
		arguments->target_bytes = strtoul(text, NULL, 10);
		return 0;
	case 'g':
		arguments->growth = true;
		return 0;
	case ARGP_KEY_ARGS:
		arguments->files = (const char *const *)state->argv + state->next;
		arguments->file_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no instance");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Is `name` one of the words in `list`? */
static bool is_in(const char *list, const char *name)
{
	size_t bytes = strlen(name);

	for (const char *at = list; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, bytes) == 0 && (at[bytes] == '\0' || at[bytes] == ','))
			return true;
	}
	return list == NULL;
}

/* Positions are the allocations and frees in order. */
static enum seam_rc make_problem(const struct seam_trace *trace, const struct lifetimes *lifetimes,
	uint64_t align_bytes, struct seam_problem *ret_problem)
{
	uint32_t events = (uint32_t)trace->header.event_count;
	uint32_t *positions = calloc((size_t)events + 1, sizeof(*positions));
	uint32_t *runs = calloc((size_t)events + 1, sizeof(*runs)); /* number of the run of a phase, 0 outside */
	uint32_t circle = 0;
	uint32_t run = 0;
	enum seam_rc rc = SEAM_OOM_META;

	if (positions == NULL || runs == NULL)
		goto out;
	for (uint32_t e = 0; e < events; e++) {
		positions[e] = circle;
		run += e == 0 || trace->events[e].phase != trace->events[e - 1].phase;
		runs[e] = trace->events[e].phase == 0 ? 0 : run;
		circle += trace->events[e].kind == SEAM_TRACE_ALLOC || trace->events[e].kind == SEAM_TRACE_FREE;
	}
	rc = seam__problem_init(ret_problem, seam__meta_process(), lifetimes->count, circle, true, 1, align_bytes);
	for (uint32_t i = 0; rc == SEAM_OK && i < lifetimes->count; i++) {
		const struct lifetime *lifetime = &lifetimes->items[i];
		uint32_t begin = positions[lifetime->alloc];
		uint32_t end = lifetime->free == LIFETIME_NONE ? circle : positions[lifetime->free];
		struct seam_item *item;

		if (trace->events[lifetime->alloc].size == 0)
			continue;
		item = seam__problem_add(ret_problem, trace->events[lifetime->alloc].size, begin, end - begin);
		item->phase_begin = runs[lifetime->alloc];
		item->phase_end = lifetime->free == LIFETIME_NONE ? 0 : runs[lifetime->free];
	}
out:
	free(runs);
	free(positions);
	return rc == SEAM_OK ? seam__problem_finish(ret_problem) : rc;
}

/* One solver, or (NULL) the pipeline. */
static void run_solver(const struct arguments *arguments, const char *name, const struct seam_problem *problem,
	const struct seam_solver *solver)
{
	struct seam_budget budget;
	struct seam_placement best;
	struct seam_pipeline_result result = {.solver = ""};
	uint64_t start_ns = seam__clock_thread_ns();
	enum seam_rc rc;

	if (seam__placement_init(&best, problem) != SEAM_OK)
		return;
	seam__budget_init(&budget);
	budget.inner = seam__pipeline_solve;
	budget.deadline_ns = start_ns + (uint64_t)(arguments->limit_s * 1e9);
	budget.target_bytes =
		arguments->target_bytes > problem->lower_bytes ? arguments->target_bytes : problem->lower_bytes;
	rc = solver == NULL ? seam__pipeline_run(problem, &budget, &best, &result)
			    : seam__solver_run(solver, problem, &budget, &best);
	double seconds = (double)(seam__clock_thread_ns() - start_ns) / 1e9;
	const char *broken = best.peak_bytes == SEAM__PEAK_NONE
		? "no placement"
		: seam__problem_check_placement(problem, best.offsets, best.peak_bytes);
	printf("%-32s %7u %-18s %15llu %15llu %9.4f %% %8.3f s %s %s %s\n", name, problem->count,
		solver == NULL ? "auto" : solver->name, (unsigned long long)problem->lower_bytes,
		(unsigned long long)best.peak_bytes, ((double)best.peak_bytes / (double)problem->lower_bytes - 1) * 100,
		seconds, seam_rc_name(rc), result.solver, broken == NULL ? "" : broken);
	fflush(stdout);
	seam__placement_fini(&best, problem);
}

struct stopwatch {
	uint64_t start_ns;
	uint64_t first_ns; /* 0: not yet */
	uint64_t near_ns;  /* within 1 % of the bound; 0: not yet */
	uint64_t near_bytes;
	uint64_t last_ns;
};

static void note_time(void *context, const char *solver, uint64_t peak_bytes)
{
	struct stopwatch *watch = context;

	(void)solver;
	watch->last_ns = seam__clock_thread_ns() - watch->start_ns;
	if (watch->first_ns == 0)
		watch->first_ns = watch->last_ns;
	if (watch->near_ns == 0 && peak_bytes <= watch->near_bytes)
		watch->near_ns = watch->last_ns;
}

static void run_growth(const struct arguments *arguments, const struct seam_problem *problem)
{
	struct stopwatch watch = {
		.start_ns = seam__clock_thread_ns(), .near_bytes = problem->lower_bytes + problem->lower_bytes / 100};
	struct seam_placement best;
	struct seam_pipeline_result result;
	struct seam_budget budget;
	struct rusage usage;

	if (seam__placement_init(&best, problem) != SEAM_OK)
		return;
	seam__budget_init(&budget);
	budget.deadline_ns = watch.start_ns + (uint64_t)(arguments->limit_s * 1e9);
	budget.target_bytes =
		arguments->target_bytes > problem->lower_bytes ? arguments->target_bytes : problem->lower_bytes;
	budget.progress = note_time;
	budget.progress_context = &watch;
	enum seam_rc rc = seam__pipeline_run(problem, &budget, &best, &result);
	(void)getrusage(RUSAGE_SELF, &usage);
	if (rc == SEAM_OK)
		printf("| %u | %.3f s | %.3f s | %.3f s | %.4f %% | %ld MiB |\n", problem->count,
			(double)watch.first_ns / 1e9, (double)watch.near_ns / 1e9, (double)watch.last_ns / 1e9,
			((double)best.peak_bytes / (double)problem->lower_bytes - 1) * 100, usage.ru_maxrss / 1024);
	else
		printf("| %u | %s | | | | |\n", problem->count, seam_rc_name(rc));
	fflush(stdout);
	seam__placement_fini(&best, problem);
}

static void run(const struct arguments *arguments, const char *file, const struct seam_problem *problem)
{
	size_t count;
	const struct seam_solver *list = seam__solver_list(&count);
	const char *slash = strrchr(file, '/');
	const char *name = slash == NULL ? file : slash + 1;

	for (size_t s = 0; s < count; s++)
		if (is_in(arguments->solvers, list[s].name) &&
			seam__solver_can(&list[s], seam__problem_features(problem)))
			run_solver(arguments, name, problem, &list[s]);
	if (is_in(arguments->solvers, "auto"))
		run_solver(arguments, name, problem, NULL);
}

/* A recording, or an operator graph. On failure false, with a line in `error`. */
static bool read_problem(
	const char *file, uint64_t align_bytes, char error[INPUT_ERROR_BYTES], struct seam_problem *ret_problem)
{
	struct seam_trace *trace;
	struct lifetimes lifetimes;
	struct seam_graph graph;
	enum seam_rc rc;

	if (graph_input_is_file(file)) {
		if (!graph_input_read(file, error, &graph))
			return false;
		rc = seam__graph_problem(&graph, seam__meta_process(), align_bytes, false, ret_problem);
		seam__graph_fini(&graph);
	} else {
		if (!input_read(file, SEAM_IMPORT_ANY_DEVICE, error, &trace))
			return false;
		rc = lifetimes_build(trace, &lifetimes);
		if (rc == SEAM_OK)
			rc = make_problem(trace, &lifetimes, align_bytes, ret_problem);
		lifetimes_fini(&lifetimes);
		seam_trace_free(trace);
	}
	if (rc != SEAM_OK)
		(void)snprintf(error, INPUT_ERROR_BYTES, "%s: %s", file, seam_rc_text(rc));
	return rc == SEAM_OK;
}

int main(int argc, char **argv)
{
	static const struct argp syntax = {
		options, parse, "INSTANCE...", "Run placement solvers on instances.", NULL, NULL, NULL};
	struct arguments arguments = {.limit_s = 10, .align_bytes = 1};

	if (argp_parse(&syntax, argc, argv, 0, NULL, &arguments) != 0)
		return 1;
	for (int f = 0; f < arguments.file_count; f++) {
		char error[INPUT_ERROR_BYTES];
		struct seam_problem problem = {0};

		if (!read_problem(arguments.files[f], arguments.align_bytes, error, &problem)) {
			fprintf(stderr, "solve: %s\n", error);
			return 1;
		}
		if (arguments.growth)
			run_growth(&arguments, &problem);
		else
			run(&arguments, arguments.files[f], &problem);
		seam__problem_fini(&problem);
	}
	return 0;
}
