/* cmd_convert.c: `seam convert IN OUT`: any recording that Seam reads, as a trace. */
#include <stdint.h>
#include <stdio.h>

#include "cmd.h"
#include "input.h"
#include "output.h"
#include "schedule_trace.h"
#include "text.h"

#define DEVICES_MAX 1023u
#define ITERATIONS_MAX 100000u

struct arguments {
	const char *in;
	const char *out;
	int device;
	uint32_t iterations; /* 0: as it is */
	bool quiet;
};

static const struct argp_option options[] = {
	{"device", 'd', "NUMBER", 0,
		"of a snapshot: the device whose trace is wanted (default: the one with the most entries)", 0},
	{"iterations", 'n', "NUMBER", 0,
		"repeat what 'seam replay' repeats, as if the program had been recorded for longer; names of modules and phases are lost (default: as it is)",
		0},
	{"quiet", 'q', NULL, 0, "print nothing when all goes well", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	unsigned long number;
	switch (key) {
	case 'd':
		if (!cmd_number(text, DEVICES_MAX, &number))
			return cmd_usage(state, "not the number of a device: '%s'", text);
		arguments->device = (int)number;
		return 0;
	case 'n':
		if (!cmd_number(text, ITERATIONS_MAX, &number) || number == 0)
			return cmd_usage(state, "not a number of iterations: '%s'", text);
		arguments->iterations = (uint32_t)number;
		return 0;
	case 'q':
		arguments->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			return cmd_usage(state, "more than two files: '%s'", text);
		*(state->arg_num == 0 ? &arguments->in : &arguments->out) = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->out == NULL)
			return cmd_usage(state, "two files are needed: IN and OUT");
		if (!output_knows(arguments->out))
			return cmd_usage(state, "'%s' ends neither in .seamtrace nor in .seamtrace.zst nor in .csv",
				arguments->out);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "IN OUT",
	.doc = "Turn a recording of memory use into a trace.\v"
	       "IN is a PyTorch CUDA memory snapshot (pickle), CSV lifetimes (id,lower,upper,size[,stream][,offset]), a log of RMM (CSV) or "
	       "STAlloc (mem_log_devN.txt) or a .seamtrace, told by its content, as it is or in zstd or xz; - is standard input. OUT is written by its name: "
	       ".seamtrace, .seamtrace.zst, or .csv for the lifetimes alone. An old OUT stays whole until the new one is.",
};

static void print_summary(const struct seam_trace *trace, const char *out)
{
	uint64_t allocations = 0;
	uint64_t live_bytes = 0;
	uint64_t peak_bytes = 0;
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_ALLOC) {
			allocations++;
			live_bytes += event->size;
			peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
		} else if (event->kind == SEAM_TRACE_FREE) {
			live_bytes -= event->size;
		}
	}
	char peak[32];
	printf("%s: %llu events, %llu allocations, at most %s live; from %s\n", out,
		(unsigned long long)trace->header.event_count, (unsigned long long)allocations,
		seam__text_size(peak, peak_bytes), seam_trace_string(trace, trace->header.source));
}

/* Puts the trace repeated in the place of *trace. */
static bool repeat(struct seam_trace **trace, uint32_t iterations)
{
	struct schedule schedule = {0};
	struct seam_trace *repeated = NULL;
	char source[240];
	(void)snprintf(source, sizeof(source), "%.200s, repeated: %lu",
		seam_trace_string(*trace, (*trace)->header.source), (unsigned long)iterations);
	enum seam_rc rc = schedule_build(*trace, iterations, &schedule);
	if (rc == SEAM_OK)
		rc = schedule_trace(&schedule, source, &repeated);
	schedule_fini(&schedule);
	if (rc != SEAM_OK)
		return false;
	seam_trace_free(*trace);
	*trace = repeated;
	return true;
}

int cmd_convert(int argc, char **argv)
{
	struct arguments arguments = {.device = SEAM_IMPORT_ANY_DEVICE};
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	if (!input_read(arguments.in, arguments.device, error, &trace))
		return cmd_fail("%s", error);
	status = CMD_OK;
	if (arguments.iterations != 0 && !repeat(&trace, arguments.iterations))
		status = cmd_fail("%s: cannot be repeated so often: out of memory", arguments.in);
	else if (!output_write(trace, arguments.out, error))
		status = cmd_fail("%s", error);
	else if (!arguments.quiet)
		print_summary(trace, arguments.out);
	seam_trace_free(trace);
	return status;
}
