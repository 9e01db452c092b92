/* trace_check.c: the invariants T1-T6 of a trace (seam/trace.h), in one pass over the events.
 *
 * Not here: the header and the checksums (trace_format.c).
 * A trace from a damaged or hostile file may hold anything: every field is judged before it is used.
 * No locks: it reads an immutable trace and owns the rest.
 */
#include "grow.h"
#include "idmap.h"
#include "trace_error.h"
#include "trace_format.h"

struct open_phase {
	uint32_t name;  /* string */
	uint16_t phase; /* its number, from 1 */
};

struct checker {
	const struct seam_trace *trace;
	struct seam_trace_error *error; /* may be NULL */
	const char *broken;             /* name of the first broken invariant; NULL so far */
	struct seam_idmap live;         /* block -> size, stream */
	struct seam_idmap recorded;     /* event ids seen in EVENT_RECORD */
	struct seam_idmap phases;       /* phase name -> number */
	struct seam_grow open;          /* struct open_phase, outermost first */
	uint64_t index;                 /* of the event being checked */
	uint64_t time_ns;               /* of the event before it */
};

static enum seam_rc fail(struct checker *checker, const char *name, const char *what)
{
	checker->broken = name;
	seam__trace_error_set(
		checker->error, checker->index, "event %llu: %s (%s)", (unsigned long long)checker->index, what, name);
	return SEAM_CORRUPT;
}

static enum seam_rc check_alloc(struct checker *checker, const struct seam_trace_event *event)
{
	if (seam__idmap_find(&checker->live, event->id) != NULL)
		return fail(checker, "T1", "a block is allocated that is live");
	uint64_t *values;
	enum seam_rc rc = seam__idmap_put(&checker->live, event->id, &values);
	if (rc != SEAM_OK)
		return rc;
	values[0] = event->size;
	values[1] = event->stream;
	return SEAM_OK;
}

static enum seam_rc check_free(struct checker *checker, const struct seam_trace_event *event)
{
	const uint64_t *values = seam__idmap_find(&checker->live, event->id);
	if (values == NULL)
		return fail(checker, "T1", "a block is freed that is not live");
	if (values[0] != event->size || values[1] != event->stream)
		return fail(checker, "T2", "a free has another size or stream than its allocation");
	seam__idmap_remove(&checker->live, event->id);
	return SEAM_OK;
}

static uint16_t innermost(const struct checker *checker)
{
	const struct open_phase *open = checker->open.items;
	return checker->open.count == 0 ? 0 : open[checker->open.count - 1].phase;
}

static enum seam_rc check_phase_begin(struct checker *checker, const struct seam_trace_event *event)
{
	if (seam_trace_string(checker->trace, event->aux) == NULL)
		return fail(checker, "T4", "a phase's name is no string");
	uint64_t *number;
	enum seam_rc rc = seam__idmap_put(&checker->phases, event->aux, &number);
	if (rc != SEAM_OK)
		return rc;
	if (number[0] == 0)
		number[0] = checker->phases.count;
	if (number[0] != event->phase)
		return fail(checker, "T5", "a phase begins under a number that is not its name's");
	const struct open_phase open = {.name = event->aux, .phase = event->phase};
	return seam__grow_append(&checker->open, &open, 1);
}

static enum seam_rc check_phase_end(struct checker *checker, const struct seam_trace_event *event)
{
	const struct open_phase *open = checker->open.items;
	const size_t depth = checker->open.count;
	if (depth == 0 || open[depth - 1].name != event->aux || open[depth - 1].phase != event->phase)
		return fail(checker, "T5", "a phase ends that is not the innermost open one");
	checker->open.count--;
	return SEAM_OK;
}

static enum seam_rc check_wait(struct checker *checker, const struct seam_trace_event *event)
{
	if (seam__idmap_find(&checker->recorded, event->id) == NULL)
		return fail(checker, "T5", "a wait names an event that was not recorded before");
	return SEAM_OK;
}

