/* cmd_replay.c: `seam replay TRACE...`: traces through allocators, compared. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "input.h"
#include "meta.h"
#include "replay_bar.h"
#include "report.h"
#include "schedule.h"
#include "text.h"

#define ITERATIONS_MAX 1000000u
#define PERCENT_MAX 10000u
#define BLOCK_ALIGN 512u
#define HOST_NS_MAX 1000000000ul

enum key {
	KEY_ALLOCATOR = 'a',
	KEY_DEVICE = 'd',
	KEY_ITERATIONS = 'n',
	KEY_MEMORY = 'm',
	KEY_CAPACITY = 0x2000,
	KEY_CONF,
	KEY_COSTS,
	KEY_JSON,
	KEY_PLAN = 'p',
	KEY_PERTURB = 0x2200,
	KEY_SEED,
	KEY_HOST,
	KEY_NO_MARKS,
	KEY_NO_TRIM
};

struct arguments {
	enum ref_kind allocators[REF_KINDS];
	size_t allocator_count;
	struct replay_options replay;
	struct seam_config config;
	struct seam_plan *plan; /* of --plan FILE */
	bool json;
	const char **traces;
	size_t trace_count;
};

static const struct argp_option options[] = {
	{"allocator", KEY_ALLOCATOR, "NAME,...", 0, "of seam, caching, expandable, direct (default: all four)", 0},
	{"device", KEY_DEVICE, "DEVICE", 0,
		"cuda (a GPU), emu (an emulated device), or auto: a GPU if there is one (default)", 0},
	{"memory", KEY_MEMORY, "MEMORY", 0,
		"of the emulated device: real (contents are checked), strict (the same, and the CPU cannot touch it), pages (real, but of each 2 MiB only "
		"the first and the last page), book (bookkeeping only, faster), or auto: book (default). On a GPU contents are checked with all of these but auto",
		0},
	{"capacity", KEY_CAPACITY, "SIZE", 0,
		"memory of the device, as in 24G, or of each trace's peak of live memory, as in 105% (default: 80G, with real memory 8G, or twice "
		"what the trace needs if that is more; on a GPU all that it has)",
		0},
	{"iterations", KEY_ITERATIONS, "NUMBER", 0,
		"repeat what is between the residents (default: 1); 'steps': repeat nothing, each marked step is an iteration",
		0},
	{"conf", KEY_CONF, "KEY:VALUE,...", 0, "configuration of seam, over that in SEAM_CONF", 0},
	{"costs", KEY_COSTS, "FILE", 0,
		"what driver calls cost on the emulated device, as 'bench/costs --table' measures it", 0},
	{"plan", KEY_PLAN, "PLAN", 0,
		"of seam: none (default), auto (learnt and prepared while the trace runs, in the background of a virtual clock), or a file that 'seam plan' wrote for the "
		"trace. Without --allocator only seam runs then",
		0},
	{"host-ns", KEY_HOST, "NANOSECONDS", 0,
		"with a plan: time that the program takes before each operation, where the trace's own times are not those of a program that ran (default: 10000)",
		0},
	{"no-marks", KEY_NO_MARKS, NULL, 0, "with a plan: do not tell seam where steps end and what phases there are",
		0},
	{"no-trim", KEY_NO_TRIM, NULL, 0,
		"with a plan: return nothing that is cached when it has come into its own, as a run without a plan returns nothing",
		0},
	{"perturb", KEY_PERTURB, "KIND[+KIND...]", 0,
		"disturb the program in one way, or in several one after the other:"
#define PERTURB(name, text) " " #name " (" text ")"
#include "perturb.def"
#undef PERTURB
		,
		0},
	{"seed", KEY_SEED, "NUMBER", 0, "of --perturb (default: 1)", 0},
	{"json", KEY_JSON, NULL, 0, "print JSON", 0},
	{0},
};

