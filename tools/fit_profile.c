/* fit_profile.c: see fit_profile.h. */
#include "fit_profile.h"

#include "text.h"

#if TOOLS_HAVE_JANSSON

#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* As in the package's _work.py: shares of published peaks, the shortest kernel, TF32 of a 16-bit peak. */
#define PRODUCT_SHARE 0.72
#define MEMORY_SHARE 0.80
#define LAUNCH_SECONDS 2.5e-6
#define TF32_SHARE 0.5
#define TF32_SINCE 80u /* compute capability * 10 */

struct reader {
	const struct seam_machine *machine;
	char *error;
	struct fit_profile *profile;
	const json_t *recordings[SEAM_FIT_TREATMENTS]; /* NULL: there is none */
	struct seam_fit_visit *visits;                 /* of the profile's, in its order */
	uint32_t count;                                /* of these */
	uint32_t head;                                 /* between the last forward and the first backward pass */
};

__attribute__((format(printf, 2, 3))) static bool fail(const struct reader *reader, const char *format, ...)
{
	char text[FIT_PROFILE_ERROR_BYTES];
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	seam__text_line(reader->error, FIT_PROFILE_ERROR_BYTES, "%s", text);
	return false;
}

static bool read_number(const json_t *value, int64_t least, int64_t *ret_number)
{
	if (!json_is_integer(value) || json_integer_value(value) < least ||
		json_integer_value(value) >= (json_int_t)SEAM_FIT_BYTES_MOST)
		return false;
	*ret_number = json_integer_value(value);
	return true;
}

/* The curve of a visit in a recording; what is copied in it for its block. */
static bool read_curve(const struct reader *reader, uint32_t treatment, uint32_t number, struct seam_fit_curve *curve,
	uint64_t *ret_copied)
{
	const json_t *recording = reader->recordings[treatment], *bytes = json_object_get(recording, "bytes");
	const json_t *visit = json_array_get(json_object_get(recording, "visits"), number), *event, *copy;
	const json_t *copies = json_object_get(recording, "copies");
	int64_t level = 0, top = 0, first = 0, last = -1;
	size_t i;
	*ret_copied = 0;
	/* Copies have rising numbers, as all that is made has. */
	json_array_foreach(copies, i, copy) if (i == 0) first = json_integer_value(copy);
	else last = json_integer_value(copy);
	last = last < first ? first : last;
	json_array_foreach(json_object_get(visit, "events"), i, event)
	{
		int64_t piece, size;
		if (!read_number(event, -(int64_t)json_array_size(bytes), &piece) || piece == 0 ||
			!read_number(json_array_get(bytes, (size_t)(llabs(piece) - 1)), 0, &size))
			return fail(reader, "visit %u of %s: an event of no piece", number,
				seam_fit_treatment_name(treatment));
		level += piece > 0 ? size : -size;
		top = level > top ? level : top;
		if (piece < first || piece > last || size == 0)
			continue;
		size_t j;
		json_array_foreach(copies, j, copy) *ret_copied +=
			json_integer_value(copy) == piece ? (uint64_t)size : 0;
	}
	if (top >= (int64_t)SEAM_FIT_BYTES_MOST || level <= -(int64_t)SEAM_FIT_BYTES_MOST)
		return fail(reader, "visit %u: more than a TiB", number);
	curve->top_bytes = (uint64_t)top;
	curve->net_bytes = level;
	return true;
}

static bool read_visit(struct reader *reader, uint32_t number)
{
	const json_t *visits = json_object_get(reader->recordings[SEAM_FIT_KEEP], "visits");
	const json_t *visit = json_array_get(visits, number);
	const char *part = json_string_value(json_object_get(visit, "part"));
	int64_t block;
	struct seam_fit_visit *found = &reader->visits[number];
	if (part == NULL || !read_number(json_object_get(visit, "block"), -1, &block))
		return fail(reader, "visit %u has no part or no block", number);
	bool backward = strcmp(part, "backward") == 0;
	*found = (struct seam_fit_visit){.block = SEAM_FIT_NONE, .chunk = SEAM_FIT_NONE};
	if (strcmp(part, "optimizer") == 0)
		found->phase = SEAM_FIT_STEPPING;
	if (block >= 0 && (backward || strcmp(part, "forward") == 0)) {
		if (block >= reader->profile->problem.block_count)
			return fail(reader, "visit %u is of block %d, and there are %u", number, (int)block,
				reader->profile->problem.block_count);
		found->phase = backward ? SEAM_FIT_BACKWARD : SEAM_FIT_FORWARD;
		found->block = (uint32_t)block;
	}
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++) {
		uint64_t copied;
		if (reader->recordings[t] == NULL)
			continue;
		if (!read_curve(reader, t, number, &found->under[t], &copied))
			return false;
		if (backward && t >= SEAM_FIT_SWAP && found->block != SEAM_FIT_NONE)
			reader->profile->blocks[found->block].swap_bytes[t] += copied;
	}
	return true;
}

