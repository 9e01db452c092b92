/* test_extent.c: the index of extents: order, chunks found by size and by slot, bits that are too many, and what the
 * checks notice. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "extent.h"

#define MIB(n) ((uint64_t)(n) << 20)
#define SLOTS 200u
#define BLOCKS 64u

static struct seam_chunk chunks[SLOTS];
static struct seam_mapping mappings[SLOTS];
static struct seam_slot slots[SLOTS];
static struct seam_view home;
static struct seam_extents extents;
static struct seam_block blocks[BLOCKS];
static unsigned block_count;

/* A home view whose chunks have 2, 4, 6 and 8 MiB in turn. */
static void set_up(void)
{
	home = (struct seam_view){.number = 1, .slots = slots, .slot_count = SLOTS, .least_slot_bytes = MIB(2)};
	TAILQ_INIT(&home.blocks);
	for (uint32_t i = 0; i < SLOTS; i++) {
		chunks[i] =
			(struct seam_chunk){.bytes = MIB(2 + i % 4 * 2), .home = &home, .home_slot = i, .owner = &home};
		mappings[i] = (struct seam_mapping){.chunk = &chunks[i], .view = &home, .slot = i};
		slots[i] = (struct seam_slot){
			.offset = home.used_bytes, .bytes = chunks[i].bytes, .mapping = &mappings[i]};
		home.used_bytes += chunks[i].bytes;
	}
	extents = (struct seam_extents){.limit_bytes = MIB(6)};
	block_count = 0;
}

static void expect_whole(void)
{
	const char *broken = seam__extents_check(&extents);
	cr_expect_null(broken, "broken: %s", broken);
	broken = seam__home_extents_check(&home);
	cr_expect_null(broken, "broken: %s", broken);
}

static void expect_broken(const char *broken, const char *start)
{
	cr_expect(
		broken != NULL && strncmp(broken, start, strlen(start)) == 0, "%s expected, found: %s", start, broken);
}

TestSuite(extent, .init = set_up);

/* A free block over the bytes, in the index. */
static struct seam_block *enter(uint64_t offset, uint64_t bytes)
{
	struct seam_block *block = &blocks[block_count++];
	seam__block_insert(block, &home, TAILQ_LAST(&home.blocks, seam_blocks), offset, bytes, SEAM_IS_FREE);
	cr_assert(seam__extent_may_be(block) && seam__extent_measure(block));
	seam__extents_insert(&extents, block);
	return block;
}

/* A free block of `count` chunks from slot `first` on, and some bytes of its neighbours. */
static struct seam_block *enter_slots(uint32_t first, uint32_t count)
{
	uint64_t before = first > 0 ? 512 : 0, behind = first + count < SLOTS ? 512 : 0;
	uint64_t end = slots[first + count - 1].offset + slots[first + count - 1].bytes;
	return enter(slots[first].offset - before, end - slots[first].offset + before + behind);
}

