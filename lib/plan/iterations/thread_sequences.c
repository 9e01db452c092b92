/* thread_sequences.c: see thread_sequences.h. */
#include "thread_sequences.h"

#include "bits.h"
#include "tokens.h"
#include "idmap.h"
#include "meta.h"
#include "region.h"
#include "sequence_diff.h"

#define DYNAMIC_SIZE UINT64_MAX
/* what the key of a request changes by that is not freed in its stretch */
#define LEAVES UINT64_C(0x5bd1e9955bd1e995)

static enum seam_rc number_threads(struct seam_sequences *sequences)
{
	struct seam_idmap map;
	enum seam_rc rc = SEAM_OK;

	seam__idmap_init(&map);
	for (uint32_t i = 0; rc == SEAM_OK && i < sequences->requests->items.count; i++) {
		const struct seam_traced_request *request = seam__request_at(sequences->requests, i);

		rc = seam__idmap_number(&map, request->thread, &sequences->threads[i]);
		if (rc == SEAM_OK)
			rc = seam__idmap_number(&map,
				request->free != SEAM__EVENT_NONE ? request->free_thread : request->thread,
				&sequences->free_threads[i]);
	}
	sequences->thread_count = (uint32_t)map.count;
	seam__idmap_fini(&map);
	return rc;
}

static uint64_t key_of(const struct seam_traced_request *request)
{
	return seam__tokens_mix(request->dynamic ? DYNAMIC_SIZE : request->size_bytes, request->stream);
}

enum seam_rc seam__sequences_init(const struct seam_trace *trace, const struct seam_traced_requests *requests,
	struct seam_sequences *ret_sequences)
{
	size_t count = requests->items.count;
	struct seam_sequences made = {
		.trace = trace, .requests = requests, .region = seam__region_create(seam__meta_process())};
	enum seam_rc rc = SEAM_OOM_META;

	if (made.region != NULL) {
		made.keys = seam__region_array(made.region, count, sizeof(*made.keys));
		made.threads = seam__region_array(made.region, count, sizeof(*made.threads));
		made.free_threads = seam__region_array(made.region, count, sizeof(*made.free_threads));
	}
	if (made.keys != NULL && made.threads != NULL && made.free_threads != NULL)
		rc = number_threads(&made);
	for (uint32_t i = 0; rc == SEAM_OK && i < requests->items.count; i++)
		made.keys[i] = key_of(seam__request_at(requests, i));
	if (rc == SEAM_OK)
		*ret_sequences = made;
	else
		seam__sequences_fini(&made);
	return rc;
}

void seam__sequences_fini(struct seam_sequences *sequences)
{
	seam__region_destroy(sequences->region);
	*sequences = (struct seam_sequences){0};
}

uint32_t seam__sequences_request(const struct seam_sequences *sequences, uint32_t event)
{
	uint32_t low = 0;
	uint32_t high = (uint32_t)sequences->requests->items.count;

	SEAM__BITS_BISECT(low, high, middle, seam__request_at(sequences->requests, middle)->alloc < event)
	return low;
}

struct seam_thread_stretch seam__sequences_stretch(
	const struct seam_sequences *sequences, uint32_t first_event, uint32_t last_event)
{
	return (struct seam_thread_stretch){
		.first_event = first_event,
		.last_event = last_event,
		.first_request = seam__sequences_request(sequences, first_event),
		.last_request = seam__sequences_request(sequences, last_event),
	};
}

