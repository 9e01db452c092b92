/* test_strings.c: sections of interned strings; what a trace's builder does with them stands in test_trace_builder.c.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "meta.h"
#include "strings.h"

Test(strings, equal_ones_have_one_place)
{
	struct seam_strings strings;
	uint32_t first;
	uint32_t second;
	uint32_t again;
	cr_assert_eq(seam__strings_init(&strings), SEAM_OK);
	cr_assert_eq(seam__strings_intern(&strings, "a", &first), SEAM_OK);
	cr_assert_eq(seam__strings_intern(&strings, "ab", &second), SEAM_OK);
	cr_assert_eq(seam__strings_intern(&strings, "a", &again), SEAM_OK);
	cr_assert_eq(again, first);
	cr_assert_eq(strings.section.count, 6);
	cr_assert_arr_eq(strings.section.items, "\0a\0ab\0", 6);
	cr_assert_eq(seam__strings_intern(&strings, "", &again), SEAM_OK);
	cr_assert_eq(again, 0);
	static const int begins[] = {1, 1, 0, 1, 0, 0, 0};
	for (uint32_t at = 0; at < 7; at++)
		cr_assert_eq(seam__strings_begins(strings.section.items, 6, at), begins[at], "offset %u", at);
	seam__strings_fini(&strings);
}

Test(strings, a_failed_allocation_adds_nothing)
{
	struct seam_strings strings;
	struct seam_meta *meta = seam__meta_process();
	bool fired = true;
	for (uint64_t n = 1; fired; n++) {
		uint32_t offset = 99;
		seam__meta_fail_at(meta, n);
		enum seam_rc rc = seam__strings_init(&strings);
		const bool there = rc == SEAM_OK;
		if (there)
			rc = seam__strings_intern(&strings, "a text that is longer than the first capacity", &offset);
		fired = seam__meta_fail_left(meta) == 0;
		seam__meta_fail_at(meta, 0);
		cr_assert_eq(rc, fired ? SEAM_OOM_META : SEAM_OK, "failure %llu", (unsigned long long)n);
		if (there && fired)
			cr_assert(offset == 99 && strings.section.count == 1, "failure %llu", (unsigned long long)n);
		if (there)
			seam__strings_fini(&strings);
	}
}
