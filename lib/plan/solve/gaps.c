/* gaps.c: see gaps.h. */
#include "gaps.h"

#include <string.h>

#include "bits.h"
#include "region.h"

/* One set that a search must keep clear of, for one item of the chain. */
struct seam_gap_cursor {
	const struct seam_addresses *set;
	uint64_t shift_bytes; /* from the head's address to the item's */
	uint64_t size_bytes;  /* of the item */
	uint64_t begin_bytes; /* of stretch `at`, the first that may be in the way; above everything when there is none
			       */
	uint64_t end_bytes;
	uint32_t at;
};

/* The stretch is kept beside its number: most looks at a cursor end with `begin_bytes`, without a look at the set. */
static void load(struct seam_gap_cursor *cursor)
{
	bool is_there = cursor->at < cursor->set->count;

	cursor->begin_bytes = is_there ? cursor->set->stretches[cursor->at].begin_bytes : UINT64_MAX;
	cursor->end_bytes = is_there ? cursor->set->stretches[cursor->at].end_bytes : UINT64_MAX;
}

static uint32_t longest_chain(const struct seam_problem *problem)
{
	uint32_t longest = 1;

	/* From every item, not only from heads: a chain's tails are shorter, and chains are short. */
	for (uint32_t i = 0; i < problem->count; i++) {
		uint32_t length = 1;

		for (uint32_t j = i; problem->items[j].next != SEAM__ITEM_NONE; j = problem->items[j].next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

enum seam_rc seam__gaps_init(struct seam_gaps *gaps, const struct seam_timeline *timeline)
{
	const struct seam_problem *problem = timeline->problem;
	uint32_t columns = timeline->lane_starts[timeline->lanes];
	struct seam_gaps made = {.timeline = timeline};
	size_t depth = seam__bits_log2(columns) + 2;

	seam__address_heap_init(&made.heap, problem->region);
	/* In each lane a cover has two runs of two nodes on each level; in its own one more way to the root. */
	size_t cursor_room = longest_chain(problem) * (4 * depth * timeline->lanes + depth);
	made.nodes = seam__region_array(problem->region, 2 * (size_t)columns, sizeof(*made.nodes));
	made.cursors = seam__region_array(problem->region, cursor_room, sizeof(*made.cursors));
	if (made.nodes == NULL || made.cursors == NULL)
		return SEAM_OOM_META;
	*gaps = made;
	return SEAM_OK;
}

void seam__gaps_clear(struct seam_gaps *gaps)
{
	uint32_t columns = gaps->timeline->lane_starts[gaps->timeline->lanes];

	seam__address_heap_clear(&gaps->heap);
	memset(gaps->nodes, 0, 2 * (size_t)columns * sizeof(*gaps->nodes));
}

static struct seam_gap_node *lane_nodes(const struct seam_gaps *gaps, uint32_t lane)
{
	return gaps->nodes + 2 * (size_t)gaps->timeline->lane_starts[lane];
}

enum seam_rc seam__gaps_put(struct seam_gaps *gaps, uint32_t item, uint64_t offset_bytes)
{
	const struct seam_timeline *timeline = gaps->timeline;
	uint64_t end_bytes = offset_bytes + timeline->problem->items[item].size_bytes;
	uint32_t own = seam__timeline_lane(timeline, item);
	uint32_t node = seam__timeline_columns(timeline, own) + seam__timeline_column(timeline, item);
	enum seam_rc rc = SEAM_OK;

	for (; rc == SEAM_OK && node > 0; node /= 2)
		rc = seam__addresses_add(&lane_nodes(gaps, own)[node].inside, &gaps->heap, offset_bytes, end_bytes);
	for (uint32_t lane = 0; rc == SEAM_OK && lane < timeline->lanes; lane++) {
		struct seam_walk walk;

		seam__walk_begin(
			&walk, seam__timeline_cover(timeline, item, lane), seam__timeline_columns(timeline, lane));
		while (rc == SEAM_OK && seam__walk_next(&walk, &node))
			rc = seam__addresses_add(
				&lane_nodes(gaps, lane)[node].over, &gaps->heap, offset_bytes, end_bytes);
	}
	return rc;
}

static size_t add_cursor(
	struct seam_gaps *gaps, size_t count, const struct seam_addresses *set, uint32_t item, uint64_t shift_bytes)
{
	if (set->count == 0)
		return count;
	gaps->cursors[count] = (struct seam_gap_cursor){
		.set = set, .shift_bytes = shift_bytes, .size_bytes = gaps->timeline->problem->items[item].size_bytes};
	load(&gaps->cursors[count]);
	return count + 1;
}

/* The sets that matter for one item. */
static size_t add_item(struct seam_gaps *gaps, size_t count, uint32_t item, uint64_t shift_bytes)
{
	const struct seam_timeline *timeline = gaps->timeline;
	uint32_t own = seam__timeline_lane(timeline, item);
	uint32_t node = seam__timeline_columns(timeline, own) + seam__timeline_column(timeline, item);

	for (; node > 0; node /= 2)
		count = add_cursor(gaps, count, &lane_nodes(gaps, own)[node].over, item, shift_bytes);
	for (uint32_t lane = 0; lane < timeline->lanes; lane++) {
		struct seam_walk walk;

		seam__walk_begin(
			&walk, seam__timeline_cover(timeline, item, lane), seam__timeline_columns(timeline, lane));
		while (seam__walk_next(&walk, &node))
			count = add_cursor(gaps, count, &lane_nodes(gaps, lane)[node].inside, item, shift_bytes);
	}
	return count;
}

/* The lowest address at which no set is in the way; above `last_bytes` where there is none up to it. */
static uint64_t climb(struct seam_gaps *gaps, size_t count, uint64_t last_bytes)
{
	uint64_t at_bytes = 0;
	size_t clear = 0; /* cursors in a row that found nothing in the way */

	for (size_t c = 0; clear < count && at_bytes <= last_bytes; c = c + 1 == count ? 0 : c + 1, clear++) {
		struct seam_gap_cursor *cursor = &gaps->cursors[c];

		gaps->steps++;
		if (at_bytes + cursor->shift_bytes + cursor->size_bytes <= cursor->begin_bytes)
			continue;
		if (cursor->end_bytes <= at_bytes + cursor->shift_bytes) {
			cursor->at = seam__addresses_find(cursor->set, cursor->at, at_bytes + cursor->shift_bytes);
			load(cursor);
		}
		while (cursor->begin_bytes < at_bytes + cursor->shift_bytes + cursor->size_bytes &&
			at_bytes <= last_bytes) {
			at_bytes = cursor->end_bytes - cursor->shift_bytes;
			cursor->at++;
			load(cursor);
			clear = 0;
			gaps->steps++;
		}
	}
	return at_bytes;
}

bool seam__gaps_find(struct seam_gaps *gaps, uint32_t item, uint64_t ceiling_bytes, uint64_t *ret_offset_bytes)
{
	const struct seam_item *items = gaps->timeline->problem->items;
	uint64_t length_bytes = 0;
	size_t count = 0;

	for (uint32_t i = item; i != SEAM__ITEM_NONE; i = items[i].next) {
		count = add_item(gaps, count, i, length_bytes);
		length_bytes += items[i].size_bytes;
	}
	if (length_bytes > ceiling_bytes)
		return false;
	uint64_t at_bytes = climb(gaps, count, ceiling_bytes - length_bytes);
	if (at_bytes > ceiling_bytes - length_bytes)
		return false;
	*ret_offset_bytes = at_bytes;
	return true;
}

const char *seam__gaps_check(const struct seam_gaps *gaps)
{
	size_t nodes = 2 * (size_t)gaps->timeline->lane_starts[gaps->timeline->lanes];

	for (size_t node = 0; node < nodes; node++) {
		const char *broken = seam__addresses_check(&gaps->nodes[node].over);

		if (broken == NULL)
			broken = seam__addresses_check(&gaps->nodes[node].inside);
		if (broken != NULL)
			return broken;
	}
	return NULL;
}
