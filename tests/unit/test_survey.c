/* test_survey.c: which chunks an arena could have, in which order, and what stays in them. */
#include <stdio.h>
#include <string.h>

#include "arena_fixture.h"

TestSuite(survey, .init = set_up_arena, .fini = tear_down_arena);

static void expect_chunk(const struct seam_survey *survey, uint32_t i, uint64_t number, uint64_t resident_bytes)
{
	cr_assert_lt(i, survey->count);
	cr_expect_eq(
		survey->chunks[i].number, number, "chunk %u is number %lu", i, (unsigned long)survey->chunks[i].number);
	cr_expect_eq(survey->chunks[i].bytes, MIB(2));
	cr_expect_eq(survey->chunks[i].resident_bytes, resident_bytes, "chunk %u: %lu resident bytes", i,
		(unsigned long)survey->chunks[i].resident_bytes);
}

static void expect_resident(const struct seam_survey *survey, uint32_t i, struct seam_surveyed_resident wanted)
{
	cr_assert_lt(i, survey->resident_count);
	const struct seam_surveyed_resident *is = &survey->residents[i];
	cr_expect(is->serial == wanted.serial && is->chunk_index == wanted.chunk_index &&
			is->offset_bytes == wanted.offset_bytes && is->bytes == wanted.bytes &&
			is->before_bytes == wanted.before_bytes,
		"resident %u: serial %lu in chunk %lu at %lu, %lu bytes behind %lu", i, (unsigned long)is->serial,
		(unsigned long)is->chunk_index, (unsigned long)is->offset_bytes, (unsigned long)is->bytes,
		(unsigned long)is->before_bytes);
}

Test(survey, nothing_there)
{
	struct seam_survey survey = survey_of(all_stay);
	cr_expect_eq(survey.count, 0);
	cr_expect_eq(survey.bytes, 0);
	drop_survey(&survey);
}

/* Chunks 0-5: free, half, whole, whole with the next half, free. */
Test(survey, those_in_part_come_first_and_whole_ones_not_at_all)
{
	struct seam_block *hole = alloc(2), *half = alloc(1), *other = alloc(1), *whole = alloc(2),
			  *long_one = alloc(3), *end = alloc(3);
	half->serial = 7;
	long_one->serial = 9;
	(void)whole;
	give(hole);
	give(other);
	give(end);
	struct seam_survey survey = survey_of(all_stay);
	cr_expect_eq(survey.count, 4);
	cr_expect_eq(survey.partial, 2);
	cr_expect_eq(survey.bytes, MIB(8));
	cr_expect_eq(survey.engine_bytes, MIB(12));
	expect_chunk(&survey, 0, 1, MIB(1));
	expect_chunk(&survey, 1, 4, MIB(1));
	expect_chunk(&survey, 2, 0, 0);
	expect_chunk(&survey, 3, 5, 0);
	cr_expect_eq(survey.resident_count, 2);
	expect_resident(&survey, 0, (struct seam_surveyed_resident){.serial = 7, .chunk_index = 0, .bytes = MIB(1)});
	expect_resident(&survey, 1,
		(struct seam_surveyed_resident){
			.serial = 9, .chunk_index = 1, .bytes = MIB(1), .before_bytes = MIB(2)});
	drop_survey(&survey);
}

Test(survey, what_does_not_stay_is_no_resident)
{
	struct seam_block *a = alloc(1), *b = alloc(3);
	b->tag = 1;
	(void)a;
	struct seam_survey survey = survey_of(tagged_stay);
	cr_expect_eq(survey.count, 1, "the second chunk is wholly resident");
	expect_chunk(&survey, 0, 0, MIB(1));
	expect_resident(
		&survey, 0, (struct seam_surveyed_resident){.chunk_index = 0, .offset_bytes = MIB(1), .bytes = MIB(1)});
	drop_survey(&survey);
}

Test(survey, a_resident_of_a_stitched_view)
{
	struct seam_block *blocks[5];
	make_row(blocks, 5);
	give(blocks[0]);
	give(blocks[2]);
	struct seam_block *both = alloc_on(MIB(3), stream_a);
	cr_assert(both->view->stitched);
	both->serial = 5;
	struct seam_survey survey = survey_of(all_stay);
	cr_expect_eq(survey.count, 1);
	expect_chunk(&survey, 0, 2, MIB(1));
	expect_resident(
		&survey, 0, (struct seam_surveyed_resident){.serial = 5, .bytes = MIB(1), .before_bytes = MIB(2)});
	drop_survey(&survey);
}

