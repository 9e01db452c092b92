/* emu_engine.c: the copy engines of a device: one up, to the device, and one down, to the host; see emu_engine.h. */
#include "check.h"
#include "emu_state.h"

/* Of an engine, in parts of what it does alone, while the other one is at work too. */
#define SEAM_EMU_BOTH(call, alone, both, source) static const double speed_of_##call = (double)(both) / (double)(alone);
#include "emu_costs.def"
#undef SEAM_EMU_BOTH

static struct emu_engine *engine_of(const struct emu_work *work)
{
	struct emu_device *device = work->stream->device;
	return work->kind == EMU_TO_DEVICE ? &device->up : &device->down;
}

bool seam__emu_engine_does(const struct emu *e, const struct emu_work *work)
{
	return (work->kind == EMU_TO_DEVICE || work->kind == EMU_TO_HOST) && e->config.drawn_copies == 0;
}

bool seam__emu_engine_runs(const struct emu_work *work)
{
	return engine_of(work)->running == work;
}

/* Not ceil(): nothing else here needs the library of mathematics. */
static uint64_t round_up(double ns)
{
	uint64_t whole = (uint64_t)ns;
	return (double)whole < ns ? whole + 1 : whole;
}

/* The engine goes on at such a speed; the end of its copy moves. */
static void set_speed(struct emu *e, struct emu_engine *engine, double speed)
{
	struct emu_work *work = engine->running;
	uint64_t now_ns = seam__emu_now(e);
	if (work == NULL)
		return;
	engine->left_ns -= (double)(now_ns - engine->since_ns) * engine->speed;
	if (engine->left_ns < 0)
		engine->left_ns = 0;
	engine->since_ns = now_ns;
	engine->speed = speed;
	RB_REMOVE(emu_timeline, &e->timeline, work);
	work->time_ns = now_ns + round_up(engine->left_ns / speed);
	RB_INSERT(emu_timeline, &e->timeline, work);
}

static void set_speeds(struct emu *e, struct emu_device *device)
{
	bool both = device->up.running != NULL && device->down.running != NULL;
	set_speed(e, &device->up, both ? speed_of_copy_to_device : 1);
	set_speed(e, &device->down, both ? speed_of_copy_to_host : 1);
}

static void begin_next(struct emu *e, struct emu_engine *engine)
{
	struct emu_work *work = STAILQ_FIRST(&engine->ready);
	if (work == NULL || engine->running != NULL)
		return;
	STAILQ_REMOVE_HEAD(&engine->ready, hosted);
	engine->running = work;
	engine->left_ns = (double)work->duration_ns;
	engine->since_ns = seam__emu_now(e);
	engine->speed = 1;
	work->time_ns = engine->since_ns;
	RB_INSERT(emu_timeline, &e->timeline, work);
}

void seam__emu_engine_join(struct emu *e, struct emu_work *work)
{
	struct emu_engine *engine = engine_of(work);
	STAILQ_INSERT_TAIL(&engine->ready, work, hosted);
	begin_next(e, engine);
	set_speeds(e, work->stream->device);
}

void seam__emu_engine_leave(struct emu *e, struct emu_work *work)
{
	struct emu_engine *engine = engine_of(work);
	SEAM_ASSERT(engine->running == work);
	engine->running = NULL;
	begin_next(e, engine);
	set_speeds(e, work->stream->device);
}

const char *seam__emu_engine_check(const struct emu *e)
{
	for (int i = 0; i < e->config.devices; i++) {
		const struct emu_device *device = &e->devices[i];
		if ((device->up.running == NULL && !STAILQ_EMPTY(&device->up.ready)) ||
			(device->down.running == NULL && !STAILQ_EMPTY(&device->down.ready)))
			return "E8 no copy is ready at an idle engine";
	}
	return NULL;
}
