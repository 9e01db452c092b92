/* skyline.c: see skyline.h. */
#include "skyline.h"

#include "bits.h"
#include "region.h"

static size_t node_count(const struct seam_timeline *timeline)
{
	return 2 * (size_t)timeline->lane_starts[timeline->lanes];
}

static struct seam_skyline_node *lane_nodes(const struct seam_skyline *skyline, uint32_t lane)
{
	return skyline->nodes + 2 * (size_t)skyline->timeline->lane_starts[lane];
}

enum seam_rc seam__skyline_init(struct seam_skyline *skyline, const struct seam_timeline *timeline)
{
	struct seam_skyline_node *nodes =
		seam__region_array(timeline->problem->region, node_count(timeline), sizeof(*nodes));

	if (nodes == NULL)
		return SEAM_OOM_META;
	*skyline = (struct seam_skyline){.timeline = timeline, .nodes = nodes};
	return SEAM_OK;
}

void seam__skyline_put(struct seam_skyline *skyline, uint32_t item, uint64_t top_bytes)
{
	const struct seam_timeline *timeline = skyline->timeline;
	uint32_t own = seam__timeline_lane(timeline, item);
	struct seam_skyline_node *nodes = lane_nodes(skyline, own);
	uint32_t node = seam__timeline_columns(timeline, own) + seam__timeline_column(timeline, item);

	for (; node > 0 && nodes[node].inside_bytes < top_bytes; node /= 2)
		nodes[node].inside_bytes = top_bytes;
	for (uint32_t lane = 0; lane < timeline->lanes; lane++) {
		struct seam_walk walk;

		nodes = lane_nodes(skyline, lane);
		seam__walk_begin(
			&walk, seam__timeline_cover(timeline, item, lane), seam__timeline_columns(timeline, lane));
		while (seam__walk_next(&walk, &node))
			nodes[node].over_bytes = seam__bits_max(nodes[node].over_bytes, top_bytes);
	}
}

uint64_t seam__skyline_floor(const struct seam_skyline *skyline, uint32_t item)
{
	const struct seam_timeline *timeline = skyline->timeline;
	uint32_t own = seam__timeline_lane(timeline, item);
	const struct seam_skyline_node *nodes = lane_nodes(skyline, own);
	uint32_t node = seam__timeline_columns(timeline, own) + seam__timeline_column(timeline, item);
	uint64_t floor_bytes = 0;

	for (; node > 0; node /= 2)
		floor_bytes = seam__bits_max(floor_bytes, nodes[node].over_bytes);
	for (uint32_t lane = 0; lane < timeline->lanes; lane++) {
		struct seam_walk walk;

		nodes = lane_nodes(skyline, lane);
		seam__walk_begin(
			&walk, seam__timeline_cover(timeline, item, lane), seam__timeline_columns(timeline, lane));
		while (seam__walk_next(&walk, &node))
			floor_bytes = seam__bits_max(floor_bytes, nodes[node].inside_bytes);
	}
	return floor_bytes;
}