static void fill_sequence(const struct seam_sequences *sequences, struct seam_sequence *sequence)
{
	uint32_t first = sequence->stretch.first_request;
	uint32_t count = seam__stretch_count(&sequence->stretch);
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sequence->thread_first[sequences->threads[first + i]]++;
	for (uint32_t t = 0; t <= sequences->thread_count; t++) {
		uint32_t own = sequence->thread_first[t];

		sequence->thread_first[t] = sum;
		sum += own;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct seam_traced_request *request = seam__request_at(sequences->requests, first + i);
		uint32_t at = sequence->thread_first[sequences->threads[first + i]]++;

		sequence->numbers[at] = i;
		sequence->keys[at] =
			sequences->keys[first + i] ^ (request->free < sequence->stretch.last_event ? 0 : LEAVES);
		sequence->bytes += request->dynamic ? 0 : request->size_bytes;
	}
	for (uint32_t t = sequences->thread_count; t > 0; t--)
		sequence->thread_first[t] = sequence->thread_first[t - 1];
	sequence->thread_first[0] = 0;
	sequence->hash = count;
	for (uint32_t i = 0; i < count; i++) {
		uint16_t *bin = &sequence->bins[sequence->keys[i] % SEAM__SEQUENCES_BINS];

		*bin = (uint16_t)(*bin + (*bin < UINT16_MAX));
		sequence->hash = seam__tokens_mix(sequence->hash, sequence->keys[i]);
	}
}

enum seam_rc seam__sequence_init(const struct seam_sequences *sequences, const struct seam_thread_stretch *stretch,
	struct seam_sequence *ret_sequence)
{
	struct seam_region *region = sequences->region;
	size_t count = seam__stretch_count(stretch);
	struct seam_sequence made = {.stretch = *stretch};

	made.keys = seam__region_array(region, count, sizeof(*made.keys));
	made.numbers = seam__region_array(region, count, sizeof(*made.numbers));
	made.thread_first = seam__region_array(region, (size_t)sequences->thread_count + 1, sizeof(*made.thread_first));
	if (made.keys == NULL || made.numbers == NULL || made.thread_first == NULL)
		return SEAM_OOM_META;
	fill_sequence(sequences, &made);
	*ret_sequence = made;
	return SEAM_OK;
}

static uint32_t edits_of_counts(const struct seam_sequence *a, const struct seam_sequence *b)
{
	uint32_t a_count = seam__stretch_count(&a->stretch);
	uint32_t b_count = seam__stretch_count(&b->stretch);

	return a_count < b_count ? b_count - a_count : a_count - b_count;
}

/* The least number of edits that the bins allow. */
static uint64_t edits_of_bins(const struct seam_sequence *a, const struct seam_sequence *b)
{
	uint64_t edits = 0;

	for (uint32_t i = 0; i < SEAM__SEQUENCES_BINS; i++)
		edits += a->bins[i] < b->bins[i] ? (uint32_t)(b->bins[i] - a->bins[i])
						 : (uint32_t)(a->bins[i] - b->bins[i]);
	return edits;
}

struct comparison {
	const struct seam_sequences *sequences;
	const struct seam_sequence *a;
	const struct seam_sequence *b;
	uint32_t *match; /* of one thread's elements */
	uint32_t *same;  /* NULL: not wanted */
	struct seam_difference difference;
};

/* Places in the two sequences' threads: elements [a, a_end) and [b, b_end), counted in the sequence, have no partner.
 */
struct gap {
	uint32_t a, a_end;
	uint32_t b, b_end;
};

static const struct seam_traced_request *element(
	const struct comparison *comparison, const struct seam_sequence *sequence, uint32_t at)
{
	return seam__request_at(
		comparison->sequences->requests, sequence->stretch.first_request + sequence->numbers[at]);
}

static void note(const struct comparison *comparison, uint32_t b, uint32_t a)
{
	if (comparison->same != NULL)
		comparison->same[comparison->b->numbers[b]] = a == SEAM__DIFF_NONE ? a : comparison->a->numbers[a];
}

static uint64_t bytes_of(
	const struct comparison *comparison, const struct seam_sequence *sequence, uint32_t first, uint32_t last)
{
	uint64_t bytes = 0;

	for (uint32_t at = first; at < last; at++) {
		const struct seam_traced_request *request = element(comparison, sequence, at);

		bytes += request->dynamic ? 0 : request->size_bytes;
	}
	return bytes;
}

