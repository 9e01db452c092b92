/* tracker_score.c: candidates for an unexpected request, and what each costs; see tracker.h. */
#include "tracker.h"

#include <stdlib.h>

#include "bits.h"

/* Bits, all of them: chosen with match --choices (bench/match.c). */
#define SKIP 1          /* slots were passed over, */
#define SKIP_DOUBLING 2 /* and for each doubling of how many */
#define MORE_DYNAMIC 3  /* one more of a group than it has slots */
#define JUMP 14         /* a place of the index: a program may go on anywhere */
#define LEFT_BEHIND 1   /* a place of the index where the frontier is, which has left the cursor behind */
#define ROLE 1          /* another thread's cursor, or a thread without one */
#define INEXACT 2       /* a slot of any size, or of one that fills as many blocks: less likely than one of this size */
#define BEGINNING 1     /* the program said that an iteration begins */
#define UNSAID 3        /* it never says so, but all since the period began was expected: as one slot left out */
#define ANEW 7          /* nothing speaks for a beginning but the requests themselves */
#define BROKEN_OFF 1    /* what is live speaks for it */
#define APART_MOST \
	3 /* far from the frontier, or what is live differs: less than SEAM_EXTRA, so the next slot is taken */

/* Whole bits to say a number: 0 for 0, 1 for 1, 2 for 2 and 3, ... */
static int bits_of(uint64_t number)
{
	return number == 0 ? 0 : 64 - __builtin_clzll(number);
}

/* Bits are never negative. */
static int at_most(int most, int bits)
{
	return (int)seam__bits_min((uint64_t)most, (uint64_t)bits);
}

static const struct seam_loaded_plan *now(const struct seam_scene *scene)
{
	return scene->plans[0];
}

static bool lags(const struct seam_scene *scene)
{
	return scene->cursor != NULL &&
		seam__cursor_at(scene->cursor) + seam__loaded_around(now(scene)) < now(scene)->frontier.at;
}

static int live_bits(const struct seam_scene *scene, const struct seam_loaded_plan *plan, uint32_t position)
{
	const int64_t plan_block = plan->live_at[position];
	const int64_t more = scene->live - plan_block;
	if (!scene->live_known)
		return 0;
	return at_most(APART_MOST, bits_of((uint64_t)llabs(more) / seam__live_slack(plan->live_at[position])));
}

static int frontier_bits(const struct seam_scene *scene, uint64_t at)
{
	const struct seam_loaded_plan *plan = now(scene);
	return at_most(APART_MOST, bits_of(seam__bits_distance(at, plan->frontier.at) / seam__loaded_around(plan)));
}

/* Exact sizes among the last requests that agree with the slots that end at the expected slot, but for the last one. */
static uint32_t agree_before(
	const struct seam_scene *scene, const struct seam_cursor *cursor, const struct seam_expected_slot *expected)
{
	const uint32_t exact = seam__cursor_agrees(cursor, (uint32_t)(expected - cursor->first), scene->history).exact;
	return exact - (exact != 0 && expected->bytes != 0);
}

/* Whether a candidate could be cheaper than the best, if all that was paid speaks for it: only then is it worth a look.
 */
static bool may_win(const struct seam_scene *scene, const struct seam_candidate *best, int bits)
{
	return bits - (int)scene->debt < best->total;
}

/* Takes it if it is cheaper than the best. */
static void consider(const struct seam_scene *scene, struct seam_candidate *best, struct seam_candidate candidate)
{
	const struct seam_loaded_plan *plan = now(scene);
	const struct seam_expected_slot *expected = candidate.expected;
	candidate.total = candidate.bits + live_bits(scene, candidate.plan, expected->begin);
	candidate.total += candidate.cursor != scene->cursor && candidate.cursor->plan_thread != scene->role ? ROLE : 0;
	candidate.total += expected->bytes != scene->bytes && !scene->dynamic ? INEXACT : 0;
	if (candidate.plan == plan && candidate.kind != SEAM_AT_BEGINNING)
		candidate.total += frontier_bits(scene, candidate.at);
	if (!may_win(scene, best, candidate.total))
		return;
	if (scene->debt != 0 && candidate.kind != SEAM_AT_SKIPPED) {
		const int paid = SEAM_EXTRA * (int)agree_before(scene, candidate.cursor, expected);
		candidate.total -= at_most((int)scene->debt, paid);
	}
	if (candidate.total < best->total)
		*best = candidate;
}

static bool fits(const struct seam_scene *scene, const struct seam_expected_slot *expected)
{
	return expected->bytes == 0 || (!scene->dynamic && seam__expected_fits(expected, scene->bytes));
}

