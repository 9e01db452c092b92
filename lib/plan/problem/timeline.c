/* timeline.c: see timeline.h. */
#include "timeline.h"

#include <stdlib.h>

#include "bits.h"
#include "region.h"

/* What is only needed while a timeline is made. */
struct making {
	struct seam_timeline *timeline;
	uint32_t *positions; /* of the columns (where there is one lane: of the first begin in each), ascending in each
				lane */
	uint8_t *ends;       /* per position: an item ends there. NULL unless there is one lane */
	uint32_t *stream_lane; /* per stream, or NULL when holds do not matter */
	bool longest;          /* one lane for all streams: an item lives as long as the longest of its holds */
};

static bool holds_matter(const struct seam_problem *problem)
{
	for (uint32_t i = 0; problem->holds != NULL && i < problem->count; i++)
		for (uint32_t s = 0; s < problem->streams; s++)
			if (seam__problem_hold(problem, i, s) != problem->items[i].span)
				return true;
	return false;
}

/* Lanes are numbered in the order in which their streams first occur. */
static enum seam_rc find_lanes(struct making *making)
{
	struct seam_timeline *timeline = making->timeline;
	const struct seam_problem *problem = timeline->problem;

	timeline->lanes = 1;
	if (making->longest || !holds_matter(problem))
		return SEAM_OK;
	making->stream_lane = seam__region_array(problem->region, problem->streams, sizeof(*making->stream_lane));
	timeline->item_lanes = seam__region_array(problem->region, problem->count, sizeof(*timeline->item_lanes));
	if (making->stream_lane == NULL || timeline->item_lanes == NULL)
		return SEAM_OOM_META;
	timeline->lanes = 0;
	for (uint32_t i = 0; i < problem->count; i++) {
		uint32_t *lane = &making->stream_lane[problem->items[i].stream];

		if (*lane == 0)
			*lane = ++timeline->lanes; /* one more than the number, until all are known */
		timeline->item_lanes[i] = *lane - 1;
	}
	return SEAM_OK;
}

static uint32_t span_of(const struct making *making, uint32_t item)
{
	const struct seam_problem *problem = making->timeline->problem;

	return making->longest ? seam__problem_longest_hold(problem, item) : problem->items[item].span;
}

