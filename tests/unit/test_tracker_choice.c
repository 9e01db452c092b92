/* test_tracker_choice.c: the choice of tracker_score.c against the table of costs in tracker.h: all candidates, in
 * order, with none left out because it could not be the cheapest.
 *
 * What stands at a place of a cursor's slots, and which place of the index is nearest, is tested elsewhere
 * (test_loaded_cursors.c).
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "match_program.h"
#include "meta.h"
#include "random_problem.h"
#include "tracker.h"

#define PROGRAMS 60u
#define SCENES 250u

static const struct program_wish kinds[] = {
	{.slots = 20, .sizes = 3, .threads = 2},
	{.slots = 40, .sizes = 4, .threads = 3, .streams = 2, .lag = 1},
	{.slots = 16, .sizes = 3, .dynamics = 10},
	{.slots = 300, .sizes = 6, .lag = 1},
	{.slots = 8, .layers = 8, .residents = 2},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct seam_meta *meta;
static uint64_t random_state;
static unsigned chosen[SEAM_AT_BEGINNING + 1][2]; /* by kind, in the current plan and elsewhere */

static uint64_t draw(uint64_t limit)
{
	return random_below(&random_state, limit);
}

static uint32_t low_bits(uint64_t number)
{
	uint32_t bits = 0;
	for (; number != 0; number /= 2)
		bits++;
	return bits;
}

static int least(uint64_t a, uint64_t b)
{
	return (int)(a < b ? a : b);
}

/* ---- the table of tracker.h ---- */

/* The cheapest so far, of equal ones the first. */
struct list {
	const struct seam_scene *scene;
	struct seam_candidate best;
};

