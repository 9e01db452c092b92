/* test_recent.c: whether a plan knows what the program asked for lately, and where in it that ends. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "matcher_state.h"
#include "meta.h"
#include "recent.h"
#include "planned.h"
#include "random_problem.h"

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
		seam__recent_tell(&recent, loaded, player.matcher, UINT64_MAX / 2);
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

/* Twenty equal layers, and an end. */
static struct match_program of_layers(void)
{
	char words[2048] = "";
	for (unsigned i = 0; i < 20; i++)
		(void)strcat(words, "a4096 b8192 c16384 d1024 e2048 -a -b -c -d -e ");
	(void)strcat(words, "y65536 z98304 -y -z");
	return match_program_of(words);
}

/* Micro-batches of equal layers, forward and back, with side streams and a second thread; and an end. */
static struct match_program of_micro_batches(uint64_t *state)
{
	char words[8192] = "", layer[256] = "";
	const unsigned micro_batches = 2 + (unsigned)random_below(state, 5),
		       layers = 1 + (unsigned)random_below(state, 4);
	for (unsigned i = 0; i < 5; i++) {
		char word[32];
		const unsigned stream = (unsigned)random_below(state, 3), thread = i / 3;
		(void)snprintf(
			word, sizeof word, "%c%u@%u^%u ", 'a' + (int)i, 512u << random_below(state, 3), stream, thread);
		(void)strcat(layer, word);
	}
	(void)strcat(layer, "-a -b -c -d -e ");
	for (unsigned i = 0; i < micro_batches * layers; i++)
		(void)strcat(words, layer);
	(void)strcat(words, "y65536 z98304 -y -z");
	return match_program_of(words);
}

/* What a stream asks for does not say in which layer it is: others know. A few programs do the same on two threads. */
Test(recent, streams_are_told_of_each_other)
{
	uint64_t state = 1;
	unsigned missing = 0;
	for (unsigned i = 0; i < 200; i++) {
		open_loaded(of_micro_batches(&state));
		recent = (struct seam_recent){0};
		hear_slots(0, program.plan->header.slot_count);
		missing += missed_from(0, true) != 0;
		close_loaded();
	}
	cr_expect_leq(missing, 5, "%u of 200 miss something", missing);
}

/* The program's steps of then are not told. Without any, a plan of the same kind would take this one's place in the
 * midst of an iteration. */
Test(recent, what_is_told_are_no_repetitions_without_steps)
{
	const struct program_wish wish = {.seed = 5, .slots = 120, .iterations = 4};
	struct match_player player;
	open_loaded(match_program(&wish));
	hear_slots(0, program.plan->header.slot_count);
	match_open(&player, "steps", 1);
	match_add(&player, &program, true);
	seam__matcher_step(player.matcher);
	cr_assert(seam__recent_tell(&recent, loaded, player.matcher, UINT64_MAX / 2));
	cr_expect_eq(player.matcher->now->unmarked, 0);
	match_close(&player);
	close_loaded();
}

/* Two halves that are alike but for what the first one keeps, as micro-batches are. It is freed when the next
 * repetition begins: the plan has least live there, and so has the program. From any other place of the plan, where
 * what is kept may be anything, a matcher that hears of them may take one half for the other. */
Test(recent, repetition_that_ends_with_few_live_bytes_begins_where_the_plan_has_least)
{
	open_loaded(match_program_of("a4096 b8192 c512 -b -a d4096 e8192 -e -d -c"));
	const uint32_t slots = program.plan->header.slot_count;
	struct match_player player;
	match_open(&player, "low", 1);
	match_add(&player, &program, true);
	const struct seam_loaded_plan *there = seam__matcher_loaded(player.matcher, 0);
	cr_assert_eq(there->least_at, 0);
	hear_slots(0, slots);
	cr_expect(seam__recent_tell(&recent, there, player.matcher, UINT64_MAX / 2));
	struct seam_match_counts counts;
	seam__matcher_get_counts(player.matcher, &counts);
	cr_expect_eq(counts.steps, SEAM_HEAR_STEPS * slots, "%lu: all is expected, and told once",
		(unsigned long)counts.steps);
	for (uint32_t l = 0; l < there->cursor_count; l++) {
		cr_expect_eq(there->cursors[l].next, there->cursors[l].first);
		cr_expect_eq(there->cursors[l].debt, 0);
	}
	match_close(&player);
	close_loaded();
}

/* Of a long period not all is known any more. */
Test(recent, of_less_than_a_repetition_all_that_is_known_is_told)
{
	open_loaded(of_layers());
	const uint32_t slots = program.plan->header.slot_count;
	for (uint32_t known = 4; known <= slots; known += 7) {
		recent = (struct seam_recent){0};
		hear_slots(slots - known, slots);
		cr_expect_gt(missed_from(0, false), 0, "it knows without being told, and this tests nothing");
		cr_expect_eq(missed_from(0, true), 0, "the last %u", known);
	}
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

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % below;
}

static uint64_t blocks_of(uint64_t bytes)
{
	return (bytes + SEAM_PLANNED_BYTES - 1) / SEAM_PLANNED_BYTES;
}

