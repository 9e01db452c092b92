/* iterations_cut_candidates.c: iterations without marks; see iterations_cut.h.
 *
 * The boundary candidates that are proposed are tried, and the best one's stretches are taken.
 */
#include "region.h"
#include "boundary_candidates.h"
#include "boundary.h"
#include "iterations_cut.h"
#include "iteration_kinds.h"
#include "iterations_return.h"

#define SIZES_SHARE 4u /* one part in so many of all requests is to be covered */
#define FORM_SHARE 2u  /* the same by form */
#define ENOUGH 3u      /* stretches: with fewer one is looked for that has no beginning of its own */

/* What a boundary candidate would give. */
struct trial {
	struct seam_grow stretches; /* struct seam_thread_stretch */
	bool *good;                 /* per stretch: of a kind that is an iteration */
	uint64_t covered;           /* requests in good stretches */
	uint64_t span;              /* requests from the first good stretch to the last */
	uint64_t distance;          /* events of a stretch, on average */
	uint32_t kinds;             /* that are iterations */
	bool certain;               /* each is seen three times, or without any difference */
	uint64_t live_bytes;        /* where stretches end, on average */
	uint64_t peak_bytes;        /* live */
};

struct cutter {
	const struct seam_sequences *sequences;
	const struct seam_iterations_options *options;
	struct seam_candidates candidates;
	bool by_form; /* the boundary candidates are */
};

static void trial_init(struct trial *trial)
{
	*trial = (struct trial){.certain = true};
	seam__grow_init(&trial->stretches, sizeof(struct seam_thread_stretch));
}

static const struct seam_thread_stretch *stretch_at(const struct trial *trial, size_t i)
{
	return (const struct seam_thread_stretch *)trial->stretches.items + i;
}

/* What stands before the first place, where there are few others. */
static enum seam_rc list_before(struct cutter *cutter, struct trial *trial)
{
	if (trial->stretches.count == 0 || trial->stretches.count >= ENOUGH)
		return SEAM_OK;
	struct seam_thread_stretch first = *stretch_at(trial, 0); /* which moves */
	return seam__cut_before(cutter->sequences, &first, &trial->stretches);
}

/* Those between the boundary candidate's places. */
static enum seam_rc list_stretches(struct cutter *cutter, uint32_t ngram, struct trial *trial)
{
	uint32_t *events = cutter->candidates.events;
	enum seam_rc rc = SEAM_OK;

	seam__candidates_list(&cutter->candidates, ngram);
	uint32_t count = cutter->candidates.event_count;
	if (cutter->by_form)
		rc = seam__boundary_settle(cutter->sequences, cutter->candidates.live_bytes, events, count);
	for (size_t i = 0; rc == SEAM_OK && i + 1 < count; i++) {
		const struct seam_thread_stretch stretch =
			seam__sequences_stretch(cutter->sequences, events[i], events[i + 1]);

		rc = seam__grow_append(&trial->stretches, &stretch, 1);
	}
	return rc == SEAM_OK ? list_before(cutter, trial) : rc;
}

/* Most that is live in the stretch above the least. */
static uint64_t transient_bytes(const struct cutter *cutter, const struct seam_thread_stretch *stretch)
{
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;

	for (uint32_t e = stretch->first_event; e < stretch->last_event; e++) {
		uint64_t live = cutter->candidates.live_bytes[e];

		least = live < least ? live : least;
		most = live > most ? live : most;
	}
	return most - least;
}

static bool returns(
	const struct cutter *cutter, const struct seam_kinds *kinds, const struct seam_change *changes, uint32_t number)
{
	const struct seam_thread_stretch *stretch = &kinds->stretches[number];
	const struct seam_change *change = &changes[number];
	uint32_t tenth = seam__stretch_count(stretch) / 10;

	if (change->hash == 0)
		return true;
	if (change->blocks > 4 && change->blocks > tenth)
		return false;
	if ((change->blocks <= 4 || change->blocks <= tenth / 10) &&
		change->bytes <= transient_bytes(cutter, stretch) / 256)
		return true;
	for (uint32_t s = 0; change->more != 0 && s < kinds->stretch_count; s++)
		if (s != number && kinds->kind_of[s] == kinds->kind_of[number] && changes[s].hash == change->hash)
			return false;
	return true;
}

