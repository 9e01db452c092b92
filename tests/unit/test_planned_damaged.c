/* test_planned_damaged.c: plans in the program's memory that are not as they were made: seam_plan_use() takes them as a
 * file, refuses them in words, or what it serves from them lies apart. */
#include "core_fixture.h"

#include <stdlib.h>

#include <seam/plan.h>

#include "plan_format.h"
#include "trace_program.h"

#define MOST_LIVE 4096u
#define DAMAGES 4000u
#define STREAMS 2u

static struct seam_plan *sound; /* as it was made */
static void *handles[STREAMS];

/* A copy in memory of the test's own, each array no longer than it must be. */
struct mine {
	struct seam_plan plan;
	struct seam_plan_slot *slots;
	uint64_t *offsets;
	uint64_t *streams;
	struct seam_plan_group *groups;
	struct seam_plan_range *ranges;
	struct seam_plan_prologue *prologue;
	char *strings;
	bool miscounts; /* its header counts other records than the arrays have: it must not be sealed */
};

static void *copy_of(const void *items, size_t bytes)
{
	void *copy = malloc(bytes + (bytes == 0));
	cr_assert_not_null(copy);
	if (bytes != 0)
		memcpy(copy, items, bytes);
	return copy;
}

static struct mine copy_sound(void)
{
	const struct seam_plan_header *header = &sound->header;
	struct mine mine = {
		.plan = *sound,
		.slots = copy_of(sound->slots, header->slot_count * sizeof *sound->slots),
		.offsets =
			copy_of(sound->offsets, (size_t)header->slot_count * header->copies * sizeof *sound->offsets),
		.streams = copy_of(sound->streams, header->stream_count * sizeof *sound->streams),
		.groups = copy_of(sound->groups, header->group_count * sizeof *sound->groups),
		.ranges = copy_of(sound->ranges, header->range_count * sizeof *sound->ranges),
		.prologue = copy_of(sound->prologue, header->prologue_count * sizeof *sound->prologue),
		.strings = copy_of(sound->strings, header->string_bytes),
	};
	mine.plan.slots = mine.slots;
	mine.plan.offsets = mine.offsets;
	mine.plan.streams = mine.streams;
	mine.plan.groups = mine.groups;
	mine.plan.ranges = mine.ranges;
	mine.plan.prologue = mine.prologue;
	mine.plan.strings = mine.strings;
	for (uint32_t i = 0; i < header->stream_count; i++)
		mine.streams[i] = (uint64_t)(uintptr_t)handles[i];
	return mine;
}

static void free_mine(struct mine *mine)
{
	free(mine->slots);
	free(mine->offsets);
	free(mine->streams);
	free(mine->groups);
	free(mine->ranges);
	free(mine->prologue);
	free(mine->strings);
}

static void set_up(void)
{
	static struct program_truth truth;
	const struct program_wish wish = {.seed = 7,
		.slots = 40,
		.iterations = 8,
		.lag = 1,
		.streams = STREAMS,
		.edges = 2,
		.dynamics = 3,
		.residents = 2};
	struct seam_trace *trace = trace_program(&wish, &truth);
	const struct seam_plan_options options = {.struct_bytes = sizeof options,
		.node_limit = 20000,
		.align_bytes = 512,
		.period = SEAM_PLAN_PERIOD_FIND};
	struct seam_trace_error error = {0};
	cr_assert_eq(seam_plan_make(trace, &options, &error, &sound), SEAM_OK, "%s", error.text);
	seam_trace_free(trace);
	cr_assert_gt(sound->header.copies, 1, "nothing lives into the next period: this tests less");
	cr_assert_eq(sound->header.stream_count, STREAMS);
	cr_assert_gt(sound->header.group_count, 0);
	open_pool(MIB(4096), "plan:off,chunk_bytes:2M");
	for (unsigned i = 0; i < STREAMS; i++)
		handles[i] = make_stream();
}

static void tear_down(void)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		enum seam_rc rc = seam_stream_destroyed(pool, handles[i]);
		cr_assert(rc == SEAM_OK || rc == SEAM_NOT_FOUND);
		end_stream(handles[i]);
	}
	close_pool();
	seam_plan_free(sound);
}