Test(extent, size_classes)
{
	static const struct {
		uint64_t bytes;
		unsigned class;
	} rows[] = {{1, 0}, {MIB(2), 0}, {MIB(2) + 1, 1}, {MIB(4), 1}, {MIB(32), 15}, {MIB(126), 62}, {MIB(128), 63},
		{UINT64_MAX, 63}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(seam__extent_size_class(rows[i].bytes), rows[i].class, "%lu bytes",
			(unsigned long)rows[i].bytes);
}

Test(extent, only_blocks_with_a_whole_chunk_are_extents)
{
	static const struct {
		const char *name;
		uint64_t offset, bytes;
		bool may_be, is;
	} rows[] = {
		{"less than any chunk", 0, MIB(2) - 512, false, false},
		{"the first", 0, MIB(2), true, true},
		{"as long, but in the middle of two", MIB(1), MIB(2), true, false},
		{"one and half of the next", 0, MIB(4), true, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct seam_block block = {.view = &home, .offset = rows[i].offset, .bytes = rows[i].bytes};
		cr_expect_eq(seam__extent_may_be(&block), rows[i].may_be, "row: %s", rows[i].name);
		cr_expect_eq(seam__extent_measure(&block), rows[i].is, "row: %s", rows[i].name);
	}
	struct seam_view stitched = home;
	stitched.stitched = true;
	struct seam_block block = {.view = &stitched, .bytes = MIB(8)};
	cr_expect_not(seam__extent_may_be(&block), "chunks of a stitched view are not at home");
}

Test(extent, the_order_is_by_size_and_sums_are_of_whole_chunks)
{
	struct seam_block *large = enter_slots(0, 3), *small = enter_slots(4, 1), *middle = enter_slots(7, 1);
	cr_expect_eq(seam__extents_next(&extents, NULL), small);
	cr_expect_eq(seam__extents_next(&extents, small), middle);
	cr_expect_eq(seam__extents_next(&extents, large), NULL);
	cr_expect_eq(seam__extents_largest(&extents), large);
	cr_expect_eq(seam__extents_find(&extents, MIB(4)), middle);
	cr_expect_eq(seam__extents_behind(&extents, small), middle);
	cr_expect_eq(extents.whole_bytes, MIB(12 + 2 + 8));
	cr_expect_eq(extents.long_bytes, MIB(12 + 8), "what is below the limit counts");
	cr_expect_eq(seam__extent_bytes(large), MIB(12));
	expect_whole();
	seam__extents_remove(&extents, large);
	TAILQ_REMOVE(&home.blocks, large, link);
	cr_expect_eq(extents.whole_bytes, MIB(2 + 8));
	cr_expect_eq(extents.long_bytes, MIB(8));
	expect_whole();
}

Test(extent, a_slot_finds_its_extent)
{
	const struct seam_block *first = enter_slots(0, 3), *second = enter_slots(10, 2);
	for (uint32_t slot = 0; slot < 16; slot++) {
		const struct seam_block *expected = slot < 3 ? first : slot == 10 || slot == 11 ? second : NULL;
		cr_expect_eq(seam__extent_find(&home, slot), expected, "slot %u", slot);
	}
}

/* By looking at every extent. */
static struct seam_block *naive_with(const struct seam_block *key, unsigned class)
{
	struct seam_block *extent = seam__extents_next(&extents, NULL);
	while (extent != NULL && (seam__block_compare(extent, key) <= 0 || (extent->whole_sizes >> class & 1) == 0))
		extent = seam__extents_next(&extents, extent);
	return extent;
}

/* Extents come and go at random; every search by size agrees with the naive one, and the unions hold after every step.
 */
Test(extent, a_search_by_size_finds_the_first)
{
	bool in[48] = {false};
	srand(1);
	for (uint32_t i = 0; i < 48; i++)
		enter_slots(i * 4 + (uint32_t)rand() % 2, 1 + (uint32_t)rand() % 2);
	expect_whole();
	for (uint32_t i = 0; i < 48; i++)
		in[i] = true;
	for (unsigned step = 0; step < 2000; step++) {
		unsigned at = (unsigned)rand() % 48;
		if (in[at])
			seam__extents_remove(&extents, &blocks[at]);
		else
			seam__extents_insert(&extents, &blocks[at]);
		in[at] = !in[at];
		const char *broken = seam__extents_check(&extents);
		cr_assert_null(broken, "step %u: %s", step, broken);
		const struct seam_block *key = &blocks[rand() % 48];
		for (unsigned class = 0; class < 5; class ++)
			cr_assert_eq(seam__extents_with(&extents, key, class), naive_with(key, class),
				"step %u, class %u", step, class);
	}
}

Test(extent, bits_that_are_too_many_go)
{
	struct seam_block *block = enter_slots(0, 1);
	seam__extents_remove(&extents, block);
	block->sizes = UINT64_MAX;
	seam__extents_insert(&extents, block);
	expect_whole();
	struct seam_block *other = enter_slots(6, 1);
	cr_expect_eq(seam__extents_sizes(&extents), UINT64_MAX);
	seam__extent_tighten(block);
	cr_expect_eq(block->whole_sizes, 1);
	cr_expect_eq(block->sizes, 3, "the next chunk is touched and may come whole by a merge");
	cr_expect_eq(seam__extents_sizes(&extents), 1u | other->whole_sizes);
	struct seam_block *middle = enter_slots(9, 1);
	seam__extent_tighten(middle);
	cr_expect_eq(middle->whole_sizes, 2);
	cr_expect_eq(middle->sizes, 1 | 2 | 4, "so is the chunk before it");
	expect_whole();
}

Test(extent, checks_notice_what_is_broken)
{
	struct seam_block *block = enter_slots(0, 3), *other = enter_slots(8, 1);
	uint64_t sizes = block->whole_sizes;
	block->whole_sizes = 0;
	expect_broken(seam__extents_check(&extents), "X2");
	block->whole_sizes = sizes;
	struct seam_block *root = extents.tree.rbh_root;
	root->sizes_below ^= 1;
	expect_broken(seam__extents_check(&extents), "X2");
	root->sizes_below ^= 1;
	extents.whole_bytes += 512;
	expect_broken(seam__extents_check(&extents), "X3");
	extents.whole_bytes -= 512;
	block->slot_count--;
	expect_broken(seam__extents_check(&extents), "X1");
	block->slot_count++;
	expect_whole();
	other->is = SEAM_IS_LIVE;
	expect_broken(seam__extents_check(&extents), "X1");
	expect_broken(seam__home_extents_check(&home), "X4");
}

/* Found from wherever something is known: an extent, a LOST block, a LEASED one, or nothing near. */
Test(extent, the_block_at_a_slot)
{
	struct seam_block parts[4 * SLOTS];
	unsigned part_count = 0;
	uint32_t lost_slot = 90, leased_slot = 150;
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		bool whole = slot % 3 == 0 || slot == lost_slot;
		for (uint64_t offset = 0; offset < slots[slot].bytes; offset += whole ? slots[slot].bytes : MIB(1)) {
			struct seam_block *part = &parts[part_count++];
			seam__block_insert(part, &home, TAILQ_LAST(&home.blocks, seam_blocks),
				slots[slot].offset + offset, whole ? slots[slot].bytes : MIB(1), SEAM_IS_LIVE);
			if (slot == leased_slot + 1 && offset == MIB(1)) {
				part->is = SEAM_IS_LEASED;
				chunks[slot].leased = part;
			}
		}
	}
	for (int round = 0; round < 3; round++) {
		for (uint32_t slot = 0; slot < SLOTS; slot++) {
			const struct seam_block *block = seam__block_at(&home, slot);
			cr_assert(block->offset <= slots[slot].offset &&
					slots[slot].offset < block->offset + block->bytes,
				"slot %u", slot);
		}
		struct seam_block *block = seam__block_at(&home, round == 0 ? lost_slot : 30);
		if (round == 0) {
			block->is = SEAM_IS_LOST;
			chunks[lost_slot].lent = block;
		} else if (round == 1) {
			block->is = SEAM_IS_FREE;
			cr_assert(seam__extent_measure(block));
			seam__extents_insert(&extents, block);
		}
	}
}
