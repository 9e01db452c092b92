/* test_plan_live.c: L5 against a table of every byte at every position, and by hand. */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "plan_format.h"
#include "plan_sample.h"
#include "trace_sample.h"

#define ALIGN 4
#define CHUNK 16
#define CHUNKS 8
#define MOST_POSITIONS 12
#define MOST_COPIES 3

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* What is random about a plan. */
struct world {
	uint32_t positions;
	uint32_t copies;
	uint32_t slots;
	uint32_t begin[MOST_POSITIONS];
	uint32_t span[MOST_POSITIONS];
	uint32_t size[MOST_POSITIONS];
	uint32_t offset[MOST_POSITIONS][MOST_COPIES];
	bool grouped; /* one group, with one range */
	uint32_t group_begin;
	uint32_t group_span;
	uint32_t range_begin;
	uint32_t range_end;
};

static void make_world(struct world *world, uint64_t seed)
{
	uint64_t state = seed;
	memset(world, 0, sizeof(*world));
	world->positions = (uint32_t)(2 + next(&state) % (MOST_POSITIONS - 1));
	world->copies = (uint32_t)(1 + next(&state) % MOST_COPIES);
	const uint32_t circle = world->positions * world->copies;
	for (uint32_t at = 0; at < world->positions; at++) {
		if (next(&state) % 3 != 0)
			continue;
		const uint32_t slot = world->slots++;
		world->begin[slot] = at;
		world->span[slot] = (uint32_t)(1 + next(&state) % (next(&state) % 4 == 0 ? circle : 1 + circle / 3));
		world->size[slot] = (uint32_t)(1 + next(&state) % (CHUNK * 5 / 2));
		for (uint32_t copy = 0; copy < world->copies; copy++)
			world->offset[slot][copy] =
				(uint32_t)(next(&state) % ((CHUNKS * CHUNK - world->size[slot]) / ALIGN) * ALIGN);
	}
	world->grouped = next(&state) % 2 == 0;
	world->group_begin = (uint32_t)(next(&state) % world->positions);
	world->group_span = (uint32_t)(1 + next(&state) % (1 + circle / 2));
	world->range_begin = (uint32_t)(next(&state) % (CHUNKS * CHUNK - 20));
	world->range_end = world->range_begin + 1 + (uint32_t)(next(&state) % 19);
}

/* Marks a byte of the arena at a position; false if a slot marked it before, or a slot marks what a group marked. */
static bool mark(uint8_t *table, const struct world *world, uint32_t address, uint64_t position, uint8_t mark_bit)
{
	uint8_t *cell = &table[position % (world->positions * world->copies) * CHUNKS * CHUNK + address];
	const bool good = mark_bit == 1 ? *cell == 0 : (*cell & 1) == 0;
	*cell |= mark_bit;
	return good;
}

static bool oracle(const struct world *world)
{
	static uint8_t table[MOST_POSITIONS * MOST_COPIES * CHUNKS * CHUNK];
	bool good = true;
	memset(table, 0, sizeof(table));
	for (uint32_t slot = 0; slot < world->slots; slot++)
		for (uint32_t copy = 0; copy < world->copies; copy++)
			for (uint32_t at = 0; at < world->span[slot]; at++)
				for (uint32_t byte = 0; byte < world->size[slot]; byte++)
					good = mark(table, world, world->offset[slot][copy] + byte,
						       copy * world->positions + world->begin[slot] + at, 1) &&
						good;
	for (uint32_t copy = 0; world->grouped && copy < world->copies; copy++)
		for (uint32_t at = 0; at < world->group_span; at++)
			for (uint32_t byte = world->range_begin; byte < world->range_end; byte++)
				good = mark(table, world, byte, copy * world->positions + world->group_begin + at, 2) &&
					good;
	return good;
}

static void add_group(struct seam_plan_builder *builder, const struct world *world)
{
	const struct seam_plan_range range = {world->range_begin, world->range_end};
	cr_assert_eq(seam__grow_append(&builder->ranges, &range, 1), SEAM_OK);
	for (uint32_t copy = 0; copy < world->copies; copy++) {
		const struct seam_plan_group group = {.begin = world->group_begin,
			.end = world->group_begin + world->group_span,
			.copy = copy,
			.range_count = 1};
		cr_assert_eq(seam__grow_append(&builder->groups, &group, 1), SEAM_OK);
	}
}

