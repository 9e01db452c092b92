/* loaded_cursors.c: a loaded plan's slots by who asks for them, and the index that finds a place again by the sizes
 * asked for lately. */
#include "bits.h"
#include "loaded_plan.h"

#include <stdlib.h>

#include "meta.h"

#define RESEMBLING_SHARE 8u /* of two loaded plans of one kind, one run in so many may be missing in the other */

/* A slot and whose it is. */
struct owned {
	uint32_t stream;
	uint32_t thread;
	uint32_t slot;
};

static int compare_owned(const void *left, const void *right)
{
	const struct owned *a = left, *b = right;
	int order = seam__bits_compare(a->stream, b->stream);
	if (order == 0)
		order = seam__bits_compare(a->thread, b->thread);
	return order != 0 ? order : seam__bits_compare(a->slot, b->slot);
}

/* In order of the hash, then of the place. */
static uint64_t rank_of(const struct seam_run *run)
{
	return (uint64_t)run->hash << 32 | run->last;
}

static int compare_runs(const void *left, const void *right)
{
	return seam__bits_compare(rank_of(left), rank_of(right));
}

static bool same_cursor(const struct owned *a, const struct owned *b)
{
	return a->stream == b->stream && a->thread == b->thread;
}

static uint32_t mix(uint32_t hash, uint64_t bytes)
{
	const uint64_t mixed = (hash ^ bytes) * UINT64_C(0x9E3779B97F4A7C15);
	return (uint32_t)(mixed >> 32) ^ (uint32_t)mixed;
}

/* Of the run that ends at expected slot `last`, around the circle of the cursor's expected slots. */
static uint32_t hash_expectations(const struct seam_cursor *cursor, uint32_t last)
{
	uint32_t hash = 0;
	for (uint32_t i = 0; i < SEAM_RUN; i++) {
		hash = mix(hash, cursor->first[last].bytes);
		last = last == 0 ? cursor->count - 1 : last - 1;
	}
	return hash;
}

static uint64_t heard_before(const struct seam_history *history, uint32_t back)
{
	return history->sizes[(history->heard - 1 - back) % SEAM_HEARD];
}

static uint32_t hash_run(const struct seam_history *history)
{
	uint32_t hash = 0;
	for (uint32_t i = 0; i < SEAM_RUN; i++)
		hash = mix(hash, heard_before(history, i));
	return hash;
}

struct seam_agreement seam__cursor_agrees(
	const struct seam_cursor *cursor, uint32_t expected, const struct seam_history *history)
{
	const uint32_t most = (uint32_t)seam__bits_min(history->heard, SEAM_HEARD);
	struct seam_agreement agreement = {0, 0};
	for (; agreement.length < most; agreement.length++) {
		const uint64_t bytes = cursor->first[expected].bytes;
		if (bytes != 0 && bytes != heard_before(history, agreement.length))
			break;
		agreement.exact += bytes != 0;
		expected = expected == 0 ? cursor->count - 1 : expected - 1;
	}
	return agreement;
}

/* The first that is not in front of this one. */
static uint32_t find_run(const struct seam_cursor *cursor, uint32_t hash, uint32_t last)
{
	const uint64_t rank = rank_of(&(struct seam_run){hash, last});
	uint32_t low = 0, high = cursor->count;
	SEAM__BITS_BISECT(low, high, middle, rank_of(&cursor->runs[middle]) < rank)
	return low;
}

/* The longest agreement so far. */
struct agreeing {
	struct seam_guess best;
	uint32_t distance; /* around the circle */
	uint32_t equals;   /* places that agree as long */
};

/* The history may end where this run does. */
static void look_at_run(const struct seam_cursor *cursor, const struct seam_history *history, uint32_t near,
	uint32_t expected, struct agreeing *agreeing)
{
	const uint32_t apart = (uint32_t)seam__bits_distance(expected, near);
	const uint32_t distance = (uint32_t)seam__bits_min(apart, cursor->count - apart);
	if (agreeing->best.length == SEAM_HEARD && distance >= agreeing->distance)
		return; /* no other agrees more */
	const uint32_t length = seam__cursor_agrees(cursor, expected, history).length;
	if (length < SEAM_RUN || length < agreeing->best.length)
		return;
	agreeing->equals = length > agreeing->best.length ? 1 : agreeing->equals + 1;
	if (length > agreeing->best.length || distance < agreeing->distance) {
		agreeing->best = (struct seam_guess){expected, length};
		agreeing->distance = distance;
	}
}

/* Equal layers give equal runs: only a longer history tells them apart, up to what is remembered, or to all that the
 * cursor has. Where even that does not, the nearest such place is likeliest: it is a request or two that the cursor is
 * wrong by, rather than a layer. */
struct seam_guess seam__cursor_guess(
	const struct seam_cursor *cursor, const struct seam_history *history, uint32_t near)
{
	struct agreeing agreeing = {{0, 0}, 0, 0};
	if (history->heard < SEAM_RUN)
		return agreeing.best;
	const uint32_t hash = hash_run(history);
	const uint32_t enough = cursor->count < SEAM_RUN ? SEAM_RUN
		: cursor->count < SEAM_HEARD             ? cursor->count
							 : SEAM_HEARD;
	const uint32_t middle = find_run(cursor, hash, near);
	const struct seam_run *run = &cursor->runs[middle], *end = &cursor->runs[cursor->count];
	for (const struct seam_run *r = run; r != cursor->runs && run - r < SEAM_HITS && r[-1].hash == hash; r--)
		look_at_run(cursor, history, near, r[-1].last, &agreeing);
	for (const struct seam_run *r = run; r != end && r - run < SEAM_HITS && r->hash == hash; r++)
		look_at_run(cursor, history, near, r->last, &agreeing);
	if (agreeing.equals > 1 && agreeing.best.length < enough)
		agreeing.best.length = 0;
	return agreeing.best;
}

