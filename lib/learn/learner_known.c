/* learner_known.c: whether the loaded plans of the open active plan know a kind of iteration.
 *
 * A kind is known if a loaded plan has nearly all of its requests, each with those before it on its thread and stream.
 * Some hundred of them are looked at: what they are is found out beforehand, and they are looked up in portions, for
 * the program waits meanwhile.
 *
 * Not here: which kinds are planned (learner_shapes.c). With `work`.
 */
#include "bits.h"
#include "learner.h"
#include "learner_impl.h"
#include "matcher_state.h"
#include "planned_impl.h"

#define STRANGE_SHARE                                                                                   \
	4u /* of the requests that are looked at, that a loaded plan of the kind may not have like that \
	    */
#define LOOKED_AT 256u
#define PORTION 64u /* samples that are looked up under one lock: as long may a request have to wait */
#define ATTEMPTS 4u /* plans come and go that often between portions: then nothing is said */

/* A request with those before it. */
struct sample {
	uint64_t stream;
	uint32_t thread;
	uint32_t run; /* hash */
};

struct samples {
	struct sample items[LOOKED_AT];
	uint32_t count;
	uint64_t enough; /* of them has who knows the kind */
};

/* The run that ends with the event. False: fewer requests come before it. */
static bool find_run(const struct seam_iteration_kind *kind, uint64_t at, struct sample *ret_sample)
{
	const struct seam_trace_event *last = &kind->model->events[at];
	struct seam_history history = {.heard = SEAM_RUN};
	uint32_t left = SEAM_RUN;
	for (uint64_t i = at + 1; left != 0 && i > kind->first_event; i--) {
		const struct seam_trace_event *event = &kind->model->events[i - 1];
		if (event->kind == SEAM_TRACE_ALLOC && event->stream == last->stream && event->thread == last->thread)
			history.sizes[--left] = (event->flags & SEAM_TRACE_DYNAMIC) != 0 ? 0 : event->size;
	}
	*ret_sample = (struct sample){last->stream, last->thread, seam__history_run(&history)};
	return left == 0;
}

/* One request in so many. */
static void find_samples(const struct seam_iteration_kind *kind, struct samples *samples)
{
	const uint64_t requests = (kind->last_event - kind->first_event) / 2; /* two events each */
	const uint64_t stride = requests / LOOKED_AT + 1, looked_at = seam__bits_min(requests / stride, LOOKED_AT);
	uint64_t number = 0;
	samples->count = 0;
	samples->enough = looked_at - looked_at / STRANGE_SHARE;
	for (uint64_t i = kind->first_event; i < kind->last_event && number / stride < LOOKED_AT; i++) {
		if (kind->model->events[i].kind == SEAM_TRACE_ALLOC && ++number % stride == 0 &&
			number / stride < LOOKED_AT)
			samples->count += find_run(kind, i, &samples->items[samples->count]);
	}
}

static bool has_run(const struct seam_loaded_plan *loaded, const struct sample *sample)
{
	for (uint32_t l = 0; l < loaded->cursor_count; l++) {
		const struct seam_cursor *cursor = &loaded->cursors[l];
		if (cursor->stream == sample->stream && cursor->plan_thread == sample->thread)
			return seam__cursor_has_run(cursor, sample->run);
	}
	return false;
}

/* A comparison is begun anew when one of these has changed: a plan came or went meanwhile. */
static uint64_t version_of(const struct seam_runtime *runtime)
{
	return runtime->counts.adoptions + runtime->counts.drops;
}

static bool is_comparable(const struct seam_runtime *runtime, uint64_t version)
{
	return runtime->open && !seam__active_open(runtime)->building && version_of(runtime) == version;
}

/* Of the loaded plan with this number: its slots, and which samples from `first` on it has, a portion under one lock.
 * False: the open active plan is another one. Takes `lock`. */
static bool look_up(struct seam_learner *learner, uint64_t version, uint32_t number, const struct samples *samples,
	uint32_t first, bool *ret_has, uint64_t *ret_slots)
{
	seam__mutex_lock(&learner->engine->lock);
	const bool is_there = is_comparable(learner->runtime, version);
	if (is_there) {
		const struct seam_loaded_plan *loaded =
			seam__matcher_loaded(seam__active_open(learner->runtime)->matcher, number);
		for (uint32_t n = first; n < samples->count && n < first + PORTION; n++)
			ret_has[n] = has_run(loaded, &samples->items[n]);
		*ret_slots = loaded->slots;
	}
	seam__mutex_unlock(&learner->engine->lock);
	return is_there;
}

/* False: the open active plan is another one. */
static bool compare(struct seam_learner *learner, uint64_t version, uint32_t loaded_plans,
	const struct samples *samples, uint64_t events, bool *ret_needless)
{
	bool any[LOOKED_AT] = {false}; /* of the loaded plans has it */
	uint64_t together = 0, most_slots = 0;
	bool alone = false, part = false;
	for (uint32_t i = 0; i < loaded_plans; i++) {
		bool has[LOOKED_AT] = {false};
		uint64_t count = 0, slots = 0;
		for (uint32_t first = 0; first == 0 || first < samples->count; first += PORTION) {
			if (!look_up(learner, version, i, samples, first, has, &slots))
				return false;
		}
		for (uint32_t n = 0; n < samples->count; n++) {
			count += has[n];
			together += has[n] && !any[n];
			any[n] |= has[n];
		}
		const bool knows = count >= samples->enough;
		alone |= knows;
		part |= knows && slots >= events;
		most_slots = seam__bits_max(most_slots, slots);
	}
	const bool turns = !alone && events / 2 > most_slots + most_slots / 2 && together >= samples->enough;
	*ret_needless = part || turns;
	return true;
}

bool seam__learner_know(struct seam_learner *learner, const struct seam_iteration_kind *kind, bool *ret_needless)
{
	struct samples samples;
	find_samples(kind, &samples);
	for (uint32_t attempt = 0; attempt < ATTEMPTS; attempt++) {
		seam__mutex_lock(&learner->engine->lock);
		const uint64_t version = version_of(learner->runtime);
		const bool is_open = is_comparable(learner->runtime, version);
		const uint32_t loaded_plans =
			is_open ? seam__matcher_loaded_count(seam__active_open(learner->runtime)->matcher) : 0;
		seam__mutex_unlock(&learner->engine->lock);
		if (!is_open)
			return false;
		if (compare(learner, version, loaded_plans, &samples, kind->last_event - kind->first_event,
			    ret_needless))
			return true;
	}
	return false;
}
