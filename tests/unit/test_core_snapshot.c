/* test_core_snapshot.c: what a visitor sees, and the JSON of it, held to its schema. */
#include "arena.h"
#include "core_fixture.h"
#include "json_schema.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <seam/snapshot.h>

/* What a visit adds up to. */
struct sums {
	unsigned views, stitched, slots, blocks;
	uint64_t of_state[6];
	uint64_t requested_bytes, owned_bytes, lost_bytes, tags;
	uint64_t view_va, view_end, slot_end, block_end;
	unsigned stop_after; /* calls; 0: never */
	unsigned calls;
};

static int count_call(struct sums *sums)
{
	return ++sums->calls == sums->stop_after;
}

static int see_view(void *user, const struct seam_view_info *view)
{
	struct sums *sums = user;
	sums->views++;
	sums->stitched += view->stitched;
	sums->lost_bytes += view->stitched ? 0 : view->lost_bytes;
	sums->view_va = sums->slot_end = sums->block_end = view->va;
	sums->view_end = view->va + view->bytes;
	return count_call(sums);
}

static int see_slot(void *user, const struct seam_slot_info *slot)
{
	struct sums *sums = user;
	cr_assert_geq(slot->va, sums->slot_end, "slots in order of address");
	cr_assert_eq(sums->block_end, sums->view_va, "slots come before blocks");
	sums->slot_end = slot->va + slot->bytes;
	cr_assert_leq(sums->slot_end, sums->view_end, "slots lie in their view");
	sums->slots++;
	sums->owned_bytes += slot->owned ? slot->bytes : 0;
	return count_call(sums);
}

static int see_block(void *user, const struct seam_block_info *block)
{
	struct sums *sums = user;
	cr_assert_geq(block->va, sums->block_end, "blocks in order of address");
	sums->block_end = block->va + block->bytes;
	cr_assert_leq(sums->block_end, sums->view_end, "blocks lie in their view");
	sums->blocks++;
	sums->of_state[block->state] += block->bytes;
	sums->requested_bytes += block->requested_bytes;
	sums->tags += block->tag;
	return count_call(sums);
}

static const struct seam_visitor visitor = {see_view, see_slot, see_block};

/* Live, free, pending and lost memory; a stitched view; a hole. */
static void open_busy_pool(void)
{
	open_pool(MIB(256), "chunk_bytes:2M");
	void *ptrs[12], *other = make_stream();
	for (unsigned i = 0; i < 12; i++)
		ptrs[i] = must_alloc(MIB(2), NULL);
	for (unsigned i = 0; i < 12; i += 2)
		must_free(ptrs[i]);
	struct seam_request request = {
		.size = sizeof request, .bytes = MIB(8) - 100, .tag = UINT64_C(0xfedcba9876543210)};
	void *stitched = NULL;
	cr_assert_ok(seam_alloc_request(pool, &request, &stitched));
	cr_assert_ok(seam_trim(pool, MIB(22), NULL));
	cr_assert_ok(seam_record_stream(pool, ptrs[1], other));
	must_free(ptrs[1]);
	(void)must_alloc(100, other);
}

Test(core_snapshot, a_visit_shows_every_byte_once)
{
	open_busy_pool();
	struct sums sums = {0};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, &sums));
	struct seam_stats stats = get_stats();
	cr_assert_eq(sums.views, stats.views);
	cr_assert_eq(sums.stitched, stats.stitched_views);
	cr_assert_eq(sums.stitched, 2, "of 8 MiB, and of a chunk for small requests");
	cr_assert_eq(sums.slots, stats.mappings);
	cr_assert_eq(sums.owned_bytes, stats.reserved_bytes, "every chunk has one owner (I1)");
	cr_assert_eq(sums.of_state[SEAM_BLOCK_LIVE], stats.live_bytes);
	cr_assert_eq(sums.of_state[SEAM_BLOCK_PENDING], stats.unused_pending_bytes);
	cr_assert_eq(sums.of_state[SEAM_BLOCK_FREE], stats.unused_whole_bytes + stats.unused_partial_bytes);
	cr_assert_eq(sums.of_state[SEAM_BLOCK_LOST], MIB(10));
	cr_assert_eq(sums.lost_bytes, MIB(10));
	cr_assert_eq(sums.of_state[SEAM_BLOCK_TRANSIT], 0);
	cr_assert_eq(sums.requested_bytes, stats.live_requested_bytes);
	cr_assert_eq(sums.tags, UINT64_C(0xfedcba9876543210));
	close_pool();
}

static bool all_stay(void *user, const struct seam_block *block)
{
	(void)user;
	return block->is == SEAM_IS_LIVE;
}

