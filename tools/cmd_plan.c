/* cmd_plan.c: `seam plan TRACE -o PLAN`: where every request of a repeating stretch goes; `--compare`: every solver. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "graph_input.h"
#include "graph_verify.h"
#include "input.h"
#include "make_graph.h"
#include "meta.h"
#include "planning.h"

#define SECONDS_MAX 1e6
#define NODES_MAX 1000000000000000ul

enum key {
	KEY_OUTPUT = 'o',
	KEY_SOLVER = 's',
	KEY_TIME = 't',
	KEY_COMPARE = 'c',
	KEY_PERIOD = 'p',
	KEY_STREAMS = 0x2100,
	KEY_JSON,
	KEY_NODES,
	KEY_CHUNK,
	KEY_ALIGN,
	KEY_GAP
};

struct arguments {
	const char *trace;
	const char *output;
	struct seam_plan_options plan;
	bool compare;
	bool json;
};

static const struct argp_option options[] = {
	{"output", KEY_OUTPUT, "PLAN", 0, "write the plan to this file", 0},
	{"solver", KEY_SOLVER, "NAME", 0, "this solver alone, or auto: all that help, in order (default)", 0},
	{"time-limit", KEY_TIME, "SECONDS", 0,
		"of processor time for placing (default: 5); with --compare, for each solver", 0},
	{"compare", KEY_COMPARE, NULL, 0, "run every solver and print a table of plain arenas; no plan is written", 0},
	{"period", KEY_PERIOD, "PERIOD", 0,
		"what repeats: find (the trace's period; an error if it has none), whole (all of the trace, once), FIRST:LAST (these events, "
		"counted from 0, LAST not included), or auto: the period if there is one (default)",
		0},
	{"streams", KEY_STREAMS, "POLICY", OPTION_ARG_OPTIONAL,
		"who may share memory across streams: edges (what the trace's events and synchronisations order), apart (nobody), "
		"insert (everybody: the plan lists the waits that the runtime must insert; what --streams alone means), or auto: edges, and where "
		"those need more than lives at once, waits as long after what they wait for as can be (default)",
		0},
	{"node-limit", KEY_NODES, "NUMBER", 0,
		"this many steps of work instead of a time limit: the same plan on every machine", 0},
	{"target-gap", KEY_GAP, "PERCENT", 0, "stop once the peak is this near to the lower bound (default: 0)", 0},
	{"chunk", KEY_CHUNK, "BYTES", 0, "bytes of a physical chunk (default: 2097152)", 0},
	{"align", KEY_ALIGN, "BYTES", 0,
		"sizes and addresses are multiples of this power of two (default: 512; 1 for CSV instances)", 0},
	{"json", KEY_JSON, NULL, 0, "print JSON", 0},
	{0},
};

static error_t parse_period(struct seam_plan_options *plan, const char *text, const struct argp_state *state)
{
	char *end;

	if (strcmp(text, "auto") == 0 || strcmp(text, "find") == 0 || strcmp(text, "whole") == 0) {
		plan->period = text[0] == 'a' ? SEAM_PLAN_PERIOD_AUTO
			: text[0] == 'f'      ? SEAM_PLAN_PERIOD_FIND
					      : SEAM_PLAN_PERIOD_WHOLE;
		return 0;
	}
	plan->period = SEAM_PLAN_PERIOD_GIVEN;
	plan->first_event = strtoull(text, &end, 10);
	if (end == text || *end != ':' || text[0] == '-')
		return cmd_usage(state, "not a period: '%s'", text);
	text = end + 1;
	plan->last_event = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || plan->last_event <= plan->first_event)
		return cmd_usage(state, "not a range of events: the last must be a number above the first");
	return 0;
}

static error_t parse_streams(struct seam_plan_options *plan, const char *text, const struct argp_state *state)
{
	if (text == NULL || strcmp(text, "insert") == 0)
		plan->streams = SEAM_PLAN_STREAMS_INSERT;
	else if (strcmp(text, "auto") == 0)
		plan->streams = SEAM_PLAN_STREAMS_AUTO;
	else if (strcmp(text, "edges") == 0)
		plan->streams = SEAM_PLAN_STREAMS_EDGES;
	else if (strcmp(text, "apart") == 0)
		plan->streams = SEAM_PLAN_STREAMS_APART;
	else
		return cmd_usage(state, "no such policy for streams: '%s'", text);
	return 0;
}

static error_t parse_power(uint64_t *ret_bytes, const char *text, const struct argp_state *state)
{
	unsigned long number;

	if (!cmd_number(text, 1ul << 40, &number) || number == 0 || (number & (number - 1)) != 0)
		return cmd_usage(state, "not a power of two: '%s'", text);
	*ret_bytes = number;
	return 0;
}

static error_t parse_real(
	double most, double *ret_number, const char *text, const char *what, const struct argp_state *state)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || *end != '\0' || !(number >= 0) || number > most)
		return cmd_usage(state, "not %s: '%s'", what, text);
	*ret_number = number;
	return 0;
}

static error_t parse_solver(struct seam_plan_options *plan, const char *text, const struct argp_state *state)
{
	plan->solver = text;
	if (strcmp(text, "auto") == 0)
		return 0;
	for (size_t i = 0; seam_plan_solver_name(i) != NULL; i++)
		if (strcmp(seam_plan_solver_name(i), text) == 0)
			return 0;
	return cmd_usage(state, "no such solver: '%s' (seam plan --compare lists them)", text);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct seam_plan_options *plan = &arguments->plan;
	unsigned long number = 0;
	double real = 0;
	error_t error;

	switch (key) {
	case KEY_OUTPUT:
		arguments->output = text;
		return 0;
	case KEY_SOLVER:
		return parse_solver(plan, text, state);
	case KEY_TIME:
		error = parse_real(SECONDS_MAX, &real, text, "a number of seconds", state);
		plan->time_limit_ns = real == 0 ? 1 : (uint64_t)ceil(real * 1e9); /* 0 would be the default */
		return error;
	case KEY_GAP:
		error = parse_real(1000, &real, text, "a percentage", state);
		plan->target_gap = real / 100;
		return error;
	case KEY_NODES:
		if (!cmd_number(text, NODES_MAX, &number) || number == 0)
			return cmd_usage(state, "not a number of steps: '%s'", text);
		plan->node_limit = number;
		return 0;
	case KEY_COMPARE:
		arguments->compare = true;
		return 0;
	case KEY_PERIOD:
		return parse_period(plan, text, state);
	case KEY_STREAMS:
		return parse_streams(plan, text, state);
	case KEY_CHUNK:
		return parse_power(&plan->chunk_bytes, text, state);
	case KEY_ALIGN:
		return parse_power(&plan->align_bytes, text, state);
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			return cmd_usage(state, "more than one trace: '%s'", text);
		arguments->trace = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->trace == NULL)
			return cmd_usage(state, "no trace is named");
		if (arguments->compare && (arguments->output != NULL || plan->solver != NULL))
			return cmd_usage(state, "--compare goes with neither --output nor --solver");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE",
	.doc = "Plan where every request of a repeating stretch of allocations goes.\v"
	       "TRACE is anything that 'seam convert' reads, or an operator graph (JSON or CSV, see the manual page). What is printed: the peak of the plan "
	       "and how far it is above the lower bound (no placement needs less), residents included. The bound is the most bytes that live at once, and "
	       "more where memory may not go from stream to stream.\n\n"
	       "A long search shows its best so far; Ctrl-C ends it and keeps that. Every plan is checked against the trace before it is "
	       "written ('seam verify' does the same). The exit status is 0 also for a plan that is not optimal.",
};

