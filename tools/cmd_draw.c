/* cmd_draw.c: `seam draw TRACE [PLAN] -o OUT.svg`: a picture of memory over time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "draw.h"
#include "graph_input.h"
#include "input.h"
#include "make_graph.h"
#include "meta.h"
#include "text.h"
#include "trace_file.h"

#define NAME_BYTES 64

struct arguments {
	const char *trace;
	const char *plan;
	const char *output;
	bool quiet;
};

static const struct argp_option options[] = {
	{"output", 'o', "OUT.svg", 0, "write the picture to this file", 0},
	{"quiet", 'q', NULL, 0, "print nothing when all goes well", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case 'o':
		arguments->output = text;
		return 0;
	case 'q':
		arguments->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			return cmd_usage(state, "more than two files: '%s'", text);
		*(state->arg_num == 0 ? &arguments->trace : &arguments->plan) = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->trace == NULL)
			return cmd_usage(state, "a trace is needed");
		return arguments->output == NULL ? cmd_usage(state, "-o OUT.svg is needed") : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE [PLAN]",
	.doc = "Draw memory over time as SVG.\v"
	       "With PLAN: a rectangle for every request of its period, at its address, coloured by phase (by size where the trace "
	       "has no phases), the sum of live bytes as a curve, peak and lower bound as lines. Without: the live bytes of each "
	       "phase, one upon the other. TRACE is anything that `seam convert` reads, or, with its plan, an operator graph.",
};

/* The file's name without folders and ends, as far as there is room. */
static void name_of(const char *path, char name[NAME_BYTES])
{
	const char *slash = strrchr(path, '/');
	(void)snprintf(name, NAME_BYTES, "%s", slash == NULL ? path : slash + 1);
	static const char *const ends[] = {".zst", ".xz", ".seamtrace", ".csv", ".pickle"};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		const size_t bytes = strlen(name);
		const size_t end_bytes = strlen(ends[i]);
		if (bytes > end_bytes && strcmp(name + bytes - end_bytes, ends[i]) == 0)
			name[bytes - end_bytes] = '\0';
	}
}

static int write_scene(const struct draw_scene *scene, const struct arguments *arguments)
{
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	enum seam_rc rc = draw_svg(scene, &text) ? seam__text_rc(&text) : SEAM_OOM_META;
	if (rc == SEAM_OK)
		rc = seam__file_write(arguments->output, seam__text_string(&text), text.length_bytes);
	const int why = errno;
	if (rc == SEAM_OK && !arguments->quiet)
		printf("%s: %s\n", arguments->output, scene->title);
	seam__text_fini(&text);
	if (rc != SEAM_OK)
		return cmd_fail(
			"%s: cannot write: %s", arguments->output, rc == SEAM_IO ? strerror(why) : seam_rc_text(rc));
	return CMD_OK;
}

/* A plan of other requests would make a picture with a wrong name. */
static bool fits_graph(const struct seam_graph *graph, const struct seam_plan *plan)
{
	return seam__graph_fingerprint(graph) == plan->header.fingerprint;
}

static bool fits(const struct seam_trace *trace, const struct seam_plan *plan)
{
	uint64_t fingerprint;
	return seam_plan_fingerprint(trace, plan->header.first_event, plan->header.last_event, &fingerprint) ==
		SEAM_OK &&
		fingerprint == plan->header.fingerprint;
}

static int draw(const struct seam_trace *trace, const struct seam_plan *plan, const struct arguments *arguments)
{
	char name[NAME_BYTES];
	struct draw_scene *scene = malloc(sizeof(*scene)); /* too large for the stack */
	if (scene == NULL)
		return cmd_fail("%s", seam_rc_text(SEAM_OOM_META));
	name_of(arguments->trace, name);
	const bool drawn = plan != NULL ? draw_scene_plan(scene, plan, name) : draw_scene_trace(scene, trace, name);
	int status = drawn ? write_scene(scene, arguments) : cmd_fail("%s", seam_rc_text(SEAM_OOM_META));
	draw_scene_fini(scene);
	free(scene);
	return status;
}

/* The plan alone says what its picture is; the graph only whether it is the right one. */
static int draw_of_graph(const struct seam_plan *plan, const struct arguments *arguments)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_graph graph;
	if (!graph_input_read(arguments->trace, error, &graph))
		return cmd_fail("%s", error);
	int status = fits_graph(&graph, plan) ? draw(NULL, plan, arguments)
					      : cmd_fail("%s: the plan is not of this graph", arguments->plan);
	seam__graph_fini(&graph);
	return status;
}

static int draw_of_trace(const struct seam_plan *plan, const struct arguments *arguments)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	if (!input_read(arguments->trace, SEAM_IMPORT_ANY_DEVICE, error, &trace))
		return cmd_fail("%s", error);
	int status = plan == NULL || fits(trace, plan) ? draw(trace, plan, arguments)
						       : cmd_fail("%s: the plan is not of this trace", arguments->plan);
	seam_trace_free(trace);
	return status;
}

int cmd_draw(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct seam_trace_error error = {0};
	struct seam_plan *plan = NULL;
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	if (arguments.plan != NULL && seam_plan_read_file(arguments.plan, &error, &plan) != SEAM_OK)
		return cmd_fail("%s: %s", arguments.plan, error.text);
	const bool of_graph = plan != NULL && (plan->header.flags & SEAM_PLAN_GRAPH) != 0;
	status = of_graph ? draw_of_graph(plan, &arguments) : draw_of_trace(plan, &arguments);
	seam_plan_free(plan);
	return status;
}