static void open_arena(struct seam_arena *arena)
{
	struct seam_survey survey;
	seam__pool_stop(pool);
	cr_assert_ok(seam__survey_make(&pool->engine, all_stay, NULL, &survey));
	cr_assert_neq(survey.count, 0);
	cr_assert_ok(seam__arena_begin(&pool->engine, &survey.chunks[0].number, 1, MIB(4), MIB(2), 0, arena));
	seam__survey_fini(&pool->engine, &survey);
	cr_assert_ok(seam__arena_prepare(&pool->engine, arena, 8));
	seam__arena_open(arena);
	cr_assert_neq(seam__arena_collect(&pool->engine, arena, 0, arena->count), 0);
	seam__pool_go(pool);
}

Test(core_snapshot, what_a_plan_has_is_leased)
{
	struct seam_arena arena;
	open_busy_pool();
	open_arena(&arena);
	struct sums sums = {0};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, &sums));
	struct seam_stats stats = get_stats();
	cr_assert_geq(stats.unused_leased_bytes, MIB(4));
	cr_assert_eq(sums.of_state[SEAM_BLOCK_LEASED], stats.unused_leased_bytes);
	cr_assert_eq(sums.of_state[SEAM_BLOCK_FREE], stats.unused_whole_bytes + stats.unused_partial_bytes);
	cr_assert_eq(sums.stitched, stats.stitched_views, "the arena is one");
	cr_assert_eq(sums.slots, stats.mappings);
	cr_assert_eq(sums.owned_bytes, stats.reserved_bytes);
	seam__arena_fini(&pool->engine, &arena);
	close_pool();
}

Test(core_snapshot, the_visitor_may_end_it_anywhere)
{
	open_busy_pool();
	struct sums all = {0};
	cr_assert_ok(seam_snapshot_visit(pool, &visitor, &all));
	for (unsigned i = 1; i <= all.calls; i++) {
		struct sums sums = {.stop_after = i};
		cr_assert_rc(seam_snapshot_visit(pool, &visitor, &sums), SEAM_BUSY);
		cr_assert_eq(sums.calls, i, "it went on");
	}
	struct sums none = {0};
	struct seam_visitor nothing = {0};
	cr_assert_ok(seam_snapshot_visit(pool, &nothing, &none));
	cr_assert_eq(none.calls, 0);
	cr_assert_rc(seam_snapshot_visit(NULL, &visitor, &all), SEAM_INVALID);
	cr_assert_rc(seam_snapshot_visit(pool, NULL, &all), SEAM_INVALID);
	close_pool();
}

static void name_file(char *path, size_t bytes)
{
	const char *folder = getenv("TMPDIR");
	(void)snprintf(path, bytes, "%s/seam-snapshot-%ld.json", folder != NULL ? folder : "/tmp", (long)getpid());
}

