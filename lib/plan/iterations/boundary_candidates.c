/* boundary_candidates.c: see boundary_candidates.h. */
#include "boundary_candidates.h"

#include <stdlib.h>

#include "tokens.h"
#include "region.h"

#define NGRAM_TOKENS 8u
#define COUNT_MIN 2u  /* places: a stretch between them, and one in front */
#define PAIR_SHARE 4u /* of the recording must lie between two places, and so much of that may be missing in front: */
#define FRONT_SHARE 16u
#define NEIGHBOURS 4u   /* a distance is like another if one of so many before or behind it is about as long */
#define EXACT_EVENTS 4u /* by which exact distances may differ */
#define OCTAVES 64u     /* of mean distances: two to an octave */
#define BUCKETS (OCTAVES * SEAM__NGRAM_CLASSES)
#define FACTOR UINT64_C(0x9fb21c651e98df25)

/* The last occurrences of each thread. */
struct tails {
	uint64_t *keys;  /* [thread][GRAM_TOKENS], a ring */
	uint64_t *sums;  /* [thread]: of the keys, the newest times FACTOR, the one before times FACTOR^2, ... */
	uint32_t *next;  /* [thread] */
	uint64_t oldest; /* FACTOR^(GRAM_TOKENS + 1): what the key that leaves the ring counts times then */
};

static enum seam_rc tails_init(struct seam_region *region, uint32_t threads, struct tails *tails)
{
	*tails = (struct tails){.oldest = 1};
	for (uint32_t i = 0; i <= NGRAM_TOKENS; i++)
		tails->oldest *= FACTOR;
	tails->keys = seam__region_array(region, (size_t)threads * NGRAM_TOKENS, sizeof(*tails->keys));
	tails->sums = seam__region_array(region, threads, sizeof(*tails->sums));
	tails->next = seam__region_array(region, threads, sizeof(*tails->next));
	return tails->keys != NULL && tails->sums != NULL && tails->next != NULL ? SEAM_OK : SEAM_OOM_META;
}

/* The hash of the n-gram that ends with an occurrence of that key. */
static uint64_t go_on(struct tails *tails, uint32_t thread, uint64_t key)
{
	uint64_t *ring = &tails->keys[(size_t)thread * NGRAM_TOKENS + tails->next[thread]];

	tails->sums[thread] = (tails->sums[thread] + key) * FACTOR - *ring * tails->oldest;
	*ring = key;
	tails->next[thread] = (tails->next[thread] + 1) % NGRAM_TOKENS;
	return seam__tokens_mix(tails->sums[thread], thread);
}

static struct seam_ngram *ngram_of(const struct seam_candidates *candidates, uint64_t hash)
{
	uint32_t at = (uint32_t)hash & (candidates->slots - 1);

	while (candidates->ngrams[at].newest != 0 && candidates->ngrams[at].hash != hash)
		at = (at + 1) & (candidates->slots - 1);
	return &candidates->ngrams[at];
}

static void add_occurrence(struct seam_candidates *candidates, uint32_t event, uint64_t hash)
{
	struct seam_ngram *ngram = ngram_of(candidates, hash);

	candidates->occurrences[candidates->occurrence_count] =
		(struct seam_occurrence){.event = event, .before = ngram->newest};
	ngram->hash = hash;
	ngram->count++;
	ngram->newest = ++candidates->occurrence_count;
}

/* By how many requests it outlives the next; 0: it is never freed. */
static uint64_t form_of(const struct seam_sequences *sequences, uint32_t number)
{
	const struct seam_traced_request *request = seam__request_at(sequences->requests, number);
	uint64_t life =
		request->free == SEAM__EVENT_NONE ? 0 : seam__sequences_request(sequences, request->free) - number;

	return seam__tokens_mix(life, request->stream);
}