static uint64_t cursor_at(const struct seam_cursor *cursor)
{
	return cursor->base + cursor->next->begin;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

static uint64_t around(const struct seam_loaded_plan *plan)
{
	return plan->positions / 16 + 32;
}

static int live_bits(const struct seam_scene *scene, const struct seam_loaded_plan *plan, uint32_t position)
{
	const int64_t planned = plan->live_at[position], slack = planned / 16 < 2 ? 2 : planned / 16;
	const int64_t off = scene->live < planned ? planned - scene->live : scene->live - planned;
	return scene->live_known ? least(3, low_bits((uint64_t)(off / slack))) : 0;
}

/* Sizes among the last requests that stand before the slot as well, but for the request's own. */
static uint32_t agree(const struct seam_scene *scene, const struct seam_cursor *cursor, uint32_t number)
{
	uint32_t exact = 0;
	for (uint32_t i = 0; i < 16 && i < scene->history->heard; i++) {
		const uint64_t bytes = cursor->first[(number + 16 * cursor->count - i) % cursor->count].bytes;
		if (bytes != 0 && bytes != scene->history->sizes[(scene->history->heard - 1 - i) % 16])
			break;
		exact += i > 0 && bytes != 0;
	}
	return exact;
}

static bool fits(const struct seam_scene *scene, const struct seam_expected_slot *slot)
{
	return slot->bytes == 0 || (!scene->dynamic && (slot->bytes + 511) / 512 == (scene->bytes + 511) / 512);
}

static uint32_t number_of(const struct seam_candidate *candidate)
{
	return (uint32_t)(candidate->expected - candidate->cursor->first);
}

static void add(struct list *list, struct seam_candidate candidate)
{
	const struct seam_scene *scene = list->scene;
	const struct seam_loaded_plan *now = scene->plans[0];
	const uint32_t agreeing = agree(scene, candidate.cursor, number_of(&candidate));
	candidate.total = candidate.bits + live_bits(scene, candidate.plan, candidate.expected->begin);
	if (candidate.cursor != scene->cursor && candidate.cursor->plan_thread != scene->role)
		candidate.total += 1;
	if (!scene->dynamic && candidate.expected->bytes != scene->bytes)
		candidate.total += 2;
	if (candidate.plan == now && candidate.kind != SEAM_AT_BEGINNING)
		candidate.total += least(3, low_bits(apart(candidate.at, now->frontier.at) / around(now)));
	if (candidate.kind != SEAM_AT_SKIPPED)
		candidate.total -= least(scene->debt, 4 * (uint64_t)agreeing);
	if (candidate.total < list->best.total)
		list->best = candidate;
}

static bool is_live(const struct seam_loaded_plan *plan, uint32_t slot, uint64_t base)
{
	const uint32_t copy = (uint32_t)(base / plan->positions % plan->copies);
	return plan->instances[slot * plan->copies + copy].state == SEAM_PLANNED_LIVE;
}

/* The next slots; those in use are passed over for nothing, and so are as many as were missed before. */
static void add_next(struct list *list, struct seam_cursor *cursor, uint32_t most)
{
	const struct seam_scene *scene = list->scene;
	struct seam_loaded_plan *plan = scene->plans[0];
	const uint32_t from = (uint32_t)(cursor->next - cursor->first);
	const uint32_t missed = cursor == scene->cursor ? cursor->missed : 0;
	uint32_t passed = 0;
	for (uint32_t n = 0; n < most && n < cursor->count; n++) {
		const struct seam_expected_slot *slot = &cursor->first[(from + n) % cursor->count];
		const uint64_t base = cursor->base + (from + n) / cursor->count * plan->positions;
		const uint32_t left_out = passed > missed ? passed - missed : 0;
		if (is_live(plan, slot->slot, base))
			continue;
		if (fits(scene, slot))
			add(list,
				(struct seam_candidate){.kind = SEAM_AT_NEXT,
					.plan = plan,
					.cursor = cursor,
					.expected = slot,
					.at = base + slot->begin,
					.number = n,
					.bits = passed == 0 ? 0 : 1 + 2 * (int)low_bits(left_out)});
		passed += slot->bytes != 0 || scene->dynamic;
	}
}

static void add_skipped(struct list *list)
{
	const struct seam_scene *scene = list->scene;
	struct seam_cursor *cursor = scene->cursor;
	for (uint32_t i = 0; i < 4 && !scene->dynamic; i++) {
		const struct seam_slot_occurrence *skipped = &cursor->skipped[i];
		if (skipped->expected == NULL || !fits(scene, skipped->expected) ||
			is_live(scene->plans[0], skipped->expected->slot, skipped->base) ||
			skipped->base + skipped->expected->begin + 32 <= cursor_at(cursor))
			continue;
		add(list,
			(struct seam_candidate){.kind = SEAM_AT_SKIPPED,
				.plan = scene->plans[0],
				.cursor = cursor,
				.expected = skipped->expected,
				.at = skipped->base + skipped->expected->begin,
				.number = i});
	}
	if (scene->dynamic && cursor->dynamic.expected != NULL)
		add(list,
			(struct seam_candidate){.kind = SEAM_AT_SKIPPED,
				.plan = scene->plans[0],
				.cursor = cursor,
				.expected = cursor->dynamic.expected,
				.at = cursor->dynamic.base + cursor->dynamic.expected->begin,
				.number = 4,
				.bits = 3});
}

static bool lags(const struct seam_scene *scene)
{
	const struct seam_loaded_plan *now = scene->plans[0];
	return scene->cursor != NULL && cursor_at(scene->cursor) + around(now) < now->frontier.at;
}

/* The first time at or behind `from`. */
static uint64_t first_at(const struct seam_loaded_plan *plan, uint32_t position, uint64_t from)
{
	uint64_t at = position;
	while (at < from)
		at += plan->positions;
	return at;
}

static uint64_t less(uint64_t at, uint64_t by)
{
	return at < by ? 0 : at - by;
}

static void add_place(struct list *list, struct seam_loaded_plan *plan, struct seam_cursor *cursor)
{
	const struct seam_scene *scene = list->scene;
	struct seam_loaded_plan *now = scene->plans[0];
	const bool is_own = cursor == scene->cursor && !cursor->cold && !lags(scene);
	const uint64_t from = plan != now ? 0 : is_own ? cursor_at(cursor) : now->frontier.at;
	uint32_t near = 0;
	while (near < cursor->count && cursor->first[near].begin < from % plan->positions)
		near++;
	const struct seam_guess guess = seam__cursor_guess(cursor, scene->history, near);
	if (guess.length == 0)
		return;
	struct seam_candidate candidate = {
		.kind = SEAM_AT_PLACE, .plan = plan, .cursor = cursor, .expected = &cursor->first[guess.expected]};
	candidate.at = plan != now ? candidate.expected->begin
				   : first_at(plan, candidate.expected->begin, less(from, plan->positions / 2));
	const bool is_left_behind = lags(scene) && cursor == scene->cursor &&
		apart(candidate.at, now->frontier.at) <= around(now) &&
		agree(scene, cursor, guess.expected) >= agree(scene, cursor, (uint32_t)(cursor->next - cursor->first));
	candidate.bits = is_left_behind ? 1 : 14;
	add(list, candidate);
}

/* The last `since` requests are the first from `first` on, or sixteen of them. */
static void add_beginning(struct list *list, struct seam_loaded_plan *plan, struct seam_cursor *cursor, uint32_t first,
	uint64_t since, int bits)
{
	const struct seam_scene *scene = list->scene;
	if (since == 0 || since > cursor->count)
		return;
	const uint32_t number = (uint32_t)((first + since - 1) % cursor->count);
	const struct seam_expected_slot *slot = &cursor->first[number];
	bool agrees = slot->bytes != 0 && fits(scene, slot);
	for (uint64_t i = 0; i < since && i < 16 && agrees; i++) {
		const uint64_t bytes = cursor->first[(number + cursor->count - i) % cursor->count].bytes;
		agrees = i < scene->history->heard &&
			(bytes == 0 || bytes == scene->history->sizes[(scene->history->heard - 1 - i) % 16]);
	}
	if (agrees)
		add(list,
			(struct seam_candidate){.kind = SEAM_AT_BEGINNING,
				.plan = plan,
				.cursor = cursor,
				.expected = slot,
				.at = plan != scene->plans[0]
					? slot->begin
					: first_at(plan, slot->begin, less(plan->frontier.at, plan->positions / 8)),
				.bits = bits});
}

static void add_beginnings(
	struct list *list, struct seam_loaded_plan *plan, struct seam_cursor *cursor, uint32_t position)
{
	const struct seam_scene *scene = list->scene;
	struct seam_loaded_plan *now = scene->plans[0];
	uint32_t first = 0;
	while (first < cursor->count && cursor->first[first].begin < position)
		first++;
	if (scene->said || plan != now)
		add_beginning(list, plan, cursor, first, scene->since, scene->said ? 1 : 3);
	for (uint64_t since = 1; since <= 16 && scene->cursor != NULL && !scene->cursor->cold && scene->debt != 0;
		since++)
		add_beginning(list, plan, cursor, first, since, 7);
	const struct seam_expected_slot *slot = &cursor->first[first % cursor->count];
	const uint32_t planned = now->live_at[now->frontier.position];
	if (plan != now || cursor != scene->cursor || !scene->live_known || scene->debt == 0 ||
		scene->freed <= (planned / 16 < 2 ? 2 : planned / 16) || slot->bytes == 0 || !fits(scene, slot) ||
		live_bits(scene, now, slot->begin) != 0)
		return;
	uint64_t at = now->frontier.base + slot->begin;
	at += at < now->frontier.at ? (uint64_t)now->positions * now->copies : 0;
	add(list,
		(struct seam_candidate){.kind = SEAM_AT_BEGINNING,
			.plan = now,
			.cursor = cursor,
			.expected = slot,
			.at = at,
			.number = 1,
			.bits = 1});
}

static struct seam_candidate list_all(const struct seam_scene *scene)
{
	struct seam_loaded_plan *now = scene->plans[0];
	struct list list = {.scene = scene, .best = {.kind = SEAM_AT_NONE, .plan = now, .bits = 4}};
	list.best.total = 4 + live_bits(scene, now, now->frontier.position);
	if (scene->cursor != NULL && !scene->cursor->cold) {
		add_next(&list, scene->cursor, 16);
		add_skipped(&list);
	}
	for (uint32_t p = 0; p < scene->plan_count; p++) {
		struct seam_loaded_plan *plan = scene->plans[p];
		for (uint32_t l = 0; l < plan->cursor_count; l++) {
			struct seam_cursor *cursor = &plan->cursors[l];
			if (cursor->stream != scene->stream)
				continue;
			if (p == 0 && cursor != scene->cursor && !cursor->cold)
				add_next(&list, cursor, 1);
			if (cursor == scene->cursor || (p != 0 && cursor->plan_thread == scene->role)) {
				for (uint32_t i = 0; i < plan->marks.count; i++)
					add_beginnings(&list, plan, cursor, plan->marks.at[i]);
				if (plan->marks.count == 0)
					add_beginnings(&list, plan, cursor, p == 0 ? plan->least_at : 0);
			}
			add_place(&list, plan, cursor);
		}
	}
	return list.best;
}

/* ---- scenes ---- */

static struct seam_slot_occurrence draw_occurrence(const struct seam_cursor *cursor, bool dynamic)
{
	const struct seam_expected_slot *slot = &cursor->first[draw(cursor->count)];
	if (draw(3) == 0 || (slot->bytes == 0) != dynamic)
		return (struct seam_slot_occurrence){NULL, 0, 0};
	return (struct seam_slot_occurrence){slot, cursor->base, cursor->copy};
}

/* A cursor near the frontier, or a part of a period off. */
static void draw_cursor(const struct seam_loaded_plan *plan, struct seam_cursor *cursor)
{
	const uint64_t back = draw(3) == 0 ? draw(plan->positions + 1) : draw(8);
	const uint64_t at = plan->frontier.at + draw(4) - back;
	uint32_t number = 0;
	while (number < cursor->count && cursor->first[number].begin < at % plan->positions)
		number++;
	cursor->next = &cursor->first[number % cursor->count];
	cursor->base = at - at % plan->positions + (number == cursor->count ? plan->positions : 0);
	cursor->copy = (uint32_t)(cursor->base / plan->positions % plan->copies);
	cursor->missed = draw(2) == 0 ? 0 : (uint32_t)draw(7);
	cursor->cold = draw(12) == 0;
	for (uint32_t i = 0; i < 4; i++)
		cursor->skipped[i] = draw_occurrence(cursor, false);
	cursor->dynamic = draw_occurrence(cursor, true);
}

static void draw_plan(struct seam_loaded_plan *plan)
{
	const uint64_t repetition = 4 + draw(3);
	plan->frontier.position = (uint32_t)draw(plan->positions);
	plan->frontier.copy = (uint32_t)(repetition % plan->copies);
	plan->frontier.base = repetition * plan->positions;
	plan->frontier.at = plan->frontier.base + plan->frontier.position;
	for (uint32_t i = 0; i < plan->slots * plan->copies; i++)
		plan->instances[i].state = draw(4) == 0 ? SEAM_PLANNED_LIVE : SEAM_PLANNED_FREE;
	for (uint32_t l = 0; l < plan->cursor_count; l++)
		draw_cursor(plan, &plan->cursors[l]);
	plan->marks = (struct seam_marks){.count = (uint32_t)draw(3)};
	for (uint32_t i = 0; i < plan->marks.count; i++)
		plan->marks.at[i] = (uint32_t)draw(plan->positions);
}

/* Sizes as they stand somewhere among a cursor's slots, but for some. Returns the slot of the last. */
static const struct seam_expected_slot *draw_history(const struct seam_cursor *like, struct seam_history *history)
{
	const uint32_t count = 1 + (uint32_t)draw(20);
	const uint64_t from = draw(2) == 0 ? (uint64_t)(like->next - like->first) + 1 + draw(4) : draw(like->count);
	*history = (struct seam_history){0};
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t bytes = like->first[(from + 20u * like->count - count + i) % like->count].bytes;
		const uint64_t other = draw(3) == 0 ? bytes + 1 : 512 * (1 + draw(40));
		seam__history_add(history, bytes == 0 || draw(12) == 0 ? other : bytes);
	}
	return &like->first[(from + 20u * like->count - 1) % like->count];
}

