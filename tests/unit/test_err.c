/* test_err.c: every result code has a name and a text of its own. */
#include <criterion/criterion.h>
#include <string.h>

#include <seam/rc.h>

Test(err, every_code_has_name_and_text)
{
	for (int rc = 0; rc < SEAM_RC_COUNT; rc++) {
		const char *name = seam_rc_name((enum seam_rc)rc);
		const char *text = seam_rc_text((enum seam_rc)rc);
		cr_assert(strncmp(name, "SEAM_", 5) == 0 && strlen(name) > 6, "code %d has the name %s", rc, name);
		cr_assert(strlen(text) > 3, "%s has no text", name);
		cr_assert(text[strlen(text) - 1] != '.', "%s: the text ends in a full stop", name);
	}
}

Test(err, names_are_different)
{
	for (int a = 0; a < SEAM_RC_COUNT; a++) {
		for (int b = a + 1; b < SEAM_RC_COUNT; b++)
			cr_assert_str_neq(
				seam_rc_name((enum seam_rc)a), seam_rc_name((enum seam_rc)b), "codes %d, %d", a, b);
	}
}

Test(err, ok_is_zero_and_named)
{
	cr_assert_eq((int)SEAM_OK, 0);
	cr_assert_str_eq(seam_rc_name(SEAM_OOM_DEVICE), "SEAM_OOM_DEVICE");
}

Test(err, foreign_numbers_are_survived)
{
	cr_assert_str_eq(seam_rc_name(SEAM_RC_COUNT), "SEAM_?");
	cr_assert_str_eq(seam_rc_name((enum seam_rc) - 1), "SEAM_?");
	cr_assert_str_eq(seam_rc_text((enum seam_rc)1000), "unknown result code");
}
