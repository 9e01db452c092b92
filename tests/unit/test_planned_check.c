/* test_planned_check.c: the validator of active plans names what is broken. A program brings a plan into all states; in
 * each of them every field that an invariant is about is made another one for a moment.
 */
#include "break_field.h"
#include "prologue_fixture.h"

#include "bits.h"
#include "matcher_state.h"
#include "planned_impl.h"

#define INVARIANTS 11u
#define MOST_LIVE 256u

static struct seam_runtime *runtime;

static const char *find_broken(void)
{
	return seam__planned_check(runtime);
}

/* States that active plans were seen in. */
static struct {
	bool prologue, is_ahead, serves, is_suspended, waits, is_closed, lends, holds, notes, displaced, has_several;
} seen;

static bool is_open(const struct seam_active_plan *active)
{
	return runtime->open && active == LIST_FIRST(&runtime->active_plans);
}

static struct seam_plan_block *live[MOST_LIVE]; /* or held */
static uint32_t live_count;

static void note_live(void *user, struct seam_plan_block *plan_block)
{
	(void)user;
	cr_assert_lt(live_count, MOST_LIVE);
	live[live_count++] = plan_block;
}

static bool is_held(const struct seam_active_plan *active, const struct seam_plan_block *plan_block)
{
	uint32_t i = 0;
	while (i < active->held_count && active->held[i] != plan_block)
		i++;
	return i < active->held_count;
}

static void break_blocks(struct seam_active_plan *active)
{
	struct seam_block_use use = {0};
	for (uint32_t i = 0; i < live_count; i++) {
		const bool held = is_held(active, live[i]);
		BREAK(live[i]->requested_bytes, live[i]->requested_bytes + 1, held ? "Q6" : "Q3");
		BREAK(live[i]->uses, live[i]->uses == NULL ? &use : NULL, "Q6");
	}
	seen.holds |= active->held_count != 0;
	if (active->held_count != 0)
		BREAK(active->held_count, active->held_count - 1, "Q3");
	if (active->held_count < active->held_capacity) {
		active->held[active->held_count] = NULL;
		BREAK(active->held_count, active->held_count + 1, "Q6");
	}
	BREAK(active->recorded, active->recorded + 1, "Q6");
	BREAK(active->held_capacity, active->recorded, "");
	if (active->recorded == 0)
		return;
	BREAK(active->recorded, active->recorded - 1, "Q6");
	BREAK(active->held_capacity, active->recorded - 1, "Q6");
}

static void break_uses(const struct seam_active_plan *active)
{
	const struct seam_last_use *next = seam__last_uses_behind(&active->last_uses, 0);
	for (; next != NULL; next = seam__last_uses_next(next)) {
		struct seam_last_use *use = (struct seam_last_use *)(uintptr_t)next;
		BREAK(use->streams, use->streams | UINT64_C(1) << active->stream_count, "Q7");
		BREAK(use->stamp, active->streams[0]->owner->tick + 1, "Q7");
		BREAK(use->end, use->begin, "Q7");
		seen.notes = true;
	}
}

static void break_streams(struct seam_active_plan *active)
{
	BREAK(active->stream_count, active->stream_capacity + 1, "Q7");
	for (uint32_t i = 0; i < active->stream_count; i++) {
		BREAK(active->joined[i], active->arena.join_version, "");
		BREAK(active->joined[i], active->arena.join_version + 1, "Q7");
		BREAK(active->joined[i], UINT64_MAX, "");
		for (uint32_t k = 0; k < active->stream_count; k++) {
			uint64_t *behind = &active->behind[(size_t)i * active->stream_capacity + k];
			BREAK(*behind, active->streams[k]->last_stamp, "");
			BREAK(*behind, active->streams[k]->last_stamp + 1, i == k ? "" : "Q7");
			if (i != k)
				BREAK(active->streams[i], active->streams[k], "Q7");
		}
	}
}

/* What of the arena is not the plan's. */
static void break_gaps(struct seam_active_plan *active)
{
	struct seam_arena *arena = &active->arena;
	struct seam_matcher *matcher = active->matcher;
	const bool serves = is_open(active) && !active->suspended;
	BREAK(active->lent_bytes, active->lent_bytes + 512, is_open(active) ? "Q5" : "");
	for (uint32_t i = 0; serves && i < arena->count; i++) {
		seen.lends |= arena->chunks[i].lent;
		BREAK(arena->chunks[i].lent, !arena->chunks[i].lent, "Q5");
	}
	for (uint32_t i = 0; is_open(active) && i < matcher->blocked_count; i++)
		BREAK(matcher->blocked[i].end, matcher->blocked[i].end - 512, "Q2");
	if (arena->leased_bytes != 0 && active != runtime->prologue.active)
		BREAK(arena->leased_bytes, arena->leased_bytes - 512, serves ? "Q2" : "A2");
	BREAK(arena->chunks[0].offset, arena->chunks[0].offset + 1, "A1");
}

