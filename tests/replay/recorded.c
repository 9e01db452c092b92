/* recorded.c: the model of PyTorch's caching allocator against what PyTorch itself recorded: the snapshots of
 * $SEAM_TRACES.
 *
 * A snapshot that holds allocator events says which request made it take a segment, and of which size: the model must
 * do the same at the same requests. Blocks from before the recording are allocated first, and must take as much as
 * PyTorch held for them. The other snapshots give the bytes reserved at the end, with what earlier phases left in the
 * cache: so within 2 %.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu.h"
#include "files.h"
#include "input.h"
#include "replay.h"
#include "tap.h"

#define MIB (UINT64_C(1) << 20)

static struct seam_trace *read_snapshot(const char *name)
{
	char path[4096];
	char error[INPUT_ERROR_BYTES] = "";
	struct seam_trace *trace = NULL;
	(void)snprintf(path, sizeof(path), "%s/snapshots/%s.pickle.xz", files_shared(), name);
	tap_part = name;
	ok(input_read(path, SEAM_IMPORT_ANY_DEVICE, error, &trace), "is read (%s)", error);
	return trace;
}

/* A block of the trace by its id: ids are addresses, so a table by number would not do; the newest with an id counts.
 */
struct block {
	uint64_t id;
	uint64_t va;
};

struct follower {
	struct seam_driver *driver;
	struct ref_allocator *allocator;
	struct block *blocks;
	size_t block_count;
	uint64_t expected_bytes; /* what the recording took since the last request */
	uint64_t before_bytes;   /* what it had taken before it began, */
	uint64_t resident_bytes; /* and what the model takes for the blocks from then */
	uint64_t events;         /* segments that were compared */
	uint64_t differences;
};

static uint64_t reserved(const struct follower *follower)
{
	struct ref_stats stats;
	ref_get_stats(follower->allocator, &stats);
	return stats.reserved_bytes;
}

static void follow_alloc(struct follower *follower, const struct seam_trace_event *event, uint64_t number)
{
	uint64_t before_bytes = reserved(follower);
	struct ref_request request = {.bytes = event->size};
	struct block *block = &follower->blocks[follower->block_count++];
	block->id = event->id;
	if (ref_alloc(follower->allocator, &request, &block->va) != SEAM_OK) {
		follower->differences++;
		return;
	}
	if ((event->flags & SEAM_TRACE_RESIDENT) != 0) {
		follower->before_bytes += follower->expected_bytes;
		follower->resident_bytes = reserved(follower);
		follower->expected_bytes = 0;
		return;
	}
	uint64_t taken_bytes = reserved(follower) - before_bytes;
	if (taken_bytes != follower->expected_bytes) {
		follower->differences++;
		tap_note("event %" PRIu64 ": the model took %" PRIu64 " bytes, PyTorch %" PRIu64, number, taken_bytes,
			follower->expected_bytes);
	}
	follower->events += follower->expected_bytes != 0;
	follower->expected_bytes = 0;
}

static void follow_free(struct follower *follower, const struct seam_trace_event *event)
{
	size_t i = follower->block_count;
	while (i > 0 && follower->blocks[i - 1].id != event->id)
		i--;
	if (i == 0 || ref_free(follower->allocator, follower->blocks[i - 1].va) != SEAM_OK) {
		follower->differences++;
		return;
	}
	follower->blocks[i - 1] = follower->blocks[--follower->block_count];
}

static void follow(struct follower *follower, const struct seam_trace *trace)
{
	for (uint64_t i = 0; i < trace->header.event_count; i++) {
		const struct seam_trace_event *event = &trace->events[i];
		if (event->kind == SEAM_TRACE_ALLOC)
			follow_alloc(follower, event, i);
		else if (event->kind == SEAM_TRACE_FREE)
			follow_free(follower, event);
		else if (event->kind == SEAM_TRACE_SEGMENT_ALLOC)
			follower->expected_bytes += event->size;
	}
}

static void compare_segments(void)
{
	struct seam_trace *trace = read_snapshot("train_small_from_start");
	struct seam_emu_config config = {.memory = SEAM_EMU_BOOK};
	struct follower follower = {0};
	if (trace == NULL)
		return;
	follower.blocks = calloc(trace->header.event_count, sizeof(*follower.blocks));
	if (follower.blocks != NULL && seam__emu_create(&config, NULL, 0, &follower.driver) == SEAM_OK &&
		ref_create(REF_CACHING, follower.driver, NULL, NULL, &follower.allocator) == SEAM_OK) {
		follow(&follower, trace);
		ok(follower.before_bytes > 0 && follower.resident_bytes == follower.before_bytes,
			"the blocks from before the recording take what PyTorch had taken (%" PRIu64 " and %" PRIu64
			" bytes)",
			follower.resident_bytes, follower.before_bytes);
		ok(follower.events == 9, "nine segments are compared (%" PRIu64 ")", follower.events);
		ok(follower.differences == 0, "each request takes what PyTorch took for it");
		ok(reserved(&follower) == 894 * MIB, "the end is what PyTorch's segments sum up to (%" PRIu64 " bytes)",
			reserved(&follower));
	} else {
		ok(false, "a device and an allocator are there");
	}
	ok(ref_destroy(follower.allocator) == 0, "nothing is lost");
	seam__driver_destroy(follower.driver);
	free(follower.blocks);
	seam_trace_free(trace);
}

static void compare_end(const char *name, uint64_t recorded_mib)
{
	char error[REPLAY_ERROR_BYTES] = "";
	struct replay_options options = {.allocator = REF_CACHING, .device = DEVICE_EMU, .iterations = 1};
	struct replay_result result;
	struct seam_trace *trace = read_snapshot(name);
	if (trace == NULL)
		return;
	if (ok(replay_run(trace, &options, error, &result) == SEAM_OK, "runs (%s)", error)) {
		double percent = 100.0 * (double)result.peak_reserved_bytes / (double)(recorded_mib * MIB) - 100;
		ok(percent >= -2 && percent <= 2, "reserves what PyTorch did within 2 %% (%+.2f %%)", percent);
	}
	seam_trace_free(trace);
}

int main(void)
{
	(void)files_shared();
	compare_segments();
	compare_end("train_gpt_12x768", 13524);
	compare_end("train_compiled_adamw", 4042);
	compare_end("forward_fp32_12layer", 582);
	return tap_end();
}