/* A few requests of no slot, then those with which an iteration begins. Returns how many. */
static uint32_t draw_beginning(
	const struct seam_loaded_plan *plan, const struct seam_cursor *like, struct seam_history *history)
{
	const uint32_t position = plan->marks.count != 0 ? plan->marks.at[0] : plan->least_at;
	const uint32_t count = 1 + (uint32_t)draw(18);
	uint32_t first = 0;
	while (first < like->count && like->first[first].begin < position)
		first++;
	*history = (struct seam_history){0};
	for (uint64_t i = draw(4); i > 0; i--)
		seam__history_add(history, 7);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t bytes = like->first[(first + i) % like->count].bytes;
		seam__history_add(history, bytes == 0 ? 512 : bytes);
	}
	return count;
}

/* The frontier has left the cursor behind, and is as far as may be from the slot, or one more or less. */
static void leave_behind(
	struct seam_loaded_plan *plan, struct seam_cursor *cursor, const struct seam_expected_slot *slot)
{
	const uint64_t at = plan->frontier.base + slot->begin + (plan->positions / 16 + 32) + draw(3) - 1;
	plan->frontier.at = at;
	plan->frontier.position = (uint32_t)(at % plan->positions);
	plan->frontier.base = at - plan->frontier.position;
	plan->frontier.copy = (uint32_t)(at / plan->positions % plan->copies);
	cursor->base -= 2 * plan->positions;
	cursor->copy = (uint32_t)(cursor->base / plan->positions % plan->copies);
}