/* Whether the slot has been asked for in this repetition. One that is in use since the last one is only late. */
static bool is_taken(const struct seam_loaded_plan *plan, const struct seam_expected_slot *expected, uint32_t copy)
{
	return plan->instances[seam__loaded_number(plan, expected->slot, copy)].state == SEAM_PLANNED_LIVE;
}

/* The next slots of a cursor. Those that have been asked for are passed over for nothing; so are as many as requests
 * were not found since it moved: they may have been these, with other sizes. */
static void look_ahead(
	const struct seam_scene *scene, struct seam_cursor *cursor, uint32_t most, struct seam_candidate *best)
{
	struct seam_loaded_plan *plan = scene->plans[0];
	const struct seam_expected_slot *expected = cursor->next;
	uint64_t base = cursor->base;
	uint32_t copy = cursor->copy;
	uint32_t missed = cursor == scene->cursor ? cursor->missed : 0;
	uint32_t left_out = 0;
	int bits = 0;
	for (uint32_t n = 0; n < most && n < cursor->count && may_win(scene, best, bits); n++) {
		const uint64_t at = base + expected->begin;
		const bool taken = is_taken(plan, expected, copy);
		if (fits(scene, expected) && !taken)
			consider(scene, best,
				(struct seam_candidate){.kind = SEAM_AT_NEXT,
					.plan = plan,
					.cursor = cursor,
					.expected = expected,
					.at = at,
					.number = n,
					.bits = bits});
		if (!taken && (expected->bytes != 0 || scene->dynamic)) {
			left_out += missed == 0;
			missed -= missed != 0;
			bits = SKIP + SKIP_DOUBLING * bits_of(left_out);
		}
		if (++expected == cursor->first + cursor->count) {
			expected = cursor->first;
			base += plan->positions;
			copy = copy + 1 == plan->copies ? 0 : copy + 1;
		}
	}
}

/* Slots that the cursor passed over lately: it goes back. */
static void look_at_skipped(const struct seam_scene *scene, struct seam_candidate *best)
{
	struct seam_loaded_plan *plan = scene->plans[0];
	struct seam_cursor *cursor = scene->cursor;
	for (uint32_t i = 0; i <= SEAM_SKIPPED; i++) {
		const bool is_group = i == SEAM_SKIPPED;
		const struct seam_slot_occurrence *occurrence = is_group ? &cursor->dynamic : &cursor->skipped[i];
		if (occurrence->expected == NULL || scene->dynamic != is_group || !fits(scene, occurrence->expected))
			continue;
		const uint64_t at = occurrence->base + occurrence->expected->begin;
		if (is_group ||
			(!is_taken(plan, occurrence->expected, occurrence->copy) &&
				at + 2 * SEAM_HEARD > seam__cursor_at(cursor)))
			consider(scene, best,
				(struct seam_candidate){.kind = SEAM_AT_SKIPPED,
					.plan = plan,
					.cursor = cursor,
					.expected = occurrence->expected,
					.at = at,
					.number = i,
					.bits = is_group ? MORE_DYNAMIC : 0});
	}
}

/* Whether the cursor is behind the frontier, and the place near that: it was the cursor's all the time, if nothing that
 * was asked for speaks for the cursor. */
static bool is_where_others_are(const struct seam_scene *scene, const struct seam_cursor *cursor,
	const struct seam_expected_slot *expected, uint64_t at)
{
	return lags(scene) && cursor == scene->cursor &&
		seam__bits_distance(at, now(scene)->frontier.at) <= seam__loaded_around(now(scene)) &&
		agree_before(scene, cursor, expected) >= agree_before(scene, cursor, cursor->next);
}

/* The index's place in the cursor's row of slots: nearest to the cursor, or to the frontier if nothing is known of the
 * cursor, it is behind, or another thread's. */
static void look_up(const struct seam_scene *scene, struct seam_loaded_plan *plan, struct seam_cursor *cursor,
	struct seam_candidate *best)
{
	const bool is_now = plan == now(scene);
	const bool by_frontier = cursor != scene->cursor || cursor->cold || lags(scene);
	const uint64_t from = !is_now ? 0 : by_frontier ? plan->frontier.at : seam__cursor_at(cursor);
	const uint32_t near = seam__cursor_expected_at(cursor, (uint32_t)(from % plan->positions));
	const struct seam_guess guess = seam__cursor_guess(cursor, scene->history, near);
	if (guess.length == 0)
		return;
	const struct seam_expected_slot *expected = &cursor->first[guess.expected];
	const uint64_t at =
		is_now ? seam__loaded_near(plan, expected->begin, from, plan->positions / 2) : expected->begin;
	consider(scene, best,
		(struct seam_candidate){.kind = SEAM_AT_PLACE,
			.plan = plan,
			.cursor = cursor,
			.expected = expected,
			.at = at,
			.bits = is_where_others_are(scene, cursor, expected, at) ? LEFT_BEHIND : JUMP});
}

