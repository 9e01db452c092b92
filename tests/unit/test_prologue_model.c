/* test_prologue_model.c: programs that ask nearly for what a plan says comes first, against the rules of
 * planned_prologue.c as an oracle: which request is which, what has a place, and what goes back.
 */
#include "prologue_fixture.h"

#include "planned_impl.h"
#include "random_problem.h"

#define SEEDS 300u
#define MOST 24u
#define MOST_BLOCKS 400u
#define OTHER_BYTES (KIB(777) + 8) /* no request of a plan has this size */

TestSuite(prologue_model, .init = make_plan);

/* A program, and what is to be known of it. */
struct model {
	uint64_t random;
	struct seam_plan_prologue requests[MOST];
	uint32_t count;
	uint32_t at; /* where the program is */
	uint32_t next, strangers, ahead;
	bool gone[MOST]; /* it was passed over, or freed */
	const struct seam_active_plan *places;
	struct {
		void *ptr;
		uint32_t number; /* of the first requests; MOST: none of them, or it does not stay */
	} blocks[MOST_BLOCKS];
	uint32_t block_count;
};

/* How it ended, of all seeds. */
static unsigned ends[3], at_limit, returns;

static uint64_t draw(struct model *model, uint64_t limit)
{
	return random_below(&model->random, limit);
}

static bool stays(const struct seam_plan_prologue *request)
{
	return (request->flags & SEAM_PLAN_STAYS) != 0;
}

static uint64_t place_bytes(const struct seam_plan_prologue *request)
{
	return stays(request) ? (request->size_bytes + 511) / 512 * 512 : 0;
}

static void draw_requests(struct model *model, struct seam_plan *ret_changed)
{
	const uint64_t sizes = 1 + draw(model, 8);
	/* Of those that stay, behind the first: it is as large as may be missing, or lies in the second chunk alone. */
	const bool is_last_alone = draw(model, 3) == 0, is_small = draw(model, 2) == 0;
	model->count = 2 + (uint32_t)draw(model, MOST - 1);
	*ret_changed = *plan;
	ret_changed->prologue = model->requests;
	ret_changed->header.prologue_count = model->count;
	ret_changed->header.resident_bytes = 0;
	for (uint32_t i = 0; i < model->count; i++) {
		const uint64_t kind = i == 0 ? 0 : is_last_alone ? 9 : draw(model, 10);
		model->requests[i] = (struct seam_plan_prologue){
			.size_bytes = KIB(32) * (1 + draw(model, 4 * sizes)) + (draw(model, 16) == 0 ? 64 : 0),
			.flags = kind < 5   ? SEAM_PLAN_STAYS
				: kind == 5 ? SEAM_PLAN_DYNAMIC
					    : 0,
			.slot = SEAM_PLAN_NO_SLOT};
		if (is_last_alone && i == 0)
			model->requests[i].size_bytes = MIB(2);
		if (is_last_alone && i + 1 == model->count) {
			model->requests[i].flags = SEAM_PLAN_STAYS;
			model->requests[i].size_bytes =
				is_small ? KIB(32) : chunks_of(plan->header.arena_bytes) * MIB(2) / 64;
		}
		ret_changed->header.resident_bytes += stays(&model->requests[i]) ? model->requests[i].size_bytes : 0;
	}
	seam__plan_seal(&ret_changed->header);
}

/* What the program asks for: the next, one a little further on, or something else. */
static struct seam_match_ask draw_ask(struct model *model)
{
	const struct seam_plan_prologue *request = &model->requests[draw(model, model->count)];
	if (draw(model, 4) == 0)
		model->at += (uint32_t)draw(model, 12);
	if (draw(model, 3) != 0 && model->at < model->count)
		request = &model->requests[model->at++];
	else if (draw(model, 3) != 0)
		return (struct seam_match_ask){.bytes = OTHER_BYTES};
	return (struct seam_match_ask){
		.bytes = request->size_bytes, .dynamic = (request->flags & SEAM_PLAN_DYNAMIC) != 0};
}

/* Of a size that depends on data nothing else is known. */
static bool is_like(const struct model *model, uint32_t number, const struct seam_match_ask *ask)
{
	const bool dynamic = (model->requests[number].flags & SEAM_PLAN_DYNAMIC) != 0;
	return dynamic ? ask->dynamic : !ask->dynamic && model->requests[number].size_bytes == ask->bytes;
}

/* Whether the request is one of the first. If not: it may be the nearest of the eight behind the next, and the one
 * behind that be next then. */
static bool follow(struct model *model, const struct seam_match_ask *ask)
{
	const uint32_t ahead = model->ahead;
	model->ahead = 0;
	if (!is_like(model, model->next, ask) && ahead != 0 && is_like(model, ahead, ask)) {
		for (; model->next < ahead; model->next++)
			model->gone[model->next] = true;
		returns++;
	}
	if (is_like(model, model->next, ask)) {
		model->strangers -= model->strangers > 0 ? 1 : 0;
		return true;
	}
	model->strangers++;
	for (uint32_t i = model->next + 8; i > model->next; i--)
		if (i + 1 < model->count && is_like(model, i, ask))
			model->ahead = i + 1;
	return false;
}

