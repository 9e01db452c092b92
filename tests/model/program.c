/* program.c: programs that repeat themselves, and plans that are learned from them, brought along, and dropped; see
 * model.h.
 *
 * A program's blocks are in model->live like all others, so the oracle sees no difference; the program knows them by
 * their ids, since others may free them early.
 */
#include <inttypes.h>
#include <string.h>

#include <seam/plan.h>

#include "bits.h"
#include "model.h"
#include "plan_builder.h"
#include "record.h"
#include "learner.h"
#include "planned.h"

#define MIB (UINT64_C(1) << 20)
#define PLAN_NODES UINT64_C(2000)
#define NEWEST_EVENTS UINT64_C(3000)

static uint32_t find_block(const struct model *model, uint64_t id)
{
	for (uint32_t i = model->live_count; i-- > 0;) {
		if (model->live[i].id == id)
			return i;
	}
	return UINT32_MAX;
}

static uint64_t choose_bytes(struct model *model)
{
	uint64_t largest = model->row->largest_bytes;
	switch (model_random(model, 6)) {
	case 0:
	case 1:
		return 1 + model_random(model, 64 << 10);
	case 2:
		return 1 + model_random(model, MIB);
	case 3:
		return largest / (2 + model_random(model, 6));
	default:
		return 1 + model_random(model, largest / 4);
	}
}

static unsigned choose_life(struct model *model, unsigned count)
{
	switch (model_random(model, 8)) {
	case 0:
		return 1 + (unsigned)model_random(model, count + count / 4);
	case 1:
	case 2:
		return 1 + (unsigned)model_random(model, count / 2 + 1);
	default:
		return 1 + (unsigned)model_random(model, 5);
	}
}

static void make_slots(struct model *model, struct model_program *program, unsigned *frees_at)
{
	bool dynamic = model_one_in(model, 4), threads = model_one_in(model, 3);
	unsigned streams = 1 + (unsigned)model_random(model, model->row->streams);
	for (unsigned i = 0; i < program->slot_count; i++) {
		struct model_slot *slot = &program->slots[i];
		unsigned end = i + choose_life(model, program->slot_count);
		frees_at[i] = end % program->slot_count;
		*slot = (struct model_slot){
			.bytes = choose_bytes(model),
			.stream = model_one_in(model, 4) ? (unsigned)model_random(model, streams) : 0,
			.thread = threads && model_one_in(model, 4),
			.lag = end >= program->slot_count && frees_at[i] >= i,
			.dynamic = dynamic && model_one_in(model, 8),
		};
	}
}

static void make_program(struct model *model, struct model_program *program)
{
	static const unsigned noises[] = {0, 0, 0, 3, 20, 200}, others[] = {0, 0, 2, 10, 100};
	unsigned frees_at[MODEL_SLOTS];
	bool few = (model->row->features & MODEL_SHORT) != 0;
	memset(program, 0, sizeof *program);
	program->slot_count =
		few ? 16 + (unsigned)model_random(model, 4) : 20 + (unsigned)model_random(model, MODEL_SLOTS - 20);
	program->noise = few ? 0 : noises[model_random(model, 6)];
	program->others = few ? 10 : others[model_random(model, 5)];
	program->marks = few || !model_one_in(model, 4);
	make_slots(model, program, frees_at);
	for (unsigned i = 0; i < program->slot_count; i++) {
		program->acts[program->act_count++] = (struct model_act){i, false};
		for (unsigned k = 0; k < program->slot_count; k++) {
			if (frees_at[k] == i)
				program->acts[program->act_count++] = (struct model_act){k, true};
		}
	}
}

static void free_oldest(struct model *model, struct model_slot *slot)
{
	uint32_t index = find_block(model, slot->held[0]);
	slot->held_count--;
	memmove(slot->held, slot->held + 1, slot->held_count * sizeof slot->held[0]);
	if (index != UINT32_MAX)
		model_free_at(model, index);
}

static void allocate(struct model *model, struct model_slot *slot, uint64_t bytes)
{
	struct seam_request request = {.size = sizeof request, .bytes = bytes};
	struct seam_recorder *recorder = model->pool->recorder;
	if (slot->held_count == sizeof slot->held / sizeof slot->held[0])
		free_oldest(model, slot);
	if (model->live_count == MODEL_LIVE)
		return;
	if (recorder != NULL && seam__recorder_act_as(recorder, slot->thread) != SEAM_OK)
		return;
	bool dynamic = slot->dynamic && seam_dynamic_begin(model->pool) == SEAM_OK;
	uint64_t id = model_ask(model, &request, slot->stream);
	if (dynamic && seam_dynamic_end(model->pool) != SEAM_OK)
		model_fail(model, "seam_dynamic_end fails");
	if (id == 0)
		return;
	model->live[model->live_count - 1].of_program = true;
	slot->held[slot->held_count++] = id;
}

