/* cmd_verify.c: `seam verify TRACE PLAN`: is this a plan of this trace, and is it safe? */
#include <stdio.h>

#include "cmd.h"
#include "graph_input.h"
#include "graph_verify.h"
#include "input.h"
#include "text.h"

#include <seam/plan.h>

struct arguments {
	const char *trace;
	const char *plan;
	bool quiet;
};

static const struct argp_option options[] = {
	{"quiet", 'q', NULL, 0, "print nothing when the plan is right", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case 'q':
		arguments->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			return cmd_usage(state, "more than two files: '%s'", text);
		*(state->arg_num == 0 ? &arguments->trace : &arguments->plan) = text;
		return 0;
	case ARGP_KEY_END:
		return arguments->plan == NULL ? cmd_usage(state, "two files are needed: TRACE and PLAN") : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE PLAN",
	.doc = "Prove that a plan fits a trace: replay its period over and over, and look at who gets which byte after whom.\v"
	       "TRACE is anything that `seam convert` reads, or the operator graph of the plan. The plan is right when every slot is the request that the trace has "
	       "there, no byte is handed out that is live, and none to another stream than that which freed it unless something "
	       "orders the two (of a graph: no two tensors share memory unless it orders their users). The proof shares no code with the planner.",
};

static void print_graph_summary(const struct seam_plan *plan, const char *path)
{
	char peak[24];
	char bound[24];
	printf("%s: right: %u tensors of %u operators, %u stream%s; peak %s, lower bound %s; %u chunks, at least %u\n",
		path, plan->header.slot_count, plan->header.positions, plan->header.stream_count,
		plan->header.stream_count == 1 ? "" : "s", seam__text_size(peak, plan->header.arena_bytes),
		seam__text_size(bound, plan->header.lower_bound_bytes), plan->header.arena_chunks,
		plan->header.lower_bound_chunks);
}

static void print_summary(const struct seam_plan *plan, const char *path)
{
	const struct seam_plan_header *header = &plan->header;
	const bool linear = (header->flags & SEAM_PLAN_LINEAR) != 0;
	const unsigned long long repetitions = linear ? 1 : 2ull * header->copies;
	char peak[24];
	char bound[24];
	printf("%s: right: %u requests of %u positions, %llu repetition%s, %u cop%s, %u stream%s, %u wait%s; peak %s, lower bound "
	       "%s; %u chunks, at least %u\n",
		path, header->slot_count, header->positions, repetitions, repetitions == 1 ? "" : "s", header->copies,
		header->copies == 1 ? "y" : "ies", header->stream_count, header->stream_count == 1 ? "" : "s",
		header->wait_count, header->wait_count == 1 ? "" : "s", seam__text_size(peak, header->arena_bytes),
		seam__text_size(bound, header->lower_bound_bytes), header->arena_chunks, header->lower_bound_chunks);
}

static int verify_graph(const struct arguments *arguments, const struct seam_plan *plan)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace_error plan_error = {0};
	struct seam_graph graph;
	int status = CMD_OK;
	if (!graph_input_read(arguments->trace, error, &graph))
		return cmd_fail("%s", error);
	if (!graph_verify(&graph, plan, &plan_error))
		status = cmd_fail("%s: %s", arguments->plan, plan_error.text);
	else if (!arguments->quiet)
		print_graph_summary(plan, arguments->plan);
	seam__graph_fini(&graph);
	return status;
}

static int verify_trace(const struct arguments *arguments, const struct seam_plan *plan)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace_error plan_error = {0};
	struct seam_trace *trace;
	int status = CMD_OK;
	if (!input_read(arguments->trace, SEAM_IMPORT_ANY_DEVICE, error, &trace))
		return cmd_fail("%s", error);
	if (seam_plan_verify(trace, plan, &plan_error) != SEAM_OK)
		status = cmd_fail("%s: %s", arguments->plan, plan_error.text);
	else if (!arguments->quiet)
		print_summary(plan, arguments->plan);
	seam_trace_free(trace);
	return status;
}

int cmd_verify(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct seam_trace_error error = {0};
	struct seam_plan *plan;
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	if (seam_plan_read_file(arguments.plan, &error, &plan) != SEAM_OK)
		return cmd_fail("%s: %s", arguments.plan, error.text);
	const bool of_graph = (plan->header.flags & SEAM_PLAN_GRAPH) != 0;
	status = of_graph ? verify_graph(&arguments, plan) : verify_trace(&arguments, plan);
	seam_plan_free(plan);
	return status;
}
