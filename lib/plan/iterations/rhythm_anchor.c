/* rhythm_anchor.c: see rhythm_anchor.h. */
#include "rhythm_anchor.h"

#include <stdlib.h>

#include "beats.h"
#include "meta.h"

#define GRAM_TOKENS 8u
#define COUNT_MIN 2u  /* places: a stretch between them, and one in front */
#define PAIR_SHARE 4u /* of the recording must lie between two places, and so much of that may be missing in front: */
#define FRONT_SHARE 16u
#define NEIGHBOURS 4u   /* a distance is like another if one of so many before or behind it is about as long */
#define EXACT_EVENTS 4u /* by which exact distances may differ */
#define OCTAVES 64u     /* of mean distances: two to an octave */
#define BUCKETS (OCTAVES * SEAM__GRAM_CLASSES)
#define FACTOR UINT64_C(0x9fb21c651e98df25)

/* The last tokens of each thread. */
struct tails {
	uint64_t *keys;  /* [thread][GRAM_TOKENS], a ring */
	uint64_t *sums;  /* [thread]: of the keys, the newest times FACTOR, the one before times FACTOR^2, ... */
	uint32_t *next;  /* [thread] */
	uint64_t oldest; /* FACTOR^(GRAM_TOKENS + 1): what the key that leaves the ring counts times then */
};

static enum seam_rc tails_init(uint32_t threads, struct tails *tails)
{
	struct seam_meta *meta = seam__meta_process();

	*tails = (struct tails){.oldest = 1};
	for (uint32_t i = 0; i <= GRAM_TOKENS; i++)
		tails->oldest *= FACTOR;
	tails->keys = seam__meta_array(meta, (size_t)threads * GRAM_TOKENS + 1, sizeof(*tails->keys));
	tails->sums = seam__meta_array(meta, (size_t)threads + 1, sizeof(*tails->sums));
	tails->next = seam__meta_array(meta, (size_t)threads + 1, sizeof(*tails->next));
	return tails->keys != NULL && tails->sums != NULL && tails->next != NULL ? SEAM_OK : SEAM_OOM_META;
}

static void tails_fini(uint32_t threads, struct tails *tails)
{
	struct seam_meta *meta = seam__meta_process();

	seam__meta_free(meta, tails->next, ((size_t)threads + 1) * sizeof(*tails->next));
	seam__meta_free(meta, tails->sums, ((size_t)threads + 1) * sizeof(*tails->sums));
	seam__meta_free(meta, tails->keys, ((size_t)threads * GRAM_TOKENS + 1) * sizeof(*tails->keys));
}

/* The hash of the gram that ends with a token of that key. */
static uint64_t go_on(struct tails *tails, uint32_t thread, uint64_t key)
{
	uint64_t *ring = &tails->keys[(size_t)thread * GRAM_TOKENS + tails->next[thread]];

	tails->sums[thread] = (tails->sums[thread] + key) * FACTOR - *ring * tails->oldest;
	*ring = key;
	tails->next[thread] = (tails->next[thread] + 1) % GRAM_TOKENS;
	return seam__beats_mix(tails->sums[thread], thread);
}

static struct seam__gram *gram_of(const struct seam__anchors *anchors, uint64_t hash)
{
	uint32_t at = (uint32_t)hash & (anchors->slots - 1);

	while (anchors->grams[at].newest != 0 && anchors->grams[at].hash != hash)
		at = (at + 1) & (anchors->slots - 1);
	return &anchors->grams[at];
}

static void add_token(struct seam__anchors *anchors, uint32_t event, uint64_t hash)
{
	struct seam__gram *gram = gram_of(anchors, hash);
	struct seam__token *token = (struct seam__token *)anchors->tokens.items + anchors->tokens.count;

	*token = (struct seam__token){.event = event, .before = gram->newest};
	gram->hash = hash;
	gram->count++;
	gram->newest = (uint32_t)++anchors->tokens.count;
}

/* By how many requests it outlives the next; 0: it is never freed. */
static uint64_t form_of(const struct seam__rows *rows, uint32_t number)
{
	const struct seam__request *request = seam__request_at(rows->requests, number);
	uint64_t life = request->free == SEAM__EVENT_NONE ? 0 : seam__rows_request(rows, request->free) - number;

	return seam__beats_mix(life, request->stream);
}