static void count_gap(struct comparison *comparison, struct gap gap)
{
	uint32_t a_count = gap.a_end - gap.a;
	uint32_t b_count = gap.b_end - gap.b;
	uint64_t a_bytes = bytes_of(comparison, comparison->a, gap.a, gap.a_end);
	uint64_t b_bytes = bytes_of(comparison, comparison->b, gap.b, gap.b_end);

	comparison->difference.requests += a_count > b_count ? a_count : b_count;
	comparison->difference.bytes += a_bytes > b_bytes ? a_bytes : b_bytes;
}

/* Equal sizes belong together (one is freed elsewhere); as many here as there are the same with other sizes. */
static void pair_gap(struct comparison *comparison, struct gap gap)
{
	uint32_t a_count = gap.a_end - gap.a;
	uint32_t b_count = gap.b_end - gap.b;
	uint32_t next = gap.a;

	count_gap(comparison, gap);
	if (comparison->same == NULL)
		return;
	for (uint32_t b = gap.b; b < gap.b_end; b++) {
		const struct seam_traced_request *now = element(comparison, comparison->b, b);
		uint32_t found = SEAM__DIFF_NONE;

		for (uint32_t a = a_count == b_count ? gap.a + (b - gap.b) : next;
			a < gap.a_end && found == SEAM__DIFF_NONE; a++) {
			const struct seam_traced_request *then = element(comparison, comparison->a, a);

			if (then->stream == now->stream && (a_count == b_count || then->size_bytes == now->size_bytes))
				found = a;
			if (a_count == b_count)
				break;
		}
		note(comparison, b, found);
		next = found == SEAM__DIFF_NONE ? next : found + 1;
	}
}

static enum seam_rc compare_thread(struct comparison *comparison, uint32_t thread, uint32_t most)
{
	const struct seam_sequence *a = comparison->a;
	const struct seam_sequence *b = comparison->b;
	struct gap gap = {.a = a->thread_first[thread], .b = b->thread_first[thread]};
	uint32_t a_first = gap.a;
	uint32_t b_first = gap.b;
	uint32_t a_count = a->thread_first[thread + 1] - a_first;
	uint32_t b_count = b->thread_first[thread + 1] - b_first;
	enum seam_rc rc =
		seam__diff_match(a->keys + a_first, a_count, b->keys + b_first, b_count, 2 * most, comparison->match);

	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = 0; i < b_count; i++) {
		if (comparison->match[i] == SEAM__DIFF_NONE)
			continue;
		gap.a_end = a_first + comparison->match[i];
		gap.b_end = b_first + i;
		pair_gap(comparison, gap);
		note(comparison, gap.b_end, gap.a_end);
		gap = (struct gap){.a = gap.a_end + 1, .b = gap.b_end + 1};
	}
	gap.a_end = a_first + a_count;
	gap.b_end = b_first + b_count;
	pair_gap(comparison, gap);
	return comparison->difference.requests > most ? SEAM_NOT_FOUND : SEAM_OK;
}

enum seam_rc seam__sequence_compare(const struct seam_sequences *sequences, const struct seam_sequence *a,
	const struct seam_sequence *b, uint32_t most, uint32_t *ret_same, struct seam_difference *ret_difference)
{
	const void *mark = seam__region_mark(sequences->region);
	struct comparison comparison = {.sequences = sequences, .a = a, .b = b, .same = ret_same};
	enum seam_rc rc = SEAM_OK;

	if (edits_of_counts(a, b) > most || edits_of_bins(a, b) > 2 * (uint64_t)most)
		return SEAM_NOT_FOUND;
	comparison.match =
		seam__region_array(sequences->region, seam__stretch_count(&b->stretch), sizeof(*comparison.match));
	if (comparison.match == NULL)
		return SEAM_OOM_META;
	for (uint32_t t = 0; rc == SEAM_OK && t < sequences->thread_count; t++)
		rc = compare_thread(&comparison, t, most);
	seam__region_release(sequences->region, mark);
	if (rc == SEAM_OK)
		*ret_difference = comparison.difference;
	return rc;
}
