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
		const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
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

/* True: the instance is due or live at one of the positions [from, from + length] around the circle. */
static bool is_then(const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end, uint64_t from, uint64_t length)
{
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	for (uint64_t at = begin; at <= end; at++)
		if ((at + circle - from) % circle <= length)
			return true;
	return false;
}

/* length: of the part of the circle that matters; UINT64_MAX: all of it. */
static void look_for(
	const struct seam_loaded_plan *loaded, uint64_t begin, uint64_t end, uint64_t from, uint64_t length)
{
	bool seen[1024] = {false};
	const bool always = length == UINT64_MAX;
	const uint64_t times = always ? 0 : seam__loaded_times(loaded, from, length);
	(void)seam__loaded_overlapping(loaded, begin, end, always ? NULL : &times, add_number, seen);
	cr_assert_lt(loaded->slots * loaded->copies, 1024);
	for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++) {
		const struct seam_plan_block *p = &loaded->instances[n];
		const struct seam_lifetime *lifetime = &loaded->lifetimes[n / loaded->copies];
		const uint64_t base = n % loaded->copies * loaded->positions;
		const bool overlaps =
			p->offset != SEAM_PLAN_NO_ADDRESS && p->offset < end && begin < p->offset + p->bytes;
		cr_assert(overlaps || !seen[n], "instance %u", n);
		cr_assert(seen[n] || !overlaps ||
				(!always &&
					!is_then(loaded, base + lifetime->begin, base + lifetime->end, from, length)),
			"instance %u", n);
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
			const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
			look_for(loaded, begin, end, 0, UINT64_MAX);
			look_for(loaded, begin, end, random_below(&state, circle), random_below(&state, circle));
			look_for(loaded, begin, end, random_below(&state, circle), random_below(&state, 4));
		}
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
}

/* The middle of each stretch says of all of it how far it reaches, and meets every time when any of it is there; most
 * stretches of one instance meet no other time. Returns those of one instance that meet a time at which it is not
 * there. */
static uint64_t check_stretch(const struct seam_loaded_plan *loaded, uint32_t low, uint32_t high, uint64_t *ret_asked)
{
	if (low == high)
		return 0;
	const uint32_t middle = low + (high - low) / 2;
	const struct seam_by_address *by_address = &loaded->by_address_entries[middle];
	const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
	uint64_t reach = 0, wrong = 0;
	for (uint64_t at = 0; at < circle; at++) {
		bool there = false;
		for (uint32_t i = low; i < high && !there; i++) {
			const struct seam_by_address *entry = &loaded->by_address_entries[i];
			there = is_then(loaded, entry->at, entry->at + entry->length, at, 0);
		}
		const bool meets = seam__stretch_meets(by_address, 0, seam__loaded_times(loaded, at, 0));
		cr_assert(meets || !there);
		wrong += high - low == 1 && meets && !there;
		*ret_asked += high - low == 1 && !there;
	}
	for (uint32_t i = low; i < high; i++)
		reach = loaded->by_address_entries[i].end > reach ? loaded->by_address_entries[i].end : reach;
	cr_assert_eq(by_address->reach, reach);
	return wrong + check_stretch(loaded, low, middle, ret_asked) +
		check_stretch(loaded, middle + 1, high, ret_asked);
}

Test(loaded, stretches_say_how_far_they_reach_and_when)
{
	uint64_t wrong = 0, asked = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_loaded_plan *loaded;
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		wrong += check_stretch(loaded, 0, loaded->placed, &asked);
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
	cr_expect_lt(4 * wrong, asked, "%llu of %llu", (unsigned long long)wrong, (unsigned long long)asked);
}

/* Goes up from `at` with so many steps: in order of address, each at most once, nothing for no step. Returns how many
 * of those that reach beyond `at` and are there at position `from` or `length` behind it were found. */
