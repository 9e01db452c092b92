/* test_price.c: the account of mappings that stitching makes, and when it favours growth. */
#include <criterion/criterion.h>

#include "memory.h"
#include "price.h"

#define MIB(n) ((uint64_t)(n) << 20)

static struct seam_price price;
static struct seam_memory memory;

/* A pool of 50 chunks, 100 MiB, on a device of 1 GiB; all of it was live. */
static void make_pool(void)
{
	price = (struct seam_price){.live_peak_bytes = MIB(100)};
	memory = (struct seam_memory){
		.chunk_count = 50, .reserved_bytes = MIB(100), .capacity_bytes = UINT64_MAX, .device_bytes = MIB(1024)};
}

TestSuite(price, .init = make_pool);

#define REQUESTS 1000u /* so many were served */

static bool favours(uint64_t bytes)
{
	return seam__price_favours_growth(&price, &memory, REQUESTS, bytes);
}

static void stitch(uint64_t mappings)
{
	seam__price_stitched(&price, REQUESTS, mappings);
}

Test(price, growth_is_favoured_from_the_first_mapping_beyond_those_of_the_pool)
{
	cr_expect_not(favours(MIB(2)));
	stitch(SEAM_PRICE_MAPPINGS * 50);
	cr_expect_not(favours(MIB(2)));
	stitch(1);
	cr_expect(favours(MIB(2)));
	memory.chunk_count++;
	cr_expect_not(favours(MIB(2)), "a larger pool may stitch more");
}

Test(price, a_request_pays_for_a_mapping)
{
	seam__price_stitched(&price, REQUESTS - 10, SEAM_PRICE_MAPPINGS * 50 + 10);
	cr_expect_not(favours(MIB(2)));
	stitch(1);
	cr_expect(favours(MIB(2)), "a request pays once");
}

Test(price, requests_do_not_pay_ahead)
{
	stitch(SEAM_PRICE_MAPPINGS * 50 + 1);
	cr_expect(favours(MIB(2)));
}

Test(price, the_pool_grows_to_a_tenth_above_the_most_that_lived)
{
	stitch(1000);
	cr_expect(favours(MIB(10)));
	cr_expect_not(favours(MIB(10) + 1));
	memory.reserved_bytes = MIB(110);
	cr_expect_not(favours(1));
}

Test(price, the_most_that_was_live_counts)
{
	stitch(1000);
	seam__price_note_live(&price, MIB(200));
	seam__price_note_live(&price, MIB(100));
	cr_expect(favours(MIB(120)));
	cr_expect_not(favours(MIB(122)));
}

Test(price, a_pool_that_was_trimmed_begins_anew)
{
	stitch(1000);
	seam__price_restart(&price);
	cr_expect_not(favours(MIB(2)), "mappings are owed");
	stitch(1000);
	memory.reserved_bytes = MIB(20);
	seam__price_note_live(&price, MIB(20));
	cr_expect(favours(MIB(2)));
	cr_expect_not(favours(MIB(4)), "what was live before is asked for again");
}

Test(price, the_device_needs_room_for_the_whole_tenth)
{
	stitch(1000);
	memory.device_bytes = MIB(110);
	cr_expect(favours(MIB(2)));
	memory.device_bytes = MIB(110) - 1;
	cr_expect_not(favours(MIB(2)));
	memory.device_bytes = UINT64_MAX;
	memory.capacity_bytes = MIB(109);
	cr_expect_not(favours(MIB(2)));
}

Test(price, growth_that_is_refused_gives_the_mappings_back)
{
	stitch(1000);
	seam__price_refused(&price);
	stitch(SEAM_PRICE_MAPPINGS * 50);
	cr_expect_not(favours(MIB(2)));
	stitch(1);
	cr_expect(favours(MIB(2)));
}
