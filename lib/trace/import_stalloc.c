/* import_stalloc.c: STAlloc's text log (trace/mem_log_dev{N}.txt), in which its allocator and its hooks write by turns.
 *
 *   1 ADDRESS SIZE STREAM       an allocation       0 ADDRESS SIZE STREAM   its free; addresses are hexadecimal
 *   Iteration Index : K         iteration K begins; `end` behind the last one micro-batch : F             the next
 *   forward begins; B: the next backward, W: the next backward of weights NAME->CLASS Layer : F-start a module begins;
 *   F-end, B-start and B-end token_... : F-start         and the like: passed over
 *
 * What becomes of it: the beginning of an iteration is the end of the one before (STEP), but for the first, before
 * which the program sets up. A micro-batch mark begins a phase (forward, backward, weight backward) that lasts to the
 * next mark; micro-batches count from 0 in each iteration and kind. The module of an event is the innermost open one.
 * Sizes depend on data (DYNAMIC) where the innermost module of these kinds is a mixture of experts (its name ends in
 * .mlp) or an MLP (ParallelMLP, SequentialMLP), not its shared expert or router: those are the modules that STAlloc
 * hooks. Behind `end` only allocations and frees count. A module may end out of turn. Address 0 is no block. Time is
 * the number of the line: the log has none.
 *
 * Refused, with the number of the line: any other line, a module that ends without having begun, and what memlog.h
 * refuses (the log is opened for appending, so two runs may stand in one file: their addresses collide). No locks: one
 * call owns everything that it touches.
 */
#include <string.h>

#include "import.h"
#include "memlog.h"
#include "trace_error.h"
#include "trace_text.h"

#define PHASE_KINDS 3u
#define MODULES_MAX 1000u /* open at once */

static const char *const phase_letters[PHASE_KINDS] = {"F", "B", "W"};
static const char *const phase_names[PHASE_KINDS] = {"forward", "backward", "weight backward"};
static const struct seam_line_field no_field = {"", 0};

/* What a module's sizes are like. */
enum manner { MANNER_NONE, MANNER_DYNAMIC, MANNER_FIXED };

struct module {
	struct seam_line_field name;
	uint32_t string;
	enum manner manner;
};

struct stalloc {
	struct seam_lines lines;
	struct seam_memlog memlog;
	struct seam_grow modules; /* struct module, outermost first */
	uint32_t phase_strings[PHASE_KINDS];
	uint16_t phase_numbers[PHASE_KINDS]; /* in the trace; 0: not seen yet */
	uint16_t phases_seen;
	uint32_t microbatches[PHASE_KINDS]; /* begun in this iteration */
	size_t phase;                       /* open; PHASE_KINDS: none */
	uint32_t microbatch;
	uint64_t iteration; /* that which is running */
	bool has_iteration; /* one has begun */
	bool has_ended;     /* the `end` was seen */
};

/* An event of this line, as things stand. */
static struct seam_trace_event event_here(const struct stalloc *stalloc, enum seam_trace_kind kind)
{
	const struct module *modules = stalloc->modules.items;
	const size_t depth = stalloc->modules.count;
	return (struct seam_trace_event){
		.kind = (uint8_t)kind,
		.phase = stalloc->phase < PHASE_KINDS ? stalloc->phase_numbers[stalloc->phase] : 0,
		.module = depth > 0 ? modules[depth - 1].string : 0,
		.time_ns = stalloc->lines.line,
		.microbatch = stalloc->microbatch,
	};
}

static enum seam_rc add(struct stalloc *stalloc, const struct seam_trace_event *event)
{
	return seam__memlog_add(&stalloc->memlog, event, stalloc->lines.line);
}

static enum seam_rc end_phase(struct stalloc *stalloc)
{
	struct seam_trace_event event = event_here(stalloc, SEAM_TRACE_PHASE_END);
	if (stalloc->phase == PHASE_KINDS)
		return SEAM_OK;
	event.aux = stalloc->phase_strings[stalloc->phase];
	stalloc->phase = PHASE_KINDS;
	stalloc->microbatch = 0;
	return add(stalloc, &event);
}

