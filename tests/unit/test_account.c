/* test_account.c: what plans may cost, by the figures of account.h. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "account.h"

Test(account, requests_and_hits_earn_and_work_is_paid)
{
	static const struct {
		const char *what;
		int64_t before;
		struct seam_earnings more; /* since the last time */
		uint64_t spent, slots;     /* of the plan */
		bool calls_cost;
		int64_t after;
	} rows[] = {
		{"nothing", 700, {0, 0, 0}, 0, 2000, false, 700},
		{"a request earns 4", 700, {10, 0, 0}, 0, 2000, false, 740},
		{"a hit 8 more", 700, {10, 3, 0}, 0, 2000, false, 764},
		{"a driver call 5", 700, {10, 0, 7}, 0, 2000, false, 775},
		{"or costs 5", 700, {10, 0, 7}, 0, 2000, true, 705},
		{"more of them than is there", 700, {0, 2, 200}, 0, 2000, true, -284},
		{"what is spent goes", 700, {10, 3, 0}, 100, 2000, false, 664},
		{"more than is there", 700, {10, 0, 0}, 900, 2000, false, -160},
		{"what is overdrawn is earned first", -160, {50, 0, 0}, 0, 2000, false, 40},
		{"64 a slot are kept", 127900, {100, 0, 0}, 0, 2000, false, 128000},
		{"of what is left then", 127900, {100, 0, 0}, 300, 2000, false, 128000},
		{"and no more of a shorter plan", 127900, {100, 0, 0}, 0, 1500, false, 96000},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct seam_earnings *more = &rows[i].more;
		const struct seam_earnings now = {1000 + more->requests, 900 + more->hits, 70 + more->calls};
		struct seam_account account = {rows[i].before, {1000, 900, 70}};
		seam__account_add(&account, &now, rows[i].calls_cost, rows[i].spent, rows[i].slots);
		cr_expect_eq(account.steps, rows[i].after, "%s: %" PRId64, rows[i].what, account.steps);
		cr_expect(account.counted.requests == now.requests && account.counted.hits == now.hits &&
			account.counted.calls == now.calls);
	}
	cr_expect_eq(seam__account_make().steps, 8192);
}
