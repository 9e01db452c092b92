/* test_tracker_score.c: which slot an unexpected request is taken for: a table, without a matcher. */
#include <criterion/criterion.h>
#include <string.h>

#include "match_program.h"
#include "meta.h"
#include "tracker.h"

#define NO_SLOT UINT32_MAX
#define MOST_HEARD 8u

static const char different[] = "a1000 -a b2000 -b c3000 -c d4000 -d e5000 -e f6000 -f g7000 -g h8000 -h";
static const char equal[] = "a1000 b1000 c1000 d1000 e1000 f1000 g1000 h1000 -a -b -c -d -e -f -g -h";
static const char layers[] = "a1000 -a b2000 -b c3000 -c d4000 -d e9000 -e "
			     "a1000 -a b2000 -b c3000 -c d4000 -d f6000 -f";
static const char other[] = "a1000 -a b2000 -b c3500 -c d4500 -d e5500 -e f6500 -f";
static const char threads[] = "a1000 -a b2000^1 -b c3000 -c d4000^1 -d";
static const char depends[] = "a1000 -a b2000 -b c3000 -c d4000 -d e5000 -e";

struct row {
	const char *name;
	const char *words;
	const char *second;         /* of another plan; NULL: there is none */
	uint64_t heard[MOST_HEARD]; /* sizes, the request last; 0: no more */
	uint32_t next;              /* slot that the cursor expects */
	uint32_t slot;              /* of the plan that is expected; NO_SLOT: none */
	uint32_t debt;
	uint32_t missed;
	uint64_t since;   /* requests since an iteration began */
	uint64_t freed;   /* with this, nothing is live */
	uint32_t skipped; /* slot that was passed over just now, and one */
	bool in_second;   /* the slot is of the other plan */
	bool said;
};

static const struct row rows[] = {
	{"the next", different, NULL, {3000, 4000}, 3, 3, 0, 0, 0, 0, 0, false, false},
	{"one is left out", different, NULL, {3000, 5000}, 3, 4, 0, 0, 0, 0, 0, false, false},
	{"two are left out, which one request does not say", different, NULL, {3000, 6000}, 3, NO_SLOT, 0, 0, 0, 0, 0,
		false, false},
	{"two are left out, which two requests say", different, NULL, {3000, 6000, 7000}, 3, 6, 4, 1, 0, 0, 0, false,
		false},
	{"another size than any", different, NULL, {3000, 4500}, 3, NO_SLOT, 0, 0, 0, 0, 0, false, false},
	{"another size was in place of the one before", different, NULL, {4500, 5000}, 3, 4, 4, 1, 0, 0, 0, false,
		false},
	{"one that was left out comes later", different, NULL, {2000, 4000, 3000}, 4, 2, 3, 0, 0, 0, 3, false, false},
	{"many requests in a row that stand elsewhere", layers, NULL, {2000, 3000, 4000, 6000}, 1, 9, 12, 3, 0, 0, 0,
		false, false},
	{"of equal layers the nearest", layers, NULL, {1000, 2000, 3000}, 1, 2, 4, 1, 0, 0, 0, false, false},
	{"an iteration begins, as the program says", different, NULL, {3000, 1000}, 3, 0, 0, 0, 1, 0, 0, false, true},
	{"an iteration of another plan begins", different, other, {1000, 2000, 3500}, 2, 2, 0, 0, 3, 0, 0, true, true},
	{"the other plan, and no word of the program", different, other, {3500, 4500, 5500, 6500}, 2, 5, 12, 3, 0, 0, 0,
		true, false},
	{"an iteration was broken off: nothing is live", equal, NULL, {1000, 1000, 1000}, 6, 0, 1, 0, 0, 6, 0, false,
		false},
	{"as much is live as the plan has", equal, NULL, {1000, 1000, 1000}, 6, 6, 1, 0, 0, 0, 0, false, false},
	{"what another thread's cursor expects", threads, NULL, {1000, 2000}, 2, 1, 0, 0, 0, 0, 0, false, false},
	{"too little to say where", depends, NULL, {1, 2, 5000}, 1, NO_SLOT, 0, 0, 0, 0, 0, false, false},
};

static struct seam_loaded_plan *make(struct seam_meta *meta, const char *words)
{
	struct match_program program = match_program_of(words);
	struct seam_loaded_plan *loaded;
	cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
	match_program_fini(&program);
	return loaded;
}

/* The frontier and every cursor of the loaded plan are at the slot, in the fourth repetition. */
static void go_to(struct seam_loaded_plan *loaded, uint32_t slot)
{
	const uint32_t position = loaded->lifetimes[slot].begin;
	const uint64_t base = (uint64_t)loaded->positions * 4 * loaded->copies;
	loaded->frontier = (struct seam_frontier){.at = base + position, .base = base, .position = position};
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		struct seam_cursor *cursor = &loaded->cursors[l];
		const uint32_t expected = seam__cursor_expected_at(cursor, position);
		cursor->next = &cursor->first[expected % cursor->count];
		cursor->base = base + (expected == cursor->count ? loaded->positions : 0);
	}
}

static struct seam_candidate choose(const struct row *row, struct seam_loaded_plan **plans)
{
	struct seam_loaded_plan *now = plans[0];
	struct seam_cursor *cursor = &now->cursors[0];
	struct seam_history history = {0};
	go_to(now, row->next);
	if (strcmp(row->words, threads) == 0)
		now->cursors[1].next = &now->cursors[1].first[0], now->cursors[1].base = now->frontier.base;
	for (uint32_t i = 0; i < MOST_HEARD && row->heard[i] != 0; i++)
		seam__history_add(&history, row->heard[i]);
	cursor->missed = row->missed;
	if (row->skipped != 0)
		cursor->skipped[0] =
			(struct seam_slot_occurrence){&cursor->first[row->skipped - 1], now->frontier.base, 0};
	for (uint32_t p = 0; p < 2 && plans[p] != NULL; p++)
		if (row->said)
			seam__loaded_begins_at_mark(plans[p]);
	const struct seam_scene scene = {
		.plans = plans,
		.plan_count = plans[1] == NULL ? 1 : 2,
		.cursor = cursor,
		.history = &history,
		.bytes = history.sizes[(history.heard - 1) % SEAM_HEARD],
		.debt = row->debt,
		.since = row->since,
		.said = row->said,
		.live_known = true,
		.live = row->freed != 0 ? 0 : now->live_at[now->frontier.position],
		.freed = row->freed,
	};
	const struct seam_candidate choice = seam__tracker_choose(&scene), again = seam__tracker_choose(&scene);
	cr_expect(
		choice.expected == again.expected && choice.total == again.total, "%s: not the same twice", row->name);
	return choice;
}

Test(tracker_score, request_is_taken_for_the_cheapest_candidate)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *row = &rows[i];
		struct seam_meta *meta = seam__meta_create(0);
		struct seam_loaded_plan *plans[2] = {make(meta, row->words), NULL};
		if (row->second != NULL)
			plans[1] = make(meta, row->second);
		const struct seam_candidate choice = choose(row, plans);
		const uint32_t slot = choice.kind == SEAM_AT_NONE ? NO_SLOT : choice.expected->slot;
		cr_expect_eq(slot, row->slot, "%s: slot %d, not %d, for %d bits", row->name, (int)slot, (int)row->slot,
			choice.total);
		cr_expect_eq(choice.plan == plans[1], row->in_second, "%s: the wrong plan", row->name);
		for (uint32_t p = 0; p < 2; p++)
			seam__loaded_destroy(meta, plans[p]);
		cr_assert_eq(seam__meta_destroy(meta), 0);
	}
}