static enum seam_rc begin_phase(struct stalloc *stalloc, struct seam_line_field letter)
{
	size_t phase = 0;
	while (phase < PHASE_KINDS && !seam__field_is(letter, phase_letters[phase]))
		phase++;
	if (phase == PHASE_KINDS)
		return seam__lines_fail(&stalloc->lines, "a micro-batch is F, B or W; not", letter);
	if (stalloc->has_ended)
		return SEAM_OK;
	enum seam_rc rc = end_phase(stalloc);
	if (rc == SEAM_OK && stalloc->phase_numbers[phase] == 0) {
		rc = seam_trace_builder_string(
			stalloc->memlog.builder, phase_names[phase], &stalloc->phase_strings[phase]);
		stalloc->phase_numbers[phase] = ++stalloc->phases_seen;
	}
	if (rc != SEAM_OK)
		return rc;
	stalloc->phase = phase;
	stalloc->microbatch = stalloc->microbatches[phase]++;
	struct seam_trace_event event = event_here(stalloc, SEAM_TRACE_PHASE_BEGIN);
	event.aux = stalloc->phase_strings[phase];
	return add(stalloc, &event);
}

static enum seam_rc begin_iteration(struct stalloc *stalloc, struct seam_line_field index)
{
	const bool is_end = seam__field_is(index, "end");
	uint64_t number = stalloc->iteration + 1;
	enum seam_rc rc = is_end ? SEAM_OK : seam__lines_decimal(&stalloc->lines, index, &number);
	if (rc == SEAM_OK)
		rc = end_phase(stalloc);
	if (rc == SEAM_OK && stalloc->has_iteration && !stalloc->has_ended) {
		struct seam_trace_event event = event_here(stalloc, SEAM_TRACE_STEP);
		event.id = stalloc->iteration;
		rc = add(stalloc, &event);
	}
	memset(stalloc->microbatches, 0, sizeof(stalloc->microbatches));
	stalloc->iteration = number;
	stalloc->has_iteration = true;
	stalloc->has_ended = is_end;
	return rc;
}

static bool ends_with(struct seam_line_field field, const char *end)
{
	const size_t bytes = strlen(end);
	return field.bytes >= bytes && memcmp(field.text + field.bytes - bytes, end, bytes) == 0;
}

static enum manner manner_of(struct seam_line_field name, struct seam_line_field class)
{
	static const char router[] = "Router";
	if (ends_with(name, ".shared_experts") || ends_with(name, ".shared_expert"))
		return MANNER_FIXED;
	for (size_t i = 0; i + strlen(router) <= class.bytes; i++) {
		if (memcmp(class.text + i, router, strlen(router)) == 0)
			return MANNER_FIXED;
	}
	return ends_with(name, ".mlp") || seam__field_is(class, "ParallelMLP") || seam__field_is(class, "SequentialMLP")
		? MANNER_DYNAMIC
		: MANNER_NONE;
}

static enum seam_rc begin_module(struct stalloc *stalloc, struct seam_line_field name, struct seam_line_field class)
{
	struct module module = {.name = name, .manner = manner_of(name, class)};
	if (stalloc->modules.count == MODULES_MAX)
		return seam__lines_fail(&stalloc->lines, "more than 1000 modules are open at once:", name);
	enum seam_rc rc = seam__trace_text_intern(stalloc->memlog.builder, name.text, name.bytes, &module.string);
	return rc == SEAM_OK ? seam__grow_append(&stalloc->modules, &module, 1) : rc;
}

/* The newest of that name. */
static enum seam_rc end_module(struct stalloc *stalloc, struct seam_line_field name)
{
	struct module *modules = stalloc->modules.items;
	size_t at = stalloc->modules.count;
	while (at > 0 &&
		(modules[at - 1].name.bytes != name.bytes ||
			memcmp(modules[at - 1].name.text, name.text, name.bytes) != 0))
		at--;
	if (at == 0)
		return seam__lines_fail(&stalloc->lines, "a module ends that has not begun:", name);
	for (; at < stalloc->modules.count; at++)
		modules[at - 1] = modules[at];
	stalloc->modules.count--;
	return SEAM_OK;
}

/* NAME->CLASS Layer : F-start. `head` is what stands before the colon, `tail` behind it. */
static enum seam_rc read_layer(struct stalloc *stalloc, struct seam_line_field head, struct seam_line_field tail)
{
	struct seam_line_field module = no_field;
	struct seam_line_field word = no_field;
	size_t arrow = 0;
	(void)seam__field_word(&head, &module);
	(void)seam__field_word(&head, &word);
	while (arrow + 2 <= module.bytes && memcmp(module.text + arrow, "->", 2) != 0)
		arrow++;
	if (arrow == 0 || arrow + 2 >= module.bytes || !seam__field_is(word, "Layer") || head.bytes > 0)
		return seam__lines_fail(&stalloc->lines, "no line of STAlloc's log:", module);
	if (stalloc->has_ended)
		return SEAM_OK;
	const struct seam_line_field name = {module.text, arrow};
	const struct seam_line_field class = {module.text + arrow + 2, module.bytes - arrow - 2};
	if (seam__field_is(tail, "F-start") || seam__field_is(tail, "B-start"))
		return begin_module(stalloc, name, class);
	if (seam__field_is(tail, "F-end") || seam__field_is(tail, "B-end"))
		return end_module(stalloc, name);
	return seam__lines_fail(&stalloc->lines, "a module has F-start, F-end, B-start and B-end; not", tail);
}