Test(core_snapshot, the_text_follows_its_schema)
{
	char path[512];
	struct seam_arena arena;
	open_busy_pool();
	open_arena(&arena);
	name_file(path, sizeof path);
	cr_assert_ok(seam_snapshot_write(pool, path));
	json_t *snapshot = json_schema_load(path);
	json_schema_check(snapshot, SNAPSHOT_SCHEMA);
	const json_t *stats = json_object_get(snapshot, "stats");
	struct seam_stats now = get_stats();
	size_t figures = 0;
#define SEAM_STAT(name, kind, text)                                                        \
	cr_assert(json_is_integer(json_object_get(stats, #name)), "%s is missing", #name); \
	figures++;
#include <seam/stats.def>
#undef SEAM_STAT
#define SEAM_PLAN_STAT(name, kind, text)                                                                \
	cr_assert(json_is_integer(json_object_get(stats, "plan_" #name)), "plan_%s is missing", #name); \
	figures++;
#include <seam/plan_stats.def>
#undef SEAM_PLAN_STAT
	cr_assert_eq(json_object_size(stats), figures);
	cr_assert_eq((uint64_t)json_integer_value(json_object_get(stats, "live_bytes")), now.live_bytes);
	size_t i, j;
	json_t *view, *block;
	uint64_t live = 0, leased = 0;
	json_array_foreach(json_object_get(snapshot, "views"), i, view)
	{
		json_array_foreach(json_object_get(view, "blocks"), j, block)
		{
			if (strcmp(json_string_value(json_object_get(block, "state")), "live") == 0)
				live += (uint64_t)json_integer_value(json_object_get(block, "bytes"));
			if (strcmp(json_string_value(json_object_get(block, "state")), "leased") == 0)
				leased += (uint64_t)json_integer_value(json_object_get(block, "bytes"));
		}
	}
	cr_assert_eq(i, now.views);
	cr_assert_eq(live, now.live_bytes);
	cr_assert_eq(leased, now.unused_leased_bytes);
	seam__arena_fini(&pool->engine, &arena);
	json_decref(snapshot);
	cr_assert_eq(unlink(path), 0);
	close_pool();
}

/* What is reserved by the events so far: each chunk by its address. */
struct account {
	uint64_t next;
	uint64_t vas[64], bytes[64], sum_bytes;
	unsigned made, gone;
};

static void follow(struct account *account)
{
	struct seam_chunk_event events[3];
	size_t count = 0;
	do {
		uint64_t from = account->next;
		cr_assert_ok(seam_chunk_events(pool, &account->next, events, 3, &count));
		cr_assert(from == 0 || account->next == from + count, "nothing is lost");
		for (size_t i = 0; i < count; i++) {
			unsigned at = 0;
			while (at < 64 && account->vas[at] != (events[i].made ? 0 : events[i].va))
				at++;
			cr_assert_lt(at, 64, "what goes had come");
			for (unsigned k = 0; events[i].made && k < 64; k++)
				cr_assert_neq(account->vas[k], events[i].va, "no other chunk is there");
			cr_assert(events[i].made || account->bytes[at] == events[i].bytes);
			account->vas[at] = events[i].made ? events[i].va : 0;
			account->bytes[at] = events[i].bytes;
			account->sum_bytes += events[i].made ? events[i].bytes : -events[i].bytes;
			account->made += events[i].made;
			account->gone += !events[i].made;
		}
	} while (count != 0);
}

Test(core_snapshot, events_tell_what_became_of_chunks)
{
	static struct account account;
	open_pool(MIB(256), "chunk_bytes:2M");
	follow(&account);
	cr_assert_eq(account.next, 1);
	void *ptrs[12];
	for (unsigned i = 0; i < 12; i++)
		ptrs[i] = must_alloc(MIB(2), NULL);
	follow(&account);
	cr_assert_eq(account.made, 12);
	cr_assert_eq(account.vas[0], (uint64_t)(uintptr_t)ptrs[0], "a chunk is where its first block is");
	for (unsigned i = 0; i < 12; i += 2)
		must_free(ptrs[i]);
	void *stitched = must_alloc(MIB(8), NULL);
	cr_assert_eq(get_stats().stitched_views, 1);
	follow(&account);
	cr_assert_eq(account.made, 12, "stitching makes no memory");
	cr_assert_ok(seam_trim(pool, 0, NULL));
	follow(&account);
	cr_assert_eq(account.gone, 2);
	cr_assert_eq(account.sum_bytes, get_stats().reserved_bytes);
	(void)must_alloc(MIB(2), NULL);
	(void)must_alloc(MIB(20), NULL);
	follow(&account);
	cr_assert_eq(account.sum_bytes, get_stats().reserved_bytes);
	cr_assert_eq(account.made, get_stats().chunks_made);
	must_free(stitched);
	cr_assert_ok(seam_trim(pool, 0, NULL));
	follow(&account);
	cr_assert_eq(account.sum_bytes, get_stats().reserved_bytes);
	close_pool();
}

Test(core_snapshot, who_asks_for_events_wrongly_is_told)
{
	struct seam_chunk_event event;
	uint64_t next = 0;
	size_t count = 7;
	open_pool(MIB(64), NULL);
	cr_assert_rc(seam_chunk_events(NULL, &next, &event, 1, &count), SEAM_INVALID);
	cr_assert_rc(seam_chunk_events(pool, NULL, &event, 1, &count), SEAM_INVALID);
	cr_assert_rc(seam_chunk_events(pool, &next, NULL, 1, &count), SEAM_INVALID);
	cr_assert_rc(seam_chunk_events(pool, &next, &event, 1, NULL), SEAM_INVALID);
	seam__meta_fail_at(pool->meta, 1);
	cr_assert_rc(seam_chunk_events(pool, &next, &event, 1, &count), SEAM_OOM_META);
	cr_assert_eq(next, 0);
	cr_assert_eq(count, 7);
	cr_assert_ok(seam_chunk_events(pool, &next, NULL, 0, &count));
	cr_assert_eq(next, 1);
	cr_assert_eq(count, 0);
	close_pool();
	open_plain(MIB(64), NULL);
	cr_assert_rc(seam_chunk_events(pool, &next, &event, 1, &count), SEAM_UNSUPPORTED);
	close_pool();
}

Test(core_snapshot, what_cannot_be_written_is_an_error)
{
	open_busy_pool();
	struct seam_stats before = get_stats();
	cr_assert_rc(seam_snapshot_write(pool, "/nonexistent/folder/file.json"), SEAM_IO);
	cr_assert_rc(seam_snapshot_write(pool, NULL), SEAM_INVALID);
	cr_assert_rc(seam_snapshot_write(NULL, "/nonexistent"), SEAM_INVALID);
	cr_assert_ok(write_snapshot());
	cr_assert_eq(get_stats().metadata_bytes, before.metadata_bytes);
	seam__meta_fail_at(seam__meta_process(), 1);
	cr_assert_rc(write_snapshot(), SEAM_OOM_META);
	close_pool();
}
