/* cmd_what_if.c: `seam what-if TRACE...`: does a recorded program fit on a GPU that is not there. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "input.h"
#include "meta.h"
#include "what_if.h"
#include "what_if_report.h"

/* Exit statuses of this command: a program that asks has to tell "does not fit" from "no answer". */
#define FITS_NOWHERE 1
#define NO_ANSWER 2

enum key { KEY_GPU = 'g', KEY_CAPACITY = 0x2000, KEY_CONF, KEY_JSON };

struct arguments {
	struct what_if_device *devices;
	size_t device_count;
	struct seam_config config;
	bool json;
	const char **traces;
	size_t trace_count;
};

static const struct argp_option options[] = {
	{"gpu", KEY_GPU, "NAME,...", 0, "one or several of those that 'seam machines' shows", 0},
	{"capacity", KEY_CAPACITY, "SIZE", 0, "instead: a device with this much for the allocator, as in 24G", 0},
	{"conf", KEY_CONF, "KEY:VALUE,...", 0, "configuration of seam, over that in SEAM_CONF", 0},
	{"json", KEY_JSON, NULL, 0, "print JSON", 0},
	{0},
};

static error_t add_device(struct arguments *arguments, struct what_if_device device, const struct argp_state *state)
{
	struct what_if_device *devices =
		realloc(arguments->devices, (arguments->device_count + 1) * sizeof(*arguments->devices));
	if (devices == NULL)
		return cmd_usage(state, "out of memory");
	arguments->devices = devices;
	devices[arguments->device_count++] = device;
	return 0;
}

static error_t add_gpu(struct arguments *arguments, const char *name, const struct argp_state *state)
{
	char names[SEAM_MACHINE_NAMES_BYTES];
	const struct seam_machine *machine = seam__machine_find(name);
	if (machine == NULL)
		return cmd_usage(state, "no such GPU: '%s'; known are %s", name, seam__machine_names(names));
	for (size_t i = 0; i < arguments->device_count; i++)
		if (arguments->devices[i].machine == machine)
			return cmd_usage(state, "the GPU is named twice: '%s'", name);
	return add_device(arguments,
		(struct what_if_device){
			.machine = machine,
			.capacity_bytes = machine->memory_bytes,
			.usable_bytes = machine->memory_bytes - machine->context_bytes,
		},
		state);
}

static error_t parse_gpus(struct arguments *arguments, char *text, const struct argp_state *state)
{
	char *rest = NULL;
	error_t error = 0;
	for (char *name = strtok_r(text, ",", &rest); name != NULL && error == 0; name = strtok_r(NULL, ",", &rest))
		error = add_gpu(arguments, name, state);
	return error;
}

static error_t parse_capacity(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	uint64_t bytes;
	if (!cmd_size(text, &bytes))
		return cmd_usage(state, "not a size: '%s'", text);
	return add_device(arguments, (struct what_if_device){.capacity_bytes = bytes, .usable_bytes = bytes}, state);
}

static error_t check(const struct arguments *arguments, const struct argp_state *state)
{
	if (arguments->trace_count == 0)
		return cmd_usage(state, "no trace is named");
	if (arguments->device_count == 0)
		return cmd_usage(state, "no device is named: --gpu or --capacity");
	for (size_t i = 1; i < arguments->device_count; i++)
		if (arguments->devices[i].machine == NULL || arguments->devices[0].machine == NULL)
			return cmd_usage(state, "one --capacity, or GPUs");
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case KEY_GPU:
		return parse_gpus(arguments, text, state);
	case KEY_CAPACITY:
		return parse_capacity(arguments, text, state);
	case KEY_CONF:
		return cmd_conf(state, text, &arguments->config);
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		arguments->traces[arguments->trace_count++] = text;
		return 0;
	case ARGP_KEY_END:
		return check(arguments, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE...",
	.doc = "Does a recorded program fit on a GPU that is not there? With PyTorch's two policies, and with Seam.\v"
	       "A TRACE is anything that 'seam convert' reads. It is replayed as it is on an emulated device with the memory that CUDA reports on "
	       "that GPU, less a context; what lived before the recording began counts. native and expandable are models of PyTorch's caching "
	       "allocator, without and with expandable segments.\n\n"
	       "The exit status is 0 when each trace fits on one of the GPUs with Seam, 1 when one fits on none, 2 when there is no answer: a "
	       "trace that cannot be read, an unknown GPU.",
};

static bool fits_somewhere(const struct what_if_answer *answers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (answers[i].runs[WHAT_IF_SEAM].fits)
			return true;
	return false;
}

/* The answers about one file; its exit status. */
static int ask(const struct arguments *arguments, const char *path, struct what_if_answer *answers)
{
	struct seam_trace *trace;
	char unread[INPUT_ERROR_BYTES];
	char error[REPLAY_ERROR_BYTES] = "";
	if (!input_read_program(path, unread, &trace)) {
		(void)cmd_fail("%s", unread);
		return NO_ANSWER;
	}
	enum seam_rc rc = what_if_ask(
		trace, path, &arguments->config, arguments->devices, arguments->device_count, error, answers);
	seam_trace_free(trace);
	if (rc != SEAM_OK) {
		(void)cmd_fail("%s: %s", path, error);
		return NO_ANSWER;
	}
	return fits_somewhere(answers, arguments->device_count) ? CMD_OK : FITS_NOWHERE;
}

static int print(const struct arguments *arguments, const struct what_if_answer *answers, size_t count)
{
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	enum seam_rc rc = arguments->json ? what_if_json(answers, count, &text) : what_if_text(answers, count, &text);
	int status = cmd_print(rc, &text) == CMD_OK ? CMD_OK : NO_ANSWER;
	seam__text_fini(&text);
	return status;
}

/* A file without an answer is passed over; the worst status is the command's. */
static int ask_all(const struct arguments *arguments)
{
	struct what_if_answer *answers = calloc(arguments->trace_count * arguments->device_count, sizeof(*answers));
	if (answers == NULL) {
		(void)cmd_fail("out of memory");
		return NO_ANSWER;
	}
	int worst = CMD_OK;
	size_t count = 0;
	for (size_t i = 0; i < arguments->trace_count; i++) {
		int status = ask(arguments, arguments->traces[i], &answers[count]);
		count += status == NO_ANSWER ? 0 : arguments->device_count;
		worst = status > worst ? status : worst;
	}
	if (count > 0 && print(arguments, answers, count) != CMD_OK)
		worst = NO_ANSWER;
	free(answers);
	return worst;
}

int cmd_what_if(int argc, char **argv)
{
	struct arguments arguments = {0};
	seam_config_init(&arguments.config);
	arguments.traces = calloc((size_t)argc + 1, sizeof(*arguments.traces));
	if (arguments.traces == NULL) {
		(void)cmd_fail("out of memory");
		return NO_ANSWER;
	}
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status == CMD_GO_ON)
		status = ask_all(&arguments);
	free(arguments.devices);
	free(arguments.traces);
	return status;
}