static void break_state(struct seam_active_plan *active)
{
	struct seam_arena *arena = &active->arena;
	const bool open = is_open(active), has_gaps = arena->leased_bytes != arena->bytes;
	const bool expects = active == runtime->prologue.active;
	BREAK(arena->state, open ? SEAM_ARENA_CLOSED : SEAM_ARENA_OPEN, expects ? "Q4" : "Q1");
	seen.serves |= open && !active->suspended;
	seen.is_suspended |= open && active->suspended && active->started;
	seen.waits |= open && !active->started;
	BREAK(active->on_trial, true, active->started ? "Q10" : "");
	seen.is_closed |= !open;
	if (!open) {
		BREAK(active->suspended, true, "Q5");
		BREAK(active->started, !active->started, active->on_trial ? "Q10" : "");
	} else if (active->suspended) {
		BREAK(active->suspended, false, has_gaps ? "Q2" : "Q10");
		BREAK(active->started, !active->started,
			active->on_trial || (active->started && live_count != 0) ? "Q10" : "");
	} else {
		BREAK(active->suspended, true, active->lent_bytes != 0 ? "Q5" : has_gaps ? "Q2" : "");
		BREAK(active->started, false, "Q10");
	}
}

static void break_plans(struct seam_active_plan *active)
{
	struct seam_matcher *matcher = active->matcher;
	const bool open = is_open(active);
	BREAK(active->usable, active->arena.count, "");
	BREAK(active->usable, active->arena.count + 1, open ? "Q8" : "");
	for (uint32_t i = 0; i < matcher->loaded_count; i++) {
		BREAK(active->long_positions, matcher->loaded_plans[i]->slots - 1, open ? "Q8" : "");
		BREAK(matcher->loaded_plans[i]->slots, active->long_positions + 1, open ? "Q8" : "C1");
	}
	seen.has_several |= matcher->loaded_count > 1;
	if (matcher->loaded_count != 0)
		BREAK(matcher->successor, matcher->loaded_plans[0], "H7");
}

static void break_prologue(struct seam_prologue *prologue)
{
	const uint32_t furthest = prologue->next + 1 + SEAM_PROLOGUE_WINDOW;
	const bool may_be_ahead = prologue->is_stranger && prologue->strangers != 0;
	if (prologue->active == NULL)
		return;
	BREAK(prologue->next, prologue->count, "Q4");
	BREAK(prologue->active, LIST_FIRST(&runtime->active_plans), "Q4");
	BREAK(prologue->strangers, SEAM_PROLOGUE_STRANGERS, "Q4");
	BREAK(prologue->at_bytes, prologue->at_bytes + 512, "Q4");
	BREAK(prologue->at_bytes, prologue->at_bytes - 512, "Q4");
	BREAK(prologue->ahead, prologue->next + 1, "Q4");
	BREAK(prologue->ahead, prologue->next + 2, may_be_ahead && prologue->next + 2 < prologue->count ? "" : "Q4");
	BREAK(prologue->ahead, furthest, may_be_ahead && furthest < prologue->count ? "" : "Q4");
	BREAK(prologue->ahead, furthest + 1, "Q4");
	BREAK(prologue->ahead, prologue->count, "Q4");
	for (uint32_t i = 0; i < prologue->count; i++) {
		struct seam_plan_prologue *request = &prologue->requests[i];
		const uint64_t room = seam__bits_align_up(request->size_bytes, 512);
		if (i >= prologue->next || (request->flags & SEAM_PLAN_STAYS) == 0)
			continue;
		BREAK(request->size_bytes, room, "");
		BREAK(request->size_bytes, room - 511, "");
		BREAK(request->size_bytes, room + 1, "Q4");
		BREAK(request->size_bytes, room - 512, "Q4");
	}
	if (prologue->ahead != 0) {
		BREAK(prologue->count, prologue->ahead + 1, "");
		BREAK(prologue->count, prologue->ahead, "Q4");
		BREAK(prologue->is_stranger, false, "Q4");
		BREAK(prologue->strangers, 0, "Q4");
		seen.is_ahead = true;
	}
	seen.prologue = true;
}

static void break_counts(struct seam_planned_counts *counts)
{
	const uint64_t missed = counts->requests - counts->hits, strange = seam__planned_strange(counts),
		       displaced = seam__planned_displaced(counts);
	BREAK(counts->requests, counts->requests + 1, "Q9");
	BREAK(counts->hits, counts->hits + 1, "Q9");
	for (unsigned i = 0; i < SEAM_MISS_COUNT; i++)
		BREAK(counts->misses[i], counts->misses[i] + 1, "Q9");
	BREAK(counts->refused_dynamic, 1, "");
	BREAK(runtime->started_requests, counts->requests, "");
	BREAK(runtime->started_requests, counts->requests + 1, "Q9");
	BREAK(runtime->started_misses, missed, "");
	BREAK(runtime->started_misses, missed + 1, "Q9");
	BREAK(runtime->started_strange, strange, "");
	BREAK(runtime->started_strange, strange + 1, "Q9");
	seen.displaced |= counts->misses[SEAM_MISS_gap] != 0;
	BREAK(runtime->started_displaced, displaced, "");
	BREAK(runtime->started_displaced, displaced + 1, "Q9");
}