TestSuite(planned_damaged, .init = set_up, .fini = tear_down);

/* The program that the plan was made of. */
struct program {
	struct {
		uint64_t va;
		uint64_t bytes;
		uint64_t free_at; /* position since the beginning */
	} live[MOST_LIVE];
	uint32_t count;
	uint32_t overlaps;
};

static void end_blocks(struct program *program, uint64_t until)
{
	for (uint32_t i = 0; i < program->count;) {
		if (program->live[i].free_at > until) {
			i++;
			continue;
		}
		must_free((void *)(uintptr_t)program->live[i].va);
		program->live[i] = program->live[--program->count];
	}
}

static void begin_block(struct program *program, const struct seam_plan_slot *slot, uint64_t free_at)
{
	const uint64_t va = (uint64_t)(uintptr_t)must_alloc(slot->size_bytes, handles[slot->stream]);
	for (uint32_t i = 0; i < program->count; i++)
		program->overlaps += va < program->live[i].va + program->live[i].bytes &&
			program->live[i].va < va + slot->size_bytes;
	cr_assert_lt(program->count, MOST_LIVE);
	program->live[program->count].va = va;
	program->live[program->count].bytes = slot->size_bytes;
	program->live[program->count++].free_at = free_at;
}

/* *ret_hits: how many requests came from the plan. Returns how many pairs of live blocks shared bytes. */
static uint32_t run(unsigned periods, uint64_t *ret_hits)
{
	static struct program program;
	const uint64_t before = get_plan_stats().hits;
	program = (struct program){0};
	for (unsigned period = 0; period < periods; period++) {
		for (uint32_t i = 0; i < sound->header.slot_count; i++) {
			const uint64_t base = (uint64_t)period * sound->header.positions;
			end_blocks(&program, base + sound->slots[i].begin);
			begin_block(&program, &sound->slots[i], base + sound->slots[i].end);
		}
	}
	end_blocks(&program, UINT64_MAX);
	*ret_hits = get_plan_stats().hits - before;
	return program.overlaps;
}

static void drop(void)
{
	seam_plan_drop(pool);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	check_pool();
}

/* Whoever looks for damage must not take soundness for it. */
Test(planned_damaged, a_sound_one_in_other_memory_serves)
{
	struct mine mine = copy_sound();
	uint64_t hits = 0;
	char error[200] = "";
	cr_assert_eq(seam_plan_use(pool, &mine.plan, error, sizeof error), SEAM_OK, "%s", error);
	cr_expect_eq(run(6, &hits), 0);
	cr_expect_gt(hits, 2 * sound->header.slot_count);
	drop();
	free_mine(&mine);
}

static void expect_refused(const struct mine *mine, const char *broken, const char *what)
{
	char error[200] = "";
	cr_expect_eq(seam_plan_use(pool, &mine->plan, error, sizeof error), SEAM_CORRUPT, "%s", what);
	cr_expect_not_null(strstr(error, broken), "%s: '%s'", what, error);
	cr_expect_eq(get_stats().reserved_bytes, 0, "%s", what);
}