/* One visit behind another, as one. */
static void join(struct seam_fit_visit *visit, const struct seam_fit_visit *next)
{
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++) {
		struct seam_fit_curve *curve = &visit->under[t];
		int64_t top = curve->net_bytes + (int64_t)next->under[t].top_bytes;
		if (top > (int64_t)curve->top_bytes)
			curve->top_bytes = (uint64_t)top;
		curve->net_bytes += next->under[t].net_bytes;
	}
}

static bool is_pass(const struct seam_fit_visit *visit)
{
	return visit->block != SEAM_FIT_NONE;
}

/* The visits in the order of the problem: from the first pass on, around the end, what is between two passes of one
 * direction joined to the first of them. */
static bool arrange(struct reader *reader)
{
	struct fit_profile *profile = reader->profile;
	uint32_t first = 0, made = 0;
	while (first < reader->count && !is_pass(&reader->visits[first]))
		first++;
	if (first == reader->count)
		return fail(reader, "none of its visits is of a block");
	for (uint32_t i = 0; i < first; i++)
		profile->problem.base_bytes += (uint64_t)reader->visits[i].under[SEAM_FIT_KEEP].net_bytes;
	bool steps = false;
	for (uint32_t i = 0; i < reader->count; i++) {
		const struct seam_fit_visit *visit = &reader->visits[(first + i) % reader->count];
		const struct seam_fit_visit *next = &reader->visits[(first + i + 1) % reader->count];
		struct seam_fit_visit *last = made > 0 ? &profile->visits[made - 1] : NULL;
		if (!is_pass(visit) && last != NULL && is_pass(last) && is_pass(next) && last->phase == next->phase) {
			join(last, visit);
			continue;
		}
		steps = steps || visit->phase == SEAM_FIT_STEPPING;
		if (steps && is_pass(visit))
			return fail(reader, "a block's pass behind the optimizer's step");
		profile->visits[made] = *visit;
		profile->visits[made].phase = steps ? SEAM_FIT_STEPPING : visit->phase;
		if (!is_pass(visit) && last != NULL && last->phase == SEAM_FIT_FORWARD)
			reader->head = made;
		made++;
	}
	profile->problem.visit_count = made;
	return true;
}

/* Products of such a type in a second, at best; 0: not known. */
static double product_speed(const struct seam_machine *machine, const char *type)
{
	if (strcmp(type, "bfloat16") == 0 || strcmp(type, "float16") == 0)
		return machine->tflops * 1e12;
	if (strcmp(type, "tf32") == 0 && machine->capability >= TF32_SINCE)
		return machine->tflops * TF32_SHARE * 1e12;
	return strcmp(type, "float32") == 0 || strcmp(type, "tf32") == 0 ? machine->fp32_tflops * 1e12 : 0;
}

/* The seconds of one row of calls. */
static bool row_seconds(const struct reader *reader, const json_t *row, double *ret_seconds)
{
	const char *type = json_string_value(json_array_get(row, 1));
	int64_t numbers[4];
	for (size_t i = 0; i < 4; i++) {
		const json_t *value = json_array_get(row, i + 2);
		if (type == NULL || !json_is_integer(value) || json_integer_value(value) < 0)
			return fail(reader, "\"work\" has a row of another kind");
		numbers[i] = json_integer_value(value);
	}
	double products = 0, memory = (double)numbers[1] / (reader->machine->memory_gbs * 1e9 * MEMORY_SHARE);
	if (strcmp(type, "host") == 0) {
		if (reader->machine->pcie_gbs <= 0)
			return fail(reader, "how fast a %s copies from and to the host is not known",
				reader->machine->name);
		*ret_seconds = (double)numbers[3] * (double)numbers[1] / (reader->machine->pcie_gbs * 1e9);
		return true;
	}
	if (numbers[0] > 0) {
		double speed = product_speed(reader->machine, type);
		if (speed <= 0)
			return fail(reader, "how fast a %s multiplies %s is not known", reader->machine->name, type);
		products = (double)numbers[0] / (speed * PRODUCT_SHARE);
	}
	double launches = (double)numbers[2] * LAUNCH_SECONDS;
	double each = products > memory ? products : memory;
	*ret_seconds = (double)numbers[3] * (each > launches ? each : launches);
	return true;
}

