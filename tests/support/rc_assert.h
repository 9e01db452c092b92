/* rc_assert.h: assertions about what a call returns, which name the call and the error. */
#ifndef SEAM_TESTS_RC_ASSERT_H
#define SEAM_TESTS_RC_ASSERT_H

#include <criterion/criterion.h>

#include <seam/seam.h>

#define cr_assert_ok(call) cr_assert_rc(call, SEAM_OK)
#define cr_assert_rc(call, wanted)                                                                                   \
	do {                                                                                                         \
		enum seam_rc got_rc = (call);                                                                        \
		cr_assert_eq(got_rc, (wanted), "%s: %s, not %s", #call, seam_rc_name(got_rc), seam_rc_name(wanted)); \
	} while (0)

#endif
