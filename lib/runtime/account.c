/* account.c: what is earned and spent; see account.h. */
#include "account.h"

void seam__account_add(
	struct seam_account *account, uint64_t requests, uint64_t hits, uint64_t spent_steps, uint64_t slots)
{
	const uint64_t earned =
		SEAM_EARNED_STEPS * (requests - account->requests) + SEAM_HIT_STEPS * (hits - account->hits);
	account->steps += (int64_t)earned - (int64_t)spent_steps;
	if (account->steps > seam__account_most(slots))
		account->steps = seam__account_most(slots);
	account->requests = requests;
	account->hits = hits;
}