static void read_events(struct seam__anchors *anchors, bool by_form, struct tails *tails)
{
	const struct seam__rows *rows = anchors->rows;
	uint64_t live_bytes = 0;

	for (uint32_t e = 0; e < rows->trace->header.event_count; e++) {
		uint32_t number = seam__request_of(rows->requests, e);
		uint8_t kind = rows->trace->events[e].kind;
		uint32_t thread;

		if (number != SEAM__REQUEST_NONE && kind == SEAM_TRACE_ALLOC)
			live_bytes += seam__request_at(rows->requests, number)->size_bytes;
		else if (number != SEAM__REQUEST_NONE && kind == SEAM_TRACE_FREE)
			live_bytes -= seam__request_at(rows->requests, number)->size_bytes;
		anchors->live_bytes[e] = live_bytes;
		if (number == SEAM__REQUEST_NONE || kind == SEAM_TRACE_RECORD_STREAM ||
			seam__request_at(rows->requests, number)->dynamic)
			continue;
		thread = kind == SEAM_TRACE_ALLOC ? rows->threads[number] : rows->free_threads[number];
		add_token(anchors, e,
			go_on(tails, thread, (by_form ? form_of(rows, number) : rows->keys[number]) + kind));
	}
}

enum seam_rc seam__anchors_init(const struct seam__rows *rows, bool by_form, struct seam__anchors *ret_anchors)
{
	struct seam_meta *meta = seam__meta_process();
	struct seam__anchors made = {.rows = rows, .slots = 16};
	size_t events = (size_t)rows->trace->header.event_count + 1;
	struct tails tails;
	enum seam_rc rc = tails_init(rows->thread_count, &tails);

	seam__grow_init(&made.tokens, sizeof(struct seam__token));
	seam__grow_init(&made.events, sizeof(uint32_t));
	while (made.slots < rows->requests->items.count * 3)
		made.slots *= 2;
	made.grams = seam__meta_array(meta, made.slots, sizeof(*made.grams));
	made.live_bytes = seam__meta_array(meta, events, sizeof(*made.live_bytes));
	if (rc == SEAM_OK)
		rc = made.grams != NULL && made.live_bytes != NULL ? seam__grow_reserve(&made.tokens, events)
								   : SEAM_OOM_META;
	if (rc == SEAM_OK)
		read_events(&made, by_form, &tails);
	tails_fini(rows->thread_count, &tails);
	if (rc == SEAM_OK)
		*ret_anchors = made;
	else
		seam__anchors_fini(&made);
	return rc;
}

void seam__anchors_fini(struct seam__anchors *anchors)
{
	struct seam_meta *meta = seam__meta_process();

	if (anchors->rows == NULL)
		return;
	seam__meta_free(meta, anchors->live_bytes,
		((size_t)anchors->rows->trace->header.event_count + 1) * sizeof(*anchors->live_bytes));
	seam__meta_free(meta, anchors->grams, anchors->slots * sizeof(*anchors->grams));
	seam__grow_fini(&anchors->events);
	seam__grow_fini(&anchors->tokens);
	*anchors = (struct seam__anchors){0};
}

enum seam_rc seam__anchors_list(struct seam__anchors *anchors, uint32_t gram)
{
	const struct seam__token *tokens = anchors->tokens.items;
	uint32_t count = anchors->grams[gram].count;
	uint32_t token = anchors->grams[gram].newest;
	enum seam_rc rc;

	anchors->events.count = 0;
	rc = seam__grow_reserve(&anchors->events, count);
	if (rc != SEAM_OK)
		return rc;
	for (uint32_t i = count; i-- > 0; token = tokens[token - 1].before)
		((uint32_t *)anchors->events.items)[i] = tokens[token - 1].event + 1;
	anchors->events.count = count;
	return SEAM_OK;
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

static enum seam__gram_class class_of(const uint32_t *events, uint32_t count)
{
	bool exact = true;

	for (uint32_t i = 1; i + 1 < count; i++) {
		uint32_t first = events[1] - events[0];
		uint32_t distance = events[i + 1] - events[i];

		exact &= (first > distance ? first - distance : distance - first) <= EXACT_EVENTS;
	}
	if (count == 2)
		return SEAM__GRAM_PAIR;
	return exact ? SEAM__GRAM_EXACT : SEAM__GRAM_LIKE;
}

static enum seam_rc measure(struct seam__anchors *anchors, const uint8_t *taken, uint32_t least_events, uint32_t number)
{
	struct seam__gram *gram = &anchors->grams[number];
	const uint32_t *events;
	enum seam_rc rc;