static enum seam_rc build(const struct world *world, struct seam_trace_error *error, struct seam_plan **ret_plan)
{
	struct seam_plan_builder builder;
	uint32_t number;
	cr_assert_eq(seam__plan_builder_init(&builder, world->copies), SEAM_OK);
	builder.header.positions = world->positions;
	builder.header.align_bytes = ALIGN;
	builder.header.chunk_bytes = CHUNK;
	builder.header.arena_bytes = CHUNK * CHUNKS;
	cr_assert_eq(seam__plan_builder_stream(&builder, 0, &number), SEAM_OK);
	for (uint32_t slot = 0; slot < world->slots; slot++) {
		const struct seam_plan_slot record = {.size_bytes = world->size[slot],
			.begin = world->begin[slot],
			.end = world->begin[slot] + world->span[slot]};
		uint64_t offsets[MOST_COPIES];
		for (uint32_t copy = 0; copy < world->copies; copy++)
			offsets[copy] = world->offset[slot][copy];
		cr_assert_eq(seam__plan_builder_slot(&builder, &record, offsets), SEAM_OK);
	}
	if (world->grouped)
		add_group(&builder, world);
	enum seam_rc rc = seam__plan_builder_finish(&builder, error, ret_plan);
	seam__plan_builder_fini(&builder);
	return rc;
}

Test(plan_live, agrees_with_a_table_of_bytes)
{
	uint32_t good_ones = 0;
	uint32_t bad_ones = 0;
	for (uint64_t seed = 1; seed <= 20000; seed++) {
		struct world world;
		struct seam_plan *plan = NULL;
		struct seam_trace_error error = {0};
		make_world(&world, seed);
		const bool good = oracle(&world);
		enum seam_rc rc = build(&world, &error, &plan);
		cr_assert_eq(rc, good ? SEAM_OK : SEAM_CORRUPT, "seed %llu: %s %s", (unsigned long long)seed,
			seam_rc_name(rc), error.text);
		if (!good)
			cr_assert(strstr(error.text, "L5") != NULL, "seed %llu: %s", (unsigned long long)seed,
				error.text);
		good_ones += good && world.slots > 1;
		bad_ones += !good;
		seam_plan_free(plan);
	}
	cr_assert(good_ones > 1000 && bad_ones > 1000, "%u good, %u bad", good_ones, bad_ones);
	cr_assert_eq(trace_sample_live_bytes(), 0);
}

/* The sample, with one slot moved: what must be said of it. */
Test(plan_live, names_the_two_slots)
{
	static const struct {
		const char *what;
		size_t offset; /* index into the addresses */
		uint64_t address;
		const char *text;
	} rows[] = {
		{"inside the period", 1 * 2 + 0, 0, "slots 0 (copy 0) and 1 (copy 0) live together and share byte 0"},
		{"one byte", 2 * 2 + 0, 1536, "slots 1 (copy 0) and 2 (copy 0) live together and share byte 1536"},
		{"across the end", 0 * 2 + 0, 3072,
			"slots 2 (copy 1) and 0 (copy 0) live together and share byte 3072"},
		{"across copies", 2 * 2 + 1, 2048, "slots 2 (copy 1) and 2 (copy 0) live together and share byte 2048"},
		{"on a range", 4 * 2 + 0, 4096, "slot 4: a slot lives on byte 4096 of a group's reusable range"},
		{"on a range across the end", 2 * 2 + 1, 5120, "group 0: a slot lives on byte 5120"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seam_plan_builder builder;
		struct seam_plan *plan = NULL;
		struct seam_trace_error error = {0};
		plan_sample_builder(&builder);
		((uint64_t *)builder.offsets.items)[rows[i].offset] = rows[i].address;
		cr_assert_eq(seam__plan_builder_finish(&builder, &error, &plan), SEAM_CORRUPT, "%s", rows[i].what);
		cr_assert(strstr(error.text, rows[i].text) != NULL, "%s: %s", rows[i].what, error.text);
		seam__plan_builder_fini(&builder);
	}
	cr_assert_eq(trace_sample_live_bytes(), 0);
}