static void perform(struct model *model, struct model_program *program, const struct model_act *act, bool odd)
{
	struct model_slot *slot = &program->slots[act->slot];
	if (act->is_free) {
		while (slot->held_count > slot->lag && !model_failed(model))
			free_oldest(model, slot);
		return;
	}
	bool another = odd || slot->dynamic;
	allocate(model, slot, another ? choose_bytes(model) : slot->bytes);
	uint32_t index = slot->held_count == 0 ? UINT32_MAX : find_block(model, slot->held[slot->held_count - 1]);
	if (index != UINT32_MAX && model_one_in(model, 30))
		model_use_elsewhere(model, &model->live[index], (unsigned)model_random(model, model->row->streams));
}

/* An act that is not as it should be: left out (a request dropped, a free late), before its predecessor, of another
 * size, or twice. */
static void perform_oddly(struct model *model, struct model_program *program)
{
	const struct model_act *act = &program->acts[program->at];
	switch (model_random(model, 4)) {
	case 0:
		return;
	case 1:
		if (program->at + 1 < program->act_count) {
			perform(model, program, act + 1, false);
			program->at++;
		}
		break;
	case 2:
		perform(model, program, act, false);
		break;
	default:
		break;
	}
	perform(model, program, act, true);
}

static void begin_program(struct model *model, struct model_program *program)
{
	unsigned residents = (unsigned)model_random(model, MODEL_RESIDENTS + 1);
	program->begun = true;
	for (unsigned i = 0; i < residents; i++) {
		struct model_slot slot = {.bytes = choose_bytes(model)};
		allocate(model, &slot, slot.bytes);
		program->residents[i] = slot.held_count != 0 ? slot.held[0] : 0;
	}
}

/* What it has left is anybody's to free, or is freed now. */
static void end_program(struct model *model, struct model_program *program)
{
	bool clean = model_one_in(model, 2);
	for (unsigned i = 0; i < program->slot_count; i++) {
		while (clean && program->slots[i].held_count != 0 && !model_failed(model))
			free_oldest(model, &program->slots[i]);
	}
	for (uint32_t i = 0; !clean && i < model->live_count; i++)
		model->live[i].of_program = false;
	program->slot_count = 0;
}

/* Another program's turn, an old or a new one. */
static void change_program(struct model *model)
{
	model->program = (unsigned)model_random(model, MODEL_PROGRAMS);
	struct model_program *program = &model->programs[model->program];
	if (program->slot_count != 0 && model_one_in(model, 4))
		end_program(model, program);
	if (program->slot_count == 0)
		make_program(model, program);
	model->iterations = 20 + (unsigned)model_random(model, 60);
}

/* Most wait for the device: blocks that other streams use would be held for ever. */
static void end_iteration(struct model *model, struct model_program *program)
{
	program->at = 0;
	for (unsigned stream = 0; stream < model->row->streams && !model_one_in(model, 8); stream++)
		model_sync(model, stream);
	if (program->marks) {
		model_arm(model);
		enum seam_rc rc = seam_step(model->pool);
		(void)model_disarm(model);
		if (rc != SEAM_OK)
			model_fail(model, "seam_step: %s", seam_rc_text(rc));
	}
	if (model->iterations-- <= 1)
		change_program(model);
}

static void step_program(struct model *model)
{
	struct model_program *program = &model->programs[model->program];
	if (program->slot_count == 0)
		make_program(model, program);
	if (!program->begun)
		begin_program(model, program);
	if (model_random(model, 1000) < program->noise)
		perform_oddly(model, program);
	else
		perform(model, program, &program->acts[program->at], false);
	if (++program->at >= program->act_count)
		end_iteration(model, program);
}

static void step_work(struct model *model)
{
	bool did = true;
	/* The worker looks less often the longer it finds nothing. Here programs change often. */
	if (model_one_in(model, 16)) {
		model->pool->learner->looks.next.events = 0;
	}
	for (unsigned i = (unsigned)model_random(model, 4); did && i < 4; i++) {
		model_arm(model);
		seam__pool_work(model->pool->learner, &did);
		(void)model_disarm(model);
	}
}

