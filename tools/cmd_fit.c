/* cmd_fit.c: `seam fit PROFILE --gpu NAME`: what to keep, recompute and swap so that a program fits. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "fit_report.h"
#include "meta.h"

/* Exit statuses of this command, as those of `seam what-if`. */
#define FITS_NOT 1
#define NO_ANSWER 2

#define EXACT_WORK \
	30000000u /* some seconds: what --compare spends on the exact answer, if the program has few blocks */

enum key { KEY_GPU = 'g', KEY_MEMORY = 0x2000, KEY_COMPARE, KEY_JSON };

struct arguments {
	const struct seam_machine *machine;
	uint64_t memory_bytes;
	bool compares, json;
	const char *path;
};

static const struct argp_option options[] = {
	{"gpu", KEY_GPU, "NAME", 0, "one of those that 'seam machines' shows", 0},
	{"memory", KEY_MEMORY, "SIZE", 0, "for tensors, as in 22G; default: what the GPU has, less a context", 0},
	{"compare", KEY_COMPARE, NULL, 0, "also each treatment for all blocks, and recipes that need less memory", 0},
	{"json", KEY_JSON, NULL, 0, "print JSON", 0},
	{0},
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char names[SEAM_MACHINE_NAMES_BYTES];
	switch (key) {
	case KEY_GPU:
		arguments->machine = seam__machine_find(text);
		if (arguments->machine == NULL)
			return cmd_usage(state, "no such GPU: '%s'; known are %s", text, seam__machine_names(names));
		return 0;
	case KEY_MEMORY:
		return cmd_size(text, &arguments->memory_bytes) ? 0 : cmd_usage(state, "not a size: '%s'", text);
	case KEY_COMPARE:
		arguments->compares = true;
		return 0;
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->path != NULL)
			return cmd_usage(state, "one profile at a time: '%s'", text);
		arguments->path = text;
		return 0;
	case ARGP_KEY_END:
		if (arguments->path == NULL)
			return cmd_usage(state, "no profile is named");
		return arguments->machine == NULL ? cmd_usage(state, "no GPU is named: --gpu") : 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp syntax = {
	.options = options,
	.parser = parse,
	.args_doc = "PROFILE",
	.doc = "What becomes of a training program's blocks so that it fits a GPU, and is as fast as it can be there.\v"
	       "PROFILE is what 'python -m seamalloc what-if --profile' writes. Each block keeps what its backward pass needs, recomputes it, "
	       "or sends it to the host; an iteration is timed on four lanes, copies beside computing. Nothing is run.\n\n"
	       "The exit status is 0 when a recipe fits, 1 when none does, 2 when there is no answer.",
};

/* All blocks under one treatment, if each may be. */
static enum seam_rc predict_alike(struct fit_answer *answer, uint32_t treatment)
{
	const struct seam_fit_problem *problem = &answer->profile->problem;
	struct fit_row *row = &answer->rows[treatment];
	uint8_t *treatments = malloc((size_t)problem->block_count + 1);
	if (treatments == NULL)
		return SEAM_OOM_META;
	memset(treatments, (int)treatment, problem->block_count);
	struct seam_fit_recipe recipe = {treatments, NULL, 1, 2};
	struct seam_fit_schedule *schedule;
	enum seam_rc rc = seam_fit_schedule(problem, &recipe, &schedule);
	free(treatments);
	if (rc != SEAM_OK)
		return rc == SEAM_INVALID ? SEAM_OK : rc;
	rc = seam_fit_simulate(problem, schedule, NULL, &row->prediction);
	seam_fit_schedule_free(schedule);
	row->name = seam_fit_treatment_name(treatment);
	row->is_there = rc == SEAM_OK;
	row->fits = row->is_there && fit_peak_bytes(answer, &row->prediction) <= problem->budget_bytes;
	return rc;
}

/* The fastest recipe of all, where that can be proven in time. */
static enum seam_rc prove(struct fit_answer *answer)
{
	const struct seam_fit_options exact = {sizeof(exact), EXACT_WORK, 1};
	struct fit_row *row = &answer->rows[FIT_ROW_EXACT];
	struct seam_fit_front *front;
	enum seam_rc rc = seam_fit_search(&answer->profile->problem, &exact, &front);
	if (rc != SEAM_OK)
		return rc == SEAM_UNSUPPORTED ? SEAM_OK : rc;
	if (front->count > 0)
		*row = (struct fit_row){"proven fastest", true, true, front->points[0].prediction};
	seam_fit_front_free(front);
	return SEAM_OK;
}

static int answer(const struct arguments *arguments, struct fit_answer *answer)
{
	struct seam_fit_front *front = NULL;
	struct seam_text text;
	enum seam_rc rc = seam_fit_search(&answer->profile->problem, NULL, &front);
	answer->front = front;
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS && rc == SEAM_OK; t++)
		if (t == SEAM_FIT_KEEP || arguments->compares)
			rc = predict_alike(answer, t);
	if (rc == SEAM_OK && arguments->compares)
		rc = prove(answer);
	if (rc != SEAM_OK) {
		seam_fit_front_free(front);
		(void)cmd_fail("%s: %s", arguments->path, seam_rc_text(rc));
		return NO_ANSWER;
	}
	seam__text_init(&text, seam__meta_process());
	rc = arguments->json ? fit_json(answer, &text) : fit_text(answer, &text);
	int status = cmd_print(rc, &text) != CMD_OK ? NO_ANSWER : fit_chosen(answer) != NULL ? CMD_OK : FITS_NOT;
	seam__text_fini(&text);
	seam_fit_front_free(front);
	return status;
}

int cmd_fit(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct fit_profile profile;
	char error[FIT_PROFILE_ERROR_BYTES] = "";
	int status = cmd_parse(&syntax, argc, argv, &arguments);
	if (status != CMD_GO_ON)
		return status;
	if (!fit_profile_read(arguments.path, arguments.machine, error, &profile)) {
		(void)cmd_fail("%s: %s", arguments.path, error);
		return NO_ANSWER;
	}
	profile.problem.budget_bytes = arguments.memory_bytes != 0
		? arguments.memory_bytes
		: arguments.machine->memory_bytes - arguments.machine->context_bytes;
	struct fit_answer asked = {.profile = &profile, .machine = arguments.machine, .compares = arguments.compares};
	status = answer(&arguments, &asked);
	fit_profile_fini(&profile);
	return status;
}
