/* test_loaded_plan.c: plans made ready to run: positions, cursors, places, and which plans cannot be. */
#include <string.h>

#include "match_program.h"
#include "meta_fixture.h"
#include "random_problem.h"
#include "loaded_plan.h"
#include "planned.h"

#define SEEDS 40u

TestSuite(loaded, .init = set_up, .fini = tear_down);

static struct match_program random_program(uint64_t seed)
{
	const uint32_t kind = (uint32_t)seed;
	const struct program_wish wish = {.seed = seed,
		.slots = 40,
		.iterations = 6,
		.lag = kind % 4,
		.streams = 1 + kind % 3,
		.threads = 1 + kind % 2,
		.dynamics = kind % 5,
		.edges = 3};
	return match_program(&wish);
}

/* Positions in the plan's order: what a slot meets in the plan it meets here. */
static bool meet(uint64_t begin, uint64_t end, uint64_t other, uint64_t circle)
{
	return (other + circle - begin) % circle < end - begin;
}

Test(loaded, slots_meet_as_in_their_plan)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_loaded_plan *loaded;
		const struct seam_plan *plan = program.plan;
		const uint64_t plan_circle = (uint64_t)plan->header.positions * plan->header.copies;
		cr_assert_eq(seam__loaded_create(meta, plan, &loaded), SEAM_OK);
		cr_assert_null(seam__loaded_check(loaded), "seed %llu: %s", (unsigned long long)seed,
			seam__loaded_check(loaded));
		const uint64_t circle = (uint64_t)loaded->positions * loaded->copies, *streams;
		cr_assert_eq(seam__loaded_streams(loaded, &streams), plan->header.stream_count);
		cr_assert_arr_eq(streams, plan->streams, plan->header.stream_count * sizeof *streams);
		for (uint32_t i = 0; i < loaded->slots; i++) {
			for (uint32_t k = 0; k < loaded->slots; k++) {
				const struct seam_plan_slot *a = &plan->slots[i], *b = &plan->slots[k];
				const struct seam_lifetime *s = &loaded->lifetimes[i], *t = &loaded->lifetimes[k];
				cr_assert_eq(meet(s->begin, s->end, t->begin, circle),
					meet(a->begin, a->end, b->begin, plan_circle));
			}
		}
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
}

/* Frees come before the allocation at the same position; both a slot that follows another and one that is always live
 * do not meet. */
Test(loaded, positions_that_several_share_are_told_apart)
{
	struct match_program program = match_program_of("a512 -a b512 -b");
	struct seam_plan changed = *program.plan;
	struct seam_plan_slot slots[2] = {changed.slots[0], changed.slots[1]};
	struct seam_loaded_plan *loaded;
	slots[0].begin = 0;
	slots[0].end = 1;
	slots[1].begin = 1;
	slots[1].end = 2;
	changed.slots = slots;
	changed.header.positions = 2;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_OK);
	cr_assert_null(seam__loaded_check(loaded));
	cr_assert_eq(loaded->positions, 4);
	cr_assert(!meet(loaded->lifetimes[0].begin, loaded->lifetimes[0].end, loaded->lifetimes[1].begin, 4));
	cr_assert(!meet(loaded->lifetimes[1].begin, loaded->lifetimes[1].end, loaded->lifetimes[0].begin, 4));
	seam__loaded_destroy(meta, loaded);
	match_program_fini(&program);
}

/* A range that a group leaves idle may lie above all slots. */
Test(loaded, bytes_reach_to_the_highest_slot_and_range)
{
	unsigned raised = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_plan changed = *program.plan;
		struct seam_plan_range ranges[1024];
		struct seam_loaded_plan *loaded;
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		const uint64_t bytes = seam__loaded_bytes(loaded);
		seam__loaded_destroy(meta, loaded);
		cr_assert_lt(changed.header.range_count, 1024);
		if (changed.header.range_count != 0) {
			memcpy(ranges, changed.ranges, changed.header.range_count * sizeof(*ranges));
			ranges[0].end_bytes = bytes + 512;
			changed.ranges = ranges;
			cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_OK);
			cr_expect_eq(seam__loaded_bytes(loaded), bytes + 512);
			seam__loaded_destroy(meta, loaded);
			raised++;
		}
		match_program_fini(&program);
	}
	cr_expect_gt(raised, 0);
}

static bool add_number(void *user, uint32_t number)
{
	bool *seen = user;
	cr_assert(!seen[number]);
	seen[number] = true;
	return false;
}

/* Whether the instance is due or live in one of the 64 parts of the circle. */
static bool is_in_part(const struct seam_loaded_plan *loaded, uint32_t number, uint32_t part)
{
	const struct seam_lifetime *lifetime = &loaded->lifetimes[number / loaded->copies];
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	for (uint64_t at = lifetime->begin; at <= lifetime->end; at++)
		if ((number % loaded->copies * loaded->positions + at) % circle / ((circle + 63) / 64) == part)
			return true;
	return false;
}

/* part: UINT32_MAX: any. */
static void look_for(const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end, uint32_t part)
{
	bool seen[1024] = {false};
	const uint64_t times = UINT64_C(1) << part % 64;
	(void)seam__loaded_overlapping(loaded, begin, end, part == UINT32_MAX ? NULL : &times, add_number, seen);
	cr_assert_lt(loaded->slots * loaded->copies, 1024);
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		const struct seam_plan_block *p = &loaded->instances[n];
		const bool overlaps =
			p->offset != SEAM_PLAN_NO_ADDRESS && p->offset < end && begin < p->offset + p->bytes;
		cr_assert(overlaps || !seen[n], "instance %u", n);
		cr_assert(
			seen[n] || !overlaps || (part != UINT32_MAX && !is_in_part(loaded, n, part)), "instance %u", n);
	}
}

