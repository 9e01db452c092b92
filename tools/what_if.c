/* what_if.c: see what_if.h. */
#include "what_if.h"

#include <stdio.h>

#include "bits.h"
#include "place.h"
#include "replay_bar.h"

/* A device without limit: far more than any policy takes, and little enough that expandable segments, which reserve
 * addresses for all of a device on each stream, find room for many streams. */
#define UNLIMITED_FACTOR 16u
#define UNLIMITED_LEAST_BYTES (UINT64_C(64) << 30)
#define UNLIMITED_MOST_BYTES (UINT64_C(8) << 40) /* the emulator's */

static const enum ref_kind kinds[WHAT_IF_POLICIES] = {
	[WHAT_IF_NATIVE] = REF_CACHING,
	[WHAT_IF_EXPANDABLE] = REF_EXPANDABLE,
	[WHAT_IF_SEAM] = REF_SEAM,
};

/* A question while it is answered. */
struct asked {
	const struct seam_trace *trace;
	const char *path;
	const struct seam_config *config;
	char *error;
};

static enum seam_rc run(const struct asked *asked, enum what_if_policy policy, uint64_t capacity_bytes,
	struct replay_result *ret_result)
{
	const struct replay_options options = {
		.allocator = kinds[policy],
		.device = DEVICE_EMU,
		.memory = DEVICE_MEMORY_BOOK,
		.capacity_bytes = capacity_bytes,
		.iterations = 1,
		.config = asked->config,
	};
	char failure[REPLAY_ERROR_BYTES] = "";
	enum seam_rc rc = replay_shown(asked->trace, &options, asked->path, failure, ret_result);
	if (rc != SEAM_OK)
		(void)snprintf(asked->error, REPLAY_ERROR_BYTES, "allocator %s: %.280s", ref_kind_name(kinds[policy]),
			failure);
	return rc;
}

/* On a device without limit. */
static enum seam_rc find_needs(const struct asked *asked, uint64_t peak_live_bytes, struct what_if_answer *answer)
{
	uint64_t capacity_bytes;
	if (!seam__bits_try_mul(peak_live_bytes, UNLIMITED_FACTOR, &capacity_bytes) ||
		capacity_bytes > UNLIMITED_MOST_BYTES)
		capacity_bytes = UNLIMITED_MOST_BYTES;
	capacity_bytes = seam__bits_max(capacity_bytes, UNLIMITED_LEAST_BYTES);
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < WHAT_IF_POLICIES && rc == SEAM_OK; i++) {
		struct replay_result result;
		rc = run(asked, (enum what_if_policy)i, capacity_bytes, &result);
		if (rc != SEAM_OK)
			return rc;
		answer->runs[i].needs_known = !result.oom;
		answer->runs[i].needs_bytes = result.peak_reserved_bytes;
	}
	return rc;
}

static enum seam_rc try_device(const struct asked *asked, struct what_if_answer *answer)
{
	for (size_t i = 0; i < WHAT_IF_POLICIES; i++) {
		struct what_if_run *out = &answer->runs[i];
		struct replay_result result;
		struct place place;
		enum seam_rc rc = run(asked, (enum what_if_policy)i, answer->device->usable_bytes, &result);
		if (rc != SEAM_OK)
			return rc;
		answer->requests = result.requests_in_all;
		answer->peak_live_bytes = result.peak_live_bytes;
		out->fits = !result.oom;
		out->reserved_bytes = result.peak_reserved_bytes;
		out->failure = result.failure;
		out->where[0] = '\0';
		if (result.oom && place_find(asked->trace, result.failure.number, &place))
			(void)place_text(&place, out->where, sizeof(out->where));
	}
	return SEAM_OK;
}

static void find_recorded_oom(const struct seam_trace *trace, struct what_if_answer *answer)
{
	for (uint64_t i = 0; i < trace->header.event_count && !answer->recorded_oom; i++) {
		answer->recorded_oom = trace->events[i].kind == SEAM_TRACE_OOM;
		answer->recorded_oom_bytes = trace->events[i].size;
	}
}

enum seam_rc what_if_ask(const struct seam_trace *trace, const char *path, const struct seam_config *config,
	const struct what_if_device *devices, size_t count, char *error, struct what_if_answer *ret_answers)
{
	const struct asked asked = {.trace = trace, .path = path, .config = config, .error = error};
	enum seam_rc rc = SEAM_OK;
	for (size_t i = 0; i < count && rc == SEAM_OK; i++) {
		struct what_if_answer answer = {.trace = path, .device = &devices[i]};
		rc = try_device(&asked, &answer);
		if (rc != SEAM_OK)
			return rc;
		if (i == 0)
			rc = find_needs(&asked, answer.peak_live_bytes, &answer);
		for (size_t k = 0; k < WHAT_IF_POLICIES && i > 0; k++) {
			answer.runs[k].needs_known = ret_answers[0].runs[k].needs_known;
			answer.runs[k].needs_bytes = ret_answers[0].runs[k].needs_bytes;
		}
		find_recorded_oom(trace, &answer);
		ret_answers[i] = answer;
	}
	return rc;
}