static int compare_positions(const void *left, const void *right)
{
	const uint32_t *a = left;
	const uint32_t *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Begins without an end between them make one column when there is one lane: who begins there, or lives at one of them
 * from before, lives at the last of them, so all of them conflict. */
static enum seam_rc find_ends(struct making *making)
{
	const struct seam_problem *problem = making->timeline->problem;

	if (making->timeline->lanes > 1)
		return SEAM_OK;
	making->ends = seam__region_array(problem->region, problem->circle, sizeof(*making->ends));
	if (making->ends == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count; i++)
		if (span_of(making, i) < problem->circle) /* else it has no end */
			making->ends[((uint64_t)problem->items[i].begin + span_of(making, i)) % problem->circle] = 1;
	return SEAM_OK;
}

/* Does `position` need a column of its own, behind the one with begins up to `before`? */
static bool is_new_column(const struct making *making, uint32_t before, uint32_t position)
{
	if (making->ends == NULL)
		return position != before;
	for (uint32_t p = before; p < position; p++)
		if (making->ends[p + 1] != 0)
			return true;
	return false;
}

/* The begins of each lane, sorted; of those that make one column the first. */
static enum seam_rc find_columns(struct making *making)
{
	struct seam_timeline *timeline = making->timeline;
	const struct seam_problem *problem = timeline->problem;
	uint32_t made = 0;

	timeline->lane_starts = seam__region_array(problem->region, (size_t)timeline->lanes + 1, sizeof(uint32_t));
	making->positions = seam__region_array(problem->region, problem->count, sizeof(*making->positions));
	if (timeline->lane_starts == NULL || making->positions == NULL)
		return SEAM_OOM_META;
	for (uint32_t lane = 0; lane < timeline->lanes; lane++) {
		uint32_t first = made;
		uint32_t end = first;

		for (uint32_t i = 0; i < problem->count; i++)
			if (seam__timeline_lane(timeline, i) == lane)
				making->positions[end++] = problem->items[i].begin;
		qsort(making->positions + first, end - first, sizeof(*making->positions), compare_positions);
		uint32_t before = 0;

		for (uint32_t c = first; c < end; c++) {
			uint32_t position = making->positions[c];

			if (made == first || is_new_column(making, before, position))
				making->positions[made++] = position;
			before = position;
		}
		timeline->lane_starts[lane + 1] = made;
	}
	return SEAM_OK;
}

/* Columns of the lane that begin before `position`. */
static uint32_t rank(const struct making *making, uint32_t lane, uint32_t position)
{
	const uint32_t *positions = making->positions + making->timeline->lane_starts[lane];
	uint32_t low = 0;
	uint32_t high = seam__timeline_columns(making->timeline, lane);

	SEAM__BITS_BISECT(low, high, middle, positions[middle] < position)
	return low;
}

static struct seam_cover cover(const struct making *making, uint32_t item, uint32_t lane, uint32_t hold)
{
	const struct seam_problem *problem = making->timeline->problem;
	uint32_t columns = seam__timeline_columns(making->timeline, lane);
	uint32_t begin = problem->items[item].begin;
	uint32_t first = making->ends == NULL ? rank(making, lane, begin) : rank(making, lane, begin + 1) - 1;
	uint64_t end = (uint64_t)begin + hold;
	struct seam_cover made = {.first = first == columns ? 0 : first};

	if (hold >= problem->circle)
		made.count = columns;
	else if (end <= problem->circle)
		made.count = rank(making, lane, (uint32_t)end) - first;
	else
		made.count = columns - first + rank(making, lane, (uint32_t)(end - problem->circle));
	return made;
}

static enum seam_rc find_covers(struct making *making)
{
	struct seam_timeline *timeline = making->timeline;
	const struct seam_problem *problem = timeline->problem;

	timeline->covers = seam__region_array(
		problem->region, (size_t)problem->count * timeline->lanes, sizeof(struct seam_cover));
	if (timeline->covers == NULL)
		return SEAM_OOM_META;
	for (uint32_t i = 0; i < problem->count && making->stream_lane == NULL; i++)
		timeline->covers[i] = cover(making, i, 0, span_of(making, i));
	for (uint32_t s = 0; making->stream_lane != NULL && s < problem->streams; s++) {
		if (making->stream_lane[s] == 0)
			continue; /* nobody asks on this stream */
		uint32_t lane = making->stream_lane[s] - 1;
		for (uint32_t i = 0; i < problem->count; i++)
			timeline->covers[(size_t)i * timeline->lanes + lane] =
				cover(making, i, lane, seam__problem_hold(problem, i, s));
	}
	return SEAM_OK;
}

static enum seam_rc make(struct seam_timeline *timeline, const struct seam_problem *problem, bool longest)
{
	struct seam_timeline made = {.problem = problem};
	struct making making = {.timeline = &made, .longest = longest};
	enum seam_rc rc = find_lanes(&making);

	if (rc == SEAM_OK)
		rc = find_ends(&making);
	if (rc == SEAM_OK)
		rc = find_columns(&making);
	if (rc == SEAM_OK)
		rc = find_covers(&making);
	if (rc == SEAM_OK)
		*timeline = made;
	return rc;
}

enum seam_rc seam__timeline_init(struct seam_timeline *timeline, const struct seam_problem *problem)
{
	return make(timeline, problem, false);
}

enum seam_rc seam__timeline_init_longest(struct seam_timeline *timeline, const struct seam_problem *problem)
{
	return make(timeline, problem, true);
}

const char *seam__timeline_check(const struct seam_timeline *timeline)
{
	for (uint32_t i = 0; i < timeline->problem->count; i++) {
		uint32_t own = seam__timeline_lane(timeline, i);

		if (own >= timeline->lanes ||
			seam__timeline_column(timeline, i) >= seam__timeline_columns(timeline, own))
			return "TL1 column";
		if (seam__timeline_cover(timeline, i, own)->count == 0)
			return "TL2 own column";
		for (uint32_t lane = 0; lane < timeline->lanes; lane++)
			if (seam__timeline_cover(timeline, i, lane)->count > seam__timeline_columns(timeline, lane))
				return "TL3 cover";
	}
	return NULL;
}