Test(survey, chunks_that_are_not_for_arenas)
{
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	ask.class = SEAM_CLASS_CONTIGUOUS;
	struct seam_block *apart = NULL, *block = NULL;
	cr_assert_eq(try_ask(&ask, &apart), SEAM_OK);
	struct seam_group *group = NULL;
	cr_assert_eq(seam__engine_group_create(&engine, 4, &group), SEAM_OK);
	ask = ask_of(MIB(2), stream_a);
	ask.group = group;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	give(block);
	struct seam_block *blocks[3];
	make_row(blocks, 3);
	struct seam_chunk *exported = blocks[0]->view->slots[0].mapping->chunk;
	exported->exported = true;
	for (int i = 0; i < 3; i++)
		give(blocks[i]);
	give(apart);
	struct seam_survey survey = survey_of(all_stay);
	cr_expect_eq(survey.count, 2);
	expect_chunk(&survey, 0, exported->number + 1, 0);
	drop_survey(&survey);
}

Test(survey, a_block_of_a_capture_stays)
{
	struct seam_block *block = alloc(1);
	block->captured = true;
	struct seam_survey survey = survey_of(tagged_stay);
	expect_chunk(&survey, 0, 0, MIB(1));
	drop_survey(&survey);
	give(block); /* pending for ever */
	survey = survey_of(tagged_stay);
	expect_chunk(&survey, 0, 0, MIB(1));
	drop_survey(&survey);
}

/* More than are copied at once. One in 80 is free, so that no chunk is wholly occupied; some reach into the next one.
 */
Test(survey, each_of_many_blocks_is_listed_once)
{
	enum { COUNT = 300, HOLE = 80 };
	const uint64_t block_bytes = 24u << 10;
	struct seam_block *blocks[COUNT];
	uint64_t live_bytes = 0, listed_bytes = 0, at = 0;
	for (unsigned i = 0; i < COUNT; i++)
		blocks[i] = alloc_on(block_bytes, stream_a);
	for (unsigned i = 0; i < COUNT; i++) {
		if (i % HOLE == HOLE / 2)
			give(blocks[i]);
		else
			live_bytes += block_bytes;
	}
	struct seam_survey survey = survey_of(all_stay);
	for (uint32_t i = 0; i < survey.resident_count; i++) {
		const struct seam_surveyed_resident *resident = &survey.residents[i];
		const uint64_t begin = resident->chunk_index * MIB(2) + resident->offset_bytes;
		cr_assert_geq(begin, at, "resident %u", i);
		at = begin + resident->bytes;
		listed_bytes += resident->bytes;
	}
	cr_expect_eq(listed_bytes, live_bytes);
	drop_survey(&survey);
}

Test(survey, small_views_come_last)
{
	struct seam_ask ask = ask_of(512, stream_a);
	ask.class = SEAM_CLASS_SMALL;
	struct seam_block *block = NULL;
	cr_assert_eq(try_ask(&ask, &block), SEAM_OK);
	give(alloc(2));
	struct seam_survey survey = survey_of(tagged_stay);
	cr_expect_eq(survey.count, 2);
	expect_chunk(&survey, 0, 1, 0);
	expect_chunk(&survey, 1, 0, 0);
	drop_survey(&survey);
}

Test(survey, without_metadata)
{
	struct seam_block *blocks[40];
	for (int i = 0; i < 40; i++)
		blocks[i] = alloc_on(MIB(1) + MIB(1) / 2, stream_a);
	(void)blocks;
	enum seam_rc rc = SEAM_OOM_META;
	for (uint64_t n = 1; rc != SEAM_OK; n++) {
		struct seam_survey survey;
		cr_assert_lt(n, 50);
		lock_both();
		seam__meta_fail_at(meta, n);
		rc = seam__survey_make(&engine, all_stay, NULL, &survey);
		seam__meta_fail_at(meta, 0);
		if (rc == SEAM_OK)
			seam__survey_fini(&engine, &survey);
		unlock_both();
	}
	cr_expect_eq(rc, SEAM_OK);
}