static enum seam_rc make_from_trace(const void *input, const struct seam_plan_options *plan_options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	return seam_plan_make(input, plan_options, error, ret_plan);
}

static enum seam_rc make_from_graph(const void *input, const struct seam_plan_options *plan_options,
	struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	const struct seam_graph *graph = input;
	struct seam_plan *plan;
	enum seam_rc rc = seam__plan_make_graph(graph, plan_options, error, &plan);

	if (rc != SEAM_OK)
		return rc;
	if (graph->nodes.count <= GRAPH_VERIFY_NODES_MAX && !graph_verify(graph, plan, error)) {
		seam_plan_free(plan);
		return SEAM_CORRUPT;
	}
	*ret_plan = plan;
	return SEAM_OK;
}

static int plan_once(const struct arguments *arguments, const struct planning *planning)
{
	struct seam_trace_error error = {0};
	struct seam_plan *plan;
	struct planning_row row;
	struct seam_text text;
	int status;
	enum seam_rc rc = planning_make(planning, &arguments->plan, &error, &plan);

	if (rc != SEAM_OK)
		return cmd_fail("%s: %s", arguments->trace, error.text[0] == '\0' ? seam_rc_text(rc) : error.text);
	planning_row_set(
		plan, arguments->trace, arguments->plan.solver == NULL ? "auto" : arguments->plan.solver, &row);
	rc = arguments->output == NULL ? SEAM_OK : seam_plan_write_file(plan, arguments->output);
	seam_plan_free(plan);
	if (rc != SEAM_OK)
		return cmd_fail("%s: %s", arguments->output, strerror(errno));
	seam__text_init(&text, seam__meta_process());
	status = cmd_print(arguments->json ? planning_json(&row, 1, &text) : planning_summary(&row, &text), &text);
	seam__text_fini(&text);
	return status;
}