/* The visit that a row belongs to: a pass of a block, the optimizer; what is outside of blocks counts as the head's. */
static uint32_t visit_of(const struct reader *reader, const char *where)
{
	const struct fit_profile *profile = reader->profile;
	const char *space = strchr(where, ' ');
	bool backward = strncmp(where, "backward", 8) == 0, steps = strcmp(where, "optimizer") == 0;
	for (uint32_t i = 0; i < profile->problem.visit_count; i++) {
		const struct seam_fit_visit *visit = &profile->visits[i];
		if (steps && visit->phase == SEAM_FIT_STEPPING)
			return i;
		if (space != NULL && visit->phase == (backward ? SEAM_FIT_BACKWARD : SEAM_FIT_FORWARD) &&
			visit->block == strtoul(space + 1, NULL, 10))
			return i;
	}
	return reader->head;
}

static bool read_work(struct reader *reader, const json_t *work)
{
	struct fit_profile *profile = reader->profile;
	const json_t *row;
	size_t i;
	if (!json_is_array(work))
		return fail(reader, "what its operators compute is not in it");
	json_array_foreach(work, i, row)
	{
		const char *where = json_string_value(json_array_get(row, 0));
		double seconds = 0;
		if (where == NULL)
			return fail(reader, "\"work\" has a row of another kind");
		if (!row_seconds(reader, row, &seconds))
			return false;
		if (seconds > 1000)
			return fail(reader, "an iteration takes longer than a quarter of an hour");
		struct seam_fit_visit *visit = &profile->visits[visit_of(reader, where)];
		for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
			visit->under[t].compute_ns += (uint64_t)(seconds * 1e9);
	}
	return true;
}

static struct seam_fit_visit *pass_of(struct fit_profile *profile, uint32_t block, uint32_t phase)
{
	for (uint32_t i = 0; i < profile->problem.visit_count; i++)
		if (profile->visits[i].block == block && profile->visits[i].phase == phase)
			return &profile->visits[i];
	return NULL;
}

static void raise(struct seam_fit_curve *curve, uint64_t top_bytes)
{
	curve->top_bytes = curve->top_bytes > top_bytes ? curve->top_bytes : top_bytes;
}

/* Recordings copy while they compute; a schedule copies beside that. So behind a forward pass all that leaves is still
 * there, and before a backward pass all that comes back, as where it is kept, or recomputed, on the device. */
static bool complete_block(struct reader *reader, uint32_t block)
{
	struct fit_profile *profile = reader->profile;
	struct seam_fit_visit *forward = pass_of(profile, block, SEAM_FIT_FORWARD);
	struct seam_fit_visit *backward = pass_of(profile, block, SEAM_FIT_BACKWARD);
	if (forward == NULL || backward == NULL)
		return fail(reader, "block %u has no forward or no backward pass", block);
	for (uint32_t t = SEAM_FIT_SWAP; t < SEAM_FIT_TREATMENTS; t++) {
		uint32_t on_device = t == SEAM_FIT_SWAP ? SEAM_FIT_KEEP : SEAM_FIT_RECOMPUTE;
		uint64_t bytes = profile->blocks[block].swap_bytes[t];
		int64_t level = forward->under[t].net_bytes + (int64_t)bytes;
		raise(&forward->under[t], forward->under[on_device].top_bytes);
		raise(&forward->under[t], level > 0 ? (uint64_t)level : 0);
		raise(&backward->under[t], bytes + backward->under[on_device].top_bytes);
	}
	backward->under[SEAM_FIT_RECOMPUTE].compute_ns += forward->under[SEAM_FIT_KEEP].compute_ns;
	backward->under[SEAM_FIT_FROM_HOST].compute_ns += forward->under[SEAM_FIT_KEEP].compute_ns;
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++)
		if (reader->recordings[t] != NULL && (t < SEAM_FIT_SWAP || reader->machine->pcie_gbs > 0))
			profile->blocks[block].allowed |= 1u << t;
	return true;
}

static void set_machine(struct seam_fit_machine *machine, const struct seam_machine *gpu)
{
	double up = gpu->pcie_up_both_gbs, down = gpu->pcie_down_both_gbs;
	machine->up = machine->down = (uint64_t)(gpu->pcie_gbs * 1e9);
	/* Where it was not measured both ways share what one has. */
	machine->up_both = (uint64_t)((up > 0 ? up : gpu->pcie_gbs / 2) * 1e9);
	machine->down_both = (uint64_t)((down > 0 ? down : gpu->pcie_gbs / 2) * 1e9);
}

