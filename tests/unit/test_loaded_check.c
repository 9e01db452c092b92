/* test_loaded_check.c: the validator of loaded plans names what is broken: each field of its tables in turn is made
 * another one.
 */
#include "break_field.h"
#include "loaded_plan.h"
#include "match_program.h"
#include "meta_fixture.h"

static struct seam_loaded_plan *loaded;

static const char *find_broken(void)
{
	return seam__loaded_check(loaded);
}

static void make(void)
{
	const struct program_wish wish = {.seed = 3, .slots = 24, .lag = 2, .threads = 2, .iterations = 6};
	set_up();
	struct match_program program = match_program(&wish);
	cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
	match_program_fini(&program);
	cr_assert(loaded->copies > 1 && loaded->cursor_count > 1);
	cr_assert_null(seam__loaded_check(loaded));
}

static void unmake(void)
{
	cr_assert_null(seam__loaded_check(loaded));
	seam__loaded_destroy(meta, loaded);
	tear_down();
}

TestSuite(loaded_check, .init = make, .fini = unmake);

/* Tables that nobody else writes. */
#define MUTABLE(type, table) ((type *)(uintptr_t)(table))

Test(loaded_check, slots)
{
	struct seam_lifetime *lifetimes = MUTABLE(struct seam_lifetime, loaded->lifetimes);
	uint32_t *actions = MUTABLE(uint32_t, loaded->actions);
	for (uint32_t i = 0; i < loaded->slots; i++) {
		struct seam_lifetime *lifetime = &lifetimes[i];
		const uint32_t circle = loaded->copies * loaded->positions;
		BREAK(lifetime->begin, lifetime->begin == 0 ? 1 : lifetime->begin - 1, "C1");
		BREAK(lifetime->begin, lifetime->end, "C1");
		BREAK(lifetime->end, lifetime->end + 1, "C1");
		BREAK(lifetime->end, lifetime->end + circle, "C1");
		BREAK(lifetime->end, lifetime->end + loaded->positions, "C1");
		BREAK(lifetime->lag, lifetime->lag + 1, "C1");
		const uint32_t before = lifetime->end % loaded->positions;
		if (before < lifetime->begin)
			BREAK(lifetime->end, before, "C1");
	}
	for (uint32_t p = 0; p < loaded->positions; p++)
		BREAK(actions[p], actions[p] ^ 1, "C1");
}

Test(loaded_check, cursors)
{
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		struct seam_cursor *cursor = &loaded->cursors[l];
		const struct seam_expected_slot *behind = cursor->first + cursor->count;
		BREAK(cursor->next, behind, "C2");
		BREAK(cursor->next, cursor->first - 1, "C2");
		BREAK(cursor->base, cursor->base + 1, "C2");
		BREAK(cursor->base, cursor->base + loaded->positions, "C2");
		BREAK(cursor->copy, cursor->copy + 1, "C2");
		BREAK(cursor->count, cursor->count - 1, "C1");
		for (uint32_t i = 0; i < cursor->count; i++) {
			struct seam_expected_slot *expected =
				&loaded->expectations[cursor->first - loaded->expectations + i];
			const struct seam_expected_slot *other = &cursor->first[i == 0 ? 1 : 0];
			const struct seam_expected_slot as_it_was = *expected;
			BREAK(expected->begin, expected->begin + 1, "C1");
			BREAK(expected->slot, other->slot, "C1");
			*expected = *other; /* twice, or out of order */
			expect_broken("C1", "a slot for another");
			*expected = as_it_was;
		}
	}
}

Test(loaded_check, addresses)
{
	for (uint32_t i = 0; i < loaded->placed; i++) {
		struct seam_by_address *entry = &loaded->by_address_entries[i];
		struct seam_plan_block *plan_block = &loaded->instances[entry->number];
		struct seam_address_slot *place = &loaded->places[loaded->address_slot_of[entry->number]];
		BREAK(entry->begin, entry->begin + 512, "C3");
		BREAK(entry->end, entry->end + 512, "C3");
		BREAK(entry->at, entry->at + 1, "C3");
		BREAK(entry->length, entry->length + 1, "C3");
		BREAK(entry->reach, entry->end - 1, "C3");
		BREAK(plan_block->offset, plan_block->offset + 512, "C3");
		BREAK(plan_block->bytes, plan_block->bytes + 512, "C3");
		BREAK(place->key, place->key + 1, "C3");
		for (uint32_t n = 0; n < loaded->slots * loaded->copies; n++)
			if (loaded->instances[n].offset != plan_block->offset)
				BREAK(place->number, n, "C3");
	}
	for (uint32_t i = 1; i < loaded->placed; i++) {
		struct seam_by_address *entries = loaded->by_address_entries, as_it_was = entries[i];
		if (entries[i].begin == entries[i - 1].begin)
			continue;
		entries[i] = entries[i - 1];
		entries[i - 1] = as_it_was;
		expect_broken("C3", "out of order");
		entries[i - 1] = entries[i];
		entries[i] = as_it_was;
	}
}

Test(loaded_check, live_blocks_and_marks)
{
	uint32_t *live_at = MUTABLE(uint32_t, loaded->live_at);
	for (uint32_t p = 0; p < loaded->positions; p++) {
		BREAK(live_at[p], live_at[p] + 1, "C4");
		BREAK(live_at[p], live_at[p] - 1, "C4");
		if (p != loaded->least_at)
			BREAK(loaded->least_at, p, "C4");
	}
	for (uint32_t p = 0; p < loaded->positions; p++) /* each is one too many */
		live_at[p]++;
	expect_broken("C4", "all of them");
	for (uint32_t p = 0; p < loaded->positions; p++)
		live_at[p]--;
	struct seam_marks *marks = &loaded->marks;
	for (uint32_t i = 0; i < SEAM_MARKS; i++)
		marks->at[i] = i;
	marks->count = SEAM_MARKS;
	cr_assert_null(seam__loaded_check(loaded));
	BREAK(marks->count, SEAM_MARKS + 1, "C5");
	BREAK(marks->all, true, "C5");
	for (uint32_t i = 0; i < SEAM_MARKS; i++) {
		BREAK(marks->at[i], loaded->positions, "C5");
		BREAK(marks->at[i], (i + 5) % SEAM_MARKS, "C5");
	}
	marks->count = 2;
	BREAK(marks->all, true, "C5");
	marks->count = 1;
	marks->all = true;
	cr_assert_null(seam__loaded_check(loaded));
}