static void read_events(struct seam_candidates *candidates, bool by_form, struct tails *tails)
{
	const struct seam_sequences *sequences = candidates->sequences;
	uint64_t live_bytes = 0;

	for (uint32_t e = 0; e < sequences->trace->header.event_count; e++) {
		uint32_t number = seam__request_of(sequences->requests, e);
		uint8_t kind = sequences->trace->events[e].kind;

		if (number != SEAM__REQUEST_NONE && kind == SEAM_TRACE_ALLOC)
			live_bytes += seam__request_at(sequences->requests, number)->size_bytes;
		else if (number != SEAM__REQUEST_NONE && kind == SEAM_TRACE_FREE)
			live_bytes -= seam__request_at(sequences->requests, number)->size_bytes;
		candidates->live_bytes[e] = live_bytes;
		if (number == SEAM__REQUEST_NONE || kind == SEAM_TRACE_RECORD_STREAM ||
			seam__request_at(sequences->requests, number)->dynamic)
			continue;
		uint32_t thread =
			kind == SEAM_TRACE_ALLOC ? sequences->threads[number] : sequences->free_threads[number];
		add_occurrence(candidates, e,
			go_on(tails, thread, (by_form ? form_of(sequences, number) : sequences->keys[number]) + kind));
	}
}

enum seam_rc seam__candidates_init(
	const struct seam_sequences *sequences, bool by_form, struct seam_candidates *ret_candidates)
{
	struct seam_region *region = sequences->region;
	size_t events = (size_t)sequences->trace->header.event_count;
	struct seam_candidates made = {.sequences = sequences, .slots = 16};
	struct tails tails;

	while (made.slots < sequences->requests->items.count * 3)
		made.slots *= 2;
	made.occurrences = seam__region_array(region, events, sizeof(*made.occurrences));
	made.events = seam__region_array(region, events, sizeof(*made.events));
	made.ngrams = seam__region_array(region, made.slots, sizeof(*made.ngrams));
	made.live_bytes = seam__region_array(region, events, sizeof(*made.live_bytes));
	if (made.occurrences == NULL || made.events == NULL || made.ngrams == NULL || made.live_bytes == NULL ||
		tails_init(region, sequences->thread_count, &tails) != SEAM_OK)
		return SEAM_OOM_META;
	read_events(&made, by_form, &tails);
	*ret_candidates = made;
	return SEAM_OK;
}

void seam__candidates_list(struct seam_candidates *candidates, uint32_t ngram)
{
	uint32_t occurrence = candidates->ngrams[ngram].newest;

	candidates->event_count = candidates->ngrams[ngram].count;
	for (uint32_t i = candidates->event_count; i-- > 0; occurrence = candidates->occurrences[occurrence - 1].before)
		candidates->events[i] = candidates->occurrences[occurrence - 1].event + 1;
}

/* How alike two distances are: 4 to the event or so, 3 about, 0 not. Exact ones count more, because a thread that runs
 * beside the program's main one comes by less punctually. */
static uint32_t likeness(uint32_t a, uint32_t b)
{
	uint32_t longer = a > b ? a : b;
	uint32_t apart = longer - (a > b ? b : a);

	if (apart <= EXACT_EVENTS || apart <= longer / 64)
		return 4;
	return apart <= longer / 8 ? 3 : 0;
}

/* How alike the i-th distance is to the most alike one near it. */
static uint32_t likeness_near(const uint32_t *events, uint32_t count, uint32_t i)
{
	uint32_t first = i > NEIGHBOURS ? i - NEIGHBOURS : 0;
	uint32_t most = 0;

	for (uint32_t other = first; other <= i + NEIGHBOURS && other + 1 < count; other++) {
		uint32_t alike =
			other == i ? 0 : likeness(events[i + 1] - events[i], events[other + 1] - events[other]);

		most = alike > most ? alike : most;
	}
	return most;
}

static enum seam_ngram_class class_of(const uint32_t *events, uint32_t count)
{
	bool exact = true;

	for (uint32_t i = 1; i + 1 < count; i++) {
		uint32_t first = events[1] - events[0];
		uint32_t distance = events[i + 1] - events[i];

		exact &= (first > distance ? first - distance : distance - first) <= EXACT_EVENTS;
	}
	if (count == 2)
		return SEAM__NGRAM_PAIR;
	return exact ? SEAM__NGRAM_EXACT : SEAM__NGRAM_LIKE;
}

