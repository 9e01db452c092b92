/* test_recent.c: whether a plan knows what the program asked for lately, and where in it that ends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "meta.h"
#include "recent.h"
#include "planned.h"

static struct seam_meta *meta;
static struct seam_loaded_plan *loaded;
static struct match_program program;
static struct seam_recent recent;

static void open_loaded(struct match_program made)
{
	program = made;
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
}

static void close_loaded(void)
{
	seam__loaded_destroy(meta, loaded);
	cr_assert_eq(seam__meta_destroy(meta), 0, "metadata was leaked");
	match_program_fini(&program);
}

static void hear(uint32_t times, uint64_t bytes, uint64_t stream)
{
	const struct seam_asked asked = {.bytes = bytes, .stream = stream, .plain = true};
	for (uint32_t i = 0; i < times; i++)
		seam__recent_add(&recent, &asked);
}

/* 48 slots of 4 KiB, and two of 8 KiB on another stream. */
static struct match_program of_fifty(void)
{
	char words[2048] = "";
	for (unsigned i = 0; i < 48; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "%c4096 -%c ", 'A' + (int)(i % 26),
			'A' + (int)(i % 26));
	(void)snprintf(words + strlen(words), sizeof words - strlen(words), "y8192@7 z8192@7 -y -z");
	return match_program_of(words);
}

Test(recent, three_in_four_must_be_the_plans)
{
	open_loaded(of_fifty());
	cr_expect(seam__recent_fits(&recent, loaded), "nothing speaks against it");
	hear(29, 4096, 0);
	hear(1, 8192 - 511, 7);
	cr_expect(seam__recent_fits(&recent, loaded), "sizes are the same if they are rounded to the same");
	hear(10, 12288, 0);
	cr_expect(seam__recent_fits(&recent, loaded), "30 of 40");
	hear(1, 12288, 0);
	cr_expect_not(seam__recent_fits(&recent, loaded), "30 of 41");
	close_loaded();
}

Test(recent, a_size_is_known_on_its_own_stream_only)
{
	open_loaded(of_fifty());
	hear(10, 4096, 7);
	cr_expect_not(seam__recent_fits(&recent, loaded));
	close_loaded();
}

Test(recent, only_the_last_iteration_counts)
{
	open_loaded(of_fifty());
	hear(1000, 77777, 0);
	cr_expect_not(seam__recent_fits(&recent, loaded));
	hear(50, 4096, 0);
	cr_expect(seam__recent_fits(&recent, loaded));
	close_loaded();
}

/* Of long iterations a part is looked at. */
Test(recent, what_was_long_ago_is_forgotten)
{
	const struct program_wish wish = {.seed = 3, .slots = 350, .iterations = 4};
	open_loaded(match_program(&wish));
	const uint64_t stream = program.plan->streams[0], bytes = program.plan->slots[0].size_bytes;
	const uint32_t slots = program.plan->header.slot_count;
	hear(1000, UINT64_C(1) << 40, stream);
	cr_expect_not(seam__recent_fits(&recent, loaded));
	hear(slots * 3 / 4 + 8, bytes, stream);
	cr_expect(seam__recent_fits(&recent, loaded));
	hear(slots / 2, bytes, stream + 1000);
	cr_expect_not(seam__recent_fits(&recent, loaded));
	close_loaded();
}

Test(recent, sizes_say_nothing_where_dynamic_requests_are_planned)
{
	const struct program_wish wish = {.seed = 3, .slots = 40, .iterations = 6, .dynamics = 5};
	open_loaded(match_program(&wish));
	const uint64_t stream = program.plan->streams[0];
	hear(40, UINT64_C(1) << 40, stream);
	cr_expect(seam__recent_fits(&recent, loaded));
	hear(1, 512, stream + 1000);
	cr_expect_not(seam__recent_fits(&recent, loaded), "a stream of which nothing is planned");
	close_loaded();
}

/* Slots [first, last), as the program asks for them. */
static void hear_slots(uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++) {
		const struct seam_plan_slot *slot = &program.plan->slots[i];
		const struct seam_asked asked = {.bytes = slot->size_bytes,
			.stream = program.plan->streams[slot->stream],
			.thread = slot->thread,
			.plain = true};
		seam__recent_add(&recent, &asked);
	}
}

/* Of the requests from a slot to the period's end, made in a matcher that serves nothing before, so many miss. */
static uint64_t missed_from(uint32_t slot, bool told)
{
	struct match_player player;
	match_open(&player, "told", 1);
	match_add(&player, &program, true);
	if (told)
		seam__recent_tell(&recent, loaded, player.matcher);
	struct seam_match_counts counts;
	seam__matcher_get_counts(player.matcher, &counts);
	cr_expect_eq(counts.live, 0);
	cr_expect_eq(counts.hits, 0, "nothing was served");
	cr_expect_eq(counts.misses[SEAM_MISS_lost] + counts.misses[SEAM_MISS_size] + counts.misses[SEAM_MISS_cursor], 0,
		"nor missed");
	uint32_t act = 0;
	while (program.acts[act].is_free || program.acts[act].slot != slot)
		act++;
	const uint64_t missed = match_acts(&player, &program, 0, act, program.count) +
		match_acts(&player, &program, 1, 0, program.count);
	match_close(&player);
	return missed;
}

Test(recent, a_matcher_that_is_told_knows_what_comes_next)
{
	const struct program_wish wish = {.seed = 5, .slots = 120, .iterations = 4};
	open_loaded(match_program(&wish));
	const uint32_t slots = program.plan->header.slot_count;
	for (uint32_t from = 0; from < slots; from += 7) {
		recent = (struct seam_recent){0};
		hear_slots(from, slots);
		hear_slots(0, from);
		cr_expect_gt(missed_from(from, false), 0,
			"from %u: it knows without being told, and this tests nothing", from);
		cr_expect_eq(missed_from(from, true), 0, "from %u", from);
	}
	close_loaded();
}

/* Twenty equal layers, and an end: of less than all of it nobody knows in which layer it ends. */
static struct match_program of_layers(void)
{
	char words[2048] = "";
	for (unsigned i = 0; i < 20; i++)
		(void)strcat(words, "a4096 b8192 c16384 d1024 e2048 -a -b -c -d -e ");
	(void)strcat(words, "y65536 z98304 -y -z");
	return match_program_of(words);
}

Test(recent, less_than_a_repetition_is_not_told)
{
	open_loaded(of_layers());
	const uint32_t slots = program.plan->header.slot_count;
	hear_slots(slots - 12, slots);
	hear_slots(0, 5 * 9);
	const uint64_t unknown = missed_from(0, false);
	cr_expect_eq(missed_from(0, true), unknown);
	recent = (struct seam_recent){0};
	hear_slots(0, slots);
	cr_expect_eq(missed_from(0, true), 0);
	cr_expect_gt(unknown, 0);
	close_loaded();
}

Test(recent, what_no_plan_could_serve_is_not_told)
{
	const struct program_wish wish = {.seed = 5, .slots = 120, .iterations = 4};
	open_loaded(match_program(&wish));
	const uint32_t slots = program.plan->header.slot_count;
	hear_slots(0, slots);
	const uint64_t before = recent.count;
	hear_slots(slots / 2, slots / 2 + 20);
	for (uint64_t i = before; i < recent.count; i++)
		recent.asked[i].plain = false;
	cr_expect_eq(missed_from(0, true), 0);
	close_loaded();
}