static void break_account(struct seam_engine_counts *counts)
{
	BREAK(counts->planned_blocks, counts->planned_blocks + 1, "Q3");
	BREAK(counts->planned_bytes, counts->planned_bytes + 512, "Q3");
	BREAK(counts->planned_requested_bytes, counts->planned_requested_bytes + 1, "Q3");
	BREAK(counts->planned_pending_bytes, counts->planned_pending_bytes + 512, "Q3");
}

static void break_steps(struct seam_account *account)
{
	struct seam_earnings *counted = &account->counted;
	const uint64_t calls = seam__driver_calls(pool->engine.driver, SEAM_DRV_MEMORY);
	BREAK(counted->requests, pool->engine.counts.allocs, "");
	BREAK(counted->requests, pool->engine.counts.allocs + 1, "Q11");
	BREAK(counted->hits, runtime->counts.hits, "");
	BREAK(counted->hits, runtime->counts.hits + 1, "Q11");
	BREAK(counted->calls, calls, "");
	BREAK(counted->calls, calls + 1, "Q11");
}

static void break_all(void)
{
	struct seam_active_plan *active;
	expect_broken("", "as it is");
	break_counts(&runtime->counts);
	break_account(&pool->engine.counts);
	break_steps(&runtime->account);
	break_prologue(&runtime->prologue);
	if (!LIST_EMPTY(&runtime->active_plans))
		BREAK(runtime->open, !runtime->open, runtime->prologue.active != NULL ? "Q4" : "Q1");
	LIST_FOREACH(active, &runtime->active_plans, link)
	{
		live_count = 0;
		seam__matcher_each(active->matcher, note_live, NULL);
		break_state(active);
		break_gaps(active);
		break_blocks(active);
		break_uses(active);
		break_streams(active);
		break_plans(active);
	}
	expect_broken("", "as it was");
}

/* The first half of an iteration. The other stream uses some of its blocks, which are freed, and asks for something. */
static void go_forward(struct training *training)
{
	for (unsigned i = 0; i < LAYERS; i++)
		must_free(training->gradients[i]);
	for (unsigned i = 0; i < LAYERS; i++) {
		must_free(must_alloc(MIB(1) + i * KIB(64), streams[0]));
		training->activations[i] = must_alloc(MIB(9) + i * KIB(256), streams[0]);
		if (i % 3 != 0)
			continue;
		cr_assert_ok(seam_record_stream(pool, training->activations[i], streams[1]));
		launch(streams[1], training->activations[i], MIB(9), 1000000000);
		must_free(must_alloc(KIB(600), streams[1]));
	}
	for (unsigned i = 0; i < LAYERS; i += 2)
		must_free(training->activations[i]);
}

/* Some more of it. */
static void go_back(struct training *training)
{
	for (unsigned i = LAYERS; i-- > LAYERS / 2;)
		training->gradients[i] = must_alloc(parameter_bytes(i), streams[0]);
}

/* From the first request of a plan's prologue to when the plan is dropped. */
static void break_given(void)
{
	struct training training;
	void *large;
	make_plan();
	open_with_plan(MIB(2048));
	runtime = pool->runtime;
	break_all();
	make_parameters(&training);
	break_all();
	must_free(must_alloc(MIB(9), streams[0])); /* the one behind the next */
	break_all();
	train(&training);
	break_all();
	go_forward(&training);
	break_all();
	cr_assert_eq(seam__drv_device_sync(driver), SEAM_CU_SUCCESS);
	large = must_alloc(MIB(64), streams[0]);
	go_back(&training);
	break_all();
	must_free(large);
	interrupt(200);
	break_all();
	seam_plan_drop(pool);
	break_all();
	close_with_plan();
}

/* From when nothing is planned to when a plan that was learnt has started. */
static void break_learnt(void)
{
	struct training training;
	open_with_streams(MIB(2048), "chunk_bytes:2M,plan:inline");
	runtime = pool->runtime;
	make_parameters(&training);
	for (unsigned i = 0; i < 24; i++) {
		train(&training);
		if (i % 3 != 0)
			interrupt(40);
		cr_assert_ok(seam_step(pool));
		run_background();
		break_all();
	}
	close_with_streams();
}

Test(planned_check, names_what_is_broken)
{
	break_given();
	break_learnt();
	for (unsigned i = 1; i <= INVARIANTS; i++)
		cr_expect_gt(broken_times[i], 0, "Q%u", i);
	cr_expect(seen.prologue && seen.is_ahead && seen.serves && seen.is_suspended && seen.waits && seen.is_closed);
	cr_expect(seen.lends && seen.holds && seen.notes && seen.displaced && seen.has_several);
}