Test(loaded, instances_are_found_by_address_and_time)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_loaded_plan *loaded;
		uint64_t state = seed;
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		for (uint32_t turn = 0; turn < 50; turn++) {
			const uint64_t begin = random_below(&state, loaded->bytes + 100),
				       end = begin + 1 + random_below(&state, 1 << 20);
			look_for(loaded, begin, end, UINT32_MAX);
			look_for(loaded, begin, end, (uint32_t)random_below(&state, 64));
		}
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
}

/* Whether the instance is due or live in the 64th part of the circle of copies, position by position. */
static bool is_there(const struct seam_loaded_plan *loaded, const struct seam_by_address *entry, uint32_t part)
{
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies, length = (circle + 63) / 64;
	for (uint64_t at = entry->at; at <= entry->at + entry->length; at++)
		if (at % circle / length == part)
			return true;
	return false;
}

/* The middle of each stretch says of all of it how far it reaches, and when any of it is there. */
static void check_stretch(const struct seam_loaded_plan *loaded, uint32_t low, uint32_t high)
{
	if (low == high)
		return;
	const uint32_t middle = low + (high - low) / 2;
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	const uint64_t parts = UINT64_MAX >> (63 - (circle - 1) / ((circle + 63) / 64)); /* there may be fewer */
	uint64_t reach = 0, times = 0;
	for (uint32_t i = low; i < high; i++) {
		const struct seam_by_address *entry = &loaded->by_address_entries[i];
		reach = entry->end > reach ? entry->end : reach;
		for (uint32_t part = 0; part < 64; part++)
			times |= (uint64_t)is_there(loaded, entry, part) << part;
	}
	cr_assert_eq(loaded->by_address_entries[middle].reach, reach);
	cr_assert_eq(loaded->by_address_entries[middle].times & parts, times);
	check_stretch(loaded, low, middle);
	check_stretch(loaded, middle + 1, high);
}

Test(loaded, stretches_say_how_far_they_reach_and_when)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_loaded_plan *loaded;
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		check_stretch(loaded, 0, loaded->placed);
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
}

Test(loaded, slots_are_waited_for_where_the_plan_says_so_and_others_use_them)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_plan changed = *program.plan;
		struct seam_loaded_plan *loaded;
		struct seam_plan_slot slots[1024];
		struct seam_plan_wait waits[4] = {{0}};
		bool waited[1024] = {false};
		uint64_t state = seed;
		const uint32_t count = changed.header.slot_count;
		cr_assert_lt(count, 1024);
		memcpy(slots, changed.slots, count * sizeof *slots);
		changed.slots = slots;
		changed.waits = waits;
		changed.header.wait_count = seed % 2 == 0 ? 0 : 4;
		for (uint32_t w = 0; w < changed.header.wait_count; w++) {
			waits[w].waited = (uint32_t)random_below(&state, count);
			if (w % 2 == 0)
				slots[waits[w].waited].flags |= SEAM_PLAN_SHARED;
		}
		for (uint32_t w = 0; w < changed.header.wait_count; w++)
			waited[waits[w].waited] = (slots[waits[w].waited].flags & SEAM_PLAN_SHARED) != 0;
		cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_OK);
		for (uint32_t i = 0; i < count; i++)
			cr_assert_eq(
				loaded->waited[i] != 0, waited[i], "seed %llu: slot %u", (unsigned long long)seed, i);
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
}

Test(loaded, some_plans_cannot_run)
{
	struct match_program program = random_program(4);
	struct seam_loaded_plan *loaded = NULL;
	struct seam_plan changed = *program.plan;
	uint64_t offset = 256;
	changed.offsets = &offset;
	changed.header.slot_count = 1;
	changed.header.copies = 1;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_INVALID, "units of less than 512 bytes");
	changed = *program.plan;
	changed.header.flags |= SEAM_PLAN_LINEAR;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_INVALID, "linear");
	changed.header.flags = SEAM_PLAN_GRAPH;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_INVALID, "a graph");
	changed = *program.plan;
	changed.header.slot_count = 0;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_INVALID, "empty");
	changed = *program.plan;
	changed.header.arena_bytes = UINT64_C(1) << 41;
	cr_assert_eq(seam__loaded_create(meta, &changed, &loaded), SEAM_INVALID, "too large");
	cr_assert_null(loaded);
	match_program_fini(&program);
}

Test(loaded, one_that_cannot_be_made_leaves_nothing)
{
	struct match_program program = random_program(6);
	for (uint64_t n = 1;; n++) {
		struct seam_loaded_plan *loaded = NULL;
		seam__meta_fail_at(meta, n);
		const enum seam_rc rc = seam__loaded_create(meta, program.plan, &loaded);
		if (rc == SEAM_OK) {
			cr_assert_gt(n, 15);
			seam__meta_fail_at(meta, 0);
			seam__loaded_destroy(meta, loaded);
			break;
		}
		cr_assert_eq(rc, SEAM_OOM_META);
		cr_assert_null(loaded);
	}
	match_program_fini(&program);
}
