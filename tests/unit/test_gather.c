/* test_gather.c: which free chunks are gathered for a request, and which of them are chosen. */
#include "change.h"
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

TestSuite(gather, .init = set_up, .fini = close_engine);

static struct seam_gathered gathered;

static void gather(const struct seam_ask *ask, uint64_t need_bytes, bool all)
{
	gathered = (struct seam_gathered){0};
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	cr_expect_eq(seam__gather(&engine, ask, need_bytes, all, &gathered), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
}

Test(gather, the_smallest_extents_come_first)
{
	struct seam_block *six = alloc(6), *guard = alloc(2), *two = alloc(2), *end = alloc(2);
	uint64_t two_offset = two->offset;
	(void)guard;
	(void)end;
	give(six);
	give(two);
	struct seam_ask ask = ask_of(MIB(8), stream_a);
	gather(&ask, MIB(8), true);
	cr_assert_eq(gathered.count, 4);
	cr_expect_eq(gathered.bytes, MIB(8));
	const struct seam_chunk *first = gathered.chunks[0];
	cr_expect_eq(first->home->slots[first->home_slot].offset, two_offset);
	seam__gathered_fini(&engine, &gathered);
}

Test(gather, what_belongs_to_whom_does_not_change_the_order)
{
	struct seam_block *four = alloc(4), *guard = alloc(2), *two = alloc(2), *end = alloc(2);
	uint64_t two_offset = two->offset;
	(void)guard;
	(void)end;
	give(two);
	wait_for_all(); /* everybody's */
	work_on(four, stream_a, LONG_NS);
	give(four); /* the stream's */
	struct seam_ask ask = ask_of(MIB(6), stream_a);
	gather(&ask, MIB(6), true);
	cr_assert_eq(gathered.count, 3);
	const struct seam_chunk *first = gathered.chunks[0];
	cr_expect_eq(first->home->slots[first->home_slot].offset, two_offset);
	seam__gathered_fini(&engine, &gathered);
}

Test(gather, only_whole_chunks_count)
{
	struct seam_block *part = alloc_on(MIB(3), stream_a), *rest = alloc_on(MIB(2), stream_a), *end = alloc_on(MIB(3), stream_a);
	(void)part;
	(void)end;
	give(rest); /* from the middle of one chunk to the middle of the next */
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	gather(&ask, MIB(2), true);
	cr_expect_eq(gathered.count, 0);
	seam__gathered_fini(&engine, &gathered);
}

Test(gather, another_streams_unpassed_memory_is_left_out)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	struct seam_ask ask = ask_of(MIB(4), stream_b);
	gather(&ask, MIB(4), true);
	cr_expect_eq(gathered.count, 0);
	seam__gathered_fini(&engine, &gathered);
}

Test(gather, a_limit_leaves_short_extents_out)
{
	engine.policy.fragmentation_limit_bytes = MIB(4);
	struct seam_block *two = alloc(2), *guard = alloc(2), *four = alloc(4), *end = alloc(2);
	(void)guard;
	(void)end;
	give(two);
	give(four);
	struct seam_ask ask = ask_of(MIB(6), stream_a);
	gather(&ask, MIB(6), false);
	cr_expect_eq(gathered.bytes, MIB(4));
	seam__gathered_fini(&engine, &gathered);
	gather(&ask, MIB(6), true);
	cr_expect_eq(gathered.bytes, MIB(6));
	seam__gathered_fini(&engine, &gathered);
}

/* Sizes in MiB of what is there, in order; what is needed; what is chosen, in order (0 ends a list). */
struct choice {
	const char *name;
	uint64_t there[6], need, chosen[6];
};

static const struct choice choices[] = {
	{"exact", {2, 2}, 4, {2, 2}},
	{"not enough", {2, 2}, 5, {0}},
	{"the smallest that finishes", {8, 4, 2}, 2, {2}},
	{"a finisher of the right size", {2, 16, 4}, 6, {2, 4}},
	{"smaller ones that a large finisher makes superfluous", {2, 2, 16}, 16, {16}},
	{"all", {2, 4, 8}, 14, {2, 4, 8}},
};

Test(gather, choices_cover_the_need_with_little_left_over)
{
	for (size_t row = 0; row < sizeof choices / sizeof choices[0]; row++) {
		const struct choice *choice = &choices[row];
		struct seam_chunk chunks[6] = {0}, *list[6] = {0};
		struct seam_gathered some = {.chunks = list, .capacity = 6};
		for (; some.count < 6 && choice->there[some.count] != 0; some.count++) {
			chunks[some.count].bytes = MIB(choice->there[some.count]);
			list[some.count] = &chunks[some.count];
			some.bytes += chunks[some.count].bytes;
		}
		bool enough = seam__gather_choose(&some, MIB(choice->need));
		cr_expect_eq(enough, choice->chosen[0] != 0, "row: %s", choice->name);
		for (uint32_t i = 0; enough && i < 6 && (i < some.count || choice->chosen[i] != 0); i++)
			cr_expect(i < some.count && some.chunks[i]->bytes == MIB(choice->chosen[i]), "row: %s, chunk %u", choice->name, i);
	}
}