static bool make_room(struct reader *reader)
{
	struct fit_profile *profile = reader->profile;
	reader->visits = calloc(reader->count, sizeof(*reader->visits));
	profile->visits = calloc(reader->count, sizeof(*profile->visits));
	profile->blocks = calloc((size_t)profile->problem.block_count + 1, sizeof(*profile->blocks));
	if (reader->visits == NULL || profile->visits == NULL || profile->blocks == NULL)
		return fail(reader, "out of memory");
	profile->problem.visits = profile->visits;
	profile->problem.blocks = profile->blocks;
	return true;
}

/* Recordings by treatment, which have the same visits. */
static bool find_recordings(struct reader *reader, const json_t *root)
{
	const json_t *recordings = json_object_get(root, "recordings");
	int64_t version, blocks, start, before;
	if (!read_number(json_object_get(root, "seamprofile"), 0, &version))
		return fail(reader, "not a .seamprofile");
	if (version != 1)
		return fail(reader, "a .seamprofile of version %d; 1 can be read", (int)version);
	for (uint32_t t = 0; t < SEAM_FIT_TREATMENTS; t++) {
		reader->recordings[t] = json_object_get(recordings, seam_fit_treatment_name(t));
		size_t count = json_array_size(json_object_get(reader->recordings[t], "visits"));
		if (t == SEAM_FIT_KEEP && count > 0 && count < SEAM_FIT_OPERATIONS_MOST)
			reader->count = (uint32_t)count;
		else if (reader->recordings[t] != NULL && count != reader->count)
			return fail(reader, "%s has other visits than keep", seam_fit_treatment_name(t));
	}
	const json_t *keep = reader->recordings[SEAM_FIT_KEEP];
	if (reader->count == 0 || !read_number(json_object_get(json_object_get(root, "blocks"), "count"), 0, &blocks) ||
		blocks >= SEAM_FIT_OPERATIONS_MOST || !read_number(json_object_get(keep, "start"), 0, &start) ||
		!read_number(json_object_get(keep, "before"), 0, &before))
		return fail(reader, "it lacks visits, blocks, or what lives where the iteration begins");
	reader->profile->problem.block_count = (uint32_t)blocks;
	reader->profile->problem.base_bytes = (uint64_t)start;
	reader->profile->before_bytes = (uint64_t)before;
	return true;
}

static bool read_all(struct reader *reader, const json_t *root)
{
	struct fit_profile *profile = reader->profile;
	const char *program = json_string_value(json_array_get(json_object_get(root, "program"), 0));
	seam__text_line(profile->program, sizeof(profile->program), "%s", program == NULL ? "the program" : program);
	if (!find_recordings(reader, root) || !make_room(reader))
		return false;
	for (uint32_t i = 0; i < reader->count; i++)
		if (!read_visit(reader, i))
			return false;
	if (!arrange(reader) || !read_work(reader, json_object_get(root, "work")))
		return false;
	for (uint32_t i = 0; i < profile->problem.block_count; i++)
		if (!complete_block(reader, i))
			return false;
	set_machine(&profile->problem.machine, reader->machine);
	char broken[200];
	if (seam_fit_problem_check(&profile->problem, broken, sizeof(broken)) != SEAM_OK)
		return fail(reader, "%s", broken);
	return true;
}

bool fit_profile_read(const char *path, const struct seam_machine *machine, char error[FIT_PROFILE_ERROR_BYTES],
	struct fit_profile *ret_profile)
{
	json_error_t unread;
	json_t *root = json_load_file(path, 0, &unread);
	struct fit_profile profile = {.problem = {.struct_bytes = sizeof(profile.problem), .micro_batches = 1}};
	struct reader reader = {.machine = machine, .error = error, .profile = &profile};
	if (root == NULL && unread.line < 0)
		return fail(&reader, "%s", unread.text);
	if (root == NULL)
		return fail(&reader, "line %d: %s", unread.line, unread.text);
	bool is_read = read_all(&reader, root);
	json_decref(root);
	free(reader.visits);
	if (!is_read)
		fit_profile_fini(&profile);
	else
		*ret_profile = profile;
	return is_read;
}

void fit_profile_fini(struct fit_profile *profile)
{
	free(profile->visits);
	free(profile->blocks);
}

#else

bool fit_profile_read(const char *path, const struct seam_machine *machine, char error[FIT_PROFILE_ERROR_BYTES],
	struct fit_profile *ret_profile)
{
	(void)path;
	(void)machine;
	(void)ret_profile;
	seam__text_line(error, FIT_PROFILE_ERROR_BYTES, "this build reads no JSON: it has no jansson");
	return false;
}

void fit_profile_fini(struct fit_profile *profile)
{
	(void)profile;
}

#endif
