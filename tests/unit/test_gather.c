/* test_gather.c: which free chunks are gathered for a request, and which of them are chosen. */
#include "change.h"
#include "engine_fixture.h"

static void set_up(void)
{
	open_engine(&(struct seam_policy){.chunk_bytes = MIB(2), .small_bytes = MIB(1)});
}

TestSuite(gather, .init = set_up, .fini = close_engine);

static struct seam_gathered gathered;

/* What there is for the request; what is gathered for it if it is enough. */
static uint64_t gather(const struct seam_ask *ask, bool all)
{
	struct seam_usable usable;
	gathered = (struct seam_gathered){0};
	seam__mutex_lock(&engine.change);
	seam__mutex_lock(&engine.lock);
	uint64_t bytes = seam__gather_bytes(&engine, ask, all, &usable);
	if (bytes >= ask->bytes)
		cr_expect_eq(seam__gather(&engine, &usable, &gathered), SEAM_OK);
	seam__mutex_unlock(&engine.lock);
	seam__mutex_unlock(&engine.change);
	return bytes;
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
	cr_expect_eq(gather(&ask, true), MIB(8));
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
	cr_expect_eq(gather(&ask, true), MIB(6));
	cr_assert_eq(gathered.count, 3);
	const struct seam_chunk *first = gathered.chunks[0];
	cr_expect_eq(first->home->slots[first->home_slot].offset, two_offset);
	seam__gathered_fini(&engine, &gathered);
}

Test(gather, only_whole_chunks_count)
{
	struct seam_block *part = alloc_on(MIB(3), stream_a), *rest = alloc_on(MIB(2), stream_a),
			  *end = alloc_on(MIB(3), stream_a);
	(void)part;
	(void)end;
	give(rest); /* from the middle of one chunk to the middle of the next */
	struct seam_ask ask = ask_of(MIB(2), stream_a);
	cr_expect_eq(gather(&ask, true), 0);
}

Test(gather, another_streams_unpassed_memory_is_left_out)
{
	struct seam_block *block = alloc(4);
	work_on(block, stream_a, LONG_NS);
	give(block);
	struct seam_ask ask = ask_of(MIB(4), stream_b);
	cr_expect_eq(gather(&ask, true), 0);
}

static void open_with_a_limit(void)
{
	close_engine(); /* another policy */
	open_engine(&(struct seam_policy){
		.chunk_bytes = MIB(2), .small_bytes = MIB(1), .fragmentation_limit_bytes = MIB(4)});
}

Test(gather, a_limit_leaves_short_extents_out, .init = open_with_a_limit)
{
	struct seam_block *two = alloc(2), *guard = alloc(2), *four = alloc(4), *end = alloc(2);
	(void)guard;
	(void)end;
	give(two);
	give(four);
	struct seam_ask ask = ask_of(MIB(6), stream_a);
	cr_expect_eq(gather(&ask, false), MIB(4));
	cr_expect_eq(gather(&ask, true), MIB(6));
	cr_expect_eq(gathered.count, 3);
	seam__gathered_fini(&engine, &gathered);
	ask.bytes = MIB(4);
	cr_expect_eq(gather(&ask, false), MIB(4));
	cr_assert_eq(gathered.count, 2);
	cr_expect_eq(gathered.chunks[0]->home_slot + 1, gathered.chunks[1]->home_slot, "both are of the long extent");
	seam__gathered_fini(&engine, &gathered);
}

/* Sizes in MiB of the chunks that are free, in order, each by itself; what is needed; what is chosen, in order (0 ends
 * a list). */
struct choice {
	const char *name;
	uint64_t there[6], need, chosen[6];
};

static const struct choice choices[] = {
	{"exact", {2, 2}, 4, {2, 2}},
	{"the smallest that finishes", {8, 4, 2}, 2, {2}},
	{"the first of equals comes by size", {16, 4, 2, 4}, 6, {2, 4}},
	{"a finisher of the right size", {2, 16, 8, 4}, 6, {2, 4}},
	{"a larger one if that is all", {2, 4, 16}, 12, {16}},
	{"smaller ones that a large finisher makes superfluous", {2, 2, 16}, 16, {16}},
	{"of those only what is superfluous", {2, 4, 16}, 18, {2, 16}},
	{"all", {2, 4, 8}, 14, {2, 4, 8}},
};

Test(gather_choices, the_need_is_covered_with_little_left_over)
{
	for (size_t row = 0; row < sizeof choices / sizeof choices[0]; row++) {
		const struct choice *choice = &choices[row];
		set_up();
		struct seam_block *blocks[6];
		uint32_t count = 0;
		for (; count < 6 && choice->there[count] != 0; count++) {
			engine.policy.chunk_bytes = MIB(choice->there[count]);
			blocks[count] = alloc(choice->there[count]);
			alloc(2); /* a guard */
		}
		while (count-- > 0)
			give(blocks[count]);
		struct seam_ask ask = ask_of(MIB(choice->need), stream_a);
		gather(&ask, true);
		for (uint32_t i = 0; i < 6 && (i < gathered.count || choice->chosen[i] != 0); i++)
			cr_expect(i < gathered.count && gathered.chunks[i]->bytes == MIB(choice->chosen[i]),
				"row: %s, chunk %u", choice->name, i);
		seam__gathered_fini(&engine, &gathered);
		close_engine();
	}
}

/* A large free extent splits and merges; a chunk of a certain size in it is found all the same, and not where there is
 * none. */
Test(gather, sizes_survive_splits_and_merges)
{
	engine.policy.chunk_bytes = MIB(8);
	struct seam_block *large = alloc(20), *guard = alloc(2); /* chunks of 8, 8 and 4 */
	engine.policy.chunk_bytes = MIB(16);
	struct seam_block *more = alloc(16), *end = alloc(2);
	give(large);
	struct seam_block *first = alloc(8);
	give(more);
	struct seam_ask ask = ask_of(MIB(20), stream_a);
	gather(&ask, true); /* 8 and 4 of the first and then the 16, which makes the 4 superfluous */
	cr_assert_eq(gathered.count, 2);
	cr_expect_eq(gathered.bytes, MIB(24));
	seam__gathered_fini(&engine, &gathered);
	give(first);
	gather(&ask, true); /* the 16 and then, out of 8, 8 and 4, the last */
	cr_assert_eq(gathered.count, 2);
	cr_expect_eq(gathered.bytes, MIB(20));
	seam__gathered_fini(&engine, &gathered);
	(void)guard;
	(void)end;
}

Test(gather, sizes_survive_a_stay_elsewhere)
{
	engine.policy.chunk_bytes = MIB(8);
	struct seam_block *large = alloc(20), *guard = alloc(2);
	engine.policy.chunk_bytes = MIB(16);
	struct seam_block *more = alloc(16), *end = alloc(2);
	(void)guard;
	(void)end;
	give(large);
	give(more);
	struct seam_block *all = alloc(36);
	cr_assert_eq(all->view->owned, 4);
	give(all);
	struct seam_ask ask = ask_of(MIB(20), stream_a);
	gather(&ask, true);
	cr_expect_eq(gathered.bytes, MIB(20), "16, and the chunk of 4 that came home in a run");
	const char *broken = seam__engine_check(&engine);
	cr_expect_null(broken, "broken: %s", broken);
	seam__gathered_fini(&engine, &gathered);
}
