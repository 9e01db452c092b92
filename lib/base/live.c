/* live.c: see live.h. */
#include "live.h"

#include "bits.h"
#include "check.h"
#include "meta.h"

#define LEAST_PLACES UINT64_C(64)

/* The highest bits pick the place. Two multiplications: with one, equal blocks beside each other lie in long runs where
 * their size is near a Fibonacci number of units. */
static uint64_t own_place(const struct seam_live *live, uint64_t va)
{
	uint64_t hash = va * UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return hash >> live->shift;
}

static uint64_t next_place(const struct seam_live *live, uint64_t at)
{
	return (at + 1) & (live->capacity - 1);
}

/* Where `va` is, or else the empty place where it would be. */
static uint64_t place_of(const struct seam_live *live, uint64_t va)
{
	uint64_t at = own_place(live, va);
	while (live->places[at].va != 0 && live->places[at].va != va)
		at = next_place(live, at);
	return at;
}

void seam__live_fini(struct seam_live *live, struct seam_meta *meta)
{
	seam__meta_free(meta, live->places, live->capacity * sizeof *live->places);
	*live = (struct seam_live){0};
}

static void put(struct seam_live *live, const struct seam_live_place *place)
{
	const uint64_t at = place_of(live, place->va);
	SEAM_ASSERT(live->places[at].va == 0);
	live->places[at] = *place;
}

enum seam_rc seam__live_reserve(struct seam_live *live, struct seam_meta *meta, uint64_t count)
{
	if (__builtin_expect((live->count + count) * 2 <= live->capacity, 1))
		return SEAM_OK;
	struct seam_live larger = {.count = live->count, .capacity = seam__bits_max(live->capacity, LEAST_PLACES)};
	while ((live->count + count) * 2 > larger.capacity)
		larger.capacity *= 2;
	larger.shift = 64 - seam__bits_log2(larger.capacity);
	larger.places = seam__meta_array(meta, larger.capacity, sizeof *larger.places);
	if (larger.places == NULL)
		return SEAM_OOM_META;
	for (uint64_t i = 0; i < live->capacity; i++) {
		if (live->places[i].va != 0)
			put(&larger, &live->places[i]);
	}
	seam__live_fini(live, meta);
	*live = larger;
	return SEAM_OK;
}

void seam__live_insert(struct seam_live *live, uint64_t va, void *node)
{
	SEAM_ASSERT(va != 0 && live->count * 2 < live->capacity);
	put(live, &(struct seam_live_place){va, node});
	live->count++;
}

void seam__live_remove(struct seam_live *live, uint64_t va)
{
	uint64_t gap = place_of(live, va);
	SEAM_ASSERT(live->places[gap].va == va);
	for (uint64_t at = next_place(live, gap); live->places[at].va != 0; at = next_place(live, at)) {
		/* Whoever's own place lies behind the gap stays. */
		const uint64_t own = own_place(live, live->places[at].va);
		if (((at - own) & (live->capacity - 1)) < ((at - gap) & (live->capacity - 1)))
			continue;
		live->places[gap] = live->places[at];
		gap = at;
	}
	live->places[gap] = (struct seam_live_place){0};
	live->count--;
}

void *seam__live_at(const struct seam_live *live, uint64_t va)
{
	if (va == 0 || live->capacity == 0)
		return NULL;
	const struct seam_live_place *place = &live->places[place_of(live, va)];
	return place->va == va ? place->node : NULL;
}

void *seam__live_next(const struct seam_live *live, uint64_t *at)
{
	while (*at < live->capacity) {
		const struct seam_live_place *place = &live->places[(*at)++];
		if (place->va != 0)
			return place->node;
	}
	return NULL;
}

const char *seam__live_check(const struct seam_live *live)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < live->capacity; i++) {
		const struct seam_live_place *place = &live->places[i];
		if (place->va == 0)
			continue;
		if (place_of(live, place->va) != i)
			return "LV1: a live block is not where its address says";
		count++;
	}
	if (count != live->count || count * 2 > live->capacity)
		return "LV2: the count of live blocks";
	return NULL;
}
