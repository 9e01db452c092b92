/* programs.c: the program `programs`: a made-up program of a seed as a trace, and one line that says what it is. */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>

#include "output.h"
#include "program.h"

struct arguments {
	unsigned long long seed;
	unsigned long iterations;
	const char *path; /* NULL: the line alone */
	bool seeded;
};

static const struct argp_option options[] = {
	{"iterations", 'n', "NUMBER", 0, "of the trace (default: 12)", 0},
	{0},
};

static unsigned long long number(struct argp_state *state, const char *text)
{
	char *end = NULL;
	unsigned long long value = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-')
		argp_error(state, "not a number: '%s'", text);
	return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case 'n':
		arguments->iterations = (unsigned long)number(state, text);
		if (arguments->iterations == 0 || arguments->iterations > PROGRAM_ITERATIONS_MOST)
			argp_error(state, "not a number of iterations: '%s'", text);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0) {
			arguments->seed = number(state, text);
			arguments->seeded = true;
		} else if (state->arg_num == 1 && output_knows(text)) {
			arguments->path = text;
		} else {
			argp_error(state, "not the name of a trace to write: '%s'", text);
		}
		return 0;
	case ARGP_KEY_END:
		if (!arguments->seeded)
			argp_error(state, "a seed is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "SEED [FILE]",
		"Draws a whole training or inference program from a seed, writes its trace (.seamtrace or .seamtrace.zst), and prints one "
		"line: its parameters and whether it repeats.\v"
		"The trace marks where each iteration ends, so that 'seam replay --iterations steps' knows. A program of which the line says "
		"marks=no does not say so itself: replay it with --no-marks.",
		NULL, NULL, NULL};
	struct arguments arguments = {.iterations = 12};
	struct program program;
	struct program_truth truth;
	struct seam_trace *trace;
	char line[PROGRAM_LINE_BYTES];
	char error[OUTPUT_ERROR_BYTES] = "out of memory";
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return 2;
	if (program_make(arguments.seed, (uint32_t)arguments.iterations, &program, &truth, &trace) != SEAM_OK) {
		fprintf(stderr, "programs: %s\n", error);
		return 1;
	}
	bool written = arguments.path == NULL || output_write(trace, arguments.path, error);
	seam_trace_free(trace);
	if (!written) {
		fprintf(stderr, "programs: %s\n", error);
		return 1;
	}
	program_line(&program, &truth, line);
	return puts(line) < 0 || fflush(stdout) != 0;
}