/* What recent.h says, slot by slot; so many that are not known count as known: they may look like others. */
static bool fits_naively(uint64_t alike)
{
	const struct seam_plan *plan = program.plan;
	uint64_t there = plan->header.slot_count < 512 ? plan->header.slot_count : 512;
	uint64_t known = 0, unknown = 0;
	there = there < recent.count ? there : recent.count;
	for (uint64_t back = 1; back <= there; back += (there + 63) / 64) {
		const struct seam_asked *asked = &recent.asked[(recent.count - back) % SEAM_RECENT];
		bool is_known = false, is_open = false;
		for (uint32_t i = 0; i < plan->header.slot_count; i++) {
			const struct seam_plan_slot *slot = &plan->slots[i];
			const bool is_dynamic = (slot->flags & SEAM_PLAN_DYNAMIC) != 0;
			if (plan->streams[slot->stream] != asked->stream)
				continue;
			is_open |= is_dynamic;
			is_known |= !is_dynamic && blocks_of(slot->size_bytes) == blocks_of(asked->bytes);
		}
		known += is_known;
		unknown += !is_known && !is_open;
	}
	alike = alike < unknown ? alike : unknown;
	return known + alike >= 3 * (unknown - alike);
}

Test(recent, it_is_the_rule_that_the_header_says)
{
	uint64_t state = 7;
	unsigned fitted = 0, rounds = 0;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		const struct program_wish wish = {.seed = seed,
			.slots = 20 + (uint32_t)draw(&state, 320),
			.iterations = 4,
			.streams = 1 + (uint32_t)draw(&state, 4),
			.dynamics = (uint32_t)draw(&state, 2) * 4};
		program = match_program(&wish);
		meta = seam__meta_create(0);
		cr_assert_eq(seam__loaded_create(meta, program.plan, &loaded), SEAM_OK);
		const struct seam_plan *plan = program.plan;
		recent = (struct seam_recent){0};
		for (unsigned i = 0; i < 60; i++, rounds++) {
			const uint64_t strange = draw(&state, 10);
			for (uint64_t n = draw(&state, 300); n != 0; n--) {
				const struct seam_plan_slot *slot = &plan->slots[draw(&state, plan->header.slot_count)];
				const bool is_strange = draw(&state, 20) < strange;
				hear(1, is_strange ? 1 + draw(&state, 1 << 20) : slot->size_bytes,
					draw(&state, 20) < strange ? 1000 + draw(&state, 2)
								   : plan->streams[slot->stream]);
			}
			const bool fits = seam__recent_fits(&recent, loaded);
			cr_expect(fits || !fits_naively(0), "seed %llu, round %u", (unsigned long long)seed, i);
			cr_expect(!fits || fits_naively(4), "seed %llu, round %u", (unsigned long long)seed, i);
			fitted += fits;
		}
		close_loaded();
	}
	cr_expect(fitted > rounds / 8 && fitted < rounds - rounds / 8, "%u of %u fit", fitted, rounds);
}

/* What the cursors of a matcher's current loaded plan know. */
static void expect_same(const struct seam_matcher *a, const struct seam_matcher *b, uint32_t from)
{
	cr_assert_eq(a->now->cursor_count, b->now->cursor_count);
	for (uint32_t l = 0; l < a->now->cursor_count; l++) {
		const struct seam_cursor *left = &a->now->cursors[l], *right = &b->now->cursors[l];
		cr_expect_eq(left->history.heard, right->history.heard, "from %u", from);
		cr_expect_arr_eq(
			left->history.sizes, right->history.sizes, sizeof left->history.sizes, "from %u", from);
		cr_expect_eq(left->next - left->first, right->next - right->first, "from %u", from);
		cr_expect_eq(left->debt, right->debt, "from %u", from);
	}
}

Test(recent, what_is_told_is_the_last_repetition_twice)
{
	const struct program_wish wish = {.seed = 9, .slots = 90, .iterations = 4};
	open_loaded(match_program(&wish));
	const uint32_t slots = program.plan->header.slot_count;
	for (uint32_t from = 0; from < slots; from += 11) {
		struct match_player told, heard;
		match_open(&told, "told", 1);
		match_open(&heard, "heard", 1);
		match_add(&told, &program, true);
		match_add(&heard, &program, true);
		recent = (struct seam_recent){.count = from == 0 ? SEAM_RECENT - 3 : 0}; /* once, around the end */
		hear(3, 12345, 0);
		hear_slots(from, slots);
		hear_slots(0, from);
		seam__recent_tell(&recent, loaded, told.matcher, UINT64_MAX / 2);
		for (uint32_t i = 0; i < 2 * slots; i++) {
			const struct seam_plan_slot *slot = &program.plan->slots[(from + i) % slots];
			seam__matcher_hear(heard.matcher,
				&(struct seam_match_ask){
					slot->size_bytes, program.plan->streams[slot->stream], slot->thread, false});
		}
		expect_same(told.matcher, heard.matcher, from);
		match_close(&told);
		match_close(&heard);
	}
	close_loaded();
}
