/* waits.c: the program `waits`: how long one allocation waits at the most where the processors are busy: with plans
 * that a thread of the pool learns, and without.
 *
 * A trace is repeated on an emulated device that keeps books, as fast as it goes but for a pause at the end of each
 * iteration, as a program waits for its device there. Beside it run so many processes that only compute. Runs with and
 * without plans take turns, so that both see the same machine. Times are of the wall clock: a thread that holds a lock
 * and has no processor is what is looked for. Processor time is that of all threads of the process, the pool's own
 * included.
 */
#include <argp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <seam/stats.h>

#include "emu.h"
#include "input.h"
#include "opts.h"
#include "pool.h"
#include "samples.h"
#include "schedule.h"

#define CAPACITY_BYTES (UINT64_C(1) << 40)
#define BUSY_MOST 256u
#define PAIRS_MOST 1000u
#define MS_NS 1000000l
#define PAUSE_MOST 999u /* milliseconds */

enum figure { P50, P9999, LONGEST, PROCESSOR_MS, FIGURES };

struct arguments {
	unsigned long busy;
	unsigned long pairs;
	unsigned long iterations;
	unsigned long pause_ms;
	bool no_marks;
	const char *path;
};

/* One run. */
struct run {
	const struct schedule *schedule;
	const struct arguments *arguments;
	struct seam_driver *driver;
	struct seam_pool *pool;
	void **blocks;     /* per block */
	uint64_t *streams; /* of the device */
	struct seam_event *events;
	struct samples waits;
	uint64_t requests, hits; /* of the last iteration; at its begin, until it ends */
	enum seam_rc rc;
};

static const struct argp_option options[] = {
	{"busy", 'b', "NUMBER", 0, "processes that only compute beside it (default: 2)", 0},
	{"pairs", 'p', "NUMBER", 0, "of runs, one without plans and one with (default: 5)", 0},
	{"iterations", 'n', "NUMBER", 0, "of each run (default: 200)", 0},
	{"pause", 'w', "MILLISECONDS", 0, "at the end of each iteration (default: 20)", 0},
	{"no-marks", 'm', NULL, 0, "do not tell the pool where steps end", 0},
	{0},
};

