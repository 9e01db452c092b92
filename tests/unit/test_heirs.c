/* test_heirs.c: what the addresses of a plan prove, against all pairs of its slots byte by byte, and by hand. */
#include <criterion/criterion.h>

#include "heirs.h"
#include "meta.h"
#include "plan_builder.h"
#include "trace_sample.h"

#define CHUNK 16u
#define CHUNKS 6u
#define SLOTS 14u
#define STREAMS 3u
#define ALWAYS SEAM__HOLD_ALWAYS

static struct seam__problem problem;

static void expect_nothing_left(void)
{
	cr_expect_eq(trace_sample_live_bytes(), 0, "metadata left");
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* A plan in pieces, as far as it is looked at. */
struct world {
	struct seam_plan plan;
	struct seam_plan_slot slots[SLOTS];
	uint64_t offsets[SLOTS * 3];
	uint32_t backing[CHUNKS];
};

/* Slots live for one position, so that no two meet. */
static void make_world(struct world *world, uint64_t seed)
{
	uint64_t state = seed;
	const uint32_t copies = (uint32_t)(1 + next(&state) % 3);

	*world = (struct world){.plan.header = {.slot_count = SLOTS,
					.copies = copies,
					.positions = SLOTS * 2,
					.align_bytes = 1,
					.chunk_bytes = CHUNK,
					.backing_count = CHUNKS,
					.arena_bytes = CHUNK * CHUNKS,
					.flags = next(&state) % 4 == 0 && copies == 1 ? SEAM_PLAN_LINEAR : 0}};
	for (uint32_t i = 0; i < SLOTS; i++) {
		world->slots[i] = (struct seam_plan_slot){.size_bytes = 1 + next(&state) % (2 * CHUNK),
			.begin = 2 * i,
			.end = 2 * i + 1,
			.stream = (uint32_t)(next(&state) % STREAMS),
			.flags = next(&state) % 4 == 0 ? SEAM_PLAN_SHARED : 0};
		for (uint32_t c = 0; c < copies; c++)
			world->offsets[i * copies + c] =
				next(&state) % (CHUNK * CHUNKS - world->slots[i].size_bytes + 1);
	}
	for (uint32_t i = 0; i < CHUNKS; i++)
		world->backing[i] = (uint32_t)(next(&state) % CHUNKS);
	world->plan.slots = world->slots;
	world->plan.offsets = world->offsets;
	world->plan.backing = world->backing;
}

static void state_problem(const struct world *world)
{
	const struct seam_plan_header *header = &world->plan.header;

	cr_assert_eq(seam__problem_init(&problem, seam__meta_process(), SLOTS * header->copies,
			     header->copies * header->positions, (header->flags & SEAM_PLAN_LINEAR) != 0, STREAMS, 1),
		SEAM_OK);
	for (uint32_t c = 0; c < header->copies; c++) {
		for (uint32_t i = 0; i < SLOTS; i++) {
			const struct seam_plan_slot *slot = &world->slots[i];
			struct seam__item *item =
				seam__problem_add(&problem, slot->size_bytes, c * header->positions + slot->begin, 1);

			item->request = i;
			item->copy = c;
			item->stream = slot->stream;
		}
	}
}

static bool share_a_byte(const struct world *world, uint32_t a, uint32_t b)
{
	const uint32_t items[] = {a, b};
	bool used[2][CHUNK * CHUNKS] = {{false}};

	for (uint32_t n = 0; n < 2; n++) {
		const struct seam__item *item = &problem.items[items[n]];

		for (uint64_t byte = 0; byte < world->slots[item->request].size_bytes; byte++) {
			uint64_t address =
				world->offsets[item->request * world->plan.header.copies + item->copy] + byte;

			used[n][world->backing[address / CHUNK] * CHUNK + address % CHUNK] = true;
		}
	}
	for (uint32_t byte = 0; byte < CHUNK * CHUNKS; byte++)
		if (used[0][byte] && used[1][byte])
			return true;
	return false;
}

/* From when on stream `s` may have the item's memory, by all pairs. */
static uint32_t expected(const struct world *world, uint32_t i, uint32_t s)
{
	const struct seam__item *item = &problem.items[i];
	const bool is_shared = (world->slots[item->request].flags & SEAM_PLAN_SHARED) != 0;
	uint32_t least = problem.linear ? problem.circle - item->begin : s == item->stream ? problem.circle : ALWAYS;

	if (s == item->stream && !is_shared)
		return 1;
	for (uint32_t j = 0; j < problem.count; j++) {
		const uint32_t distance = seam__problem_distance(&problem, item->begin, problem.items[j].begin);

		if (j == i || problem.items[j].stream != s || (problem.linear && j < i) || !share_a_byte(world, i, j))
			continue;
		least = distance < least ? distance : least;
	}
	return least;
}

Test(heirs, are_those_of_all_pairs)
{
	uint32_t proven = 0, never = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct world world;

		make_world(&world, seed);
		state_problem(&world);
		cr_assert_eq(seam__heirs_hold(&world.plan, &problem), SEAM_OK);
		cr_expect_null(seam__problem_check(&problem), "seed %lu: %s", (unsigned long)seed,
			seam__problem_check(&problem));
		for (uint32_t i = 0; i < problem.count; i++) {
			for (uint32_t s = 0; s < STREAMS; s++) {
				const uint32_t hold = seam__problem_hold(&problem, i, s);

				cr_expect_eq(hold, expected(&world, i, s), "seed %lu: item %u, stream %u: %u, not %u",
					(unsigned long)seed, i, s, hold, expected(&world, i, s));
				proven += hold < problem.circle && s != problem.items[i].stream;
				never += hold == ALWAYS;
			}
		}
		seam__problem_fini(&problem);
	}
	cr_expect_gt(proven, 1000);
	cr_expect_gt(never, 100);
	expect_nothing_left();
}

