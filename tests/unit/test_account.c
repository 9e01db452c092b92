/* test_account.c: what plans may cost, by the figures of account.h. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "account.h"

Test(account, requests_and_hits_earn_and_work_is_paid)
{
	static const struct {
		const char *what;
		int64_t before;
		uint64_t requests, hits, spent, slots; /* since the last time; of the plan */
		int64_t after;
	} rows[] = {
		{"nothing", 700, 0, 0, 0, 2000, 700},
		{"a request earns 4", 700, 10, 0, 0, 2000, 740},
		{"a hit 8 more", 700, 10, 3, 0, 2000, 764},
		{"what is spent goes", 700, 10, 3, 100, 2000, 664},
		{"more than is there", 700, 10, 0, 900, 2000, -160},
		{"what is overdrawn is earned first", -160, 50, 0, 0, 2000, 40},
		{"64 a slot are kept", 127900, 100, 0, 0, 2000, 128000},
		{"of what is left then", 127900, 100, 0, 300, 2000, 128000},
		{"and no more of a shorter plan", 127900, 100, 0, 0, 1500, 96000},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct seam_account account = {.steps = rows[i].before, .requests = 1000, .hits = 900};
		seam__account_add(&account, 1000 + rows[i].requests, 900 + rows[i].hits, rows[i].spent, rows[i].slots);
		cr_expect_eq(account.steps, rows[i].after, "%s: %" PRId64, rows[i].what, account.steps);
		cr_expect(account.requests == 1000 + rows[i].requests && account.hits == 900 + rows[i].hits);
	}
	cr_expect_eq(seam__account_make().steps, 8192);
}