static void compare_one(const struct arguments *arguments, const struct planning *planning, const char *solver,
	struct planning_row *ret_row)
{
	struct seam_plan_options plan_options = arguments->plan;
	struct seam_trace_error error = {0};
	struct seam_plan *plan;
	enum seam_rc rc;

	plan_options.solver = solver;
	rc = planning_make(planning, &plan_options, &error, &plan);
	if (rc == SEAM_OK) {
		planning_row_set(plan, arguments->trace, solver, ret_row);
		seam_plan_free(plan);
		return;
	}
	*ret_row = (struct planning_row){.input = arguments->trace, .solver = solver, .failed = true};
	(void)snprintf(
		ret_row->reason, sizeof(ret_row->reason), "%s", error.text[0] == '\0' ? seam_rc_text(rc) : error.text);
}

static int compare(const struct arguments *arguments, const struct planning *planning)
{
	size_t count = 0;
	struct planning_row *rows;
	struct seam_text text;
	size_t usable = 0;
	int status;

	while (seam_plan_solver_name(count) != NULL)
		count++;
	rows = calloc(count + 1, sizeof(*rows));
	if (rows == NULL)
		return cmd_fail("out of memory");
	for (size_t i = 0; i <= count; i++) {
		compare_one(arguments, planning, i == count ? "auto" : seam_plan_solver_name(i), &rows[i]);
		usable += !rows[i].failed;
	}
	seam__text_init(&text, seam__meta_process());
	if (usable == 0)
		status = cmd_fail("%s: %s", arguments->trace, rows[count].reason);
	else
		status = cmd_print(arguments->json ? planning_json(rows, count + 1, &text)
						   : planning_table(rows, count + 1, &text),
			&text);
	seam__text_fini(&text);
	free(rows);
	return status;
}

static int work(const struct arguments *arguments, const struct planning *planning)
{
	return arguments->compare ? compare(arguments, planning) : plan_once(arguments, planning);
}

static int work_on_graph(const struct arguments *arguments, struct unpacked *unpacked)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_graph graph;
	bool imported = graph_input_import(arguments->trace, unpacked, error, &graph);
	int status;

	unpacked_fini(unpacked);
	if (!imported)
		return cmd_fail("%s", error);
	status = work(arguments, &(struct planning){.make = make_from_graph, .input = &graph});
	seam__graph_fini(&graph);
	return status;
}

static int work_on_trace(const struct arguments *arguments, struct unpacked *unpacked)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	bool imported = input_import(arguments->trace, unpacked, SEAM_IMPORT_ANY_DEVICE, error, &trace);
	int status;

	unpacked_fini(unpacked);
	if (!imported)
		return cmd_fail("%s", error);
	status = work(arguments, &(struct planning){.make = make_from_trace, .input = trace});
	seam_trace_free(trace);
	return status;
}

int cmd_plan(int argc, char **argv)
{
	struct arguments arguments = {
		.plan = {.struct_bytes = sizeof(struct seam_plan_options), .streams = SEAM_PLAN_STREAMS_AUTO}};
	char error[INPUT_ERROR_BYTES];
	struct unpacked unpacked;
	int status = cmd_parse(&syntax, argc, argv, &arguments);

	if (status != CMD_GO_ON)
		return status;
	if (!input_unpack(arguments.trace, error, &unpacked))
		return cmd_fail("%s", error);
	return graph_input_is(unpacked.data, unpacked.bytes) ? work_on_graph(&arguments, &unpacked)
							     : work_on_trace(&arguments, &unpacked);
}