/* A plan of what was recorded lately, if it repeats itself. */
static void make_plan(struct model *model)
{
	struct seam_trace *trace = NULL;
	struct seam_plan *plan = NULL;
	struct seam_plan_options options = {.struct_bytes = sizeof options, .node_limit = PLAN_NODES};
	if (seam__recorder_trace(model->pool->recorder, NEWEST_EVENTS, "the model", &trace) != SEAM_OK)
		return;
	struct seam_trace_error error;
	enum seam_rc rc = seam_plan_make(trace, &options, &error, &plan);
	seam_trace_free(trace);
	if (rc != SEAM_OK)
		return;
	struct seam_plan **place = &model->plans[model_random(model, MODEL_PLANS)];
	seam_plan_free(*place);
	*place = plan;
}

static void step_plan_use(struct model *model)
{
	const struct seam_plan *plan = model->plans[model_random(model, MODEL_PLANS)];
	if (plan == NULL || model_one_in(model, 3)) {
		make_plan(model);
		return;
	}
	char error[200] = "";
	uint64_t reserved_bytes = model->pool->engine.memory.reserved_bytes;
	model_arm(model);
	enum seam_rc rc = seam_plan_use(model->pool, plan, error, sizeof error);
	bool faulty = model_disarm(model);
	if (rc == SEAM_OK)
		return;
	if (error[0] == '\0')
		model_fail(model, "seam_plan_use fails without a word: %s", seam_rc_name(rc));
	if (!faulty && rc != SEAM_OOM_DEVICE && rc != SEAM_OOM_VA && rc != SEAM_MAPPINGS && rc != SEAM_INVALID &&
		!(rc == SEAM_CAPTURING && model->captures != 0))
		model_fail(model, "seam_plan_use: %s: %s", seam_rc_name(rc), error);
	(void)reserved_bytes;
}

/* One of a plan's first requests, as it should be or not. What does not stay goes soon, or is anybody's to free. */
static void ask_first(struct model *model, const struct seam_plan_prologue *request)
{
	const bool dynamic = (request->flags & SEAM_PLAN_DYNAMIC) != 0, odd = model_one_in(model, 40);
	struct model_slot slot = {.stream = (unsigned)model_random(model, model->row->streams), .dynamic = dynamic};
	if (odd && model_one_in(model, 3))
		return;
	model->firsts += model->pool->runtime->prologue.active != NULL;
	allocate(model, &slot, odd || dynamic ? choose_bytes(model) : request->size_bytes);
	if (slot.held_count != 0)
		model->live[model->live_count - 1].of_program = false;
	if (slot.held_count != 0 && (request->flags & SEAM_PLAN_STAYS) == 0 && model_one_in(model, 2))
		free_oldest(model, &slot);
}

static enum seam_rc add_first(struct model *model, struct seam_plan_builder *builder, uint64_t slot_bytes)
{
	struct seam_plan_prologue request = {.size_bytes = choose_bytes(model), .slot = SEAM_PLAN_NO_SLOT};
	if (model_one_in(model, 3)) {
		request.size_bytes = slot_bytes;
		request.slot = 0;
	} else if (model_one_in(model, 8)) {
		request.flags = SEAM_PLAN_DYNAMIC;
	} else if (!model_one_in(model, 4)) {
		request.flags = SEAM_PLAN_STAYS;
		builder->header.resident_bytes += request.size_bytes;
	}
	return seam__grow_append(&builder->prologue, &request, 1);
}

/* A plan of one request over and over, and of what a program asks for first. NULL: no memory. */
static struct seam_plan *make_beginning(struct model *model)
{
	const struct seam_plan_slot slot = {.size_bytes = choose_bytes(model), .end = 1};
	const uint64_t offset = 0;
	uint32_t stream;
	struct seam_plan *plan = NULL;
	struct seam_plan_builder builder;
	if (seam__plan_builder_init(&builder, 1) != SEAM_OK)
		return NULL;
	builder.header.positions = 2;
	builder.header.arena_bytes = slot.size_bytes;
	enum seam_rc rc = seam__plan_builder_stream(&builder, 0, &stream);
	if (rc == SEAM_OK)
		rc = seam__plan_builder_slot(&builder, &slot, &offset);
	for (uint64_t i = 1 + model_random(model, 60); i > 0 && rc == SEAM_OK; i--)
		rc = add_first(model, &builder, slot.size_bytes);
	if (rc == SEAM_OK && seam__plan_builder_finish(&builder, NULL, &plan) == SEAM_CORRUPT)
		model_fail(model, "a plan of one request is none");
	seam__plan_builder_fini(&builder);
	return plan;
}