static void fill_expectations(const struct seam_plan *plan, struct seam_loaded_plan *loaded, const struct owned *list)
{
	for (uint32_t i = 0; i < loaded->slots; i++) {
		const uint32_t slot = list[i].slot;
		loaded->expectations[i] = (struct seam_expected_slot){
			.bytes = (plan->slots[slot].flags & SEAM_PLAN_DYNAMIC) != 0 ? 0 : plan->slots[slot].size_bytes,
			.begin = loaded->lifetimes[slot].begin,
			.slot = slot,
		};
	}
}

static void fill_cursors(const struct seam_plan *plan, struct seam_loaded_plan *loaded, const struct owned *list)
{
	uint32_t cursor = 0;
	for (uint32_t i = 0, end; i < loaded->slots; i = end, cursor++) {
		for (end = i + 1; end < loaded->slots && same_cursor(&list[end], &list[i]); end++)
			;
		struct seam_run *runs = &loaded->runs[i];
		struct seam_cursor *made = &loaded->cursors[cursor];
		*made = (struct seam_cursor){
			.next = &loaded->expectations[i],
			.first = &loaded->expectations[i],
			.count = end - i,
			.runs = runs,
			.stream = plan->streams[list[i].stream],
			.thread = list[i].thread,
			.plan_thread = list[i].thread,
		};
		for (uint32_t last = 0; last < made->count; last++)
			runs[last] = (struct seam_run){hash_expectations(made, last), last};
		qsort(runs, made->count, sizeof(*runs), compare_runs);
	}
}

static uint32_t size_bit(uint64_t bytes, uint64_t stream)
{
	const uint64_t blocks = seam__bits_div_up(bytes, SEAM_PLANNED_BYTES);
	const uint64_t mixed = (blocks * UINT64_C(0x9E3779B97F4A7C15) ^ stream) * UINT64_C(0xC2B2AE3D27D4EB4F);
	return (uint32_t)(mixed >> 32) % (64 * SEAM_SIZE_WORDS);
}

bool seam__loaded_has(const struct seam_loaded_plan *loaded, uint64_t bytes, uint64_t stream)
{
	const uint32_t bit = size_bit(bytes, stream);
	return (loaded->sizes[bit / 64] >> bit % 64 & 1) != 0;
}

static void note_sizes(struct seam_loaded_plan *loaded)
{
	for (uint32_t c = 0; c < loaded->cursor_count; c++) {
		const struct seam_cursor *cursor = &loaded->cursors[c];
		for (uint32_t i = 0; i < cursor->count; i++) {
			const uint32_t bit = size_bit(cursor->first[i].bytes, cursor->stream);
			loaded->sizes[bit / 64] |= UINT64_C(1) << bit % 64;
		}
	}
}

enum seam_rc seam__loaded_find_cursors(
	struct seam_meta *meta, const struct seam_plan *plan, struct seam_loaded_plan *loaded)
{
	struct owned *list = seam__meta_array(meta, loaded->slots, sizeof(*list));
	loaded->expectations = seam__meta_array(meta, loaded->slots, sizeof(*loaded->expectations));
	loaded->runs = seam__meta_array(meta, loaded->slots, sizeof(*loaded->runs));
	enum seam_rc rc =
		list == NULL || loaded->expectations == NULL || loaded->runs == NULL ? SEAM_OOM_META : SEAM_OK;
	if (rc == SEAM_OK) {
		for (uint32_t i = 0; i < loaded->slots; i++)
			list[i] = (struct owned){plan->slots[i].stream, plan->slots[i].thread, i};
		qsort(list, loaded->slots, sizeof(*list), compare_owned);
		for (uint32_t i = 0; i < loaded->slots; i++)
			loaded->cursor_count += i == 0 || !same_cursor(&list[i], &list[i - 1]);
		loaded->cursors = seam__meta_array(meta, loaded->cursor_count, sizeof(*loaded->cursors));
		if (loaded->cursors == NULL)
			rc = SEAM_OOM_META;
	}
	if (rc == SEAM_OK) {
		fill_expectations(plan, loaded, list);
		fill_cursors(plan, loaded, list);
		note_sizes(loaded);
	}
	seam__meta_free(meta, list, loaded->slots * sizeof(*list));
	return rc;
}

/* How many runs two cursors have in common: both are in order of their hashes. */
static uint32_t shared_runs(const struct seam_cursor *a, const struct seam_cursor *b)
{
	uint32_t shared = 0;
	for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
		const uint32_t left = a->runs[i].hash, right = b->runs[j].hash;
		shared += left == right;
		i += left <= right;
		j += right <= left;
	}
	return shared;
}

bool seam__loaded_resembles(const struct seam_loaded_plan *a, const struct seam_loaded_plan *b)
{
	uint32_t shared = 0;
	if (a->cursor_count != b->cursor_count)
		return false;
	for (uint32_t l = 0; l < a->cursor_count; l++) {
		if (a->cursors[l].stream != b->cursors[l].stream ||
			a->cursors[l].plan_thread != b->cursors[l].plan_thread)
			return false;
		shared += shared_runs(&a->cursors[l], &b->cursors[l]);
	}
	const uint64_t most = seam__bits_max(a->slots, b->slots);
	return shared >= most - most / RESEMBLING_SHARE;
}