static uint32_t walk_up(
	const struct seam_loaded_plan *loaded, uint64_t at, uint64_t from, uint64_t length, uint32_t steps)
{
	const uint64_t times = seam__loaded_times(loaded, from, length);
	const uint32_t most = steps;
	struct seam_places_walk walk;
	seam__places_from_lowest(&walk, loaded);
	const struct seam_by_address *last = NULL, *entry;
	uint32_t found = 0, count = 0;
	while ((entry = seam__places_next(&walk, at, times, &steps)) != NULL) {
		cr_assert(last == NULL || last < entry);
		last = entry;
		found += entry->end > at && is_then(loaded, entry->at, entry->at + entry->length, from, length);
		cr_assert_leq(++count, most);
	}
	cr_assert_eq(count, most - steps);
	return found;
}

Test(loaded, walks_up_find_what_is_there_with_steps_enough)
{
	uint32_t cut_short = 0;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct match_program program = random_program(seed);
		struct seam_loaded_plan *loaded;
		uint64_t state = seed;
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		const uint64_t circle = (uint64_t)loaded->positions * loaded->copies;
		for (uint32_t turn = 0; turn < 50; turn++) {
			const uint64_t at = random_below(&state, loaded->bytes + 100);
			const uint64_t from = random_below(&state, circle), length = random_below(&state, circle);
			uint32_t there = 0;
			for (uint32_t i = 0; i < loaded->placed; i++) {
				const struct seam_by_address *entry = &loaded->by_address_entries[i];
				there += entry->end > at &&
					is_then(loaded, entry->at, entry->at + entry->length, from, length);
			}
			cr_assert_eq(walk_up(loaded, at, from, length, UINT32_MAX), there);
			cut_short += walk_up(loaded, at, from, length, (uint32_t)random_below(&state, 8)) < there;
		}
		seam__loaded_destroy(meta, loaded);
		match_program_fini(&program);
	}
	cr_assert_gt(cut_short, SEEDS);
}

static uint64_t draw_length(uint64_t *state, uint64_t circle)
{
	const uint64_t most[] = {2, 40, circle / 16 + 1, circle + 1};
	return random_below(state, most[random_below(state, 4)]);
}

/* Of circles of any length: two stretches that share a position meet, and of those that share none at most a quarter
 * do. */
Test(loaded, times_that_share_a_position_meet)
{
	static const uint32_t circles[] = {1, 2, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2049, 33000, 1000003};
	const uint32_t count = sizeof circles / sizeof *circles;
	uint64_t state = 77, wrong = 0, asked = 0;
	for (uint32_t turn = 0; turn < 400000; turn++) {
		const uint32_t i = (uint32_t)random_below(&state, count + 3);
		const struct seam_loaded_plan loaded = {
			.positions = i < count ? circles[i] : 1 + (uint32_t)random_below(&state, 20000),
			.copies = i < count ? 1 : 1 + (uint32_t)random_below(&state, 4)};
		const uint64_t circle = (uint64_t)loaded.positions * loaded.copies;
		const uint64_t a = random_below(&state, circle), b = random_below(&state, circle);
		const uint64_t of_a = draw_length(&state, circle), of_b = draw_length(&state, circle);
		const struct seam_by_address entry = {.reach = 1, .times = seam__loaded_times(&loaded, a, of_a)};
		const bool meets = seam__stretch_meets(&entry, 0, seam__loaded_times(&loaded, b, of_b));
		const bool shares = (b + circle - a) % circle <= of_a || (a + circle - b) % circle <= of_b;
		cr_assert(meets || !shares, "[%llu, +%llu] and [%llu, +%llu] of %llu", (unsigned long long)a,
			(unsigned long long)of_a, (unsigned long long)b, (unsigned long long)of_b,
			(unsigned long long)circle);
		wrong += meets && !shares;
		asked += !shares;
	}
	cr_expect_lt(4 * wrong, asked, "%llu of %llu", (unsigned long long)wrong, (unsigned long long)asked);
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