static enum seam_rc check_by_kind(struct checker *checker, const struct seam_trace_event *event)
{
	uint64_t *ignored;
	switch (event->kind) {
	case SEAM_TRACE_ALLOC:
		return check_alloc(checker, event);
	case SEAM_TRACE_FREE:
		return check_free(checker, event);
	case SEAM_TRACE_RECORD_STREAM:
		if (seam__idmap_find(&checker->live, event->id) == NULL)
			return fail(checker, "T1", "a block is recorded on a stream that is not live");
		return SEAM_OK;
	case SEAM_TRACE_EVENT_RECORD:
		return seam__idmap_put(&checker->recorded, event->id, &ignored);
	case SEAM_TRACE_EVENT_WAIT:
		return check_wait(checker, event);
	case SEAM_TRACE_PHASE_BEGIN:
		return check_phase_begin(checker, event);
	case SEAM_TRACE_PHASE_END:
		return check_phase_end(checker, event);
	default:
		return SEAM_OK;
	}
}

static int kind_is_known(unsigned kind)
{
	switch (kind) {
#define SEAM_TRACE_KIND(name, number, text) case SEAM_TRACE_##name:
#include <seam/trace_kinds.def>
#undef SEAM_TRACE_KIND
		return 1;
	default:
		return 0;
	}
}

static enum seam_rc check_event(struct checker *checker, const struct seam_trace_event *event)
{
	if (!kind_is_known(event->kind) || (event->flags & ~SEAM_TRACE_FLAGS) != 0)
		return fail(checker, "T6", "unknown kind or flag");
	if (event->time_ns < checker->time_ns)
		return fail(checker, "T3", "time runs backwards");
	checker->time_ns = event->time_ns;
	if (seam_trace_string(checker->trace, event->module) == NULL)
		return fail(checker, "T4", "a module's name is no string");
	if (event->kind != SEAM_TRACE_PHASE_BEGIN && event->phase != innermost(checker))
		return fail(checker, "T5", "the phase is not the innermost open one");
	return check_by_kind(checker, event);
}

static enum seam_rc check_strings(struct checker *checker)
{
	const struct seam_trace_header *header = &checker->trace->header;
	const char *strings = checker->trace->strings;
	if (header->string_bytes == 0 || strings[0] != '\0' || strings[header->string_bytes - 1] != '\0' ||
		seam_trace_string(checker->trace, header->source) == NULL) {
		checker->broken = "T4";
		seam__trace_error_set(checker->error, 0,
			"the strings do not begin with an empty one, do not end, or the "
			"source is none of them (T4)");
		return SEAM_CORRUPT;
	}
	return SEAM_OK;
}

enum seam_rc seam__trace_verify(const struct seam_trace *trace, struct seam_trace_error *error, const char **ret_broken)
{
	struct checker checker = {.trace = trace, .error = error};
	seam__idmap_init(&checker.live);
	seam__idmap_init(&checker.recorded);
	seam__idmap_init(&checker.phases);
	seam__grow_init(&checker.open, sizeof(struct open_phase));
	enum seam_rc rc = check_strings(&checker);
	for (uint64_t i = 0; rc == SEAM_OK && i < trace->header.event_count; i++) {
		checker.index = i;
		rc = check_event(&checker, &trace->events[i]);
	}
	seam__grow_fini(&checker.open);
	seam__idmap_fini(&checker.phases);
	seam__idmap_fini(&checker.recorded);
	seam__idmap_fini(&checker.live);
	if (rc == SEAM_CORRUPT)
		*ret_broken = checker.broken;
	else if (rc != SEAM_OK)
		(void)seam__trace_error_rc(error, rc);
	return rc;
}

const char *seam_trace_check(const struct seam_trace *trace, struct seam_trace_error *error)
{
	const char *broken = NULL;
	enum seam_rc rc =
		trace != NULL ? seam__trace_verify(trace, error, &broken) : seam__trace_error_rc(error, SEAM_INVALID);
	if (rc == SEAM_OK)
		return NULL;
	return broken != NULL ? broken : rc == SEAM_INVALID ? "no trace" : "host memory for the check";
}
