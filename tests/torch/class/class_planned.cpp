/* class_planned.cpp: the allocator class while the core serves requests from a plan: snapshots show the plan's memory
 * once. */
#include "class_test.h"

#include <set>

#include <seam/plan.h>
#include <seam/trace.h>

namespace
{

struct seam_stats stats_now()
{
	struct seam_stats stats = {};
	stats.size = sizeof stats;
	stats.version = SEAM_STATS_VERSION;
	ok(seam_stats_get(seam_torch_pool(0), &stats) == SEAM_OK, "the pool has statistics");
	return stats;
}

struct seam_plan_stats plan_stats_now()
{
	struct seam_plan_stats stats = {};
	stats.size = sizeof stats;
	stats.version = SEAM_PLAN_STATS_VERSION;
	ok(seam_plan_stats_get(seam_torch_pool(0), &stats) == SEAM_OK, "the pool has statistics of plans");
	return stats;
}

/* What an iteration asks for: half of it lives to the end. */
std::vector<c10::DataPtr> iterate()
{
	std::vector<c10::DataPtr> kept;
	for (size_t i = 1; i <= 30; i++) {
		c10::DataPtr gone = it().allocate(i * MIB);
		kept.push_back(it().allocate((31 - i) * MIB / 2 + 3000));
	}
	return kept;
}

/* Runs a while, and has a plan made of what was recorded. */
void use_plan(const char *path)
{
	for (int step = 0; step < 8; step++) {
		iterate();
		ok(seam_step(seam_torch_pool(0)) == SEAM_OK, "an iteration ends");
	}
	char error[200] = "";
	struct seam_trace_error why = {};
	struct seam_trace *trace = nullptr;
	struct seam_plan *plan = nullptr;
	struct seam_plan_options options = {};
	options.struct_bytes = sizeof options;
	options.node_limit = 1000;
	ok(seam_trace_save(seam_torch_pool(0), path, error, sizeof error) == SEAM_OK &&
			seam_trace_read_file(path, &why, &trace) == SEAM_OK,
		"what was asked for is recorded: %s%s", error, why.text);
	ok(seam_plan_make(trace, &options, &why, &plan) == SEAM_OK, "it can be planned: %s", why.text);
	ok(seam_plan_use(seam_torch_pool(0), plan, error, sizeof error) == SEAM_OK, "and the plan used: %s", error);
	seam_plan_free(plan);
	seam_trace_free(trace);
	for (int step = 0; step < 8; step++) {
		iterate();
		ok(seam_step(seam_torch_pool(0)) == SEAM_OK, "an iteration ends");
	}
}

void check_snapshot(const std::vector<c10::DataPtr> &blocks)
{
	const auto snapshot = snapshot_of();
	std::set<size_t> live;
	size_t total = 0, allocated = 0;
	bool sums = true, sorted = true;
	for (size_t i = 0; i < snapshot.segments.size(); i++) {
		const auto &segment = snapshot.segments[i];
		size_t at = segment.address;
		for (const auto &block : segment.blocks) {
			if (block.allocated)
				live.insert(at);
			at += block.size;
		}
		sums = sums && at - segment.address == segment.total_size;
		sorted = sorted &&
			(i == 0 ||
				snapshot.segments[i - 1].address + snapshot.segments[i - 1].total_size <=
					segment.address);
		total += segment.total_size;
		allocated += segment.allocated_size;
	}
	size_t found = 0;
	for (const auto &block : blocks)
		found += live.count(reinterpret_cast<size_t>(block.get()));
	const struct seam_stats stats = stats_now();
	ok(sums && sorted, "blocks fill their segments, which do not overlap");
	ok(found == blocks.size() && live.size() == stats.live_blocks, "every live block is shown once: %zu of %zu",
		found, blocks.size());
	ok(total == stats.reserved_bytes && allocated == stats.live_bytes,
		"and all memory once: %zu of %llu, %zu of %llu live", total,
		static_cast<unsigned long long>(stats.reserved_bytes), allocated,
		static_cast<unsigned long long>(stats.live_bytes));
}

} /* namespace */

void part_planned(const char *path)
{
	tap_part = "planned";
	use_plan(path);
	ok(plan_stats_now().hits > 0, "the program's period is served from a plan");
	for (int step = 0; step < 3; step++) {
		std::vector<c10::DataPtr> kept = iterate();
		c10::DataPtr beside = it().allocate(50 * MIB + 512);
		check_snapshot(kept);
		kept.clear();
		beside.clear();
		check_snapshot({});
		ok(seam_step(seam_torch_pool(0)) == SEAM_OK, "an iteration ends");
	}
	ok(plan_stats_now().live_bytes == 0 && it().getDeviceStats(0).allocation[0].current == 0, "all is given back");
}
