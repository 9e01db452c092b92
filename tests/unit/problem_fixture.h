/* problem_fixture.h: a metadata domain for each test of a file, and a placement problem in it. */
#ifndef SEAM_TESTS_PROBLEM_FIXTURE_H
#define SEAM_TESTS_PROBLEM_FIXTURE_H

#include "meta_fixture.h"
#include "problem.h"

static struct seam_problem problem;

static void tear_down_problem(void)
{
	seam__problem_fini(&problem);
	tear_down();
}

#endif