/* Which stretches are of kinds that are iterations: seen often enough, and most of them return. By form: and those that
 * are as long, which are of a shape that has not come again yet. */
static void find_good(
	const struct cutter *cutter, const struct seam_kinds *kinds, const uint32_t *returning, struct trial *trial)
{
	uint32_t requests = 0;

	for (uint32_t s = 0; s < trial->stretches.count; s++) {
		uint32_t kind = kinds->kind_of[s];

		trial->good[s] = kind != SEAM__KIND_NONE && returning[kind] >= SEAM__ITERATIONS_LEAST &&
			2 * returning[kind] > seam__kind_at(kinds, kind)->seen;
		if (trial->good[s] && seam__stretch_count(stretch_at(trial, s)) > requests)
			requests = seam__stretch_count(stretch_at(trial, s));
	}
	for (uint32_t s = 0; cutter->by_form && s < trial->stretches.count; s++)
		trial->good[s] |=
			kinds->kind_of[s] != SEAM__KIND_NONE && seam__stretch_count(stretch_at(trial, s)) == requests;
}

static enum seam_rc judge(struct cutter *cutter, const struct seam_kinds *kinds, struct trial *trial)
{
	struct seam_region *region = cutter->sequences->region;
	size_t count = trial->stretches.count;
	struct seam_change *changes = seam__region_array(region, count, sizeof(*changes));
	uint32_t *returning = seam__region_array(region, kinds->count, sizeof(*returning));
	uint32_t first = 0;
	enum seam_rc rc = changes != NULL && returning != NULL ? SEAM_OK : SEAM_OOM_META;

	for (uint32_t s = 0; rc == SEAM_OK && s < count; s++)
		if (kinds->kind_of[s] != SEAM__KIND_NONE &&
			seam__kind_at(kinds, kinds->kind_of[s])->seen >= SEAM__ITERATIONS_LEAST)
			rc = seam__change_of(cutter->sequences, stretch_at(trial, s), &changes[s]);
	for (uint32_t s = 0; rc == SEAM_OK && s < count; s++)
		if (kinds->kind_of[s] != SEAM__KIND_NONE)
			returning[kinds->kind_of[s]] += returns(cutter, kinds, changes, s);
	if (rc == SEAM_OK)
		find_good(cutter, kinds, returning, trial);
	for (uint32_t s = 0; rc == SEAM_OK && s < count; s++) {
		uint32_t kind = kinds->kind_of[s];

		if (!trial->good[s])
			continue;
		if (seam__kind_at(kinds, kind)->newest == s) {
			trial->kinds++;
			trial->certain &= seam__kind_at(kinds, kind)->seen >= 3 ||
				seam__kind_at(kinds, kind)->equal == seam__kind_at(kinds, kind)->seen;
		}
		if (trial->covered == 0)
			first = stretch_at(trial, s)->first_request;
		trial->covered += seam__stretch_count(stretch_at(trial, s));
		trial->span = stretch_at(trial, s)->last_request - first;
	}
	return rc;
}

static void measure(const struct cutter *cutter, struct trial *trial)
{
	size_t count = trial->stretches.count;
	uint64_t events = cutter->sequences->trace->header.event_count;

	trial->distance = (stretch_at(trial, count - 1)->last_event - stretch_at(trial, 0)->first_event) / count;
	for (size_t s = 0; s < count; s++)
		trial->live_bytes += cutter->candidates.live_bytes[stretch_at(trial, s)->last_event - 1] / count;
	for (uint64_t e = 0; e < events; e++)
		if (cutter->candidates.live_bytes[e] > trial->peak_bytes)
			trial->peak_bytes = cutter->candidates.live_bytes[e];
}

static enum seam_rc try(struct cutter *cutter, uint32_t ngram, struct trial *trial)
{
	struct seam_kinds kinds;
	enum seam_rc rc = list_stretches(cutter, ngram, trial);
	size_t count = trial->stretches.count;