static struct seam_scene draw_scene(struct seam_loaded_plan *const *plans, struct seam_history *history)
{
	struct seam_loaded_plan *like = plans[draw(2)], *now = plans[0];
	struct seam_cursor *own = draw(8) == 0 ? NULL : &now->cursors[draw(now->cursor_count)];
	const struct seam_cursor *other = &like->cursors[draw(like->cursor_count)];
	const bool is_own = own != NULL && draw(2) == 0, begins = draw(3) == 0;
	const uint64_t since = begins ? draw_beginning(is_own ? now : like, is_own ? own : other, history) : 0;
	const struct seam_expected_slot *last = begins ? NULL : draw_history(is_own ? own : other, history);
	if (last != NULL && is_own && draw(3) == 0)
		leave_behind(now, own, last);
	const uint32_t planned = now->live_at[now->frontier.position];
	struct seam_scene scene = {.plans = plans,
		.plan_count = 1 + (uint32_t)draw(2),
		.cursor = own,
		.history = history,
		.stream = own != NULL ? own->stream : other->stream,
		.role = own != NULL ? own->plan_thread : (uint32_t)draw(3),
		.dynamic = draw(5) == 0,
		.debt = draw(2) == 0 ? 0 : (uint32_t)draw(25),
		.since = begins        ? since
			: draw(2) == 0 ? 0
				       : 1 + draw(20),
		.said = draw(3) == 0,
		.live_known = draw(3) != 0,
		.live = (int64_t)(draw(3) == 0 ? draw(2 * planned + 8) : planned + draw(6)) - 2,
		.freed = draw(2) == 0 ? 0 : draw(planned / 8 + 6)};
	scene.bytes = history->sizes[(history->heard - 1) % 16];
	if (scene.dynamic)
		history->sizes[(history->heard - 1) % 16] = 0;
	return scene;
}

