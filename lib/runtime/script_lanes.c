/* script_lanes.c: a script's slots by who asks for them, and the index that finds a place again by the sizes asked for
 * lately. */
#include "script.h"

#include <stdlib.h>

#include "meta.h"

#define RESEMBLING_SHARE 8u /* of two scripts of one kind, one run in so many may be missing in the other */

/* A slot and whose it is. */
struct owned {
	uint32_t stream;
	uint32_t thread;
	uint32_t slot;
};

static int compare_owned(const void *left, const void *right)
{
	const struct owned *a = left, *b = right;
	if (a->stream != b->stream)
		return a->stream < b->stream ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

static int compare_runs(const void *left, const void *right)
{
	const struct seam_run *a = left, *b = right;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return (a->last > b->last) - (a->last < b->last);
}

static bool same_lane(const struct owned *a, const struct owned *b)
{
	return a->stream == b->stream && a->thread == b->thread;
}

static uint32_t mix(uint32_t hash, uint64_t bytes)
{
	const uint64_t mixed = (hash ^ bytes) * UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(mixed >> 32) ^ (uint32_t)mixed;
}

/* Of the run that ends at cue `last`, around the circle of the lane's cues. */
static uint32_t hash_cues(const struct seam_lane *lane, uint32_t last)
{
	uint32_t hash = 0;
	for (uint32_t i = 0; i < SEAM_RUN; i++) {
		hash = mix(hash, lane->first[last].bytes);
		last = last == 0 ? lane->count - 1 : last - 1;
	}
	return hash;
}

static uint64_t heard_before(const struct seam_history *history, uint32_t back)
{
	return history->sizes[(history->heard - 1 - back) % SEAM_HEARD];
}

uint32_t seam__history_run(const struct seam_history *history)
{
	uint32_t hash = 0;
	for (uint32_t i = 0; i < SEAM_RUN; i++)
		hash = mix(hash, heard_before(history, i));
	return hash;
}

struct seam_agreement seam__lane_agrees(const struct seam_lane *lane, uint32_t cue, const struct seam_history *history)
{
	const uint32_t most = history->heard < SEAM_HEARD ? (uint32_t)history->heard : SEAM_HEARD;
	struct seam_agreement agreement = {0, 0};
	for (; agreement.length < most; agreement.length++) {
		const uint64_t bytes = lane->first[cue].bytes;
		if (bytes != 0 && bytes != heard_before(history, agreement.length))
			break;
		agreement.exact += bytes != 0;
		cue = cue == 0 ? lane->count - 1 : cue - 1;
	}
	return agreement;
}

/* The first that is not in front of this one. */
static uint32_t find_run(const struct seam_lane *lane, uint32_t hash, uint32_t last)
{
	const struct seam_run run = {hash, last};
	uint32_t low = 0, high = lane->count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (compare_runs(&lane->runs[middle], &run) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool seam__lane_has_run(const struct seam_lane *lane, uint32_t hash)
{
	const uint32_t run = find_run(lane, hash, 0);
	return run < lane->count && lane->runs[run].hash == hash;
}

/* Equal layers give equal runs: only a longer history tells them apart, up to what is remembered, or to all that the
 * lane has. Where even that does not, the nearest such place is likeliest: it is a request or two that the cursor is
 * wrong by, rather than a layer. */
struct seam_guess seam__lane_guess(const struct seam_lane *lane, const struct seam_history *history, uint32_t near)
{
	struct seam_guess best = {0, 0};
	if (history->heard < SEAM_RUN)
		return best;
	const uint32_t hash = seam__history_run(history);
	const uint32_t enough = lane->count < SEAM_RUN ? SEAM_RUN : lane->count < SEAM_HEARD ? lane->count : SEAM_HEARD;
	uint32_t equals = 0, nearest = 0;
	const uint32_t middle = find_run(lane, hash, near);
	for (uint32_t r = middle < SEAM_HITS ? 0 : middle - SEAM_HITS; r < lane->count && r < middle + SEAM_HITS; r++) {
		if (lane->runs[r].hash != hash)
			continue;
		const uint32_t cue = lane->runs[r].last;
		const uint32_t length = seam__lane_agrees(lane, cue, history).length;
		const uint32_t apart = cue > near ? cue - near : near - cue;
		const uint32_t distance = apart < lane->count - apart ? apart : lane->count - apart;
		if (length < SEAM_RUN || length < best.length)
			continue;
		equals = length > best.length ? 1 : equals + 1;
		if (length > best.length || distance < nearest) {
			best = (struct seam_guess){cue, length};
			nearest = distance;
		}
	}
	if (equals > 1 && best.length < enough)
		best.length = 0;
	return best;
}

static void fill_cues(const struct seam_plan *plan, struct seam_script *script, const struct owned *list)
{
	for (uint32_t i = 0; i < script->slots; i++) {
		const uint32_t slot = list[i].slot;
		script->cues[i] = (struct seam_cue){
			.bytes = (plan->slots[slot].flags & SEAM_PLAN_DYNAMIC) != 0 ? 0 : plan->slots[slot].size_bytes,
			.begin = script->stretches[slot].begin,
			.slot = slot,
		};
	}
}

static void fill_lanes(const struct seam_plan *plan, struct seam_script *script, const struct owned *list)
{
	uint32_t lane = 0;
	for (uint32_t i = 0, end; i < script->slots; i = end, lane++) {
		for (end = i + 1; end < script->slots && same_lane(&list[end], &list[i]); end++)
			;
		struct seam_run *runs = &script->runs[i];
		struct seam_lane *made = &script->lanes[lane];
		*made = (struct seam_lane){
			.next = &script->cues[i],
			.first = &script->cues[i],
			.count = end - i,
			.runs = runs,
			.stream = plan->streams[list[i].stream],
			.thread = list[i].thread,
			.plan_thread = list[i].thread,
		};
		for (uint32_t last = 0; last < made->count; last++)
			runs[last] = (struct seam_run){hash_cues(made, last), last};
		qsort(runs, made->count, sizeof(*runs), compare_runs);
	}
}

enum seam_rc seam__script_find_lanes(struct seam_meta *meta, const struct seam_plan *plan, struct seam_script *script)
{
	struct owned *list = seam__meta_array(meta, script->slots, sizeof(*list));
	script->cues = seam__meta_array(meta, script->slots, sizeof(*script->cues));
	script->runs = seam__meta_array(meta, script->slots, sizeof(*script->runs));
	enum seam_rc rc = list == NULL || script->cues == NULL || script->runs == NULL ? SEAM_OOM_META : SEAM_OK;
	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < script->slots; i++)
			list[i] = (struct owned){plan->slots[i].stream, plan->slots[i].thread, i};
		qsort(list, script->slots, sizeof(*list), compare_owned);
		for (uint32_t i = 0; i < script->slots; i++)
			script->lane_count += i == 0 || !same_lane(&list[i], &list[i - 1]);
		script->lanes = seam__meta_array(meta, script->lane_count, sizeof(*script->lanes));
		if (script->lanes == NULL)
			rc = SEAM_OOM_META;
	}
	if (rc == SEAM_OK) {
		fill_cues(plan, script, list);
		fill_lanes(plan, script, list);
	}
	seam__meta_free(meta, list, script->slots * sizeof(*list));
	return rc;
}

/* How many runs two lanes have in common: both are in order of their hashes. */
static uint32_t shared_runs(const struct seam_lane *a, const struct seam_lane *b)
{
	uint32_t shared = 0;
	for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
		const uint32_t left = a->runs[i].hash, right = b->runs[j].hash;
		shared += left == right;
		i += left <= right;
		j += right <= left;
	}
	return shared;
}

bool seam__script_resembles(const struct seam_script *a, const struct seam_script *b)
{
	uint32_t shared = 0;
	if (a->lane_count != b->lane_count)
		return false;
	for (uint32_t l = 0; l < a->lane_count; l++) {
		if (a->lanes[l].stream != b->lanes[l].stream || a->lanes[l].plan_thread != b->lanes[l].plan_thread)
			return false;
		shared += shared_runs(&a->lanes[l], &b->lanes[l]);
	}
	const uint32_t most = a->slots > b->slots ? a->slots : b->slots;
	return shared >= most - most / RESEMBLING_SHARE;
}
