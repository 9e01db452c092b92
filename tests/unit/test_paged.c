/* test_paged.c: what views of whole chunks would cost: by hand, and the bound of remapping against all ways to do it.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "paged.h"
#include "trace_sample.h"

#define CHUNK 100
#define SLOTS 6

/* Slots have as many bytes as chunks * CHUNK unless it is said otherwise. */
struct scene {
	struct seam_plan_slot slots[SLOTS];
	struct seam_plan plan;
};

static void set_scene(struct scene *scene, uint32_t slots, uint32_t positions, uint32_t flags)
{
	scene->plan = (struct seam_plan){.slots = scene->slots};
	scene->plan.header = (struct seam_plan_header){
		.slot_count = slots, .positions = positions, .chunk_bytes = CHUNK, .copies = 1, .flags = flags};
}

static struct seam_paged look(const struct scene *scene, const char *what)
{
	struct seam_paged paged = {0};
	cr_assert_eq(seam__paged_init(&scene->plan, &paged), SEAM_OK, "%s", what);
	cr_assert_eq(trace_sample_live_bytes(), 0, "%s", what);
	return paged;
}

Test(paged, figures_by_hand)
{
	static const struct {
		const char *what;
		uint32_t slots, positions, flags, least_chunks;
		struct seam_plan_slot slot[SLOTS];
		struct seam_paged wanted;
	} rows[] = {
		{"nothing", 0, 0, 0, 0, {{0}}, {0}},
		{"one", 1, 2, 0, 1, {{.size_bytes = 100, .begin = 0, .end = 1}}, {1, 1, 1, 1, 0}},
		{"one byte more is a chunk more", 1, 2, 0, 1, {{.size_bytes = 101, .begin = 0, .end = 1}},
			{2, 2, 2, 2, 0}},
		{"two sizes in turn", 2, 4, 0, 3,
			{{.size_bytes = 200, .begin = 0, .end = 1}, {.size_bytes = 300, .begin = 2, .end = 3}},
			{3, 5, 5, 3, 4}},
		{"the same once", 2, 4, SEAM_PLAN_LINEAR, 3,
			{{.size_bytes = 200, .begin = 0, .end = 1}, {.size_bytes = 300, .begin = 2, .end = 3}},
			{3, 5, 5, 3, 2}},
		{"more memory than that needs", 2, 4, 0, 4,
			{{.size_bytes = 200, .begin = 0, .end = 1}, {.size_bytes = 300, .begin = 2, .end = 3}},
			{3, 5, 5, 4, 2}},
		{"one size in turn", 2, 4, 0, 2,
			{{.size_bytes = 200, .begin = 0, .end = 1}, {.size_bytes = 200, .begin = 2, .end = 3}},
			{2, 4, 2, 2, 0}},
		{"across the end", 1, 2, 0, 1, {{.size_bytes = 150, .begin = 1, .end = 2}}, {2, 2, 2, 2, 0}},
		{"two of one slot at once", 1, 2, 0, 4, {{.size_bytes = 200, .begin = 0, .end = 3}}, {4, 4, 4, 4, 0}},
		{"small ones share", 3, 6, 0, 1,
			{{.size_bytes = 60, .begin = 0, .end = 2}, {.size_bytes = 30, .begin = 1, .end = 3},
				{.size_bytes = 99, .begin = 4, .end = 5}},
			{1, 1, 1, 1, 0}},
		{"what depends on data does not count", 2, 4, 0, 1,
			{{.size_bytes = 100, .begin = 0, .end = 1},
				{.size_bytes = 900, .begin = 2, .end = 3, .flags = SEAM_PLAN_DYNAMIC}},
			{1, 1, 1, 1, 0}},
		{"a resident of a line", 2, 3, SEAM_PLAN_LINEAR, 3,
			{{.size_bytes = 100, .begin = 0, .end = 3}, {.size_bytes = 200, .begin = 1, .end = 2}},
			{3, 3, 3, 3, 0}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene scene;
		set_scene(&scene, rows[i].slots, rows[i].positions, rows[i].flags);
		memcpy(scene.slots, rows[i].slot, sizeof(scene.slots));
		scene.plan.header.lower_bound_chunks = rows[i].least_chunks;
		const struct seam_paged paged = look(&scene, rows[i].what);
		cr_expect_eq(paged.chunks, rows[i].wanted.chunks, "%s: %lu chunks", rows[i].what, paged.chunks);
		cr_expect_eq(paged.private_chunks, rows[i].wanted.private_chunks, "%s: %lu private", rows[i].what,
			paged.private_chunks);
		cr_expect_eq(paged.size_chunks, rows[i].wanted.size_chunks, "%s: %lu by size", rows[i].what,
			paged.size_chunks);
		cr_expect_eq(paged.capacity_chunks, rows[i].wanted.capacity_chunks, "%s: capacity %lu", rows[i].what,
			paged.capacity_chunks);
		cr_expect_eq(paged.remapped_chunks, rows[i].wanted.remapped_chunks, "%s: %lu remapped", rows[i].what,
			paged.remapped_chunks);
	}
}

Test(paged, a_graphs_plan_is_not_looked_at)
{
	struct scene scene = {0};
	struct seam_paged paged;
	set_scene(&scene, 0, 0, SEAM_PLAN_GRAPH | SEAM_PLAN_LINEAR);
	cr_assert_eq(seam__paged_init(&scene.plan, &paged), SEAM_UNSUPPORTED);
}

/* Seeded programs of three sizes (1, 2 and 3 chunks), and the cheapest of all ways to keep what is mapped. */
#define SIZES 3
#define MOST_UNITS 6 /* of one size */
#define STATES ((MOST_UNITS + 1) * (MOST_UNITS + 1) * (MOST_UNITS + 1))
#define COST_NONE UINT32_MAX

struct program {
	struct scene scene;
	uint32_t live[2 * SLOTS][SIZES]; /* blocks, at each position */
	uint32_t most[SIZES];
	uint32_t peak_chunks;
};

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

static void count_live(struct program *program)
{
	const struct seam_plan_header *header = &program->scene.plan.header;
	for (uint32_t p = 0; p < header->positions; p++) {
		uint32_t chunks = 0;
		for (uint32_t i = 0; i < header->slot_count; i++) {
			const struct seam_plan_slot *slot = &program->scene.slots[i];
			const uint32_t size = (uint32_t)(slot->size_bytes / CHUNK);
			for (uint32_t at = p; at < slot->end; at += header->positions) {
				if (at < slot->begin)
					continue;
				program->live[p][size - 1]++;
				chunks += size;
			}
		}
		program->peak_chunks = chunks > program->peak_chunks ? chunks : program->peak_chunks;
		for (uint32_t s = 0; s < SIZES; s++)
			program->most[s] =
				program->live[p][s] > program->most[s] ? program->live[p][s] : program->most[s];
	}
}

/* False if its views have more chunks than the oracle has states for. */
static bool make_program(struct program *program, uint64_t seed)
{
	uint64_t state = seed;
	const uint32_t slots = 2 + (uint32_t)draw(&state, SLOTS - 1), positions = slots * 2;
	const bool linear = draw(&state, 3) == 0;
	uint32_t places[2 * SLOTS];
	memset(program, 0, sizeof(*program));
	set_scene(&program->scene, slots, positions, linear ? SEAM_PLAN_LINEAR : 0);
	for (uint32_t i = 0; i < positions; i++)
		places[i] = i;
	for (uint32_t i = positions; i > 1; i--) {
		const uint32_t other = (uint32_t)draw(&state, i), held = places[i - 1];
		places[i - 1] = places[other];
		places[other] = held;
	}
	for (uint32_t i = 0; i < slots; i++) {
		const uint32_t a = places[2 * i], b = places[2 * i + 1];
		struct seam_plan_slot *slot = &program->scene.slots[i];
		slot->size_bytes = (1 + draw(&state, SIZES)) * CHUNK;
		slot->begin = linear && b < a ? b : a;
		slot->end = linear && b < a ? a : b < a ? b + positions : b;
	}
	count_live(program);
	for (uint32_t s = 0; s < SIZES; s++)
		if (program->most[s] * (s + 1) > MOST_UNITS)
			return false;
	program->scene.plan.header.lower_bound_chunks =
		program->peak_chunks + (draw(&state, 2) == 0 ? (uint32_t)draw(&state, 3) : 0);
	return true;
}

/* The digits of a state are the chunks of each size that are mapped. */
static uint32_t units_of(uint32_t state, uint32_t size)
{
	for (uint32_t s = 0; s < size; s++)
		state /= MOST_UNITS + 1;
	return state % (MOST_UNITS + 1);
}

static bool allowed(const struct program *program, uint32_t state, uint32_t position)
{
	uint32_t all = 0;
	for (uint32_t s = 0; s < SIZES; s++) {
		const uint32_t units = units_of(state, s);
		all += units;
		if (units < program->live[position][s] * (s + 1) || units > program->most[s] * (s + 1))
			return false;
	}
	return all <= program->scene.plan.header.lower_bound_chunks;
}

static uint32_t cost_of(uint32_t from, uint32_t to)
{
	uint32_t cost = 0;
	for (uint32_t s = 0; s < SIZES; s++)
		cost += units_of(to, s) > units_of(from, s) ? units_of(to, s) - units_of(from, s) : 0;
	return cost;
}

/* One turn from the state `start`, which is that of the last position too unless it is a line's. */
static uint32_t cheapest_turn(const struct program *program, uint32_t start, bool linear)
{
	static uint32_t now[STATES], next[STATES];
	uint32_t least = COST_NONE;
	memset(now, 0xff, sizeof(now));
	now[start] = 0;
	for (uint32_t p = 0; p < program->scene.plan.header.positions; p++) {
		memset(next, 0xff, sizeof(next));
		for (uint32_t to = 0; to < STATES; to++) {
			if (!allowed(program, to, p))
				continue;
			for (uint32_t from = 0; from < STATES; from++)
				if (now[from] != COST_NONE && now[from] + cost_of(from, to) < next[to])
					next[to] = now[from] + cost_of(from, to);
		}
		memcpy(now, next, sizeof(now));
	}
	for (uint32_t s = 0; s < STATES; s++)
		if ((linear || s == start) && now[s] < least)
			least = now[s];
	return least;
}

static uint32_t cheapest(const struct program *program)
{
	const struct seam_plan_header *header = &program->scene.plan.header;
	uint32_t views = 0, least = COST_NONE;
	for (uint32_t s = 0; s < SIZES; s++)
		views += program->most[s] * (s + 1);
	if ((header->flags & SEAM_PLAN_LINEAR) != 0)
		return cheapest_turn(program, 0, true) -
			(views < header->lower_bound_chunks ? views : header->lower_bound_chunks);
	for (uint32_t s = 0; s < STATES; s++) {
		const uint32_t cost =
			allowed(program, s, header->positions - 1) ? cheapest_turn(program, s, false) : COST_NONE;
		least = cost < least ? cost : least;
	}
	return least;
}

Test(paged, nobody_remaps_less)
{
	uint32_t looked_at = 0, with_remaps = 0, exact = 0;
	for (uint64_t seed = 1; looked_at < 300; seed++) {
		struct program program;
		if (!make_program(&program, seed))
			continue;
		const struct seam_paged paged = look(&program.scene, "seeded");
		const uint32_t least = cheapest(&program);
		looked_at++;
		with_remaps += paged.remapped_chunks > 0;
		exact += paged.remapped_chunks == least;
		cr_assert_leq(paged.remapped_chunks, least, "seed %lu: %u do", seed, least);
		cr_assert_eq(paged.chunks, program.peak_chunks, "seed %lu", seed);
		if (paged.capacity_chunks == program.peak_chunks)
			cr_assert_eq(paged.remapped_chunks, least, "seed %lu: %lu, not %u", seed, paged.remapped_chunks,
				least);
	}
	cr_assert_gt(with_remaps, 50, "only %u", with_remaps);
	cr_assert_gt(exact, 200, "only %u", exact);
}

Test(paged, every_failed_allocation_is_a_value)
{
	struct scene scene = {.slots = {{.size_bytes = 100, .begin = 0, .end = 1}}};
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	set_scene(&scene, 1, 2, 0);
	for (uint64_t n = 1; fired; n++) {
		struct seam_paged paged = {.chunks = 77};
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__paged_init(&scene.plan, &paged);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %lu", n);
		cr_assert(!fired || paged.chunks == 77, "failure %lu: touched", n);
		cr_assert_eq(trace_sample_live_bytes(), 0, "failure %lu", n);
	}
}
