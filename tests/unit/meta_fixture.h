/* meta_fixture.h: a metadata domain for each test of a file, of which nothing may be left behind it, nor of the
 * process's own.
 *
 * A failed assertion in a .fini is printed by Criterion and fails nothing; an abort there does.
 */
#ifndef SEAM_TESTS_META_FIXTURE_H
#define SEAM_TESTS_META_FIXTURE_H

#include <criterion/criterion.h>

#include "check.h"
#include "meta.h"

static struct seam_meta *meta;

static void set_up(void)
{
	meta = seam__meta_create(0);
	cr_assert_not_null(meta);
}

static void tear_down(void)
{
	struct seam_meta_stats process;
	seam__meta_get_stats(seam__meta_process(), &process);
	SEAM_VERIFY(seam__meta_destroy(meta) == 0);
	SEAM_VERIFY(process.live_bytes == 0);
}

#endif
