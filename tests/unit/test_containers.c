/* test_containers.c: the wrapped tree and hash table work with the library's memory rules (list.h only forwards). */
#include <criterion/criterion.h>

#include "hash.h"
#include "list.h"
#include "tree.h"

struct item {
	uint64_t size;
	uint64_t va;
	RB_ENTRY(item) link;
	TAILQ_ENTRY(item) lru;
	UT_hash_handle by_va;
};

static int compare(const struct item *a, const struct item *b)
{
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->va < b->va ? -1 : a->va > b->va;
}

SEAM_TREE_HEAD(item_tree, struct item);
SEAM_TREE_GENERATE(item_tree, item, link, compare)

TAILQ_HEAD(item_list, item);

Test(containers, best_fit_is_the_least_that_is_not_less)
{
	static struct item items[100];
	struct item_tree tree = {NULL};
	for (uint64_t i = 0; i < 100; i++) {
		items[i] = (struct item){.size = (i * 37 % 50) * 10, .va = i};
		cr_assert_null(RB_INSERT(item_tree, &tree, &items[i]), "item %d", (int)i);
	}
	for (uint64_t wanted = 0; wanted <= 500; wanted++) {
		struct item key = {.size = wanted};
		struct item *found = RB_NFIND(item_tree, &tree, &key);
		if (wanted > 490) {
			cr_assert_null(found, "size %d", (int)wanted);
			continue;
		}
		cr_assert_eq(found->size, (wanted + 9) / 10 * 10, "size %d", (int)wanted);
		struct item *before = RB_PREV(item_tree, &tree, found);
		cr_assert(
			before == NULL || before->size < wanted, "size %d: ties go to the lowest address", (int)wanted);
	}
	struct item *item;
	struct item *next;
	uint64_t last = 0;
	RB_FOREACH_SAFE(item, item_tree, &tree, next)
	{
		cr_assert_geq(item->size, last);
		last = item->size;
		RB_REMOVE(item_tree, &tree, item);
	}
	cr_assert(RB_EMPTY(&tree));
}

Test(containers, lists_allow_removal_on_the_way)
{
	static struct item items[10];
	struct item_list list = TAILQ_HEAD_INITIALIZER(list);
	for (int i = 0; i < 10; i++)
		TAILQ_INSERT_TAIL(&list, &items[i], lru);
	struct item *item;
	struct item *next;
	int seen = 0;
	TAILQ_FOREACH_SAFE(item, &list, lru, next)
	{
		cr_assert_eq(item, &items[seen++]);
		TAILQ_REMOVE(&list, item, lru);
	}
	cr_assert_eq(seen, 10);
	cr_assert(TAILQ_EMPTY(&list));
}

Test(containers, a_hash_table_pays_with_metadata_and_fails_by_value)
{
	static struct item items[1000];
	struct seam_meta *hash_meta = seam__meta_create(0);
	uint64_t failures = 0;
	for (uint64_t n = 1;; n++) {
		struct item *table = NULL;
		uint64_t failed_inserts = 0;
		seam__meta_fail_at(hash_meta, n);
		for (uint64_t i = 0; i < 1000; i++) {
			bool hash_failed = false;
			struct item *item = &items[i];
			item->va = i << 21;
			HASH_ADD(by_va, table, va, sizeof(item->va), item);
			failed_inserts += hash_failed;
			struct item *found;
			HASH_FIND(by_va, table, &item->va, sizeof(item->va), found);
			cr_assert_eq(found, hash_failed ? NULL : item, "allocation %d, item %d", (int)n, (int)i);
		}
		cr_assert_eq(HASH_CNT(by_va, table), 1000 - failed_inserts);
		HASH_CLEAR(by_va, table);
		struct seam_meta_stats stats;
		seam__meta_get_stats(hash_meta, &stats);
		cr_assert_eq(stats.live_bytes, 0, "allocation %d", (int)n);
		if (seam__meta_fail_left(hash_meta) != 0)
			break;
		failures++;
	}
	cr_assert_gt(failures, 2);
	seam__meta_fail_at(hash_meta, 0);
	cr_assert_eq(seam__meta_destroy(hash_meta), 0);
}
