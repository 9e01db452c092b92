/* fit_report.c: see fit_report.h. */
#include "fit_report.h"

#include <string.h>

#include "json_fields.h"

#define SIZE_BYTES 32 /* of seam__text_size() */
#define TIME_BYTES 32
#define POINTS 10 /* of the front, that are shown */

const struct seam_fit_point *fit_chosen(const struct fit_answer *answer)
{
	const struct seam_fit_front *front = answer->front;
	if (front->count == 0 || answer->profile->before_bytes > answer->profile->problem.budget_bytes)
		return NULL;
	return &front->points[front->count - 1];
}

uint64_t fit_peak_bytes(const struct fit_answer *answer, const struct seam_fit_prediction *prediction)
{
	uint64_t before = answer->profile->before_bytes;
	return prediction->peak_bytes > before ? prediction->peak_bytes : before;
}

static const char *time_text(char buffer[TIME_BYTES], uint64_t ns)
{
	if (ns >= 1000000000)
		seam__text_line(buffer, TIME_BYTES, "%.2f s", (double)ns * 1e-9);
	else
		seam__text_line(buffer, TIME_BYTES, "%.3g ms", (double)ns * 1e-6);
	return buffer;
}

static void add_row(const struct fit_answer *answer, const char *name, const struct seam_fit_prediction *prediction,
	const char *verdict, struct seam_text *text)
{
	char size[SIZE_BYTES], host[SIZE_BYTES], time[TIME_BYTES];
	seam__text_printf(text, "  %-21s %10s %12s %10s %s\n", name,
		seam__text_size(size, fit_peak_bytes(answer, prediction)),
		seam__text_size(host, prediction->host_bytes), time_text(time, prediction->ns), verdict);
}

/* "12 keep, 4 recompute: RRRRKKKKKKKKKKKK". */
static void add_blocks(
	const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe, struct seam_text *text)
{
	uint32_t counts[SEAM_FIT_TREATMENTS] = {0};
	const char *comma = "";
	for (uint32_t i = 0; i < problem->block_count; i++)
		counts[recipe->treatments[i]]++;
	seam__text_puts(text, "  blocks      ");
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
		if (counts[t] > 0) {
			seam__text_printf(text, "%s%u %s", comma, counts[t], seam_fit_treatment_name(t));
			comma = ", ";
		}
	seam__text_puts(text, ", in the order of the program: ");
	for (uint32_t i = 0; i < problem->block_count; i++)
		seam__text_fill(text, "KRSH"[recipe->treatments[i]], 1);
	seam__text_puts(text, "\n");
}

static void add_causes(const struct seam_fit_prediction *prediction, struct seam_text *text)
{
	char compute[TIME_BYTES], again[TIME_BYTES], copies[TIME_BYTES];
	seam__text_printf(text, "  an iteration compute %s + recompute %s + waiting for copies %s\n",
		time_text(compute, prediction->compute_ns), time_text(again, prediction->recompute_ns),
		time_text(copies, prediction->copy_wait_ns));
}

/* A few recipes between the smallest and the chosen one. */
static void add_front(const struct fit_answer *answer, struct seam_text *text)
{
	const struct seam_fit_front *front = answer->front;
	size_t shown = front->count < POINTS ? front->count : POINTS;
	for (size_t i = 0; i + 1 < shown; i++) {
		const struct seam_fit_point *point = &front->points[i * (front->count - 1) / (shown - 1)];
		add_row(answer, "with less memory", &point->prediction, "", text);
	}
}

static void add_rows(const struct fit_answer *answer, struct seam_text *text)
{
	seam__text_printf(text, "\n  %-21s %10s %12s %10s\n", "", "GPU", "pinned host", "iteration");
	for (size_t i = 0; i < FIT_ROWS; i++)
		if (answer->rows[i].is_there)
			add_row(answer, answer->rows[i].name, &answer->rows[i].prediction,
				answer->rows[i].fits ? "fits" : "does not fit", text);
	if (fit_chosen(answer) == NULL)
		return;
	add_front(answer, text);
	add_row(answer, "chosen", &fit_chosen(answer)->prediction, "fits", text);
}