	gram->covered = 0;
	if (gram->count < COUNT_MIN || (uint64_t)gram->count * least_events > anchors->rows->trace->header.event_count)
		return SEAM_OK;
	rc = seam__anchors_list(anchors, number);
	if (rc != SEAM_OK)
		return rc;
	events = anchors->events.items;
	gram->span = events[gram->count - 1] - events[0];
	if (gram->span / (gram->count - 1) < least_events)
		return SEAM_OK;
	for (uint32_t i = 0; i < gram->count; i++)
		if (taken[events[i] - 1] != 0 || (i > 0 && events[i] - events[i - 1] < least_events / 2))
			return SEAM_OK; /* taken, or so near to another place that nothing fits between them */
	gram->class = class_of(events, gram->count);
	if (gram->class == SEAM__GRAM_PAIR) {
		bool fits = events[0] + gram->span / FRONT_SHARE >= gram->span;

		gram->covered =
			fits && gram->span >= anchors->rows->trace->header.event_count / PAIR_SHARE ? gram->span : 0;
		return SEAM_OK;
	}
	for (uint32_t i = 0; i + 1 < gram->count; i++)
		gram->covered +=
			(uint32_t)((uint64_t)(events[i + 1] - events[i]) * likeness_near(events, gram->count, i) / 4);
	return SEAM_OK;
}

static uint32_t bucket_of(const struct seam__gram *gram)
{
	uint64_t distance = (uint64_t)gram->span / (gram->count - 1) + 1;
	uint32_t bucket = 0;

	for (uint64_t square = distance * distance; square > 1 && bucket < OCTAVES - 1; square /= 2)
		bucket++;
	return bucket * SEAM__GRAM_CLASSES + gram->class;
}

/* The live bytes behind the newest place. */
static uint64_t live_at(const struct seam__anchors *anchors, const struct seam__gram *gram)
{
	return anchors->live_bytes[((const struct seam__token *)anchors->tokens.items + (gram->newest - 1))->event];
}

static bool is_better(const struct seam__anchors *anchors, const struct seam__gram *gram, const struct seam__gram *best)
{
	uint64_t live = live_at(anchors, gram);
	uint64_t best_live = live_at(anchors, best);

	return live != best_live ? live < best_live : gram->newest > best->newest;
}

enum seam_rc seam__anchors_propose(struct seam__anchors *anchors, const uint8_t *taken, uint32_t least_events,
	uint32_t *ret_grams, uint32_t *ret_count)
{
	uint32_t most[BUCKETS] = {0};
	uint32_t best[BUCKETS] = {0}; /* number + 1 */
	uint32_t count = 0;

	for (uint32_t g = 0; g < anchors->slots; g++) {
		struct seam__gram *gram = &anchors->grams[g];
		enum seam_rc rc = measure(anchors, taken, least_events, g);

		if (rc != SEAM_OK)
			return rc;
		if (gram->covered > 0 && gram->covered > most[bucket_of(gram)])
			most[bucket_of(gram)] = gram->covered;
	}
	for (uint32_t g = 0; g < anchors->slots; g++) {
		struct seam__gram *gram = &anchors->grams[g];
		uint32_t *chosen;

		if (gram->covered == 0)
			continue;
		chosen = &best[bucket_of(gram)];
		if ((uint64_t)gram->covered * 8 < (uint64_t)most[bucket_of(gram)] * 7)
			continue;
		if (*chosen == 0 || is_better(anchors, gram, &anchors->grams[*chosen - 1]))
			*chosen = g + 1;
	}
	while (count < SEAM__ANCHORS_MAX) {
		uint32_t next = 0;

		for (uint32_t b = 1; b < BUCKETS; b++)
			if (best[b] != 0 &&
				(best[next] == 0 ||
					anchors->grams[best[b] - 1].covered > anchors->grams[best[next] - 1].covered))
				next = b;
		if (best[next] == 0)
			break;
		ret_grams[count++] = best[next] - 1;
		best[next] = 0;
	}
	*ret_count = count;
	return SEAM_OK;
}
