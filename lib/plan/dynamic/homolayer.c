/* homolayer.c: see homolayer.h. */
#include "homolayer.h"

#include <string.h>

#include "meta.h"

#define NAME_BYTES 256u /* longer names are cut: they still tell layers apart by their beginning */
#define NONE UINT32_MAX

/* One occurrence of a layer. */
struct occurrence {
	uint32_t layer; /* string in `names`: up to the first number */
	uint32_t phase; /* beginnings and ends of phases before it */
	uint32_t first; /* positions of its events: [first, last] */
	uint32_t last;
	uint32_t module; /* of the trace: that of its first dynamic event */
	uint32_t common; /* so many characters of it are common to all of its dynamic events */
	uint32_t name;   /* string in `names` */
};

struct finder {
	const struct seam_period_slots *slots;
	struct seam_homolayer *out;
	struct seam_grow occurrences; /* struct occurrence */
	uint32_t *at;                 /* per position: the occurrence of its event, or NONE */
	uint32_t *modules;            /* per position: the event's module */
};

static uint32_t period_positions(const struct finder *finder)
{
	return finder->slots->position_count;
}

static const char *module_text(const struct finder *finder, uint32_t module)
{
	return seam_trace_string(finder->slots->requests->trace, module);
}

/* Characters up to the end of the first part that is a number; all where there is none. */
static size_t layer_length(const char *module)
{
	for (const char *part = module; *part != '\0';) {
		size_t length = strcspn(part, ".");

		if (length > 0 && strspn(part, "0123456789") == length)
			return (size_t)(part - module) + length;
		part += length + (part[length] == '.');
	}
	return strlen(module);
}

/* Characters that two names have in common, in whole parts. */
static uint32_t common_length(const char *a, const char *b, uint32_t most)
{
	uint32_t same = 0;
	uint32_t whole = 0;

	while (same < most && a[same] != '\0' && a[same] == b[same]) {
		same++;
		if ((a[same] == '\0' || a[same] == '.') && (b[same] == '\0' || b[same] == '.'))
			whole = same;
	}
	return whole;
}

static enum seam_rc intern(struct finder *finder, const char *text, size_t length, uint32_t *ret_name)
{
	char name[NAME_BYTES];

	length = length < NAME_BYTES - 1 ? length : NAME_BYTES - 1;
	memcpy(name, text, length);
	name[length] = '\0';
	return seam__strings_intern(&finder->out->names, name, ret_name);
}

static enum seam_rc note_dynamic(struct finder *finder, uint32_t position, uint32_t module, uint32_t phase)
{
	const char *text = module_text(finder, module);
	struct occurrence *last = finder->occurrences.count == 0
		? NULL
		: (struct occurrence *)finder->occurrences.items + (finder->occurrences.count - 1);
	uint32_t layer;
	enum seam_rc rc = intern(finder, text, layer_length(text), &layer);

	if (rc != SEAM_OK)
		return rc;
	if (last == NULL || last->layer != layer || last->phase != phase) {
		struct occurrence made = {.layer = layer,
			.phase = phase,
			.first = position,
			.last = position,
			.module = module,
			.common = (uint32_t)strlen(text)};

		rc = seam__grow_append(&finder->occurrences, &made, 1);
	} else {
		last->last = position;
		last->common = common_length(module_text(finder, last->module), text, last->common);
	}
	if (rc == SEAM_OK)
		finder->at[position] = (uint32_t)finder->occurrences.count - 1;
	return rc;
}

/* Every allocation and free of the period, in order. */
static enum seam_rc scan(struct finder *finder)
{
	uint32_t phase = 0;
	enum seam_rc rc = SEAM_OK;

	for (uint64_t e = finder->slots->period.first_event; e < finder->slots->period.last_event && rc == SEAM_OK;
		e++) {
		const struct seam_trace_event *event = &finder->slots->requests->trace->events[e];
		uint32_t request = seam__request_of(finder->slots->requests, e);
		uint32_t position = seam__slots_position(finder->slots, e);

		phase += event->kind == SEAM_TRACE_PHASE_BEGIN || event->kind == SEAM_TRACE_PHASE_END;
		if ((event->kind != SEAM_TRACE_ALLOC && event->kind != SEAM_TRACE_FREE) ||
			request == SEAM__REQUEST_NONE || position >= period_positions(finder))
			continue;
		finder->modules[position] = event->module;
		if (seam__request_at(finder->slots->requests, request)->dynamic)
			rc = note_dynamic(finder, position, event->module, phase);
	}
	return rc;
}

static bool belongs(const struct finder *finder, const struct occurrence *occurrence, uint32_t position)
{
	const char *name = module_text(finder, occurrence->module);
	const char *text = module_text(finder, finder->modules[position]);

	return occurrence->common > 0 && strncmp(name, text, occurrence->common) == 0 &&
		(text[occurrence->common] == '\0' || text[occurrence->common] == '.');
}

/* Names occurrences, and takes in the events on both sides that belong to them. */
static enum seam_rc extend(struct finder *finder)
{
	struct occurrence *list = finder->occurrences.items;
	size_t count = finder->occurrences.count;
	enum seam_rc rc = SEAM_OK;