static void *ask_pool(const struct seam_match_ask *ask)
{
	if (ask->dynamic)
		cr_assert_ok(seam_dynamic_begin(pool));
	void *block = must_alloc(ask->bytes, streams[0]);
	if (ask->dynamic)
		cr_assert_ok(seam_dynamic_end(pool));
	return block;
}

/* One behind the other, whether they are made or not. */
static void expect_place(const struct model *model, const void *block)
{
	const uint64_t va = (uint64_t)(uintptr_t)block;
	uint64_t offset = 0;
	for (uint32_t i = 0; i < model->next; i++)
		offset += place_bytes(&model->requests[i]);
	cr_assert_eq(seam__active_at(pool->runtime, va), model->places);
	cr_assert_eq(va - model->places->arena.view->va, offset);
}

/* Nobody has places but those that were made, and those before `count` that will be. What is left of the last chunk
 * goes with the last place in it. */
static void expect_leased(const struct model *model, uint32_t count)
{
	const struct seam_arena *arena = &model->places->arena;
	uint64_t at = 0, bytes = 0, last_bytes = 0;
	for (uint32_t i = 0; i < model->count; i++) {
		const uint64_t of_it = place_bytes(&model->requests[i]);
		at += of_it;
		if (model->gone[i] || i >= count)
			continue;
		bytes += of_it;
		last_bytes += of_it != 0 && at > arena->bytes - MIB(2) ? of_it : 0;
	}
	cr_assert_eq(arena->leased_bytes, bytes + (last_bytes != 0 ? arena->bytes - at : 0));
}

/* What is missing goes back, and is too much for the plan to serve on if it is a 64th of its arena. */
static void expect_end(const struct model *model)
{
	const struct seam_active_plan *open = seam__active_open(pool->runtime);
	uint64_t missing_bytes = 0;
	for (uint32_t i = model->next; i < model->count; i++)
		missing_bytes += stays(&model->requests[i]) ? model->requests[i].size_bytes : 0;
	const bool departs = model->strangers == STRANGERS && missing_bytes >= open->arena.bytes / 64;
	cr_assert_not(is_expected());
	expect_leased(model, model->next);
	cr_assert_eq(open->suspended, departs);
	cr_assert_eq(open->poor, 0);
	cr_assert_leq(open->judged_asked - seam__planned_asked(&pool->runtime->counts), 1, "it is judged by them");
	at_limit += model->strangers == STRANGERS && missing_bytes == open->arena.bytes / 64;
	ends[model->next == model->count ? 0 : departs ? 1 : 2]++;
}

/* True: it goes on. */
static bool take_step(struct model *model)
{
	const struct seam_prologue *prologue = &pool->runtime->prologue;
	const struct seam_match_ask ask = draw_ask(model);
	const struct seam_plan_stats before = get_plan_stats();
	const bool is_expected_one = follow(model, &ask);
	const struct seam_plan_prologue *request = &model->requests[model->next];
	void *block = ask_pool(&ask);
	const struct seam_active_plan *from = seam__active_at(pool->runtime, (uint64_t)(uintptr_t)block);
	if (is_expected_one && stays(request))
		expect_place(model, block);
	else
		cr_assert_neq(from, model->places);
	cr_assert(is_expected_one || !is_expected() || !stays(request) || from == NULL, "it may stay in idle memory");
	const struct seam_plan_stats after = get_plan_stats();
	cr_assert(is_expected_one || after.miss_lost == before.miss_lost + 1);
	cr_assert(!is_expected_one || !stays(request) || after.hits == before.hits + 1);
	model->next += is_expected_one;
	cr_assert_lt(model->block_count, MOST_BLOCKS);
	model->blocks[model->block_count].ptr = block;
	model->blocks[model->block_count++].number = is_expected_one && stays(request) ? model->next - 1 : MOST;
	check_pool();
	if (model->next == model->count || model->strangers == STRANGERS) {
		expect_end(model);
		return false;
	}
	cr_assert(is_expected());
	cr_assert(prologue->next == model->next && prologue->strangers == model->strangers &&
			prologue->ahead == model->ahead,
		"next %u, %u strangers, ahead %u", prologue->next, prologue->strangers, prologue->ahead);
	expect_leased(model, model->count);
	return true;
}

/* In any order. */
static void free_all(struct model *model)
{
	while (model->block_count > 0) {
		const uint32_t block = (uint32_t)draw(model, model->block_count);
		must_free(model->blocks[block].ptr);
		if (model->blocks[block].number != MOST)
			model->gone[model->blocks[block].number] = true;
		model->blocks[block] = model->blocks[--model->block_count];
		expect_leased(model, model->next);
	}
}

Test(prologue_model, a_program_is_followed_by_the_sizes_of_its_first_requests)
{
	static struct model model;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct seam_plan changed;
		memset(&model, 0, sizeof model);
		model.random = seed;
		draw_requests(&model, &changed);
		open_with_streams(MIB(2048), "chunk_bytes:2M,plan:off");
		cr_assert_ok(seam_plan_use(pool, &changed, NULL, 0));
		cr_assert(is_expected());
		model.places = pool->runtime->prologue.active;
		while (take_step(&model))
			;
		free_all(&model);
		close_with_streams();
	}
	cr_expect(ends[0] > 50 && ends[1] > 50 && ends[2] > 20 && at_limit > 2 && returns > 100, "%u %u %u, %u, %u",
		ends[0], ends[1], ends[2], at_limit, returns);
	seam_plan_free(plan);
}