Test(planned_damaged, each_is_refused_with_a_reason)
{
	struct mine mine = copy_sound();
	for (uint32_t i = 0; i < sound->header.slot_count * sound->header.copies; i++)
		mine.offsets[i] = mine.offsets[i] == SEAM_PLAN_NO_ADDRESS ? SEAM_PLAN_NO_ADDRESS : 0;
	expect_refused(&mine, "share byte", "all slots at 0");
	free_mine(&mine);
	mine = copy_sound();
	mine.slots[3].stream = STREAMS;
	expect_refused(&mine, "stream does not exist", "a stream out of range");
	free_mine(&mine);
	mine = copy_sound();
	mine.plan.header.copies = 0;
	expect_refused(&mine, "not as it was made", "no copies");
	seam__plan_seal(&mine.plan.header);
	expect_refused(&mine, "no copies", "no copies, sealed");
	free_mine(&mine);
	mine = copy_sound();
	mine.plan.header.positions = 0;
	expect_refused(&mine, "not as it was made", "no positions");
	seam__plan_seal(&mine.plan.header);
	expect_refused(&mine, "positions are not in order", "no positions, sealed");
	free_mine(&mine);
	mine = copy_sound();
	mine.plan.offsets = NULL;
	expect_refused(&mine, "is not there", "no addresses");
	free_mine(&mine);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static uint64_t damage_value(uint64_t *state, uint64_t old)
{
	const uint64_t values[] = {0, 1, 2, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 31, UINT64_C(1) << 62,
		UINT64_C(1) << 63, old + 1, old - 1, old * 2, old + 512, old - 512,
		old ^ (UINT64_C(1) << next(state) % 64), next(state) % sound->header.positions,
		next(state) % (sound->header.arena_bytes / 512) * 512};
	return values[next(state) % (sizeof values / sizeof *values)];
}

/* Counts say how long the arrays are: only the seal can tell that one is wrong. */
static bool is_count(size_t at)
{
	static const size_t counts[] = {offsetof(struct seam_plan_header, slot_count),
		offsetof(struct seam_plan_header, copies), offsetof(struct seam_plan_header, stream_count),
		offsetof(struct seam_plan_header, wait_count), offsetof(struct seam_plan_header, group_count),
		offsetof(struct seam_plan_header, range_count), offsetof(struct seam_plan_header, prologue_count),
		offsetof(struct seam_plan_header, string_bytes), offsetof(struct seam_plan_header, string_bytes) + 4};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		if (at == counts[i])
			return true;
	}
	return false;
}

/* One field of some record, of 4 bytes or of 8, whatever it means. */
static void damage(struct mine *mine, uint64_t *state)
{
	const struct seam_plan_header *header = &sound->header;
	const struct {
		void *items;
		size_t bytes;
	} sections[] = {{mine->slots, header->slot_count * sizeof *mine->slots},
		{mine->slots, header->slot_count * sizeof *mine->slots},
		{mine->offsets, (size_t)header->slot_count * header->copies * sizeof *mine->offsets},
		{mine->groups, header->group_count * sizeof *mine->groups},
		{mine->ranges, header->range_count * sizeof *mine->ranges},
		{mine->prologue, header->prologue_count * sizeof *mine->prologue},
		{mine->strings, header->string_bytes / 8 * 8}, {&mine->plan.header, sizeof *header}};
	const size_t which = next(state) % (sizeof sections / sizeof *sections);
	const size_t width = next(state) % 2 == 0 ? 4 : 8;
	uint64_t value = 0;
	if (sections[which].bytes < width)
		return;
	const size_t at = next(state) % (sections[which].bytes / width) * width;
	mine->miscounts |=
		sections[which].items == &mine->plan.header && (is_count(at) || (width == 8 && is_count(at + 4)));
	memcpy(&value, (char *)sections[which].items + at, width);
	value = damage_value(state, value);
	memcpy((char *)sections[which].items + at, &value, width);
	if (!mine->miscounts && next(state) % 4 != 0)
		seam__plan_seal(&mine->plan.header);
}

Test(planned_damaged, no_damage_crashes_or_lets_live_blocks_share_a_byte)
{
	uint64_t state = 1, used = 0, refused = 0;
	for (uint32_t n = 0; n < DAMAGES; n++) {
		struct mine mine = copy_sound();
		char error[200] = "";
		uint64_t hits = 0;
		for (uint64_t times = 1 + next(&state) % 3; times > 0; times--)
			damage(&mine, &state);
		const enum seam_rc rc = seam_plan_use(pool, &mine.plan, error, sizeof error);
		cr_assert(rc == SEAM_OK || rc == SEAM_CORRUPT || rc == SEAM_INVALID || rc == SEAM_OOM_DEVICE,
			"damage %u: %s", n, seam_rc_name(rc));
		cr_assert_eq(error[0] == '\0', rc == SEAM_OK, "damage %u: '%s'", n, error);
		if (rc == SEAM_OK)
			cr_assert_eq(run(3, &hits), 0, "damage %u", n);
		used += rc == SEAM_OK;
		refused += rc != SEAM_OK;
		drop();
		free_mine(&mine);
	}
	cr_expect_gt(used, DAMAGES / 16);
	cr_expect_gt(refused, DAMAGES / 4);
}
