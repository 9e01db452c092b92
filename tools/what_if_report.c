/* what_if_report.c: see what_if_report.h. */
#include "what_if_report.h"

#include <inttypes.h>
#include <string.h>

#include "json_fields.h"

#define SIZE_BYTES 32      /* of seam__text_size() */
#define FAILURE_BYTES 1000 /* of a line about where memory ran out */

static const char *const keys[WHAT_IF_POLICIES] = {
	[WHAT_IF_NATIVE] = "native",
	[WHAT_IF_EXPANDABLE] = "expandable",
	[WHAT_IF_SEAM] = "seam",
};

/* "request 9123 of 10610 for 96.0 MiB, with 21.3 GiB live and 22.9 GiB reserved; step 3, phase backward". */
static const char *failure_text(
	const struct what_if_answer *answer, const struct what_if_run *run, char buffer[FAILURE_BYTES])
{
	char asked[SIZE_BYTES];
	char live[SIZE_BYTES];
	char reserved[SIZE_BYTES];
	const struct replay_failure *failure = &run->failure;
	seam__text_line(buffer, FAILURE_BYTES,
		"request %" PRIu64 " of %" PRIu64 " for %s, with %s live and %s reserved%s%s", failure->number,
		answer->requests, seam__text_size(asked, failure->bytes), seam__text_size(live, failure->live_bytes),
		seam__text_size(reserved, failure->reserved_bytes), run->where[0] != '\0' ? "; " : "", run->where);
	return buffer;
}

/* "" unless the recording cannot tell all. */
static const char *unseen_text(const struct what_if_answer *answer, char buffer[FAILURE_BYTES])
{
	char size[SIZE_BYTES];
	buffer[0] = '\0';
	if (answer->recorded_oom)
		seam__text_line(buffer, FAILURE_BYTES,
			"the recorded program ran out of memory itself, first at a request for %s: what it did not get is not in the recording",
			seam__text_size(size, answer->recorded_oom_bytes));
	return buffer;
}

static void put_empty(struct seam_json *json, const char *key)
{
	seam__json_key(json, key);
	seam__json_array_begin(json);
	seam__json_array_end(json);
}

static void put_runs(struct seam_json *json, const struct what_if_answer *answer)
{
	seam__json_key(json, "reserved_bytes");
	seam__json_object_begin(json);
	for (size_t i = 0; i < WHAT_IF_POLICIES; i++)
		json_field_u64(json, keys[i], answer->runs[i].fits, answer->runs[i].reserved_bytes);
	seam__json_object_end(json);
	seam__json_key(json, "needs_bytes");
	seam__json_object_begin(json);
	for (size_t i = 0; i < WHAT_IF_POLICIES; i++)
		json_field_u64(json, keys[i], answer->runs[i].needs_known, answer->runs[i].needs_bytes);
	seam__json_object_end(json);
}

static void put_answer(struct seam_json *json, const struct what_if_answer *answer)
{
	const struct what_if_run *seam = &answer->runs[WHAT_IF_SEAM];
	char buffer[FAILURE_BYTES];
	seam__json_object_begin(json);
	json_field_string(json, "trace", answer->trace);
	json_field_string(json, "gpu", answer->device->machine != NULL ? answer->device->machine->name : NULL);
	json_field_u64(json, "capacity_bytes", true, answer->device->capacity_bytes);
	json_field_u64(json, "usable_bytes", true, answer->device->usable_bytes);
	seam__json_key(json, "fits");
	seam__json_bool(json, seam->fits);
	json_field_u64(json, "peak_live_bytes", true, answer->peak_live_bytes);
	put_runs(json, answer);
	json_field_string(json, "fails_at", seam->fits ? NULL : failure_text(answer, seam, buffer));
	json_field_u64(json, "fails_request", !seam->fits, seam->failure.number);
	put_empty(json, "holders");
	put_empty(json, "advice");
	json_field_u64(json, "largest_batch", false, 0);
	json_field_double(json, "iteration_seconds_estimated", false, 0);
	seam__json_key(json, "unseen");
	seam__json_array_begin(json);
	if (unseen_text(answer, buffer)[0] != '\0')
		seam__json_string(json, buffer);
	seam__json_array_end(json);
	seam__json_object_end(json);
}

