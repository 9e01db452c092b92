/* test_meta.c: accounts, limits, injected failures and threads of metadata domains. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "check.h"
#include "meta.h"

static struct seam_meta *meta;

static void open_meta(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void close_meta(void)
{
	SEAM_VERIFY(seam__meta_check(meta) == NULL);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
}

TestSuite(meta, .init = open_meta, .fini = close_meta);

static struct seam_meta_stats stats(void)
{
	struct seam_meta_stats now;
	seam__meta_get_stats(meta, &now);
	return now;
}

Test(meta, memory_is_zeroed_aligned_and_counted)
{
	static const size_t sizes[] = {1, 8, 24, 100, 4096, 65536, 300000};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* Twice, so that the second one may be recycled memory. */
		for (int round = 0; round < 2; round++) {
			unsigned char *bytes = seam__meta_alloc(meta, sizes[i]);
			cr_assert_not_null(bytes, "%zu bytes", sizes[i]);
			cr_assert_eq((uintptr_t)bytes % (sizes[i] >= 16 ? 16 : 8), 0, "%zu bytes", sizes[i]);
			for (size_t k = 0; k < sizes[i]; k++)
				cr_assert_eq(bytes[k], 0, "byte %zu of %zu", k, sizes[i]);
			memset(bytes, 0xa5, sizes[i]);
			cr_assert_eq(stats().live_bytes, sizes[i]);
			cr_assert_eq(stats().live_blocks, 1);
			seam__meta_free(meta, bytes, sizes[i]);
		}
	}
	cr_assert_eq(stats().live_bytes, 0);
	cr_assert_eq(stats().peak_bytes, 300000);
	cr_assert_eq(stats().alloc_calls, 14);
}

Test(meta, an_array_that_overflows_is_refused)
{
	/* The product wraps to 16: an unchecked one would be served. */
	cr_assert_null(seam__meta_array(meta, SIZE_MAX / 16 + 2, 16));
	cr_assert_eq(stats().failed_calls, 1);
	cr_assert_eq(stats().live_bytes, 0);
	uint32_t *numbers = seam__meta_array(meta, 10, sizeof(*numbers));
	cr_assert_not_null(numbers);
	cr_assert_eq(stats().live_bytes, 40);
	seam__meta_free(meta, numbers, 40);
}

Test(meta, the_limit_holds_to_the_byte)
{
	seam__meta_set_limit(meta, 1000);
	void *first = seam__meta_alloc(meta, 600);
	cr_assert_not_null(first);
	cr_assert_null(seam__meta_alloc(meta, 401));
	void *second = seam__meta_alloc(meta, 400);
	cr_assert_not_null(second, "exactly the limit is allowed");
	cr_assert_null(seam__meta_alloc(meta, 1));
	seam__meta_set_limit(meta, 500);
	cr_assert_null(seam__meta_alloc(meta, 1), "live is above a lowered limit");
	seam__meta_free(meta, first, 600);
	void *third = seam__meta_alloc(meta, 100);
	cr_assert_not_null(third);
	seam__meta_free(meta, second, 400);
	seam__meta_free(meta, third, 100);
	cr_assert_eq(stats().failed_calls, 3);
	cr_assert_eq(stats().peak_bytes, 1000);
}

Test(meta, the_nth_allocation_fails_once)
{
	void *blocks[5];
	seam__meta_fail_at(meta, 3);
	for (int i = 0; i < 5; i++) {
		blocks[i] = seam__meta_alloc(meta, 8);
		cr_assert_eq(blocks[i] == NULL, i == 2, "allocation %d", i);
		cr_assert_eq(seam__meta_fail_left(meta), i < 2 ? 2 - (uint64_t)i : 0, "after allocation %d", i);
	}
	for (int i = 0; i < 5; i++)
		seam__meta_free(meta, blocks[i], 8);
}

