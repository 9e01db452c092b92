/* account.c: what is earned and spent; see account.h. */
#include "account.h"

void seam__account_add(struct seam_account *account, const struct seam_earnings *now, bool calls_cost,
	uint64_t spent_steps, uint64_t slots)
{
	const struct seam_earnings *before = &account->counted;
	const uint64_t earned =
		SEAM_EARNED_STEPS * (now->requests - before->requests) + SEAM_HIT_STEPS * (now->hits - before->hits);
	const int64_t calls = SEAM_CALL_STEPS * (int64_t)(now->calls - before->calls);
	account->steps += (int64_t)earned - (int64_t)spent_steps + (calls_cost ? -calls : calls);
	if (account->steps > seam__account_most(slots))
		account->steps = seam__account_most(slots);
	account->counted = *now;
}
