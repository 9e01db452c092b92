/* test_lanes_equal.c: requests of one size that are taken for each other: where one was left out or two were swapped,
 * what follows has its place. */
#include "matcher_fixture.h"
#include "planned.h"

static struct seam_planned *hit_slot(uint64_t bytes, uint32_t slot)
{
	struct seam_planned *planned = hit(bytes);
	cr_assert_eq(planned->number, slot, "%llu bytes: slot %u instead of %u", (unsigned long long)bytes,
		planned->number, slot);
	return planned;
}

/* b is short-lived, d and e live long. */
static const char layer[] = "b4096 c1024 d4096 -b e4096 f2048 g512 -f -g -c -d -e";

Test(lanes_equal, a_layer_that_is_as_planned_has_its_slots)
{
	open_with(layer);
	struct seam_planned *b = hit_slot(4096, 0), *c = hit_slot(1024, 1), *d = hit_slot(4096, 2);
	give(b);
	struct seam_planned *e = hit_slot(4096, 3), *f = hit_slot(2048, 4), *g = hit_slot(512, 5);
	give(f), give(g), give(c), give(d), give(e);
	close_all();
}

/* b is swapped with its neighbour and taken for d, and d for e. When b is freed so soon it is plain what it was: the
 * place of d is e's. */
Test(lanes_equal, a_free_tells_which_of_two_that_were_swapped_a_block_is)
{
	open_with(layer);
	struct seam_planned *c = hit_slot(1024, 1), *b = hit_slot(4096, 2), *d = hit_slot(4096, 3);
	give(b);
	struct seam_planned *e = hit_slot(4096, 2), *f = hit_slot(2048, 4), *g = hit_slot(512, 5);
	give(f), give(g), give(c), give(d), give(e);
	give(hit_slot(4096, 0));
	close_all();
}

/* a is left out, b taken for it, c for b. When that is freed, which only c's own request and free stand before, c has
 * come and gone. */
Test(lanes_equal, a_free_tells_that_the_next_request_has_come_already)
{
	open_with("a512 b512 c512 -c -b d512 e512 f4096 -a -d -e -f");
	struct seam_planned *b = hit_slot(512, 0), *c = hit_slot(512, 1);
	give(c), give(b);
	struct seam_planned *d = hit_slot(512, 3), *e = hit_slot(512, 4), *f = hit_slot(4096, 5);
	give(d), give(e), give(f);
	give(hit_slot(512, 0));
	close_all();
}

/* What others serve is taken back at once: that is no free of the program's. */
Test(lanes_equal, what_others_serve_says_nothing_of_lifetimes)
{
	open_with("a512 b512 c512 -c -b d512 e512 f4096 -a -d -e -f");
	for (unsigned i = 0; i < 2; i++) {
		const struct seam_match_ask ask = {.bytes = 512};
		cr_assert(seam__matcher_follow(player.matcher, &ask).found);
		check_matcher();
	}
	give(hit_slot(512, 2));
	struct seam_planned *d = hit_slot(512, 3);
	give(d);
	close_all();
}

/* The same free where the next request is of another size: it is still to come. */
Test(lanes_equal, a_free_says_nothing_of_other_sizes)
{
	open_with("a512 b512 c1024 -c -b d1024 e512 f4096 -a -d -e -f");
	struct seam_planned *a = hit_slot(512, 0);
	give(hit_slot(512, 1));
	give(hit_slot(1024, 2));
	struct seam_planned *d = hit_slot(1024, 3);
	give(a), give(d);
	close_all();
}

/* The next request comes and goes, but a is freed long before its time: nothing says that it was b. */
Test(lanes_equal, a_free_long_before_its_time_says_nothing_of_the_next_request)
{
	open_with("a512 b512 -b c512 d512 e4096 -a -c -d -e");
	give(hit_slot(512, 0));
	give(hit_slot(512, 1));
	struct seam_planned *c = hit_slot(512, 2), *d = hit_slot(512, 3), *e = hit_slot(4096, 4);
	give(c), give(d), give(e);
	close_all();
}

/* b was over when d was asked for: d is freed early, and b still to come. */
Test(lanes_equal, a_block_was_none_that_ended_before_it)
{
	open_with("a4096 b4096 -b c1024 d4096 e2048 f4096 -a -c -d -e -f");
	struct seam_planned *a = hit_slot(4096, 0), *c = hit_slot(1024, 2);
	give(hit_slot(4096, 3));
	struct seam_planned *b = hit_slot(4096, 1), *e = hit_slot(2048, 4), *f = hit_slot(4096, 5);
	give(a), give(b), give(c), give(e), give(f);
	close_all();
}

/* b lives much longer than d, which is freed a little early. */
Test(lanes_equal, a_block_was_none_that_ends_much_later)
{
	open_with("b4096 c1024 d4096 e2048 f1024 -d -c -e -f g512 -g h512 -h -b");
	struct seam_planned *c = hit_slot(1024, 1);
	give(hit_slot(4096, 2));
	struct seam_planned *b = hit_slot(4096, 0), *e = hit_slot(2048, 3), *f = hit_slot(1024, 4);
	give(c), give(e), give(f), give(b);
	close_all();
}

/* b is left out long before d is: what comes then is e, which lives on, not b so late. */
Test(lanes_equal, a_slot_just_ahead_is_likelier_than_one_that_was_passed_over_long_ago)
{
	open_with(
		"a4096 b1024 -b -a c512 -c c1536 -c c2560 -c c3584 -c c4608 -c c5632 -c c6656 -c c7680 -c c8704 -c c9728 -c c10752 -c c11776 -c c12800 -c "
		"c13824 -c c14848 -c c15872 -c d4096 e1024 f2048 -d -e -f");
	give(hit_slot(4096, 0));
	for (uint32_t i = 0; i < 16; i++)
		give(hit_slot(512 + i * UINT64_C(1024), 2 + i));
	struct seam_planned *e = hit_slot(1024, 19), *f = hit_slot(2048, 20);
	give(e), give(f);
	give(hit_slot(4096, 0));
	close_all();
}

/* Soon after it is that one, which was only late. */
Test(lanes_equal, a_slot_that_was_passed_over_just_now_is_likelier_than_one_ahead)
{
	open_with("a4096 b1024 -a c512 d4096 e1024 -b -c -d -e");
	give(hit_slot(4096, 0));
	struct seam_planned *c = hit_slot(512, 2), *b = hit_slot(1024, 1), *d = hit_slot(4096, 3),
			    *e = hit_slot(1024, 4);
	give(b), give(c), give(d), give(e);
	close_all();
}