enum seam_rc fit_text(const struct fit_answer *answer, struct seam_text *text)
{
	const struct seam_fit_problem *problem = &answer->profile->problem;
	const struct seam_fit_point *chosen = fit_chosen(answer);
	const struct fit_row *kept = &answer->rows[SEAM_FIT_KEEP];
	char size[SIZE_BYTES], host[SIZE_BYTES], time[TIME_BYTES];
	seam__text_printf(text, "%s on %s (%s for tensors)\n", answer->profile->program, answer->machine->name,
		seam__text_size(size, problem->budget_bytes));
	seam__text_printf(text, "  as it is    %s: needs %s, %s an iteration\n", kept->fits ? "fits" : "does not fit",
		seam__text_size(size, fit_peak_bytes(answer, &kept->prediction)), time_text(time, kept->prediction.ns));
	if (chosen == NULL) {
		uint64_t least = answer->front->least_bytes, before = answer->profile->before_bytes;
		seam__text_printf(text, "  treated     does not fit: needs at least %s\n",
			seam__text_size(size, least > before ? least : before));
	} else {
		seam__text_printf(text, "  treated     fits: %s, and %s of pinned host memory; %s an iteration\n",
			seam__text_size(size, fit_peak_bytes(answer, &chosen->prediction)),
			seam__text_size(host, chosen->prediction.host_bytes), time_text(time, chosen->prediction.ns));
		add_blocks(problem, &chosen->recipe, text);
		add_causes(&chosen->prediction, text);
	}
	seam__text_puts(text,
		"  stays       weights, gradients and the optimizer's state: a profile does not tell them apart\n"
		"  how sure    memory is summed up from recordings under each treatment; times are from published speeds, "
		"+-20 % or more\n");
	if (answer->compares)
		add_rows(answer, text);
	return seam__text_rc(text);
}

static void put_prediction(
	struct seam_json *json, const struct fit_answer *answer, const struct seam_fit_prediction *prediction)
{
	json_field_u64(json, "peak_bytes", true, fit_peak_bytes(answer, prediction));
	json_field_u64(json, "host_bytes", true, prediction->host_bytes);
	json_field_u64(json, "iteration_ns", true, prediction->ns);
	json_field_u64(json, "compute_ns", true, prediction->compute_ns);
	json_field_u64(json, "recompute_ns", true, prediction->recompute_ns);
	json_field_u64(json, "copy_wait_ns", true, prediction->copy_wait_ns);
	json_field_u64(json, "host_wait_ns", true, prediction->host_wait_ns);
}

static void put_recipe(
	struct seam_json *json, const struct seam_fit_problem *problem, const struct seam_fit_recipe *recipe)
{
	seam__json_key(json, "treatments");
	seam__json_array_begin(json);
	for (uint32_t i = 0; i < problem->block_count; i++)
		seam__json_string(json, seam_fit_treatment_name(recipe->treatments[i]));
	seam__json_array_end(json);
	json_field_u64(json, "ahead", true, recipe->ahead);
}

static void put_point(struct seam_json *json, const struct fit_answer *answer, const struct seam_fit_point *point)
{
	seam__json_object_begin(json);
	put_prediction(json, answer, &point->prediction);
	put_recipe(json, &answer->profile->problem, &point->recipe);
	seam__json_object_end(json);
}

static void put_rows(struct seam_json *json, const struct fit_answer *answer)
{
	seam__json_key(json, "compared");
	seam__json_array_begin(json);
	for (size_t i = 0; i < FIT_ROWS && answer->compares; i++) {
		if (!answer->rows[i].is_there)
			continue;
		seam__json_object_begin(json);
		json_field_string(json, "name", answer->rows[i].name);
		seam__json_key(json, "fits");
		seam__json_bool(json, answer->rows[i].fits);
		put_prediction(json, answer, &answer->rows[i].prediction);
		seam__json_object_end(json);
	}
	seam__json_array_end(json);
}

enum seam_rc fit_json(const struct fit_answer *answer, struct seam_text *text)
{
	const struct seam_fit_point *chosen = fit_chosen(answer);
	struct seam_json json;
	seam__json_init(&json, text, true);
	seam__json_object_begin(&json);
	json_field_string(&json, "program", answer->profile->program);
	json_field_string(&json, "gpu", answer->machine->name);
	json_field_u64(&json, "budget_bytes", true, answer->profile->problem.budget_bytes);
	json_field_u64(&json, "least_bytes", answer->front->least_bytes != UINT64_MAX, answer->front->least_bytes);
	seam__json_key(&json, "recipe");
	if (chosen != NULL)
		put_point(&json, answer, chosen);
	else
		seam__json_null(&json);
	put_rows(&json, answer);
	seam__json_key(&json, "front");
	seam__json_array_begin(&json);
	for (size_t i = 0; i < answer->front->count; i++)
		put_point(&json, answer, &answer->front->points[i]);
	seam__json_array_end(&json);
	seam__json_object_end(&json);
	return seam__json_finish(&json);
}
