/* price.c: the account of mappings; see price.h. */
#include "price.h"

#include "bits.h"
#include "memory.h"

/* After so many requests. */
static uint64_t owed_by(const struct seam_price *price, uint64_t requests)
{
	return price->owed - seam__bits_min(price->owed, requests - price->requests);
}

void seam__price_stitched(struct seam_price *price, uint64_t requests, uint64_t mappings)
{
	price->owed = owed_by(price, requests) + mappings;
	price->requests = requests;
}

void seam__price_refused(struct seam_price *price)
{
	price->owed = 0;
}

void seam__price_note_live(struct seam_price *price, uint64_t live_bytes)
{
	price->live_peak_bytes = seam__bits_max(price->live_peak_bytes, live_bytes);
}

void seam__price_restart(struct seam_price *price)
{
	price->owed = 0;
	price->live_peak_bytes = 0;
}

bool seam__price_favours_growth(
	const struct seam_price *price, const struct seam_memory *memory, uint64_t requests, uint64_t bytes)
{
	if (owed_by(price, requests) <= SEAM_PRICE_MAPPINGS * memory->chunk_count)
		return false;
	const uint64_t most = price->live_peak_bytes + price->live_peak_bytes / SEAM_PRICE_PARTS;
	return memory->reserved_bytes + bytes <= most && seam__memory_room(memory) >= most - memory->reserved_bytes;
}