static unsigned long number(struct argp_state *state, const char *text, unsigned long least, unsigned long most)
{
	char *end = NULL;
	unsigned long value = strtoul(text, &end, 10);
	if (end == text || *end != '\0' || text[0] == '-' || value < least || value > most)
		argp_error(state, "not a number from %lu to %lu: '%s'", least, most, text);
	return value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case 'b':
		arguments->busy = number(state, text, 0, BUSY_MOST);
		return 0;
	case 'p':
		arguments->pairs = number(state, text, 1, PAIRS_MOST);
		return 0;
	case 'n':
		arguments->iterations = number(state, text, 1, 100000);
		return 0;
	case 'w':
		arguments->pause_ms = number(state, text, 0, PAUSE_MOST);
		return 0;
	case 'm':
		arguments->no_marks = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			argp_error(state, "more than one trace: '%s'", text);
		arguments->path = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->path == NULL)
			argp_error(state, "a trace is needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void *pointer(uint64_t handle)
{
	return (void *)(uintptr_t)handle;
}

static uint64_t hits_of(struct run *run)
{
	struct seam_plan_stats stats = {.size = sizeof(stats), .version = SEAM_PLAN_STATS_VERSION};
	run->rc = seam_plan_stats_get(run->pool, &stats);
	return stats.hits;
}

static void do_alloc(struct run *run, const struct schedule_op *op)
{
	const uint64_t start = seam__clock_ticks();
	run->rc = seam_alloc(
		run->pool, op->bytes > 0 ? op->bytes : 1, pointer(run->streams[op->stream]), &run->blocks[op->target]);
	samples_add(&run->waits, seam__clock_ticks() - start);
	run->requests++;
}

/* Errors of the device are its own. */
static void do_event(struct run *run, const struct schedule_op *op)
{
	struct seam_event *event = &run->events[op->target];
	int cu = event->id == 0 ? seam__drv_event_create(run->driver, event) : SEAM_CU_SUCCESS;
	if (cu == SEAM_CU_SUCCESS && op->kind == SCHEDULE_EVENT_RECORD)
		cu = seam__drv_event_record(run->driver, *event, run->streams[op->stream]);
	else if (cu == SEAM_CU_SUCCESS)
		cu = seam__drv_stream_wait_event(run->driver, run->streams[op->stream], *event);
	if (cu != SEAM_CU_SUCCESS)
		run->rc = seam__driver_rc(cu);
}

static void end_iteration(struct run *run, uint32_t iteration)
{
	const struct timespec pause = {.tv_nsec = (long)run->arguments->pause_ms * MS_NS};
	int cu = seam__drv_device_sync(run->driver);
	if (cu != SEAM_CU_SUCCESS)
		run->rc = seam__driver_rc(cu);
	(void)nanosleep(&pause, NULL);
	if (iteration + 2 == run->schedule->iterations) {
		run->hits = hits_of(run);
		run->requests = 0;
	} else if (iteration + 1 == run->schedule->iterations) {
		run->hits = hits_of(run) - run->hits;
	}
}

static void do_op(struct run *run, const struct schedule_op *op)
{
	switch ((enum schedule_kind)op->kind) {
	case SCHEDULE_ALLOC:
		do_alloc(run, op);
		return;
	case SCHEDULE_FREE:
		run->rc = seam_free(run->pool, run->blocks[op->target]);
		run->blocks[op->target] = NULL;
		return;
	case SCHEDULE_RECORD_STREAM:
		run->rc = seam_record_stream(run->pool, run->blocks[op->target], pointer(run->streams[op->stream]));
		return;
	case SCHEDULE_EVENT_RECORD:
	case SCHEDULE_EVENT_WAIT:
		do_event(run, op);
		return;
	case SCHEDULE_STEP:
		if (!run->arguments->no_marks)
			run->rc = seam_step(run->pool);
		return;
	case SCHEDULE_END:
		end_iteration(run, op->target);
		return;
	default:
		return; /* syncs, private pools and phases change nothing that waits */
	}
}

static enum seam_rc open_run(struct run *run, const char *conf)
{
	const struct schedule *schedule = run->schedule;
	const struct seam_emu_config emu = {.memory = SEAM_EMU_BOOK, .capacity_bytes = CAPACITY_BYTES};
	struct seam_config config;
	run->blocks = calloc((size_t)schedule->block_count + 1, sizeof(*run->blocks));
	run->streams = calloc(schedule->stream_count, sizeof(*run->streams));
	run->events = calloc((size_t)schedule->event_count + 1, sizeof(*run->events));
	if (run->blocks == NULL || run->streams == NULL || run->events == NULL ||
		!samples_init(&run->waits, schedule->block_count))
		return SEAM_OOM_META;
	enum seam_rc rc = seam__opts_resolve(NULL, conf, NULL, 0, &config);
	if (rc == SEAM_OK)
		rc = seam__emu_create(&emu, NULL, 0, &run->driver);
	for (uint32_t i = 1; rc == SEAM_OK && i < schedule->stream_count; i++)
		rc = seam__driver_rc(seam__drv_stream_create(run->driver, SEAM_STREAM_NONBLOCKING, &run->streams[i]));
	return rc == SEAM_OK ? seam__pool_create_on(run->driver, &config, &run->pool) : rc;
}

static void close_run(struct run *run)
{
	for (uint32_t i = 0; run->pool != NULL && i < run->schedule->block_count; i++)
		if (run->blocks[i] != NULL)
			(void)seam_free(run->pool, run->blocks[i]);
	seam_pool_destroy(run->pool);
	if (run->driver != NULL)
		seam__driver_destroy(run->driver);
	samples_fini(&run->waits);
	free(run->blocks);
	free(run->streams);
	free(run->events);
}

/* Prints a line. Waits in microseconds. */
static enum seam_rc measure(
	const struct schedule *schedule, const struct arguments *arguments, const char *conf, double ret[FIGURES])
{
	struct run run = {.schedule = schedule, .arguments = arguments};
	struct seam_clock clock;
	seam__clock_init(&clock);
	run.rc = open_run(&run, conf);
	const uint64_t start_ns = seam__clock_process_ns();
	for (size_t i = 0; i < schedule->op_count && run.rc == SEAM_OK; i++)
		do_op(&run, &schedule->ops[i]);
	ret[PROCESSOR_MS] = (double)(seam__clock_process_ns() - start_ns) / (double)MS_NS;
	seam__clock_sync(&clock);
	if (run.rc == SEAM_OK && run.waits.count > 0) {
		ret[P50] = samples_part(&run.waits, &clock, 1, 2) / 1000;
		ret[P9999] = samples_part(&run.waits, &clock, 9999, 10000) / 1000;
		ret[LONGEST] = samples_part(&run.waits, &clock, 1, 1) / 1000;
		printf("%-10s %10zu %10.3f %12.1f %12.1f %13.1f %10.2f %%\n", conf, run.waits.count, ret[P50],
			ret[P9999], ret[LONGEST], ret[PROCESSOR_MS],
			run.requests > 0 ? 100.0 * (double)run.hits / (double)run.requests : 0);
		(void)fflush(stdout);
	}
	close_run(&run);
	return run.rc;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;
	return (a > b) - (a < b);
}

static double middle(double values[], size_t count)
{
	qsort(values, count, sizeof(*values), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* One run in a process of its own: its processor time is all that the pool's thread may count with. */
static int measure_apart(
	const struct schedule *schedule, const struct arguments *arguments, const char *conf, double ret[FIGURES])
{
	int status = 1;
	memset(ret, 0, FIGURES * sizeof(*ret));
	const pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		const enum seam_rc rc = measure(schedule, arguments, conf, ret);
		if (rc != SEAM_OK)
			fprintf(stderr, "waits: %s: %s\n", conf, seam_rc_text(rc));
		_exit(rc == SEAM_OK ? 0 : 1);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		perror("waits");
	else if (WIFSIGNALED(status))
		fprintf(stderr, "waits: %s: ended by signal %d\n", conf, WTERMSIG(status));
	return status;
}

static int measure_pairs(const struct schedule *schedule, const struct arguments *arguments)
{
	static const char *const confs[] = {"plan:off", "plan:auto"};
	static double values[2][FIGURES][PAIRS_MOST];
	double *figures =
		mmap(NULL, FIGURES * sizeof(*figures), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (figures == MAP_FAILED) {
		perror("waits");
		return 1;
	}
	printf("%-10s %10s %10s %12s %12s %13s %12s\n", "", "requests", "p50 us", "p99.99 us", "longest us",
		"processor ms", "served, last");
	(void)fflush(stdout);
	for (size_t i = 0; i < arguments->pairs; i++)
		for (size_t k = 0; k < 2; k++) {
			if (measure_apart(schedule, arguments, confs[k], figures) != 0)
				return 1;
			for (size_t f = 0; f < FIGURES; f++)
				values[k][f][i] = figures[f];
		}
	printf("medians of %lu pairs, %lu busy processes:\n", arguments->pairs, arguments->busy);
	for (size_t k = 0; k < 2; k++)
		printf("%-10s %10s %10.3f %12.1f %12.1f %13.1f\n", confs[k], "",
			middle(values[k][P50], arguments->pairs), middle(values[k][P9999], arguments->pairs),
			middle(values[k][LONGEST], arguments->pairs),
			middle(values[k][PROCESSOR_MS], arguments->pairs));
	return 0;
}

/* Ends with its parent. */
static void be_busy(void)
{
	volatile uint64_t count = 0;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		count++;
}

static int with_busy(const struct schedule *schedule, const struct arguments *arguments)
{
	pid_t busy[BUSY_MOST];
	size_t count = 0;
	for (; count < arguments->busy; count++) {
		busy[count] = fork();
		if (busy[count] == 0)
			be_busy();
		if (busy[count] < 0)
			break;
	}
	int status = 1;
	if (count == arguments->busy)
		status = measure_pairs(schedule, arguments);
	else
		perror("waits");
	for (size_t i = 0; i < count; i++) {
		(void)kill(busy[i], SIGKILL);
		(void)waitpid(busy[i], NULL, 0);
	}
	return status;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse, "TRACE",
		"How long one allocation waits at the most while other processes compute: with plans that the pool learns, and without.",
		NULL, NULL, NULL};
	struct arguments arguments = {.busy = 2, .pairs = 5, .iterations = 200, .pause_ms = 20};
	char error[INPUT_ERROR_BYTES];
	struct seam_trace *trace;
	struct schedule schedule;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return 2;
	if (!input_read(arguments.path, SEAM_IMPORT_ANY_DEVICE, error, &trace)) {
		fprintf(stderr, "waits: %s\n", error);
		return 1;
	}
	enum seam_rc rc = schedule_build(trace, (uint32_t)arguments.iterations, &schedule);
	seam_trace_free(trace);
	if (rc != SEAM_OK) {
		fprintf(stderr, "waits: %s: %s\n", arguments.path, seam_rc_text(rc));
		return 1;
	}
	int status = with_busy(&schedule, &arguments);
	schedule_fini(&schedule);
	return status;
}