static error_t parse_allocators(struct arguments *arguments, char *text, const struct argp_state *state)
{
	arguments->allocator_count = 0;
	char *rest = NULL;
	for (char *name = strtok_r(text, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		enum ref_kind kind;
		if (!ref_kind_find(name, &kind))
			return cmd_usage(state, "no such allocator: '%s'", name);
		for (size_t i = 0; i < arguments->allocator_count; i++)
			if (arguments->allocators[i] == kind)
				return cmd_usage(state, "the allocator is named twice: '%s'", name);
		arguments->allocators[arguments->allocator_count++] = kind;
	}
	return arguments->allocator_count > 0 ? 0 : cmd_usage(state, "no allocator is named");
}

/* The number of the name among `names`, which end in NULL; -1: not one of them. */
static int choice(const char *text, const char *const names[])
{
	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	return -1;
}

static error_t parse_device(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	static const char *const names[] = {[DEVICE_AUTO] = "auto", [DEVICE_CUDA] = "cuda", [DEVICE_EMU] = "emu", NULL};
	int device = choice(text, names);
	if (device < 0)
		return cmd_usage(state, "no such device: '%s'", text);
	arguments->replay.device = (enum device_kind)device;
	return 0;
}

static error_t parse_memory(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	static const char *const names[] = {[DEVICE_MEMORY_AUTO] = "auto",
		[DEVICE_MEMORY_REAL] = "real",
		[DEVICE_MEMORY_STRICT] = "strict",
		[DEVICE_MEMORY_BOOK] = "book",
		NULL};
	arguments->replay.pages_only = strcmp(text, "pages") == 0;
	int memory = arguments->replay.pages_only ? DEVICE_MEMORY_REAL : choice(text, names);
	if (memory < 0)
		return cmd_usage(state, "no such kind of memory: '%s'", text);
	arguments->replay.memory = (enum device_memory)memory;
	return 0;
}

/* A size, or a share of what each trace needs: "105%". */
static error_t parse_capacity(struct arguments *arguments, const char *text, const struct argp_state *state)
{
	char *end = NULL;
	unsigned long percent = strtoul(text, &end, 10);
	if (end != text && strcmp(end, "%") == 0) {
		if (percent == 0 || percent > PERCENT_MAX)
			return cmd_usage(state, "not a share between 1%% and %u%%: '%s'", PERCENT_MAX, text);
		arguments->replay.capacity_percent = (uint32_t)percent;
		return 0;
	}
	return cmd_size(text, &arguments->replay.capacity_bytes) ? 0 : cmd_usage(state, "not a size: '%s'", text);
}

/* The file is read when all options are known to be good. */
static error_t parse_plan(struct arguments *arguments, const char *text)
{
	struct replay_options *replay = &arguments->replay;
	replay->plan_name = text;
	if (strcmp(text, "none") == 0)
		replay->planning = REPLAY_PLAN_NONE;
	else if (strcmp(text, "auto") == 0)
		replay->planning = REPLAY_PLAN_AUTO;
	else
		replay->planning = REPLAY_PLAN_FILE;
	return 0;
}

static error_t parse_number(
	const char *text, unsigned long most, uint64_t *ret_number, const char *what, const struct argp_state *state)
{
	unsigned long number;
	if (!cmd_number(text, most, &number))
		return cmd_usage(state, "not %s: '%s'", what, text);
	*ret_number = number;
	return 0;
}

/* Who runs with a plan, and whether that can be. */
static error_t check_plan(struct arguments *arguments, const struct argp_state *state)
{
	bool planned = arguments->replay.planning != REPLAY_PLAN_NONE;
	bool seam = arguments->allocator_count == 0;
	for (size_t i = 0; i < arguments->allocator_count; i++)
		seam = seam || arguments->allocators[i] == REF_SEAM;
	if (planned && !seam)
		return cmd_usage(state, "only seam runs with a plan");
	if (arguments->allocator_count > 0)
		return 0;
	static const enum ref_kind all[REF_KINDS] = {REF_SEAM, REF_CACHING, REF_EXPANDABLE, REF_DIRECT};
	memcpy(arguments->allocators, all, sizeof(all));
	arguments->allocator_count = planned ? 1 : REF_KINDS;
	return 0;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	unsigned long number;
	switch (key) {
	case KEY_ALLOCATOR:
		return parse_allocators(arguments, text, state);
	case KEY_DEVICE:
		return parse_device(arguments, text, state);
	case KEY_MEMORY:
		return parse_memory(arguments, text, state);
	case KEY_CAPACITY:
		return parse_capacity(arguments, text, state);
	case KEY_CONF:
		return cmd_conf(state, text, &arguments->config);
	case KEY_ITERATIONS:
		number = SCHEDULE_STEPS;
		if (strcmp(text, "steps") != 0 && (!cmd_number(text, ITERATIONS_MAX, &number) || number == 0))
			return cmd_usage(state, "not a number of iterations: '%s'", text);
		arguments->replay.iterations = (uint32_t)number;
		return 0;
	case KEY_COSTS:
		arguments->replay.cost_file = text;
		return 0;
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case KEY_PLAN:
		return parse_plan(arguments, text);
	case KEY_PERTURB:
		return perturb_parse(text, &arguments->replay.perturb)
			? 0
			: cmd_usage(state, "no such way to disturb a program: '%s'", text);
	case KEY_SEED:
		return parse_number(text, ULONG_MAX, &arguments->replay.perturb.seed, "a seed", state);
	case KEY_HOST:
		return parse_number(text, HOST_NS_MAX, &arguments->replay.host_ns, "a number of nanoseconds", state);
	case KEY_NO_MARKS:
		arguments->replay.no_marks = true;
		return 0;
	case KEY_NO_TRIM:
		arguments->replay.no_trim = true;
		return 0;
	case ARGP_KEY_ARG:
		arguments->traces[arguments->trace_count++] = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->trace_count == 0)
			return cmd_usage(state, "no trace is named");
		return check_plan(arguments, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "TRACE...",
	.doc = "Run recordings of memory use through Seam and through reference allocators, and compare what they reserve.\v"
	       "A TRACE is anything that 'seam convert' reads. caching and expandable are models of PyTorch's caching allocator, "
	       "without and with expandable segments; direct asks the driver for every request.\n\n"
	       "With several iterations the part between the blocks that are never freed is repeated: the whole trace, or, where "
	       "steps are marked, the last complete step (all but the first where steps differ).\n\n"
	       "With real memory every block is filled with a pattern and checked when it is freed. The exit status "
	       "is 0 also when a reference allocator runs out of memory, and 1 when seam does, when the capacity is less than what a trace "
	       "needs at its peak, when a trace cannot be read, when contents were lost or the device was misused.",
};

/* A device on which no allocator could serve the trace is the caller's mistake; else only seam is expected to fit. */
static int judge_memory(const char *path, const struct report_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct replay_result *result = &rows[i].result;
		char live[32];
		char capacity[32];
		if (!result->oom)
			continue;
		(void)seam__text_size(live, result->peak_live_bytes);
		if (result->capacity_bytes != 0 && result->capacity_bytes < result->peak_live_bytes)
			return cmd_fail("%s: the capacity is too small: %s are live at the peak, and the device has %s",
				path, live, seam__text_size(capacity, result->capacity_bytes));
		if (result->allocator == REF_SEAM)
			return cmd_fail("%s: seam ran out of memory (%s are live at the peak)", path, live);
	}
	return CMD_OK;
}

/* CMD_FAILED: nothing was measured. */
static int replay_trace(
	struct arguments *arguments, const struct seam_trace *trace, const char *path, struct report_row *rows)
{
	int status = CMD_OK;
	for (size_t i = 0; i < arguments->allocator_count && status == CMD_OK; i++) {
		struct replay_options replay = arguments->replay;
		char failure[REPLAY_ERROR_BYTES] = "";
		replay.allocator = arguments->allocators[i];
		replay.config = &arguments->config;
		rows[i].trace = path;
		enum seam_rc rc = replay_shown(trace, &replay, path, failure, &rows[i].result);
		if (rc != SEAM_OK)
			status = cmd_fail("%s: allocator %s: %s", path, ref_kind_name(replay.allocator), failure);
	}
	return status;
}

static int print(const struct arguments *arguments, const struct report_row *rows, size_t count)
{
	struct seam_text text;
	seam__text_init(&text, seam__meta_process());
	enum seam_rc rc = arguments->json ? report_json(rows, count, &text) : report_table(rows, count, &text);
	int status = cmd_print(rc, &text);
	seam__text_fini(&text);
	return status;
}

/* Reads what can be read: one line for each trace that cannot. */
static struct seam_trace *read_trace(const char *path)
{
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	if (input_read_program(path, error, &trace))
		return trace;
	(void)cmd_fail("%s", error);
	return NULL;
}

/* A trace that cannot be read is passed over; an allocator or a device that fails would fail again and ends the work.
 * What was measured is printed in any case. */
static int replay_all(struct arguments *arguments)
{
	const size_t columns = arguments->allocator_count;
	struct report_row *rows = calloc(arguments->trace_count * columns, sizeof(*rows));
	if (rows == NULL)
		return cmd_fail("out of memory");
	int status = CMD_OK;
	bool goes_on = true;
	size_t count = 0;
	for (size_t i = 0; i < arguments->trace_count && goes_on; i++) {
		const char *path = arguments->traces[i];
		struct seam_trace *trace = read_trace(path);
		if (trace == NULL) {
			status = CMD_FAILED;
			continue;
		}
		goes_on = replay_trace(arguments, trace, path, &rows[count]) == CMD_OK;
		seam_trace_free(trace);
		if (!goes_on || judge_memory(path, &rows[count], columns) != CMD_OK)
			status = CMD_FAILED;
		count += goes_on ? columns : 0;
	}
	if (count > 0 && print(arguments, rows, count) != CMD_OK)
		status = CMD_FAILED;
	free(rows);
	return status;
}

static int read_plan(struct arguments *arguments)
{
	struct seam_trace_error error;
	const char *path = arguments->replay.plan_name;
	if (arguments->replay.planning != REPLAY_PLAN_FILE)
		return CMD_OK;
	if (seam_plan_read_file(path, &error, &arguments->plan) != SEAM_OK)
		return cmd_fail("%s: %s", path, error.text);
	if ((arguments->plan->header.flags & (SEAM_PLAN_LINEAR | SEAM_PLAN_GRAPH)) != 0)
		return cmd_fail(
			"%s: a plan of something that happens once serves no run (seam plan --period find)", path);
	if (arguments->plan->header.align_bytes % BLOCK_ALIGN != 0)
		return cmd_fail("%s: its addresses are not multiples of %u (seam plan --align %u)", path, BLOCK_ALIGN,
			BLOCK_ALIGN);
	arguments->replay.plan = arguments->plan;
	return CMD_OK;
}

int cmd_replay(int argc, char **argv)
{
	struct arguments arguments = {
		.replay = {.iterations = 1, .perturb = {.seed = 1}},
	};
	seam_config_init(&arguments.config);
	arguments.traces = calloc((size_t)argc + 1, sizeof(*arguments.traces));
	if (arguments.traces == NULL)
		return cmd_fail("out of memory");
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status == CMD_GO_ON)
		status = read_plan(&arguments);
	if (status == CMD_OK)
		status = replay_all(&arguments);
	seam_plan_free(arguments.plan);
	free(arguments.traces);
	return status;
}