/* A program begins that a plan is of: nothing is live. It breaks off somewhere, or does other things between. */
static void step_plan_begin(struct model *model)
{
	struct seam_plan *plan = model_one_in(model, 3) ? make_beginning(model) : NULL;
	char error[200] = "";
	if (plan == NULL)
		return;
	while (model->live_count != 0 && !model_failed(model))
		model_free_at(model, model->live_count - 1);
	model_arm(model);
	seam_plan_drop(model->pool);
	enum seam_rc rc = seam_plan_use(model->pool, plan, error, sizeof error);
	(void)model_disarm(model);
	if (rc != SEAM_OK && error[0] == '\0')
		model_fail(model, "seam_plan_use fails without a word: %s", seam_rc_name(rc));
	for (uint32_t i = 0; i < plan->header.prologue_count && !model_failed(model) && !model_one_in(model, 200); i++)
		ask_first(model, &plan->prologue[i]);
	if (!model_one_in(model, 4))
		seam_plan_drop(model->pool); /* others may be learned */
	seam_plan_free(plan);
}

static void step_plan_drop(struct model *model)
{
	model_arm(model);
	seam_plan_drop(model->pool);
	(void)model_disarm(model);
	if (model->pool->runtime->open)
		model_fail(model, "a plan is open after seam_plan_drop()");
}

/* What the statistics say of plans is consistent in itself. */
static void step_stats(struct model *model)
{
	struct seam_stats stats = {.size = sizeof stats, .version = SEAM_STATS_VERSION};
	if (seam_stats_get(model->pool, &stats) != SEAM_OK)
		model_fail(model, "seam_stats_get fails");
	struct seam_plan_stats plan = {.size = sizeof plan, .version = SEAM_PLAN_STATS_VERSION};
	if (seam_plan_stats_get(model->pool, &plan) != SEAM_OK)
		model_fail(model, "seam_plan_stats_get fails");
	uint64_t misses = plan.miss_size + plan.miss_lost + plan.miss_cursor + plan.miss_late + plan.miss_gap +
		plan.miss_dynamic + plan.miss_request + plan.miss_order + plan.miss_suspended;
	if (plan.misses != misses || plan.requests != plan.hits + misses)
		model_fail(model,
			"misses of plans do not add up: %" PRIu64 " requests, %" PRIu64 " hits, %" PRIu64
			" misses by cause",
			plan.requests, plan.hits, misses);
	if (stats.reserved_bytes !=
		stats.live_bytes + stats.unused_pending_bytes + stats.unused_partial_bytes + stats.unused_whole_bytes +
			stats.unused_private_bytes + stats.unused_leased_bytes)
		model_fail(model, "reserved bytes have no cause");
	if (plan.lent_bytes > plan.arena_bytes || plan.live_bytes > stats.live_bytes)
		model_fail(model, "more is lent than there is, or more planned than live");
}

struct plan_step {
	const char *name;
	unsigned weight; /* of 10000 */
	void (*run)(struct model *model);
};

static const struct plan_step plan_steps[] = {
	{"work", 500, step_work},
	{"plan use", 8, step_plan_use},
	{"plan begin", 3, step_plan_begin},
	{"plan drop", 3, step_plan_drop},
	{"stats", 50, step_stats},
};

bool model_plan_step(struct model *model)
{
	uint64_t at = model_random(model, 10000);
	for (size_t i = 0; i < sizeof plan_steps / sizeof plan_steps[0]; i++) {
		if (at < plan_steps[i].weight) {
			model->doing = plan_steps[i].name;
			plan_steps[i].run(model);
			return true;
		}
		at -= plan_steps[i].weight;
	}
	const struct model_program *program = &model->programs[model->program];
	if (model_random(model, 1000) < program->others)
		return false;
	model->doing = "program";
	step_program(model);
	return true;
}

void model_plan_close(struct model *model)
{
	for (unsigned i = 0; i < MODEL_PLANS; i++) {
		seam_plan_free(model->plans[i]);
		model->plans[i] = NULL;
	}
}