static void measure(struct seam_candidates *candidates, uint32_t least_events, uint32_t number)
{
	struct seam_ngram *ngram = &candidates->ngrams[number];
	const uint32_t *events = candidates->events;

	ngram->covered = 0;
	if (ngram->count < COUNT_MIN ||
		(uint64_t)ngram->count * least_events > candidates->sequences->trace->header.event_count)
		return;
	seam__candidates_list(candidates, number);
	ngram->span = events[ngram->count - 1] - events[0];
	if (ngram->span / (ngram->count - 1) < least_events)
		return;
	for (uint32_t i = 1; i < ngram->count; i++)
		if (events[i] - events[i - 1] < least_events / 2)
			return; /* so near to another place that nothing fits between them */
	ngram->class = class_of(events, ngram->count);
	if (ngram->class == SEAM__NGRAM_PAIR) {
		bool fits = events[0] + ngram->span / FRONT_SHARE >= ngram->span;

		ngram->covered = fits && ngram->span >= candidates->sequences->trace->header.event_count / PAIR_SHARE
			? ngram->span
			: 0;
		return;
	}
	for (uint32_t i = 0; i + 1 < ngram->count; i++)
		ngram->covered +=
			(uint32_t)((uint64_t)(events[i + 1] - events[i]) * likeness_near(events, ngram->count, i) / 4);
}

static uint32_t bucket_of(const struct seam_ngram *ngram)
{
	uint64_t distance = (uint64_t)ngram->span / (ngram->count - 1) + 1;
	uint32_t bucket = 0;

	for (uint64_t square = distance * distance; square > 1 && bucket < OCTAVES - 1; square /= 2)
		bucket++;
	return bucket * SEAM__NGRAM_CLASSES + ngram->class;
}

/* The live bytes behind the newest place. */
static uint64_t live_at(const struct seam_candidates *candidates, const struct seam_ngram *ngram)
{
	return candidates->live_bytes[candidates->occurrences[ngram->newest - 1].event];
}

static bool is_better(
	const struct seam_candidates *candidates, const struct seam_ngram *ngram, const struct seam_ngram *best)
{
	uint64_t live = live_at(candidates, ngram);
	uint64_t best_live = live_at(candidates, best);

	return live != best_live ? live < best_live : ngram->newest > best->newest;
}

uint32_t seam__candidates_propose(struct seam_candidates *candidates, uint32_t least_events, uint32_t *ret_ngrams)
{
	uint32_t most[BUCKETS] = {0};
	uint32_t best[BUCKETS] = {0}; /* number + 1 */
	uint32_t count = 0;

	for (uint32_t g = 0; g < candidates->slots; g++) {
		struct seam_ngram *ngram = &candidates->ngrams[g];

		measure(candidates, least_events, g);
		if (ngram->covered > 0 && ngram->covered > most[bucket_of(ngram)])
			most[bucket_of(ngram)] = ngram->covered;
	}
	for (uint32_t g = 0; g < candidates->slots; g++) {
		struct seam_ngram *ngram = &candidates->ngrams[g];

		if (ngram->covered == 0)
			continue;
		uint32_t *chosen = &best[bucket_of(ngram)];
		if ((uint64_t)ngram->covered * 8 < (uint64_t)most[bucket_of(ngram)] * 7)
			continue;
		if (*chosen == 0 || is_better(candidates, ngram, &candidates->ngrams[*chosen - 1]))
			*chosen = g + 1;
	}
	while (count < SEAM__CANDIDATES_MAX) {
		uint32_t next = 0;

		for (uint32_t b = 1; b < BUCKETS; b++)
			if (best[b] != 0 &&
				(best[next] == 0 ||
					candidates->ngrams[best[b] - 1].covered >
						candidates->ngrams[best[next] - 1].covered))
				next = b;
		if (best[next] == 0)
			break;
		ret_ngrams[count++] = best[next] - 1;
		best[next] = 0;
	}
	return count;
}
