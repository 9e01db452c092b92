/* record_residents.c: see record_residents.h. */
#include "record_residents.h"

#include <string.h>

#include "meta.h"
#include "record_log.h"

#define FIRST_RESIDENTS UINT64_C(64)
#define FEW_DEAD UINT64_C(1024) /* not worth moving the others */

void seam__record_residents_init(struct seam_record_residents *residents, struct seam_meta *meta, uint64_t limit_bytes)
{
	*residents = (struct seam_record_residents){.meta = meta, .limit_bytes = limit_bytes};
}

void seam__record_residents_fini(struct seam_record_residents *residents)
{
	seam__meta_free(residents->meta, residents->items, seam__record_residents_bytes(residents));
	residents->items = NULL;
	residents->count = residents->capacity = residents->dead = 0;
}

/* Copies those that live to `to`, which may be where they stand. Returns their number. */
static uint64_t compact(const struct seam_record_residents *residents, struct seam_record_resident *to)
{
	uint64_t live = 0;
	for (uint64_t i = 0; i < residents->count; i++) {
		if (!residents->items[i].dead)
			to[live++] = residents->items[i];
	}
	return live;
}

enum seam_rc seam__record_residents_reserve(
	struct seam_meta *meta, uint64_t count, struct seam_record_residents *ret_copy)
{
	struct seam_record_residents copy = {.meta = meta, .limit_bytes = UINT64_MAX, .capacity = count};
	if (count > 0) {
		copy.items = seam__meta_array(meta, count, sizeof *copy.items);
		if (copy.items == NULL)
			return SEAM_OOM_META;
	}
	*ret_copy = copy;
	return SEAM_OK;
}

bool seam__record_residents_copy(const struct seam_record_residents *residents, struct seam_record_residents *copy)
{
	if (seam__record_residents_live(residents) > copy->capacity)
		return false;
	copy->phases = residents->phases;
	copy->count = compact(residents, copy->items);
	return true;
}

/* Without a branch on what is compared, which nobody could predict. */
struct seam_record_resident *seam__record_residents_find(const struct seam_record_residents *residents, uint64_t id)
{
	struct seam_record_resident *at = residents->items;
	for (uint64_t left = residents->count; left > 1;) {
		uint64_t half = left / 2;
		at += at[half].id <= id ? half : 0;
		left -= half;
	}
	return residents->count > 0 && at->id == id && !at->dead ? at : NULL;
}

static void kill(struct seam_record_residents *residents, uint64_t id)
{
	struct seam_record_resident *resident = seam__record_residents_find(residents, id);
	if (resident == NULL)
		return;
	resident->dead = true;
	residents->dead++;
}

static bool make_room(struct seam_record_residents *residents)
{
	if (residents->count < residents->capacity)
		return true;
	uint64_t capacity = residents->capacity == 0 ? FIRST_RESIDENTS : 2 * residents->capacity;
	if (capacity > residents->limit_bytes / sizeof *residents->items)
		return false;
	struct seam_record_resident *items = seam__meta_resize(residents->meta, residents->items,
		seam__record_residents_bytes(residents), capacity * sizeof *residents->items);
	if (items == NULL)
		return false;
	residents->items = items;
	residents->capacity = capacity;
	return true;
}

static void keep(struct seam_record_residents *residents, const struct seam_record_slot *slot)
{
	if (!make_room(residents)) {
		residents->lost++;
		return;
	}
	residents->items[residents->count++] = (struct seam_record_resident){
		.id = slot->id,
		.bytes = slot->bytes,
		.stream = slot->stream,
		.pool = slot->pool,
		.thread = slot->thread,
		.flags = slot->flags,
	};
}

void seam__record_phases_begin(struct seam_record_phases *phases, uint32_t thread, uint32_t name)
{
	if (phases->count < SEAM_RECORD_PHASES)
		phases->open[phases->count++] = (struct seam_record_phase){.thread = thread, .name = name};
}

uint32_t seam__record_phases_find(const struct seam_record_phases *phases, uint32_t thread, uint32_t name)
{
	for (uint32_t i = phases->count; i-- > 0;) {
		if (phases->open[i].thread == thread && phases->open[i].name == name)
			return i;
	}
	return phases->count;
}

void seam__record_phases_remove(struct seam_record_phases *phases, uint32_t place)
{
	phases->count--;
	memmove(&phases->open[place], &phases->open[place + 1], (phases->count - place) * sizeof phases->open[0]);
}

/* Of the stretch being passed, a bit for each number. */
struct stretch {
	uint64_t first;
	uint64_t allocated[SEAM_RECORD_SEGMENT / 64];
	uint64_t freed[SEAM_RECORD_SEGMENT / 64];
};

static inline void set_bit(uint64_t *bits, uint64_t at)
{
	bits[at / 64] |= UINT64_C(1) << at % 64;
}

static void pass_phase(struct seam_record_phases *phases, const struct seam_record_slot *slot)
{
	if (slot->kind == SEAM_TRACE_PHASE_BEGIN) {
		seam__record_phases_begin(phases, slot->thread, (uint32_t)slot->id);
	} else if (slot->kind == SEAM_TRACE_PHASE_END) {
		uint32_t place = seam__record_phases_find(phases, slot->thread, (uint32_t)slot->id);
		if (place < phases->count)
			seam__record_phases_remove(phases, place);
	}
}

static void pass_event(struct seam_record_residents *residents, const struct seam_record_slot *slot, uint32_t at,
	struct stretch *stretch)
{
	if (slot->kind == SEAM_TRACE_ALLOC)
		set_bit(stretch->allocated, at);
	else if (slot->kind != SEAM_TRACE_FREE)
		pass_phase(&residents->phases, slot);
	else if (slot->id >= stretch->first)
		set_bit(stretch->freed, slot->id - stretch->first);
	else
		kill(residents, slot->id);
}

uint32_t seam__record_residents_pass(
	struct seam_record_residents *residents, const struct seam_record_slot *slots, uint64_t first, uint32_t count)
{
	struct stretch stretch = {.first = first};
	uint32_t missing = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (seam__record_slot_is(&slots[i], first + i))
			pass_event(residents, &slots[i], i, &stretch);
		else
			missing++;
	}
	if (residents->dead > FEW_DEAD && residents->dead > residents->count / 2) {
		residents->count = compact(residents, residents->items);
		residents->dead = 0;
	}
	for (uint32_t word = 0; word < SEAM_RECORD_SEGMENT / 64; word++) {
		for (uint64_t bits = stretch.allocated[word] & ~stretch.freed[word]; bits != 0; bits &= bits - 1)
			keep(residents, &slots[word * 64 + (uint32_t)__builtin_ctzll(bits)]);
	}
	return missing;
}

void seam__record_residents_late(
	struct seam_record_residents *residents, const struct seam_record_slot *slots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (slots[i].kind == SEAM_TRACE_FREE)
			kill(residents, slots[i].id);
	}
}

const char *seam__record_residents_check(const struct seam_record_residents *residents)
{
	uint64_t dead = 0;
	for (uint64_t i = 0; i < residents->count; i++) {
		if (i > 0 && residents->items[i - 1].id >= residents->items[i].id)
			return "RD1 residents rise by their serials";
		dead += residents->items[i].dead;
	}
	if (dead != residents->dead || residents->count > residents->capacity)
		return "RD2 the count of dead residents";
	return NULL;
}
