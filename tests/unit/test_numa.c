/* test_numa.c: a thread's preference for a node, and a policy that the program chose itself. */
#include <criterion/criterion.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "numa.h"

static int mode_now(void)
{
	int mode = -1;
	return syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL) == 0 ? mode : -1;
}

Test(numa, a_preference_is_in_force_until_it_is_forgotten)
{
	int refused = -1;
	if (!seam__numa_prefer(0, &refused)) {
		cr_assert_neq(refused, 0, "a system without policies says so");
		cr_skip("no memory policies here: errno %d", refused);
	}
	cr_assert_eq(refused, 0);
	cr_expect_eq(mode_now(), MPOL_PREFERRED);
	seam__numa_forget();
	cr_expect_eq(mode_now(), MPOL_DEFAULT);
}

Test(numa, a_node_that_is_not_there_is_refused)
{
	int refused = 0;
	cr_assert_not(seam__numa_prefer(SEAM_NUMA_NODES - 1, &refused));
	cr_expect_neq(refused, 0);
	cr_expect(mode_now() == MPOL_DEFAULT || mode_now() == -1);
}

Test(numa, the_programs_own_policy_stays)
{
	unsigned long node = 1;
	int refused = -1;
	if (syscall(SYS_set_mempolicy, MPOL_BIND, &node, 65UL) != 0)
		cr_skip("no memory policies here");
	cr_expect_not(seam__numa_prefer(0, &refused));
	cr_expect_eq(refused, 0, "nothing was refused");
	cr_expect_eq(mode_now(), MPOL_BIND);
}
