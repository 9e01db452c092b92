/* all_traces.c: every trace of a folder (argument, or $SEAM_TRACES) through every allocator, on a device with
 * bookkeeping memory: nobody runs out of memory, nobody breaks a rule of the device, and Seam reserves what it
 * promises.
 *
 * A run that succeeds has also passed each allocator's own check, before and after everything was freed, and left
 * nothing on the device.
 */
#include <stdio.h>
#include <string.h>

#include "files.h"
#include "input.h"
#include "replay.h"
#include "tap.h"

#define LARGE_BYTES (UINT64_C(4) << 30) /* from here on the promise of efficiency holds, for one iteration */
#define LEAST_PERCENT 97                /* without a price */

static bool run_with(const struct seam_trace *trace, enum ref_kind kind, const struct seam_config *config,
	uint32_t iterations, struct replay_result *result)
{
	char error[REPLAY_ERROR_BYTES] = "";
	struct replay_options options = {
		.allocator = kind, .device = DEVICE_EMU, .iterations = iterations, .config = config};
	enum seam_rc rc = replay_run(trace, &options, error, result);
	ok(rc == SEAM_OK, "%s, %u iterations: runs (%s)", ref_kind_name(kind), iterations, error);
	if (rc != SEAM_OK)
		return false;
	return ok(!result->oom && result->last_complete, "%s, %u iterations: is not out of memory", ref_kind_name(kind),
		iterations);
}

static bool run(const struct seam_trace *trace, enum ref_kind kind, uint32_t iterations, struct replay_result *result)
{
	return run_with(trace, kind, NULL, iterations, result);
}

/* The promise for one iteration, of a pool that stitches at any price; and how much more the default takes. */
static void judge_efficiency(const struct seam_trace *trace, const struct replay_result *seam)
{
	struct seam_config config;
	struct replay_result growth;
	seam_config_init(&config);
	if (!ok(seam_config_parse(&config, "stitch:growth", NULL, 0) == SEAM_OK, "stitch:growth is an option") ||
		!run_with(trace, REF_SEAM, &config, 1, &growth))
		return;
	const double percent = 100.0 * (double)growth.peak_live_bytes / (double)growth.peak_reserved_bytes;
	ok(percent >= LEAST_PERCENT, "efficiency is at least %d %% (%.2f)", LEAST_PERCENT, percent);
	/* Its sizes are random: no view is used again within an iteration. */
	if (strcmp(tap_part, "loguni_big.csv.xz") != 0)
		ok(seam->peak_reserved_bytes == growth.peak_reserved_bytes, "nothing is reserved at a price");
	ok(seam->peak_reserved_bytes <= growth.peak_reserved_bytes + growth.peak_live_bytes / 10,
		"a tenth of what lives is the price at most (%.1f and %.1f MiB)",
		(double)seam->peak_reserved_bytes / 0x1p20, (double)growth.peak_reserved_bytes / 0x1p20);
}

/* What Seam promises, given a run of each. */
static void compare(const struct seam_trace *trace, const struct replay_result *results, uint32_t iterations)
{
	const struct replay_result *seam = &results[REF_SEAM];
	const struct replay_result *caching = &results[REF_CACHING];
	/* A hundredth: chunks leave more at their ends than a few large requests leave of cudaMalloc's segments. */
	ok(seam->peak_reserved_bytes <= caching->peak_reserved_bytes + caching->peak_reserved_bytes / 100,
		"%u iterations: seam reserves at most a hundredth more than caching (%.1f and %.1f MiB)", iterations,
		(double)seam->peak_reserved_bytes / 0x1p20, (double)caching->peak_reserved_bytes / 0x1p20);
	ok(seam->peak_reserved_bytes >= seam->peak_live_bytes, "%u iterations: what is live is reserved", iterations);
	if (iterations > 1)
		tap_note("%s: seam with %u iterations: efficiency %.2f %%, memory calls in the last one: %llu",
			tap_part, iterations, 100.0 * (double)seam->peak_live_bytes / (double)seam->peak_reserved_bytes,
			(unsigned long long)seam->memory_calls_last_iteration);
	else if (seam->peak_live_bytes >= LARGE_BYTES)
		judge_efficiency(trace, seam);
}

static void run_file(const char *path)
{
	char error[INPUT_ERROR_BYTES] = "";
	struct seam_trace *trace;
	const char *slash = strrchr(path, '/');
	tap_part = slash != NULL ? slash + 1 : path;
	if (!ok(input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &trace), "is read (%s)", error))
		return;
	static const uint32_t iterations[] = {1, 6};
	for (size_t i = 0; i < sizeof(iterations) / sizeof(iterations[0]); i++) {
		struct replay_result results[REF_KINDS];
		bool complete = true;
		/* direct does the same in each iteration, and takes longest. */
		size_t kinds = iterations[i] == 1 ? REF_KINDS : REF_DIRECT;
		for (size_t kind = 0; kind < kinds; kind++)
			complete &= run(trace, (enum ref_kind)kind, iterations[i], &results[kind]);
		if (complete)
			compare(trace, results, iterations[i]);
	}
	seam_trace_free(trace);
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : files_shared();
	glob_t files;
	tap_part = folder;
	if (ok(files_find(folder, &files), "holds traces")) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			run_file(files.gl_pathv[i]);
	}
	globfree(&files);
	return tap_end();
}
