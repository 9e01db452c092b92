/* test_recent.c: whether a plan knows what the program asked for lately. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "match_program.h"
#include "meta.h"
#include "recent.h"

static struct seam_meta *meta;
static struct seam_script *script;
static struct match_program program;
static struct seam_recent recent;

static void open_script(struct match_program made)
{
	program = made;
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
	cr_assert_eq(seam__script_create(meta, program.plan, &script), SEAM_OK);
}

static void close_script(void)
{
	seam__script_destroy(meta, script);
	cr_assert_eq(seam__meta_destroy(meta), 0, "metadata was leaked");
	match_program_fini(&program);
}

static void hear(uint32_t times, uint64_t bytes, uint64_t stream)
{
	for (uint32_t i = 0; i < times; i++)
		seam__recent_add(&recent, bytes, stream);
}

/* 48 slots of 4 KiB, and two of 8 KiB on another stream. */
static struct match_program of_fifty(void)
{
	char words[2048] = "";
	for (unsigned i = 0; i < 48; i++)
		(void)snprintf(words + strlen(words), sizeof words - strlen(words), "%c4096 -%c ", 'A' + (int)(i % 26), 'A' + (int)(i % 26));
	(void)snprintf(words + strlen(words), sizeof words - strlen(words), "y8192@7 z8192@7 -y -z");
	return match_program_of(words);
}

Test(recent, three_in_four_must_be_the_plans)
{
	open_script(of_fifty());
	cr_expect(seam__recent_fits(&recent, script), "nothing speaks against it");
	hear(29, 4096, 0);
	hear(1, 8192 - 511, 7);
	cr_expect(seam__recent_fits(&recent, script), "sizes are the same if they are rounded to the same");
	hear(10, 12288, 0);
	cr_expect(seam__recent_fits(&recent, script), "30 of 40");
	hear(1, 12288, 0);
	cr_expect_not(seam__recent_fits(&recent, script), "30 of 41");
	close_script();
}

Test(recent, a_size_is_known_on_its_own_stream_only)
{
	open_script(of_fifty());
	hear(10, 4096, 7);
	cr_expect_not(seam__recent_fits(&recent, script));
	close_script();
}

Test(recent, only_the_last_iteration_counts)
{
	open_script(of_fifty());
	hear(1000, 77777, 0);
	cr_expect_not(seam__recent_fits(&recent, script));
	hear(50, 4096, 0);
	cr_expect(seam__recent_fits(&recent, script));
	close_script();
}

/* Of long iterations a part is looked at. */
Test(recent, what_was_long_ago_is_forgotten)
{
	const struct program_wish wish = {.seed = 3, .slots = 350, .iterations = 4};
	open_script(match_program(&wish));
	const uint64_t stream = program.plan->streams[0], bytes = program.plan->slots[0].size_bytes;
	const uint32_t slots = program.plan->header.slot_count;
	hear(1000, UINT64_C(1) << 40, stream);
	cr_expect_not(seam__recent_fits(&recent, script));
	hear(slots * 3 / 4 + 8, bytes, stream);
	cr_expect(seam__recent_fits(&recent, script));
	hear(slots / 2, bytes, stream + 1000);
	cr_expect_not(seam__recent_fits(&recent, script));
	close_script();
}

Test(recent, sizes_say_nothing_where_dynamic_requests_are_planned)
{
	const struct program_wish wish = {.seed = 3, .slots = 40, .iterations = 6, .dynamics = 5};
	open_script(match_program(&wish));
	const uint64_t stream = program.plan->streams[0];
	hear(40, UINT64_C(1) << 40, stream);
	cr_expect(seam__recent_fits(&recent, script));
	hear(1, 512, stream + 1000);
	cr_expect_not(seam__recent_fits(&recent, script), "a stream of which nothing is planned");
	close_script();
}