enum seam_rc what_if_json(const struct what_if_answer *answers, size_t count, struct seam_text *text)
{
	struct seam_json json;
	seam__json_init(&json, text, true);
	seam__json_array_begin(&json);
	for (size_t i = 0; i < count; i++)
		put_answer(&json, &answers[i]);
	seam__json_array_end(&json);
	return seam__json_finish(&json);
}

static void add_trace(const struct what_if_answer *answer, struct seam_text *text)
{
	char size[SIZE_BYTES];
	char unseen[FAILURE_BYTES];
	const char *slash = strrchr(answer->trace, '/');
	seam__text_printf(text, "%.400s: %" PRIu64 " requests, %s live at the peak\n",
		slash != NULL ? slash + 1 : answer->trace, answer->requests,
		seam__text_size(size, answer->peak_live_bytes));
	if (unseen_text(answer, unseen)[0] != '\0')
		seam__text_printf(text, "  %s\n", unseen);
}

static void add_device(const struct what_if_answer *answer, struct seam_text *text)
{
	const struct what_if_device *device = answer->device;
	char capacity[SIZE_BYTES];
	char usable[SIZE_BYTES];
	char context[SIZE_BYTES];
	(void)seam__text_size(capacity, device->capacity_bytes);
	if (device->machine == NULL)
		seam__text_printf(text, "a device of %s\n", capacity);
	else
		seam__text_printf(text, "%s (%s): %s, less %s for the context: %s\n", device->machine->name,
			device->machine->full_name, capacity,
			seam__text_size(context, device->capacity_bytes - device->usable_bytes),
			seam__text_size(usable, device->usable_bytes));
}

static void add_run(const struct what_if_answer *answer, size_t policy, struct seam_text *text)
{
	static const char *const labels[WHAT_IF_POLICIES] = {"native", "expandable", "Seam"};
	const struct what_if_run *run = &answer->runs[policy];
	char reserved[SIZE_BYTES];
	char needs[SIZE_BYTES];
	char failure[FAILURE_BYTES];
	(void)seam__text_size(needs, run->needs_bytes);
	seam__text_printf(text, "  %-10s  ", labels[policy]);
	if (run->fits)
		seam__text_printf(text, "fits: %s reserved at most", seam__text_size(reserved, run->reserved_bytes));
	else
		seam__text_puts(text, "does not fit: ");
	if (!run->needs_known)
		seam__text_printf(text, "%sneeds more than can be emulated", run->fits ? ", " : "");
	else if (!run->fits)
		seam__text_printf(text, "needs %s", needs);
	else if (run->needs_bytes != run->reserved_bytes)
		seam__text_printf(text, " (without a limit %s)", needs);
	seam__text_puts(text, "\n");
	if (!run->fits)
		seam__text_printf(text, "              runs out at %s\n", failure_text(answer, run, failure));
}

/* The line that matters, where there is one. */
static void add_verdict(const struct what_if_answer *answer, struct seam_text *text)
{
	const struct what_if_run *runs = answer->runs;
	const uint64_t usable_bytes = answer->device->usable_bytes;
	char size[SIZE_BYTES];
	if (answer->peak_live_bytes > usable_bytes)
		seam__text_printf(text, "  No allocator can serve it: %s more live at the peak than there is.\n",
			seam__text_size(size, answer->peak_live_bytes - usable_bytes));
	else if (runs[WHAT_IF_SEAM].fits && !runs[WHAT_IF_NATIVE].fits && !runs[WHAT_IF_EXPANDABLE].fits)
		seam__text_puts(text, "  It fits with Seam, and with neither of PyTorch's two.\n");
}

enum seam_rc what_if_text(const struct what_if_answer *answers, size_t count, struct seam_text *text)
{
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || answers[i].trace != answers[i - 1].trace) {
			seam__text_puts(text, i > 0 ? "\n" : "");
			add_trace(&answers[i], text);
		}
		add_device(&answers[i], text);
		for (size_t k = 0; k < WHAT_IF_POLICIES; k++)
			add_run(&answers[i], k, text);
		add_verdict(&answers[i], text);
	}
	return seam__text_rc(text);
}
