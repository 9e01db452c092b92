/* pickle_fixture.h: reading a pickle that must be right, for the tests of the reader. */
#ifndef SEAM_TESTS_PICKLE_FIXTURE_H
#define SEAM_TESTS_PICKLE_FIXTURE_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "pickle.h"
#include "trace_sample.h"

#define BYTES(text) (text), sizeof(text) - 1

__attribute__((unused)) static struct seam_pickle *read_ok(const char *name, const void *data, size_t bytes)
{
	struct seam_pickle *pickle = NULL;
	struct seam_trace_error error = {0};
	enum seam_rc rc = seam__pickle_read(data, bytes, &error, &pickle);
	cr_assert_eq(rc, SEAM_OK, "%s: %s", name, error.text);
	cr_assert_null(seam__pickle_check(pickle), "%s: %s", name, seam__pickle_check(pickle));
	return pickle;
}

#endif
