/* test_worker_share.c: the processor time that workers may take, and whose it is. */
#include <criterion/criterion.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker_share.h"

Test(worker_share, is_a_quarter_of_what_the_program_took)
{
	cr_expect_not(seam__workers_may_go_on(0), "nothing was earned");
	cr_expect(seam__workers_may_go_on(1));
	seam__workers_add(60);
	seam__workers_add(40);
	cr_expect_not(seam__workers_may_go_on(500), "400 of the program, 100 of the workers");
	cr_expect(seam__workers_may_go_on(501));
	cr_expect_not(seam__workers_may_go_on(500), "the question changes nothing");
	cr_expect_not(seam__workers_may_go_on(100), "the program took nothing");
}

/* A child's processor time begins with 0. */
Test(worker_share, a_child_of_the_process_has_its_own)
{
	int status = 0;
	seam__workers_add(1000);
	const pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0)
		_exit(seam__workers_may_go_on(1500) && seam__workers_may_go_on(10) ? 0 : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect_not(seam__workers_may_go_on(5000));
}