static bool is_dynamic(const struct stalloc *stalloc)
{
	const struct module *modules = stalloc->modules.items;
	for (size_t at = stalloc->modules.count; at > 0; at--) {
		if (modules[at - 1].manner != MANNER_NONE)
			return modules[at - 1].manner == MANNER_DYNAMIC;
	}
	return false;
}

static enum seam_rc read_block(struct stalloc *stalloc, struct seam_line_field line)
{
	struct seam_line_field fields[4] = {no_field, no_field, no_field, no_field};
	struct seam_trace_event event = event_here(stalloc, line.text[0] == '1' ? SEAM_TRACE_ALLOC : SEAM_TRACE_FREE);
	for (size_t i = 0; i < 4; i++) {
		if (!seam__field_word(&line, &fields[i]))
			return seam__lines_fail(
				&stalloc->lines, "too few fields for 1|0 ADDRESS SIZE STREAM", no_field);
	}
	if (line.bytes > 0)
		return seam__lines_fail(&stalloc->lines, "too many fields for 1|0 ADDRESS SIZE STREAM", no_field);
	enum seam_rc rc = seam__lines_hex(&stalloc->lines, fields[1], &event.id);
	if (rc == SEAM_OK)
		rc = seam__lines_decimal(&stalloc->lines, fields[2], &event.size);
	if (rc == SEAM_OK)
		rc = seam__lines_hex(&stalloc->lines, fields[3], &event.stream);
	if (rc != SEAM_OK)
		return rc;
	if (event.kind == SEAM_TRACE_ALLOC && is_dynamic(stalloc))
		event.flags = SEAM_TRACE_DYNAMIC;
	return add(stalloc, &event);
}

static bool is_block(struct seam_line_field line)
{
	return seam__field_begins(line, "1 ") || seam__field_begins(line, "0 ");
}

static enum seam_rc read_line(struct stalloc *stalloc, struct seam_line_field line)
{
	struct seam_line_field tail = line;
	struct seam_line_field head = no_field;
	if (is_block(line))
		return read_block(stalloc, line);
	(void)seam__field_split(&tail, ':', &head);
	tail = tail.text == NULL ? no_field : seam__field_trim(tail.text, tail.bytes);
	if (seam__field_is(head, "Iteration Index"))
		return begin_iteration(stalloc, tail);
	if (seam__field_is(head, "micro-batch"))
		return begin_phase(stalloc, tail);
	return seam__field_begins(head, "token_") ? SEAM_OK : read_layer(stalloc, head, tail);
}

bool seam__import_stalloc_is(const void *data, size_t bytes)
{
	struct seam_lines lines;
	struct seam_line_field line;
	struct seam_line_field word = no_field;
	seam__lines_init(&lines, data, bytes, NULL);
	if (!seam__lines_take(&lines, &line))
		return false;
	if (is_block(line)) {
		size_t words = 0;
		while (seam__field_word(&line, &word))
			words++;
		return words == 4;
	}
	return seam__field_begins(line, "Iteration Index :") || seam__field_begins(line, "micro-batch :");
}

enum seam_rc seam__import_stalloc(
	const void *data, size_t bytes, struct seam_trace_error *error, struct seam_trace **ret_trace)
{
	struct stalloc stalloc = {.phase = PHASE_KINDS};
	struct seam_line_field line;
	seam__lines_init(&stalloc.lines, data, bytes, error);
	seam__grow_init(&stalloc.modules, sizeof(struct module));
	enum seam_rc rc = seam__memlog_init(&stalloc.memlog, "stalloc log");
	while (rc == SEAM_OK && seam__lines_take(&stalloc.lines, &line))
		rc = read_line(&stalloc, line);
	if (rc == SEAM_OK)
		rc = seam__memlog_finish(&stalloc.memlog, error, ret_trace);
	if (rc == SEAM_OOM_META)
		(void)seam__trace_error_rc(error, rc);
	seam__memlog_fini(&stalloc.memlog);
	seam__grow_fini(&stalloc.modules);
	return rc;
}