/* The last `since` requests stand where an iteration begins. */
static void look_at_beginning(const struct seam_scene *scene, struct seam_loaded_plan *plan, struct seam_cursor *cursor,
	uint32_t first, uint64_t since, int bits, struct seam_candidate *best)
{
	if (since == 0 || since > cursor->count)
		return;
	const uint32_t behind = first + (uint32_t)since - 1; /* below 2 * count */
	const uint32_t number = behind < cursor->count ? behind : behind - cursor->count;
	const struct seam_expected_slot *expected = &cursor->first[number];
	if (expected->bytes == 0 || !fits(scene, expected))
		return;
	const struct seam_agreement agreement = seam__cursor_agrees(cursor, number, scene->history);
	if (agreement.length < since && agreement.length < SEAM_HEARD)
		return;
	consider(scene, best,
		(struct seam_candidate){.kind = SEAM_AT_BEGINNING,
			.plan = plan,
			.cursor = cursor,
			.expected = expected,
			.at = plan == now(scene) ? seam__loaded_near(plan, expected->begin, plan->frontier.at,
							   plan->positions / SEAM_BACK_SHARE)
						 : expected->begin,
			.bits = bits});
}

/* Much less is live than the plan has here, and about as much as where an iteration begins: the last one was broken
 * off. The next one is of the same copy: what lives on from the one before lies where the plan has it then. */
static void look_where_less_is_live(const struct seam_scene *scene, uint32_t first, struct seam_candidate *best)
{
	struct seam_loaded_plan *plan = scene->plans[0];
	const struct seam_expected_slot *expected = &scene->cursor->first[first % scene->cursor->count];
	if (expected->bytes == 0 || !fits(scene, expected) || live_bits(scene, plan, expected->begin) != 0)
		return;
	uint64_t at = plan->frontier.base + expected->begin;
	at += at < plan->frontier.at ? (uint64_t)plan->positions * plan->copies : 0;
	consider(scene, best,
		(struct seam_candidate){.kind = SEAM_AT_BEGINNING,
			.plan = plan,
			.cursor = scene->cursor,
			.expected = expected,
			.at = at,
			.number = 1,
			.bits = BROKEN_OFF});
}

static void look_at_beginnings(const struct seam_scene *scene, struct seam_loaded_plan *plan,
	struct seam_cursor *cursor, uint32_t position, struct seam_candidate *best)
{
	const bool is_now = plan == now(scene);
	const uint32_t first = seam__cursor_expected_at(cursor, position);
	if (scene->said || !is_now)
		look_at_beginning(scene, plan, cursor, first, scene->since, scene->said ? BEGINNING : UNSAID, best);
	const bool is_known = scene->cursor != NULL && !scene->cursor->cold && scene->debt != 0;
	for (uint64_t since = 1; is_known && since <= SEAM_HEARD && may_win(scene, best, ANEW); since++)
		look_at_beginning(scene, plan, cursor, first, since, ANEW, best);
	if (is_now && cursor == scene->cursor && scene->live_known && scene->debt != 0 &&
		scene->freed > seam__live_slack(plan->live_at[plan->frontier.position]))
		look_where_less_is_live(scene, first, best);
}

struct seam_candidate seam__tracker_choose(const struct seam_scene *scene)
{
	struct seam_candidate best = {.kind = SEAM_AT_NONE, .plan = scene->plans[0], .bits = SEAM_EXTRA};
	struct seam_cursor *own = scene->cursor;
	best.total = SEAM_EXTRA + live_bits(scene, now(scene), now(scene)->frontier.position);
	if (own != NULL && !own->cold) {
		look_ahead(scene, own, SEAM_AHEAD, &best);
		look_at_skipped(scene, &best);
	}
	for (uint32_t p = 0; p < scene->plan_count; p++) {
		struct seam_loaded_plan *plan = scene->plans[p];
		for (uint32_t l = 0; l < plan->cursor_count; l++) {
			struct seam_cursor *cursor = &plan->cursors[l];
			if (cursor->stream != scene->stream)
				continue;
			if (p == 0 && cursor != own && !cursor->cold)
				look_ahead(scene, cursor, 1, &best);
			const bool begins = cursor == own || (p != 0 && cursor->plan_thread == scene->role);
			for (uint32_t i = 0; begins && i < plan->marks.count; i++)
				look_at_beginnings(scene, plan, cursor, plan->marks.at[i], &best);
			if (begins && plan->marks.count == 0)
				look_at_beginnings(scene, plan, cursor, p == 0 ? plan->least_at : 0, &best);
			if (lags(scene) || may_win(scene, &best, JUMP))
				look_up(scene, plan, cursor, &best);
		}
	}
	return best;
}