	if (rc != SEAM_OK || count == 0)
		return rc;
	trial->good = seam__region_array(cutter->sequences->region, count, sizeof(*trial->good));
	if (trial->good == NULL)
		return SEAM_OOM_META;
	const void *mark = seam__region_mark(cutter->sequences->region);
	measure(cutter, trial);
	rc = seam__kinds_init(
		cutter->sequences, trial->stretches.items, (uint32_t)count, cutter->options->least_requests, &kinds);
	if (rc == SEAM_OK)
		rc = judge(cutter, &kinds, trial);
	seam__region_release(cutter->sequences->region, mark);
	return rc;
}

static double density(const struct trial *trial)
{
	return trial->span == 0 ? 0 : (double)trial->covered / (double)trial->span;
}

/* Does it do with fewer kinds, beyond doubt? A loop whose beginning or end differs is one iteration, not two kinds in
 * turn. */
static bool is_simpler(const struct trial *trial, const struct trial *other)
{
	return trial->kinds < other->kinds && trial->certain && trial->covered * 2 >= other->covered;
}

/* First what covers its span most densely, for a loop inside of an iteration leaves gaps. Then what ends where less is
 * live: an iteration's gradients live through its micro-batches, and a plan of one of those would not know where they
 * are. Then what is simpler, what covers most, and what is shorter. */
static bool is_better(const struct trial *trial, const struct trial *best)
{
	double more = density(trial) - density(best);
	uint64_t tolerance = best->covered / 32;
	uint64_t little = best->peak_bytes / 32;

	if (more > 0.01 || more < -0.01)
		return more > 0;
	if (trial->live_bytes > best->live_bytes + little || trial->live_bytes + little < best->live_bytes)
		return trial->live_bytes < best->live_bytes;
	if (is_simpler(trial, best) || is_simpler(best, trial))
		return is_simpler(trial, best);
	if (trial->covered > best->covered + tolerance || trial->covered + tolerance < best->covered)
		return trial->covered > best->covered;
	return trial->distance < best->distance;
}

/* Tries what is proposed. ret_best: its stretches; nothing where no boundary candidate covers at least `least`
 * requests. */
static enum seam_rc try_all(struct cutter *cutter, uint64_t least, struct trial *ret_best)
{
	uint32_t ngrams[SEAM__CANDIDATES_MAX];
	uint32_t count =
		seam__candidates_propose(&cutter->candidates, (uint32_t)(2 * cutter->options->least_requests), ngrams);
	enum seam_rc rc = SEAM_OK;

	for (uint32_t g = 0; rc == SEAM_OK && g < count; g++) {
		struct trial trial;

		trial_init(&trial);
		rc = try(cutter, ngrams[g], &trial);
		if (rc == SEAM_OK && trial.covered >= least &&
			(ret_best->good == NULL || is_better(&trial, ret_best))) {
			struct trial swap = *ret_best;

			*ret_best = trial;
			trial = swap;
		}
		seam__grow_fini(&trial.stretches);
	}
	return rc;
}

/* Appends the best one's stretches, if it covers this part of all requests. */
static enum seam_rc cut(struct cutter *cutter, uint64_t share, struct seam_grow *stretches)
{
	struct trial best;
	enum seam_rc rc = seam__candidates_init(cutter->sequences, cutter->by_form, &cutter->candidates);

	trial_init(&best);
	if (rc == SEAM_OK)
		rc = try_all(cutter, cutter->sequences->requests->items.count / share, &best);
	for (size_t s = 0; rc == SEAM_OK && best.good != NULL && s < best.stretches.count; s++)
		if (best.good[s])
			rc = seam__grow_append(stretches, stretch_at(&best, s), 1);
	seam__grow_fini(&best.stretches);
	return rc;
}

enum seam_rc seam__cut_candidates(const struct seam_sequences *sequences, const struct seam_iterations_options *options,
	struct seam_grow *ret_stretches)
{
	struct cutter cutter = {.sequences = sequences, .options = options, .by_form = options->by_form};
	enum seam_rc rc = SEAM_OK;

	if (cutter.by_form)
		rc = cut(&cutter, FORM_SHARE, ret_stretches);
	cutter.by_form = false;
	return rc == SEAM_OK && ret_stretches->count == 0 ? cut(&cutter, SIZES_SHARE, ret_stretches) : rc;
}