Test(meta, resize_keeps_the_content_and_zeroes_the_rest)
{
	char *text = seam__meta_resize(meta, NULL, 0, 4);
	cr_assert_not_null(text);
	memcpy(text, "abcd", 4);
	char *grown = seam__meta_resize(meta, text, 4, 100);
	cr_assert_not_null(grown);
	cr_assert_eq(memcmp(grown, "abcd", 4), 0);
	for (int i = 4; i < 100; i++)
		cr_assert_eq(grown[i], 0, "byte %d", i);
	seam__meta_fail_at(meta, 1);
	cr_assert_null(seam__meta_resize(meta, grown, 100, 200));
	cr_assert_eq(grown[3], 'd', "a failed resize leaves the old memory");
	char *shrunk = seam__meta_resize(meta, grown, 100, 2);
	cr_assert_eq(memcmp(shrunk, "ab", 2), 0);
	cr_assert_eq(stats().live_bytes, 2);
	seam__meta_free(meta, shrunk, 2);
}

Test(meta, peak_can_be_reset)
{
	void *block = seam__meta_alloc(meta, 5000);
	seam__meta_free(meta, block, 5000);
	cr_assert_eq(stats().peak_bytes, 5000);
	seam__meta_reset_peak(meta);
	cr_assert_eq(stats().peak_bytes, 0);
}

Test(meta, domains_do_not_share_accounts)
{
	struct seam_meta *other = seam__meta_create(64);
	cr_assert_not_null(other);
	void *block = seam__meta_alloc(other, 64);
	cr_assert_not_null(block);
	cr_assert_eq(stats().live_bytes, 0);
	cr_assert_null(seam__meta_alloc(other, 1));
	seam__meta_free(other, block, 64);
	cr_assert_eq(seam__meta_destroy(other), 0);
	cr_assert_neq(seam__meta_process(), meta);
	cr_assert_eq(seam__meta_process(), seam__meta_process());
}

#if SEAM_CHECKS >= 1
/* The account alone would not tell: others have bytes in it too. */
Test(meta, a_free_that_gives_another_size_aborts, .signal = SIGABRT)
{
	void *block = seam__meta_alloc(meta, 100);
	cr_assert_not_null(seam__meta_alloc(meta, 1000));
	seam__check_set_hook(NULL);
	seam__meta_free(meta, block, 101);
}

Test(meta, a_write_behind_a_block_aborts_at_its_free, .signal = SIGABRT)
{
	unsigned char *block = seam__meta_alloc(meta, 100);
	seam__check_set_hook(NULL);
	block[100]++;
	seam__meta_free(meta, block, 100);
}
#endif

Test(meta, destroying_null_is_nothing)
{
	cr_assert_eq(seam__meta_destroy(NULL), 0);
	seam__meta_free(meta, NULL, 5);
}

static void *hammer(void *argument)
{
	(void)argument;
	void *blocks[64] = {NULL};
	for (size_t step = 0; step < 20000; step++) {
		size_t slot = step * 7 % 64;
		seam__meta_free(meta, blocks[slot], 16 + slot);
		blocks[slot] = seam__meta_alloc(meta, 16 + slot);
	}
	for (size_t slot = 0; slot < 64; slot++)
		seam__meta_free(meta, blocks[slot], 16 + slot);
	return NULL;
}

Test(meta, threads_never_pass_the_limit_and_lose_nothing)
{
	pthread_t threads[4];
	/* Less than one thread alone wants (64 blocks, about 3,000 bytes): the limit is met however they are scheduled.
	 */
	seam__meta_set_limit(meta, 2500);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, hammer, NULL), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_join(threads[i], NULL), 0);
	cr_assert_eq(stats().live_bytes, 0);
	cr_assert_eq(stats().live_blocks, 0);
	cr_assert_leq(stats().peak_bytes, 2500);
	cr_assert_gt(stats().failed_calls, 0, "the limit was never met, so nothing was tested");
}