	for (size_t n = 0; n < count && rc == SEAM_OK; n++) {
		uint32_t low = n > 0 ? list[n - 1].last + 1 : 0;
		uint32_t high = n + 1 < count ? list[n + 1].first : period_positions(finder);

		while (list[n].first > low && belongs(finder, &list[n], list[n].first - 1))
			list[n].first--;
		while (list[n].last + 1 < high && belongs(finder, &list[n], list[n].last + 1))
			list[n].last++;
		rc = intern(finder, module_text(finder, list[n].module), list[n].common, &list[n].name);
	}
	return rc;
}

static uint32_t stream_of(const struct finder *finder, const struct seam_period_slot *slot, uint32_t problem_streams)
{
	return slot->user_count > 0 || finder->slots->placed_streams != problem_streams ||
			slot->stream >= problem_streams
		? SEAM__STREAM_NONE
		: slot->stream;
}

static enum seam_rc add_request(struct finder *finder, uint32_t number, uint32_t problem_streams)
{
	const struct occurrence *list = finder->occurrences.items;
	const struct seam_period_slot *slot = seam__slot_at(finder->slots, number);
	const struct seam_traced_request *request = seam__slot_request(finder->slots, number);
	const struct occurrence *begin = &list[finder->at[slot->begin]];
	uint32_t period = period_positions(finder);
	uint64_t longest = (uint64_t)finder->slots->copies * period;
	struct seam_dynamic_request made = {.size_bytes = request->size_bytes,
		.begin = slot->begin,
		.end = slot->end,
		.from = begin->first,
		.layer_begin = begin->name,
		.stream = stream_of(finder, slot, problem_streams)};

	if (slot->free_event == SEAM__EVENT_NONE) {
		made.to = slot->end; /* what happens once ends with its stretch */
	} else {
		const struct occurrence *end = &list[finder->at[seam__slots_position(finder->slots, slot->free_event)]];

		made.layer_end = end->name;
		made.to = slot->end / period * period + end->last + 1;
	}
	/* Never longer than once around: the beginning of its first layer gives way. */
	if (made.to - (uint64_t)made.from > longest) {
		made.from = made.begin;
		made.to = made.to - made.from > longest ? made.end : made.to;
	}
	enum seam_rc rc = seam__grow_append(&finder->out->requests, &made, 1);
	return rc == SEAM_OK ? seam__grow_append(&finder->out->slots, &number, 1) : rc;
}

static enum seam_rc find(struct finder *finder, uint32_t problem_streams)
{
	enum seam_rc rc = scan(finder);

	if (rc == SEAM_OK)
		rc = extend(finder);
	for (uint32_t i = 0; i < seam__slots_count(finder->slots) && rc == SEAM_OK; i++)
		if (!seam__slot_is_placed(finder->slots, i))
			rc = add_request(finder, i, problem_streams);
	return rc;
}

enum seam_rc seam__homolayer_init(
	const struct seam_period_slots *slots, uint32_t problem_streams, struct seam_homolayer *ret_homolayer)
{
	struct seam_homolayer made = {0};
	struct finder finder = {.slots = slots, .out = &made};
	struct seam_meta *meta = seam__meta_process();
	size_t positions = (size_t)slots->position_count + 1;
	enum seam_rc rc = seam__strings_init(&made.names);

	if (rc != SEAM_OK)
		return rc;
	seam__grow_init(&made.requests, sizeof(struct seam_dynamic_request));
	seam__grow_init(&made.slots, sizeof(uint32_t));
	seam__grow_init(&finder.occurrences, sizeof(struct occurrence));
	finder.at = seam__meta_array(meta, positions, sizeof(*finder.at));
	finder.modules = seam__meta_array(meta, positions, sizeof(*finder.modules));
	rc = finder.at == NULL || finder.modules == NULL ? SEAM_OOM_META : find(&finder, problem_streams);
	seam__meta_free(meta, finder.modules, positions * sizeof(*finder.modules));
	seam__meta_free(meta, finder.at, positions * sizeof(*finder.at));
	seam__grow_fini(&finder.occurrences);
	if (rc != SEAM_OK) {
		seam__homolayer_fini(&made);
		return rc;
	}
	*ret_homolayer = made;
	return SEAM_OK;
}

void seam__homolayer_fini(struct seam_homolayer *homolayer)
{
	seam__grow_fini(&homolayer->slots);
	seam__grow_fini(&homolayer->requests);
	seam__strings_fini(&homolayer->names);
	*homolayer = (struct seam_homolayer){0};
}

const char *seam__homolayer_check(const struct seam_homolayer *homolayer, const struct seam_period_slots *slots)
{
	const struct seam_dynamic_request *requests = homolayer->requests.items;

	for (size_t i = 0; i < homolayer->requests.count; i++)
		if (requests[i].from > requests[i].begin || requests[i].end > requests[i].to ||
			requests[i].from >= slots->position_count ||
			requests[i].to - requests[i].from > (uint64_t)slots->copies * slots->position_count)
			return "HL1 interval";
	return NULL;
}