static void compare(const struct seam_scene *scene, uint64_t seed, uint32_t number)
{
	const struct seam_candidate wanted = list_all(scene), choice = seam__tracker_choose(scene);
	cr_assert(choice.kind == wanted.kind && choice.total == wanted.total && choice.plan == wanted.plan &&
			choice.cursor == wanted.cursor && choice.expected == wanted.expected &&
			choice.at == wanted.at && choice.number == wanted.number && choice.bits == wanted.bits,
		"program %lu, scene %u: kind %d for %d bits, not %d for %d", (unsigned long)seed, number,
		(int)choice.kind, choice.total, (int)wanted.kind, wanted.total);
	chosen[choice.kind][choice.plan != scene->plans[0]]++;
}

Test(tracker_choice, the_cheapest_of_all_candidates_is_taken)
{
	meta = seam__meta_create(0);
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		struct seam_loaded_plan *plans[2];
		struct program_wish wish = kinds[seed % KINDS];
		wish.iterations = 5;
		for (uint32_t p = 0; p < 2; p++) {
			wish.seed = 2 * seed + p;
			struct match_program program = match_program(&wish);
			cr_assert_eq(seam__loaded_create(meta, program.plan, &plans[p]), SEAM_OK);
			match_program_fini(&program);
		}
		random_state = seed;
		for (uint32_t i = 0; i < SCENES; i++) {
			struct seam_history history;
			draw_plan(plans[0]);
			draw_plan(plans[1]);
			const struct seam_scene scene = draw_scene(plans, &history);
			compare(&scene, seed, i);
		}
		for (uint32_t p = 0; p < 2; p++)
			seam__loaded_destroy(meta, plans[p]);
	}
	cr_assert_eq(seam__meta_destroy(meta), 0);
	cr_expect(chosen[SEAM_AT_NONE][0] > 500 && chosen[SEAM_AT_NEXT][0] > 500 && chosen[SEAM_AT_SKIPPED][0] > 200 &&
			chosen[SEAM_AT_PLACE][0] > 200 && chosen[SEAM_AT_PLACE][1] > 50 &&
			chosen[SEAM_AT_BEGINNING][0] > 200 && chosen[SEAM_AT_BEGINNING][1] > 50,
		"%u %u %u %u %u %u %u", chosen[SEAM_AT_NONE][0], chosen[SEAM_AT_NEXT][0], chosen[SEAM_AT_SKIPPED][0],
		chosen[SEAM_AT_PLACE][0], chosen[SEAM_AT_PLACE][1], chosen[SEAM_AT_BEGINNING][0],
		chosen[SEAM_AT_BEGINNING][1]);
}
