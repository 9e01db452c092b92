/* learner_look.c: what repeats in the recording of a pool, whether that is an iteration, and which of it is worth a
 * plan; see learner.h. */
#include "bits.h"
#include "learner.h"
#include "learner_impl.h"
#include "planned_impl.h"
#include "record.h"
#include "repetition.h"

#define MISSES_BEARABLE 0.005 /* of the requests since the last look: no new plan is wanted */
#define STRANGE_SHARE 16u     /* of the requests, that whole iterations are at least which are not known */
#define FORM_TIMES 2u         /* as much is recorded, since something repeated first */

static void see_all(struct seam_learner *learner, const struct seam_planned_counts *counts)
{
	learner->seen_requests = counts->requests;
	learner->seen_misses = counts->requests - counts->hits;
	learner->seen_displaced = seam__planned_displaced(counts);
	learner->seen_strange = seam__planned_strange(counts);
}

/* Whether what is open serves well enough. */
static bool is_served(struct seam_learner *learner, struct seam_look_time now)
{
	const struct seam_planned_counts *counts = &learner->runtime->counts;
	seam__mutex_lock(&learner->engine->lock);
	seam__learner_note_most(learner);
	bool open = learner->runtime->open;
	bool settles = learner->seen_requests <= learner->runtime->started_requests;
	if (settles) {
		learner->seen_requests = learner->runtime->started_requests; /* misses before are another plan's */
		learner->seen_misses = learner->runtime->started_misses;
		learner->seen_displaced = learner->runtime->started_displaced;
		learner->seen_strange = learner->runtime->started_strange;
	}
	uint64_t requests = counts->requests - learner->seen_requests;
	uint64_t misses = counts->requests - counts->hits - learner->seen_misses;
	uint64_t strange = seam__planned_strange(counts) - learner->seen_strange;
	if (settles)
		misses -= seam__planned_displaced(counts) -
			learner->seen_displaced; /* by blocks from before it: another plan would do no better */
	const bool is_new = open &&
		(!seam__active_open(learner->runtime)->started ||
			(requests < 2 * learner->period_requests && misses <= learner->period_requests / 2));
	if (is_new) {
		seam__mutex_unlock(&learner->engine->lock);
		return true; /* it has had no time to show what it is good for */
	}
	see_all(learner, counts);
	seam__mutex_unlock(&learner->engine->lock);
	learner->strange = open ? strange > misses / 2 && strange > requests / STRANGE_SHARE
				: learner->seen_drops != 0; /* there are iterations, then: a plan of one was in use */
	learner->serves = open;
	if (!open || (double)misses > MISSES_BEARABLE * (double)requests)
		return false;
	learner->proven = true;
	learner->known_events = learner->period_events;
	seam__looks_serve(&learner->looks, now, 2 * learner->period_requests);
	return true;
}

/* The period of the kind that covers most, as the recording shows it. */
static struct seam_repetition describe(const struct seam_learner *learner, const struct seam_trace *recording)
{
	const struct seam_iteration_kind *kind = &learner->rhythm.kinds[0];
	const uint64_t events = recording->header.event_count, length = kind->last_event - kind->first_event;
	return (struct seam_repetition){
		.events = events,
		.length = length,
		.run_begin = kind->run_begin,
		.newest = kind->newest,
		.run = kind->run,
		.kind_events = kind->seen * length,
		.cut_events = learner->rhythm.cut_events,
		.peak_bytes = seam__learner_range(kind->model, kind->first_event, kind->last_event).peak_bytes,
		.most_bytes = seam__learner_range(recording, 0, events).peak_bytes,
		.later_bytes = seam__learner_range(recording, kind->newest, events).peak_bytes,
	};
}

/* Whether the kind that covers most is the program's iteration: marks say so, else it must have shown it. */
static bool is_iteration(const struct seam_learner *learner, const struct seam_trace *recording)
{
	if (learner->rhythm.count == 0 || learner->rhythm.kinds[0].marked)
		return learner->rhythm.count != 0;
	const struct seam_repetition repetition = describe(learner, recording);
	return seam__repetition_is_iteration(&repetition, learner->known_events);
}

/* What repeats, in place of what was found before. *ret_found: the program's iteration is among it. Errors:
 * SEAM_OOM_META. */
static enum seam_rc find(
	struct seam_learner *learner, const struct seam_trace *recording, bool by_form, bool *ret_found)
{
	const struct seam_iterations_options options = {.by_form = by_form};
	seam__iterations_fini(&learner->rhythm);
	enum seam_rc rc = seam__iterations_find(recording, &options, &learner->rhythm);
	if (rc == SEAM_OK && learner->rhythm.count != 0 && learner->repeats_from == 0)
		learner->repeats_from = learner->window_events;
	*ret_found = rc == SEAM_OK && is_iteration(learner, recording);
	return rc;
}

/* Of iterations of several lengths none may follow itself for long: what repeats by its sizes is one that comes twice
 * in a row now and then. By its form it is found. */
static bool is_form_due(const struct seam_learner *learner)
{
	return !learner->strange && learner->known_events == 0 && learner->repeats_from != 0 &&
		learner->window_events / FORM_TIMES >= learner->repeats_from;
}

/* Finds what repeats, and chooses what to plan of it. */
static void search(struct seam_learner *learner, const struct seam_trace *recording)
{
	bool found = false;
	learner->recorded_events = recording->header.event_count;
	learner->tried = learner->roomless = 0;
	enum seam_rc rc = find(learner, recording, learner->strange, &found);
	if (rc == SEAM_OK && !found && is_form_due(learner))
		rc = find(learner, recording, true, &found);
	learner->failures += rc != SEAM_OK;
	if (!found)
		return;
	learner->replaces = false;
	if (!seam__learner_choose(learner))
		return;
	const struct seam_iteration_kind *kind = &learner->rhythm.kinds[learner->kind];
	const uint64_t length = seam__bits_min(kind->last_event - kind->first_event, kind->newest);
	learner->rest_bytes = seam__learner_range(recording, kind->newest - length, kind->newest).least_bytes;
	learner->state = SEAM_LEARN_PLAN;
}

/* A plan went since the last look, and none came in its place. The window begins anew if it had served well; else the
 * look that made it led to nothing. It may be planned again. */
static void note_drops(struct seam_learner *learner, struct seam_look_time now)
{
	seam__mutex_lock(&learner->engine->lock);
	const uint64_t drops = learner->runtime->counts.drops;
	const bool open = learner->runtime->open;
	seam__mutex_unlock(&learner->engine->lock);
	if (drops == learner->seen_drops)
		return;
	learner->seen_drops = drops;
	learner->refused_count = 0;
	if (open)
		return;
	if (learner->proven) {
		learner->repeats_from = 0;
		seam__looks_change(&learner->looks, now);
	} else {
		seam__looks_fail(&learner->looks, learner->looked);
	}
	learner->proven = false;
}

bool seam__learner_look(struct seam_learner *learner)
{
	const struct seam_look_time now = seam__learner_time(learner);
	note_drops(learner, now);
	if (!seam__looks_are_due(&learner->looks, now))
		return false;
	seam__looks_note(&learner->looks, now);
	if (is_served(learner, now))
		return true;
	learner->looked = now;
	learner->window_events = seam__looks_window(&learner->looks, now);
	struct seam_trace *recording = NULL;
	if (seam__recorder_trace(learner->recorder, learner->window_events, "recorded by seam", &recording) == SEAM_OK)
		search(learner, recording);
	seam_trace_free(recording);
	return true;
}