/* One stream: nothing to prove but for what others used, which keeps its memory where none has it next. */
Test(heirs, of_one_stream_matter_where_others_used_it)
{
	struct seam_plan_slot slots[] = {{.size_bytes = 4, .begin = 0, .end = 1, .flags = SEAM_PLAN_SHARED},
		{.size_bytes = 4, .begin = 2, .end = 3}};
	uint64_t offsets[] = {0, 8};
	struct seam_plan plan = {
		.header = {.slot_count = 2, .copies = 1, .positions = 4}, .slots = slots, .offsets = offsets};

	for (uint32_t row = 0; row < 3; row++) {
		static const uint32_t spans[] = {4, 2, 1};

		offsets[1] = row == 0 ? 8 : 3;
		slots[0].flags = row < 2 ? SEAM_PLAN_SHARED : 0;
		cr_assert_eq(seam__problem_init(&problem, seam__meta_process(), 2, 4, false, 1, 1), SEAM_OK);
		(void)seam__problem_add(&problem, 4, 0, 1);
		(void)seam__problem_add(&problem, 4, 2, 1);
		cr_assert_eq(seam__heirs_hold(&plan, &problem), SEAM_OK);
		cr_expect_eq(problem.items[0].span, spans[row], "row %u", row);
		cr_expect_eq(problem.items[1].span, 1);
		seam__problem_fini(&problem);
	}
	expect_nothing_left();
}

Test(heirs, no_memory_leaves_nothing)
{
	struct world world;
	uint32_t fired = 0;

	make_world(&world, 1);
	for (uint64_t n = 1;; n++) {
		state_problem(&world);
		seam__meta_fail_at(seam__meta_process(), n);
		enum seam_rc rc = seam__heirs_hold(&world.plan, &problem);
		bool left = seam__meta_fail_left(seam__meta_process()) != 0;
		seam__meta_fail_at(seam__meta_process(), 0);
		cr_expect_eq(rc, left ? SEAM_OK : SEAM_OOM_META, "%lu", (unsigned long)n);
		seam__problem_fini(&problem);
		cr_expect_eq(trace_sample_live_bytes(), 0, "%lu", (unsigned long)n);
		if (left)
			break;
		fired++;
	}
	cr_expect_gt(fired, 1);
	expect_nothing_left();
}
